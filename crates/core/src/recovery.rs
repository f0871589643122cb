//! What becomes of a failure: of which nature it is, and which ways out of it are tried in which order.
//!
//! It knows a task and a failure. Whether a way is open (a try left, another agent there) is for the scheduler.

mod patterns;
mod risk;
#[cfg(test)]
mod tests;

use serde::{Deserialize, Serialize};

use crate::event::{Failure, FailureClass};
use crate::ids::{Attempt, TaskId};
use crate::plan::{Task, Work};

pub use patterns::{is_pattern, telling};
pub use risk::{Risk, of_command, of_prompt, of_tool, risks};

/// Whether the same thing, done again, may well succeed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Nature {
    /// It passes by itself.
    Transient,
    /// It stays until something is changed.
    Permanent,
    /// It may or may not pass by itself.
    Ambiguous,
}

impl Nature {
    pub const NAMES: [(&'static str, Nature); 3] = [
        ("transient", Nature::Transient),
        ("permanent", Nature::Permanent),
        ("ambiguous", Nature::Ambiguous),
    ];

    pub fn name(self) -> &'static str {
        match self {
            Nature::Transient => "transient",
            Nature::Permanent => "permanent",
            Nature::Ambiguous => "ambiguous",
        }
    }
}

/// A way out of a failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Strategy {
    /// Another try, as far as its retry policy grants one.
    Retry,
    /// The next of its agents.
    Alternative,
    /// Another try at once, with nothing of the one before it.
    Rollback,
    /// The run goes on without it.
    Skip,
    /// A person says whether it is tried once more.
    Ask,
    /// As `Ask`, and nothing new starts before the answer.
    Escalate,
    Fail,
    /// The next model of the same agent, which is the first alternative there is.
    Model,
    /// Back to its agent, with what was found. Decided where work does not merge; a file cannot ask for it.
    Mend,
}

impl Strategy {
    /// What a file can ask for.
    pub const NAMES: [(&'static str, Strategy); 7] = [
        ("retry", Strategy::Retry),
        ("alternative", Strategy::Alternative),
        ("rollback", Strategy::Rollback),
        ("skip", Strategy::Skip),
        ("ask", Strategy::Ask),
        ("escalate", Strategy::Escalate),
        ("fail", Strategy::Fail),
    ];

    pub fn name(self) -> &'static str {
        match self {
            Strategy::Mend => "mend",
            Strategy::Model => "alternative_model",
            other => Strategy::NAMES.iter().find(|(_, known)| *known == other).map_or("", |(name, _)| name),
        }
    }
}

/// What a task says about its failures. A list that is empty stands for what is usual.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Recovery {
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub transient: Vec<Strategy>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub permanent: Vec<Strategy>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ambiguous: Vec<Strategy>,
    /// Words by which it knows its own failures; the first that fit count.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub patterns: Vec<Pattern>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pattern {
    /// As they are in a line, whatever their case; `*` stands for anything.
    #[serde(rename = "match")]
    pub words: String,
    #[serde(rename = "as")]
    pub nature: Nature,
}

impl Recovery {
    fn of(&self, nature: Nature) -> &[Strategy] {
        match nature {
            Nature::Transient => &self.transient,
            Nature::Permanent => &self.permanent,
            Nature::Ambiguous => &self.ambiguous,
        }
    }

    /// Whether a person may be asked before it ends.
    pub fn asks(&self) -> bool {
        let all = [&self.transient, &self.permanent, &self.ambiguous].into_iter().flatten();
        all.copied().any(|way| matches!(way, Strategy::Ask | Strategy::Escalate))
    }
}

/// A decision that was taken, as reports tell it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Decided {
    pub task: TaskId,
    pub attempt: Attempt,
    pub nature: Nature,
    pub strategy: Strategy,
    pub reason: String,
}

impl Decided {
    /// As `transient: it says "connection reset"; try 2 of 3`.
    pub fn words(&self) -> String {
        words(self.nature, &self.reason)
    }
}

pub fn words(nature: Nature, reason: &str) -> String {
    format!("{}: {reason}", nature.name())
}

/// The nature of a failure, and by what it is told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Judgement {
    pub nature: Nature,
    pub why: String,
}

/// By the task's own patterns, else by what kind of failure it is, else by words that many programs say.
pub fn judge(task: &Task, failure: &Failure) -> Judgement {
    let own = task.recovery.as_ref().map_or(&[][..], |recovery| &recovery.patterns);
    if let Some(pattern) = patterns::own(own, failure) {
        return Judgement { nature: pattern.nature, why: format!("it says \"{}\"", pattern.words) };
    }
    if let Some((nature, why)) = by_class(failure.class) {
        return Judgement { nature, why: why.to_owned() };
    }
    match patterns::known(failure, is_of_a_command(task, failure)) {
        Some((nature, words)) => Judgement { nature, why: format!("it says \"{words}\"") },
        None => {
            Judgement { nature: Nature::Ambiguous, why: "nothing tells whether it would pass".to_owned() }
        }
    }
}

/// The ways that are tried, in order; where none of them is open, it has failed.
pub fn ways(task: &Task, nature: Nature, class: FailureClass) -> Vec<Strategy> {
    let own = task.recovery.as_ref().map_or(&[][..], |recovery| recovery.of(nature));
    if !own.is_empty() {
        return own.to_vec();
    }
    // A failure of the agent alone is another agent's chance; bad work stays with the agent that did it.
    let alternative = class.is_agents_own().then_some(Strategy::Alternative);
    let retry = (nature != Nature::Permanent).then_some(Strategy::Retry);
    alternative.into_iter().chain(retry).collect()
}

/// What a command of ours says about itself can be taken for the cause; what an agent quotes cannot.
fn is_of_a_command(task: &Task, failure: &Failure) -> bool {
    failure.class == FailureClass::Exit
        && (matches!(task.work, Work::Run(_)) || failure.message.starts_with("setup `"))
}

fn by_class(class: FailureClass) -> Option<(Nature, &'static str)> {
    use FailureClass as C;
    use Nature::{Ambiguous, Permanent, Transient};
    Some(match class {
        C::Killed => (Transient, "something killed it"),
        C::Unfinished => (Transient, "it was over before its final word"),
        C::RateLimited => (Transient, "its provider was asked too often"),
        C::Overloaded => (Transient, "its provider is overloaded"),
        C::UsageLimit => (Transient, "its allowance is used up for now"),
        C::Provider => (Transient, "its provider failed or cannot be reached"),
        C::Unstartable => (Permanent, "it could not be started"),
        C::Unauthorized => (Permanent, "its provider does not let it in"),
        C::UnknownModel => (Permanent, "there is no such model"),
        C::Billing => (Permanent, "no money is left with its provider"),
        C::Budget => (Permanent, "its own budget is used up"),
        C::TooLong => (Permanent, "it is more than the model can read"),
        C::Rejected => (Permanent, "its provider refused the request"),
        C::FailsOnBase => (Permanent, "its check fails on the untouched base, too"),
        C::Internal => (Permanent, "conductor itself failed"),
        C::Conflict => (Ambiguous, "its work does not merge"),
        C::Runaway => (Ambiguous, "it went round in circles"),
        C::NoChanges
        | C::Unwanted
        | C::TimedOut
        | C::Unverified
        | C::Diverged
        | C::SentBack
        | C::HeldBack
        | C::Exit => {
            return None;
        }
    })
}
