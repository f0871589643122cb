//! Shortages of the machine as attempts meet them: nothing starts on a full disk, what we cannot do for want of
//! something is waited for, and a task that failed while the disk was full is done again.

use std::collections::HashMap;
use std::fmt::Display;
use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use conductor_core::run::event::{FailureClass, Outcome};
use conductor_core::values::ids::TaskId;
use tokio::sync::watch;

use super::{Stop, Worker};
use crate::git::workspaces::WorkspaceError;
use crate::host::logs::carried;
use crate::host::shortage::{self, PAUSE, Passing, Shortage};

/// How often the disks are looked at while something runs, however much that is.
const LOOK: Duration = Duration::from_millis(200);

/// What goes on being waited for is told again after this.
const AGAIN_TOLD: Duration = Duration::from_secs(60);

/// How often a task is done again that failed while its disk was full. One that fills it by itself fails then.
const AGAIN: u32 = 2;

/// What is known of the disks a run works on.
#[derive(Default)]
pub(crate) struct Supplies {
    seen: Mutex<Seen>,
}

#[derive(Default)]
struct Seen {
    looked: Option<Instant>,
    full: Option<Instant>,
    /// When it was told that room is waited for, since there was any; and that anything else is.
    told_room: Option<Instant>,
    told_means: Option<Instant>,
    again: HashMap<TaskId, u32>,
}

impl Supplies {
    fn seen(&self) -> MutexGuard<'_, Seen> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Worker {
    /// Does something until it is no shortage that keeps it from being done; unless it is told to stop.
    pub(super) async fn supplied<T, E: Passing + Display>(
        &self,
        stop: &watch::Receiver<Stop>,
        mut work: impl FnMut() -> Result<T, E>,
    ) -> Result<T, E> {
        loop {
            match work() {
                Err(error) if self.waits_for(&error, stop) => tokio::time::sleep(PAUSE).await,
                done => return done,
            }
        }
    }

    /// The same for what blocks: it is done off the loop.
    pub(crate) async fn patiently<T: Send + 'static>(
        &self,
        stop: &watch::Receiver<Stop>,
        mut work: impl FnMut() -> Result<T, WorkspaceError> + Send + 'static,
    ) -> Result<T, WorkspaceError> {
        loop {
            let (done, again) = tokio::task::spawn_blocking(carried(move || (work(), work)))
                .await
                .map_err(|error| WorkspaceError::Broken(error.to_string()))?;
            match done {
                Err(error) if self.waits_for(&error, stop) => tokio::time::sleep(PAUSE).await,
                done => return done,
            }
            work = again;
        }
    }

    /// Whether it is a shortage, and may be waited for. Told once for all who wait.
    pub(super) fn waits_for<E: Passing + Display>(&self, error: &E, stop: &watch::Receiver<Stop>) -> bool {
        let Some(shortage) = error.shortage().filter(|_| *stop.borrow() == Stop::No) else { return false };
        if shortage == Shortage::Room {
            self.services.supplies.seen().full = Some(Instant::now());
        }
        self.tell_waiting(error, shortage);
        true
    }

    fn tell_waiting(&self, what: impl Display, shortage: Shortage) {
        let mut seen = self.services.supplies.seen();
        let told = match shortage {
            Shortage::Room => &mut seen.told_room,
            Shortage::Means => &mut seen.told_means,
        };
        if told.is_none_or(|at| at.elapsed() > AGAIN_TOLD) {
            *told = Some(Instant::now());
            drop(seen);
            self.notice(format!("{what}; waiting for {}", shortage.awaited()));
        }
    }

    /// The disk that is full, of those this run works on.
    fn full_disk(&self) -> Option<PathBuf> {
        let run_repo = self.workspaces.run_repo();
        let workspaces = run_repo.map(|run_repo| run_repo.workspaces_folder());
        let root = run_repo.map(|run_repo| run_repo.repository().root.clone());
        let folders = [Some(self.context.output.clone()), workspaces, root].into_iter().flatten();
        let full = shortage::full_disk(folders.collect::<Vec<_>>().iter().map(PathBuf::as_path));
        let mut seen = self.services.supplies.seen();
        seen.looked = Some(Instant::now());
        match &full {
            Some(_) => seen.full = seen.looked,
            None => seen.told_room = None,
        }
        full
    }

    /// While attempts are at work: one that fails later may have failed because of what was seen now.
    pub(super) fn check_disks(&self) {
        let is_due = self.services.supplies.seen().looked.is_none_or(|looked| looked.elapsed() >= LOOK);
        if is_due {
            self.full_disk();
        }
    }

    /// Waits until there is room for an attempt, or it is told to stop.
    pub(crate) async fn wait_for_room(&self, stop: &watch::Receiver<Stop>) {
        while *stop.borrow() == Stop::No
            && let Some(folder) = self.full_disk()
        {
            self.tell_waiting(format_args!("the disk at {} is full", folder.display()), Shortage::Room);
            tokio::time::sleep(PAUSE).await;
        }
    }

    /// Whether a disk was full at any time since then.
    pub(crate) fn was_full_since(&self, begun: Instant) -> bool {
        self.full_disk().is_some() || self.services.supplies.seen().full.is_some_and(|full| full >= begun)
    }

    /// What becomes of an attempt that failed while a disk was full: it is done again, for that may well be why.
    pub(super) fn excused(&self, task: &TaskId, begun: Instant, outcome: Outcome) -> Outcome {
        let Outcome::Failed(failure) = &outcome else { return outcome };
        use FailureClass as C;
        let may_be_why = matches!(
            failure.class,
            C::Exit | C::Killed | C::Unstartable | C::Unverified | C::Unfinished | C::NoChanges | C::Internal
        );
        if !may_be_why || !self.was_full_since(begun) {
            return outcome;
        }
        let mut seen = self.services.supplies.seen();
        let times = seen.again.entry(task.clone()).or_default();
        *times += 1;
        let is_out = *times > AGAIN;
        drop(seen);
        let message = &failure.message;
        if is_out {
            self.notice(format!("the disk was full each time {task} was tried; now that counts: {message}"));
            return outcome;
        }
        self.notice(format!("{task} failed while the disk was full and is done again: {message}"));
        Outcome::Interrupted
    }
}
