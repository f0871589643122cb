//! What the lines of each agent have beyond what its translator says of them: which call a result belongs to, what a
//! tool was given and answered, thoughts, times.

mod acp;
mod claude;
mod codex;
mod gemini;
mod opencode;
mod plugin;

use conductor_core::plan::Plan;
use serde_json::Value;

use super::super::talk::{Translator, text};

/// What one line has beyond what is said in it.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Details {
    pub(super) at_ms: Option<i64>,
    /// Of a subagent: by what it was started.
    pub(super) parent: Option<String>,
    pub(super) thoughts: Vec<String>,
    /// What was said to the agent, where it repeats that.
    pub(super) told: Option<String>,
    pub(super) calls: Vec<Call>,
    pub(super) answers: Vec<Answer>,
    pub(super) end: Option<End>,
    /// A question to Conductor: its translator would answer it, and it was answered then.
    pub(super) is_question: bool,
}

/// A tool is used.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Call {
    pub(super) id: Option<String>,
    pub(super) input: Value,
    pub(super) at_ms: Option<i64>,
}

/// What a tool answered.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Answer {
    pub(super) id: String,
    pub(super) text: String,
    pub(super) failed: bool,
    pub(super) denied: bool,
    pub(super) exit_code: Option<i64>,
    pub(super) at_ms: Option<i64>,
    pub(super) duration_ms: Option<u64>,
}

/// What it says its work came to.
#[derive(Debug, Default, PartialEq)]
pub(super) struct End {
    pub(super) text: String,
    pub(super) failed: bool,
}

pub(super) trait Dialect: Send {
    /// Of one line; nothing for a line of a kind that it does not know.
    fn details(&mut self, line: &Value) -> Option<Details>;

    /// A line that is no news, by which pieces of a message become a whole one at the end.
    fn last_line(&self) -> &'static [u8] {
        b""
    }
}

/// Who understands the words of one agent.
pub(super) struct Speech {
    pub(super) translator: Box<dyn Translator>,
    pub(super) dialect: Box<dyn Dialect>,
}

impl Speech {
    /// Of the agent of this name; nothing for one whose words are plain text.
    pub(super) fn of(plan: &Plan, agent: &str, goes_on: bool) -> Option<Speech> {
        let translator = super::super::recorded(plan, agent, goes_on)?;
        let dialect: Box<dyn Dialect> = match agent {
            "claude" => Box::new(claude::Claude),
            "codex" => Box::new(codex::Codex::default()),
            "gemini" => Box::new(gemini::Gemini),
            "opencode" => Box::new(opencode::OpenCode),
            name if name.starts_with(super::super::acp::PREFIX) => Box::new(acp::Acp::default()),
            _ => Box::new(plugin::Plugin),
        };
        Some(Speech { translator, dialect })
    }
}

/// A time as RFC 3339 writes it, in milliseconds since 1970.
fn time(value: &Value) -> Option<i64> {
    let at: jiff::Timestamp = value.as_str()?.parse().ok()?;
    Some(at.as_millisecond())
}

/// Text as it is, or that of parts with a text, one below the other.
fn joined(value: &Value) -> String {
    let part = |part: &Value| text(part).or_else(|| text(&part["text"]));
    match value {
        Value::Array(parts) => parts.iter().filter_map(part).collect::<Vec<_>>().join("\n"),
        other => part(other).unwrap_or_default(),
    }
}

fn between(from: &Value, to: &Value) -> Option<u64> {
    to.as_u64()?.checked_sub(from.as_u64()?)
}
