//! Who lives where, as it is found on the disk and in the repository: every workspace of every run, and all kept work.
//!
//! It reads notes and refs. Which of a run's tasks is at work is the log's to say.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use conductor_core::values::ids::RunId;

use super::clearing::folders;
use super::names::{RunRefs, run_of_task_branch};
use super::resolving::is_resolving;
use crate::git::{GitError, Repository, head_said};
use crate::host::home::Home;
use crate::process;

/// A folder that was made for a run and is still there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FoundWorkspace {
    pub run: RunId,
    pub name: String,
    pub folder: PathBuf,
    /// Processes that have it as their working directory.
    pub used_by: Vec<u32>,
}

impl FoundWorkspace {
    /// Whether it was made for a person to solve a conflict in.
    pub fn is_resolving(&self) -> bool {
        is_resolving(&self.name)
    }
}

/// How many workspaces of a run are on the disk; who works in them is not looked up.
pub fn count(home: &Home, run: &RunId) -> usize {
    let folders = folders(&notes(home, run)).unwrap_or_default();
    folders.into_iter().filter(|(_, folder)| folder.exists()).count()
}

pub fn inventory(home: &Home, runs: &[RunId]) -> io::Result<Vec<FoundWorkspace>> {
    let mut found = Vec::new();
    for run in runs {
        for (name, folder) in folders(&notes(home, run))? {
            if folder.exists() {
                let us = std::process::id();
                let used_by = process::inside(&folder).into_iter().filter(|&process| process != us).collect();
                found.push(FoundWorkspace { run: run.clone(), name, folder, used_by });
            }
        }
    }
    Ok(found)
}

fn notes(home: &Home, run: &RunId) -> PathBuf {
    home.run(run).join("workspaces")
}

/// The task whose branch is checked out in a workspace, as the last part of the branch's name. The agent
/// there can change that, so use it to find a folder and for nothing else.
pub fn task_at_work_in(home: &Home, workspace: &FoundWorkspace) -> Option<String> {
    let link = notes(home, &workspace.run).join(format!("{}.link", workspace.name));
    let linked = fs::read_to_string(link).map(PathBuf::from);
    let git = linked.unwrap_or_else(|_| workspace.folder.join(".git"));
    branch_in(&git, &workspace.run)
}

fn branch_in(git: &Path, run: &RunId) -> Option<String> {
    let head = head_said(git)?;
    let branch = head.strip_prefix("ref: ")?;
    run_of_task_branch(branch).filter(|of| of == run)?;
    branch.splitn(5, '/').nth(4).map(str::to_owned)
}

/// Work that is on no branch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rescue {
    /// The ref that holds it.
    pub name: String,
    /// Its run and its task as far as the ref's name tells: the task as a part of a branch's name.
    pub run: String,
    pub word: String,
    pub commit: String,
    /// The first line of its message.
    pub subject: String,
    /// How many files it changes, where that can be told.
    pub files: Option<usize>,
}

const RESCUED: &str = "refs/conductor/rescue/";

/// Everything that is kept in a repository, whichever run it is of.
pub fn rescues(repository: &Repository) -> Result<Vec<Rescue>, GitError> {
    let mut found = Vec::new();
    for (name, commit, subject) in repository.subjects(RESCUED)? {
        let mut parts = name.strip_prefix(RESCUED).unwrap_or_default().split('/').map(str::to_owned);
        let (run, word) = (parts.next().unwrap_or_default(), parts.next().unwrap_or_default());
        let files = touched(repository, &run, &commit);
        found.push(Rescue { run, word, commit, subject, files, name });
    }
    Ok(found)
}

/// Compared with what has landed in its run, or with what is checked out where that is gone.
fn touched(repository: &Repository, run: &str, commit: &str) -> Option<usize> {
    let refs = RunId::parse(run).and_then(|run| RunRefs::of(repository, &run).ok());
    let landed = refs.and_then(|refs| repository.read_ref(&refs.branch).ok().flatten());
    let other = landed.as_deref().unwrap_or(&repository.head);
    repository.touched_since(other, commit).ok()
}
