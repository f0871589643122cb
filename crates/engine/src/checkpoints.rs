//! Checkpoints: annotated tags that remember where a branch was, so that it can be set back there.
//!
//! One is made by hand, or by us before a step that somebody may want undone.

use std::path::PathBuf;

use crate::git::{GitError, Repository};
use crate::workspaces::{WorkspaceError, Yard, branch_word};

const TAGS: &str = "refs/tags/conductor-checkpoint/";

/// A tag of ours and what it remembers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Checkpoint {
    pub name: String,
    /// The full name of the branch.
    pub branch: String,
    pub commit: String,
    pub about: String,
    /// Seconds since 1970.
    pub at: i64,
}

/// What setting a branch back came to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RolledBack {
    /// It is there now; its old place is remembered under this name.
    Done {
        before: String,
    },
    /// It was there already.
    Already,
    Dirty(PathBuf),
}

/// Remembers where a branch is. A name that is taken is an error.
pub fn create(
    repository: &Repository,
    name: &str,
    branch: &str,
    about: &str,
) -> Result<Checkpoint, GitError> {
    let commit = repository.read_ref(branch)?.ok_or_else(|| GitError::NoRef(branch.to_owned()))?;
    set(repository, name, branch, &commit, about)
}

fn set(
    repository: &Repository,
    name: &str,
    branch: &str,
    commit: &str,
    about: &str,
) -> Result<Checkpoint, GitError> {
    let tag = format!("conductor-checkpoint/{}", branch_word(name));
    let message = format!("{about}\n\nConductor-Branch: {branch}\n");
    repository.tag(&tag, commit, &message)?;
    let found = list(repository)?.into_iter().find(|known| known.name == branch_word(name));
    found.ok_or(GitError::NoRef(tag))
}

/// Made by us before a step that changes what somebody may want back.
pub fn before(yard: &Yard, what: &str, branch: &str, commit: &str) -> Result<(), WorkspaceError> {
    let name = format!("{}-{:x}", yard.run(), fastrand::u32(..));
    set(yard.repository(), &name, branch, commit, &format!("before: {what}"))?;
    Ok(())
}

/// All of them, newest first.
pub fn list(repository: &Repository) -> Result<Vec<Checkpoint>, GitError> {
    let mut all: Vec<Checkpoint> = repository
        .tags(TAGS)?
        .into_iter()
        .filter_map(|(name, commit, at, message)| {
            let branch = message.lines().find_map(|line| line.strip_prefix("Conductor-Branch: "))?.to_owned();
            let about = message.lines().next().unwrap_or_default().to_owned();
            let name = name.strip_prefix(TAGS).unwrap_or(&name).to_owned();
            Some(Checkpoint { name, branch, commit, about, at })
        })
        .collect();
    all.sort_by(|a, b| (b.at, &a.name).cmp(&(a.at, &b.name)));
    Ok(all)
}

/// Sets the checkpoint's branch back to it. A checkout of the branch goes along, if nothing in it is uncommitted.
pub fn roll_back(repository: &Repository, to: &Checkpoint) -> Result<RolledBack, GitError> {
    let Some(now) = repository.read_ref(&to.branch)? else {
        repository.move_ref(&to.branch, &to.commit, "")?;
        return Ok(RolledBack::Already);
    };
    if now == to.commit {
        return Ok(RolledBack::Already);
    }
    let checkout = repository.checkout_of(&to.branch)?;
    if let Some(checkout) = &checkout
        && repository.is_dirty(checkout)?
    {
        return Ok(RolledBack::Dirty(checkout.clone()));
    }
    let name = format!("before-{}-{:x}", to.name, fastrand::u32(..));
    let before = set(repository, &name, &to.branch, &now, &format!("before: rollback to {}", to.name))?.name;
    match checkout {
        Some(checkout) => repository.reset(&checkout, &to.commit)?,
        None => {
            repository.move_ref(&to.branch, &to.commit, &now)?;
        }
    }
    Ok(RolledBack::Done { before })
}
