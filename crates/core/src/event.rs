//! What can have happened in a run. The log of these is the run: everything else is a fold over it.
//!
//! Past tense, and for ever: a log written by any earlier version must load. A field may be added with a default; nothing
//! is renamed or removed.

use std::collections::BTreeSet;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::graph::Strategy;
use crate::ids::{Attempt, TaskId};
use crate::measure::Measured;
use crate::models::Sample;
use crate::plan::{Amendment, Isolation, Limits, Plan};
use crate::recovery::{Nature, Strategy as Way};
use crate::units::{Millis, Tick, Timestamp, Usd};

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
    },
    /// What making the plan has used, before the run; it counts towards the run's caps.
    PlanningAccounted {
        planning: Box<Planning>,
    },
    /// A coordinator took the run up, for the first time or again.
    RunStarted {
        options: Box<Options>,
    },
    /// Tasks joined the plan, or were put another way before they started.
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

    AttemptStarted {
        task: TaskId,
        attempt: Attempt,
        executor: u32,
        /// Nobody for a command.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        hand: Option<Box<Hand>>,
    },
    ProcessStarted {
        task: TaskId,
        attempt: Attempt,
        process: Process,
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
        /// Where its time went; nothing where nobody measured it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        phases: Option<Phases>,
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
    /// The branch was not moved, for somebody else had; what was stacked then is void.
    MergeWithdrawn {
        task: TaskId,
        attempt: Attempt,
    },
    MergeFailed {
        task: TaskId,
        attempt: Attempt,
        failure: Failure,
    },

    /// What is done about a failed attempt, or about somebody who is not there to make one. What follows from it comes
    /// right behind it.
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
        /// Everybody who took part, in the order of the file.
        standings: Vec<Standing>,
    },
    /// Whether this task is to be done at all is for a person to say.
    ApprovalAsked {
        task: TaskId,
        question: Box<Question>,
    },
    /// What whoever works on a task has to say about it.
    TaskReported {
        task: TaskId,
        attempt: Attempt,
        report: Report,
    },
    /// A person, or nobody in time, answered what it asked.
    QuestionAnswered {
        task: TaskId,
        answer: Answer,
    },
    /// A person said something to whoever works on it.
    WordsSent {
        task: TaskId,
        words: String,
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

    /// A person set the run's branch back; the tasks that had landed since are reopened.
    BranchRolledBack {
        to: String,
    },
    /// An agent's provider takes nothing more from us until then.
    ProviderParked {
        agent: String,
        until: Timestamp,
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
}

/// What there is a cap on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Capped {
    Cost,
    Tokens,
    /// Calls of a model.
    Turns,
    /// Of one attempt of a task, or of the run.
    Time,
    /// Of all tasks of the run.
    Attempts,
}

/// Why a task is to be done once more.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Again {
    /// It failed, and its policy grants another try.
    #[default]
    Failed,
    /// Its work is good but for what is said here, and goes back to whoever did it.
    Mend(Box<Round>),
    /// Its work does not fit any more and is done anew from where the branch is now.
    Anew,
    /// Whoever was to do it could not, for reasons of their own; the next of its agents does.
    Other,
    /// The model could not do it; its agent does with the next one.
    Model,
    /// It failed, and begins once more with nothing of the try before.
    Back,
}

impl Again {
    fn is_failed(&self) -> bool {
        *self == Again::Failed
    }
}

/// Who is engaged for an attempt.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hand {
    pub agent: String,
    /// The agent's own choice where absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// Why this model, in a few words.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub why: String,
}

/// Work that goes back, and why.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Round {
    pub change: Change,
    pub failure: Failure,
}

/// How one taking-up of a run is to be carried out.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Options {
    pub slots: u32,
    #[serde(default)]
    pub strategy: Strategy,
    #[serde(default)]
    pub fail_fast: bool,
    /// Tasks whose file sets meet may run side by side after all.
    #[serde(default)]
    pub allow_overlap: bool,
    /// Where tasks work that do not say it themselves.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub isolation: Option<Isolation>,
    /// The file's limits, overridden by flags and filled up with what the machine has.
    #[serde(default)]
    pub limits: Limits,
    /// How long a question waits for a person, where its task does not say; for ever where absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answer_within: Option<Millis>,
    /// Whether the run is left where only questions are left, to be taken up when they are answered.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub leave_unanswered: bool,
    /// Agents some task names that are not there on this machine.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub absent: BTreeSet<String>,
    /// How models did in former runs; nothing where none is chosen.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub samples: Vec<Sample>,
    /// Where the run's files go, where that is not the state directory.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output: Option<String>,
}

impl Options {
    pub fn with_slots(slots: u32) -> Options {
        Options {
            slots,
            strategy: Strategy::Queue,
            fail_fast: false,
            allow_overlap: false,
            isolation: None,
            limits: Limits::default(),
            answer_within: None,
            leave_unanswered: false,
            absent: BTreeSet::new(),
            samples: Vec::new(),
            output: None,
        }
    }
}

/// The operating system's name for a process that cannot be mistaken for a later one with the same number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Process {
    pub pid: u32,
    /// In clock ticks since boot, as the kernel tells it; 0 where it does not.
    pub start_time: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Usage {
    #[serde(default)]
    pub cost: Usd,
    #[serde(default)]
    pub tokens: u64,
    #[serde(default)]
    pub turns: u32,
    /// Of the tokens, those whose price nobody knows; the cost is without them.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub unpriced: u64,
}

fn is_zero(number: &u64) -> bool {
    *number == 0
}

impl std::ops::AddAssign for Usage {
    fn add_assign(&mut self, more: Usage) {
        self.cost = self.cost + more.cost;
        self.tokens = self.tokens.saturating_add(more.tokens);
        self.turns = self.turns.saturating_add(more.turns);
        self.unpriced = self.unpriced.saturating_add(more.unpriced);
    }
}

/// A plan that an agent was asked for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Planning {
    /// By which name what it said is kept.
    pub plan: String,
    pub agent: String,
    pub at: Timestamp,
    /// By model; nothing where the agent did not tell what it used.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub usage: Vec<ModelUsage>,
}

impl Planning {
    /// Of all models.
    pub fn total(&self) -> Usage {
        self.usage.iter().fold(Usage::default(), |mut sum, one| {
            sum += one.usage;
            sum
        })
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ModelUsage {
    /// Nothing where it was not named.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<Box<str>>,
    pub usage: Usage,
}

/// An attempt's work as git knows it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Change {
    /// The commit it started from.
    pub base: String,
    /// The commit that holds all it did.
    pub commit: String,
    #[serde(default, skip_serializing_if = "Touched::is_empty")]
    pub touched: Touched,
    /// Whether its checks notice damage, where that was put to the test.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gate: Option<Gate>,
    /// What somebody else found who looked at it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reviewed: Option<Box<Reviewed>>,
    /// What tools have told of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub measured: Option<Box<Measured>>,
}

impl Change {
    pub fn new(base: impl Into<String>, commit: impl Into<String>) -> Change {
        Change {
            base: base.into(),
            commit: commit.into(),
            touched: Touched::default(),
            gate: None,
            reviewed: None,
            measured: None,
        }
    }
}

/// How somebody stood who raced for a task, when it was decided.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Standing {
    pub task: TaskId,
    /// From 0 to 100; nothing where nothing was measured, or there was nothing to measure yet.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub score: Option<f64>,
    /// What the score rests on, or what it was doing.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub words: String,
    /// Good work that did not land.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub change: Option<Box<Change>>,
}

/// How long an attempt was in each of its phases.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Phases {
    #[serde(default, skip_serializing_if = "is_no_time")]
    pub preparing: Millis,
    #[serde(default, skip_serializing_if = "is_no_time")]
    pub working: Millis,
    #[serde(default, skip_serializing_if = "is_no_time")]
    pub verifying: Millis,
}

fn is_no_time(length: &Millis) -> bool {
    *length == Millis(0)
}

/// What differs between a change's base and its commit.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Touched {
    /// The first of them, where there are very many.
    pub files: Vec<String>,
    #[serde(default)]
    pub created: u64,
    #[serde(default)]
    pub added: u64,
    #[serde(default)]
    pub removed: u64,
}

impl Touched {
    fn is_empty(&self) -> bool {
        self.files.is_empty()
    }
}

/// What a reviewer had to say of work that was accepted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reviewed {
    /// The agent, and its model where that is known.
    pub by: String,
    /// From 0 to 100; nothing where none was given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub score: Option<u8>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub findings: Vec<String>,
}

/// A file was damaged and the checks run again. A gate that holds has failed them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Gate {
    pub file: String,
    pub holds: bool,
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

/// What is said of a task by whoever works on it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Report {
    /// How it stands.
    Status(String),
    /// Something that somebody should look at.
    Issue { severity: Severity, words: String },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Severity {
    Low,
    Medium,
    High,
}

impl Severity {
    pub fn name(self) -> &'static str {
        match self {
            Severity::Low => "low",
            Severity::Medium => "medium",
            Severity::High => "high",
        }
    }
}

/// What an agent wants to do.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Question {
    pub tool: String,
    /// The command, the file, or all that is given to the tool.
    pub what: String,
    /// By which rule it is asked.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub why: String,
}

impl Question {
    /// What a person has to say yes or no to.
    pub fn put(&self) -> String {
        match self.tool.as_str() {
            crate::scheduler::FOLLOW_UP => format!("may it be done? {}", self.why),
            crate::scheduler::ASK_HUMAN => self.what.clone(),
            crate::scheduler::RECOVERY => format!("shall it be tried once more? {}", self.what),
            _ => format!("may it use {self}?"),
        }
    }
}

impl std::fmt::Display for Question {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}: {}", self.tool, self.what)
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Answer {
    pub allow: bool,
    /// What the agent is told with it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub words: Option<String>,
    pub by: Answerer,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Answerer {
    Person,
    /// Nobody answered in time.
    Deadline,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Failure {
    pub class: FailureClass,
    pub message: String,
    /// What there is to see of it: conflicting hunks, the last lines of a failing check.
    #[serde(default, skip_serializing_if = "str::is_empty")]
    pub evidence: Box<str>,
}

impl Failure {
    pub fn new(class: FailureClass, message: impl Into<String>) -> Failure {
        Failure { class, message: message.into(), evidence: Box::default() }
    }

    pub fn with(self, evidence: impl Into<Box<str>>) -> Failure {
        Failure { evidence: evidence.into(), ..self }
    }
}

/// What kind of failure it was decides whether another try makes sense.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FailureClass {
    /// It ran and said no.
    Exit,
    /// Something killed it.
    Killed,
    TimedOut,
    /// It could not even be started: program or directory missing, no permission.
    Unstartable,
    /// A cap of the task itself was reached.
    Budget,
    /// It did the same thing over and over, to no effect.
    Runaway,
    /// It ended well and changed nothing, where a change was due; or changed something where none was allowed.
    NoChanges,
    Unwanted,
    /// A `verify:` command said no, in its own workspace or on the combined tree.
    Unverified,
    /// Its work does not merge with what landed meanwhile.
    Conflict,
    /// An agent's process was over before its final word.
    Unfinished,
    /// The provider does not know us, or does not let us.
    Unauthorized,
    UnknownModel,
    /// Too many requests; gone in a moment.
    RateLimited,
    Overloaded,
    /// The allowance is used up until it is renewed.
    UsageLimit,
    /// No money left with the provider.
    Billing,
    /// More than the model can read.
    TooLong,
    /// The provider refused the request for another reason.
    Rejected,
    /// The provider failed, or cannot be reached.
    Provider,
}

impl FailureClass {
    /// Whether it holds for an agent whatever its model: it is not let in, has no allowance, or cannot be reached.
    pub fn is_of_every_model(self) -> bool {
        use FailureClass as C;
        matches!(
            self,
            C::Unstartable | C::Unfinished | C::Unauthorized | C::UsageLimit | C::Billing | C::Provider
        )
    }

    /// Whether it says something of the agent and its provider only, so that another one may well succeed.
    pub fn is_agents_own(self) -> bool {
        use FailureClass as C;
        match self {
            C::Unstartable
            | C::Unfinished
            | C::Unauthorized
            | C::UnknownModel
            | C::RateLimited
            | C::Overloaded
            | C::UsageLimit
            | C::Billing
            | C::TooLong
            | C::Rejected
            | C::Provider => true,
            C::Exit
            | C::Killed
            | C::TimedOut
            | C::Budget
            | C::Runaway
            | C::NoChanges
            | C::Unwanted
            | C::Unverified
            | C::Conflict => false,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StopReason {
    TimedOut,
    /// The task's own cap.
    Budget,
    Cancelled,
    /// The run is being left; the task is to be taken up again later.
    Interrupted,
    /// Somebody else who raced for the same task has landed.
    Outrun,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DrainReason {
    User,
    FailFast,
    /// A cap of the run: cost, tokens, attempts or time.
    Budget,
    /// All that is left to do waits for a person.
    Person,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RunOutcome {
    Completed,
    Failed,
}
