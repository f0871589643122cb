//! Where a workspace and its git directory are, for what confines the processes in it. An agent can change what git itself
//! would say of that.

use std::fs::{self, File};
use std::io;
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

impl Grounds {
    /// Where nothing is there yet, nothing can be made read-only: an empty file of a worktree's own settings is.
    pub(crate) fn close(&self) -> io::Result<()> {
        let folders: Vec<PathBuf> = match &self.git {
            GitFolder::None => Vec::new(),
            GitFolder::Inside | GitFolder::Clone { .. } => {
                Some(self.tree.join(".git")).filter(|git| has_worktree_settings(git)).into_iter().collect()
            }
            GitFolder::Worktree { common, own } => {
                let common = Some(common).filter(|common| has_worktree_settings(common));
                common.into_iter().chain([own]).cloned().collect()
            }
        };
        for file in folders.iter().map(|folder| folder.join("config.worktree")) {
            match File::create_new(file) {
                Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
                _ => {}
            }
        }
        Ok(())
    }

    /// A file that sends git to another folder for its configuration, in a git directory that is a whole one: git never
    /// makes that, and what an agent put there would name commands for the git of all who come after it.
    fn redirection(&self) -> Option<PathBuf> {
        let git = match &self.git {
            GitFolder::None => return None,
            GitFolder::Worktree { common, .. } => common.clone(),
            GitFolder::Inside | GitFolder::Clone { .. } => self.tree.join(".git"),
        };
        Some(git.join("commondir"))
    }

    /// Whether one was there before an agent began, that is not an earlier one's.
    pub(crate) fn is_redirected(&self) -> bool {
        let of_the_user = |file: PathBuf| {
            file.symlink_metadata().is_ok() && !file.parent().is_some_and(|git| git.join("objects").is_dir())
        };
        matches!(self.git, GitFolder::Inside) && self.redirection().is_some_and(of_the_user)
    }

    /// Takes it away; which it was.
    pub(crate) fn put_right(&self) -> io::Result<Option<PathBuf>> {
        let Some(file) = self.redirection() else { return Ok(None) };
        let removed = match file.symlink_metadata() {
            Ok(found) if found.is_dir() => fs::remove_dir_all(&file),
            Ok(_) => fs::remove_file(&file),
            Err(_) => return Ok(None),
        };
        removed.map(|()| Some(file))
    }
}

/// Whether git reads settings of a worktree's own there.
fn has_worktree_settings(git: &Path) -> bool {
    let text = fs::read(git.join("config")).unwrap_or_default();
    String::from_utf8_lossy(&text).to_ascii_lowercase().contains("worktreeconfig")
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
