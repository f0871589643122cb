//! Agents: programs a file brings along, and what an agent may do.

use serde::{Deserialize, Serialize};

use super::is_default;
use crate::values::units::Millis;

/// A program that is used as an agent, by a template of its command. Its words are for people; its exit code and a few
/// texts tell what became of the work.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Program {
    /// With `Program::NAMES` to be filled in. Without any of the prompt's, the prompt goes to its standard input.
    pub command: Vec<String>,
    /// Instead of the command where a conversation goes on; without it every round begins anew.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub resume: Vec<String>,
    /// Names (a trailing `*` matches a prefix) of the caller's variables that only it gets.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub env_pass: Vec<String>,
    /// Those that mean success.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub exit_codes: Vec<i32>,
    /// One of these must be in its output, where there are any.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub success_text: Vec<String>,
    /// None of these may be.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub failure_text: Vec<String>,
    /// Where it failed with one of these, its provider was asked too often.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub rate_limit_text: Vec<String>,
}

impl Program {
    /// What can be filled in.
    pub const NAMES: [&str; 5] = ["prompt", "prompt_file", "model", "session", "directory"];
}

/// What an agent may do. Rules are a tool's name, or that and a pattern of what it is used on: `Bash(git push*)`. The
/// first that fits counts: one that denies, one that asks, one that allows, then the usual.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Permissions {
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub deny: Vec<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ask: Vec<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub allow: Vec<String>,
    /// What becomes of what is not allowed by any of them.
    #[serde(default, skip_serializing_if = "is_default")]
    pub otherwise: Otherwise,
    /// Parts of commands that are never run, in place of the usual ones.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub blocked_commands: Option<Vec<String>>,
    /// How long a question waits for a person before it counts as denied.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answer_within: Option<Millis>,
    /// Whether it may do the same over and over.
    #[serde(default, skip_serializing_if = "is_default")]
    pub repetition: bool,
}

/// A look at the work by a reviewing agent, before it lands.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Review {
    /// The first of the task's fallbacks where absent, or else its own agent, in a conversation of its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// What the work is held against, in place of the usual.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rubric: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Otherwise {
    #[default]
    Deny,
    Ask,
    Allow,
}
