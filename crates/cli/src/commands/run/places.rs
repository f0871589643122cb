//! Where a run's tasks are to work, and what else it needs of the world.

use std::collections::HashSet;
use std::io::IsTerminal as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use conductor_core::plan::{Isolation, Plan, Task, Work};
use conductor_core::run::Run;
use conductor_core::run::event::Options;
use conductor_core::values::ids::{RunId, TaskId};
use conductor_core::values::units::Millis;
use conductor_engine::git::workspaces::{Layout, RunPlace, WorkspaceError, Workspaces};
use conductor_engine::git::{Baseline, GitError, Repository};
use conductor_engine::host::access;
use conductor_engine::host::home::{Home, RunClaim};
use conductor_engine::host::shortage::{self, Passing as _};
use conductor_engine::runs::coordinator::World;
use conductor_engine::runs::engine::EngineError;
use conductor_engine::stores::RunLog;

use super::super::talk;
use super::arguments::Resolved;
use crate::console;
use crate::error::{CliError, Exit};

pub(super) fn world(
    args: &Resolved<'_>,
    log: RunLog,
    claim: RunClaim,
    workspaces: Workspaces,
    options: &Options,
    directory: PathBuf,
    ours: Vec<PathBuf>,
) -> World {
    let output = options.output.as_ref().map_or_else(|| claim.directory().to_owned(), PathBuf::from);
    let every = args.conflict_monitor;
    let conflict_monitor = (every > Millis(0)).then_some(Duration::from_millis(every.0));
    let reaper = super::super::reaper::command(&claim, options.limits.orphan_grace);
    let (examiner, workers, shim) = (None, None, super::super::shim::program());
    World {
        log,
        claim,
        workspaces,
        directory,
        output,
        ours,
        conflict_monitor,
        examiner,
        reaper,
        shim,
        workers,
    }
}

/// The repository tasks get worktrees of, where any of them wants one. What was not said is settled here and recorded,
/// so that a resume does the same.
pub(super) fn repository(
    args: &Resolved<'_>,
    plan: &Plan,
    options: &mut Options,
    directory: &Path,
) -> Result<Option<Repository>, CliError> {
    check_races(plan, options.isolation)?;
    if !is_wanted(plan, options.isolation) {
        tell_unreviewed(plan, options, Isolation::None);
        return Ok(None);
    }
    let found = match Repository::of(directory) {
        Ok(repository) => {
            check_writable(&repository)?;
            Some(repository)
        }
        Err(GitError::Unborn(root)) if may_begin(args, &root) => {
            Repository::begin(directory).map_err(no_repository)?;
            Some(Repository::of(directory).map_err(no_repository)?)
        }
        Err(error) => {
            outside(plan, options.isolation, directory, error)?;
            None
        }
    };
    let here = if found.is_some() { Isolation::Worktree } else { Isolation::None };
    tell_unreviewed(plan, options, here);
    options.isolation.get_or_insert(here);
    check_races(plan, options.isolation)?;
    Ok(found)
}

/// The repository that a run would find, where it needs one. Nothing is made, asked or settled.
pub(super) fn foresee(
    args: &Resolved<'_>,
    plan: &Plan,
    options: &Options,
    directory: &Path,
) -> Result<Option<Repository>, CliError> {
    if !is_wanted(plan, options.isolation) {
        tell_unreviewed(plan, options, Isolation::None);
        return Ok(None);
    }
    let (here, found) = match Repository::of(directory) {
        Ok(repository) => {
            check_writable(&repository)?;
            (Isolation::Worktree, Some(repository))
        }
        Err(GitError::Unborn(_)) if args.typed.first_commit || is_attended() => (Isolation::Worktree, None),
        Err(error) => {
            outside(plan, options.isolation, directory, error)?;
            (Isolation::None, None)
        }
    };
    tell_unreviewed(plan, options, here);
    Ok(found)
}

/// What is changed in place does not land, so it waits for no approval. What a file itself says of that is told where the
/// file is read; here it is what flags, variables and the folder add.
fn tell_unreviewed(plan: &Plan, options: &Options, here: Isolation) {
    let told: HashSet<&TaskId> = plan.unreviewed(plan.isolation, None).collect();
    let all = plan.unreviewed(options.isolation.or(Some(here)), options.land);
    let names: Vec<&str> = all.filter(|task| !told.contains(task)).map(TaskId::as_str).collect();
    let Some((first, others)) = names.split_first() else { return };
    let who = match others.len() {
        0 => format!("'{first}'"),
        more => format!("'{first}' and {more} more"),
    };
    talk(format!(
        "land: approve has no effect on what works in place ({who}): the files here are changed at once; \
         in a git checkout, with isolation: worktree, the work waits for you"
    ));
}

/// Worktrees and branches are made in it, so a read-only one is refused before anything starts.
fn check_writable(repository: &Repository) -> Result<(), CliError> {
    access::check_writable(&repository.common).map_err(|error| {
        let message = format!(
            "the repository {} cannot be written: {error}; nothing was started",
            repository.common.display()
        );
        CliError::new(Exit::InvalidFile, message).help(format!(
            "make it writable, or run in a copy of your own: git clone '{}'",
            repository.root.display()
        ))
    })
}

/// Makes the folder that was asked for, so that one that cannot be is refused before anything starts.
pub(super) fn make_output(options: &Options) -> Result<(), CliError> {
    let Some(folder) = options.output.as_deref().map(Path::new) else { return Ok(()) };
    if folder.components().any(|part| part.as_os_str() == ".git") {
        let message = format!("the output directory {} is git's own", folder.display());
        return Err(CliError::new(Exit::Usage, message).help("name another one with -o DIR"));
    }
    match access::create_dir_all(folder).and_then(|()| access::check_writable(folder)) {
        // A full disk is waited for when the first file is written.
        Err(error) if error.shortage().is_none() => {
            let message = format!("cannot write to the output directory {}: {error}", folder.display());
            Err(CliError::new(Exit::Usage, message).help("name another one with -o DIR"))
        }
        _ => Ok(()),
    }
}

fn is_wanted(plan: &Plan, default: Option<Isolation>) -> bool {
    plan.tasks.iter().any(|task| task.isolation.or(default) != Some(Isolation::None))
}

/// Outside of any repository a command works in place, with a notice; a prompt only if the user says so.
/// Where there is a repository that cannot be used, nothing does.
fn outside(
    plan: &Plan,
    default: Option<Isolation>,
    directory: &Path,
    error: GitError,
) -> Result<(), CliError> {
    let GitError::NotOne(_) = error else { return Err(no_repository(error)) };
    let said = |task: &Task| task.isolation.or(default);
    if plan.tasks.iter().any(|task| said(task).is_some_and(|said| said != Isolation::None)) {
        return Err(no_repository(error));
    }
    if let Some(task) = unsaid_prompt(&plan.tasks, default) {
        let message = format!("task '{}' is for an agent, and {error}; nothing was started", task.id);
        return Err(CliError::new(Exit::InvalidFile, message).help(ITS_WORD));
    }
    talk(format!("no git repository here: commands work in place, in {}", directory.display()));
    Ok(())
}

pub(super) const ITS_WORD: &str = "run it in a git checkout, where its work is kept apart; or let agents change \
                                   the files here: --isolation none, or `isolation: none` in the file";

/// A task that an agent would do in the user's own directory without the user having said so.
pub(super) fn unsaid_prompt(tasks: &[Task], default: Option<Isolation>) -> Option<&Task> {
    let is_prompt = |task: &&Task| matches!(task.work, Work::Prompt(_));
    tasks.iter().filter(is_prompt).find(|task| task.isolation.or(default).is_none())
}

fn check_races(plan: &Plan, isolation: Option<Isolation>) -> Result<(), CliError> {
    let Some(task) = plan.race_in_place(isolation) else { return Ok(()) };
    let error = EngineError::RaceInPlace(task.id.clone());
    Err(CliError::new(Exit::Usage, error).help("run it in a git checkout, without --isolation none"))
}

/// Whether --first-commit is given, or the user agrees; without a terminal, only --first-commit counts.
fn may_begin(args: &Resolved<'_>, root: &Path) -> bool {
    if args.typed.first_commit {
        return true;
    }
    if !is_attended() {
        return false;
    }
    let root = root.display();
    console::ask(format_args!("{root} has no commit yet. Make an empty first one and go on? [Y/n] "));
    let mut answer = String::new();
    let _ = std::io::stdin().read_line(&mut answer);
    matches!(answer.trim().to_lowercase().as_str(), "" | "y" | "yes")
}

fn is_attended() -> bool {
    std::io::stdin().is_terminal() && std::io::stderr().is_terminal()
}

/// Whether workspaces can be made where they would be. Nothing is made by that, not even the state directory.
pub(super) fn check(
    repository: Option<&Repository>,
    id: &RunId,
    directory: &Path,
    plan: &Plan,
) -> Result<(), CliError> {
    let Some(repository) = repository else { return Ok(()) };
    let home = std::path::absolute(Home::root_of_environment()?)?;
    let template = plan.workspace_path.as_deref();
    let layout = Layout::new(&home, id, repository, directory, template);
    layout.check(repository).map_err(|error| match template {
        Some(_) => CliError::new(Exit::Unexpected, error),
        None => CliError::new(Exit::Unexpected, error).help(format!(
            "the state directory {} is in the repository: set CONDUCTOR_HOME to one outside of it, or say workspace_path",
            home.display()
        )),
    })
}

/// Where the tasks are to work.
pub(super) async fn workspaces(
    repository: Option<Repository>,
    options: &Options,
    home: &Home,
    id: &RunId,
    directory: &Path,
    run: &Run,
) -> Result<Workspaces, CliError> {
    let place_of_run = RunPlace { home: home.root(), id, run, directory };
    let move_in = async || repository.clone().map(|repository| place_of_run.move_in(repository)).transpose();
    let run_repo = shortage::for_a_while(talk, move_in).await.map_err(unusable)?;
    Ok(Workspaces::new(directory.to_owned(), run_repo, options.isolation.unwrap_or(Isolation::None)))
}

/// Where a run cannot be taken up for how git is configured now, what was changed since it started is the reason.
pub(super) fn changed(cli_error: CliError, state: &Path) -> CliError {
    let differences = Baseline::read(&state.join("baseline")).map(|baseline| baseline.differences());
    let differences = differences.unwrap_or_default();
    if differences.is_empty() {
        return cli_error;
    }
    let what: Vec<&str> = differences.iter().map(|differs| differs.words.as_str()).collect();
    let mut undo: Vec<&str> = differences.iter().map(|differs| differs.undo.as_str()).collect();
    undo.dedup();
    let told = format!(
        "{}\nsince the run started, git's configuration was changed: {}",
        cli_error.message(),
        what.join(", ")
    );
    let first = cli_error.remedy().map(|remedy| format!("{remedy}; or ")).unwrap_or_default();
    CliError::new(cli_error.exit, told).help(format!("{first}look at it; as it was: {}", undo.join("; ")))
}

/// A repository that cannot be used, or something that went wrong in one that can.
fn unusable(error: WorkspaceError) -> CliError {
    let is_unusable = match &error {
        WorkspaceError::Git(error) => {
            error.is_unusable() || matches!(error, GitError::SettingsChanged { .. })
        }
        _ => false,
    };
    let exit = if is_unusable { Exit::InvalidFile } else { Exit::Unexpected };
    CliError::new(exit, error)
}

fn no_repository(error: GitError) -> CliError {
    const IN_PLACE: &str = "or let tasks work on the files here: --isolation none";
    let help = match &error {
        GitError::Unborn(_) => "let it be made: --first-commit; or make it yourself: \
                                git commit --allow-empty -m 'Start'"
            .to_owned(),
        GitError::NotOne(_) => format!("run it in a checkout, {IN_PLACE}"),
        GitError::Bare(_) => {
            format!("make a checkout and run it there: git worktree add ../checkout; {IN_PLACE}")
        }
        error => match error.remedy() {
            Some(remedy) => format!("{remedy}; {IN_PLACE}"),
            None => format!("mend it, {IN_PLACE}"),
        },
    };
    CliError::new(Exit::InvalidFile, format!("{error}; nothing was started")).help(help)
}
