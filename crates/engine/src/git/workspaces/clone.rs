//! Private clones: a folder with a git directory of its own that reads the repository's objects and writes none.
//!
//! For work that is not trusted with the repository: hooks, configuration and refs it writes are its clone's. The clone
//! is made anew for every attempt; only its files are used again.

use std::sync::Arc;

use conductor_core::run::event::Change;

use super::layout::Folder;
use super::private::Private;
use super::run_repo::RunRepo;
use super::{Rescued, Workspace, WorkspaceBackend, WorkspaceError, WorkspaceRequest};

pub struct Clones {
    run_repo: Arc<RunRepo>,
}

impl Clones {
    pub fn new(run_repo: Arc<RunRepo>) -> Clones {
        Clones { run_repo }
    }

    pub(super) fn folder(&self, request: &WorkspaceRequest) -> Folder {
        let workspace = request.workspace_name();
        let tree = self.run_repo.layout.workspace(&workspace);
        let git = tree.join(".git");
        let objects = git.join("objects");
        self.run_repo.folder_of(&workspace, tree, git, Some(objects))
    }

    fn make(&self, request: &WorkspaceRequest, folder: &Folder, base: &str) -> Result<(), WorkspaceError> {
        self.run_repo.note_folder(&request.workspace_name(), &folder.tree)?;
        self.run_repo.throw_away(&folder.git)?;
        let branch = self.run_repo.task_branch(&request.task);
        Private {
            of: &self.run_repo.repository.common,
            head: format!("ref: {branch}"),
            refs: format!("{base} {branch}\n"),
            shadow: &self.run_repo.shadow,
        }
        .make(&folder.git)
    }
}

impl WorkspaceBackend for Clones {
    fn prepare(&self, request: &WorkspaceRequest) -> Result<Workspace, WorkspaceError> {
        let base = self.run_repo.start_of(request)?;
        self.run_repo.make_way(&request.workspace_name())?;
        let folder = self.folder(request);
        self.make(request, &folder, &base)?;
        self.run_repo.workspace(request, &folder, &base)
    }

    fn collect(
        &self,
        request: &WorkspaceRequest,
        workspace: &Workspace,
    ) -> Result<Option<Change>, WorkspaceError> {
        self.run_repo.collect(request, &self.folder(request), workspace)
    }

    fn rescue(&self, request: &WorkspaceRequest) -> Result<Option<Rescued>, WorkspaceError> {
        self.run_repo.rescue_or_part(request, &self.folder(request))
    }
}
