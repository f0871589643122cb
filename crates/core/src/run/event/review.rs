//! A person's review of work before it lands.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::Change;

/// What a person says of work that waits for approval.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ReviewVerdict {
    /// This very commit may land.
    Approved { commit: String },
    /// The agent is to work on it again.
    SentBack { comments: Vec<Comment> },
    /// The person has changed the work; that lands.
    Edited { change: Box<Change> },
    /// It does not land; its commit is kept.
    Dropped,
}

/// What a reviewer has to say, of a place in the work or of all of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Comment {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line: Option<u32>,
    pub words: String,
}

impl Comment {
    /// `src/api.rs:42: words` is about that line if the file is known; other text is about the whole work.
    pub fn parse(text: &str, is_file: impl Fn(&str) -> bool) -> Comment {
        let text = text.trim();
        let general = || Comment { file: None, line: None, words: text.to_owned() };
        let Some((place, words)) = text.split_once(": ") else { return general() };
        let (file, line) = match place.rsplit_once(':') {
            Some((file, line)) => match line.parse() {
                Ok(line) => (file, Some(line)),
                Err(_) => return general(),
            },
            None => (place, None),
        };
        match is_file(file) {
            true => Comment { file: Some(file.to_owned()), line, words: words.trim().to_owned() },
            false => general(),
        }
    }
}

impl fmt::Display for Comment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.file, self.line) {
            (Some(file), Some(line)) => write!(f, "{file}:{line}: {}", self.words),
            (Some(file), None) => write!(f, "{file}: {}", self.words),
            (None, _) => f.write_str(&self.words),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_comment_may_name_file_and_line() {
        let parsed = |text: &str| {
            let Comment { file, line, words } = Comment::parse(text, |file| file == "src/api.rs");
            (file, line, words)
        };
        let at = |line| (Some("src/api.rs".to_owned()), line, "use the constant".to_owned());
        assert_eq!(parsed("src/api.rs:42: use the constant"), at(Some(42)));
        assert_eq!(parsed("src/api.rs: use the constant"), at(None));
        for text in ["too slow", "note: too slow", "src/other.rs:3: no such file", "src/api.rs:x: y", ""] {
            assert_eq!(parsed(text), (None, None, text.to_owned()));
        }
        let comment = Comment { file: Some("a".into()), line: Some(1), words: "b".into() };
        assert_eq!(comment.to_string(), "a:1: b");
    }
}
