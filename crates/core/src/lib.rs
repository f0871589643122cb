//! Conductor's words and rules.
//!
//! Everything here is a value or a pure function: no runtime, no files, no processes, no clock, no randomness. Time and
//! jitter come in as arguments, decisions go out as events and actions. `tests/purity.rs` holds the line.

// Printing macros panic where standard output or standard error cannot be written.
#![warn(clippy::print_stdout, clippy::print_stderr)]

pub mod file;
pub mod forecast;
pub mod plan;
pub mod planner;
pub mod report;
pub mod run;
pub mod schedule;
pub mod values;
