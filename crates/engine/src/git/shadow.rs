//! The shadow: a git directory of our own that shares the repository's objects and nothing else.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::{GitError, Repository, bare_command, bytes, output, with_input};
use crate::process::run_own;

#[derive(Debug, Clone)]
pub struct Shadow {
    directory: PathBuf,
    objects: PathBuf,
    name: String,
    email: String,
}

/// What merging two commits in memory came to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Merge {
    Clean {
        tree: String,
    },
    /// The files that both sides changed, and what git said of them.
    Conflict {
        files: Vec<String>,
        messages: String,
    },
}

impl Shadow {
    /// Makes it, or takes it up again. Whatever configuration is there is replaced by ours.
    pub fn open(repository: &Repository, directory: PathBuf) -> Result<Shadow, GitError> {
        let file = |source| GitError::File { path: directory.clone(), source };
        for folder in ["objects", "refs", "info"] {
            fs::create_dir_all(directory.join(folder)).map_err(file)?;
        }
        fs::write(directory.join("HEAD"), "ref: refs/heads/none\n").map_err(file)?;
        fs::write(directory.join("config"), "[core]\n\trepositoryformatversion = 0\n\tbare = true\n")
            .map_err(file)?;
        let (name, email) = repository.identity();
        Ok(Shadow { directory: directory.clone(), objects: repository.objects(), name, email })
    }

    /// Nobody's configuration but ours: no system, no user, no repository; no hooks, no attributes from outside.
    fn command(&self) -> Command {
        let mut command = bare_command();
        command
            .current_dir(&self.directory)
            .env("GIT_DIR", &self.directory)
            .env("GIT_OBJECT_DIRECTORY", &self.objects)
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .env("GIT_CONFIG_GLOBAL", "/dev/null")
            .env("GIT_AUTHOR_NAME", &self.name)
            .env("GIT_AUTHOR_EMAIL", &self.email)
            .env("GIT_COMMITTER_NAME", &self.name)
            .env("GIT_COMMITTER_EMAIL", &self.email)
            .args(["-c", "core.hooksPath=/dev/null", "-c", "core.fsmonitor=false", "-c", "gc.auto=0"])
            .args([
                "-c",
                "core.bare=false",
                "-c",
                "core.quotePath=false",
                "-c",
                "advice.addEmbeddedRepo=false",
            ]);
        command
    }

    fn in_tree(&self, tree: &Path, index: &Path) -> Command {
        let mut command = self.command();
        command.env("GIT_WORK_TREE", tree).env("GIT_INDEX_FILE", index).current_dir(tree);
        command
    }

    /// Makes the folder hold exactly this commit's files, whatever it held, except ignored ones that are to be kept.
    pub fn check_out(
        &self,
        commit: &str,
        tree: &Path,
        index: &Path,
        keep: &[String],
    ) -> Result<(), GitError> {
        let mut reset = self.in_tree(tree, index);
        reset.args(["read-tree", "--reset", "-u", commit]);
        output(reset)?;
        let mut clean = self.in_tree(tree, index);
        clean.args(["clean", "-ffdx", "--quiet", "-e", "/.git"]);
        for pattern in keep {
            clean.arg("-e").arg(pattern);
        }
        output(clean).map(drop)
    }

    /// The tree of all that is in the folder now and not ignored.
    pub fn tree_of(&self, tree: &Path, index: &Path) -> Result<String, GitError> {
        let mut add = self.in_tree(tree, index);
        add.args(["add", "--all", "--ignore-errors", "--", ":/"]);
        output(add)?;
        let mut write = self.in_tree(tree, index);
        write.arg("write-tree");
        output(write)
    }

    pub fn tree_of_commit(&self, commit: &str) -> Result<String, GitError> {
        let mut command = self.command();
        command
            .args(["rev-parse", "--verify", "--quiet", "--end-of-options"])
            .arg(format!("{commit}^{{tree}}"));
        output(command)
    }

    pub fn commit(&self, tree: &str, parents: &[&str], message: &str) -> Result<String, GitError> {
        let mut command = self.command();
        command.args(["commit-tree", tree]);
        for parent in parents {
            command.args(["-p", parent]);
        }
        with_input(command, message.as_bytes())
    }

    /// Whether `old` is in the history of `new`.
    pub fn contains(&self, new: &str, old: &str) -> Result<bool, GitError> {
        let mut command = self.command();
        command.args(["merge-base", "--is-ancestor", old, new]);
        match output(command) {
            Ok(_) => Ok(true),
            Err(GitError::Failed { code: Some(1), .. }) => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Merges in memory: no folder is touched and nothing is moved.
    pub fn merge(&self, ours: &str, theirs: &str) -> Result<Merge, GitError> {
        let mut command = self.command();
        command.args(["merge-tree", "--write-tree", "-z", "--name-only", "--messages", ours, theirs]);
        let done = run_own(&mut command, &[]).map_err(GitError::Missing)?;
        let text = String::from_utf8_lossy(&done.stdout).into_owned();
        match done.status.code() {
            Some(0) => Ok(Merge::Clean { tree: text.split('\0').next().unwrap_or_default().to_owned() }),
            Some(1) => Ok(conflict(&text)),
            code => Err(GitError::Failed {
                what: "merge-tree".into(),
                code,
                said: String::from_utf8_lossy(&done.stderr).trim().to_owned(),
            }),
        }
    }

    /// Files that differ between two commits, with lines added and taken away.
    pub fn changed_files(&self, from: &str, to: &str) -> Result<Vec<String>, GitError> {
        let mut command = self.command();
        command.args(["diff-tree", "-r", "-z", "--name-only", "--no-ext-diff", "--no-textconv", from, to]);
        let text = bytes(command)?;
        let names = text.split(|&byte| byte == 0).filter(|name| !name.is_empty());
        Ok(names.map(|name| String::from_utf8_lossy(name).into_owned()).collect())
    }

    /// The difference as a patch.
    pub fn patch(&self, from: &str, to: &str) -> Result<Vec<u8>, GitError> {
        let mut command = self.command();
        command.args(["diff-tree", "-r", "-p", "--no-ext-diff", "--no-textconv", "--binary", from, to]);
        bytes(command)
    }
}

/// `<tree> NUL (<file> NUL)* NUL` and then messages as `<count> NUL (<path> NUL)* <type> NUL <message> NUL`.
fn conflict(text: &str) -> Merge {
    let mut parts = text.split('\0').skip(1);
    let files: Vec<String> = parts.by_ref().take_while(|part| !part.is_empty()).map(str::to_owned).collect();
    let messages: Vec<&str> =
        parts.filter(|part| part.contains("CONFLICT")).filter(|part| part.len() > 20).collect();
    Merge::Conflict { files, messages: messages.concat().trim_end().to_owned() }
}
