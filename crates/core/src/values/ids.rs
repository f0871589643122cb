//! Names of things: tasks, runs, attempts.
//!
//! A `TaskId` that exists is safe to use as a file name and as an argument.

use std::borrow::Borrow;
use std::collections::HashMap;
use std::fmt;
use std::hash::{BuildHasherDefault, Hasher};
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use thiserror::Error;

/// Long enough for any tracker's id, short enough for a branch name and a table column.
pub const MAX_TASK_ID: usize = 50;

#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum BadTaskId {
    #[error("a task id cannot be empty")]
    Empty,
    #[error("a task id has at most {MAX_TASK_ID} characters, this one has {0}")]
    TooLong(usize),
    #[error("a task id is made of letters, digits, '.', '_' and '-'; {0:?} is none of them")]
    Character(char),
    #[error("a task id starts with a letter, a digit or '_', not with {0:?}")]
    Start(char),
    #[error("a task id cannot contain '..'")]
    DotDot,
}

/// `[A-Za-z0-9_][A-Za-z0-9._-]*`, without `..`.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(transparent)]
pub struct TaskId(Arc<str>);

impl TaskId {
    pub fn parse(text: &str) -> Result<TaskId, BadTaskId> {
        let first = text.chars().next().ok_or(BadTaskId::Empty)?;
        if let Some(bad) = text.chars().find(|c| !(c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-')))
        {
            return Err(BadTaskId::Character(bad));
        }
        if text.len() > MAX_TASK_ID {
            return Err(BadTaskId::TooLong(text.len()));
        }
        if matches!(first, '.' | '-') {
            return Err(BadTaskId::Start(first));
        }
        if text.contains("..") {
            return Err(BadTaskId::DotDot);
        }
        Ok(TaskId(text.into()))
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for TaskId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

impl Borrow<str> for TaskId {
    fn borrow(&self) -> &str {
        &self.0
    }
}

impl<'de> Deserialize<'de> for TaskId {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<TaskId, D::Error> {
        let text = std::borrow::Cow::<'de, str>::deserialize(deserializer)?;
        TaskId::parse(&text).map_err(serde::de::Error::custom)
    }
}

/// An id as near to the wanted words as is possible and free; `otherwise` where nothing of them can be kept. What is free
/// should not depend on the case of letters: on some file systems it makes no difference.
pub fn safe_id(wanted: &str, otherwise: &str, is_free: impl Fn(&str) -> bool) -> String {
    let base = near(wanted).unwrap_or_else(|| otherwise.to_owned());
    let numbered = (2..).map(|number| {
        let tail = format!("-{number}");
        let head: String = base.chars().take(MAX_TASK_ID - tail.len()).collect();
        format!("{head}{tail}")
    });
    std::iter::once(base.clone()).chain(numbered).find(|id| is_free(id)).unwrap_or(base)
}

/// Letters, digits and what may join them; nothing where nothing is left.
fn near(wanted: &str) -> Option<String> {
    let mut id = String::new();
    for c in wanted.chars() {
        match c {
            c if c.is_ascii_alphanumeric() || c == '_' => id.push(c),
            _ if id.is_empty() || id.ends_with(['-', '.']) => {}
            '.' => id.push('.'),
            _ => id.push('-'),
        }
        if id.len() == MAX_TASK_ID {
            break;
        }
    }
    let id = id.trim_end_matches(['-', '.']);
    TaskId::parse(id).ok().map(|id| id.to_string())
}

/// A run's short random name, as in `runs/k7f3q2wd`. The engine draws it; the core only carries it.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct RunId(Arc<str>);

impl RunId {
    /// Letters and digits only, so that it can be a folder and part of a branch name.
    pub fn parse(text: &str) -> Option<RunId> {
        let fits = (1..=32).contains(&text.len()) && text.bytes().all(|b| b.is_ascii_alphanumeric());
        fits.then(|| RunId(text.into()))
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for RunId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

/// The name of a worker in another process, as it calls itself.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct WorkerId(Arc<str>);

impl WorkerId {
    /// Letters, digits, `.`, `_` and `-`, at most 64 of them.
    pub fn parse(text: &str) -> Option<WorkerId> {
        let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b'-');
        let fits = (1..=64).contains(&text.len()) && text.bytes().all(is_plain);
        fits.then(|| WorkerId(text.into()))
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for WorkerId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

/// Which try at a task, from 1. It only ever grows, so a late report of an older try is told from a fresh one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Attempt(pub u32);

impl fmt::Display for Attempt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// Something for each task id. Ids are short and come from one file of the user's own, so a simple hash does.
pub type Places<T> = HashMap<TaskId, T, BuildHasherDefault<Fnv>>;

/// FNV-1a.
#[derive(Debug, Clone)]
pub struct Fnv(u64);

impl Default for Fnv {
    fn default() -> Fnv {
        Fnv(0xcbf2_9ce4_8422_2325)
    }
}

impl Hasher for Fnv {
    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = (self.0 ^ u64::from(*byte)).wrapping_mul(0x100_0000_01b3);
        }
    }

    fn finish(&self) -> u64 {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_of_every_tracker_pass() {
        for id in ["api", "proj-auth.1", "T-1", "a", "0", "_x", &"x".repeat(50)] {
            assert_eq!(TaskId::parse(id).unwrap().as_str(), id);
        }
    }

    #[test]
    fn ids_that_could_leave_the_state_directory_are_refused() {
        for (id, why) in [
            ("", BadTaskId::Empty),
            ("../../etc", BadTaskId::Character('/')),
            ("a..b", BadTaskId::DotDot),
            ("..", BadTaskId::Start('.')),
            (".git", BadTaskId::Start('.')),
            ("-rf", BadTaskId::Start('-')),
            ("a\0b", BadTaskId::Character('\0')),
            ("a b", BadTaskId::Character(' ')),
            ("$(id)", BadTaskId::Character('$')),
            ("@{", BadTaskId::Character('@')),
            ("é", BadTaskId::Character('é')),
        ] {
            assert_eq!(TaskId::parse(id), Err(why), "{id:?}");
        }
        assert_eq!(TaskId::parse(&"x".repeat(51)), Err(BadTaskId::TooLong(51)));
    }

    #[test]
    fn a_stored_id_is_checked_again_when_it_is_read() {
        assert!(serde_json::from_str::<TaskId>("\"ok-1\"").is_ok());
        assert!(serde_json::from_str::<TaskId>("\"../x\"").is_err());
    }
}
