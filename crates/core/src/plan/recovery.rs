//! What a task says about its failures: ways out of each kind, and words by which it knows them.

use serde::{Deserialize, Serialize};

/// Whether the same thing, done again, may well succeed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Nature {
    /// It passes by itself.
    Transient,
    /// It stays until something is changed.
    Permanent,
    /// It may or may not pass by itself.
    Ambiguous,
}

impl Nature {
    pub const NAMES: [(&'static str, Nature); 3] = [
        ("transient", Nature::Transient),
        ("permanent", Nature::Permanent),
        ("ambiguous", Nature::Ambiguous),
    ];

    pub fn name(self) -> &'static str {
        match self {
            Nature::Transient => "transient",
            Nature::Permanent => "permanent",
            Nature::Ambiguous => "ambiguous",
        }
    }
}

/// A way out of a failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Strategy {
    /// Another try, as far as its retry policy grants one.
    Retry,
    /// The next of its agents.
    Alternative,
    /// Another try at once, with nothing of the one before it.
    Rollback,
    /// The run goes on without it.
    Skip,
    /// A person says whether it is tried once more.
    Ask,
    /// As `Ask`, and nothing new starts before the answer.
    Escalate,
    Fail,
    /// The next model of the same agent, which is the first alternative there is.
    Model,
    /// Back to its agent, with what was found. Decided where work does not merge; a file cannot ask for it.
    Mend,
}

impl Strategy {
    /// What a file can ask for.
    pub const NAMES: [(&'static str, Strategy); 7] = [
        ("retry", Strategy::Retry),
        ("alternative", Strategy::Alternative),
        ("rollback", Strategy::Rollback),
        ("skip", Strategy::Skip),
        ("ask", Strategy::Ask),
        ("escalate", Strategy::Escalate),
        ("fail", Strategy::Fail),
    ];

    pub fn name(self) -> &'static str {
        match self {
            Strategy::Mend => "mend",
            Strategy::Model => "alternative_model",
            other => Strategy::NAMES.iter().find(|(_, known)| *known == other).map_or("", |(name, _)| name),
        }
    }
}

/// What a task says about its failures. A list that is empty stands for what is usual.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Recovery {
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub transient: Vec<Strategy>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub permanent: Vec<Strategy>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ambiguous: Vec<Strategy>,
    /// Words by which it knows its own failures; the first that fit count.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub patterns: Vec<Pattern>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pattern {
    /// As they are in a line, whatever their case; `*` stands for anything.
    #[serde(rename = "match")]
    pub words: String,
    #[serde(rename = "as")]
    pub nature: Nature,
}

impl Recovery {
    pub(crate) fn of(&self, nature: Nature) -> &[Strategy] {
        match nature {
            Nature::Transient => &self.transient,
            Nature::Permanent => &self.permanent,
            Nature::Ambiguous => &self.ambiguous,
        }
    }

    /// Whether a person may be asked before it ends.
    pub fn asks(&self) -> bool {
        let all = [&self.transient, &self.permanent, &self.ambiguous].into_iter().flatten();
        all.copied().any(|way| matches!(way, Strategy::Ask | Strategy::Escalate))
    }
}

/// Whether a text can be a pattern: some letter or digit is in it.
pub fn is_pattern(words: &str) -> bool {
    words.chars().any(char::is_alphanumeric)
}
