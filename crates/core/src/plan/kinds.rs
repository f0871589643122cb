//! Types of work in the words of Conventional Commits, and which of them a task is.

use super::groups::without_marks;
use super::{Task, Work};

/// Types of work, and the words that names of such tasks begin with.
pub const KINDS: [(&str, &[&str]); 8] = [
    ("fix", &["fix", "repair", "correct", "resolve"]),
    ("feat", &["add", "build", "implement", "create", "introduce", "support", "feat"]),
    ("docs", &["document", "docs", "explain", "describe"]),
    ("test", &["test", "cover"]),
    ("refactor", &["refactor", "rename", "split", "extract", "simplify", "move"]),
    ("perf", &["optimise", "optimize", "speed"]),
    ("build", &["upgrade", "bump", "update"]),
    ("chore", &["chore"]),
];

fn kind_of(word: &str) -> Option<&'static str> {
    let word = word.to_lowercase();
    KINDS.iter().find(|(_, words)| words.contains(&word.as_str())).map(|(kind, _)| *kind)
}

impl Task {
    /// What its commit is called, after the custom of Conventional Commits; a name that follows it stays as
    /// it is.
    pub fn commit_title(&self) -> String {
        if self.announced_kind().is_some() {
            return self.name.clone();
        }
        let first = self.name.split_whitespace().next().unwrap_or_default();
        let id = self.entrant_of().unwrap_or(&self.id);
        format!("{}({id}): {}", kind_of(first).unwrap_or("chore"), self.name)
    }

    /// What type of work it is, in the words of Conventional Commits, by its name or else its prompt.
    pub fn kind(&self) -> Option<&'static str> {
        let first = |text: &str| kind_of(text.split(|c: char| !c.is_alphanumeric()).find(|w| !w.is_empty())?);
        let by_prompt = || match &self.work {
            Work::Prompt(prompt) => first(&without_marks(prompt)),
            Work::Run(_) => None,
        };
        self.announced_kind().or_else(|| first(&self.name)).or_else(by_prompt)
    }

    /// The type a name begins with, as in `fix(parser): …`.
    fn announced_kind(&self) -> Option<&'static str> {
        let head = self.name.split_once(": ").map(|(head, _)| head.trim_end_matches('!'))?;
        let scopeless = head.split('(').next().unwrap_or(head);
        KINDS.iter().find(|(kind, _)| *kind == scopeless).map(|(kind, _)| *kind)
    }
}
