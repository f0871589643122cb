//! Conductor's hands: everything that touches the world.
//!
//! The core decides, this crate does: it reads clocks, starts processes, keeps files and the store, and runs the loop
//! that connects them. Views (the command line, later the server) look on through `bus` and ask through `Control`.

// Printing macros panic where standard output or standard error cannot be written.
#![warn(clippy::print_stdout, clippy::print_stderr)]

pub mod access;
pub mod agents;
pub mod amend;
pub mod beads;
pub mod board;
pub mod bus;
pub mod checkpoints;
pub mod clock;
mod conflict_markers;
mod conflict_monitor;
pub mod control;
mod copies;
pub mod drive;
pub mod gates;
pub mod git;
pub mod groups;
pub mod history;
pub mod home;
pub mod ledger;
pub mod locate_work;
mod mcp;
pub mod merge;
pub mod notify;
pub mod output;
mod panics;
pub mod planner;
pub mod prices;
pub mod process;
pub mod prompt;
pub mod redact;
pub mod resolve;
pub mod sessions;
pub mod shortage;
pub mod skills;
pub mod stores;
pub mod subagents;
mod train;
pub mod transcript;
pub mod worker;
pub mod workspaces;
