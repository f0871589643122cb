//! Commits: made, read, and found in each other's history.

use std::collections::{HashMap, HashSet};
use std::sync::{MutexGuard, PoisonError};

use super::Shadow;
use crate::git::{GitError, is_ancestor, output, with_input};

impl Shadow {
    /// Asked for once; of those that are made here it is known.
    pub fn tree_of_commit(&self, commit: &str) -> Result<String, GitError> {
        if let Some(tree) = self.trees().get(commit) {
            return Ok(tree.clone());
        }
        let mut command = self.command();
        command
            .args(["rev-parse", "--verify", "--quiet", "--end-of-options"])
            .arg(format!("{commit}^{{tree}}"));
        let tree = output(command)?;
        self.note_tree(commit, &tree);
        Ok(tree)
    }

    fn trees(&self) -> MutexGuard<'_, HashMap<String, String>> {
        self.trees.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn note_tree(&self, commit: &str, tree: &str) {
        const MANY: usize = 256;
        if !matches!(commit.len(), 40 | 64) {
            return;
        }
        let mut trees = self.trees();
        if trees.len() > MANY {
            trees.clear();
        }
        trees.insert(commit.to_owned(), tree.to_owned());
    }

    pub fn commit(&self, tree: &str, parents: &[&str], message: &str) -> Result<String, GitError> {
        if let Some(commit) = self.write_commit(tree, parents, message) {
            self.note_tree(&commit, tree);
            return Ok(commit);
        }
        let mut command = self.command();
        command.args(["commit-tree", tree]);
        for parent in parents {
            command.args(["-p", parent]);
        }
        let commit = with_input(command, message.as_bytes())?;
        self.note_tree(&commit, tree);
        Ok(commit)
    }

    /// A commit like another, in another place: same author, time and message.
    pub fn commit_like(&self, like: &str, tree: &str, parent: &str) -> Result<String, GitError> {
        let mut ask = self.command();
        ask.args([
            "show",
            "-s",
            "--no-show-signature",
            "--format=%an%x00%ae%x00%ad%x00%B",
            "--date=raw",
            like,
        ]);
        let text = output(ask)?;
        let mut parts = text.splitn(4, '\0');
        let mut part = || parts.next().unwrap_or_default();
        let mut command = self.command();
        command.env("GIT_AUTHOR_NAME", part()).env("GIT_AUTHOR_EMAIL", part()).env("GIT_AUTHOR_DATE", part());
        command.args(["commit-tree", tree, "-p", parent]);
        with_input(command, part().as_bytes())
    }

    /// A commit's parents and message.
    pub fn read_commit(&self, commit: &str) -> Result<(Vec<String>, String), GitError> {
        let mut command = self.command();
        command.args(["cat-file", "commit", commit]);
        let text = output(command)?;
        let (head, message) = text.split_once("\n\n").unwrap_or((&text, ""));
        let parents = head.lines().filter_map(|line| line.strip_prefix("parent ")).map(str::to_owned);
        Ok((parents.collect(), message.to_owned()))
    }

    /// Whether there is such a commit: what no ref holds is swept away some day.
    pub fn has(&self, commit: &str) -> Result<bool, GitError> {
        let mut command = self.command();
        command.args(["cat-file", "-e", &format!("{commit}^{{commit}}")]);
        match output(command) {
            Ok(_) => Ok(true),
            Err(GitError::Failed { .. }) => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Whether `old` is in the history of `new`.
    pub fn contains(&self, new: &str, old: &str) -> Result<bool, GitError> {
        is_ancestor(self.command(), new, old)
    }

    /// The last commit two have in common, if any.
    pub fn merge_base(&self, one: &str, other: &str) -> Result<Option<String>, GitError> {
        let mut command = self.command();
        command.args(["merge-base", one, other]);
        match output(command) {
            Ok(commit) => Ok(Some(commit)),
            Err(GitError::Failed { code: Some(1), .. }) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// The commits after one up to another, oldest first, following first parents.
    pub fn line(&self, after: &str, to: &str) -> Result<Vec<String>, GitError> {
        let mut command = self.command();
        command.args(["rev-list", "--reverse", "--first-parent", to, &format!("^{after}")]);
        Ok(output(command)?.lines().map(str::to_owned).collect())
    }

    /// Which of these commits are in the history of one.
    pub fn reachable<'c>(
        &self,
        from: &str,
        commits: impl Iterator<Item = &'c str>,
    ) -> Result<HashSet<String>, GitError> {
        let commits: HashSet<&str> = commits.collect();
        if commits.is_empty() {
            return Ok(HashSet::new());
        }
        // What is left when the history of the one is taken away is not in it.
        let mut command = self.command();
        command.args(["rev-list", "--stdin", "--no-walk=unsorted", "--ignore-missing"]);
        let known = with_input(
            command,
            commits.iter().map(|commit| format!("{commit}\n")).collect::<String>().as_bytes(),
        )?;
        let mut command = self.command();
        command.args(["rev-list", "--stdin", "--ignore-missing"]);
        let wanted: String = known.lines().map(|commit| format!("{commit}\n")).collect();
        let outside = with_input(command, format!("{wanted}^{from}\n").as_bytes())?;
        let outside: HashSet<&str> = outside.lines().collect();
        Ok(known.lines().filter(|commit| !outside.contains(commit)).map(str::to_owned).collect())
    }
}
