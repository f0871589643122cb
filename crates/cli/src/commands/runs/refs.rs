//! Branches, kept work and checkpoints of runs, as far as `runs prune` takes them away: only what a branch or tag of the user's
//! holds too, unless the user asks for the rest.

use conductor_core::values::ids::RunId;
use conductor_engine::git::checkpoints;
use conductor_engine::git::workspaces::{RunRefs, rescue_refs, rescues, run_of_branch};
use conductor_engine::git::{GitError, Repository};
use conductor_engine::host::clock::wall;
use serde::Serialize;

use crate::archive::Archive;
use crate::args::RunsPrune;

#[derive(Debug, Serialize)]
pub(super) struct RefVerdict {
    #[serde(rename = "ref")]
    pub(super) name: String,
    pub(super) goes: bool,
    /// A ref that stays and holds all of it.
    pub(super) held_by: Option<String>,
    /// Why it stays.
    pub(super) why: Option<String>,
}

impl RefVerdict {
    /// What there is to know about it, in brackets.
    pub(super) fn note(&self) -> String {
        match (&self.why, &self.held_by) {
            (Some(why), _) => format!("  ({why})"),
            (None, Some(held_by)) => format!("  ({} holds it)", short(held_by)),
            (None, None) => "  (nothing else holds it)".to_owned(),
        }
    }
}

fn short(name: &str) -> &str {
    ["refs/heads/", "refs/tags/", "refs/"].iter().find_map(|prefix| name.strip_prefix(prefix)).unwrap_or(name)
}

/// What a run has in its repository, of the kinds that are asked for.
pub(super) fn of_run(
    repository: &Repository,
    run: &RunId,
    args: &RunsPrune,
) -> Result<Vec<RefVerdict>, GitError> {
    let mut found = Vec::new();
    if args.branches {
        let branch = RunRefs::of(repository, run)?.branch;
        found.extend(repository.read_ref(&branch)?.map(|commit| (branch, commit)));
    }
    if args.refs {
        found.extend(repository.refs(&rescue_refs(run))?);
        let own = format!("{run}-");
        let is_own = |known: &checkpoints::Checkpoint| {
            run_of_branch(&known.branch).as_ref() == Some(run) || known.name.starts_with(&own)
        };
        let checkpoints = checkpoints::list(repository)?.into_iter().filter(is_own);
        found.extend(checkpoints.map(|known| (known.full_name(), known.commit)));
    }
    found.into_iter().map(|(name, commit)| judged(repository, name, &commit, args)).collect()
}

/// Branches and kept work in the repository we are in, of runs that are gone; by their own age, so only where one is said.
pub(super) fn left_behind(archive: &Archive, args: &RunsPrune) -> Result<Vec<RefVerdict>, GitError> {
    let Some(age) = args.older_than.filter(|_| args.branches || args.refs) else { return Ok(Vec::new()) };
    let repository = match Repository::of(&archive.directory) {
        Ok(repository) => repository,
        Err(GitError::NotOne(_) | GitError::Unborn(_) | GitError::Bare(_)) => return Ok(Vec::new()),
        Err(error) => return Err(error),
    };
    let gone = |run: &RunId| archive.known(run).is_none() && !archive.home.is_live(run);
    let mut found = Vec::new();
    if args.branches {
        let branches = repository.refs("refs/heads/")?.into_iter();
        found.extend(branches.filter(|(name, _)| run_of_branch(name).as_ref().is_some_and(gone)));
    }
    if args.refs {
        let kept = rescues(&repository)?.into_iter();
        let kept = kept.filter(|rescue| RunId::parse(&rescue.run).as_ref().is_some_and(gone));
        found.extend(kept.map(|rescue| (rescue.name, rescue.commit)));
    }
    let mut verdicts = Vec::new();
    for (name, commit) in found {
        if wall() - repository.committed_at(&commit)? > age {
            verdicts.push(judged(&repository, name, &commit, args)?);
        }
    }
    Ok(verdicts)
}

fn judged(
    repository: &Repository,
    name: String,
    commit: &str,
    args: &RunsPrune,
) -> Result<RefVerdict, GitError> {
    let holds = |holder: &String| *holder != name && stays(holder, args);
    let held_by = repository.holders(commit)?.into_iter().find(holds);
    let why = match repository.checkout_of(&name)? {
        Some(checkout) => Some(format!("it is checked out in {}", checkout.display())),
        None if held_by.is_none() && !args.unreachable => {
            Some("no branch or tag of yours holds it; --unreachable takes it too".to_owned())
        }
        None => None,
    };
    Ok(RefVerdict { goes: why.is_none(), name, held_by, why })
}

/// Whether a ref can be relied on: one of the user's, or a run's branch where none of these goes.
fn stays(name: &str, args: &RunsPrune) -> bool {
    !conductor_engine::git::is_ours(name) || !args.branches && run_of_branch(name).is_some()
}

/// Takes away what goes.
pub(super) fn delete(repository: &Repository, verdicts: &[RefVerdict]) -> Result<(), GitError> {
    verdicts
        .iter()
        .filter(|verdict| verdict.goes)
        .try_for_each(|verdict| repository.delete_ref(&verdict.name))
}
