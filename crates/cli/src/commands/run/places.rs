//! Where a run's tasks are to work, and what else it needs of the world.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use conductor_core::event::Options;
use conductor_core::ids::RunId;
use conductor_core::plan::{Isolation, Plan};
use conductor_engine::drive::World;
use conductor_engine::git::{GitError, Repository};
use conductor_engine::home::{Home, RunClaim};
use conductor_engine::stores::Sqlite;
use conductor_engine::workspaces::{InPlace, Rooms, Worktrees};

use crate::fault::{Exit, Fault};

pub(super) fn world(store: Sqlite, claim: RunClaim, rooms: Rooms, options: &Options) -> World {
    let output = options.output.as_ref().map_or_else(|| claim.directory().to_owned(), PathBuf::from);
    World { store: Arc::new(store), claim, rooms, output }
}

/// The repository tasks get worktrees of, where any of them wants one. What was not said is settled here and recorded,
/// so that a resume does the same.
pub(super) fn repository(
    plan: &Plan,
    options: &mut Options,
    directory: &Path,
) -> Result<Option<Repository>, Fault> {
    let said = options.isolation.is_some() || plan.tasks.iter().any(|task| task.isolation.is_some());
    let wanted = |default: Option<Isolation>| {
        plan.tasks.iter().any(|task| task.isolation.or(default) != Some(Isolation::None))
    };
    if !wanted(options.isolation) {
        return Ok(None);
    }
    let found = match Repository::of(directory) {
        Ok(repository) => Some(repository),
        Err(GitError::NotOne(_) | GitError::Missing(_)) if !said => None,
        Err(error) => return Err(no_repository(error)),
    };
    options.isolation.get_or_insert(if found.is_some() { Isolation::Worktree } else { Isolation::None });
    Ok(found)
}

/// Where the tasks are to work.
pub(super) fn rooms(
    repository: Option<Repository>,
    options: &Options,
    home: &Home,
    id: &RunId,
    directory: &Path,
) -> Result<Rooms, Fault> {
    let worktrees = repository
        .map(|repository| Worktrees::open(repository, &home.run(id), id, directory, Vec::new()).map(Arc::new))
        .transpose()
        .map_err(|error| Fault::new(Exit::Unexpected, error))?;
    let in_place = Arc::new(InPlace::new(directory.to_owned()));
    Ok(Rooms { in_place, worktrees, default: options.isolation.unwrap_or(Isolation::None) })
}

fn no_repository(error: GitError) -> Fault {
    let help = match &error {
        GitError::Unborn(_) => "make the first commit: git commit --allow-empty -m 'Start'",
        _ => "run it in a checkout, or let tasks work where you are: --isolation none",
    };
    Fault::new(Exit::Unexpected, error).help(help)
}
