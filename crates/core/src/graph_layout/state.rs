//! The states a task is shown in.

use crate::run::event::FailureClass;
use crate::run::{Progress, TaskState};

/// The most urgent one first: of many tasks in one node, it is the first of these that counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum State {
    Failed,
    /// It waits for the user's answer or review.
    NeedsYou,
    /// Its work does not merge.
    Conflict,
    Running,
    Waiting,
    Pending,
    /// Its work is on the run's branch.
    Landed,
    /// It is done and had nothing to land.
    Completed,
    Skipped,
    Cancelled,
}

impl State {
    pub const ALL: [State; 10] = [
        State::Failed,
        State::NeedsYou,
        State::Conflict,
        State::Running,
        State::Waiting,
        State::Pending,
        State::Landed,
        State::Completed,
        State::Skipped,
        State::Cancelled,
    ];

    pub fn name(self) -> &'static str {
        match self {
            State::Failed => "failed",
            State::NeedsYou => "needs_you",
            State::Conflict => "conflict",
            State::Running => "running",
            State::Waiting => "waiting",
            State::Pending => "pending",
            State::Landed => "landed",
            State::Completed => "completed",
            State::Skipped => "skipped",
            State::Cancelled => "cancelled",
        }
    }

    pub fn of(progress: &Progress) -> State {
        match &progress.state {
            TaskState::Pending => State::Pending,
            TaskState::Running(_) | TaskState::Racing => State::Running,
            TaskState::Waiting { .. } => State::Waiting,
            TaskState::Asking { .. } | TaskState::InReview { .. } => State::NeedsYou,
            TaskState::Completed if progress.landed.is_some() => State::Landed,
            TaskState::Completed => State::Completed,
            TaskState::Failed(failure) if failure.class == FailureClass::Conflict => State::Conflict,
            TaskState::Failed(_) => State::Failed,
            TaskState::Skipped { .. } => State::Skipped,
            TaskState::Cancelled => State::Cancelled,
        }
    }

    /// Whether it is shown by itself in a run that is too big to be shown whole.
    pub(super) fn stands_out(self) -> bool {
        matches!(self, State::Failed | State::NeedsYou | State::Conflict | State::Running)
    }
}
