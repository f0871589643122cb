//! Of the whole run: what it may use, what models cost, and whom to tell.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::is_default;
use crate::values::units::{Millis, Usd};

/// What a model costs, in dollars for a million tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Price {
    pub input: Usd,
    pub output: Usd,
    /// As any other input where absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache_read: Option<Usd>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache_write: Option<Usd>,
}

/// What becomes of agents at work when the run's budget is reached. Nothing new starts either way.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OnBudget {
    /// They are interrupted, and can be resumed.
    #[default]
    Stop,
    /// They may end what they began.
    Finish,
}

/// How long what a coordinator leaves behind goes on without one, where nothing else is said.
pub const ORPHAN_GRACE: Millis = Millis::from_secs(60);

/// A night. What is to go on for longer than that without a coordinator needs a cap and a deadline.
pub const LONGEST_UNBOUNDED_GRACE: Millis = Millis::from_secs(12 * 3600);

/// What the whole run may use.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Limits {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_cost: Option<Usd>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_tokens: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_time: Option<Millis>,
    /// Of all tasks together.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_attempts: Option<u32>,
    #[serde(default, skip_serializing_if = "is_default")]
    pub on_budget: OnBudget,
    /// How long an outage of a provider is waited out before it fails a task; nothing where it fails one at once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outage_patience: Option<Millis>,
    /// How long agents and commands go on without a coordinator; `ORPHAN_GRACE` where absent, not at all where 0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub orphan_grace: Option<Millis>,
    /// How many tasks agents may add to the run; the tools for that are only offered where it is more than none.
    #[serde(default, skip_serializing_if = "is_default")]
    pub follow_ups: u32,
    /// Whether those join without a person's leave.
    #[serde(default, skip_serializing_if = "is_default")]
    pub follow_ups_unasked: bool,
    /// Of 100 prompts, so many are given no expertise, for comparison; the usual number where absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hold_out: Option<u32>,
    /// For a model that reads transcripts once the run is over; none is asked where absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub learn_cost: Option<Usd>,
    /// Tasks at once, per agent.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub agents: BTreeMap<String, u32>,
    /// Capacity of each named resource.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub resources: BTreeMap<String, u64>,
}

impl Limits {
    /// Whether a person has to allow every task an agent adds.
    pub fn asks_about_follow_ups(&self) -> bool {
        !self.follow_ups_unasked
    }

    /// How long what a coordinator leaves behind goes on without one.
    pub fn orphan_grace(&self) -> Millis {
        self.orphan_grace.unwrap_or(ORPHAN_GRACE)
    }

    /// Whether what goes on for so long without a coordinator can spend, or last, without end.
    pub fn leaves_without_bounds(&self) -> bool {
        let is_capped = self.max_cost.is_some() || self.max_tokens.is_some();
        self.orphan_grace() > LONGEST_UNBOUNDED_GRACE && !(is_capped && self.max_time.is_some())
    }
}

/// What can be filled in where a notification's words are given.
pub const NOTIFICATION_NAMES: [&str; 12] = [
    "task_id",
    "task_name",
    "run_id",
    "event",
    "status",
    "error",
    "question",
    "completed",
    "failed",
    "total",
    "elapsed",
    "cost",
];

#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Notifications {
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub on_complete: Vec<Notification>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub on_failure: Vec<Notification>,
    /// A question needs a person.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub on_input: Vec<Notification>,
    /// Most of a budget is used up, or all of the run's.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub on_budget: Vec<Notification>,
}

impl Notifications {
    pub fn is_empty(&self) -> bool {
        *self == Notifications::default()
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Notification {
    Terminal {
        message: Option<String>,
    },
    Sound {
        file: Option<String>,
    },
    Desktop {
        message: Option<String>,
    },
    Webhook {
        url: String,
    },
    /// A notifier of this name.
    Plugin {
        name: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        message: Option<String>,
    },
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_goes_on_for_days_alone_needs_a_cap_and_a_deadline() {
        let long = Limits { orphan_grace: Some(Millis::from_secs(100_000 * 3600)), ..Limits::default() };
        let capped = Limits { max_tokens: Some(1), ..long.clone() };
        let timed = Limits { max_time: Some(Millis::from_secs(60)), ..long.clone() };
        assert!([&long, &capped, &timed].iter().all(|limits| limits.leaves_without_bounds()));
        let bounded = Limits { max_time: timed.max_time, ..capped };
        let short = Limits { orphan_grace: Some(LONGEST_UNBOUNDED_GRACE), ..Limits::default() };
        assert!([bounded, short, Limits::default()].iter().all(|limits| !limits.leaves_without_bounds()));
    }
}
