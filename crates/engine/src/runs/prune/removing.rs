//! What was judged to go is removed. Folders are renamed into the trash; the disk is cleared behind our back.

use std::fs;
use std::io;
use std::path::Path;

use conductor_core::values::ids::RunId;
use thiserror::Error;

use super::{RefVerdict, Wanted, refs, repository};
use crate::git::{GitError, Repository};
use crate::host::home::{Home, HomeError};
use crate::process::{self, trash};
use crate::records::landed;
use crate::runs::archive::{Archive, FindError};
use crate::stores::StoreError;

/// Why something stays after all.
#[derive(Debug, Error)]
pub enum RemoveError {
    #[error("the run is active")]
    Active,
    #[error(transparent)]
    Home(HomeError),
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error(transparent)]
    Git(#[from] GitError),
    #[error("what it has landed cannot be kept in {file}: {0}", file = landed::FILE)]
    Facts(io::Error),
    #[error("its folder cannot be removed: {0}")]
    Folder(io::Error),
}

/// Removes a run and its refs, as far as they are asked for; these are returned. What it has landed is kept first. A
/// process killed in the middle leaves either a run that can be read, or an empty folder.
pub async fn remove_run(
    archive: &Archive,
    run: &RunId,
    wanted: &Wanted,
) -> Result<Vec<RefVerdict>, RemoveError> {
    let claim = archive.home.claim(run).map_err(|error| match error {
        HomeError::Busy(_) => RemoveError::Active,
        error => RemoveError::Home(error),
    })?;
    // Processes of a killed run: without its record, no command would find them any more.
    process::end_leftovers(run, claim.directory(), &[]);
    keep_facts(archive, run).await?;
    let _ = fs::remove_file(claim.directory().join("head"));
    archive.remove(run).await?;
    discard_run(&archive.home, run).map_err(RemoveError::Folder)?;
    drop(claim);
    let Some(Ok(Some(repository))) = archive.known(run).map(repository) else { return Ok(Vec::new()) };
    // Asked for anew: clearing its workspaces may have kept work under a ref just now.
    let found = refs::of_run(&repository, run, wanted)?;
    delete(&repository, &found)?;
    let _ = repository.prune_worktrees();
    Ok(found)
}

/// What it has landed is known without it. A run that cannot be read is not counted on before, either.
async fn keep_facts(archive: &Archive, run: &RunId) -> Result<(), RemoveError> {
    let Some(stored) = archive.known(run) else { return Ok(()) };
    match archive.read(stored).await {
        Ok(found) => landed::keep(&archive.home, stored, &found.run).map_err(RemoveError::Facts),
        Err(FindError::Store(error @ StoreError::Unavailable { .. })) => Err(error.into()),
        Err(_) => Ok(()),
    }
}

/// Removes the folder of a run that was never in the store.
pub fn remove_empty_folder(home: &Home, run: &RunId) -> Result<(), RemoveError> {
    let _claim = home.claim(run).map_err(RemoveError::Home)?;
    discard_run(home, run).map_err(RemoveError::Folder)
}

/// Removes what a planner said.
pub fn remove_plan(home: &Home, plan: &RunId) -> io::Result<()> {
    discard(home, &home.root().join("plans").join(plan.as_str()), &format!("plan-{plan}"))
}

/// Deletes refs of runs that are gone, as far as they go. Nothing where there is no repository any more.
pub fn delete_left_refs(archive: &Archive, verdicts: &[RefVerdict]) -> Result<(), GitError> {
    match Repository::of(&archive.directory) {
        Ok(repository) => delete(&repository, verdicts),
        Err(_) => Ok(()),
    }
}

fn delete(repository: &Repository, verdicts: &[RefVerdict]) -> Result<(), GitError> {
    let mut going = verdicts.iter().filter(|verdict| verdict.stays.is_none());
    going.try_for_each(|verdict| repository.delete_ref(&verdict.name))
}

fn discard_run(home: &Home, run: &RunId) -> io::Result<()> {
    discard(home, &home.run(run), run.as_str())
}

fn discard(home: &Home, folder: &Path, name: &str) -> io::Result<()> {
    trash::throw(home.root(), folder, name)
}
