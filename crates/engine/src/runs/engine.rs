//! Runs for any Rust program: start one, follow it, ask how it stands, steer it, wait for what it comes to.
//!
//! `conductor run` is made of the same parts ([`Driving`](super::driving::Driving), the stores, workspaces and records) and
//! adds what belongs to a terminal: arguments, displays, signals, exit codes.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use conductor_core::plan::graph::{Graph, GraphError};
use conductor_core::plan::groups::{ArrangeError, Circumstances, Steps, arrange};
use conductor_core::plan::{Isolation, Plan, Work};
use conductor_core::report::ledger::Ledger;
use conductor_core::report::tally::Tally;
use conductor_core::run::event::{Options, Record};
use conductor_core::run::{IllegalEvent, Run};
use conductor_core::schedule::{Request, Snapshot};
use conductor_core::values::ids::{RunId, TaskId};
use conductor_core::values::units::{Now, Tick};
use thiserror::Error;
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tracing::Instrument as _;

use super::archive::{self, FindError};
use super::coordinator::{CoordinatorError, Start, World};
use super::done::{Done, DoneError, done};
use super::driving::{ConcludeError, Driving};
use super::watching::Watching;
use crate::agents::{self, AgentError};
use crate::dispatch::{Control, Query, View};
use crate::expertise::{self, Wanted};
use crate::git::merge::Ending;
use crate::git::workspaces::{RunPlace, WorkspaceError, Workspaces};
use crate::git::{GitError, Repository};
use crate::host::clock::wall;
use crate::host::home::{Home, HomeError, RunClaim};
use crate::host::logs;
use crate::stores::bus::Records;
use crate::stores::{
    self, AppendTimes, EarlierRuns, Follower, LogReader, NewRun, RunLog, Store, StoreError, StoredRun,
};

#[derive(Debug, Error)]
pub enum EngineError {
    #[error(transparent)]
    Home(#[from] HomeError),
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error(transparent)]
    Find(#[from] FindError),
    #[error(transparent)]
    Graph(#[from] GraphError),
    #[error(transparent)]
    Groups(#[from] ArrangeError),
    #[error(transparent)]
    Done(#[from] DoneError),
    #[error(transparent)]
    Git(#[from] GitError),
    #[error(transparent)]
    Workspace(#[from] WorkspaceError),
    #[error("task '{task}': {error}")]
    Agent { task: TaskId, error: AgentError },
    /// It would change files in the user's own directory without having been told to.
    #[error(
        "task '{0}' is for an agent, and there is no git repository to keep its work apart in; say isolation: none"
    )]
    Apart(TaskId),
    /// The agents would change the same files at the same time.
    #[error("several race for task '{0}', and each needs a workspace of its own")]
    RaceInPlace(TaskId),
    #[error("run {0} has nothing left to do")]
    Over(RunId),
    #[error("run {run} cannot be read: {source}")]
    Unreadable { run: RunId, source: IllegalEvent },
    #[error(transparent)]
    Coordinator(#[from] CoordinatorError),
    #[error(transparent)]
    Conclude(#[from] ConcludeError),
    #[error("internal error: {0}")]
    Panicked(String),
}

/// The runs of one state directory.
#[derive(Clone)]
pub struct Engine {
    home: Home,
    store: Arc<dyn Store>,
}

/// How a run is to be driven.
#[derive(Debug, Clone)]
pub struct Settings {
    /// Where its tasks work, or whose repository they get worktrees of.
    pub directory: PathBuf,
    /// What it was made from, as it is listed.
    pub source: String,
    pub options: Options,
    /// Whether its work is brought into the branch that is checked out when it is over.
    pub merges: bool,
    /// How often to look for conflicts while tasks are at work, if at all.
    pub conflict_monitor: Option<Duration>,
}

impl Settings {
    /// Three tasks at once; the work stays on the run's own branch.
    pub fn in_directory(directory: impl Into<PathBuf>) -> Settings {
        Settings {
            directory: directory.into(),
            source: String::new(),
            options: Options::with_slots(3),
            merges: false,
            conflict_monitor: None,
        }
    }
}

impl Engine {
    /// Opens a state directory, making it where there is none.
    pub async fn open(state: impl Into<PathBuf>) -> Result<Engine, EngineError> {
        let home = Home::at(state)?;
        let store = stores::open(&home).await?;
        Ok(Engine { home, store })
    }

    pub fn home(&self) -> &Home {
        &self.home
    }

    /// All runs, newest first.
    pub async fn runs(&self) -> Result<Vec<StoredRun>, EngineError> {
        Ok(self.store.runs().await?)
    }

    /// The run whose name begins like this.
    pub async fn find(&self, word: &str) -> Result<StoredRun, EngineError> {
        Ok(archive::named(&self.home, &self.runs().await?, word)?)
    }

    /// A run as its log tells it, whichever process drives it.
    pub async fn read(&self, run: &RunId) -> Result<Run, EngineError> {
        let records = self.store.load(run, 0).await?;
        Run::replay(&records).map_err(|source| EngineError::Unreadable { run: run.clone(), source })
    }

    /// What a run counts for in metrics, by its log; it can be kept when the run is pruned.
    pub async fn tally(&self, run: &RunId) -> Result<Tally, EngineError> {
        Ok(Tally::of(&self.store.load(run, 0).await?))
    }

    /// Everything that happens in a run behind the event of this number, whichever process drives it.
    pub fn watch(&self, run: &RunId, after: u64) -> Watching {
        Watching::new(self.home.clone(), self.store.clone(), run.clone(), after)
    }

    /// What of a plan runs of the same file have done, in the repository of a directory; its `remaining` is what a run
    /// of the rest is started with.
    pub async fn done(&self, directory: &Path, source: &str, plan: &Plan) -> Result<Done, EngineError> {
        Ok(done(&self.home, &*self.store, directory, source, plan).await?)
    }

    /// Starts a run of this plan, which goes on until it is over. What is refused leaves nothing behind.
    pub async fn start(&self, mut plan: Plan, settings: Settings) -> Result<LiveRun, EngineError> {
        let mut settings = settings;
        Graph::new(&plan, settings.options.strategy)?;
        settings.options.absent = absent(&plan)?;
        let repository = repository(&plan, &mut settings)?;
        let Settings { directory, source, options, .. } = &mut settings;
        let learns = (&mut plan, options);
        let notice = learn(&*self.store, (directory, source), learns, repository.is_some()).await?;
        let id = new_id();
        let claim = self.home.claim(&id)?;
        let (directory, source) = (directory.clone(), source.clone());
        let new = NewRun { id: id.clone(), directory, source, tasks: plan.asked().count() };
        let now = Now { at: wall(), tick: Tick(0), jitter: 0.0 };
        let (run, created) = Run::create_with(plan, Some(settings.options.clone()), now);
        let log = RunLog::create(&self.store, &new, &created).await?;
        self.drive(run, (log, claim), settings, repository, notice)
    }

    /// As `start`, group by group: each begins when those it waits for are done.
    pub async fn start_groups(
        &self,
        plan: Plan,
        steps: &Steps,
        settings: Settings,
    ) -> Result<LiveRun, EngineError> {
        let plan = arrange(plan, steps, Circumstances::default())?;
        self.start(plan, settings).await
    }

    /// Takes up a run that was left, with what it was started with.
    pub async fn resume(&self, id: &RunId) -> Result<LiveRun, EngineError> {
        let claim = self.home.claim(id)?;
        let run = self.read(id).await?;
        if run.all_ended() {
            return Err(EngineError::Over(id.clone()));
        }
        let stored = self.runs().await?.into_iter().find(|stored| stored.id == *id);
        let stored = stored.ok_or_else(|| StoreError::NoSuchRun(id.clone()))?;
        let mut settings = Settings {
            source: stored.source,
            options: run.options().clone(),
            ..Settings::in_directory(stored.directory)
        };
        settings.options.absent = absent(run.plan())?;
        let repository = repository(run.plan(), &mut settings)?;
        let log = RunLog::claim(&self.store, id).await?;
        self.drive(run, (log, claim), settings, repository, None)
    }

    fn drive(
        &self,
        run: Run,
        (log, claim): (RunLog, RunClaim),
        settings: Settings,
        repository: Option<Repository>,
        notice: Option<String>,
    ) -> Result<LiveRun, EngineError> {
        let Settings { directory, source, options, merges, conflict_monitor } = settings;
        let id = log.run().clone();
        let place = RunPlace { home: self.home.root(), id: &id, run: &run, directory: &directory };
        let run_repo = repository.map(|repository| place.move_in(repository)).transpose()?;
        let default = options.isolation.unwrap_or(Isolation::None);
        let output = options.output.as_ref().map_or_else(|| claim.directory().to_owned(), PathBuf::from);
        let world = World {
            log,
            claim,
            workspaces: Workspaces::new(directory.clone(), run_repo, default),
            directory,
            output,
            ours: Vec::new(),
            conflict_monitor,
            examiner: None,
            reaper: None,
            shim: None,
            workers: None,
        };
        let (span, append_times) = (logs::run_span(&id), world.log.append_times());
        let begun = span.in_scope(|| {
            Driving::begin(&run, Start { options, taken_over: None, reopen: false }, world, source)
        });
        let (mut driving, notices) = begun?;
        let coordinator = driving.coordinator();
        notice.into_iter().for_each(|text| coordinator.link().notice(text));
        let (control, records) = (coordinator.control(), Some(coordinator.subscribe()));
        let driven = async move {
            let driven = driving.drive().await?;
            // What is told is in the log as well; the receiver may be gone.
            let concluded = driven.conclude(&|_| {}).await?;
            let ending = concluded.bring_home(merges).await?;
            let (run, ledger, output) = (concluded.run, concluded.ledger, concluded.output);
            Ok(Ended { run, ledger, ending, output })
        };
        let ended = tokio::spawn(driven.instrument(span));
        Ok(LiveRun { id, control, records, notices, append_times, ended })
    }
}

/// A run that this process drives. It goes on when this is dropped. Where the process is killed, what it had started is ended
/// when the run is taken up again.
pub struct LiveRun {
    id: RunId,
    control: Control,
    /// Nothing once they are called for.
    records: Option<Follower>,
    notices: mpsc::UnboundedReceiver<String>,
    append_times: AppendTimes,
    ended: JoinHandle<Result<Ended, EngineError>>,
}

/// What a run has come to.
pub struct Ended {
    pub run: Run,
    /// What is really there, where there is a repository to look into.
    pub ledger: Option<Ledger>,
    /// Where its work is now.
    pub ending: Option<Ending>,
    /// Where its reports and transcripts are.
    pub output: PathBuf,
}

impl LiveRun {
    pub fn id(&self) -> &RunId {
        &self.id
    }

    /// Everything that can be asked of a live run, from anywhere.
    pub fn control(&self) -> &Control {
        &self.control
    }

    /// What has happened since this was called last, once it is durable; nothing when the run is over.
    pub async fn next_events(&mut self) -> Option<Records> {
        self.records.as_mut()?.recv().await
    }

    /// Calls this for everything that happens from here on, in order.
    pub fn on_event(&mut self, mut call: impl FnMut(&Record) + Send + 'static) {
        let Some(mut records) = self.records.take() else { return };
        tokio::spawn(async move {
            while let Some(batch) = records.recv().await {
                batch.iter().for_each(&mut call);
            }
        });
    }

    /// What the user would be told, as far as it has come; nothing more when the run is over.
    pub async fn next_notice(&mut self) -> Option<String> {
        self.notices.recv().await
    }

    /// How it stands now; nothing where it has ended meanwhile.
    pub async fn status(&self) -> Option<Snapshot> {
        match self.control.look(Query::Snapshot).await {
            Some(Ok(View::Snapshot(view))) => Some(view.snapshot.clone()),
            _ => None,
        }
    }

    /// How long it takes until its events are durable; goes on counting.
    pub fn append_times(&self) -> &AppendTimes {
        &self.append_times
    }

    /// Ends all that is at work and starts nothing more.
    pub fn cancel(&self) {
        self.control.ask(Request::CancelAll);
    }

    /// Until the run is over or left, and reported.
    pub async fn wait(self) -> Result<Ended, EngineError> {
        self.ended.await.unwrap_or_else(|panic| Err(EngineError::Panicked(panic.to_string())))
    }
}

/// Lets a plan and its options know what earlier runs teach: how long its tasks take, which of them touched the same files,
/// how models did. What is to be told of runs that could not be read comes back.
pub async fn learn(
    store: &dyn LogReader,
    (directory, source): (&Path, &str),
    (plan, options): (&mut Plan, &mut Options),
    in_repository: bool,
) -> Result<Option<String>, StoreError> {
    let mut earlier = EarlierRuns::of(store);
    let wanted = Wanted::by(plan, in_repository && !options.allow_overlap);
    let evidence = expertise::teach(&mut earlier, (directory, source), plan, wanted).await?;
    options.samples = evidence.samples();
    Ok(earlier.notice())
}

/// Eight letters and digits that no eye confuses.
pub fn new_id() -> RunId {
    const LETTERS: &[u8] = b"abcdefghjkmnpqrstvwxyz";
    const ALL: &[u8] = b"23456789abcdefghjkmnpqrstvwxyz";
    let mut text = String::new();
    for at in 0..8 {
        let from = if at == 0 { LETTERS } else { ALL };
        text.push(char::from(from[fastrand::usize(..from.len())]));
    }
    RunId::parse(&text).unwrap_or_else(|| unreachable!("letters and digits only"))
}

/// Agents that are named and not installed; a task that no agent can do is an error.
fn absent(plan: &Plan) -> Result<std::collections::BTreeSet<String>, EngineError> {
    let mut absent = std::collections::BTreeSet::new();
    for task in &plan.tasks {
        let checked = agents::check_rules(plan, task).and_then(|()| agents::check(plan, task));
        absent.extend(checked.map_err(|error| EngineError::Agent { task: task.id.clone(), error })?);
    }
    Ok(absent)
}

/// The repository that tasks get worktrees of, where any of them wants one. Where that is not said, commands work in place
/// outside of a repository, and agents do not work there at all; several agents never race in one directory.
fn repository(plan: &Plan, settings: &mut Settings) -> Result<Option<Repository>, EngineError> {
    let found = found(plan, settings)?;
    match plan.race_in_place(settings.options.isolation) {
        Some(task) => Err(EngineError::RaceInPlace(task.id.clone())),
        None => Ok(found),
    }
}

fn found(plan: &Plan, settings: &mut Settings) -> Result<Option<Repository>, EngineError> {
    let default = settings.options.isolation;
    if plan.tasks.iter().all(|task| task.isolation.or(default) == Some(Isolation::None)) {
        return Ok(None);
    }
    let found = match Repository::of(&settings.directory) {
        Ok(repository) => Some(repository),
        Err(error @ GitError::NotOne(_)) => {
            let said = |isolation: Option<Isolation>| isolation.is_some_and(|said| said != Isolation::None);
            if plan.tasks.iter().any(|task| said(task.isolation.or(default))) {
                return Err(error.into());
            }
            let unsaid = |task: &&conductor_core::plan::Task| {
                matches!(task.work, Work::Prompt(_)) && task.isolation.or(default).is_none()
            };
            if let Some(task) = plan.tasks.iter().find(unsaid) {
                return Err(EngineError::Apart(task.id.clone()));
            }
            None
        }
        Err(error) => return Err(error.into()),
    };
    let isolation = if found.is_some() { Isolation::Worktree } else { Isolation::None };
    settings.options.isolation.get_or_insert(isolation);
    Ok(found)
}
