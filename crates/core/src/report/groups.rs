//! Groups of a run: how each stands, every decision about it, and its report.

mod decisions;
mod reports;
mod status;

pub use decisions::{Decided, decisions};
pub use reports::Report;
pub use status::{Metadata, Outcome, Phase, Status, landed, landed_words, only_blocked};
