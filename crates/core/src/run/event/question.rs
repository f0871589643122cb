//! What those who work have to say, what they ask, and what they are answered.

use std::fmt::Write as _;

use serde::{Deserialize, Serialize};

/// What the agent at work on a task reports about it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Report {
    /// How it stands.
    Status(String),
    /// Something that the user should look at.
    Issue { severity: Severity, words: String },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Severity {
    Low,
    Medium,
    High,
}

impl Severity {
    pub fn name(self) -> &'static str {
        match self {
            Severity::Low => "low",
            Severity::Medium => "medium",
            Severity::High => "high",
        }
    }
}

/// Under which name a person is asked whether a task may be done at all.
pub const FOLLOW_UP: &str = "follow-up";
/// Under which name an agent asks a person something that it wants to know.
pub const ASK_HUMAN: &str = "ask_human";
/// Under which name a person is asked whether a failed task is tried once more.
pub const RECOVERY: &str = "recovery";
/// Under which name a person is asked whether a prompt is submitted again to the cloud, where a session may exist.
pub const CLOUD_SUBMISSION: &str = "cloud";

/// What an agent wants to do.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Question {
    pub tool: String,
    /// The command, the file, or all that is given to the tool.
    pub what: String,
    /// By which rule it is asked.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub why: String,
}

impl Question {
    /// What a person has to say yes or no to.
    pub fn put(&self) -> String {
        let (what, why) = (self.what_visible(), self.why_visible());
        match self.tool.as_str() {
            FOLLOW_UP => format!("may it be done? {why}"),
            ASK_HUMAN => what,
            CLOUD_SUBMISSION => format!("{what}? {why}"),
            RECOVERY => format!("shall it be tried once more? {what}"),
            _ => format!("may it use {self}?"),
        }
    }

    pub fn what_visible(&self) -> String {
        visible(&self.what)
    }

    pub fn why_visible(&self) -> String {
        visible(&self.why)
    }
}

impl std::fmt::Display for Question {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}: {}", visible(&self.tool), self.what_visible())
    }
}

/// A text with every character in sight that a terminal or a page acts on or leaves out: what is dropped from a command
/// before a person sees it would still be run.
pub fn visible(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        // Writing to a text does not fail.
        let _ = match c {
            '\n' | '\t' => out.write_char(c),
            '\r' => out.write_str("\\r"),
            c if c.is_ascii_control() => write!(out, "\\x{:02x}", u32::from(c)),
            c if c.is_control() || is_unseen(c) => write!(out, "\\u{{{:x}}}", u32::from(c)),
            c => out.write_char(c),
        };
    }
    out
}

/// Characters that have no width, or make text read differently from what it is.
fn is_unseen(c: char) -> bool {
    matches!(
        c,
        '\u{ad}' | '\u{61c}' | '\u{200b}' | '\u{200e}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{2069}' | '\u{feff}' | '\u{e0000}'..='\u{e007f}'
    )
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Answer {
    pub allow: bool,
    /// What the agent is told with it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub words: Option<String>,
    pub by: Answerer,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Answerer {
    Person,
    /// The time limit passed without an answer.
    Deadline,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_of_what_a_person_allows_is_out_of_sight() {
        let what = "terraform plan \u{1b}]x; rm -rf ~/precious #\u{7}\u{202e}\r\u{85}\nnext".to_owned();
        let question = Question { tool: "Bash".into(), what, why: "\u{1b}[8mhidden".into() };
        let shown = r"terraform plan \x1b]x; rm -rf ~/precious #\x07\u{202e}\r\u{85}".to_owned() + "\nnext";
        assert_eq!(question.to_string(), format!("Bash: {shown}"));
        assert_eq!(question.put(), format!("may it use Bash: {shown}?"));
        assert_eq!(question.why_visible(), r"\x1b[8mhidden");
    }
}
