//! `conductor run`: a task file becomes a run, or a run that was left is taken up again.

mod signals;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use conductor_core::event::{DrainReason, Options, RunOutcome};
use conductor_core::graph::{self, Graph};
use conductor_core::ids::RunId;
use conductor_core::plan::{Isolation, Plan};
use conductor_core::report::PlanFile;
use conductor_core::run::{Run, Stage, Status};
use conductor_core::select::select;
use conductor_core::units::{Now, Tick, Usd};
use conductor_engine::clock::wall;
use conductor_engine::drive::{Drive, Start, World};
use conductor_engine::git::{GitError, Repository};
use conductor_engine::home::{Home, RunClaim};
use conductor_engine::merge::{self, Ending};
use conductor_engine::stores::{NewRun, Sqlite, Store, StoreError, StoredRun, was_written};
use conductor_engine::workspaces::{InPlace, Rooms, Worktrees};
use conductor_engine::{agents, output};

use super::answer;
use crate::args::{self, Strategy, Ui};
use crate::diagnostics;
use crate::end_block;
use crate::fault::{Exit, Fault};
use crate::progress;
use signals::Signalled;

pub(crate) fn run(args: &args::Run) -> Result<Exit, Fault> {
    let mut args = Resolved::new(args)?;
    if args.is_new() {
        let plan = args.plan()?;
        if args.typed.dry_run {
            return dry_run(&args, &plan);
        }
        check_agents(&plan)?;
        return block_on(start_new(args, plan));
    }
    block_on(take_up(args))
}

/// The arguments, with their second meanings settled.
struct Resolved<'a> {
    typed: &'a args::Run,
    file: Option<PathBuf>,
    resume: Option<String>,
    directory: PathBuf,
}

impl<'a> Resolved<'a> {
    fn new(typed: &'a args::Run) -> Result<Resolved<'a>, Fault> {
        let directory = std::env::current_dir().map_err(|error| {
            Fault::new(Exit::Unexpected, format!("the current directory cannot be used: {error}"))
        })?;
        let mut resolved =
            Resolved { typed, file: typed.file.clone(), resume: typed.resume.clone(), directory };
        resolved.settle_file();
        if typed.retry_failed && resolved.resume.is_none() {
            resolved.resume = Some(String::new());
        }
        match (&resolved.file, &resolved.resume) {
            (None, None) => Err(Fault::new(Exit::Usage, "nothing to run")
                .help("name a task file, or use --resume to take up the newest run of this directory")),
            _ => Ok(resolved),
        }
    }

    /// In `run --resume tasks.yaml` the word after `--resume` is the file, not a run.
    fn settle_file(&mut self) {
        if let Some(word) = self.resume.as_deref().filter(|word| !word.is_empty())
            && self.file.is_none()
            && (word.contains(['.', '/']) || Path::new(word).is_file())
        {
            self.file = Some(PathBuf::from(word));
            self.resume = Some(String::new());
        }
    }

    fn is_new(&self) -> bool {
        self.resume.is_none()
    }

    fn plan(&mut self) -> Result<Plan, Fault> {
        let file = self.file.clone().unwrap_or_default();
        let plan = diagnostics::load(&file)?;
        Ok(match &self.typed.only {
            Some(only) => select(&plan, only)?,
            None => plan,
        })
    }

    /// What the flags say, over what was so before, over what is built in.
    fn options(&self, plan: &Plan, before: Option<&Options>) -> Result<Options, Fault> {
        let typed = self.typed;
        let mut options = match before {
            Some(before) => before.clone(),
            None => Options { limits: plan.limits.clone(), ..Options::with_slots(1) },
        };
        options.slots = typed.parallel.unwrap_or(options.slots);
        options.strategy = typed.strategy.map_or(options.strategy, Into::into);
        options.fail_fast = (options.fail_fast || typed.fail_fast) && !typed.keep_going;
        options.allow_overlap |= typed.allow_overlap;
        options.isolation = typed.isolation.map(Into::into).or(options.isolation);
        let limits = &mut options.limits;
        limits.max_cost = typed.max_cost.map(Usd::from_dollars).or(limits.max_cost);
        limits.max_time = typed.max_time.or(limits.max_time);
        limits.max_attempts = typed.max_attempts.or(limits.max_attempts);
        for (name, amount) in machine() {
            limits.resources.entry(name).or_insert(amount);
        }
        if let Some(output) = &typed.output {
            options.output = Some(std::path::absolute(output)?.display().to_string());
        }
        Ok(options)
    }

    fn ui(&self) -> Ui {
        match self.typed.ui {
            _ if self.typed.json => Ui::Json,
            Ui::Auto => Ui::Plain,
            ui => ui,
        }
    }
}

impl From<args::Isolation> for Isolation {
    fn from(isolation: args::Isolation) -> Isolation {
        match isolation {
            args::Isolation::Worktree => Isolation::Worktree,
            args::Isolation::None => Isolation::None,
        }
    }
}

impl From<Strategy> for graph::Strategy {
    fn from(strategy: Strategy) -> graph::Strategy {
        match strategy {
            Strategy::Queue => graph::Strategy::Queue,
            Strategy::Batch => graph::Strategy::Batch,
            Strategy::Sequential => graph::Strategy::Sequential,
        }
    }
}

/// What this machine has of the resources everybody knows.
fn machine() -> Vec<(String, u64)> {
    let cpus = std::thread::available_parallelism().map(|count| ("cpu".to_owned(), count.get() as u64));
    let memory = conductor_engine::process::machine_memory().map(|bytes| ("memory".to_owned(), bytes));
    cpus.ok().into_iter().chain(memory).collect()
}

/// Every task needs somebody who can do it, before anything starts.
fn check_agents(plan: &Plan) -> Result<(), Fault> {
    for task in &plan.tasks {
        agents::check(task).map_err(|error| {
            Fault::new(Exit::AgentMissing, format!("task '{}': {error}; nothing was started", task.id))
        })?;
    }
    Ok(())
}

fn dry_run(args: &Resolved<'_>, plan: &Plan) -> Result<Exit, Fault> {
    let options = args.options(plan, None)?;
    let graph = Graph::new(plan, options.strategy).map_err(|error| Fault::new(Exit::InvalidFile, error))?;
    if args.ui() == Ui::Json {
        super::answer_json(&PlanFile::new(plan, &graph, options.slots))?;
    } else {
        answer(&graph.export(plan, graph::Format::Text, |task| plan.tasks[task as usize].expected()))?;
        answer(&format!(
            "would run {} tasks, {} at a time; nothing was started",
            graph.len(),
            options.slots
        ))?;
    }
    Ok(Exit::Done)
}

/// One thread is enough, and spares waking another for every step: the work is done by other processes.
fn block_on(work: impl Future<Output = Result<Exit, Fault>>) -> Result<Exit, Fault> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(work)
}

/// Before a run is there to wait for its store, as it will once it is: a full disk or a foreign lock is no failure.
async fn patiently<T, F>(mut call: impl FnMut() -> F) -> Result<T, StoreError>
where
    F: Future<Output = Result<T, StoreError>>,
{
    let mut told = None;
    loop {
        match call().await {
            Err(StoreError::Unavailable { why }) => {
                if told.as_ref() != Some(&why) {
                    anstream::eprintln!("conductor: {why}; waiting for it");
                    told = Some(why);
                }
                tokio::time::sleep(Duration::from_millis(500)).await;
            }
            done => return done,
        }
    }
}

async fn start_new(args: Resolved<'_>, plan: Plan) -> Result<Exit, Fault> {
    let home = Home::open()?;
    let store = patiently(|| Sqlite::open(&home)).await?;
    let id = new_id();
    let claim = home.claim(&id)?;
    let mut options = args.options(&plan, None)?;
    let repository = repository(&plan, &mut options, &args.directory)?;
    let source = args.file.as_ref().map(|file| full_name(&args.directory, file)).unwrap_or_default();
    let new = NewRun { id: id.clone(), directory: args.directory.clone(), source, tasks: plan.tasks.len() };
    let (run, created) = Run::create(plan, Now { at: wall(), tick: Tick(0), jitter: 0.0 });
    patiently(|| store.create(&new, &created)).await?;
    let world = world(store, claim, rooms(repository, &options, &home, &id, &args.directory)?, &options);
    carry_out(&args, id, run, Start { options, reopen: false }, world).await
}

async fn take_up(args: Resolved<'_>) -> Result<Exit, Fault> {
    let home = Home::open()?;
    let store = patiently(|| Sqlite::open(&home)).await?;
    let (stored, claim, run) = match read_back(&args, &home, &store).await {
        Ok(read) => read,
        Err(fault) => {
            // Closing the store would fold its log into the file, and a file that is refused stays as it is.
            std::mem::forget(store);
            return Err(fault);
        }
    };
    if let Some(fault) = nothing_to_do(&args, &stored, &run) {
        complete_files(&stored.id, &run, claim.directory())?;
        return Err(fault);
    }
    let mut options = args.options(run.plan(), Some(run.options()))?;
    let repository = repository(run.plan(), &mut options, &stored.directory)?;
    let rooms = rooms(repository, &options, &home, &stored.id, &stored.directory)?;
    let world = world(store, claim, rooms, &options);
    carry_out(&args, stored.id, run, Start { options, reopen: args.typed.retry_failed }, world).await
}

/// Finds the run that is meant and reads it; writes nothing.
async fn read_back(
    args: &Resolved<'_>,
    home: &Home,
    store: &Sqlite,
) -> Result<(StoredRun, RunClaim, Run), Fault> {
    let stored = find(args, home, &store.runs().await?)?;
    let claim = home.claim(&stored.id)?;
    let run = Run::replay(&store.load(&stored.id).await?).map_err(|error| {
        Fault::new(Exit::Unexpected, format!("run {} cannot be read: {error}", stored.id))
    })?;
    check_agents(run.plan())?;
    if !stored.directory.is_dir() {
        let message = format!("run {} works in {}, which is gone", stored.id, stored.directory.display());
        return Err(Fault::new(Exit::Unexpected, message).help("bring the directory back, then resume"));
    }
    Ok((stored, claim, run))
}

fn world(store: Sqlite, claim: RunClaim, rooms: Rooms, options: &Options) -> World {
    let output = options.output.as_ref().map_or_else(|| claim.directory().to_owned(), PathBuf::from);
    World { store: Arc::new(store), claim, rooms, output }
}

/// The repository tasks get worktrees of, where any of them wants one. What was not said is settled here and recorded,
/// so that a resume does the same.
fn repository(plan: &Plan, options: &mut Options, directory: &Path) -> Result<Option<Repository>, Fault> {
    let said = options.isolation.is_some() || plan.tasks.iter().any(|task| task.isolation.is_some());
    let wanted = |default: Option<Isolation>| {
        plan.tasks.iter().any(|task| task.isolation.or(default) != Some(Isolation::None))
    };
    if !wanted(options.isolation) {
        return Ok(None);
    }
    let found = match Repository::of(directory) {
        Ok(repository) => Some(repository),
        Err(GitError::NotOne(_) | GitError::Missing(_)) if !said => None,
        Err(error) => return Err(no_repository(error)),
    };
    options.isolation.get_or_insert(if found.is_some() { Isolation::Worktree } else { Isolation::None });
    Ok(found)
}

/// Where the tasks are to work.
fn rooms(
    repository: Option<Repository>,
    options: &Options,
    home: &Home,
    id: &RunId,
    directory: &Path,
) -> Result<Rooms, Fault> {
    let worktrees = repository
        .map(|repository| Worktrees::open(repository, &home.run(id), id, directory, Vec::new()).map(Arc::new))
        .transpose()
        .map_err(|error| Fault::new(Exit::Unexpected, error))?;
    let in_place = Arc::new(InPlace::new(directory.to_owned()));
    Ok(Rooms { in_place, worktrees, default: options.isolation.unwrap_or(Isolation::None) })
}

fn no_repository(error: GitError) -> Fault {
    let help = match &error {
        GitError::Unborn(_) => "make the first commit: git commit --allow-empty -m 'Start'",
        _ => "run it in a checkout, or let tasks work where you are: --isolation none",
    };
    Fault::new(Exit::Unexpected, error).help(help)
}

/// The run that is meant: by (the beginning of) its name, or the newest of this directory that is not done.
fn find(args: &Resolved<'_>, home: &Home, runs: &[StoredRun]) -> Result<StoredRun, Fault> {
    let word = args.resume.as_deref().unwrap_or_default();
    if !word.is_empty() {
        let fitting: Vec<&StoredRun> = runs.iter().filter(|run| run.id.as_str().starts_with(word)).collect();
        return match fitting.as_slice() {
            [one] => Ok((*one).clone()),
            [] if RunId::parse(word).is_some_and(|id| was_written(home, &id)) => {
                let (path, why) =
                    (home.database(), format!("it knows nothing of run {word}, which had been written"));
                Err(StoreError::Damaged { path, why }.into())
            }
            [] => Err(Fault::new(Exit::Usage, format!("there is no run '{word}'"))),
            [first, second, ..] => Err(Fault::new(
                Exit::Usage,
                format!("'{word}' could be run {} or {}; give more of it", first.id, second.id),
            )),
        };
    }
    let source = args.file.as_ref().map(|file| full_name(&args.directory, file));
    let here = |run: &&StoredRun| match &source {
        Some(source) => run.source == *source,
        None => run.directory == args.directory,
    };
    let open = |run: &&StoredRun| run.status != "completed";
    runs.iter().filter(here).find(open).cloned().ok_or_else(|| {
        Fault::new(Exit::NothingToDo, "there is no unfinished run here to resume")
            .help("start one with `conductor run FILE`")
    })
}

fn nothing_to_do(args: &Resolved<'_>, stored: &StoredRun, run: &Run) -> Option<Fault> {
    let bad = run.count(Status::Failed) + run.count(Status::Skipped) + run.count(Status::Cancelled);
    if !run.all_ended() || (args.typed.retry_failed && bad > 0) {
        return None;
    }
    let fault = Fault::new(Exit::NothingToDo, format!("run {} has nothing left to do", stored.id));
    let again = format!("to do again what failed: conductor run --resume {} --retry-failed", stored.id);
    Some(if bad == 0 { fault } else { fault.help(again) })
}

/// A coordinator killed after the last event has left no report; whoever looks for the run later makes it.
fn complete_files(id: &RunId, run: &Run, state: &Path) -> Result<(), Fault> {
    let directory = run.options().output.as_ref().map_or_else(|| state.to_owned(), PathBuf::from);
    if !directory.join("execution_summary.json").exists() {
        let graph = Graph::new(run.plan(), run.options().strategy)
            .map_err(|error| Fault::new(Exit::Unexpected, error))?;
        output::write_summary(&directory, id, run, &graph)?;
    }
    Ok(())
}

fn full_name(directory: &Path, file: &Path) -> String {
    directory.join(file).display().to_string()
}

/// Eight letters and digits that no eye confuses.
fn new_id() -> RunId {
    const LETTERS: &[u8] = b"abcdefghjkmnpqrstvwxyz";
    const ALL: &[u8] = b"23456789abcdefghjkmnpqrstvwxyz";
    let mut text = String::new();
    for at in 0..8 {
        let from = if at == 0 { LETTERS } else { ALL };
        text.push(char::from(from[fastrand::usize(..from.len())]));
    }
    RunId::parse(&text).unwrap_or_else(|| unreachable!("letters and digits only"))
}

async fn carry_out(
    args: &Resolved<'_>,
    id: RunId,
    run: Run,
    start: Start,
    world: World,
) -> Result<Exit, Fault> {
    let directory = world.output.clone();
    let worktrees = world.rooms.worktrees.clone();
    let mut view = progress::of(args.ui(), &id, &run, &start.options);
    let (mut drive, mut notices) = Drive::new(id.clone(), run.clone(), start, world)?;
    let graph = drive.scheduler().graph().clone();
    output::write_plan(&directory, run.plan(), &graph, drive.scheduler().run().options().slots)?;
    let mut records = drive.subscribe();
    let signalled = signals::watch(drive.control());
    let driven = drive.run();
    tokio::pin!(driven);
    let ended = loop {
        tokio::select! {
            biased;
            Some(batch) = records.recv() => view.show(&batch),
            Some(notice) = notices.recv() => view.notice(&notice),
            ended = &mut driven => break ended?,
        }
    };
    while let Ok(batch) = records.try_recv() {
        view.show(&batch);
    }
    output::write_summary(&directory, &id, &ended, &graph)?;
    let ending = bring_home(args, worktrees, &ended).await?;
    view.finish(&id, &ended, &graph);
    if args.ui() != Ui::Json {
        // A reader that went away changes nothing about what the run came to.
        let _ = answer(&end_block::text(&id, &ended, &graph, &directory, ending.as_ref()));
    }
    Ok(exit(&ended, signalled.received()))
}

/// A run that is over hands its work over; one that was left keeps its branch for the resume.
async fn bring_home(
    args: &Resolved<'_>,
    worktrees: Option<Arc<Worktrees>>,
    run: &Run,
) -> Result<Option<Ending>, Fault> {
    let (Some(worktrees), true) = (worktrees, run.all_ended()) else { return Ok(None) };
    let into_branch = args.typed.merge == args::Merge::Branch;
    let ending = tokio::task::spawn_blocking(move || merge::bring_home(&worktrees, into_branch)).await;
    match ending {
        Ok(Ok(ending)) => Ok(Some(ending)),
        Ok(Err(error)) => Err(Fault::new(Exit::Unexpected, error)),
        Err(error) => Err(Fault::new(Exit::Unexpected, error)),
    }
}

fn exit(run: &Run, signalled: Option<Signalled>) -> Exit {
    match (run.stage(), signalled) {
        (Stage::Finished(RunOutcome::Completed), _) => Exit::Done,
        (Stage::Stopped(DrainReason::User), Some(Signalled::Terminate)) => Exit::Terminated,
        (Stage::Stopped(DrainReason::User), _) => Exit::Interrupted,
        (Stage::Stopped(DrainReason::Budget), _) => Exit::BudgetReached,
        (Stage::Finished(RunOutcome::Failed) | Stage::Stopped(DrainReason::FailFast), _) => Exit::TaskFailed,
        (Stage::Created | Stage::Active | Stage::Draining(_), _) => Exit::Unexpected,
    }
}
