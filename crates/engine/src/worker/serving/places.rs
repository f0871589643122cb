//! What a worker on another machine has of its own: room for so many attempts, a repository, folders.

use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use conductor_core::plan::{Isolation, Plan};
use conductor_core::values::ids::RunId;

use crate::dispatch::{Order, RunContext};
use crate::git::GitError;
use crate::git::handover::{Code, HandoverError, Outpost};
use crate::git::workspaces::{RunRepo, apart_from_coordinator};
use crate::process::{RunProcesses, Teardown};

/// Of one worker, for all runs that it is there for.
pub(crate) struct Quarters {
    /// The folder of all that is the worker's.
    root: PathBuf,
    outpost: Outpost,
    slots: u32,
    taken: AtomicU32,
    /// A run's part of the repository is made by one at a time.
    turn: Mutex<()>,
    reaper: Option<ReaperCommand>,
}

/// What starts the process that ends what a killed worker has left of a run, by the worker's folder and the run.
pub type ReaperCommand = Arc<dyn Fn(&Path, &RunId) -> Option<Command> + Send + Sync>;

/// Room for one attempt, until this is dropped.
pub(super) struct Room(Arc<Quarters>);

impl Quarters {
    pub(crate) fn new(
        root: PathBuf,
        outpost: Outpost,
        slots: u32,
        reaper: Option<ReaperCommand>,
    ) -> Arc<Quarters> {
        let (taken, turn) = (AtomicU32::new(0), Mutex::default());
        Arc::new(Quarters { root, outpost, slots, taken, turn, reaper })
    }

    /// For the processes of a run here, from its first on until it is ended.
    pub(super) fn watch_over(&self, run: &RunId, processes: Arc<RunProcesses>) -> io::Result<Teardown> {
        let folder = self.run_folder(run);
        processes.record_descent(&folder);
        let mut teardown = Teardown::new(processes, &folder);
        if let Some(mut command) = self.reaper.as_ref().and_then(|reaper| reaper(&self.root, run)) {
            teardown.keep(&mut command)?;
        }
        Ok(teardown)
    }

    /// How many attempts it is at, of all runs.
    pub(crate) fn taken(&self) -> u32 {
        self.taken.load(Ordering::SeqCst)
    }

    pub(super) fn free(&self) -> u32 {
        self.slots.saturating_sub(self.taken())
    }

    pub(super) fn take_room(self: &Arc<Quarters>) -> Option<Room> {
        let one_more = |taken| (taken < self.slots).then_some(taken + 1);
        let taken = self.taken.fetch_update(Ordering::SeqCst, Ordering::SeqCst, one_more);
        taken.ok().map(|_| Room(self.clone()))
    }

    pub(super) fn outpost(&self) -> &Outpost {
        &self.outpost
    }

    /// Nothing of a run that is over is needed here.
    pub(super) fn forget(&self, run: &RunId) -> Result<(), GitError> {
        self.outpost.forget(run)?;
        let folder = self.run_folder(run);
        match std::fs::remove_dir_all(&folder) {
            Err(source) if source.kind() != std::io::ErrorKind::NotFound => {
                Err(GitError::File { path: folder, source })
            }
            _ => Ok(()),
        }
    }

    /// Where a run's files are here.
    pub(super) fn run_folder(&self, run: &RunId) -> PathBuf {
        self.root.join("runs").join(run.as_str())
    }

    /// The order as it is carried out here: its folders are this machine's.
    pub(super) fn settled(&self, order: Order, code: &Code) -> Order {
        let context = RunContext {
            run: order.context.run.clone(),
            home: self.root.clone(),
            directory: self.outpost.root().join(&code.below),
            output: self.run_folder(&order.context.run),
            ours: vec![self.root.clone()],
            isolation: match order.context.isolation {
                Isolation::None => Isolation::Worktree,
                apart => apart,
            },
            in_repository: true,
            limits: order.context.limits.clone(),
        };
        Order { context: Arc::new(context), ..order }
    }

    /// The commits of an order are here, and the run's branch is where its coordinator says. This blocks. The run's part of
    /// the repository is made with its first order.
    pub(super) fn fetch(
        &self,
        order: &Order,
        code: &Code,
        plan: &Plan,
        run_repo: Option<Arc<RunRepo>>,
    ) -> Result<Option<RunRepo>, HandoverError> {
        let run = &order.context.run;
        self.outpost.fetch(run, code)?;
        let _one = self.turn.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(run_repo) = run_repo {
            run_repo.follow(&code.tip)?;
            return Ok(None);
        }
        let directory = self.outpost.root().join(&code.below);
        let made = apart_from_coordinator(&self.root, run, &directory, plan, &code.tip)?;
        made.follow(&code.tip)?;
        Ok(Some(made))
    }
}

impl Drop for Room {
    fn drop(&mut self) {
        self.0.taken.fetch_sub(1, Ordering::SeqCst);
    }
}
