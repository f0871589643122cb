//! How tasks and a run stand: states that carry only what is valid in them.

use crate::plan::graph::Node;
use crate::run::event::{
    BatchResult, Change, DrainReason, Failure, Finding, Gate, Process, Question, Reviewed, RunOutcome,
    Severity, StopReason, Touched, Usage,
};
use crate::run::measure::Measured;
use crate::values::ids::{Attempt, TaskId, WorkerId};
use crate::values::units::{Millis, Tick, Timestamp};

#[derive(Debug, Clone, PartialEq)]
pub enum TaskState {
    Pending,
    Running(Running),
    /// Those who race for it have begun.
    Racing,
    Waiting {
        delay: Millis,
        since: Timestamp,
    },
    /// For a person's answer.
    Asking {
        question: Box<Question>,
        since: Timestamp,
    },
    /// For a person's review of its work, which lands when it is approved.
    InReview {
        /// The attempt that did the work, with what is to land.
        running: Box<Running>,
        since: Timestamp,
    },
    Completed,
    Failed(Failure),
    Skipped {
        culprit: Option<TaskId>,
    },
    Cancelled,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Running {
    pub attempt: Attempt,
    pub executor: u32,
    /// When it was started, or when this coordinator took hold of it.
    pub since: Tick,
    /// How long it had been at work before that.
    pub worked: Millis,
    pub process: Option<Process>,
    /// Who carries it out, where that is not the coordinator's own process.
    pub worker: Option<WorkerId>,
    /// That one is gone or silent; or, where there is none, the shim that held its agent is gone.
    pub lost: bool,
    pub stopping: Option<StopReason>,
    /// Set once the attempt has ended and only the task's own end is outstanding.
    pub ended: bool,
    /// What is being merged after a good end, and whether the branch may have been moved for it already.
    pub landing: Option<Box<Landing>>,
}

impl Running {
    /// How long it has been at work, whichever coordinators have watched it.
    pub fn length(&self, now: Tick) -> Millis {
        self.worked + (now - self.since)
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Landing {
    pub change: Change,
    pub intent: Option<Intent>,
    /// The number of the event by which it began: who ended first lands first.
    pub since: u64,
    /// When that was, in the present coordinator's time; its beginning where an earlier one saw it.
    pub tick: Tick,
    /// Whether a person has approved this very change.
    pub approved: bool,
}

/// A move of the branch that may have been made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Intent {
    pub from: String,
    /// The commit that holds the task's work.
    pub to: String,
    /// Where the branch ends up, with all that land together.
    pub last: String,
}

/// Work that is on the run's branch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Landed {
    pub commit: String,
    /// The commit that work differs from by what the task did; empty where that is not known.
    pub base: String,
    /// The commit it was before it was merged, squashed or rebased.
    pub work: String,
    pub touched: Touched,
    pub gate: Option<Gate>,
    pub reviewed: Option<Box<Reviewed>>,
    pub measured: Option<Box<Measured>>,
    pub findings: Vec<Finding>,
}

impl Landed {
    /// A change by the commit that holds it on the branch.
    pub fn of(commit: String, change: Change) -> Landed {
        let Change { base, commit: work, touched, gate, reviewed, measured, findings, edited: _, stacked: _ } =
            change;
        Landed { commit, base, work, touched, gate, reviewed, measured, findings }
    }
}

/// A conflict that has not cost anything yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Foreseen {
    pub task: TaskId,
    pub with: Option<TaskId>,
    pub files: Vec<String>,
}

/// A change of the user's checkout or branches that was not ours, and who was at work.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stray {
    pub tasks: Vec<TaskId>,
    pub what: Vec<String>,
}

/// A change of what the user's git is configured by, who was at work, and how it is undone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SettingsTouched {
    pub tasks: Vec<TaskId>,
    pub what: Vec<String>,
    pub undo: Vec<String>,
}

impl SettingsTouched {
    /// Who may have changed what the user's git is configured by.
    pub fn words(&self) -> String {
        let tasks = self.tasks.iter().map(TaskId::as_str).collect::<Vec<_>>().join(", ");
        let when = match tasks.is_empty() {
            true => "since the run started".to_owned(),
            false => format!("while {tasks} worked, by one of them or by yourself"),
        };
        format!("git's configuration was changed {when}: {}", self.what.join(", "))
    }
}

/// What an agent found beside its task.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Issue {
    pub task: TaskId,
    pub severity: Severity,
    pub words: String,
}

/// A task's state as people and exports name it.
/// A provider that fails or refuses whatever it is asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Outage {
    pub since: Timestamp,
    /// How often it was found so.
    pub looks: u32,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Status {
    Pending,
    Running,
    Waiting,
    Completed,
    Failed,
    Skipped,
    Cancelled,
}

impl Status {
    pub const ALL: [Status; 7] = [
        Status::Pending,
        Status::Running,
        Status::Waiting,
        Status::Completed,
        Status::Failed,
        Status::Skipped,
        Status::Cancelled,
    ];

    pub fn name(self) -> &'static str {
        match self {
            Status::Pending => "pending",
            Status::Running => "running",
            Status::Waiting => "waiting",
            Status::Completed => "completed",
            Status::Failed => "failed",
            Status::Skipped => "skipped",
            Status::Cancelled => "cancelled",
        }
    }

    pub fn is_end(self) -> bool {
        matches!(self, Status::Completed | Status::Failed | Status::Skipped | Status::Cancelled)
    }
}

impl std::fmt::Display for Status {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(self.name())
    }
}

impl TaskState {
    /// The work of a good attempt that has not landed yet.
    pub fn landing(&self) -> Option<&Landing> {
        match self {
            TaskState::Running(running) => running.landing.as_deref(),
            TaskState::InReview { running, .. } => running.landing.as_deref(),
            _ => None,
        }
    }

    /// Whether its work is done and checked, and waits for a person or for the run to go on after the person's word.
    pub fn is_for_review(&self) -> bool {
        matches!(self, TaskState::InReview { .. }) || self.landing().is_some_and(|landing| landing.approved)
    }

    pub fn status(&self) -> Status {
        match self {
            TaskState::Pending => Status::Pending,
            TaskState::Running(_) | TaskState::Racing => Status::Running,
            TaskState::Waiting { .. } | TaskState::Asking { .. } | TaskState::InReview { .. } => {
                Status::Waiting
            }
            TaskState::Completed => Status::Completed,
            TaskState::Failed(_) => Status::Failed,
            TaskState::Skipped { .. } => Status::Skipped,
            TaskState::Cancelled => Status::Cancelled,
        }
    }
}

/// What has become of one task so far.
#[derive(Debug, Clone, PartialEq)]
pub struct Progress {
    pub state: TaskState,
    /// The newest attempt's number, 0 before the first.
    pub last_attempt: u32,
    /// Whether an attempt was started since it was last opened: what has begun keeps its text.
    pub begun: bool,
    /// Tries since it was last opened that ended by their own doing.
    pub tried: u32,
    pub interruptions: u32,
    pub usage: Usage,
    /// Time its attempts have run, all together.
    pub worked: Millis,
    pub executor: Option<u32>,
    /// What it brought onto the run's branch.
    pub landed: Option<Box<Landed>>,
    pub first_started: Option<Timestamp>,
    pub ended: Option<Timestamp>,
}

impl Progress {
    pub(super) fn new() -> Progress {
        Progress {
            state: TaskState::Pending,
            last_attempt: 0,
            begun: false,
            tried: 0,
            interruptions: 0,
            usage: Usage::default(),
            worked: Millis(0),
            executor: None,
            landed: None,
            first_started: None,
            ended: None,
        }
    }
}

/// A batch that has begun, in the order of their beginnings.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Batch {
    pub number: u32,
    pub started: Timestamp,
    /// How long the run had been active then.
    pub began: Millis,
    pub tasks: Vec<Node>,
    /// Nothing while it is under way.
    pub result: Option<BatchResult>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stage {
    Created,
    Active,
    Draining(DrainReason),
    Stopped(DrainReason),
    Finished(RunOutcome),
}
