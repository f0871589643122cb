//! Where a workspace and its git directory are, for what confines the processes in it. An agent can change what git itself
//! would say of that.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use conductor_core::plan::{Isolation, Task};

use super::{WorkspaceRequest, Workspaces, git_folders};

/// Where a task works, as whole folders.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Grounds {
    pub(crate) tree: PathBuf,
    pub(crate) git: GitFolder,
    /// What we keep of its submodules, their git directories among it.
    notes: Option<PathBuf>,
    /// In whose name it commits.
    pub(crate) identity: Option<(String, String)>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum GitFolder {
    None,
    Inside,
    /// A file says where it is. It is not gone by: it could be an agent's.
    Pointed,
    Worktree {
        common: PathBuf,
        own: PathBuf,
    },
    Clone {
        of: PathBuf,
    },
}

impl Grounds {
    /// Where nothing is there yet, nothing can be made read-only. So empty folders are made for hooks, and an empty file for a worktree's
    /// own settings. They stay: another attempt in the same repository counts on them.
    pub(crate) fn close(&self) -> io::Result<()> {
        let own = self.tree.join(".git");
        let mut whole = self.modules();
        let mut settings = Vec::new();
        match &self.git {
            GitFolder::None | GitFolder::Pointed => {}
            GitFolder::Inside | GitFolder::Clone { .. } => whole.push(own),
            GitFolder::Worktree { common, own } => {
                make_folder(&common.join("modules"))?;
                whole.push(common.clone());
                settings.push(own.join("config.worktree"));
            }
        }
        for git in &whole {
            make_folder(&git.join("hooks"))?;
            make_folder(&git.join("info"))?;
        }
        let with_settings = whole.iter().filter(|git| has_worktree_settings(git));
        settings.extend(with_settings.map(|git| git.join("config.worktree")));
        settings.iter().try_for_each(|file| but_there(File::create_new(file).map(drop)))
    }

    /// The git directories of the submodules in it that are written there.
    pub(crate) fn modules(&self) -> Vec<PathBuf> {
        let inside = Some(self.tree.join(".git/modules")).filter(|_| self.git == GitFolder::Inside);
        let all = inside.iter().chain(&self.notes);
        all.flat_map(|folder| git_folders::below(folder)).collect()
    }

    /// What its git directory knows of worktrees.
    pub(crate) fn worktrees(&self) -> Vec<PathBuf> {
        match self.git {
            GitFolder::Inside => git_folders::folders(&self.tree.join(".git/worktrees")),
            _ => Vec::new(),
        }
    }

    /// Objects of the repository's submodules, which those here read.
    pub(crate) fn lent(&self) -> Vec<PathBuf> {
        let common = match &self.git {
            GitFolder::Worktree { common, .. } => common,
            GitFolder::Clone { of } => of,
            GitFolder::None | GitFolder::Inside | GitFolder::Pointed => return Vec::new(),
        };
        let modules = git_folders::below(&common.join("modules"));
        modules.into_iter().map(|module| module.join("objects")).collect()
    }

    /// A file that sends git to another folder for its configuration, in a git directory that is a whole one: git never
    /// makes that, and what an agent put there would name commands for the git of all who come after it.
    fn redirection(&self) -> Option<PathBuf> {
        let git = match &self.git {
            GitFolder::None | GitFolder::Pointed => return None,
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

    /// Takes them away, those of submodules too; which they were.
    pub(crate) fn put_right(&self) -> io::Result<Vec<PathBuf>> {
        let of_modules = self.modules().into_iter().map(|git| git.join("commondir"));
        let mut removed = Vec::new();
        for file in self.redirection().into_iter().chain(of_modules) {
            match file.symlink_metadata() {
                Ok(found) if found.is_dir() => fs::remove_dir_all(&file)?,
                Ok(_) => fs::remove_file(&file)?,
                Err(_) => continue,
            }
            removed.push(file);
        }
        Ok(removed)
    }
}

fn make_folder(path: &Path) -> io::Result<()> {
    but_there(fs::create_dir(path))
}

/// Where we may not write, the agent may not either.
fn but_there(made: io::Result<()>) -> io::Result<()> {
    use io::ErrorKind::{AlreadyExists, PermissionDenied, ReadOnlyFilesystem};
    made.or_else(|error| match error.kind() {
        AlreadyExists | PermissionDenied | ReadOnlyFilesystem => Ok(()),
        _ => Err(error),
    })
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
            notes: Some(folder.modules),
            identity: Some((user.to_owned(), email.to_owned())),
        }
    }
}

/// The checkout that a directory is in, else the directory alone.
fn in_place(directory: &Path) -> Grounds {
    // A link could lead anywhere.
    let kind = |folder: &Path| folder.join(".git").symlink_metadata().ok().map(|found| found.file_type());
    let has_git = |folder: &Path| match kind(folder) {
        Some(kind) if kind.is_dir() => Some((folder.to_owned(), GitFolder::Inside)),
        Some(kind) if kind.is_file() => Some((folder.to_owned(), GitFolder::Pointed)),
        _ => None,
    };
    let found = directory.ancestors().find_map(has_git);
    let (tree, git) = found.unwrap_or_else(|| (directory.to_owned(), GitFolder::None));
    Grounds { tree, git, notes: None, identity: None }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn made(root: &Path, folders: &[&str], files: &[&str]) {
        folders.iter().for_each(|folder| fs::create_dir_all(root.join(folder)).unwrap());
        files.iter().for_each(|file| fs::write(root.join(file), "").unwrap());
    }

    #[test]
    fn what_is_missing_is_there_before_an_agent_could_make_it() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        made(root, &[".git/objects", ".git/modules/a/objects", "sub"], &[".git/HEAD", ".git/modules/a/HEAD"]);
        let grounds = in_place(&root.join("sub"));
        assert_eq!((&grounds.tree, &grounds.git), (&root.to_owned(), &GitFolder::Inside));
        grounds.close().unwrap();
        for made in [".git/hooks", ".git/info", ".git/modules/a/hooks", ".git/modules/a/info"] {
            assert!(root.join(made).is_dir(), "{made}");
        }
        fs::write(root.join(".git/hooks/post-commit"), "own").unwrap();
        grounds.close().unwrap();
        assert!(root.join(".git/hooks/post-commit").exists(), "what is there stays");
        made(
            root,
            &[".git/modules/b/objects"],
            &[".git/modules/b/HEAD", ".git/modules/b/commondir", ".git/commondir"],
        );
        let removed = [".git/commondir", ".git/modules/b/commondir"].map(|file| root.join(file));
        assert_eq!(grounds.put_right().unwrap(), removed);
        assert_eq!(grounds.put_right().unwrap(), Vec::<PathBuf>::new());
    }

    #[test]
    fn a_file_that_says_where_git_is_belongs_to_what_is_kept() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        made(root, &["sub"], &[".git"]);
        let grounds = in_place(&root.join("sub"));
        assert_eq!((&grounds.tree, &grounds.git), (&root.to_owned(), &GitFolder::Pointed));
        grounds.close().unwrap();
        assert!(grounds.modules().is_empty() && grounds.lent().is_empty());
    }
}
