//! `conductor checkpoint`: where branches were, and setting them back.

use conductor_core::values::ids::{RunId, TaskId};
use conductor_core::values::suggest::did_you_mean;
use conductor_engine::git::Repository;
use conductor_engine::git::checkpoints::{self, Checkpoint, RolledBack};
use conductor_engine::git::merge::short;
use conductor_engine::git::workspaces::{RunRefs, run_of_branch};
use conductor_engine::stores::StoredRun;
use serde_json::json;

use super::{answer, answer_either, answer_json, block_on, talk};
use crate::archive::{self, Archive};
use crate::args::{self, CheckpointCreate, CheckpointList, CheckpointRollback};
use crate::end_block::one_line;
use crate::error::{CliError, Exit};
use crate::output::table::columns;

const SCHEMA: &str = "conductor.checkpoints/1";

pub(crate) fn run(args: &args::Checkpoint) -> Result<Exit, CliError> {
    match args {
        args::Checkpoint::Create(args) => block_on(create(args)),
        args::Checkpoint::List(args) => list(args),
        args::Checkpoint::Rollback(args) => block_on(rollback(args)),
    }
}

fn here() -> Result<Repository, CliError> {
    let directory = std::env::current_dir().map_err(|error| {
        CliError::new(Exit::Unexpected, format!("the current directory cannot be used: {error}"))
    })?;
    Ok(Repository::of(&directory)?)
}

async fn create(args: &CheckpointCreate) -> Result<Exit, CliError> {
    let (repository, branch) = match &args.run {
        Some(word) => branch_of_run(word).await?,
        None => current_branch()?,
    };
    let name = args.name.clone().unwrap_or_else(|| some_name(&branch));
    let made = checkpoints::create(&repository, &name, &branch, &args.message)?;
    let value = json!({ "name": made.name, "branch": short(&branch), "commit": made.commit });
    answer_either(args.json, &made.name, "conductor.checkpoint/1", value)?;
    talk(format!(
        "{} at {:.10}; to set it back: conductor checkpoint rollback {}",
        short(&branch),
        made.commit,
        made.name
    ));
    Ok(Exit::Done)
}

fn current_branch() -> Result<(Repository, String), CliError> {
    let repository = here()?;
    let branch = repository.branch.clone().ok_or_else(|| {
        CliError::new(Exit::Unexpected, "no branch is checked out here")
            .help("check one out, or name a run with --run")
    })?;
    Ok((repository, branch))
}

async fn branch_of_run(word: &str) -> Result<(Repository, String), CliError> {
    let stored = Archive::open().await?.named(word)?;
    let repository = archive::repository(&stored)?;
    let RunRefs { branch, .. } = RunRefs::of(&repository, &stored.id)?;
    match repository.read_ref(&branch)? {
        Some(_) => Ok((repository, branch)),
        None => {
            let message = format!("run {} has no branch: nothing has landed", stored.id);
            Err(CliError::new(Exit::NothingToDo, message))
        }
    }
}

/// After the branch and the time, as in `main-20260801-093000`.
fn some_name(branch: &str) -> String {
    let time = jiff::Zoned::now().strftime("%Y%m%d-%H%M%S").to_string();
    format!("{}-{time}", short(branch).replace('/', "-"))
}

fn list(args: &CheckpointList) -> Result<Exit, CliError> {
    let all = checkpoints::list(&here()?)?;
    if args.json {
        let entries: Vec<_> = all.iter().map(entry).collect();
        answer_json(&json!({ "schema": SCHEMA, "checkpoints": entries }))?;
    } else if all.is_empty() {
        talk("there is no checkpoint in this repository");
    } else {
        let rows = all.iter().map(|known| {
            let (branch, about) = (one_line(short(&known.branch).as_str()), one_line(&known.about));
            [known.name.clone(), branch, format!("{:.10}", known.commit), made_at(known), about]
        });
        answer(&columns(["NAME", "BRANCH", "COMMIT", "MADE", "ABOUT"], rows.collect()))?;
    }
    Ok(Exit::Done)
}

fn entry(known: &Checkpoint) -> serde_json::Value {
    let Checkpoint { name, branch, commit, about, at, .. } = known;
    let at = jiff::Timestamp::from_second(*at).map(|at| at.to_string()).ok();
    json!({ "name": name, "branch": short(branch), "commit": commit, "at": at, "about": about })
}

fn made_at(known: &Checkpoint) -> String {
    let at = jiff::Timestamp::from_second(known.at).unwrap_or_default();
    at.to_zoned(jiff::tz::TimeZone::system()).strftime("%Y-%m-%d %H:%M:%S").to_string()
}

async fn rollback(args: &CheckpointRollback) -> Result<Exit, CliError> {
    let repository = here()?;
    let to = checkpoints::find(&repository, &args.name)?;
    let to = match to {
        Some(to) => to,
        None => return Err(unknown(&repository, &args.name)?),
    };
    let archive = Archive::open().await?;
    let of_run = run_of_branch(&to.branch);
    match of_run.and_then(|run| archive.known(&run).cloned()) {
        Some(stored) => roll_run_back(&archive, &stored, &to, args.json).await,
        None => told(&to, checkpoints::roll_back(&repository, &to)?, args.json),
    }
}

/// The run is claimed and read before anything is moved, so that its log follows for certain.
async fn roll_run_back(
    archive: &Archive,
    stored: &StoredRun,
    to: &Checkpoint,
    as_json: bool,
) -> Result<Exit, CliError> {
    let mut amendment = archive.amend(&stored.id).await?;
    let repository = archive::repository(stored)?;
    let run_repo =
        archive::place_of_run(&archive.home, stored, amendment.run()).context(repository.clone())?;
    let done = checkpoints::roll_back(&repository, to)?;
    let moved = !matches!(done, RolledBack::Dirty(_));
    let exit = told(to, done, as_json)?;
    if moved {
        let reopened = amendment.set_back(&run_repo, &to.commit).await?;
        amendment.write_files(&run_repo)?;
        again(&stored.id, &reopened);
    }
    Ok(exit)
}

fn again(run: &RunId, reopened: &[TaskId]) {
    if !reopened.is_empty() {
        let names: Vec<&str> = reopened.iter().map(TaskId::as_str).collect();
        talk(format!("not there any more, and to be done again: {}", names.join(", ")));
        talk(format!("next: conductor run --resume {run}"));
    }
}

fn told(to: &Checkpoint, done: RolledBack, as_json: bool) -> Result<Exit, CliError> {
    let (branch, commit) = (short(&to.branch), &to.commit);
    let tell = |words: String, outcome: &str, before: Option<&str>| {
        let value = json!({
            "name": to.name, "branch": branch, "commit": commit, "outcome": outcome, "before": before,
        });
        answer_either(as_json, &words, "conductor.checkpoint-rollback/1", value)
    };
    match done {
        RolledBack::Done { before } => {
            tell(format!("{branch} is at {commit:.10} again"), "moved", Some(&before))?;
            talk(format!("where it was: conductor checkpoint rollback {before}"));
        }
        RolledBack::Restored => {
            tell(format!("{branch} was gone and is at {commit:.10} again"), "restored", None)?
        }
        RolledBack::Already if as_json => tell(String::new(), "already", None)?,
        RolledBack::Already => talk(format!("{branch} is at {commit:.10} already")),
        RolledBack::Dirty(checkout) => {
            let message =
                format!("{branch} is checked out in {} with uncommitted changes", checkout.display());
            return Err(CliError::new(Exit::Unexpected, message).help("commit or stash them first"));
        }
    }
    Ok(Exit::Done)
}

fn unknown(repository: &Repository, name: &str) -> Result<CliError, CliError> {
    let all = checkpoints::list(repository)?;
    let cli_error = CliError::new(Exit::Usage, format!("there is no checkpoint '{}'", one_line(name)));
    Ok(match did_you_mean(name, all.iter().map(|known| known.name.as_str())) {
        Some(meant) => cli_error.help(format!("did you mean '{meant}'?")),
        None => cli_error.help("conductor checkpoint list names them all"),
    })
}
