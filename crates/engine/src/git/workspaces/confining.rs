//! Where a workspace and its git directory are, for what confines the processes in it. An agent can change what git itself
//! would say of that.

use std::path::{Path, PathBuf};

use conductor_core::plan::{Isolation, Task};

use super::{WorkspaceRequest, Workspaces};
use crate::agents::subagents;

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
            let tree = subagents::root(directory);
            // A link could lead anywhere.
            let is_folder = tree.join(".git").symlink_metadata().is_ok_and(|found| found.is_dir());
            let git = if is_folder { GitFolder::Inside } else { GitFolder::None };
            return Grounds { tree, git, modules: None, identity: None };
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
