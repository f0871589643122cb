//! Where a task works: a directory made ready for it, and what becomes of its work afterwards.

mod clone;
mod in_place;
mod include;
mod ports;
#[cfg(test)]
mod tests;
mod turns;
mod worktree;
mod yard;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use conductor_core::event::{Change, Round};
use conductor_core::ids::{Attempt, RunId, TaskId};
use conductor_core::plan::{Isolation, Task};
use thiserror::Error;

use crate::git::GitError;

pub use clone::Clones;
pub use in_place::InPlace;
pub use worktree::Worktrees;
pub use yard::{Layout, Yard, branch_word, empty_trash, folders, rescue_refs, run_branch, task_branches};

#[derive(Debug, Error)]
pub enum WorkspaceError {
    #[error(transparent)]
    Git(#[from] GitError),
    #[error("{path}: {source}")]
    File { path: PathBuf, source: std::io::Error },
    #[error("isolation '{0}' is not available here")]
    Unavailable(&'static str),
    #[error("workspaces would be inside of the repository, at {}; workspace_path must lead out of it", .0.display())]
    Inside(PathBuf),
    #[error("the work of its epic conflicts with what has landed meanwhile in {0}")]
    EpicConflict(String),
    #[error("the marks of a conflict are still in {0}")]
    Markers(String),
    #[error("the work was cut short: {0}")]
    Broken(String),
}

impl WorkspaceError {
    /// Whether it goes away by itself when somebody makes room on the disk.
    pub fn is_no_space(&self) -> bool {
        match self {
            WorkspaceError::File { source, .. } => source.kind() == std::io::ErrorKind::StorageFull,
            WorkspaceError::Git(error) => error.is_no_space(),
            _ => false,
        }
    }
}

pub(crate) fn file(path: &Path, source: std::io::Error) -> WorkspaceError {
    WorkspaceError::File { path: path.to_owned(), source }
}

/// Who is to be seated: which attempt at which task.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Guest {
    pub executor: u32,
    /// The number of its epic, where that shares a workspace.
    pub epic: Option<usize>,
    pub private: bool,
    pub task: TaskId,
    pub attempt: Attempt,
    /// What its commit is called.
    pub title: String,
    /// What its epic has done so far.
    pub onto: Option<String>,
    /// What it is to mend, and for the how manyth time.
    pub round: Option<(u32, Round)>,
}

impl Guest {
    /// Its workspace's name: an executor's, or an epic's; private ones never take over what others had.
    pub fn seat(&self) -> String {
        let kind = if self.private { "c" } else { "" };
        match self.epic {
            Some(epic) => format!("e{epic}{kind}"),
            None => format!("{}{kind}", self.executor),
        }
    }

    fn message(&self, run: &RunId) -> String {
        let Guest { task, title, .. } = self;
        format!("{title}\n\nConductor-Run: {run}\nConductor-Task: {task}\n")
    }
}

/// A place to work, made ready.
#[derive(Debug, Clone, Default)]
pub struct Seat {
    pub directory: PathBuf,
    /// The commit it started from, where there is one.
    pub base: Option<String>,
    /// Variables that belong to it: its ports, its place for temporary files.
    pub env: Vec<(String, String)>,
}

/// The backends, one line each: `InPlace`, `Worktrees`, `Clones`. All of it blocks; callers see to that.
pub trait Workspaces: Send + Sync {
    /// A directory the guest can work in now, holding everything its dependencies have landed.
    fn prepare(&self, guest: &Guest) -> Result<Seat, WorkspaceError>;

    /// All the guest did, as a commit that nothing will sweep away; nothing where nothing changed.
    fn collect(&self, guest: &Guest, seat: &Seat) -> Result<Option<Change>, WorkspaceError>;

    /// Keeps what a guest leaves that is not to be merged, under a rescue ref; its name, if there was anything.
    fn rescue(&self, guest: &Guest) -> Result<Option<String>, WorkspaceError>;
}

/// The workspaces of one run: one backend for each isolation its tasks ask for.
pub struct Rooms {
    pub in_place: Arc<dyn Workspaces>,
    pub grounds: Option<Grounds>,
    /// For tasks that do not say it.
    pub default: Isolation,
}

/// What there is in a repository.
pub struct Grounds {
    pub yard: Arc<Yard>,
    worktrees: Arc<Worktrees>,
    clones: Arc<Clones>,
}

impl Grounds {
    pub fn new(yard: Yard) -> Grounds {
        let yard = Arc::new(yard);
        let (worktrees, clones) = (Worktrees::new(yard.clone()), Clones::new(yard.clone()));
        Grounds { yard, worktrees: Arc::new(worktrees), clones: Arc::new(clones) }
    }
}

impl Rooms {
    pub fn isolation(&self, task: &Task) -> Isolation {
        task.isolation.unwrap_or(self.default)
    }

    /// Whether a task works elsewhere than in the user's own directory.
    pub fn is_apart(&self, task: &Task) -> bool {
        self.isolation(task) != Isolation::None && self.grounds.is_some()
    }

    /// The backend for a task, and whether using it blocks.
    pub fn of(&self, task: &Task) -> Result<(Arc<dyn Workspaces>, bool), WorkspaceError> {
        match (self.isolation(task), &self.grounds) {
            (Isolation::None, _) => Ok((self.in_place.clone(), false)),
            (Isolation::Worktree, Some(grounds)) => Ok((grounds.worktrees.clone(), true)),
            (Isolation::Clone, Some(grounds)) => Ok((grounds.clones.clone(), true)),
            (Isolation::Worktree, None) => Err(WorkspaceError::Unavailable("worktree")),
            (Isolation::Clone, None) => Err(WorkspaceError::Unavailable("clone")),
        }
    }

    pub fn yard(&self) -> Option<&Arc<Yard>> {
        self.grounds.as_ref().map(|grounds| &grounds.yard)
    }
}
