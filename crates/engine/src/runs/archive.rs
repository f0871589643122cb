//! The stored runs, and which run, task or group is meant.
//!
//! A run is named by the beginning of its name. Where it is not named, it is the newest of the repository we are in, or
//! of this very directory outside of one, that fits what is asked for. What the user should know of a search that goes
//! on all the same is given to a callback; nothing is printed here.

mod error;
mod groups;
mod named;
mod surroundings;
#[cfg(test)]
mod tests;
mod to_resume;

use std::path::PathBuf;
use std::sync::Arc;

use conductor_core::plan::{Isolation, Task};
use conductor_core::run::event::Record;
use conductor_core::run::{Progress, Run};
use conductor_core::values::ids::{RunId, TaskId};
use conductor_core::values::suggest::did_you_mean;

use crate::agents;
use crate::git::Repository;
use crate::git::workspaces::{RunPlace, RunRepo};
use crate::host::home::Home;
use crate::planner::{self, KeptPlan};
use crate::runs::amend::{AmendError, Amendment};
use crate::stores::{self, LogReader, StoreError, StoredRun, briefly};

pub use error::{FindError, Notice};
pub use groups::CarriedGroup;
pub use named::named;
pub use surroundings::Surroundings;
pub use to_resume::{to_resume, unmerged_branch, was_cut_short};

/// How many runs are searched for a task when no run is named: the user names an older one.
const LOOK_BACK: usize = 50;

/// Hears of what the user should know.
pub type Tell = Box<dyn Fn(&Notice) + Send + Sync>;

pub struct Archive {
    pub home: Home,
    /// Where the user is.
    pub directory: PathBuf,
    store: Arc<dyn LogReader>,
    runs: Vec<StoredRun>,
    tell: Tell,
}

/// A run, read from its log.
#[derive(Debug, Clone)]
pub struct Found {
    pub stored: StoredRun,
    pub records: Vec<Record>,
    pub run: Run,
}

/// A task of a run.
#[derive(Debug, Clone)]
pub struct FoundTask {
    pub found: Found,
    pub place: usize,
}

impl Archive {
    pub async fn open(home: Home, directory: PathBuf, tell: Tell) -> Result<Archive, StoreError> {
        let store = briefly(|| stores::open_to_look(&home)).await?;
        let runs = briefly(|| store.runs()).await?;
        Ok(Archive { home, directory, store, runs, tell })
    }

    pub fn store(&self) -> Arc<dyn LogReader> {
        self.store.clone()
    }

    /// The run whose name begins like this.
    pub fn named(&self, word: &str) -> Result<StoredRun, FindError> {
        named(&self.home, &self.runs, word)
    }

    /// All of them, newest first.
    pub fn runs(&self) -> &[StoredRun] {
        &self.runs
    }

    pub fn known(&self, run: &RunId) -> Option<&StoredRun> {
        self.runs.iter().find(|known| known.id == *run)
    }

    /// The runs of the repository we are in, newest first.
    pub fn here(&self) -> Result<Vec<StoredRun>, FindError> {
        let mut here = self.surroundings()?;
        Ok(self.runs.iter().filter(|run| here.include(&run.directory)).cloned().collect())
    }

    /// The plans that were asked for in the repository we are in, oldest first.
    pub fn plans_here(&self) -> Result<Vec<KeptPlan>, FindError> {
        let mut here = self.surroundings()?;
        let asked_here =
            |plan: &KeptPlan| plan.kept.as_ref().is_some_and(|kept| here.include(&kept.directory));
        Ok(planner::plans(&self.home).into_iter().filter(asked_here).collect())
    }

    fn surroundings(&self) -> Result<Surroundings, FindError> {
        let (surroundings, notice) = Surroundings::of(&self.directory)?;
        notice.iter().for_each(&self.tell);
        Ok(surroundings)
    }

    /// The one that is named, or those that could be meant; never none.
    pub fn candidates(&self, word: Option<&str>) -> Result<Vec<StoredRun>, FindError> {
        let runs = match word {
            Some(word) => vec![self.named(word)?],
            None => self.here()?,
        };
        if runs.is_empty() { Err(FindError::NothingHere) } else { Ok(runs) }
    }

    pub async fn read(&self, stored: &StoredRun) -> Result<Found, FindError> {
        let records = briefly(|| self.store.load(&stored.id, 0)).await?;
        let run = Run::replay(&records)
            .map_err(|source| FindError::Unreadable { run: stored.id.clone(), source })?;
        agents::keep_secrets_of(run.plan());
        Ok(Found { stored: stored.clone(), records, run })
    }

    /// As `read`, for a run that was not named: one that cannot be read is reported and left out.
    pub async fn read_or_leave_out(&self, stored: &StoredRun) -> Option<Found> {
        match self.read(stored).await {
            Ok(found) => Some(found),
            Err(why) => {
                (self.tell)(&Notice::LeftOut { run: stored.id.clone(), why });
                None
            }
        }
    }

    /// A candidate: where it was named, it has to be readable.
    async fn read_candidate(&self, stored: &StoredRun, is_named: bool) -> Result<Option<Found>, FindError> {
        match is_named {
            true => self.read(stored).await.map(Some),
            false => Ok(self.read_or_leave_out(stored).await),
        }
    }

    /// A task by its id: in the run that is named, or in the newest one here in which it fits; where it fits in none, in
    /// the newest that has it.
    pub async fn task(
        &self,
        run: Option<&str>,
        task: &str,
        fits: impl Fn(&Found, usize) -> bool,
    ) -> Result<FoundTask, FindError> {
        let mut unfit = None;
        let mut newest = None;
        for stored in self.candidates(run)?.iter().take(LOOK_BACK) {
            let Some(found) = self.read_candidate(stored, run.is_some()).await? else { continue };
            let place = TaskId::parse(task).ok().and_then(|id| found.run.place(&id));
            match place {
                Some(place) if fits(&found, place) => return Ok(FoundTask { found, place }),
                Some(place) => drop(unfit.get_or_insert(FoundTask { found, place })),
                None => drop(newest.get_or_insert(found)),
            }
        }
        unfit.ok_or_else(|| no_such_task(task, newest.as_ref()))
    }

    /// Takes the run for this process, to change it.
    pub async fn amend(&self, run: &RunId) -> Result<Amendment, AmendError> {
        let store = briefly(|| stores::open(&self.home)).await?;
        Amendment::begin(&self.home, store.clone(), run).await.inspect_err(|_| {
            // Closing the store would fold its log into the file, and a file that is refused stays as it is.
            std::mem::forget(store);
        })
    }

    /// Removes a run that is not active.
    pub async fn remove(&self, run: &RunId) -> Result<(), StoreError> {
        let store = briefly(|| stores::open(&self.home)).await?;
        briefly(|| store.remove(run)).await
    }
}

fn no_such_task(task: &str, newest: Option<&Found>) -> FindError {
    let ids = newest.into_iter().flat_map(|found| &found.run.plan().tasks).map(|task| task.id.as_str());
    FindError::NoSuchTask {
        meant: did_you_mean(task, ids).map(str::to_owned),
        task: task.to_owned(),
        run: newest.map(|found| found.stored.id.clone()),
    }
}

impl Found {
    pub fn place_of_run<'a>(&'a self, home: &'a Home) -> RunPlace<'a> {
        place_of_run(home, &self.stored, &self.run)
    }

    pub fn repository(&self) -> Result<Repository, FindError> {
        repository(&self.stored)
    }

    /// The run's part of its repository, to look at.
    pub fn context(&self, home: &Home) -> Result<RunRepo, FindError> {
        Ok(self.place_of_run(home).context(self.repository()?)?)
    }

    pub fn isolation(&self, task: &Task) -> Isolation {
        task.isolation_or(self.run.options().isolation.unwrap_or(Isolation::None))
    }
}

impl FoundTask {
    pub fn task(&self) -> &Task {
        self.found.run.task(self.place).0
    }

    pub fn progress(&self) -> &Progress {
        self.found.run.progress(self.place)
    }
}

pub fn place_of_run<'a>(home: &'a Home, stored: &'a StoredRun, run: &'a Run) -> RunPlace<'a> {
    RunPlace { home: home.root(), id: &stored.id, run, directory: &stored.directory }
}

/// The repository a run was started in.
pub fn repository(stored: &StoredRun) -> Result<Repository, FindError> {
    if !stored.directory.is_dir() {
        let (run, directory) = (stored.id.clone(), stored.directory.clone());
        return Err(FindError::DirectoryGone { run, directory });
    }
    Ok(Repository::of(&stored.directory)?)
}
