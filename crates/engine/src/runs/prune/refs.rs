//! Branches, kept work and checkpoints of runs: only those go that a branch or tag of the user's holds too, unless the
//! user asks for the rest.

use std::fmt;
use std::path::PathBuf;

use conductor_core::values::ids::RunId;
use conductor_core::values::units::Timestamp;

use super::{Wanted, usable};
use crate::git::workspaces::{RunRefs, rescue_refs, rescues, run_of_branch};
use crate::git::{GitError, Repository, checkpoints, is_ours};
use crate::runs::archive::Archive;

#[derive(Debug, PartialEq, Eq)]
pub struct RefVerdict {
    pub name: String,
    /// A ref that stays and holds all of it.
    pub held_by: Option<String>,
    /// Nothing where it goes.
    pub stays: Option<RefStays>,
}

/// Why a ref stays.
#[derive(Debug, PartialEq, Eq)]
pub enum RefStays {
    CheckedOut(PathBuf),
    /// It would be lost.
    Unreachable,
}

impl fmt::Display for RefStays {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RefStays::CheckedOut(checkout) => write!(f, "it is checked out in {}", checkout.display()),
            RefStays::Unreachable => {
                f.write_str("no branch or tag of yours holds it; --unreachable takes it too")
            }
        }
    }
}

/// What a run has in its repository, of the kinds that are asked for.
pub(super) fn of_run(
    repository: &Repository,
    run: &RunId,
    wanted: &Wanted,
) -> Result<Vec<RefVerdict>, GitError> {
    let mut found = Vec::new();
    if wanted.branches {
        let branch = RunRefs::of(repository, run)?.branch;
        found.extend(repository.read_ref(&branch)?.map(|commit| (branch, commit)));
    }
    if wanted.refs {
        found.extend(repository.refs(&rescue_refs(run))?);
        let own = format!("{run}-");
        let is_own = |known: &checkpoints::Checkpoint| {
            run_of_branch(&known.branch).as_ref() == Some(run) || known.name.starts_with(&own)
        };
        let checkpoints = checkpoints::list(repository)?.into_iter().filter(is_own);
        found.extend(checkpoints.map(|known| (known.full_name(), known.commit)));
    }
    found.into_iter().map(|(name, commit)| look(repository, name, &commit, wanted)).collect()
}

/// Branches and kept work in the repository we are in, of runs that are gone; by their own age, so only where one is said.
pub(super) fn left_behind(
    archive: &Archive,
    wanted: &Wanted,
    now: Timestamp,
) -> Result<Vec<RefVerdict>, GitError> {
    let Some(age) = wanted.older_than.filter(|_| wanted.branches || wanted.refs) else {
        return Ok(Vec::new());
    };
    let Some(repository) = usable(Repository::of(&archive.directory))? else { return Ok(Vec::new()) };
    let gone = |run: &RunId| archive.known(run).is_none() && !archive.home.is_live(run);
    let mut found = Vec::new();
    if wanted.branches {
        let branches = repository.refs("refs/heads/")?.into_iter();
        found.extend(branches.filter(|(name, _)| run_of_branch(name).as_ref().is_some_and(gone)));
    }
    if wanted.refs {
        let kept = rescues(&repository)?.into_iter();
        let kept = kept.filter(|rescue| RunId::parse(&rescue.run).as_ref().is_some_and(gone));
        found.extend(kept.map(|rescue| (rescue.name, rescue.commit)));
    }
    let mut verdicts = Vec::new();
    for (name, commit) in found {
        if now - repository.committed_at(&commit)? > age {
            verdicts.push(look(&repository, name, &commit, wanted)?);
        }
    }
    Ok(verdicts)
}

fn look(
    repository: &Repository,
    name: String,
    commit: &str,
    wanted: &Wanted,
) -> Result<RefVerdict, GitError> {
    let holders = repository.holders(commit)?;
    let checkout = repository.checkout_of(&name)?;
    Ok(judge(name, holders, checkout, wanted))
}

/// `holders` are all refs that contain its commit, itself too.
pub(super) fn judge(
    name: String,
    holders: Vec<String>,
    checkout: Option<PathBuf>,
    wanted: &Wanted,
) -> RefVerdict {
    let held_by = holders.into_iter().find(|holder| *holder != name && lasts(holder, wanted));
    let stays = match checkout {
        Some(checkout) => Some(RefStays::CheckedOut(checkout)),
        None if held_by.is_none() && !wanted.unreachable => Some(RefStays::Unreachable),
        None => None,
    };
    RefVerdict { name, held_by, stays }
}

/// Whether a ref can be relied on: one of the user's, or a run's branch where none of these goes.
fn lasts(name: &str, wanted: &Wanted) -> bool {
    !is_ours(name) || !wanted.branches && run_of_branch(name).is_some()
}
