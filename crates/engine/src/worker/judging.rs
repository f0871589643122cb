//! What an attempt left: whether it is what was due, and what becomes of it otherwise.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use conductor_core::event::{Change, Failure, FailureClass, Outcome};
use conductor_core::plan::{Changes, Task};
use tokio::sync::watch;

use super::{Stop, Visit, Worker};
use crate::transcript::Transcript;
use crate::workspaces::{Guest, Look};

/// The user's own directory, in which a task works.
pub(super) struct Watched {
    before: Arc<Look>,
    /// Whether anything was changed by the end of any of its rounds.
    changed: AtomicBool,
}

impl Worker {
    /// What the work left, if that is what the task was to leave.
    pub(super) async fn judged(
        &self,
        visit: &Visit<'_>,
        untouched: Option<&str>,
        transcript: &mut Transcript,
        stop: &mut watch::Receiver<Stop>,
    ) -> Result<Option<Change>, Outcome> {
        if visit.task.changes == Changes::Discarded {
            return Ok(None);
        }
        let (workspaces, guest, seat) = (visit.workspaces.clone(), visit.guest.clone(), visit.seat.clone());
        let change = self.seated(visit.blocks, stop, move || workspaces.collect(&guest, &seat)).await?;
        // What `setup:` changed is not the task's work.
        let change = change.filter(|change| untouched.is_none_or(|untouched| untouched != change.commit));
        if visit.seat.base.is_none() {
            return self.due_in_place(visit).map(|()| None);
        }
        let mut change = due(visit.task, change)?;
        if let Some(change) = &mut change
            && visit.task.gate_proof
        {
            change.gate = self.prove_gate(visit, change, transcript, stop).await;
        }
        if let Some(change) = &mut change {
            change.reviewed = self.reviewed(visit, change, transcript, stop).await?.map(Box::new);
            change.measured = self.measured(visit, change, transcript, stop).await.map(Box::new);
        }
        Ok(change)
    }

    /// In the user's own directory it can only be told whether anything changed while the task was at work. Where
    /// nothing did, neither did the task.
    fn due_in_place(&self, visit: &Visit<'_>) -> Result<(), Outcome> {
        match visit.in_place.get().is_some_and(|watched| !watched.changed.load(Ordering::Relaxed)) {
            true => due(visit.task, None).map(drop),
            false => Ok(()),
        }
    }

    /// What is there before the work itself begins: setting up is not the task's work.
    pub(super) async fn look_before(&self, visit: &Visit<'_>) {
        if visit.task.changes != Changes::Required || visit.blocks || visit.in_place.get().is_some() {
            return;
        }
        let (directory, ours) = (visit.seat.directory.clone(), self.ours.clone());
        match tokio::task::spawn_blocking(move || Look::at(&directory, &ours)).await {
            Ok(Some(before)) => {
                let _ = visit.in_place.set(Watched { before: before.into(), changed: Default::default() });
            }
            _ => self.notice(format!(
                "{} holds too many files to look at: whether {} changes any of them cannot be told",
                visit.seat.directory.display(),
                visit.order.task
            )),
        }
    }

    /// What is there after it, before our own checks write anything.
    pub(super) async fn look_after(&self, visit: &Visit<'_>) {
        let Some(watched) = visit.in_place.get() else { return };
        let (before, directory, ours) =
            (watched.before.clone(), visit.seat.directory.clone(), self.ours.clone());
        let changed = tokio::task::spawn_blocking(move || before.is_changed(&directory, &ours)).await;
        watched.changed.fetch_or(changed.unwrap_or(true), Ordering::Relaxed);
    }

    /// Sets a workspace back: its changes are to be discarded. If that fails, they are kept like any.
    pub(super) async fn discard(&self, visit: Visit<'_>, stop: &watch::Receiver<Stop>) {
        let Visit { workspaces, guest, .. } = &visit;
        let (workspaces, guest) = (workspaces.clone(), Guest { round: None, ..guest.clone() });
        if self.patiently(stop, move || workspaces.prepare(&guest)).await.is_err() {
            self.rescue(visit, stop).await;
        }
    }

    /// Keeps whatever it did. If that fails, the worktree itself stays for the user to look at.
    pub(super) async fn rescue(&self, visit: Visit<'_>, stop: &watch::Receiver<Stop>) -> Option<Change> {
        let Visit { workspaces, guest, .. } = visit;
        let task = guest.task.clone();
        match self.patiently(stop, move || workspaces.rescue(&guest)).await {
            Ok(rescued) => rescued.map(|rescued| rescued.change),
            Err(error) => {
                let message = "could not be saved and is still in its workspace";
                self.notice(format!("what {task} left {message}: {error}"));
                None
            }
        }
    }
}

/// Whether a change, or none, is what the task was to leave.
fn due(task: &Task, change: Option<Change>) -> Result<Option<Change>, Outcome> {
    match (task.changes, &change) {
        (Changes::Required, None) => {
            let message = "it ended well but changed nothing, where a change was due";
            Err(Outcome::Failed(Failure::new(FailureClass::NoChanges, message)))
        }
        (Changes::Forbidden, Some(_)) => {
            let message = "it changed files, where none were to be changed";
            Err(Outcome::Failed(Failure::new(FailureClass::Unwanted, message)))
        }
        _ => Ok(change),
    }
}
