//! How an agent reaches the tools that a run serves to it.

use serde::{Deserialize, Serialize};

/// What agents call the server by.
pub(crate) const NAME: &str = "conductor";

/// The variable an agent finds its token in: every user of the machine can read arguments.
pub(crate) const TOKEN: &str = "CONDUCTOR_TOOLS_TOKEN";

/// The variable with the address, for agents that do not get it in another way.
pub(crate) const URL: &str = "CONDUCTOR_TOOLS_URL";

/// The address and token of one attempt.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct ToolAccess {
    pub(crate) url: String,
    pub(crate) token: String,
}
