//! What becomes of a failure: of which nature it is, and which ways out of it are tried in which order.
//!
//! It knows a task and a failure. Whether a way is open (a try left, another agent there) is for the scheduler.

mod patterns;
mod risk;
#[cfg(test)]
mod tests;

use crate::plan::recovery::{Nature, Strategy};
use crate::plan::{Task, Work};
use crate::run::event::{Failure, FailureClass};

pub use patterns::telling;
pub use risk::{Risk, of_command, of_prompt, of_tool, risks};

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
        C::OutOfMemory => (Permanent, "it needs more memory than it may use"),
        C::LimitReached => (Permanent, "it needs more than it may use"),
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
