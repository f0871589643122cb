//! What an attempt left: whether it is what was due, and what becomes of it otherwise.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, PoisonError};

use conductor_core::plan::{Changes, Task};
use conductor_core::run::event::{Change, Failure, FailureClass, Outcome};
use serde::{Deserialize, Serialize};
use tokio::sync::watch;

use super::{AttemptContext, Stop, Worker};
use crate::git::workspaces::{Look, WorkspaceRequest};
use crate::process::transcript::Transcript;

/// The user's own directory, in which a task works.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Watched {
    before: Arc<Look>,
    /// Whether anything was changed by the end of any of its rounds.
    changed: Arc<AtomicBool>,
}

impl Worker {
    /// What the work left, if that is what the task was to leave.
    pub(super) async fn judged(
        &self,
        context: &AttemptContext<'_>,
        untouched: Option<&str>,
        transcript: &mut Transcript,
        stop: &mut watch::Receiver<Stop>,
    ) -> Result<Option<Change>, Outcome> {
        if context.task.changes == Changes::Discarded {
            return Ok(None);
        }
        let (workspaces, request, workspace) =
            (context.workspaces.clone(), context.request.clone(), context.workspace.clone());
        let change =
            self.started_at(context.blocks, stop, move || workspaces.collect(&request, &workspace)).await?;
        // What `setup:` changed is not the task's work.
        let change = change.filter(|change| untouched.is_none_or(|untouched| untouched != change.commit));
        if context.workspace.base.is_none() {
            return self.due_in_place(context).map(|()| None);
        }
        let mut change = due(context.task, change)?;
        if let Some(change) = &mut change
            && context.task.gate_proof
        {
            change.gate = self.prove_gate(context, change, transcript, stop).await;
        }
        if let Some(change) = &mut change {
            change.findings =
                std::mem::take(&mut *context.findings.lock().unwrap_or_else(PoisonError::into_inner));
            change.reviewed = self.reviewed(context, change, transcript, stop).await?.map(Box::new);
            change.measured = self.measured(context, change, transcript, stop).await.map(Box::new);
        }
        Ok(change)
    }

    /// In the user's own directory it can only be told whether anything changed while the task was at work. Where
    /// nothing did, neither did the task.
    fn due_in_place(&self, context: &AttemptContext<'_>) -> Result<(), Outcome> {
        match context.in_place.get().is_some_and(|watched| !watched.changed.load(Ordering::Relaxed)) {
            true => due(context.task, None).map(drop),
            false => Ok(()),
        }
    }

    /// What is there before the work itself begins: setting up is not the task's work.
    pub(super) async fn look_before(&self, context: &AttemptContext<'_>) {
        if context.task.changes != Changes::Required || context.blocks || context.in_place.get().is_some() {
            return;
        }
        let (directory, ours) = (context.workspace.directory.clone(), self.context.ours.clone());
        match tokio::task::spawn_blocking(move || Look::at(&directory, &ours)).await {
            Ok(Some(before)) => {
                let _ = context.in_place.set(Watched { before: before.into(), changed: Default::default() });
            }
            _ => self.notice(format!(
                "{} holds too many files to look at: whether {} changes any of them cannot be told",
                context.workspace.directory.display(),
                context.order.task
            )),
        }
    }

    /// What is there after it, before our own checks write anything.
    pub(super) async fn look_after(&self, context: &AttemptContext<'_>) {
        let Some(watched) = context.in_place.get() else { return };
        let (before, directory, ours) =
            (watched.before.clone(), context.workspace.directory.clone(), self.context.ours.clone());
        let changed = tokio::task::spawn_blocking(move || before.is_changed(&directory, &ours)).await;
        watched.changed.fetch_or(changed.unwrap_or(true), Ordering::Relaxed);
    }

    /// Sets a workspace back: its changes are to be discarded. If that fails, they are kept like any.
    pub(super) async fn discard(&self, context: AttemptContext<'_>, stop: &watch::Receiver<Stop>) {
        let AttemptContext { workspaces, request, .. } = &context;
        let (workspaces, request) = (workspaces.clone(), WorkspaceRequest { round: None, ..request.clone() });
        if self.patiently(stop, move || workspaces.prepare(&request)).await.is_err() {
            self.rescue(context, stop).await;
        }
    }

    /// Keeps whatever it did. If that fails, the worktree itself stays for the user to look at.
    pub(super) async fn rescue(
        &self,
        context: AttemptContext<'_>,
        stop: &watch::Receiver<Stop>,
    ) -> Option<Change> {
        let AttemptContext { workspaces, request, .. } = context;
        let task = request.task.clone();
        match self.patiently(stop, move || workspaces.rescue(&request)).await {
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
            let message = "it succeeded but made no changes (changes are required)";
            Err(Outcome::Failed(Failure::new(FailureClass::NoChanges, message)))
        }
        (Changes::Forbidden, Some(_)) => {
            let message = "it changed files, where none were to be changed";
            Err(Outcome::Failed(Failure::new(FailureClass::Unwanted, message)))
        }
        _ => Ok(change),
    }
}
