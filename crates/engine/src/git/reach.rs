//! Which commits can be reached from what is checked out, and which only from the branch of a run.
//!
//! However many commits are meant, git is called a few times only.

use std::collections::{HashMap, HashSet};

use super::workspaces::run_of_branch;
use super::{GitError, Repository, output, with_input};

/// Where a commit is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reached {
    /// In what is checked out.
    CheckedOut,
    /// Not there, but on this branch of a run; of several, on the one that was moved first.
    RunBranch(String),
}

impl Repository {
    /// Where each of these commits is. One that is missing, or on neither, is left out.
    pub fn reached<'c>(
        &self,
        commits: impl IntoIterator<Item = &'c str>,
    ) -> Result<HashMap<String, Reached>, GitError> {
        let there = self.existing(commits)?;
        if there.is_empty() {
            return Ok(HashMap::new());
        }
        let elsewhere = self.not_checked_out(&there)?;
        let on_branches = match elsewhere.is_empty() {
            true => HashMap::new(),
            false => self.on_run_branches()?,
        };
        let reached = |commit: String| match elsewhere.contains(&commit) {
            false => Some((commit, Reached::CheckedOut)),
            true => on_branches.get(&commit).cloned().map(|branch| (commit, Reached::RunBranch(branch))),
        };
        Ok(there.into_iter().filter_map(reached).collect())
    }

    /// Whether all of these commits are in what a commit was made of.
    pub fn contains_all<'c>(
        &self,
        commit: &str,
        others: impl IntoIterator<Item = &'c str>,
    ) -> Result<bool, GitError> {
        let mut command = self.command();
        command.args(["rev-list", "--max-count=1", "--stdin"]);
        let input = lines(others) + &format!("^{commit}\n");
        Ok(with_input(command, input.as_bytes())?.trim().is_empty())
    }

    /// Those that the repository has.
    fn existing<'c>(&self, commits: impl IntoIterator<Item = &'c str>) -> Result<HashSet<String>, GitError> {
        let is_name =
            |name: &&str| matches!(name.len(), 40 | 64) && name.bytes().all(|byte| byte.is_ascii_hexdigit());
        let names: HashSet<&str> = commits.into_iter().filter(is_name).collect();
        if names.is_empty() {
            return Ok(HashSet::new());
        }
        let mut command = self.command();
        command.args(["cat-file", "--batch-check=%(objectname) %(objecttype)"]);
        let answer = with_input(command, lines(names).as_bytes())?;
        Ok(answer.lines().filter_map(|line| line.strip_suffix(" commit")).map(str::to_owned).collect())
    }

    fn not_checked_out(&self, commits: &HashSet<String>) -> Result<HashSet<String>, GitError> {
        let mut command = self.command();
        command.args(["rev-list", "--stdin"]);
        let input = lines(commits.iter().map(String::as_str)) + &format!("^{}\n", self.head);
        match with_input(command, input.as_bytes()) {
            Ok(listed) => {
                Ok(listed.lines().filter(|line| commits.contains(*line)).map(str::to_owned).collect())
            }
            // What is on no branch may have lost its own history; what is checked out has not.
            Err(GitError::Failed { .. }) => {
                let mut command = self.command();
                command.args(["rev-list", &self.head]);
                let text = output(command)?;
                let all: HashSet<&str> = text.lines().collect();
                Ok(commits.iter().filter(|commit| !all.contains(commit.as_str())).cloned().collect())
            }
            Err(error) => Err(error),
        }
    }

    /// Commits that are on branches of runs and not checked out, each with its branch.
    fn on_run_branches(&self) -> Result<HashMap<String, String>, GitError> {
        let branches = self.run_branches()?;
        if branches.is_empty() {
            return Ok(HashMap::new());
        }
        let mut command = self.command();
        command.args(["rev-list", "--parents", "--stdin"]);
        let tips = lines(branches.iter().map(|(_, tip)| tip.as_str()));
        let text = with_input(command, (tips + &format!("^{}\n", self.head)).as_bytes())?;
        let entry = |line| str::split_once(line, ' ').unwrap_or((line, ""));
        let parents: HashMap<&str, &str> = text.lines().map(entry).collect();
        let mut found: HashMap<String, String> = HashMap::new();
        for (branch, tip) in &branches {
            let mut open = vec![tip.as_str()];
            while let Some(commit) = open.pop() {
                let Some(before) = parents.get(commit).filter(|_| !found.contains_key(commit)) else {
                    continue;
                };
                found.insert(commit.to_owned(), branch.clone());
                open.extend(before.split(' '));
            }
        }
        Ok(found)
    }

    /// The branches that runs land their work on, with their commits; the one that was moved first comes first.
    fn run_branches(&self) -> Result<Vec<(String, String)>, GitError> {
        let mut command = self.command();
        command.args(["for-each-ref", "--sort=committerdate", "--format=%(refname) %(objectname)"]);
        command.arg("refs/heads/conductor*/*");
        let text = output(command)?;
        let all = text.lines().filter_map(|line| line.split_once(' '));
        let of_runs = all.filter(|(name, _)| run_of_branch(name).is_some());
        Ok(of_runs.map(|(name, tip)| (name.to_owned(), tip.to_owned())).collect())
    }
}

fn lines<'n>(names: impl IntoIterator<Item = &'n str>) -> String {
    names.into_iter().flat_map(|name| [name, "\n"]).collect()
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::git::users_git::{git, init};

    /// A commit on what is checked out, with no change in it.
    fn commit(directory: &Path, at: u32) -> String {
        let date = format!("2026-01-01T00:00:{at:02}Z");
        let mut command = crate::git::users_git::hermetic(directory);
        command.env("GIT_COMMITTER_DATE", date).args(["commit", "-q", "--allow-empty", "-m", "work"]);
        assert!(command.status().unwrap().success());
        git(directory, &["rev-parse", "HEAD"])
    }

    #[test]
    fn a_commit_is_checked_out_or_on_a_branch_of_a_run_or_nowhere() {
        let dir = tempfile::tempdir().unwrap();
        let at = dir.path();
        init(at);
        let first = commit(at, 1);
        git(at, &["checkout", "-q", "-b", "conductor/r1"]);
        let one = commit(at, 2);
        git(at, &["checkout", "-q", "-b", "conductor-run/r2"]);
        let two = commit(at, 3);
        git(at, &["checkout", "-q", "-b", "mine", "main"]);
        let others = commit(at, 4);
        git(at, &["checkout", "-q", "main"]);
        let last = commit(at, 5);
        let (missing, option) = ("1".repeat(40), "--all".to_owned());
        let all = [&first, &one, &two, &others, &last, &missing, &option].map(String::as_str);
        let reached = Repository::of(at).unwrap().reached(all).unwrap();
        let on = |branch: &str| Some(Reached::RunBranch(format!("refs/heads/{branch}")));
        assert_eq!(reached.get(&first), Some(&Reached::CheckedOut));
        assert_eq!(reached.get(&last), Some(&Reached::CheckedOut));
        assert_eq!(reached.get(&one).cloned(), on("conductor/r1"), "the one that was moved first");
        assert_eq!(reached.get(&two).cloned(), on("conductor-run/r2"));
        assert_eq!(reached.len(), 4, "another branch is not a run's: {reached:?}");
        let holds = |commit: &str, others: &[&str]| {
            Repository::of(at).unwrap().contains_all(commit, others.iter().copied()).unwrap()
        };
        assert!(holds(&two, &[&one, &first, &two]) && holds(&two, &[]));
        assert!(!holds(&one, &[&first, &two]) && !holds(&two, &[&one, &last]));
        git(at, &["merge", "-q", "conductor/r1", "-m", "merge"]);
        let reached = Repository::of(at).unwrap().reached(all).unwrap();
        assert_eq!(reached.get(&one), Some(&Reached::CheckedOut));
        assert_eq!(reached.get(&two).cloned(), on("conductor-run/r2"));
    }

    #[test]
    fn a_commit_that_lost_its_history_is_nowhere_and_in_no_ones_way() {
        let dir = tempfile::tempdir().unwrap();
        let at = dir.path();
        init(at);
        let first = commit(at, 1);
        git(at, &["checkout", "-q", "--detach"]);
        let (parent, lost) = (commit(at, 2), commit(at, 3));
        git(at, &["checkout", "-q", "main"]);
        let file = at.join(".git/objects").join(&parent[..2]).join(&parent[2..]);
        std::fs::remove_file(file).unwrap();
        let repository = Repository::of(at).unwrap();
        let reached = repository.reached([first.as_str(), lost.as_str()]).unwrap();
        assert_eq!(reached, HashMap::from([(first, Reached::CheckedOut)]));
        assert!(repository.reached([]).unwrap().is_empty());
    }
}
