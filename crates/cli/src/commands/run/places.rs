//! Where a run's tasks are to work, and what else it needs of the world.

use std::io::IsTerminal as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use conductor_core::event::Options;
use conductor_core::ids::RunId;
use conductor_core::plan::{Isolation, Plan, Task};
use conductor_core::run::Run;
use conductor_core::units::Millis;
use conductor_engine::drive::World;
use conductor_engine::git::{GitError, Repository};
use conductor_engine::home::{Home, RunClaim};
use conductor_engine::stores::Sqlite;
use conductor_engine::workspaces::{Rooms, Tenant};

use super::arguments::Resolved;
use crate::fault::{Exit, Fault};

pub(super) fn world(
    args: &Resolved<'_>,
    store: Sqlite,
    claim: RunClaim,
    rooms: Rooms,
    options: &Options,
    directory: PathBuf,
) -> World {
    let output = options.output.as_ref().map_or_else(|| claim.directory().to_owned(), PathBuf::from);
    let every = args.typed.lookout;
    let lookout = (every > Millis(0)).then_some(Duration::from_millis(every.0));
    let keeper = super::super::keeper::command(&claim);
    World { store: Arc::new(store), claim, rooms, directory, output, lookout, keeper }
}

/// The repository tasks get worktrees of, where any of them wants one. What was not said is settled here and recorded,
/// so that a resume does the same.
pub(super) fn repository(
    args: &Resolved<'_>,
    plan: &Plan,
    options: &mut Options,
    directory: &Path,
) -> Result<Option<Repository>, Fault> {
    let said = options.isolation.is_some() || plan.tasks.iter().any(|task| task.isolation.is_some());
    let beside = |default: Option<Isolation>| {
        let in_place = |task: &&Task| task.isolation.or(default) == Some(Isolation::None);
        plan.tasks.iter().filter(|task| task.race().is_some()).find(in_place)
    };
    let wanted = |default: Option<Isolation>| {
        plan.tasks.iter().any(|task| task.isolation.or(default) != Some(Isolation::None))
    };
    if let Some(task) = beside(options.isolation) {
        return Err(race_in_place(task));
    }
    if !wanted(options.isolation) {
        return Ok(None);
    }
    let found = match Repository::of(directory) {
        Ok(repository) => Some(repository),
        Err(GitError::Unborn(root)) if may_begin(args, &root) => {
            Repository::begin(directory).map_err(no_repository)?;
            Some(Repository::of(directory).map_err(no_repository)?)
        }
        Err(GitError::NotOne(_) | GitError::Missing(_)) if !said => None,
        Err(error) => return Err(no_repository(error)),
    };
    options.isolation.get_or_insert(if found.is_some() { Isolation::Worktree } else { Isolation::None });
    match beside(options.isolation) {
        Some(task) => Err(race_in_place(task)),
        None => Ok(found),
    }
}

fn race_in_place(task: &Task) -> Fault {
    let message = format!("several race for task '{}', and each needs a workspace of its own", task.id);
    Fault::new(Exit::Usage, message).help("run it in a git checkout, without --isolation none")
}

/// Asked for, or agreed to: where nobody can be asked, only asked for.
fn may_begin(args: &Resolved<'_>, root: &Path) -> bool {
    if args.typed.first_commit {
        return true;
    }
    if !(std::io::stdin().is_terminal() && std::io::stderr().is_terminal()) {
        return false;
    }
    anstream::eprint!("{} has no commit yet. Make an empty first one and go on? [Y/n] ", root.display());
    let mut answer = String::new();
    let _ = std::io::stdin().read_line(&mut answer);
    matches!(answer.trim().to_lowercase().as_str(), "" | "y" | "yes")
}

/// Where the tasks are to work.
pub(super) fn rooms(
    repository: Option<Repository>,
    options: &Options,
    home: &Home,
    id: &RunId,
    directory: &Path,
    run: &Run,
) -> Result<Rooms, Fault> {
    let tenant = Tenant { home: home.root(), id, run, directory };
    let yard = repository.map(|repository| tenant.move_in(repository)).transpose();
    let yard = yard.map_err(|error| Fault::new(Exit::Unexpected, error))?;
    Ok(Rooms::new(directory.to_owned(), yard, options.isolation.unwrap_or(Isolation::None)))
}

fn no_repository(error: GitError) -> Fault {
    let help = match &error {
        GitError::Unborn(_) => {
            "let it be made: --first-commit; or make it yourself: git commit --allow-empty -m 'Start'"
        }
        _ => "run it in a checkout, or let tasks work where you are: --isolation none",
    };
    Fault::new(Exit::Unexpected, error).help(help)
}
