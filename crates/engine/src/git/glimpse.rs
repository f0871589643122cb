//! The user's checkout and branches at one moment, in as much detail as it takes to notice a change.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use super::{GitError, Repository, Shadow, output};
use crate::git::workspaces::{run_of_branch, run_of_task_branch};

/// Everything that differs from the index, everything untracked, every ref but ours.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Glimpse {
    head: String,
    files: BTreeMap<String, Seen>,
    refs: BTreeMap<String, String>,
}

/// Size and times of a file; nothing where it is gone.
type Seen = Option<(u64, i64, i64)>;

impl Glimpse {
    /// In words, what is different later.
    pub fn changes(&self, later: &Glimpse) -> Vec<String> {
        let mut changes = Vec::new();
        if self.head != later.head {
            changes.push(format!("HEAD: {} is now {}", self.head, later.head));
        }
        for (name, seen) in &later.files {
            if self.files.get(name) != Some(seen) {
                changes.push(name.clone());
            }
        }
        changes.extend(self.files.keys().filter(|name| !later.files.contains_key(*name)).cloned());
        for (name, commit) in &later.refs {
            match self.refs.get(name) {
                None => changes.push(format!("{name} is new")),
                Some(before) if before != commit => changes.push(format!("{name} was moved")),
                Some(_) => {}
            }
        }
        let gone = self.refs.keys().filter(|name| !later.refs.contains_key(*name));
        changes.extend(gone.map(|name| format!("{name} is gone")));
        changes
    }
}

impl Shadow {
    /// Looks through a copy of the user's index: nothing of theirs is written to, and nothing they configured runs.
    pub fn glimpse(&self, repository: &Repository, except: &[PathBuf]) -> Result<Glimpse, GitError> {
        let copy = self.directory.join("glimpse.index");
        let index = repository.index();
        fs::copy(&index, &copy).map_err(|source| GitError::File { path: index, source })?;
        let ask = |args: &[&str]| {
            let mut command = self.in_tree(&repository.root, &copy);
            self.unfiltered(&mut command);
            command.args(args);
            super::bytes(command)
        };
        // It fails where something differs, which is what we are here to see.
        let _ = ask(&["update-index", "-q", "--refresh"]);
        let mut names = ask(&["diff-files", "-z", "--name-only", "--ignore-submodules=all"])?;
        names.extend(ask(&[
            "ls-files",
            "-z",
            "--others",
            "--exclude-standard",
            "--directory",
            "--no-empty-directory",
        ])?);
        let files = names
            .split(|&byte| byte == 0)
            .filter(|name| !name.is_empty())
            .map(|name| {
                repository.root.join(<std::ffi::OsStr as std::os::unix::ffi::OsStrExt>::from_bytes(name))
            })
            .filter(|path| !except.iter().any(|ours| path.starts_with(ours) || ours.starts_with(path)))
            .map(|path| (shown(&path, &repository.root), seen(&path)))
            .collect();
        let head = super::head_said(&repository.git_directory()).unwrap_or_default();
        let refs = repository.refs("refs/")?.into_iter().filter(|(name, _)| !is_ours(name)).collect();
        Ok(Glimpse { head, files, refs })
    }
}

/// Whether a ref is one that runs make.
pub fn is_ours(name: &str) -> bool {
    const OURS: [&str; 3] =
        ["refs/conductor/", "refs/tags/conductor-checkpoint/", "refs/tags/conductor-run-checkpoint/"];
    OURS.iter().any(|prefix| name.starts_with(prefix))
        || run_of_branch(name).is_some()
        || run_of_task_branch(name).is_some()
}

fn shown(path: &Path, root: &Path) -> String {
    path.strip_prefix(root).unwrap_or(path).display().to_string()
}

/// A folder of untracked files is only there or not: its times also change when no file does.
fn seen(path: &Path) -> Seen {
    let found = fs::symlink_metadata(path).ok()?;
    match found.is_dir() {
        true => Some((0, 0, 0)),
        false => Some((found.len(), found.mtime(), found.mtime_nsec())),
    }
}

impl Repository {
    /// The git directory of this very checkout, which may be a linked worktree of another.
    pub fn git_directory(&self) -> PathBuf {
        let mut command = super::deaf(&self.root);
        command.args(["rev-parse", "--absolute-git-dir"]);
        output(command).map(PathBuf::from).unwrap_or_else(|_| self.common.clone())
    }

    fn index(&self) -> PathBuf {
        self.git_directory().join("index")
    }
}
