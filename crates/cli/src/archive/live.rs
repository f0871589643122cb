//! The active run that is meant, in the words of the command line. Which one it is is decided in
//! `conductor_engine::runs::live`.

use std::time::{Duration, Instant};

use conductor_core::schedule::Request;
use conductor_core::values::ids::RunId;
use conductor_engine::dispatch::LiveView;
use conductor_engine::host::home::Home;
use conductor_engine::runs::control::{self, ControlError, Following};
use conductor_engine::runs::live;
use conductor_engine::stores::StoredRun;

use crate::archive::Archive;
use crate::error::{CliError, Exit};
use crate::output::block_on;

pub(crate) use conductor_engine::runs::live::all;

/// The live run that is meant: by the beginning of its name, or the newest of the repository we are in. Where several
/// begin like the word, the store knows how to put it.
pub(crate) fn meant(home: &Home, word: Option<&str>) -> Result<Option<LiveView>, CliError> {
    let found = match word {
        Some(word) => live::named(home, word),
        None => live::newest_here(home, &std::env::current_dir()?),
    };
    match found.map_err(|error| unable(home, &error.run, error.source))? {
        None if home.store().is_some() => driven_elsewhere(home, word),
        found => Ok(found),
    }
}

/// As `meant`, of the runs that other machines drive. On a thread of its own: callers may be in a runtime.
fn driven_elsewhere(home: &Home, word: Option<&str>) -> Result<Option<LiveView>, CliError> {
    let looking = || {
        block_on(async {
            let archive = Archive::open().await?;
            let runs = archive.candidates(word).unwrap_or_default();
            Ok(runs.into_iter().find(|run| run.holder().is_some()))
        })
    };
    let looked = std::thread::scope(|scope| scope.spawn(looking).join());
    let found = looked.unwrap_or_else(|panic| std::panic::resume_unwind(panic))?;
    let Some(run) = found else { return Ok(None) };
    match control::elsewhere::live_view(home, &run.id) {
        Ok(live_view) => Ok(Some(live_view)),
        Err(ControlError::NotThere) => Ok(None),
        Err(ControlError::Silent) => Err(elsewhere(&run)),
        Err(error) => Err(unable(home, &run.id, error)),
    }
}

/// Whether another machine drives the run.
pub(crate) async fn is_elsewhere(run: &RunId) -> Result<bool, CliError> {
    let archive = Archive::open().await?;
    Ok(archive.known(run).is_some_and(|run| run.holder().is_some()))
}

/// What is shown as it happens is shown on the machine where it happens.
pub(crate) fn check_here(home: &Home, run: &RunId, what: &str) -> Result<(), CliError> {
    match home.store().is_some() && !home.is_live(run) {
        true => Err(CliError::new(Exit::StillRunning, format!("run {run} is driven by another machine"))
            .help(format!("{what} there; `conductor events --follow` works everywhere"))),
        false => Ok(()),
    }
}

/// Its coordinator lives: taking the run up would be wrong.
pub(crate) fn silent(home: &Home, run: &RunId) -> CliError {
    let process = home.holder(run).map_or_else(String::new, |pid| format!(" (process {pid})"));
    CliError::new(Exit::StillRunning, format!("run {run} is running but does not answer{process}")).help(
        "it was stopped (`kill -CONT` lets it go on), or waits for its disk or its database; what was asked may still be done",
    )
}

/// As `meant`, for commands that need an active run.
pub(crate) async fn required(home: &Home, word: Option<&str>) -> Result<LiveView, CliError> {
    match meant(home, word)? {
        Some(live_view) => Ok(live_view),
        None => Err(inactive(home, word).await),
    }
}

/// Why there is no active run to do something to.
pub(crate) async fn inactive(home: &Home, word: Option<&str>) -> CliError {
    let candidates = match Archive::open().await {
        Ok(archive) => archive.candidates(word).map_err(CliError::from),
        Err(cli_error) => return cli_error,
    };
    match candidates {
        Ok(runs) => match runs.first() {
            Some(run) if home.is_live(&run.id) => silent(home, &run.id),
            Some(run) if run.holder().is_some() => elsewhere(run),
            Some(run) => left(&run.id),
            None => CliError::silent(Exit::NothingToDo),
        },
        Err(cli_error) => cli_error,
    }
}

/// Another machine drives it, and says nothing.
fn elsewhere(run: &StoredRun) -> CliError {
    let machine = run.holder().unwrap_or_default();
    CliError::new(Exit::StillRunning, format!("run {} is driven by {machine}, which does not answer", run.id))
        .help("what was asked may still be done; where that machine is gone, its claim ends within 15 s")
}

/// The newest run that may be meant, whether it is active or not.
pub(crate) async fn newest(word: Option<&str>) -> Option<RunId> {
    let archive = Archive::open().await.ok()?;
    Some(archive.candidates(word).ok()?.first()?.id.clone())
}

/// The run is not active, and how to resume it.
pub(crate) fn left(run: &RunId) -> CliError {
    CliError::new(Exit::NothingToDo, format!("run {run} is not active"))
        .help(format!("resume it with `conductor run --resume {run}`; --retry-failed retries what failed"))
}

/// Asks a live run for something, and waits until that is recorded.
pub(crate) fn ask(home: &Home, run: &RunId, request: &Request) -> Result<(), CliError> {
    control::elsewhere::ask(home, run, request).map_err(|error| unable(home, run, error))
}

/// How often is looked whether a process that has taken a run over answers.
const LOOK: Duration = Duration::from_millis(20);

/// Follows a run whose process does not tell of it any more, if another one has taken it over; nothing where the run is left, or
/// not before this deadline. Blocks.
pub(crate) fn follow_again(home: &Home, run: &RunId, deadline: Option<Instant>) -> Option<(u64, Following)> {
    while home.is_live(run) && deadline.is_none_or(|deadline| Instant::now() < deadline) {
        if let Ok(following) = control::follow(&home.run(run)) {
            return Some(following);
        }
        std::thread::sleep(LOOK);
    }
    None
}

pub(crate) fn unable(home: &Home, run: &RunId, error: ControlError) -> CliError {
    match error {
        ControlError::Silent => silent(home, run),
        ControlError::NotThere if home.is_live(run) => silent(home, run),
        ControlError::NotThere => left(run),
        ControlError::Refused(why) => CliError::new(Exit::NothingToDo, why),
        error => CliError::new(Exit::Unexpected, format!("run {run}: {error}")),
    }
}
