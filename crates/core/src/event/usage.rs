//! What agents and planners have used.

use serde::{Deserialize, Serialize};

use crate::units::{Timestamp, Usd};

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
