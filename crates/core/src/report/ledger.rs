//! The truth ledger: what was claimed, what was checked, what is really there, and what should not be.
//!
//! The log knows the first two. The engine looks up the rest in git, on the disk and among the processes:
//! this is only the form in which it is written down.

use std::fmt::Write as _;

use serde::Serialize;

use crate::plan::Task;
use crate::run::event::FailureClass;
use crate::run::{Run, TaskState};
use crate::values::ids::TaskId;

#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct Ledger {
    /// Tasks whose agent or command said that it was done.
    pub claimed: u32,
    /// Those whose checks we ran, and they passed.
    pub verified: u32,
    /// Those whose commit is in the history of the run's branch, as git tells it.
    pub landed: u32,
    /// Those that were to leave nothing, or were free to, and did.
    pub unchanged: u32,
    /// Checks that still pass where the work is damaged.
    pub unproven: Vec<TaskId>,
    /// Refs that hold work which did not land.
    pub rescued: Vec<String>,
    /// Workspaces that are still there because a process is in them.
    pub parked: Vec<String>,
    /// Landed by the log, and not on the branch, or taken back there by a landing that did not say so: always empty.
    pub lost: Vec<String>,
    /// Worktrees, branches and processes that should be gone: always empty.
    pub leaked: Vec<String>,
}

impl Ledger {
    /// What the log alone can tell.
    pub fn claimed(run: &Run) -> Ledger {
        let mut ledger = Ledger::default();
        for (_, task, progress) in run.asked() {
            let (claimed, verified) = claims(task, &progress.state);
            ledger.claimed += u32::from(claimed);
            ledger.verified += u32::from(verified);
            ledger.unchanged +=
                u32::from(progress.state == TaskState::Completed && progress.landed.is_none());
            let gate = progress.landed.as_ref().and_then(|landed| landed.gate.as_ref());
            if gate.is_some_and(|gate| !gate.holds) {
                ledger.unproven.push(task.id.clone());
            }
        }
        ledger
    }

    /// Whether everything is where it should be.
    pub fn is_clean(&self) -> bool {
        self.lost.is_empty() && self.leaked.is_empty()
    }

    pub fn markdown(&self) -> String {
        let mut out = String::from("| ledger | |\n|---|---|\n");
        let counted = |list: &[String]| match list {
            [] => "0".to_owned(),
            list => format!("**{}**: {}", list.len(), list.join(", ")),
        };
        let rows = [
            ("claimed", self.claimed.to_string()),
            ("verified", self.verified.to_string()),
            ("landed", self.landed.to_string()),
            ("nothing to land", self.unchanged.to_string()),
            ("lost", counted(&self.lost)),
            ("leaked", counted(&self.leaked)),
        ];
        for (name, figure) in rows {
            let _ = writeln!(out, "| {name} | {figure} |");
        }
        let unproven: Vec<String> = self.unproven.iter().map(TaskId::to_string).collect();
        for (name, list) in [
            ("kept under rescue refs", &self.rescued),
            ("still in use", &self.parked),
            ("checks that prove nothing", &unproven),
        ] {
            if !list.is_empty() {
                let _ = writeln!(out, "| {name} | {} |", list.join(", "));
            }
        }
        out
    }
}

/// Whether it was said to be done, and whether our checks agreed.
fn claims(task: &Task, state: &TaskState) -> (bool, bool) {
    let checked = !task.verify.is_empty();
    match state {
        TaskState::Completed => (true, checked),
        TaskState::Running(running) => (running.ended, running.ended && checked),
        TaskState::InReview { .. } => (true, checked),
        TaskState::Failed(failure) => match failure.class {
            FailureClass::Conflict | FailureClass::Diverged => (true, checked),
            FailureClass::NoChanges
            | FailureClass::Unwanted
            | FailureClass::Unverified
            | FailureClass::FailsOnBase => (true, false),
            _ => (false, false),
        },
        _ => (false, false),
    }
}
