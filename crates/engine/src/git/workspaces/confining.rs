//! Where a workspace and its git directory are, for what confines the processes in it. An agent can change what git itself
//! would say of that.

use std::path::{Path, PathBuf};

use conductor_core::plan::{Isolation, Task};

use super::{WorkspaceRequest, Workspaces};

/// Where a task works, as whole folders.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Grounds {
    pub(crate) tree: PathBuf,
    pub(crate) git: GitFolder,
    /// The git directories of its submodules.
    pub(crate) modules: Option<PathBuf>,
    /// In whose name it commits.
    pub(crate) identity: Option<(String, String)>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum GitFolder {
    None,
    Inside,
    Worktree { common: PathBuf, own: PathBuf },
    Clone { of: PathBuf },
}

impl Workspaces {
    pub(crate) fn grounds(&self, task: &Task, request: &WorkspaceRequest, directory: &Path) -> Grounds {
        let isolation = self.isolation(task);
        let (Some(git), true) = (&self.git, isolation != Isolation::None) else {
            return in_place(directory);
        };
        let common = git.run_repo.repository.common.clone();
        let name = request.workspace_name();
        let (folder, git_folder) = match isolation {
            Isolation::Clone => (git.clones.folder(request), GitFolder::Clone { of: common }),
            _ => {
                let folder = git.worktrees.folder(&name);
                let own = folder.git.clone();
                (folder, GitFolder::Worktree { common, own })
            }
        };
        let (user, email) = git.run_repo.shadow.identity();
        Grounds {
            tree: folder.tree,
            git: git_folder,
            modules: Some(folder.modules),
            identity: Some((user.to_owned(), email.to_owned())),
        }
    }
}

/// The checkout that a directory is in, else the directory alone.
fn in_place(directory: &Path) -> Grounds {
    // A link could lead anywhere.
    let has_git = |folder: &&Path| folder.join(".git").symlink_metadata().is_ok_and(|found| found.is_dir());
    let root = directory.ancestors().find(has_git);
    let git = if root.is_some() { GitFolder::Inside } else { GitFolder::None };
    Grounds { tree: root.unwrap_or(directory).to_owned(), git, modules: None, identity: None }
}
