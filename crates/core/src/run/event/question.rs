//! What those who work have to say, what they ask, and what they are answered.

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
        match self.tool.as_str() {
            FOLLOW_UP => format!("may it be done? {}", self.why),
            ASK_HUMAN => self.what.clone(),
            CLOUD_SUBMISSION => format!("{}? {}", self.what, self.why),
            RECOVERY => format!("shall it be tried once more? {}", self.what),
            _ => format!("may it use {self}?"),
        }
    }
}

impl std::fmt::Display for Question {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}: {}", self.tool, self.what)
    }
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
