//! Linked worktrees outside of the repository, one for each executor, used again by its next task.
//!
//! An executor has one task at a time, so its worktree never has two; making one ready again is a reset and a clean,
//! many times cheaper than a new one, and there are never more of them than tasks at once. Every task has its own
//! branch, `conductor-task/<run>/<task>`; what lands is on `conductor/<run>` (see `names` for where these are taken).

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use conductor_core::run::event::Change;

use super::layout::Folder;
use super::run_repo::RunRepo;
use super::{Rescued, Workspace, WorkspaceBackend, WorkspaceError, WorkspaceRequest, file};
use crate::host::access;

pub struct Worktrees {
    run_repo: Arc<RunRepo>,
}

impl Worktrees {
    pub fn new(run_repo: Arc<RunRepo>) -> Worktrees {
        Worktrees { run_repo }
    }

    pub(super) fn folder(&self, workspace: &str) -> Folder {
        let tree = self.run_repo.layout.workspace(workspace);
        let linked = fs::read_to_string(self.link(workspace)).unwrap_or_default();
        self.run_repo.folder_of(workspace, tree, PathBuf::from(linked), None)
    }

    /// Remembers git's own folder for a worktree. The one in the worktree itself is the agent's to change.
    fn link(&self, workspace: &str) -> PathBuf {
        self.run_repo.layout.notes().join(format!("{workspace}.link"))
    }

    /// The worktree as it is, if it is whole; else a new one. Only one is made at a time.
    pub(super) fn make(&self, workspace: &str, commit: &str) -> Result<Folder, WorkspaceError> {
        let folder = self.folder(workspace);
        let pointer = fs::read_to_string(folder.tree.join(".git")).unwrap_or_default();
        let whole = folder.git.join("HEAD").is_file()
            && pointer.trim().strip_prefix("gitdir: ").is_some_and(|path| Path::new(path) == folder.git)
            && self.is_of_the_repository(&folder.git);
        if whole {
            return Ok(folder);
        }
        self.run_repo.alone(|| {
            self.clear_the_way(&folder)?;
            self.run_repo.note_folder(workspace, &folder.tree)?;
            self.run_repo.repository.add_worktree(&folder.tree, commit)?;
            let made = fs::read_to_string(folder.tree.join(".git")).unwrap_or_default();
            let made = made.trim().strip_prefix("gitdir: ").unwrap_or_default();
            self.run_repo
                .shadow
                .give_keys(Path::new(made))
                .map_err(|source| file(Path::new(made), source))?;
            let link = self.link(workspace);
            access::replace(&link, made).map_err(|source| file(&link, source))
        })?;
        Ok(Folder { new: true, ..self.folder(workspace) })
    }

    /// Whether git in there reads the repository's configuration, and no other.
    fn is_of_the_repository(&self, git: &Path) -> bool {
        let common = fs::read_to_string(git.join("commondir")).unwrap_or_default();
        let real = |path: &Path| path.canonicalize().ok();
        let found = real(&git.join(common.trim_end_matches('\n')));
        found.is_some() && found == real(&self.run_repo.repository.common)
    }

    /// Says to git in the folder which branch is checked out there.
    pub(super) fn put_on(&self, branch: &str, folder: &Folder) -> Result<(), WorkspaceError> {
        Ok(self.run_repo.repository.put_worktree_on(&folder.git, branch)?)
    }

    fn clear_the_way(&self, folder: &Folder) -> Result<(), WorkspaceError> {
        let there = folder.tree.symlink_metadata().is_ok();
        if there {
            self.run_repo.throw_away(&folder.tree)?;
        }
        let _ = fs::remove_file(&folder.index);
        if there || folder.git.exists() {
            self.run_repo.repository.prune_worktrees()?;
        }
        let parent = folder.tree.parent().unwrap_or(&folder.tree);
        fs::create_dir_all(parent).map_err(|source| file(parent, source))
    }
}

impl WorkspaceBackend for Worktrees {
    fn prepare(&self, request: &WorkspaceRequest) -> Result<Workspace, WorkspaceError> {
        let base = self.run_repo.start_of(request)?;
        let workspace = request.workspace_name();
        self.run_repo.make_way(&workspace)?;
        let folder = self.make(&workspace, &base)?;
        let branch = self.run_repo.task_branch(&request.task);
        self.run_repo.repository.set_ref(&branch, &base)?;
        self.put_on(&branch, &folder)?;
        self.run_repo.workspace(request, &folder, &base)
    }

    fn collect(
        &self,
        request: &WorkspaceRequest,
        workspace: &Workspace,
    ) -> Result<Option<Change>, WorkspaceError> {
        self.run_repo.collect(request, &self.folder(&request.workspace_name()), workspace)
    }

    fn rescue(&self, request: &WorkspaceRequest) -> Result<Option<Rescued>, WorkspaceError> {
        self.run_repo.rescue_or_part(request, &self.folder(&request.workspace_name()))
    }
}
