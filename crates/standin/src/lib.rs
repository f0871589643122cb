//! A stand-in for the model APIs, and homes in which the real agent CLIs find it and nothing else.
//!
//! The stand-in is one server on loopback that speaks Anthropic's Messages, OpenAI's Responses and Chat Completions,
//! and Gemini. What it answers is a [`Script`], chosen by the address (`/job/<name>/…`) or by a marker in the prompt
//! (`[[script:<name>]]`); how far a conversation has come is read from the conversation, so any number of agents can
//! share one server and one script.
//!
//! It knows nothing of Conductor. `conductor demo` and the tests stand on it.

// Printing macros panic where standard output or standard error cannot be written.
#![warn(clippy::print_stdout, clippy::print_stderr)]

pub mod agents;

mod address;
mod conversation;
mod dialects;
mod faults;
mod limits;
mod log;
mod play;
mod script;
mod server;
mod stage;
mod stand_in;
mod tools;
mod turns;
mod wire;

pub use dialects::Dialect;
pub use faults::{Counted, Fault, Kind, UsageLimit};
pub use limits::Limits;
pub use log::{Answered, Request};
pub use script::{Cut, Lie, Script, Slow, Step, Usage};
pub use stand_in::StandIn;
