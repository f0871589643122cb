//! What a verifier found in the work, and where.

use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Level {
    /// It keeps the work from landing.
    Error,
    Warning,
    Note,
}

impl Level {
    pub fn name(self) -> &'static str {
        match self {
            Level::Error => "error",
            Level::Warning => "warning",
            Level::Note => "note",
        }
    }

    pub fn named(name: &str) -> Option<Level> {
        [Level::Error, Level::Warning, Level::Note].into_iter().find(|level| level.name() == name)
    }
}

/// One thing in one place.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Finding {
    pub level: Level,
    pub message: String,
    /// Below the repository's root; nothing where it is about no file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// Counted from 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line: Option<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub column: Option<u32>,
    /// By which the verifier knows this kind of finding.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub code: Option<String>,
    /// The verifier.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub by: String,
}

impl Finding {
    /// `src/a.rs:3:5`, as far as it is known.
    pub fn place(&self) -> String {
        let number = |number: Option<u32>| number.map(|number| format!(":{number}")).unwrap_or_default();
        match &self.file {
            Some(file) => {
                let column = self.line.and(self.column);
                format!("{file}{}{}", number(self.line), number(column))
            }
            None => String::new(),
        }
    }
}

/// As compilers write it, which editors and people know.
impl std::fmt::Display for Finding {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let place = self.place();
        let place = if place.is_empty() { place } else { place + ": " };
        let code = self.code.as_ref().map(|code| format!(" [{code}]")).unwrap_or_default();
        write!(f, "{place}{}: {}{code}", self.level.name(), self.message)
    }
}
