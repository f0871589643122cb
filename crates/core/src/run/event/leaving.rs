//! Why a run is left, and what it came to.

use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DrainReason {
    User,
    FailFast,
    /// A cap of the run: cost, tokens, attempts or time.
    Budget,
    /// All that is left to do waits for a person.
    Person,
    /// An agent's provider does not let it in.
    Unauthorized,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RunOutcome {
    Completed,
    Failed,
    /// Nothing failed, and all that is not done was cancelled by hand or needs what was.
    Cancelled,
}
