//! Which machine a run belongs to. A claim is kept with the run at the remote and changes with it by one
//! compare-and-swap, so that two machines never both believe that they have it.

use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::values::ids::RunId;
use crate::values::units::Timestamp;

/// A machine, or rather a state directory on one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Machine {
    /// Drawn once; two machines of one name differ by it.
    pub id: String,
    pub name: String,
}

impl std::fmt::Display for Machine {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // It may come from anywhere, and is shown on terminals.
        let shown =
            |text: &str, most| text.chars().filter(|c| !c.is_control()).take(most).collect::<String>();
        write!(f, "{} ({})", shown(&self.name, 64), shown(&self.id, 8))
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Claim {
    pub machine: Machine,
    pub since: Timestamp,
    /// Made for a coordinator at work: the first push after it has ended takes it back. Another is kept until it is
    /// released.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub while_active: bool,
}

impl Claim {
    pub fn is_of(&self, machine: &Machine) -> bool {
        self.machine.id == machine.id
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("run {run} is claimed by {holder}")]
pub struct NotOurs {
    pub run: RunId,
    pub holder: Machine,
    pub since: Timestamp,
}
