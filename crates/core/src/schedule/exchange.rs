//! What comes in and what goes out: everything that can happen to a run, and what is to be done about it.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{Car, LeftBehind, Refusal, Request, Stacked, Unlanded};
use crate::expertise::{ItemId, Lesson, Retirement};
use crate::run::IllegalEvent;
use crate::run::event::{
    AgentChoice, Answer, Change, Failure, Outcome, Phases, Process, Question, Record, Report, Round,
    StopReason, Usage,
};
use crate::values::ids::{Attempt, TaskId, WorkerId};
use crate::values::units::{Millis, Timestamp};

/// Everything that can happen to a run from outside.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Input {
    ProcessStarted {
        task: TaskId,
        attempt: Attempt,
        process: Process,
    },
    /// The worker that carries the attempt out lives. The first of these says which one it is.
    LeaseRenewed {
        task: TaskId,
        attempt: Attempt,
        worker: WorkerId,
    },
    /// A worker is gone, with all that it was at.
    WorkerLost {
        worker: WorkerId,
    },
    /// The process that held its agent was ended, and the agent with it; the attempt's end follows.
    ShimLost {
        task: TaskId,
        attempt: Attempt,
    },
    SessionStarted {
        task: TaskId,
        attempt: Attempt,
        session: String,
    },
    /// An agent's provider takes nothing more until then; the attempt that asked it is cut short.
    ProviderParked {
        agent: String,
        until: Timestamp,
    },
    /// What an attempt has used since its last report, and what was said too much before.
    UsageReported {
        task: TaskId,
        attempt: Attempt,
        usage: Usage,
        model: Option<Box<str>>,
        taken_back: Usage,
    },
    /// Its agent is done: what follows is our look at the work.
    WorkHandedIn {
        task: TaskId,
        attempt: Attempt,
    },
    /// What it handed in was not good, and its agent works on: the next round of mending begins.
    WorkGivenBack {
        task: TaskId,
        attempt: Attempt,
    },
    /// Its work is done and good: what still takes time is only measured, and its timeout holds no more.
    WorkAccepted {
        task: TaskId,
        attempt: Attempt,
    },
    /// `change` is what a good end left to be merged.
    AttemptEnded {
        task: TaskId,
        attempt: Attempt,
        outcome: Outcome,
        change: Option<Box<Change>>,
        phases: Option<Phases>,
    },
    /// What came of merging: these are stacked on one another and their combined tree is good, so that the branch can
    /// be moved from here to the last of them; those do not fit. Who is in neither list was not looked at.
    MergesPrepared {
        from: String,
        stacked: Vec<Stacked>,
        failed: Vec<LeftBehind>,
    },
    /// They were not looked at to the end, for the run is being left.
    MergesPutOff,
    /// The branch was moved as intended, or another process had moved it before.
    BranchMoved {
        to: String,
        moved: bool,
    },
    /// The branch cannot be moved at all.
    BranchStuck {
        to: String,
        failure: Failure,
    },
    /// The work of a task as it is now does not merge with another's, or with what has landed.
    ConflictForeseen {
        task: TaskId,
        with: Option<TaskId>,
        files: Vec<String>,
    },
    /// The user's checkout or branches are not what they were.
    CheckoutTouched {
        /// Who was at work since it was last looked at.
        tasks: Vec<TaskId>,
        what: Vec<String>,
    },
    /// What the user's git is configured by is not what it was when the run started.
    GitSettingsTouched {
        what: Vec<String>,
        undo: Vec<String>,
        /// It was so already when the run was taken up.
        earlier: bool,
    },
    /// What blocks the tasks of a stage, looked up right before it begins; nothing where that was not possible.
    StageExamined {
        stage: u32,
        blocked: Option<BTreeMap<TaskId, String>>,
    },
    /// The agent at work on a task reports its status or an issue.
    Reported {
        task: TaskId,
        attempt: Attempt,
        report: Report,
    },
    /// Which items were chosen for an attempt.
    ExpertiseUsed {
        task: TaskId,
        attempt: Attempt,
        given: Vec<ItemId>,
        withheld: Vec<ItemId>,
        held_out: bool,
    },
    /// What an attempt has taught, before its end is told.
    ExpertiseLearned {
        task: TaskId,
        attempt: Attempt,
        lessons: Vec<Lesson>,
    },
    /// An item harms, is not used, or is about files that are gone.
    ExpertiseRetired {
        item: ItemId,
        why: Retirement,
    },
    /// The run's branch was remembered before something risky that an attempt is about to do.
    CheckpointMade {
        task: TaskId,
        attempt: Attempt,
        commit: String,
        name: String,
        reason: String,
    },
    Asked(Request),
    /// Nothing new is to begin, since the run is about to be left to another coordinator; or again it may.
    HeldBack(bool),
    /// All that is at work can do without this coordinator, and another one waits: the versions of both.
    HandedOver {
        from: String,
        to: String,
    },
    /// The time `next_deadline` named has come.
    TimerDue,
}

/// What the engine is to do, once the events are durable.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Action {
    Start {
        task: TaskId,
        attempt: Attempt,
        executor: u32,
        choice: Option<Box<AgentChoice>>,
        start_from: Option<Box<StartFrom>>,
    },
    /// Go on with an attempt whose agent has outlived its coordinator; its `AttemptEnded` is awaited as ever.
    Reattach { task: TaskId, attempt: Attempt },
    /// Ask it to end, then make it; its `AttemptEnded` is still awaited.
    Stop { task: TaskId, attempt: Attempt, why: StopReason },
    /// Its worker is lost: refuse what that still reports of it, end what is left of it and save its work, as far as that
    /// is within reach; its `AttemptEnded` is still awaited.
    Reclaim { task: TaskId, attempt: Attempt, worker: WorkerId },
    /// Pass the user's message to the agent at work, where it takes messages.
    Say { task: TaskId, attempt: Attempt, words: String },
    /// Merge these onto the run's branch in memory, one on the other, and check the combined tree.
    Integrate { cars: Vec<Car> },
    /// Move the run's branch, unless it is there already.
    MoveBranch { from: String, to: String },
    /// Look up what blocks the tasks of this stage, counted from 0; its tasks wait for the answer.
    Examine { stage: u32 },
    /// Nothing is left to do or to wait for.
    Finish,
}

/// Where an attempt begins, if not simply at the tip of the run's branch.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct StartFrom {
    /// What the tasks of its epic have done so far.
    pub onto: Option<String>,
    /// Work that has not landed and that it builds on, the lowest first.
    pub stack: Vec<Unlanded>,
    /// What it is to mend or to go on with, and how often it has been asked to mend.
    pub round: Option<(u32, Round)>,
    /// Why what it did before did not land, where its files are set back.
    pub set_back: Option<Failure>,
    /// The conversation to go on with.
    pub session: Option<String>,
    /// That was begun in another workspace.
    pub moved: bool,
    /// What it asked before, and was answered.
    pub answers: Vec<(Question, Answer)>,
    /// What people had to say.
    pub words: Vec<String>,
    /// Those of it that came while the run was not active: also one that goes on with its conversation is told.
    pub unheard: Vec<String>,
    /// What it builds on that is done, with the commits by which that is on the branch. Told to prompts only.
    pub before: Vec<(TaskId, Option<String>)>,
    /// What has brought its group up to date, by whom and as which try: what that said is worth reading.
    pub context: Option<(TaskId, u32, Attempt)>,
    /// What is risky about it, where the run's branch is to be remembered before it begins.
    pub secure: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Default)]
pub struct Decision {
    pub records: Vec<Record>,
    pub actions: Vec<Action>,
    pub refused: Option<Refusal>,
    /// What was to be decided does not fit the run: a mistake in the rules. Then nothing is decided, there are neither
    /// records nor actions, and the scheduler decides nothing any more.
    pub illegal: Option<IllegalEvent>,
}

/// What a run that was left is taken up with.
#[derive(Debug, Clone, Default)]
pub struct ResumeState {
    /// Whether everything that failed, was skipped or cancelled is set back to pending.
    pub reopen: bool,
    /// What those had done who were at work, where they can go on with it.
    pub left: BTreeMap<TaskId, Change>,
    /// What those had used beyond what is recorded.
    pub used: Vec<LeftUsage>,
    /// Attempts that can be gone on with where they are.
    pub attached: BTreeMap<TaskId, Attached>,
    /// The versions of the coordinator that left the run to this one, and of this one.
    pub taken_over: Option<(String, String)>,
}

/// An attempt whose agent has outlived its coordinator.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Attached {
    pub attempt: Attempt,
    /// How long it has been at work.
    pub worked: Millis,
}

/// What an attempt of a dead coordinator has used beyond what is recorded of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeftUsage {
    pub task: TaskId,
    pub attempt: Attempt,
    pub usage: Usage,
    pub model: Option<Box<str>>,
}
