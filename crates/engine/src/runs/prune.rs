//! What old runs have left that may go: neither an active run nor work that is kept nowhere else.
//!
//! `judge` changes nothing. What goes is removed by `removing`, one at a time.

mod plans;
mod refs;
mod removing;
#[cfg(test)]
mod tests;

use std::fmt;
use std::io;
use std::path::PathBuf;

use conductor_core::values::ids::RunId;
use conductor_core::values::units::{Millis, Timestamp};

use crate::git::workspaces::{RunRefs, being_edited, inventory};
use crate::git::{GitError, Repository};
use crate::runs::archive::{Archive, FindError};
use crate::stores::{StoredRun, was_written};

pub use plans::PlanVerdict;
pub use refs::{RefStays, RefVerdict};
pub use removing::{RemoveError, delete_left_refs, remove_empty_folder, remove_plan, remove_run};

/// What the user wants to be rid of. Without an age and a number of runs to keep, no run is meant.
#[derive(Debug, Clone, Default)]
pub struct Wanted {
    pub older_than: Option<Millis>,
    /// So many of the newest stay.
    pub keep: Option<usize>,
    /// Only runs of the repository we are in.
    pub here: bool,
    /// Their branches too.
    pub branches: bool,
    /// The work they kept and their checkpoints too.
    pub refs: bool,
    /// Refs too whose commits no branch or tag of the user's holds.
    pub unreachable: bool,
    /// Runs too that could be resumed, or that have work kept nowhere else.
    pub force: bool,
}

impl Wanted {
    /// Whether it is said which runs are meant.
    pub fn names_runs(&self) -> bool {
        self.older_than.is_some() || self.keep.is_some()
    }
}

#[derive(Debug, Default)]
pub struct Verdicts {
    pub runs: Vec<RunVerdict>,
    /// Folders of runs that were killed before they were in the store. All of them go.
    pub empty_folders: Vec<RunId>,
    /// Branches and kept work of runs that are gone, in the repository we are in.
    pub left_refs: Vec<RefVerdict>,
    /// What planners said, of plans that no run there is was made of. All of them go.
    pub plans: Vec<PlanVerdict>,
}

#[derive(Debug)]
pub struct RunVerdict {
    pub stored: StoredRun,
    /// Nothing where it goes.
    pub stays: Option<Stays>,
    /// Its branch, kept work and checkpoints, as far as they are asked for.
    pub refs: Vec<RefVerdict>,
}

/// Why a run stays.
#[derive(Debug)]
pub enum Stays {
    Active,
    /// There is work in its workspaces.
    Workspaces(RunId),
    /// There is work on branches of its tasks.
    TaskBranches(RunId),
    /// The user had work of it laid out here to edit it in its review, and has neither let it land nor given it up.
    Edited(PathBuf),
    Resumable,
    WorkspacesUnreadable(io::Error),
    RepositoryUnreadable(GitError),
    RefsUnreadable(GitError),
}

impl fmt::Display for Stays {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Stays::Active => f.write_str("the run is active"),
            Stays::Workspaces(run) => {
                write!(f, "there is work in its workspaces; first: conductor worktree clean {run}")
            }
            Stays::TaskBranches(run) => {
                write!(f, "there is work on branches of its tasks; first: conductor worktree clean {run}")
            }
            Stays::Edited(folder) => {
                write!(f, "work of it is laid out to be edited in {}; --force takes it too", folder.display())
            }
            Stays::Resumable => f.write_str("it is not done and could be resumed"),
            Stays::WorkspacesUnreadable(error) => write!(f, "its workspaces cannot be looked at: {error}"),
            Stays::RepositoryUnreadable(error) => {
                write!(f, "what there is of it in its repository cannot be read: {error}")
            }
            Stays::RefsUnreadable(error) => {
                write!(f, "its branches and kept work cannot be read: {error}")
            }
        }
    }
}

/// What goes and what stays, and why.
pub fn judge(archive: &Archive, wanted: &Wanted, now: Timestamp) -> Result<Verdicts, FindError> {
    let old = match wanted.names_runs() {
        true => meant(if wanted.here { archive.here()? } else { archive.runs().to_vec() }, wanted, now),
        false => Vec::new(),
    };
    let runs: Vec<RunVerdict> = old.into_iter().map(|stored| judge_run(archive, stored, wanted)).collect();
    let goes = |run: &RunId| runs.iter().any(|one| one.stored.id == *run && one.stays.is_none());
    let plans = plans::judge(archive, wanted, now, |run| archive.known(run).is_some() && !goes(run))?;
    let left_refs = refs::left_behind(archive, wanted, now)?;
    Ok(Verdicts { empty_folders: empty_folders(archive), left_refs, plans, runs })
}

/// Those that are meant, of runs with the newest first.
fn meant(runs: Vec<StoredRun>, wanted: &Wanted, now: Timestamp) -> Vec<StoredRun> {
    let is_old = |run: &StoredRun| wanted.older_than.is_none_or(|age| now - run.created > age);
    runs.into_iter().skip(wanted.keep.unwrap_or(0)).filter(is_old).collect()
}

/// A folder that is claimed belongs to a coordinator that is about to start.
fn empty_folders(archive: &Archive) -> Vec<RunId> {
    let home = &archive.home;
    let empty = |run: &RunId| archive.known(run).is_none() && !home.is_live(run) && !was_written(home, run);
    home.runs().into_iter().filter(empty).collect()
}

fn judge_run(archive: &Archive, stored: StoredRun, wanted: &Wanted) -> RunVerdict {
    let stays = match (archive.home.is_live(&stored.id) || stored.holder().is_some(), wanted.force) {
        (true, _) => Some(Stays::Active),
        (false, true) => None,
        (false, false) => worth_keeping(&stored, Left::look(archive, &stored)),
    };
    if stays.is_some() {
        return RunVerdict { stored, stays, refs: Vec::new() };
    }
    match refs_of(&stored, wanted) {
        Ok(refs) => RunVerdict { stored, stays, refs },
        Err(error) => RunVerdict { stored, stays: Some(Stays::RefsUnreadable(error)), refs: Vec::new() },
    }
}

fn refs_of(stored: &StoredRun, wanted: &Wanted) -> Result<Vec<RefVerdict>, GitError> {
    match repository(stored)? {
        Some(repository) => refs::of_run(&repository, &stored.id, wanted),
        None => Ok(Vec::new()),
    }
}

/// How many workspaces and branches of tasks a run has left.
struct Left {
    workspaces: io::Result<usize>,
    branches: Result<usize, GitError>,
    edited: Option<PathBuf>,
}

impl Left {
    fn look(archive: &Archive, stored: &StoredRun) -> Left {
        let run = &stored.id;
        let workspaces = inventory(&archive.home, std::slice::from_ref(run)).map(|found| found.len());
        let branches = repository(stored).and_then(|found| match found {
            Some(repository) => Ok(repository.refs(&RunRefs::of(&repository, run)?.tasks)?.len()),
            None => Ok(0),
        });
        Left { workspaces, branches, edited: being_edited(&archive.home.run(run)) }
    }
}

/// What would be lost with it.
fn worth_keeping(stored: &StoredRun, left: Left) -> Option<Stays> {
    match (left.branches, left.workspaces) {
        (Err(error), _) => Some(Stays::RepositoryUnreadable(error)),
        (_, Err(error)) => Some(Stays::WorkspacesUnreadable(error)),
        (_, Ok(1..)) => Some(Stays::Workspaces(stored.id.clone())),
        (Ok(1..), _) => Some(Stays::TaskBranches(stored.id.clone())),
        _ if !stored.is_over() => Some(Stays::Resumable),
        _ => left.edited.map(Stays::Edited),
    }
}

/// The repository it worked in, if there is one still.
fn repository(stored: &StoredRun) -> Result<Option<Repository>, GitError> {
    match stored.directory.is_dir() {
        true => usable(Repository::of(&stored.directory)),
        false => Ok(None),
    }
}

/// Nothing where there is no repository that a run could have left anything in.
fn usable(found: Result<Repository, GitError>) -> Result<Option<Repository>, GitError> {
    match found {
        Ok(repository) => Ok(Some(repository)),
        Err(GitError::NotOne(_) | GitError::Unborn(_) | GitError::Bare(_)) => Ok(None),
        Err(error) => Err(error),
    }
}
