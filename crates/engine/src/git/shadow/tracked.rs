//! Files that git tracks in a folder although their paths are ignored, as after `git add --force`.
//!
//! Our own index does not know them: for `git add --all` they are untracked and ignored. The index of the folder's own git
//! does; it is read as a file, so that no program is started where there are none.

use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path, PathBuf};

use super::Shadow;
use crate::git::filters::without;
use crate::git::index::Index;
use crate::git::{GitError, bytes, finished};

impl Shadow {
    /// Takes those files into our index that the folder's own one tracks. Whether there were any.
    pub fn add_tracked(&self, own: &Path, tree: &Path, index: &Path) -> Result<bool, GitError> {
        let ours = Index::read(index, self.sha256)
            .map_err(|source| GitError::File { path: index.to_owned(), source })?;
        let links = ours.links();
        let mut paths = match Index::read(own, self.sha256) {
            Ok(own) => own.files_but(&ours),
            Err(_) => self.tracked_by(own, tree)?.into_iter().filter(|path| !ours.has(path)).collect(),
        };
        let is_linked = |path: &Path| links.iter().any(|link| path.starts_with(&link.path));
        paths.retain(|path| is_file_in(tree, path) && !is_linked(path));
        if paths.is_empty() {
            return Ok(false);
        }
        self.expect_none_refused(&paths, tree, index)?;
        self.add_forced(&paths, tree, index)?;
        Ok(true)
    }

    /// For an index in a format that we do not read. What is none tracks nothing.
    fn tracked_by(&self, own: &Path, tree: &Path) -> Result<Vec<PathBuf>, GitError> {
        let mut command = self.in_tree(tree, own);
        command.args(["ls-files", "-z", "--cached"]);
        match bytes(command) {
            Ok(names) => Ok(paths(&names).collect()),
            Err(GitError::Failed { .. }) => Ok(Vec::new()),
            Err(error) => Err(error),
        }
    }

    fn add_forced(&self, paths: &[PathBuf], tree: &Path, index: &Path) -> Result<(), GitError> {
        let names = index.with_extension("tracked");
        let text = paths.iter().map(|path| path.as_os_str().as_bytes()).collect::<Vec<_>>().join(&0);
        fs::write(&names, text).map_err(|source| GitError::File { path: names.clone(), source })?;
        let mut add = self.in_tree(tree, index);
        if let Some(lfs) = &self.lfs {
            lfs.clean_with(&mut add, &self.directory);
        }
        add.args(["--literal-pathspecs", "add", "--force", "--pathspec-file-nul", "--pathspec-from-file"]);
        let done = self.filtered(add.arg(&names));
        let _ = fs::remove_file(&names);
        finished(&done?, &add).map(drop)
    }

    /// Under a filter that is not run nothing may be stored as it is in the folder.
    fn expect_none_refused(&self, added: &[PathBuf], tree: &Path, index: &Path) -> Result<(), GitError> {
        for refused in self.refused() {
            let mut command = self.in_tree(tree, index);
            without(&mut command, std::iter::once(refused.filter.as_str()));
            command.args(["ls-files", "-z", "--others", "--"]);
            command.arg(format!(":(top,attr:filter={})", refused.filter));
            let names = bytes(command)?;
            let found: Vec<String> = paths(&names)
                .filter(|path| added.contains(path))
                .map(|path| path.to_string_lossy().into_owned())
                .collect();
            if !found.is_empty() {
                return Err(GitError::FilterRefused {
                    filter: refused.filter.clone(),
                    why: refused.why.clone(),
                    paths: found.join(", "),
                });
            }
        }
        Ok(())
    }
}

fn paths(names: &[u8]) -> impl Iterator<Item = PathBuf> + '_ {
    let names = names.split(|&byte| byte == 0).filter(|name| !name.is_empty());
    names.map(|name| PathBuf::from(std::ffi::OsStr::from_bytes(name)))
}

/// Whether there is a file or a link, reached through nothing but folders. An index can name anything.
fn is_file_in(tree: &Path, path: &Path) -> bool {
    let plain = |part: Component<'_>| matches!(part, Component::Normal(name) if name != ".git");
    let mut step = tree.to_owned();
    let mut is_file = false;
    for part in path.components() {
        step.push(part);
        let Ok(found) = fs::symlink_metadata(&step) else { return false };
        if is_file || !plain(part) {
            return false;
        }
        is_file = !found.is_dir();
        if is_file && !found.is_file() && !found.is_symlink() {
            return false;
        }
    }
    is_file
}
