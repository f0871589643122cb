//! An agent's conversation as turns that a person can read: what the agent said and thought, the tools it used with their
//! input and result, what was said to it, what held it up.
//!
//! Made of what was recorded of an attempt, while it is at work and afterwards. The agents' own translators word what is
//! said; the files of `dialects` add what translators have no use for. Nothing here starts, reads or writes anything.

mod dialects;
mod lines;
mod reader;
mod record;
#[cfg(test)]
mod tests;

use serde::Serialize;

pub use reader::Reader;
pub(crate) use record::Recorder;

/// Of what a tool was given, and of what it answered, no more than this is shown.
const LONGEST_DETAIL: usize = 16 << 10;

/// Of one message.
const LONGEST_TEXT: usize = 64 << 10;

/// Of what a tool is used for, in a word.
const LONGEST_SUMMARY: usize = 400;

/// Whose turn it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Who {
    Agent,
    Conductor,
    User,
    Tool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    Text,
    Thinking,
    Tool,
    /// It needs the user's word, and the attempt ends until that is there.
    Question,
    /// The provider made it wait.
    Retry,
    /// It was not allowed to do something.
    Denied,
    Note,
    /// What it says its work came to.
    Result,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Turn {
    /// From 1, in the order in which they began.
    pub number: u64,
    /// Of the newest change of this turn: a tool's result comes after its call.
    pub mark: u64,
    pub who: Who,
    pub kind: Kind,
    /// Of a tool: what it is used for, in a few words.
    pub text: String,
    /// Milliseconds since 1970, where the agent tells the time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub at_ms: Option<i64>,
    /// The call by which a subagent was started whose turn this is, or what else that goes by.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parent: Option<String>,
    /// Which agent's, where several speak in one attempt.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub failed: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool: Option<ToolUse>,
}

/// A call of a tool, and what came of it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct ToolUse {
    /// By which its subagent's turns name it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    pub name: String,
    /// JSON, as long as nothing is left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub input: Option<Shown>,
    /// Nothing while it is at work.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub result: Option<Shown>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exit_code: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub duration_ms: Option<u64>,
    /// It was not allowed.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub denied: bool,
}

/// Text of bounded length.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Shown {
    pub text: String,
    /// So many bytes at its end are left out.
    #[serde(skip_serializing_if = "is_nothing")]
    pub left_out: usize,
}

fn is_nothing(bytes: &usize) -> bool {
    *bytes == 0
}
