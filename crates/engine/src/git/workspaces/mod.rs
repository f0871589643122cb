//! Where a task works: a directory made ready for it, and what becomes of its work afterwards.

mod clearing;
mod clone;
mod confining;
mod editing;
mod filtered;
mod git_folders;
mod in_place;
mod include;
mod inventory;
mod landing;
mod layout;
mod lfs;
mod modules;
mod names;
mod own_work;
mod ports;
mod private;
mod resolving;
mod run_repo;
mod saving;
mod settings;
mod sides;
#[cfg(test)]
mod tests;
mod turns;
mod worktree;

use std::collections::{BTreeMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use conductor_core::plan::{Isolation, Plan, Scope, Task, Work};
use conductor_core::run::event::{Change, Round};
use conductor_core::run::{Run, Running, TaskState};
use conductor_core::schedule::Unlanded;
use conductor_core::values::ids::{Attempt, RunId, TaskId};
use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::git::{GitError, Repository};
use crate::host::shortage::{Passing, Shortage};

pub use clearing::folders;
pub use clone::Clones;
pub(crate) use confining::{GitFolder, Grounds};
pub use editing::{Editing, being_edited};
pub use in_place::{InPlace, Look};
pub use inventory::{FoundWorkspace, Rescue, count, inventory, rescues, task_at_work_in};
pub use layout::Layout;
pub use names::{RunRefs, branch_word, rescue_refs, run_of_branch, run_of_task_branch};
pub use resolving::{Resolution, Resolving, Solved, resolving_name};
pub use run_repo::RunRepo;
pub use settings::SettingsNews;
pub use sides::{LONGEST_SIDE, Sides, Version};
pub use worktree::Worktrees;

/// How the failure of a task begins whose agent left a merge unfinished: there is nothing else to know it by later.
pub const UNFINISHED_MERGE: &str = "a merge is left unfinished in its workspace";

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
    #[error(
        "the work of {task}, which it would begin on, conflicts with what has landed meanwhile in {files}"
    )]
    StackConflict { task: TaskId, files: String },
    #[error(
        "the marks of a conflict are still in {0} (where they are meant: `conflict_markers:` of the task, or --allow-markers FILE)"
    )]
    Markers(String),
    #[error("{UNFINISHED_MERGE}: git has several versions of {0}")]
    Unmerged(String),
    #[error(
        "what it did cannot be told from what it left out: {why}. Nothing of it lands; it is kept as {kept}"
    )]
    Diverged { why: String, kept: String },
    #[error("{} holds nothing but what has landed already", .0.display())]
    Emptied(PathBuf),
    #[error("the disk at {} is full", .0.display())]
    Full(PathBuf),
    #[error("the work was cut short: {0}")]
    Broken(String),
    #[error("another process moved {0} meanwhile; nothing was done, try again")]
    Contested(String),
    #[error("{0} cannot be moved: {1}; nothing was done")]
    Held(String, String),
    #[error("in {} these are not tracked and would be overwritten: {}; move them away first", .0.display(), .1.join(", "))]
    InTheWay(PathBuf, Vec<String>),
}

impl Passing for WorkspaceError {
    fn shortage(&self) -> Option<Shortage> {
        match self {
            WorkspaceError::File { source, .. } => source.shortage(),
            WorkspaceError::Git(error) => error.shortage(),
            WorkspaceError::Full(_) => Some(Shortage::Room),
            _ => None,
        }
    }
}

pub(crate) fn file(path: &Path, source: std::io::Error) -> WorkspaceError {
    WorkspaceError::File { path: path.to_owned(), source }
}

/// Who is to be seated: which attempt at which task.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WorkspaceRequest {
    pub executor: u32,
    /// The number of its epic, where that shares a workspace.
    pub epic: Option<usize>,
    pub private: bool,
    pub task: TaskId,
    pub attempt: Attempt,
    /// What its commit is called.
    pub title: String,
    /// Files in which the marks of a conflict are meant.
    pub conflict_markers: Vec<String>,
    /// What its epic has done so far.
    pub onto: Option<String>,
    /// Work that has not landed and that it builds on, the lowest first.
    pub stack: Vec<Unlanded>,
    /// What it is to mend, and for the how manyth time.
    pub round: Option<(u32, Round)>,
}

impl WorkspaceRequest {
    /// Who sits where: an executor's next task, or an epic's.
    pub fn of(
        plan: &Plan,
        isolation: Isolation,
        task: &Task,
        executor: u32,
        attempt: Attempt,
    ) -> WorkspaceRequest {
        let shared = plan.epics.iter().filter(|epic| epic.isolation_scope == Scope::Epic);
        let epic = shared.enumerate().find(|(_, epic)| Some(&epic.id) == task.epic.as_ref());
        WorkspaceRequest {
            executor,
            epic: epic.map(|(number, _)| number),
            private: isolation == Isolation::Clone,
            task: task.id.clone(),
            attempt,
            title: if isolation == Isolation::None { String::new() } else { task.commit_title() },
            conflict_markers: task.conflict_markers().to_vec(),
            onto: None,
            stack: Vec::new(),
            round: None,
        }
    }

    /// Its workspace's name: an executor's, or an epic's; private ones never take over what others had.
    pub fn workspace_name(&self) -> String {
        let kind = if self.private { "c" } else { "" };
        match self.epic {
            Some(epic) => format!("e{epic}{kind}"),
            None => format!("{}{kind}", self.executor),
        }
    }

    fn message(&self, run: &RunId) -> String {
        let WorkspaceRequest { task, title, .. } = self;
        format!("{title}\n\nConductor-Run: {run}\nConductor-Task: {task}\n")
    }
}

/// A place to work, made ready.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Workspace {
    pub directory: PathBuf,
    /// The commit it started from, where there is one.
    pub base: Option<String>,
    /// Variables that belong to it: its ports, its place for temporary files.
    pub env: Vec<(String, String)>,
}

/// Work that is on no branch, and the ref that holds it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rescued {
    pub name: String,
    pub change: Change,
}

/// The backends, one line each: `InPlace`, `Worktrees`, `Clones`. All of it blocks; callers see to that.
pub trait WorkspaceBackend: Send + Sync {
    /// A directory the attempt can work in now, holding everything its dependencies have landed.
    fn prepare(&self, request: &WorkspaceRequest) -> Result<Workspace, WorkspaceError>;

    /// All the attempt did, as a commit that nothing will sweep away; nothing where nothing changed.
    fn collect(
        &self,
        request: &WorkspaceRequest,
        workspace: &Workspace,
    ) -> Result<Option<Change>, WorkspaceError>;

    /// Keeps what an attempt leaves that is not to be merged, under a rescue ref, if there was anything.
    fn rescue(&self, request: &WorkspaceRequest) -> Result<Option<Rescued>, WorkspaceError>;
}

/// The workspaces of one run: one backend for each isolation its tasks ask for.
pub struct Workspaces {
    pub in_place: Arc<dyn WorkspaceBackend>,
    pub git: Option<GitWorkspaces>,
    /// For tasks that do not say it.
    pub default: Isolation,
}

/// What there is in a repository.
pub struct GitWorkspaces {
    pub run_repo: Arc<RunRepo>,
    worktrees: Arc<Worktrees>,
    clones: Arc<Clones>,
}

/// A run as far as it decides where its tasks work.
#[derive(Debug, Clone, Copy)]
pub struct RunPlace<'a> {
    /// The state directory of all runs.
    pub home: &'a Path,
    pub id: &'a RunId,
    pub run: &'a Run,
    /// Where it was started.
    pub directory: &'a Path,
}

impl RunPlace<'_> {
    fn layout(&self, repository: &Repository) -> Layout {
        let template = self.run.plan().workspace_path.as_deref();
        Layout::new(self.home, self.id, repository, self.directory, template)
    }

    /// Makes what a run needs of a repository, or takes it up again.
    pub fn move_in(&self, mut repository: Repository) -> Result<RunRepo, WorkspaceError> {
        // Its branch may have been removed before anything landed on it; it is made again where the run began.
        if let (None, Some(begun_on)) = (self.run.tip(), &self.run.options().begun_on) {
            repository.head = begun_on.clone();
        }
        let layout = self.layout(&repository);
        RunRepo::open(repository, self.id, layout, kept(self.run.plan()), self.run.tip())
    }

    /// Opens it for another process than the coordinator, during or after the run. Creates nothing.
    pub fn context(&self, repository: Repository) -> Result<RunRepo, WorkspaceError> {
        let layout = self.layout(&repository);
        RunRepo::look(repository, self.id, layout, kept(self.run.plan()), self.run.tip())
    }
}

/// A run's part of a repository, for a worker in another process than its coordinator's, which has made what there is.
pub(crate) fn beside_coordinator(
    home: &Path,
    run: &RunId,
    directory: &Path,
    plan: &Plan,
) -> Result<RunRepo, WorkspaceError> {
    let repository = Repository::of(directory)?;
    let layout = Layout::new(home, run, &repository, directory, plan.workspace_path.as_deref());
    RunRepo::look(repository, run, layout, kept(plan), None)
}

/// A run's part of a worker's own repository, on another machine than its coordinator's. The run's branch is made there at
/// this commit where it is not there yet.
pub(crate) fn apart_from_coordinator(
    root: &Path,
    run: &RunId,
    directory: &Path,
    plan: &Plan,
    tip: &str,
) -> Result<RunRepo, WorkspaceError> {
    // Of the directory itself nothing is here but its name.
    let top = directory.ancestors().find(|folder| folder.join(".git").is_dir()).unwrap_or(directory);
    let mut repository = Repository::of(top)?;
    repository.head = tip.to_owned();
    let layout = Layout::new(
        root,
        run,
        &repository,
        &repository.root.join(directory.strip_prefix(top).unwrap_or(Path::new(""))),
        None,
    );
    RunRepo::open(repository, run, layout, kept(plan), None)
}

/// Ignored files that stay when a folder is used again, of all tasks.
fn kept(plan: &Plan) -> Vec<String> {
    let mut keep: Vec<String> = plan.tasks.iter().flat_map(|task| task.keep().to_vec()).collect();
    keep.sort();
    keep.dedup();
    keep
}

/// The commits of tasks that have landed, as they were before they were merged, squashed or rebased.
pub fn works(run: &Run) -> HashSet<String> {
    let landed = run.tasks().filter_map(|(_, progress)| progress.landed.as_deref());
    landed.map(|landed| landed.work.clone()).collect()
}

impl GitWorkspaces {
    pub fn new(run_repo: RunRepo) -> GitWorkspaces {
        let run_repo = Arc::new(run_repo);
        let (worktrees, clones) = (Worktrees::new(run_repo.clone()), Clones::new(run_repo.clone()));
        GitWorkspaces { run_repo, worktrees: Arc::new(worktrees), clones: Arc::new(clones) }
    }
}

impl Workspaces {
    pub fn new(directory: PathBuf, run_repo: Option<RunRepo>, default: Isolation) -> Workspaces {
        Workspaces {
            in_place: Arc::new(InPlace::new(directory)),
            git: run_repo.map(GitWorkspaces::new),
            default,
        }
    }

    pub fn isolation(&self, task: &Task) -> Isolation {
        task.isolation_or(self.default)
    }

    /// Whether a task works elsewhere than in the user's own directory.
    pub fn is_apart(&self, task: &Task) -> bool {
        self.isolation(task) != Isolation::None && self.git.is_some()
    }

    /// The backend for a task, and whether using it blocks.
    pub fn of(&self, task: &Task) -> Result<(Arc<dyn WorkspaceBackend>, bool), WorkspaceError> {
        match (self.isolation(task), &self.git) {
            (Isolation::None, _) => Ok((self.in_place.clone(), false)),
            (Isolation::Worktree, Some(git)) => Ok((git.worktrees.clone(), true)),
            (Isolation::Clone, Some(git)) => Ok((git.clones.clone(), true)),
            (Isolation::Worktree, None) => Err(WorkspaceError::Unavailable("worktree")),
            (Isolation::Clone, None) => Err(WorkspaceError::Unavailable("clone")),
        }
    }

    pub fn run_repo(&self) -> Option<&Arc<RunRepo>> {
        self.git.as_ref().map(|git| &git.run_repo)
    }

    /// Keeps what interrupted attempts had done, before their workspaces are used again or cleared. What could not be
    /// saved is told.
    pub fn rescue_left(
        &self,
        run: &Run,
        goes_on: impl Fn(&TaskId) -> bool,
    ) -> (BTreeMap<TaskId, Change>, Vec<String>) {
        let (mut left, mut troubles) = (BTreeMap::new(), Vec::new());
        for (task, progress) in run.tasks() {
            if let TaskState::Running(running) = &progress.state
                && !running.ended
                && !goes_on(&task.id)
                && let Some((workspaces, request)) = self.left_in(run, task, running)
            {
                match workspaces.rescue(&request) {
                    Ok(Some(rescued)) if matches!(task.work, Work::Prompt(_)) => {
                        left.insert(task.id.clone(), rescued.change);
                    }
                    Ok(_) => {}
                    Err(error) => {
                        troubles.push(format!("what {} had done could not be saved: {error}", task.id));
                    }
                }
            }
        }
        (left, troubles)
    }

    /// Where an attempt that was cut short has worked, if that was apart from the user's directory.
    pub(crate) fn left_in(
        &self,
        run: &Run,
        task: &Task,
        running: &Running,
    ) -> Option<(Arc<dyn WorkspaceBackend>, WorkspaceRequest)> {
        let (workspaces, _) = self.of(task).ok().filter(|(_, is_apart)| *is_apart)?;
        let (executor, attempt) = (running.executor, running.attempt);
        let request = WorkspaceRequest::of(run.plan(), self.isolation(task), task, executor, attempt);
        Some((workspaces, WorkspaceRequest { stack: begun_on(run, &task.id), ..request }))
    }
}

/// Work that had not landed when its last attempt began on it.
fn begun_on(run: &Run, task: &TaskId) -> Vec<Unlanded> {
    let stack = run.place(task).and_then(|place| run.repeats(place)).map(|repeats| &repeats.stack);
    let below = |(task, commit): (&TaskId, &String)| Unlanded {
        task: task.clone(),
        commit: commit.clone(),
        base: None,
    };
    stack.into_iter().flatten().map(below).collect()
}
