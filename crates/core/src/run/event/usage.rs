//! What agents and planners have used.

use serde::{Deserialize, Serialize};

use crate::values::units::{Millis, Timestamp, Usd};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Usage {
    #[serde(default)]
    pub cost: Usd,
    #[serde(default)]
    pub tokens: u64,
    /// Of the tokens, those that models wrote; the others they read.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub output: u64,
    #[serde(default)]
    pub turns: u32,
    #[serde(default, skip_serializing_if = "is_none")]
    pub tool_calls: u32,
    /// Of the tokens, those whose price is not known; the cost is without them.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub unpriced: u64,
    /// Of the cost, what agents used to which the agent handed a part of its work.
    #[serde(default, skip_serializing_if = "is_free")]
    pub delegated: Usd,
    /// Of the cost, what is at most used: the agent has not said its totals.
    #[serde(default, skip_serializing_if = "is_free")]
    pub estimated: Usd,
}

fn is_zero(number: &u64) -> bool {
    *number == 0
}

fn is_none(number: &u32) -> bool {
    *number == 0
}

fn is_free(cost: &Usd) -> bool {
    cost.0 == 0
}

impl Usage {
    pub fn is_nothing(&self) -> bool {
        *self == Usage::default()
    }

    /// This much less, and never less than nothing.
    #[must_use]
    pub fn less(self, other: Usage) -> Usage {
        Usage {
            cost: Usd(self.cost.0.saturating_sub(other.cost.0)),
            tokens: self.tokens.saturating_sub(other.tokens),
            output: self.output.saturating_sub(other.output),
            turns: self.turns.saturating_sub(other.turns),
            tool_calls: self.tool_calls.saturating_sub(other.tool_calls),
            unpriced: self.unpriced.saturating_sub(other.unpriced),
            delegated: Usd(self.delegated.0.saturating_sub(other.delegated.0)),
            estimated: Usd(self.estimated.0.saturating_sub(other.estimated.0)),
        }
    }

    /// A report: what is new, and what was told before and is taken back.
    pub fn report(&mut self, usage: Usage, taken_back: Usage) {
        *self += usage;
        *self = self.less(taken_back);
    }
}

impl std::ops::AddAssign for Usage {
    fn add_assign(&mut self, more: Usage) {
        self.cost = self.cost + more.cost;
        self.tokens = self.tokens.saturating_add(more.tokens);
        self.output = self.output.saturating_add(more.output);
        self.turns = self.turns.saturating_add(more.turns);
        self.tool_calls = self.tool_calls.saturating_add(more.tool_calls);
        self.unpriced = self.unpriced.saturating_add(more.unpriced);
        self.delegated = self.delegated + more.delegated;
        self.estimated = self.estimated + more.estimated;
    }
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
    /// How long it took to find out how much there is to do, and to make the plan.
    #[serde(default)]
    pub analysed_in: Millis,
    #[serde(default)]
    pub planned_in: Millis,
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
