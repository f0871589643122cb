//! Conductor's words and rules.
//!
//! Everything here is a value or a pure function: no runtime, no files, no processes, no clock, no randomness. Time and
//! jitter come in as arguments, decisions go out as events and actions. `tests/purity.rs` holds the line.

// Printing macros panic where standard output or standard error cannot be written.
#![warn(clippy::print_stdout, clippy::print_stderr)]

pub mod amend;
pub mod conflict_markers;
pub mod costs;
pub mod counted;
pub mod divergence;
pub mod event;
pub mod follow_up;
pub mod forecast;
pub mod graph;
pub mod groups;
pub mod ids;
pub mod ledger;
pub mod measure;
pub mod mentions;
pub mod models;
pub mod notify;
pub mod ordering;
pub mod permissions;
pub mod plan;
pub mod planner;
pub mod quality;
pub mod recovery;
pub mod rehearse;
pub mod report;
pub mod retry;
pub mod review;
pub mod run;
pub mod scheduler;
pub mod select;
pub mod spec;
pub mod subagents;
pub mod template;
pub mod units;
