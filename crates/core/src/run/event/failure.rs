//! How attempts fail, and why they are stopped.

use serde::{Deserialize, Serialize};

use super::Finding;
use crate::plan::{Reached, Resource};
use crate::values::ids::TaskId;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Failure {
    pub class: FailureClass,
    pub message: String,
    /// What there is to see of it: conflicting hunks, the last lines of a failing check.
    #[serde(default, skip_serializing_if = "str::is_empty")]
    pub evidence: Box<str>,
    /// What verifiers found, the first of them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub findings: Vec<Finding>,
}

impl Failure {
    pub fn new(class: FailureClass, message: impl Into<String>) -> Failure {
        Failure { class, message: message.into(), evidence: Box::default(), findings: Vec::new() }
    }

    /// It was ended for a limit of its `resources:`.
    pub fn of_limit(reached: &Reached) -> Failure {
        let class = match reached.resource {
            Resource::Memory => FailureClass::OutOfMemory,
            _ => FailureClass::LimitReached,
        };
        Failure::new(class, reached.to_string())
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
    /// Its processes used more memory than its `resources:` allow.
    OutOfMemory,
    /// It reached another limit of its `resources:`.
    LimitReached,
    /// It did the same thing over and over, to no effect.
    Runaway,
    /// It succeeded and made no changes, where changes are required; or changed something where none was allowed.
    NoChanges,
    Unwanted,
    /// A `verify:` command said no, in its own workspace or on the combined tree.
    Unverified,
    /// A `verify:` command fails exactly as on the untouched base: no attempt will change that.
    FailsOnBase,
    /// Its work does not merge with what landed meanwhile.
    Conflict,
    /// Its HEAD does not build on what it was given, and what it did cannot be told from what it left out.
    Diverged,
    /// A person has reviewed the work and sent it back.
    SentBack,
    /// Its work is good, and its epic does not land, for another task of it has not come to a good end.
    HeldBack,
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
    /// Conductor itself failed while it worked on the attempt.
    Internal,
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

    /// Whether its provider takes nothing from us for a while, whatever it is asked.
    pub fn is_outage(self) -> bool {
        matches!(self, FailureClass::RateLimited | FailureClass::Overloaded | FailureClass::Provider)
    }

    /// Whether it cut the work short without a fault of it: what was done stays, and the conversation can be gone on with.
    /// One that died in the middle of something may not be able to.
    pub fn cuts_short(self) -> bool {
        use FailureClass as C;
        matches!(
            self,
            C::Budget
                | C::Unauthorized
                | C::RateLimited
                | C::Overloaded
                | C::UsageLimit
                | C::Billing
                | C::Provider
        )
    }

    /// Whether it was found in what an agent had handed in.
    pub fn is_of_work(self) -> bool {
        use FailureClass as C;
        matches!(
            self,
            C::NoChanges | C::Unwanted | C::Unverified | C::FailsOnBase | C::Conflict | C::Diverged
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
            | C::OutOfMemory
            | C::LimitReached
            | C::Runaway
            | C::NoChanges
            | C::Unwanted
            | C::Unverified
            | C::FailsOnBase
            | C::Conflict
            | C::Internal
            | C::SentBack
            | C::HeldBack
            | C::Diverged => false,
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
    /// It makes room for something more urgent, and goes on when there is room again.
    Preempted,
    /// Another entrant of the same race has landed.
    Outrun,
    /// The work it is built on was dropped, sent back or changed.
    BaseChanged,
}

/// Why what was built on work that had not landed is of no use.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SetAside {
    /// That work was dropped, sent back or changed.
    Changed { task: TaskId },
    /// That work does not fit what has landed meanwhile: the task begins when all of it has.
    DoesNotFit,
}
