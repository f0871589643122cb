//! From words to a plan: what a planner is asked, what its answers mean, what is wrong with them, and the task file that
//! comes of it.
//!
//! The walk is `words` (what is asked), `values::json_answer` (an answer to JSON), `answer` (JSON to a draft), `check` (everything
//! that is wrong with the draft), `mend` (what can be put right without asking) and `write` (a task file people can
//! edit). Nothing here asks an agent or runs anything, and the task file is read by `file` like any other.

mod answer;
mod changes;
mod check;
mod issues;
mod mend;
mod names;
mod width;
mod write;

pub mod words;

pub use crate::values::json_answer::{Unreadable, extract};
pub use answer::{Analysis, Draft, DraftTask, Size, read_analysis, read_plan};
pub use changes::{Changes, changes};
pub use check::{Bounds, Finding, check};
pub use issues::{Issue, issues};
pub use mend::{Refusal, mend};
pub use width::width;
pub use write::{Head, task_file};

/// How many tasks a plan may have by default.
pub const MOST_TASKS: usize = 100;
