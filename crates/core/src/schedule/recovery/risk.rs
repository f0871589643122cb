//! Work that is hard to take back: a push, a recursive delete, a migration, a deployment, secrets.
//!
//! Recognised by the words of a command, or of a prompt that says to do it. A mistake only costs a checkpoint
//! that is not needed; nothing is forbidden.

mod commands;
mod prompts;

use serde::{Deserialize, Serialize};

use crate::plan::groups::without_marks;
use crate::plan::{Task, Work};

pub use commands::of_command;
pub use prompts::of_prompt;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Risk {
    Push,
    Delete,
    Migration,
    Deploy,
    Secrets,
}

impl Risk {
    pub fn name(self) -> &'static str {
        match self {
            Risk::Push => "push",
            Risk::Delete => "recursive delete",
            Risk::Migration => "migration",
            Risk::Deploy => "deployment",
            Risk::Secrets => "secrets",
        }
    }
}

/// How much of a text is looked at, and how much of it is quoted.
const LOOKED_AT: usize = 20_000;
const QUOTED: usize = 80;

/// What is risky about a task, each once, with the words that say so.
pub fn risks(task: &Task) -> Vec<(Risk, String)> {
    let mut all: Vec<(Risk, String)> = task.setup().iter().flat_map(|command| of_command(command)).collect();
    all.extend(match &task.work {
        Work::Run(command) => of_command(&command.to_string()),
        Work::Prompt(prompt) => of_prompt(&without_marks(prompt)),
    });
    once(all)
}

/// As `risks`, of one thing an agent wants to do.
pub fn of_tool(tool: &str, what: &str) -> Vec<(Risk, String)> {
    match tool {
        "Bash" => of_command(what),
        "Edit" | "Write" | "MultiEdit" if commands::is_secret_file(what) => {
            vec![(Risk::Secrets, quoted(what))]
        }
        _ => Vec::new(),
    }
}

fn once(mut all: Vec<(Risk, String)>) -> Vec<(Risk, String)> {
    let mut seen = Vec::new();
    all.retain(|(risk, _)| {
        !seen.contains(risk) && {
            seen.push(*risk);
            true
        }
    });
    all
}

fn cut(text: &str, most: usize) -> &str {
    text.char_indices().nth(most).map_or(text, |(end, _)| &text[..end])
}

fn quoted(text: &str) -> String {
    cut(&text.split_whitespace().collect::<Vec<_>>().join(" "), QUOTED).to_owned()
}
