use std::io;
use std::path::PathBuf;

use thiserror::Error;

use crate::host::shortage::{self, Passing, Shortage};

#[derive(Debug, Error)]
pub enum GitError {
    #[error("git cannot be started: {0}")]
    Missing(io::Error),
    /// Git was to work in a folder that was there before.
    #[error("{} is gone: it was moved, renamed or deleted", .0.display())]
    Gone(PathBuf),
    #[error("{} is not in a git repository", .0.display())]
    NotOne(PathBuf),
    /// There is a repository, and git refuses to read it: its words, and what helps.
    #[error("git cannot read the repository of {}: {said}", .directory.display())]
    Unreadable { directory: PathBuf, said: String, remedy: String },
    #[error("{} is a bare repository; tasks need a checkout to start from", .0.display())]
    Bare(PathBuf),
    #[error("the repository {} has no commit yet", .0.display())]
    Unborn(PathBuf),
    #[error("git {what} failed{}: {said}", .code.map(|code| format!(" with {code}")).unwrap_or_default())]
    Failed { what: String, code: Option<i32>, said: String },
    /// A lock is in the way that was not released in time and could not be removed.
    #[error("git {what} failed: {said}\n{} is held by {holder}", .lock.display())]
    Locked { what: String, said: String, lock: PathBuf, holder: String },
    #[error("there is no {0}")]
    NoRef(String),
    #[error("git's filter '{filter}' failed for {path}, so its content is not stored{}; see that the command of \
             filter.{filter} works here", after(.said))]
    Filter { filter: String, path: String, said: String },
    #[error(
        "git {what} took longer than {limit} s with the filters it runs and was ended; see that the commands of \
             filter.* come to an end, or give them more time: CONDUCTOR_FILTER_TIMEOUT=SECONDS"
    )]
    FilterSlow { what: String, limit: u64 },
    #[error("{paths}: git's filter '{filter}' cannot be run safely, so the content is not stored: {why}")]
    FilterRefused { filter: String, why: String, paths: String },
    /// What is configured now is not what it was when the run started.
    #[error("git's configuration is not what it was when the run started: {}; look at it first, and put back what is \
             not yours (as it was: {})", .what.join(", "), .before.display())]
    SettingsChanged { what: Vec<String>, before: PathBuf },
    #[error("{path}: {source}")]
    File { path: PathBuf, source: io::Error },
}

/// What was said, if anything.
fn after(said: &str) -> String {
    if said.is_empty() { String::new() } else { format!(" ({said})") }
}

impl GitError {
    /// What the user can do about it.
    pub fn remedy(&self) -> Option<String> {
        match self {
            GitError::Missing(_) => Some("install git, or make sure it is on PATH".to_owned()),
            GitError::Gone(_) => {
                Some("put it back where it was; what was done is kept: conductor run --resume".to_owned())
            }
            GitError::NotOne(_) | GitError::Bare(_) => {
                Some("go to a checkout of the repository first".to_owned())
            }
            GitError::Unreadable { remedy, .. } => Some(remedy.clone()),
            GitError::Unborn(_) => {
                Some("make a first commit: git commit --allow-empty -m 'Start'".to_owned())
            }
            _ => None,
        }
    }

    /// No repository can be worked in here, as opposed to something that went wrong in one.
    pub fn is_unusable(&self) -> bool {
        matches!(
            self,
            GitError::Missing(_)
                | GitError::NotOne(_)
                | GitError::Bare(_)
                | GitError::Unborn(_)
                | GitError::Unreadable { .. }
        )
    }

    /// A program of the user's that contents pass through is in the way.
    pub fn is_of_filters(&self) -> bool {
        matches!(self, GitError::Filter { .. } | GitError::FilterSlow { .. } | GitError::FilterRefused { .. })
    }

    /// A file could not be written, for whatever reason.
    pub fn is_unwritable(&self) -> bool {
        matches!(self, GitError::Failed { said, .. } if said.contains("unable to write"))
    }
}

/// What git itself was short of, it tells only in words.
impl Passing for GitError {
    fn shortage(&self) -> Option<Shortage> {
        match self {
            GitError::Failed { said, .. } => shortage::told_in(said),
            GitError::Missing(source) | GitError::File { source, .. } => source.shortage(),
            _ => None,
        }
    }
}
