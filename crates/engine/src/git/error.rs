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
    #[error("{path}: {source}")]
    File { path: PathBuf, source: io::Error },
}
