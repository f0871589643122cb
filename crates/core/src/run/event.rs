//! What can have happened in a run. The log of these is the run: everything else is a fold over it.
//!
//! Past tense, and for ever: a log written by any earlier version must load. A field may be added with a default; nothing
//! is renamed or removed.

mod again;
mod failure;
mod finding;
mod leaving;
mod options;
mod question;
mod review;
mod usage;
mod work;

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::expertise::{ItemId, Lesson, Retirement};
use crate::plan::recovery::{Nature, Strategy as Way};
use crate::plan::{Amendment, Plan, Priority};
use crate::values::ids::{Attempt, TaskId, WorkerId};
use crate::values::units::{Millis, Tick, Timestamp};

pub use again::{Again, Round};
pub use failure::{Failure, FailureClass, SetAside, StopReason};
pub use finding::{Finding, Level};
pub use leaving::{DrainReason, RunOutcome};
pub use options::{BringHome, Options, Selection, WorkersAt};
pub use question::{
    ASK_HUMAN, Answer, Answerer, CLOUD_SUBMISSION, FOLLOW_UP, Question, RECOVERY, Report, Severity, visible,
};
pub use review::{Comment, ReviewVerdict};
pub use usage::{Capped, ModelUsage, Planning, Usage};
pub use work::{BatchResult, Change, Gate, Phases, Processes, Reviewed, Standing, Touched};

/// An event in its place in the log.
#[derive(Debug, Clone, PartialEq)]
pub struct Record {
    /// From 1, without a gap.
    pub seq: u64,
    pub at: Timestamp,
    /// Awake time of the coordinator that wrote it; starts again with every `RunStarted`.
    pub tick: Tick,
    pub event: Event,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Event {
    RunCreated {
        plan: Arc<Plan>,
        /// What it was asked for with: a coordinator may die before it takes the run up. Absent in logs of earlier versions.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        options: Option<Box<Options>>,
    },
    /// What making the plan has used, before the run; it counts towards the run's caps.
    PlanningAccounted {
        planning: Box<Planning>,
    },
    /// A coordinator took the run up, for the first time or again.
    RunStarted {
        options: Box<Options>,
    },
    /// The coordinator left the run to another process, which waited for it: the versions of the program that each of them is.
    RunHandedOver {
        from: String,
        to: String,
    },
    /// The coordinator that was waiting has it now; what a person wanted of the run holds on.
    RunTakenOver {
        from: String,
        to: String,
    },
    /// Tasks joined the plan, or were updated before they started.
    PlanAmended {
        amendment: Box<Amendment>,
        /// How many of its tasks are new; they come last.
        joined: u32,
    },
    RunPaused {
        /// The task whose question nothing new is to start before; nothing where a person wanted it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        by: Option<TaskId>,
    },
    RunContinued {},
    ParallelChanged {
        slots: u32,
    },
    /// A person changed what the run may use: in the units of `BudgetNeared`.
    CapChanged {
        what: Capped,
        cap: u64,
    },
    /// No cap that the run was being left for is reached any more; tasks start again.
    DrainLifted {},
    /// Nothing new starts any more; what runs may end.
    RunDrained {
        why: DrainReason,
    },
    /// The coordinator left with tasks still to do; the run can be taken up again.
    RunStopped {
        why: DrainReason,
    },
    /// Every task has come to an end.
    RunFinished {
        outcome: RunOutcome,
    },

    /// All before it are over, with `--strategy batch`.
    BatchStarted {
        /// From 1.
        number: u32,
        tasks: Vec<TaskId>,
    },
    BatchCompleted {
        number: u32,
        result: Box<BatchResult>,
    },

    AttemptStarted {
        task: TaskId,
        attempt: Attempt,
        executor: u32,
        /// Nothing for a command.
        #[serde(rename = "hand", default, skip_serializing_if = "Option::is_none")]
        choice: Option<Box<AgentChoice>>,
        /// Work that has not landed and that it is built on: whose, and which commit.
        #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
        on: BTreeMap<TaskId, String>,
    },
    ProcessStarted {
        task: TaskId,
        attempt: Attempt,
        process: Process,
    },
    /// A worker in another process has taken it.
    AttemptLeased {
        task: TaskId,
        attempt: Attempt,
        worker: WorkerId,
    },
    /// That worker is gone, or was not heard of for too long.
    LeaseLost {
        task: TaskId,
        attempt: Attempt,
        worker: WorkerId,
    },
    /// The process that held its agent was ended from outside, and the agent with it.
    ShimLost {
        task: TaskId,
        attempt: Attempt,
    },
    /// A coordinator that came later has taken hold of it: its agent had gone on meanwhile, or had come to its end.
    AttemptReattached {
        task: TaskId,
        attempt: Attempt,
        /// How long it had been at work by then.
        #[serde(default)]
        worked: Millis,
    },
    /// A conversation began, by which the work can be gone on with later.
    SessionStarted {
        task: TaskId,
        attempt: Attempt,
        session: String,
    },
    UsageReported {
        task: TaskId,
        attempt: Attempt,
        usage: Usage,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        model: Option<Box<str>>,
        /// Of what was reported of this model before: more than it came to, now that the agent has said its totals.
        #[serde(default, skip_serializing_if = "Usage::is_nothing")]
        taken_back: Usage,
    },
    StopRequested {
        task: TaskId,
        attempt: Attempt,
        why: StopReason,
    },
    AttemptEnded {
        task: TaskId,
        attempt: Attempt,
        outcome: Outcome,
        elapsed: Millis,
        #[serde(default)]
        executor: u32,
        /// What it left to be merged; nothing where it works in place or changed nothing.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        change: Option<Box<Change>>,
        /// Where its time went; nothing where that was not measured.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        phases: Option<Phases>,
    },
    /// It was built on work that had not landed, and begins anew. Its commit is kept.
    WorkSetAside {
        task: TaskId,
        attempt: Attempt,
        why: SetAside,
    },
    /// The branch is about to be moved. A successor looks whether it was.
    MergeIntended {
        task: TaskId,
        attempt: Attempt,
        from: String,
        /// The commit that holds its work.
        to: String,
        /// Where the branch is to be in the end, where several land together.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        last: Option<String>,
    },
    /// The branch was not moved, for another process had moved it; what was stacked then is void.
    MergeWithdrawn {
        task: TaskId,
        attempt: Attempt,
    },
    MergeFailed {
        task: TaskId,
        attempt: Attempt,
        failure: Failure,
    },

    /// Its work is good, and waits for a person's approval before it lands.
    ReviewRequested {
        task: TaskId,
        attempt: Attempt,
    },
    /// A person has reviewed it. What follows from the verdict comes right behind it.
    ReviewGiven {
        task: TaskId,
        attempt: Attempt,
        verdict: ReviewVerdict,
    },

    /// What is done about a failed attempt, or about an agent that is not available for one. What follows
    /// from it comes right behind it.
    RecoveryDecided {
        task: TaskId,
        attempt: Attempt,
        nature: Nature,
        strategy: Way,
        reason: String,
    },
    /// The run's branch was remembered before something that is hard to take back.
    CheckpointMade {
        task: TaskId,
        attempt: Attempt,
        commit: String,
        /// By which it can be set back.
        name: String,
        reason: String,
    },
    RetryScheduled {
        task: TaskId,
        delay: Millis,
        #[serde(default, skip_serializing_if = "Again::is_failed")]
        again: Again,
    },
    TaskCompleted {
        task: TaskId,
        /// The commit on the run's branch that holds its work, where it changed anything.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        commit: Option<String>,
    },
    TaskFailed {
        task: TaskId,
        failure: Failure,
    },
    /// Of those who raced for a task, one has landed; the others are stopped.
    RaceDecided {
        task: TaskId,
        winner: TaskId,
        why: String,
        /// All entrants, in the order of the file.
        standings: Vec<Standing>,
    },
    /// Whether this task is to be done at all is for a person to say.
    ApprovalAsked {
        task: TaskId,
        question: Box<Question>,
    },
    /// The agent at work on a task reported its status or an issue.
    TaskReported {
        task: TaskId,
        attempt: Attempt,
        report: Report,
    },
    /// A person answered what it asked, or the time limit passed without an answer.
    QuestionAnswered {
        task: TaskId,
        answer: Answer,
    },
    /// A person sent a message to the agent that works on it.
    WordsSent {
        task: TaskId,
        words: String,
        /// No coordinator was there to pass it on: the next attempt is told, also where it goes on with a conversation.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        unheard: bool,
    },
    /// A person changed how urgent a task is; its file says what it said.
    PriorityChanged {
        task: TaskId,
        priority: Priority,
    },
    /// `culprit` is the task whose end made this one pointless.
    TaskSkipped {
        task: TaskId,
        culprit: Option<TaskId>,
    },
    TaskCancelled {
        task: TaskId,
    },
    /// Set back to pending, with its tries counted anew.
    TaskReopened {
        task: TaskId,
    },
    /// A person has brought onto the branch what could not be merged.
    TaskResolved {
        task: TaskId,
        commit: String,
        /// What that changed on the branch.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        change: Option<Box<Change>>,
    },

    /// Which items were chosen for an attempt. Those that are withheld show how tasks do without them.
    ExpertiseUsed {
        task: TaskId,
        attempt: Attempt,
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        given: Vec<ItemId>,
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        withheld: Vec<ItemId>,
        /// The task is one of those that get none.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        held_out: bool,
    },
    /// What an attempt has taught.
    ExpertiseLearned {
        task: TaskId,
        attempt: Attempt,
        lessons: Vec<Lesson>,
    },
    /// An item is not given any more.
    ExpertiseRetired {
        item: ItemId,
        why: Retirement,
    },

    /// A person set the run's branch back; the tasks that had landed since are reopened.
    BranchRolledBack {
        to: String,
    },
    /// An agent's provider takes nothing more from us until then.
    ProviderParked {
        agent: String,
        until: Timestamp,
        /// What it said, where it is waited for although it did not say until when.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        outage: Option<String>,
    },
    /// What blocks the tasks of a stage was looked up again before it began.
    StageExamined {
        /// Counted from 0.
        stage: u32,
        /// Why some cannot be done now, in place of what was known before.
        #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
        blocked: BTreeMap<TaskId, String>,
    },
    /// Most of what a task, or the whole run, may use is used up.
    BudgetNeared {
        #[serde(default, skip_serializing_if = "Option::is_none")]
        task: Option<TaskId>,
        what: Capped,
        /// In millionths of a dollar, tokens, turns, milliseconds or attempts.
        used: u64,
        cap: u64,
    },
    /// The work of two tasks as it is now does not merge; or of one with what has landed.
    ConflictForeseen {
        task: TaskId,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        with: Option<TaskId>,
        files: Vec<String>,
    },
    /// The user's checkout or branches changed while these tasks were at work, which were to stay out of them.
    CheckoutTouched {
        tasks: Vec<TaskId>,
        what: Vec<String>,
    },
    /// What the user's git is configured by is not what it was when the run started: its files, with their keys.
    GitSettingsTouched {
        /// Who was at work then; nothing where it was found when the run was taken up.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        tasks: Vec<TaskId>,
        what: Vec<String>,
        /// Commands that put the files back as they were.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        undo: Vec<String>,
    },
}

/// Who is engaged for an attempt.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AgentChoice {
    pub agent: String,
    /// The agent's own choice where absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// Why this model, in a few words.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub why: String,
}

/// The operating system's name for a process that cannot be mistaken for a later one with the same number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Process {
    pub pid: u32,
    /// In clock ticks since boot, as the kernel tells it; 0 where it does not.
    pub start_time: u64,
}

/// How an attempt ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    Succeeded,
    Failed(Failure),
    /// Cut short from outside, by a crash, a drain or a spent run budget: not its fault and not counted.
    Interrupted,
    Cancelled,
    /// It wants to do something only a person can allow, and has stopped there.
    Asked(Box<Question>),
}

impl Outcome {
    pub(crate) fn is_conflict(&self) -> bool {
        matches!(self, Outcome::Failed(failure) if failure.class == FailureClass::Conflict)
    }
}
