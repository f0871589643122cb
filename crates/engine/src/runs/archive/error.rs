//! Why what is meant was not found, and what the user should know where it was.

use std::fmt;
use std::path::PathBuf;

use conductor_core::run::IllegalEvent;
use conductor_core::values::ids::RunId;
use thiserror::Error;

use crate::git::GitError;
use crate::git::workspaces::WorkspaceError;
use crate::process::transcript::one_line;
use crate::stores::StoreError;

/// `meant` is the name that comes nearest to the word that was given, if one is near.
#[derive(Debug, Error)]
pub enum FindError {
    #[error("nothing has been run here yet")]
    NothingHere,
    #[error("there is no unfinished run here to resume")]
    NothingToResume,
    #[error("there is no run '{}'", one_line(.word))]
    NoSuchRun { word: String, meant: Option<String> },
    #[error("'{word}' could be run {first} or {second}; give more of it")]
    Ambiguous { word: String, first: RunId, second: RunId },
    /// `run` is the newest that was looked through.
    #[error("there is no task '{}'{}", one_line(.task), in_run(.run.as_ref()))]
    NoSuchTask { task: String, run: Option<RunId>, meant: Option<String> },
    #[error("no run here has carried out a group '{}'", one_line(.group))]
    NoSuchGroup { group: String, meant: Option<String> },
    #[error("run {run} cannot be read: {source}")]
    Unreadable { run: RunId, source: IllegalEvent },
    #[error("run {run} works in {}, which is gone", .directory.display())]
    DirectoryGone { run: RunId, directory: PathBuf },
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error(transparent)]
    Git(#[from] GitError),
    #[error(transparent)]
    Workspace(#[from] WorkspaceError),
}

fn in_run(run: Option<&RunId>) -> String {
    run.map(|run| format!(" in run {run}")).unwrap_or_default()
}

/// Said of a search that goes on all the same.
#[derive(Debug)]
pub enum Notice {
    /// Which repository this is cannot be told, so runs of this very directory are all that is looked at.
    OnlyThisDirectory(GitError),
    /// A run that was not named cannot be read.
    LeftOut { run: RunId, why: FindError },
}

impl fmt::Display for Notice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Notice::OnlyThisDirectory(error) => {
                let remedy = error.remedy().map(|remedy| format!(" ({remedy})")).unwrap_or_default();
                write!(f, "{error}{remedy}; only runs of this very directory are seen")
            }
            Notice::LeftOut { run, why } => {
                write!(f, "run {run} cannot be read and is left out: {why}; `conductor doctor` says more")
            }
        }
    }
}
