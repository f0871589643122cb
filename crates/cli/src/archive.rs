//! The runs there are, and which run and task the user means.
//!
//! A run is named by the beginning of its name. Where it is not named, it is the newest of the repository we are in, or
//! of this very directory outside of one, that fits what is asked for.

pub(crate) mod live;

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use conductor_core::plan::{Isolation, Task};
use conductor_core::run::event::Record;
use conductor_core::run::{Progress, Run};
use conductor_core::values::ids::{RunId, TaskId};
use conductor_core::values::suggest::did_you_mean;
use conductor_engine::agents;
use conductor_engine::git::workspaces::{RunPlace, RunRepo};
use conductor_engine::git::{GitError, Repository};
use conductor_engine::host::home::Home;
use conductor_engine::planner::{self, KeptPlan};
use conductor_engine::runs::amend::Amendment;
use conductor_engine::stores::{self, LogReader, StoreError, StoredRun, was_written};

use crate::console;
use crate::end_block::one_line;
use crate::error::{CliError, Exit};
use crate::output::talk;

/// How many runs are searched for a task when no run is named: the user names an older one.
const LOOK_BACK: usize = 50;

pub(crate) struct Archive {
    pub(crate) home: Home,
    store: Arc<dyn LogReader>,
    runs: Vec<StoredRun>,
    pub(crate) directory: PathBuf,
}

/// A run, read from its log.
pub(crate) struct Found {
    pub(crate) stored: StoredRun,
    pub(crate) records: Vec<Record>,
    pub(crate) run: Run,
}

/// A task of a run.
pub(crate) struct FoundTask {
    pub(crate) found: Found,
    pub(crate) place: usize,
}

impl Archive {
    pub(crate) async fn open() -> Result<Archive, CliError> {
        Archive::of(Home::open()?).await
    }

    pub(crate) async fn of(home: Home) -> Result<Archive, CliError> {
        let directory = std::env::current_dir().map_err(|error| {
            CliError::new(Exit::Unexpected, format!("the current directory cannot be used: {error}"))
        })?;
        let store = briefly(|| stores::open_to_look(&home)).await?;
        let runs = briefly(|| store.runs()).await?;
        Ok(Archive { home, store, runs, directory })
    }

    pub(crate) fn named(&self, word: &str) -> Result<StoredRun, CliError> {
        named(&self.home, &self.runs, word)
    }

    /// All of them, newest first.
    pub(crate) fn runs(&self) -> &[StoredRun] {
        &self.runs
    }

    pub(crate) fn known(&self, run: &RunId) -> Option<&StoredRun> {
        self.runs.iter().find(|known| known.id == *run)
    }

    /// The runs of the repository we are in, newest first.
    pub(crate) fn here(&self) -> Result<Vec<StoredRun>, CliError> {
        let mut is_here = self.surroundings()?;
        Ok(self.runs.iter().filter(|run| is_here(&run.directory)).cloned().collect())
    }

    /// The plans that were asked for in the repository we are in, oldest first.
    pub(crate) fn plans_here(&self) -> Result<Vec<KeptPlan>, CliError> {
        let mut is_here = self.surroundings()?;
        let asked_here = |plan: &KeptPlan| plan.kept.as_ref().is_some_and(|kept| is_here(&kept.directory));
        Ok(planner::plans(&self.home).into_iter().filter(asked_here).collect())
    }

    /// Which directories are of the repository we are in; outside of one, this very one alone.
    fn surroundings(&self) -> Result<impl FnMut(&Path) -> bool + use<>, CliError> {
        let ours = match Repository::common_of(&self.directory) {
            Ok(common) => Some(common),
            Err(GitError::NotOne(_)) => None,
            Err(error) if error.is_unusable() => {
                let remedy = error.remedy().map(|remedy| format!(" ({remedy})")).unwrap_or_default();
                console::say(format_args!(
                    "conductor: {error}{remedy}; only runs of this very directory are seen"
                ));
                None
            }
            Err(error) => return Err(error.into()),
        };
        let mut asked: HashMap<PathBuf, bool> = HashMap::from([(self.directory.clone(), true)]);
        Ok(move |directory: &Path| {
            if let Some(known) = asked.get(directory) {
                return *known;
            }
            let same = ours.is_some() && Repository::common_of(directory).ok() == ours;
            asked.insert(directory.to_owned(), same);
            same
        })
    }

    /// The one that is named, or those that could be meant.
    pub(crate) fn candidates(&self, word: Option<&str>) -> Result<Vec<StoredRun>, CliError> {
        let runs = match word {
            Some(word) => vec![self.named(word)?],
            None => self.here()?,
        };
        if runs.is_empty() { Err(nothing_here()) } else { Ok(runs) }
    }

    pub(crate) async fn read(&self, stored: &StoredRun) -> Result<Found, CliError> {
        let records = briefly(|| self.store.load(&stored.id, 0)).await?;
        let run = Run::replay(&records).map_err(|error| {
            CliError::new(Exit::Unexpected, format!("run {} cannot be read: {error}", stored.id))
        })?;
        agents::keep_secrets_of(run.plan());
        Ok(Found { stored: stored.clone(), records, run })
    }

    /// As `read`, for a run that was not named: one that cannot be read is reported and left out.
    pub(crate) async fn read_or_leave_out(&self, stored: &StoredRun) -> Option<Found> {
        self.read(stored).await.inspect_err(|cli_error| leave_out(&stored.id, cli_error)).ok()
    }

    /// Removes a run that is not active.
    pub(crate) async fn remove(&self, run: &RunId) -> Result<(), CliError> {
        let store = briefly(|| stores::open(&self.home)).await?;
        Ok(briefly(|| store.remove(run)).await?)
    }

    /// A task by its id: in the run that is named, or in the newest one here in which it fits; where it fits in none, in
    /// the newest that has it.
    pub(crate) async fn task(
        &self,
        run: Option<&str>,
        task: &str,
        fits: impl Fn(&Found, usize) -> bool,
    ) -> Result<FoundTask, CliError> {
        let mut unfit = None;
        let mut newest = None;
        for stored in self.candidates(run)?.iter().take(LOOK_BACK) {
            let found = match run {
                Some(_) => self.read(stored).await?,
                None => match self.read_or_leave_out(stored).await {
                    Some(found) => found,
                    None => continue,
                },
            };
            let place = TaskId::parse(task).ok().and_then(|id| found.run.place(&id));
            match place {
                Some(place) if fits(&found, place) => return Ok(FoundTask { found, place }),
                Some(place) => drop(unfit.get_or_insert(FoundTask { found, place })),
                None => drop(newest.get_or_insert(found)),
            }
        }
        unfit.ok_or_else(|| unknown(task, newest.as_ref()))
    }

    /// Takes the run for this process, to change it.
    pub(crate) async fn amend(&self, run: &RunId) -> Result<Amendment, CliError> {
        let store = briefly(|| stores::open(&self.home)).await?;
        Amendment::begin(&self.home, store.clone(), run).await.map_err(|error| {
            // Closing the store would fold its log into the file, and a file that is refused stays as it is.
            std::mem::forget(store);
            error.into()
        })
    }
}

fn leave_out(run: &RunId, cli_error: &CliError) {
    talk(format!(
        "run {run} cannot be read and is left out: {}; `conductor doctor` says more",
        cli_error.message()
    ));
}

pub(crate) fn nothing_here() -> CliError {
    CliError::new(Exit::NothingToDo, "nothing has been run here yet")
        .help("start something with `conductor run FILE`, or name a run with --run")
}

impl Found {
    pub(crate) fn place_of_run<'a>(&'a self, home: &'a Home) -> RunPlace<'a> {
        place_of_run(home, &self.stored, &self.run)
    }

    pub(crate) fn repository(&self) -> Result<Repository, CliError> {
        repository(&self.stored)
    }

    /// The run's part of its repository, to look at.
    pub(crate) fn context(&self, home: &Home) -> Result<RunRepo, CliError> {
        Ok(self.place_of_run(home).context(self.repository()?)?)
    }

    pub(crate) fn isolation(&self, task: &Task) -> Isolation {
        task.isolation.or(self.run.options().isolation).unwrap_or(Isolation::None)
    }
}

impl FoundTask {
    pub(crate) fn task(&self) -> &Task {
        self.found.run.task(self.place).0
    }

    pub(crate) fn progress(&self) -> &Progress {
        self.found.run.progress(self.place)
    }
}

pub(crate) fn place_of_run<'a>(home: &'a Home, stored: &'a StoredRun, run: &'a Run) -> RunPlace<'a> {
    RunPlace { home: home.root(), id: &stored.id, run, directory: &stored.directory }
}

/// The repository a run was started in.
pub(crate) fn repository(stored: &StoredRun) -> Result<Repository, CliError> {
    if !stored.directory.is_dir() {
        let message = format!("run {} works in {}, which is gone", stored.id, stored.directory.display());
        return Err(CliError::new(Exit::Unexpected, message).help("bring the directory back first"));
    }
    Ok(Repository::of(&stored.directory)?)
}

/// The run whose name begins like this.
pub(crate) fn named(home: &Home, runs: &[StoredRun], word: &str) -> Result<StoredRun, CliError> {
    let fitting: Vec<&StoredRun> =
        runs.iter().filter(|run| !word.is_empty() && run.id.as_str().starts_with(word)).collect();
    match fitting.as_slice() {
        [one] => Ok((*one).clone()),
        [] if RunId::parse(word).is_some_and(|id| was_written(home, &id)) => {
            let why = format!("it knows nothing of run {word}, which had been written");
            Err(StoreError::Damaged { place: home.database().display().to_string(), why }.into())
        }
        [] => {
            let cli_error = CliError::new(Exit::Usage, format!("there is no run '{}'", one_line(word)));
            Err(match did_you_mean(word, runs.iter().map(|run| run.id.as_str())) {
                Some(meant) => cli_error.help(format!("did you mean '{meant}'?")),
                None => cli_error.help("`conductor runs list` names them all"),
            })
        }
        [first, second, ..] => Err(CliError::new(
            Exit::Usage,
            format!("'{word}' could be run {} or {}; give more of it", first.id, second.id),
        )),
    }
}

fn unknown(task: &str, newest: Option<&Found>) -> CliError {
    let run = newest.map(|found| format!(" in run {}", found.stored.id)).unwrap_or_default();
    let cli_error = CliError::new(Exit::Usage, format!("there is no task '{}'{run}", one_line(task)));
    let ids = newest.into_iter().flat_map(|found| &found.run.plan().tasks).map(|task| task.id.as_str());
    match did_you_mean(task, ids) {
        Some(meant) => cli_error.help(format!("did you mean '{meant}'?")),
        None => cli_error,
    }
}

/// How long a command that only looks waits for a store that cannot be used right now.
const SHORT_WAIT: Duration = Duration::from_secs(4);

/// As `patiently`, for commands whose answer is waited for: after a few seconds what is in the way is an error.
pub(crate) async fn briefly<T, F>(mut call: impl FnMut() -> F) -> Result<T, StoreError>
where
    F: Future<Output = Result<T, StoreError>>,
{
    let deadline = tokio::time::Instant::now() + SHORT_WAIT;
    let mut last = None;
    let tried = tokio::time::timeout_at(deadline, async {
        loop {
            match call().await {
                Err(error @ StoreError::Unavailable { .. }) => last = Some(error),
                done => return done,
            }
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    });
    match tried.await {
        Ok(done) => done,
        Err(_) => Err(last.unwrap_or_else(|| StoreError::Unavailable {
            why: format!("the store has not answered within {SHORT_WAIT:?}; another process may hold it"),
        })),
    }
}

/// Waits for a store that cannot be used right now, as a run does for its own: a full disk or a foreign lock is no
/// failure.
pub(crate) async fn patiently<T, F>(mut call: impl FnMut() -> F) -> Result<T, StoreError>
where
    F: Future<Output = Result<T, StoreError>>,
{
    let mut told = None;
    loop {
        match call().await {
            Err(StoreError::Unavailable { why }) => {
                if told.as_ref() != Some(&why) {
                    console::say(format_args!("conductor: {why}; waiting for it"));
                    told = Some(why);
                }
                tokio::time::sleep(Duration::from_millis(500)).await;
            }
            done => return done,
        }
    }
}
