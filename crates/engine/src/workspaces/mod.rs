//! Where a task works: a directory made ready for it, and what becomes of its work afterwards.

mod in_place;
#[cfg(test)]
mod tests;
mod worktree;

use std::path::PathBuf;
use std::sync::Arc;

use conductor_core::event::Change;
use conductor_core::ids::{Attempt, TaskId};
use conductor_core::plan::{Isolation, Task};
use thiserror::Error;

use crate::git::GitError;

pub use in_place::InPlace;
pub use worktree::{Worktrees, run_branch};

#[derive(Debug, Error)]
pub enum WorkspaceError {
    #[error(transparent)]
    Git(#[from] GitError),
    #[error("{path}: {source}")]
    File { path: PathBuf, source: std::io::Error },
    #[error("isolation '{0}' is not available here")]
    Unavailable(&'static str),
    #[error("the work was cut short: {0}")]
    Broken(String),
}

/// Which seat, for which attempt at which task.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Guest {
    pub executor: u32,
    pub task: TaskId,
    pub attempt: Attempt,
    /// What its commit is called.
    pub title: String,
}

/// A place to work, made ready.
#[derive(Debug, Clone)]
pub struct Seat {
    pub directory: PathBuf,
    /// The commit it started from, where there is one.
    pub base: Option<String>,
}

/// The backends, one line each: `InPlace`, `Worktrees`. All of it blocks; callers see to that.
pub trait Workspaces: Send + Sync {
    /// A directory the guest can work in now, holding everything its dependencies have landed.
    fn prepare(&self, guest: &Guest) -> Result<Seat, WorkspaceError>;

    /// All the guest did, as a commit that nothing will sweep away; nothing where nothing changed.
    fn collect(&self, guest: &Guest, seat: &Seat) -> Result<Option<Change>, WorkspaceError>;

    /// Keeps what a guest leaves that is not to be merged, under a rescue ref; its name, if there was anything.
    fn rescue(&self, guest: &Guest) -> Result<Option<String>, WorkspaceError>;

    /// Takes away what only served the run. Nothing that is not safe elsewhere goes.
    fn clear(&self) -> Result<(), WorkspaceError>;
}

/// The workspaces of one run: one backend for each isolation its tasks ask for.
pub struct Rooms {
    pub in_place: Arc<dyn Workspaces>,
    pub worktrees: Option<Arc<Worktrees>>,
    /// For tasks that do not say it.
    pub default: Isolation,
}

impl Rooms {
    pub fn isolation(&self, task: &Task) -> Isolation {
        task.isolation.unwrap_or(self.default)
    }

    /// The backend for a task, and whether using it blocks.
    pub fn of(&self, task: &Task) -> Result<(Arc<dyn Workspaces>, bool), WorkspaceError> {
        match (self.isolation(task), &self.worktrees) {
            (Isolation::None, _) => Ok((self.in_place.clone(), false)),
            (Isolation::Worktree, Some(worktrees)) => Ok((worktrees.clone(), true)),
            (Isolation::Worktree, None) => Err(WorkspaceError::Unavailable("worktree")),
            (Isolation::Clone, _) => Err(WorkspaceError::Unavailable("clone")),
        }
    }
}
