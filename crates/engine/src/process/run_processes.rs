//! What is known of the processes of one run, in the process that starts them. Several runs in one process have one each.

use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use conductor_core::values::ids::RunId;

use super::children;
use super::descent::{Descent, LOOK};
use super::limits::{Guard, Limits, RunRoots};
use super::run_folder;
use super::tree::{self, Mark, Orphan};

/// A look at the process table costs about as much as starting a process, so after very short attempts one look
/// serves all that ended in this time.
const TOGETHER: Duration = Duration::from_millis(250);

#[derive(Debug)]
pub struct RunProcesses {
    run: RunId,
    descent: Descent,
    /// Attempts that ended since the last look.
    due: Mutex<Vec<Mark>>,
    /// Where its attempts have their limits, and the run's folder, where that is written down.
    roots: RunRoots,
    folder: OnceLock<PathBuf>,
    /// The run's folder, where what is started is of that home alone.
    origin: OnceLock<OsString>,
}

impl RunProcesses {
    pub fn new(run: RunId) -> Arc<RunProcesses> {
        Arc::new(RunProcesses {
            descent: Descent::of(run.clone()),
            run,
            due: Mutex::default(),
            roots: RunRoots::default(),
            folder: OnceLock::new(),
            origin: OnceLock::new(),
        })
    }

    pub(super) fn run(&self) -> &RunId {
        &self.run
    }

    /// From here on, what attempts start is looked at and what has no mark is written down in this folder of the run.
    pub(crate) fn record_descent(self: &Arc<RunProcesses>, folder: &Path) {
        self.descent.record(folder);
        let processes = Arc::downgrade(self);
        let looking = std::thread::Builder::new().spawn(move || {
            loop {
                std::thread::sleep(LOOK);
                let Some(processes) = processes.upgrade() else { return };
                processes.descent.look();
            }
        });
        if let Err(error) = looking {
            tracing::warn!(%error, "processes that wipe their mark are not looked for");
        }
    }

    /// What has to be found again when we are killed is written down in this folder of the run.
    pub(super) fn noted_in(&self, folder: &Path) {
        let _ = self.folder.set(folder.to_owned());
    }

    /// What is started carries this folder of the run in its mark. A worker of another coordinator has none: that one ends what
    /// it started, too.
    pub(crate) fn are_of(&self, folder: &Path) {
        let _ = self.origin.set(run_folder::canonical(folder).into_os_string());
    }

    /// For the marks of what is started.
    pub(crate) fn origin(&self) -> Option<OsString> {
        self.origin.get().cloned()
    }

    /// What will keep a process to its limits, where it has some. Blocks.
    pub(super) fn guard(&self, limits: &Limits, mark: &Mark) -> io::Result<Option<Guard>> {
        Guard::prepare(limits, mark, &self.roots, self.folder.get().map(PathBuf::as_path))
    }

    /// No attempt of the run is at work any more.
    pub(super) fn leave_limits(&self) {
        self.roots.leave();
    }

    /// At once after an attempt that lasted, together with others after one that did not.
    pub(super) async fn sweep_soon(self: &Arc<RunProcesses>, mark: &Mark, lived: Duration) {
        if lived > TOGETHER {
            return self.sweep(mark).await;
        }
        let first = {
            let mut due = self.due();
            due.push(mark.clone());
            due.len() == 1
        };
        if first {
            let processes = self.clone();
            tokio::spawn(async move {
                tokio::time::sleep(TOGETHER).await;
                let marks = std::mem::take(&mut *processes.due());
                let belongs = |orphan: &Orphan| {
                    marks.iter().any(|mark| orphan.carries(mark)) || processes.is_of_the_past(orphan)
                };
                tree::chase(belongs).await;
            });
        }
    }

    /// Ends every process that carries this mark and that is not waited for.
    pub(crate) async fn sweep(&self, mark: &Mark) {
        tree::chase(|orphan| orphan.carries(mark) || self.is_of_the_past(orphan)).await;
    }

    /// Ends every process of an attempt whose worker was lost, whichever process has started it.
    pub(crate) async fn end_attempt(&self, mark: &Mark) {
        let of_worker = mark.clone();
        let _ = tokio::task::spawn_blocking(move || tree::end_attempt(&of_worker)).await;
        self.sweep(mark).await;
    }

    /// Ends every straggler of the run. Where no process is waited for any more and this process has no other run, that is
    /// every orphan we have: those that wiped their mark, and those an inner conductor left, which carry the mark of its
    /// own run. With other runs beside it, those two are told apart by their descent.
    pub(super) async fn sweep_all(&self) {
        self.due().clear();
        let is_last = children::under_way() == 0;
        let belongs = |orphan: &Orphan| {
            (is_last && children::is_alone(&self.run))
                || orphan.is_of(&self.run)
                || self.is_of_the_past(orphan)
        };
        tree::chase(belongs).await;
        if children::attempts_of(&self.run).is_empty() {
            self.descent.over();
        }
    }

    /// Whether it wiped its mark and came from an attempt that is over.
    fn is_of_the_past(&self, orphan: &Orphan) -> bool {
        orphan.is_unmarked() && self.descent.is_of_the_past(orphan.process, orphan.start_time)
    }

    fn due(&self) -> MutexGuard<'_, Vec<Mark>> {
        self.due.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
