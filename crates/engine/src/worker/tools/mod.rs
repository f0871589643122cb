//! Tools for agents at work, over the Model Context Protocol: how a run stands, what should follow, what only a person knows.
//!
//! Served to this machine alone, under one address and one token for each attempt. What an agent says here is a wish like
//! any other: the scheduler grants or refuses it, and it is in the log before the agent hears so.

mod catalogue;
mod tool_handler;
mod tool_server;

pub(crate) use tool_handler::ToolHandler;
pub(crate) use tool_server::{Awaited, AwaitedAgent, ToolServer, ToolToken};
