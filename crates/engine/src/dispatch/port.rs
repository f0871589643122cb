//! The port by which a coordinator has attempts carried out: by its own process, or by another.
//!
//! Orders go one way. The other way come reports, as messages of the coordinator's channel: each attempt that was started
//! ends with exactly one `Input::AttemptEnded`, whatever happens to it, as long as its worker is not lost.

use std::sync::Arc;

use conductor_core::plan::{Plan, Priority};
use conductor_core::values::ids::{Attempt, TaskId};
use serde::{Deserialize, Serialize};

use super::{Order, WorkerView};

/// How urgently an attempt is to end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Stop {
    No,
    /// What it does may go on later.
    Ask,
    /// It is not wanted any more: what goes on elsewhere is to end, too.
    Abandon,
    Kill,
}

/// The backends, one line each: `worker::Local`, `dispatch::Remote`.
pub trait Dispatch: Send + Sync {
    fn start(&self, order: Order);

    /// One that has not begun yet does not begin, also where its start comes after this.
    fn stop(&self, task: &TaskId, attempt: Attempt, how: Stop);

    /// Passes a person's message to the agent at work, where it takes messages.
    fn say(&self, task: &TaskId, attempt: Attempt, words: String);

    /// What is still reported of this attempt is refused.
    fn forget(&self, task: &TaskId, attempt: Attempt);

    /// The plan was amended: what agents are told of it is this from now on.
    fn amend(&self, plan: &Arc<Plan>);

    /// Another priority than the plan says; of what waits to be carried out, what is more urgent goes first.
    fn prioritize(&self, _: &TaskId, _: Priority) {}

    /// The workers on other machines that are there now.
    fn workers(&self) -> Vec<WorkerView> {
        Vec::new()
    }
}
