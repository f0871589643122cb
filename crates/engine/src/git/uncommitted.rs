//! What a checkout holds that is not committed: told, and made a commit of, off every branch.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use super::filters::{bounded, without};
use super::{GitError, Repository, bytes, finished, output, with_input};

/// Files of a checkout that differ from the commit that is checked out, or are neither tracked nor ignored.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Uncommitted {
    /// By their names below the checkout.
    pub files: Vec<PathBuf>,
    /// Those of them in which a merge has left conflicts.
    pub unmerged: Vec<PathBuf>,
    /// Folders among it that are repositories of their own: only their own git knows what is in them.
    pub nested: Vec<PathBuf>,
    /// Those of the files that are not in the index as they are.
    unstaged: Vec<PathBuf>,
    /// Those of the files that the index has and the checkout has not.
    gone: Vec<PathBuf>,
}

impl Repository {
    /// All of it but what is at or below these places. Nothing of the user's is written to and no filter is run: a file that
    /// was touched and is stored in another form counts as changed. Of submodules only their commit is looked at.
    pub fn uncommitted(&self, except: &[PathBuf]) -> Result<Uncommitted, GitError> {
        let mut command = self.in_checkout(&self.root)?;
        without(&mut command, self.filter_names()?.iter().map(String::as_str));
        command.args(["status", "--porcelain=v1", "-z", "--untracked-files=all", "--no-renames"]);
        command.arg("--ignore-submodules=dirty");
        let mut found = Uncommitted::default();
        for entry in bytes(command)?.split(|&byte| byte == 0) {
            let [staged, unstaged, b' ', name @ ..] = entry else { continue };
            let name = PathBuf::from(OsStr::from_bytes(name));
            let path = self.root.join(&name);
            if except.iter().any(|ours| path.starts_with(ours)) {
                continue;
            }
            if (*staged, *unstaged) == (b'?', b'?') && name.as_os_str().as_bytes().ends_with(b"/") {
                found.nested.push(name);
                continue;
            }
            let is_unmerged =
                matches!((*staged, *unstaged), (b'U', _) | (_, b'U') | (b'A', b'A') | (b'D', b'D'));
            if is_unmerged {
                found.unmerged.push(name.clone());
            }
            match *unstaged {
                b' ' => {}
                b'D' if !is_unmerged => found.gone.push(name.clone()),
                _ => found.unstaged.push(name.clone()),
            }
            found.files.push(name);
        }
        Ok(found)
    }

    /// All filters that are configured, whether or not a file is under one.
    fn filter_names(&self) -> Result<BTreeSet<String>, GitError> {
        let mut command = self.in_checkout(&self.root)?;
        command.args(["config", "--name-only", "--get-regexp", r"^filter\..*\.(clean|process)$"]);
        let keys = match output(command) {
            Ok(keys) => keys,
            Err(GitError::Failed { code: Some(1), .. }) => String::new(),
            Err(error) => return Err(error),
        };
        let name = |key: &str| Some(key.strip_prefix("filter.")?.rsplit_once('.')?.0.to_owned());
        Ok(keys.lines().filter_map(name).collect())
    }

    /// A commit of that on top of the one that is checked out, on no branch. It is made by a copy of the user's index at
    /// this place: neither their index nor their files are touched.
    pub fn commit_uncommitted(&self, found: &Uncommitted, copy: &Path) -> Result<String, GitError> {
        let names = copy.with_extension("names");
        let made = self.with_copied_index(found, copy, &names);
        for path in [copy, &names] {
            // Only a copy: where it cannot be taken away it goes with the run's folder.
            let _ = fs::remove_file(path);
        }
        let tree = made?;
        let (name, email) = self.identity();
        let mut commit = self.in_checkout(&self.root)?;
        commit.args(["commit-tree", &tree, "-p", &self.head, "-F", "-"]);
        commit.env("GIT_AUTHOR_NAME", &name).env("GIT_AUTHOR_EMAIL", &email);
        commit.env("GIT_COMMITTER_NAME", &name).env("GIT_COMMITTER_EMAIL", &email);
        with_input(commit, b"Uncommitted files at the start of a run\n")
    }

    /// The tree of the user's index with all these files as they are now.
    fn with_copied_index(&self, found: &Uncommitted, copy: &Path, names: &Path) -> Result<String, GitError> {
        let file = |path: &Path| {
            let path = path.to_owned();
            move |source| GitError::File { path, source }
        };
        let ask = |args: &[&str]| {
            let mut command = self.in_checkout(&self.root)?;
            command.env("GIT_INDEX_FILE", copy).args(args);
            Ok::<_, GitError>(command)
        };
        match fs::copy(self.git_directory().join("index"), copy) {
            Ok(_) => {}
            // A checkout without an index has nothing staged.
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                output(ask(&["read-tree", &self.head])?)?;
            }
            Err(error) => return Err(file(copy)(error)),
        }
        // Not by `git add`, which passes over no link that stands where a folder was.
        if !found.gone.is_empty() {
            with_input(ask(&["update-index", "--force-remove", "-z", "--stdin"])?, &listed(&found.gone))?;
        }
        if !found.unstaged.is_empty() {
            fs::write(names, listed(&found.unstaged)).map_err(file(names))?;
            let mut add = ask(&["--literal-pathspecs", "add", "--all", "--pathspec-file-nul"])?;
            add.arg("--pathspec-from-file").arg(names);
            finished(&bounded(&mut add)?, &add)?;
        }
        output(ask(&["write-tree"])?)
    }

    /// Has git pass over what is below this folder of the checkout, in all checkouts and without a file of the project
    /// being changed. Nothing where git does so already.
    pub fn exclude(&self, folder: &str) -> Result<(), GitError> {
        let mut asked = self.in_checkout(&self.root)?;
        asked.args(["check-ignore", "--quiet", "--no-index", "--"]).arg(Path::new(folder).join("x"));
        match output(asked) {
            Ok(_) => return Ok(()),
            Err(GitError::Failed { code: Some(1), .. }) => {}
            Err(error) => return Err(error),
        }
        let path = self.common.join("info/exclude");
        let file = |source| GitError::File { path: path.clone(), source };
        let mut text = match fs::read(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => Vec::new(),
            Err(error) => return Err(file(error)),
        };
        if text.last().is_some_and(|&last| last != b'\n') {
            text.push(b'\n');
        }
        text.extend_from_slice(format!("/{folder}/\n").as_bytes());
        fs::create_dir_all(self.common.join("info")).map_err(file)?;
        fs::write(&path, text).map_err(file)
    }
}

fn listed(names: &[PathBuf]) -> Vec<u8> {
    names.iter().flat_map(|name| name.as_os_str().as_bytes().iter().copied().chain([0])).collect()
}
