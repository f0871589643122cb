use std::io;
use std::path::PathBuf;

use thiserror::Error;

#[derive(Debug, Error)]
pub enum GitError {
    #[error("git cannot be started: {0}")]
    Missing(io::Error),
    #[error("{} is not in a git repository", .0.display())]
    NotOne(PathBuf),
    #[error("{} is a bare repository; tasks need a checkout to start from", .0.display())]
    Bare(PathBuf),
    #[error("the repository {} has no commit yet", .0.display())]
    Unborn(PathBuf),
    #[error("git {what} failed{}: {said}", .code.map(|code| format!(" with {code}")).unwrap_or_default())]
    Failed { what: String, code: Option<i32>, said: String },
    /// Somebody who lives holds a lock, and did not let go of it in time.
    #[error("git {what} failed: {said}\n{} is held by {holder}", .lock.display())]
    Locked { what: String, said: String, lock: PathBuf, holder: String },
    #[error("there is no {0}")]
    NoRef(String),
    #[error("{path}: {source}")]
    File { path: PathBuf, source: io::Error },
}

impl GitError {
    /// A file could not be written, for whatever reason.
    pub fn is_unwritable(&self) -> bool {
        matches!(self, GitError::Failed { said, .. } if said.contains("unable to write"))
    }

    /// Git tells a full disk only in words.
    pub fn is_no_space(&self) -> bool {
        match self {
            GitError::Failed { said, .. } => said.contains("No space left on device"),
            GitError::Missing(source) | GitError::File { source, .. } => {
                source.kind() == io::ErrorKind::StorageFull
            }
            _ => false,
        }
    }
}
