//! The connection to an MCP server: requests out, answers in, over a child's pipes or over HTTP.
//!
//! It knows JSON-RPC and nothing of browsers. Every wait has an end: a server that dies, answers nonsense or nothing is
//! an error with a name, because each of them is recovered from in another way.

mod http;
mod inbox;
mod sse;
mod stdio;

use std::io;
use std::time::Duration;

use serde_json::{Value, json};
use thiserror::Error;

pub use http::Http;
pub use sse::Sse;
pub use stdio::Stdio;

/// The connection is of no more use, or was of none for this one request.
#[derive(Debug, Error)]
pub enum LinkError {
    #[error("cannot start the MCP server `{program}`: {source}")]
    NotStarted { program: String, source: io::Error },
    #[error("the MCP server ended{}", said(.0))]
    Died(String),
    #[error("the MCP server does not speak the protocol; it said: {0}")]
    Garbage(String),
    #[error("the MCP server gave no answer within {} s", .0.as_secs())]
    Silent(Duration),
    #[error("the MCP server refused: {0}")]
    Refused(String),
    #[error("the MCP server has forgotten this session")]
    Forgotten,
    #[error("the MCP server at {url} cannot be reached: {why}")]
    Unreachable { url: String, why: String },
}

impl LinkError {
    /// Whether nothing more can come over this connection.
    pub fn is_final(&self) -> bool {
        !matches!(self, LinkError::Refused(_) | LinkError::Silent(_))
    }
}

fn said(last: &str) -> String {
    if last.is_empty() { String::new() } else { format!("; its last words: {last}") }
}

/// One connection. It is closed explicitly, so that the server ends what it holds for us.
pub trait Link: Send {
    /// Sends a request and waits for its answer. The id is the caller's and is never used twice.
    fn request(&mut self, message: &Value, within: Duration) -> Result<Value, LinkError>;
    /// Sends a message that has no answer.
    fn notify(&mut self, message: &Value) -> Result<(), LinkError>;
    /// Ends the connection. It can be called more than once.
    fn close(&mut self);
}

/// The result that an answer carries, or the refusal.
fn result_of(answer: &Value) -> Result<Value, LinkError> {
    match answer.get("error") {
        Some(error) => {
            Err(LinkError::Refused(error["message"].as_str().unwrap_or("no reason given").to_owned()))
        }
        None => Ok(answer.get("result").cloned().unwrap_or(Value::Null)),
    }
}

/// What is answered to a request of the server's own: it may ask whether we are alive, and nothing else.
fn reply(request: &Value) -> Option<Value> {
    let id = request.get("id")?;
    let method = request.get("method")?.as_str()?;
    Some(match method {
        "ping" => json!({ "jsonrpc": "2.0", "id": id, "result": {} }),
        _ => json!({ "jsonrpc": "2.0", "id": id, "error": { "code": -32601, "message": "not offered" } }),
    })
}
