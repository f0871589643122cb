//! What tests of agents stand on: a stand-in for the model APIs, and the real agent CLIs to run against it.
//!
//! The stand-in is one server on loopback that speaks Anthropic's Messages, OpenAI's Responses and Chat Completions,
//! and Gemini. What it answers is a [`Script`], chosen by the address (`/job/<name>/…`) or by a marker in the prompt
//! (`[[script:<name>]]`); how far a conversation has come is read from the conversation, so any number of agents can
//! share one server and one script.
//!
//! It knows nothing of Conductor. It is for tests only: no crate that is shipped may depend on it.

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
pub use script::{Cut, Script, Slow, Step, Usage};
pub use stand_in::StandIn;
