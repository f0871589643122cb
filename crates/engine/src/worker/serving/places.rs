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
use crate::git::workspaces::{RunRepo, apart_from_coordinator, beside_coordinator};
use crate::host::logs::carried;
use crate::process::{RunProcesses, Teardown};

/// Of one worker, for all runs that it is there for.
pub(crate) struct Quarters {
    /// The folder of all that is the worker's.
    root: PathBuf,
    outpost: Outpost,
    slots: u32,
    taken: AtomicU32,
    /// How many ends of attempts were said that no coordinator has recorded yet.
    unheard: AtomicU32,
    /// A run's part of the repository is made by one at a time.
    turn: Mutex<()>,
    reaper: Option<ReaperCommand>,
}

/// What starts the process that ends what a killed worker has left of a run, by the worker's folder and the run.
pub type ReaperCommand = Arc<dyn Fn(&Path, &RunId) -> Option<Command> + Send + Sync>;

/// Room for one attempt, until this is dropped.
pub(super) struct Room(Arc<Quarters>);

/// The end of an attempt is said and not recorded yet, until this is dropped.
pub(super) struct Unheard(Arc<Quarters>);

impl Quarters {
    pub(crate) fn new(
        root: PathBuf,
        outpost: Outpost,
        slots: u32,
        reaper: Option<ReaperCommand>,
    ) -> Arc<Quarters> {
        let (taken, unheard, turn) = (AtomicU32::new(0), AtomicU32::new(0), Mutex::default());
        Arc::new(Quarters { root, outpost, slots, taken, unheard, turn, reaper })
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

    /// Whether it is at nothing, and what it was at is recorded: only then it may end without a loss.
    pub(crate) fn is_done(&self) -> bool {
        self.taken() == 0 && self.unheard.load(Ordering::SeqCst) == 0
    }

    pub(super) fn say_end(self: &Arc<Quarters>) -> Unheard {
        self.unheard.fetch_add(1, Ordering::SeqCst);
        Unheard(self.clone())
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

    /// A run that is over needs no workspaces here. Work that did not get to the remote stays under a rescue ref.
    pub(super) fn clear(&self, run: &RunId, run_repo: &RunRepo) -> Result<(), HandoverError> {
        run_repo.clear(&self.outpost.delivered(run)?)?;
        Ok(self.forget(run)?)
    }

    /// Clears what runs have left that came to their end while no worker was here; why it stays for now, if it does.
    pub(crate) async fn swept(self: &Arc<Quarters>) -> Option<String> {
        let quarters = self.clone();
        let why = match tokio::task::spawn_blocking(carried(move || quarters.sweep())).await {
            Ok(Ok(())) => return None,
            Ok(Err(error)) => error.to_string(),
            Err(panic) => panic.to_string(),
        };
        Some(format!("what runs that are over have left here stays for now: {why}"))
    }

    /// Of a run that is not over the remote has something. A folder in which a process still is stays for the next time.
    fn sweep(&self) -> Result<(), HandoverError> {
        let left = self.left();
        if left.is_empty() {
            return Ok(());
        }
        let going_on = self.outpost.runs_there()?;
        for run in left.iter().filter(|run| !going_on.contains(*run)) {
            let run_repo = beside_coordinator(&self.root, run, self.outpost.root(), &Plan::default())?;
            if run_repo.clear_later(&self.outpost.delivered(run)?, false)?.is_empty() {
                self.forget(run)?;
            }
        }
        Ok(())
    }

    /// Runs that have a folder here.
    fn left(&self) -> Vec<RunId> {
        let folders = std::fs::read_dir(self.root.join("runs")).into_iter().flatten().flatten();
        folders.filter_map(|folder| RunId::parse(folder.file_name().to_str()?)).collect()
    }

    /// Nothing of a run that is over is needed here.
    fn forget(&self, run: &RunId) -> Result<(), GitError> {
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

impl Drop for Unheard {
    fn drop(&mut self) {
        self.0.unheard.fetch_sub(1, Ordering::SeqCst);
    }
}

impl Drop for Room {
    fn drop(&mut self) {
        self.0.taken.fetch_sub(1, Ordering::SeqCst);
    }
}
