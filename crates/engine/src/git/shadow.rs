//! The shadow: a git directory of our own that shares the repository's objects and nothing else.

mod commits;
mod entries;
mod lasting;
mod made;
mod merging;
mod tracked;

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Arc, Mutex};

use conductor_core::run::event::Touched;

use super::baseline::Baseline;
use super::filters::{but, without};
use super::index::{Index, Link};
use super::lfs::{self, Lfs};
use super::{GitError, Repository, bare_command, bytes, output, with_input};
use crate::host::access;

pub use merging::Merge;

#[derive(Debug, Clone)]
pub struct Shadow {
    pub(super) directory: PathBuf,
    /// The git directory of which this is the shadow.
    pub(super) git: PathBuf,
    pub(super) name: String,
    pub(super) email: String,
    /// Where Git LFS is installed.
    pub(super) lfs: Option<Lfs>,
    /// Whether objects have names of 64 digits instead of 40.
    pub(super) sha256: bool,
    /// What the user's git was when the run started; for a submodule, without what is the repository's own.
    pub(super) baseline: Arc<Baseline>,
    pub(super) is_of_module: bool,
    /// Whether what is written is to outlive a power cut.
    pub(super) lasts: bool,
    /// The trees of commits.
    pub(super) trees: Arc<Mutex<HashMap<String, String>>>,
}

/// What came of taking a folder's files into an index.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Added {
    /// All was in it already.
    pub nothing: bool,
    /// Folders that are repositories of their own: git takes down their commit and not their files.
    pub nested: Vec<String>,
}

impl Shadow {
    /// Makes it, or opens it again. Any other configuration is replaced by ours; if it is ours already,
    /// nothing is written, since another process may be using it.
    pub fn open(repository: &Repository, directory: PathBuf) -> Result<Shadow, GitError> {
        let (name, email) = repository.identity();
        let git = repository.common.clone();
        let lfs = lfs::program().map(|program| Lfs::new(program, &git));
        let baseline = Baseline::open(repository, &directory.with_file_name("baseline"))?;
        let (baseline, sha256) = (Arc::new(baseline), repository.is_sha256());
        let shadow = Shadow {
            directory,
            git,
            name,
            email,
            lfs,
            sha256,
            baseline,
            is_of_module: false,
            lasts: true,
            trees: Arc::default(),
        }
        .made()?;
        shadow.beside(&shadow.git).made()?;
        shadow.with_attributes()
    }

    /// Attributes that go before those of a tree, and keys, have their places in the git directory.
    fn with_attributes(self) -> Result<Shadow, GitError> {
        let path = self.directory.join("info/attributes");
        let written = self.baseline.attributes().and_then(|text| match fs::read(&path) {
            Ok(there) if there == text => Ok(()),
            _ if text.is_empty() && !path.exists() => Ok(()),
            _ => fs::write(&path, text),
        });
        written.map_err(|source| GitError::File { path, source })?;
        self.give_keys(&self.directory)
            .map_err(|source| GitError::File { path: self.directory.clone(), source })?;
        Ok(self)
    }

    pub(crate) fn baseline(&self) -> &Arc<Baseline> {
        &self.baseline
    }

    /// The shadow of a submodule's git directory, whose commits are made in the same name. What is ours does not differ
    /// from one submodule to the other, so all have the same folder.
    pub fn beside(&self, git: &Path) -> Shadow {
        let lfs = self.lfs.as_ref().map(|lfs| lfs.of(git));
        let directory = match self.is_of_module {
            true => self.directory.clone(),
            false => self.directory.join("module"),
        };
        Shadow { git: git.to_owned(), lfs, directory, is_of_module: true, ..self.clone() }
    }

    fn made(self) -> Result<Shadow, GitError> {
        let file = |source| GitError::File { path: self.directory.clone(), source };
        for folder in ["objects", "refs", "info"] {
            access::create_dir_all(&self.directory.join(folder)).map_err(file)?;
        }
        let config = format!("[core]\n{}\tbare = true\n", self.format()) + self.extensions();
        for (name, text) in [("HEAD", "ref: refs/heads/none\n"), ("config", config.as_str())] {
            let path = self.directory.join(name);
            if fs::read(&path).ok().as_deref() != Some(text.as_bytes()) {
                fs::write(&path, text).map_err(file)?;
            }
        }
        Ok(self)
    }

    /// Which format a git directory has that is to read these objects, as a part of its `[core]`.
    pub fn format(&self) -> &'static str {
        if self.sha256 { "\trepositoryformatversion = 1\n" } else { "\trepositoryformatversion = 0\n" }
    }

    /// What else is to be in its config for that.
    pub fn extensions(&self) -> &'static str {
        if self.sha256 { "[extensions]\n\tobjectformat = sha256\n" } else { "" }
    }

    /// Only our configuration: none of the system, user or repository; no hooks, no attributes from outside.
    pub(super) fn command(&self) -> Command {
        let mut command = bare_command();
        command
            .current_dir(&self.directory)
            .env("GIT_DIR", &self.directory)
            .env("GIT_OBJECT_DIRECTORY", self.git.join("objects"))
            // Not configuration: without it git cannot walk the history of a shallow clone.
            .env("GIT_SHALLOW_FILE", self.git.join("shallow"))
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .env("GIT_CONFIG_GLOBAL", "/dev/null")
            .env("GIT_AUTHOR_NAME", &self.name)
            .env("GIT_AUTHOR_EMAIL", &self.email)
            .env("GIT_COMMITTER_NAME", &self.name)
            .env("GIT_COMMITTER_EMAIL", &self.email)
            .arg("-c")
            .arg(included(&self.baseline.settings(self.is_of_module)))
            .args(["-c", "core.hooksPath=/dev/null", "-c", "core.fsmonitor=false", "-c", "gc.auto=0"])
            .args([
                "-c",
                "core.bare=false",
                "-c",
                "core.quotePath=false",
                "-c",
                "advice.addEmbeddedRepo=false",
            ]);
        if self.lasts {
            // Git by itself leaves it to the system when an object gets to the disk.
            command.args(["-c", "core.fsync=committed"]);
        }
        command
    }

    pub(super) fn in_tree(&self, tree: &Path, index: &Path) -> Command {
        let mut command = self.command();
        command.env("GIT_WORK_TREE", tree).env("GIT_INDEX_FILE", index).current_dir(tree);
        command
    }

    /// Makes the folder hold exactly this commit's files, whatever it held, except ignored ones that are to be kept. How
    /// many of them only stand for a content that is not on this machine.
    pub fn check_out(
        &self,
        commit: &str,
        tree: &Path,
        index: &Path,
        keep: &[String],
    ) -> Result<usize, GitError> {
        self.reset(commit, tree, index)?;
        // Mostly there is nothing to clean, and to see that is quicker than to start a program for it.
        if !Index::read(index, self.sha256).is_ok_and(|index| index.is_all_in(tree)) {
            let mut clean = self.in_tree(tree, index);
            clean.args(["clean", "-ffdx", "--quiet", "-e", "/.git"]);
            for pattern in keep {
                clean.arg("-e").arg(pattern);
            }
            output(clean)?;
        }
        self.fill_in(tree, index)
    }

    /// Makes the folder hold this commit's files, and leaves all others alone: where there are none, that is enough.
    pub fn fill(&self, commit: &str, tree: &Path, index: &Path) -> Result<usize, GitError> {
        self.reset(commit, tree, index)?;
        self.fill_in(tree, index)
    }

    fn reset(&self, commit: &str, tree: &Path, index: &Path) -> Result<(), GitError> {
        let mut reset = self.in_tree(tree, index);
        reset.args(["read-tree", "--reset", "-u", commit]);
        self.filtered_well(reset)
    }

    /// The tree of all that is in the folder now and not ignored.
    pub fn tree_of(&self, tree: &Path, index: &Path) -> Result<String, GitError> {
        let mut write = self.in_tree(tree, index);
        write.arg("write-tree");
        output(write)
    }

    /// Takes all that is in the folder now and not ignored into the index. Folders that are repositories of their own
    /// are named: git would take down their commit and not their files. Those the index has as such already are left
    /// alone: git would ask for their status, with whatever is configured there.
    pub fn add_all(&self, tree: &Path, index: &Path) -> Result<Added, GitError> {
        let refused = self.refused().iter().map(|refused| refused.filter.as_str());
        let added = self.add_but(refused, tree, index)?;
        self.expect_untouched(tree, index)?;
        Ok(added)
    }

    /// The same, except for files under these filters.
    pub fn add_but<'f>(
        &self,
        filters: impl Iterator<Item = &'f str>,
        tree: &Path,
        index: &Path,
    ) -> Result<Added, GitError> {
        let filters: Vec<&str> = filters.collect();
        let mut add = self.in_tree(tree, index);
        without(&mut add, filters.iter().copied());
        if let Some(lfs) = &self.lfs {
            lfs.clean_with(&mut add, &self.directory);
        }
        add.args(["add", "--all", "--verbose", "--ignore-errors", "--", ":/"]);
        for Link { path, .. } in self.links(index)? {
            let mut except = std::ffi::OsString::from(":(exclude,top,literal)");
            except.push(path);
            add.arg(except);
        }
        but(&mut add, filters.into_iter());
        let done = self.filtered(&mut add)?;
        let nested = nested(&String::from_utf8_lossy(&done.stderr));
        if nested.is_empty() {
            super::finished(&done, &add)?;
        }
        Ok(Added { nothing: done.stdout.is_empty() && nested.is_empty(), nested })
    }

    /// The commits of other repositories that an index of ours has.
    pub fn links(&self, index: &Path) -> Result<Vec<Link>, GitError> {
        let read = Index::read(index, self.sha256)
            .map_err(|source| GitError::File { path: index.to_owned(), source })?;
        Ok(read.links())
    }

    /// Forgets what the index says of these paths.
    pub fn forget<P: AsRef<Path>>(&self, paths: &[P], tree: &Path, index: &Path) -> Result<(), GitError> {
        if paths.is_empty() {
            return Ok(());
        }
        let mut command = self.in_tree(tree, index);
        command.args(["update-index", "--force-remove", "-z", "--stdin"]);
        let names: Vec<&[u8]> =
            paths.iter().map(|path| path.as_ref().as_os_str().as_encoded_bytes()).collect();
        with_input(command, &names.join(&0)).map(drop)
    }

    /// Files that differ between two commits, and lines added and taken away.
    pub fn touched(&self, from: &str, to: &str) -> Result<Touched, GitError> {
        let mut command = self.command();
        command.args(["diff-tree", "-r", "-z", "--raw", "--numstat", "--no-renames"]);
        command.args(["--no-ext-diff", "--no-textconv", from, to]);
        Ok(touched(&bytes(command)?))
    }

    /// Puts a tree's files into a folder whose index stays at a commit: they look as if just changed there. The index of
    /// the tree is kept at a place: ignored files are not found otherwise.
    pub fn lay_out(
        &self,
        tree: &str,
        commit: &str,
        (folder, index, kept): (&Path, &Path, &Path),
    ) -> Result<(), GitError> {
        let mut files = self.in_tree(folder, index);
        files.args(["read-tree", "--reset", "-u", tree]);
        self.filtered_well(files)?;
        self.fill_in(folder, index)?;
        fs::copy(index, kept).map_err(|source| GitError::File { path: kept.to_owned(), source })?;
        let mut back = self.in_tree(folder, index);
        back.args(["read-tree", "-m", commit]);
        output(back).map(drop)
    }

    /// In whose name commits are made.
    pub fn identity(&self) -> (&str, &str) {
        (&self.name, &self.email)
    }

    /// A file of a tree or commit.
    pub fn blob(&self, tree: &str, path: &str) -> Result<Vec<u8>, GitError> {
        let mut command = self.command();
        command.args(["cat-file", "blob", &format!("{tree}:{path}")]);
        bytes(command)
    }

    /// The difference as a list of files with the number of lines that changed.
    pub fn stat(&self, from: &str, to: &str) -> Result<Vec<u8>, GitError> {
        let mut command = self.command();
        command.args(["diff-tree", "-r", "--stat", "--no-ext-diff", "--no-textconv", from, to]);
        bytes(command)
    }

    /// The difference as a patch.
    pub fn patch(&self, from: &str, to: &str) -> Result<Vec<u8>, GitError> {
        let mut command = self.command();
        command.args(["diff-tree", "-r", "-p", "--no-ext-diff", "--no-textconv", "--binary", from, to]);
        bytes(command)
    }
}

fn included(settings: &Path) -> std::ffi::OsString {
    let mut setting = std::ffi::OsString::from("include.path=");
    setting.push(settings);
    setting
}

/// What `git add` says of repositories in the folder.
fn nested(said: &str) -> Vec<String> {
    let name = |line: &str| {
        let embedded = line.strip_prefix("warning: adding embedded git repository: ");
        let unborn = line
            .strip_prefix("error: '")
            .and_then(|rest| rest.strip_suffix("' does not have a commit checked out"));
        embedded.or(unborn).map(|name| name.trim_end_matches('/').to_owned())
    };
    said.lines().filter_map(name).collect()
}

/// How many names of touched files are worth remembering.
pub const MANY_FILES: usize = 200;

/// First `:<mode> <mode> <object> <object> <letter> NUL <file> NUL` for each file, then `<added> TAB <removed> TAB <file>
/// NUL`; a binary file has `-` for its lines.
fn touched(raw: &[u8]) -> Touched {
    let mut touched = Touched::default();
    let mut parts = raw.split(|&byte| byte == 0).filter(|part| !part.is_empty());
    while let Some(part) = parts.next() {
        if part.starts_with(b":") {
            let file = parts.next().unwrap_or_default();
            touched.created += u64::from(part.ends_with(b"A"));
            match touched.files.len() < MANY_FILES {
                true => touched.files.push(String::from_utf8_lossy(file).into_owned()),
                false => touched.unlisted += 1,
            }
            continue;
        }
        let text = String::from_utf8_lossy(part);
        let mut lines = text.split('\t').map(|number| number.parse::<u64>().unwrap_or(0));
        touched.added += lines.next().unwrap_or(0);
        touched.removed += lines.next().unwrap_or(0);
    }
    touched
}
