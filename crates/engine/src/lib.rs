//! The part of Conductor that touches the world.
//!
//! The core decides, this crate does: it reads clocks, starts processes, keeps files and the store, and runs the loop
//! that connects them. Views (the command line, later the server) follow it through `stores::bus` and ask through `dispatch::Control`.

// Printing macros panic where standard output or standard error cannot be written.
#![warn(clippy::print_stdout, clippy::print_stderr)]

pub mod agents;
pub mod dispatch;
pub mod git;
pub mod host;
pub mod planner;
pub mod process;
pub mod records;
pub mod runs;
pub mod stores;
pub mod worker;
