//! Active runs. Their coordinators are asked directly: the store is not opened for that.

use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use conductor_core::schedule::Request;
use conductor_core::values::ids::RunId;
use conductor_engine::dispatch::LiveView;
use conductor_engine::git::Repository;
use conductor_engine::host::home::Home;
use conductor_engine::runs::control::{self, ControlError};

use crate::archive::Archive;
use crate::error::{CliError, Exit};

/// The live run that is meant: by the beginning of its name, or the newest of the repository we are in.
pub(crate) fn meant(home: &Home, word: Option<&str>) -> Result<Option<LiveView>, CliError> {
    match word {
        Some(word) => {
            let named = |run: &RunId| !word.is_empty() && run.as_str().starts_with(word);
            let mut fitting = home.runs().into_iter().filter(named);
            match (fitting.next(), fitting.next()) {
                (Some(one), None) => live_view(home, &one),
                // The store knows how to put it.
                _ => Ok(None),
            }
        }
        None => newest_here(home, &std::env::current_dir()?),
    }
}

fn live_view(home: &Home, run: &RunId) -> Result<Option<LiveView>, CliError> {
    match control::live_view(&home.run(run)) {
        Ok(live_view) => Ok(Some(live_view)),
        Err(ControlError::NotThere) => Ok(None),
        Err(_) if !home.is_live(run) => Ok(None),
        Err(error) => Err(unable(home, run, error)),
    }
}

/// Every run that has opened its control socket and has not closed it.
fn open(home: &Home) -> Vec<RunId> {
    home.runs().into_iter().filter(|run| control::is_open(&home.run(run))).collect()
}

/// Every active run that answers, the newest first.
pub(crate) fn all(home: &Home) -> Vec<LiveView> {
    let mut live: Vec<LiveView> =
        open(home).iter().filter_map(|run| control::live_view(&home.run(run)).ok()).collect();
    live.sort_by_key(|live_view| std::cmp::Reverse(live_view.snapshot.created.0));
    live
}

/// A live run, and where it works.
enum Live {
    Answers(Box<LiveView>),
    /// Its coordinator is there, and says nothing.
    Silent {
        run: RunId,
        directory: Option<PathBuf>,
        since: i64,
    },
}

impl Live {
    fn ask(home: &Home, run: RunId) -> Option<Live> {
        match control::live_view(&home.run(&run)) {
            Ok(live_view) => Some(Live::Answers(Box::new(live_view))),
            Err(ControlError::NotThere) => None,
            Err(_) if !home.is_live(&run) => None,
            Err(_) => {
                let directory =
                    home.holder(&run).and_then(|pid| fs::read_link(format!("/proc/{pid}/cwd")).ok());
                let since = fs::symlink_metadata(home.run(&run).join("control"))
                    .map_or(0, |data| data.mtime() * 1_000);
                Some(Live::Silent { run, directory, since })
            }
        }
    }

    fn since(&self) -> i64 {
        match self {
            Live::Answers(live_view) => live_view.snapshot.created.0,
            Live::Silent { since, .. } => *since,
        }
    }

    fn directory(&self) -> Option<&Path> {
        match self {
            Live::Answers(live_view) => Some(&live_view.directory),
            Live::Silent { directory, .. } => directory.as_deref(),
        }
    }
}

/// One that does not answer is never passed over for an older one: that is not the one that is meant.
fn newest_here(home: &Home, here: &Path) -> Result<Option<LiveView>, CliError> {
    let mut live: Vec<Live> = open(home).into_iter().filter_map(|run| Live::ask(home, run)).collect();
    live.sort_by_key(|live| std::cmp::Reverse(live.since()));
    // Git is asked only where the directories differ.
    let mut ours: Option<Option<PathBuf>> = None;
    let newest = live.into_iter().find(|live| {
        // One whose directory cannot be told may be the one that is meant.
        live.directory().is_none_or(|directory| {
            directory == here || {
                let ours = ours.get_or_insert_with(|| Repository::common_of(here).ok());
                ours.is_some() && Repository::common_of(directory).ok() == *ours
            }
        })
    });
    match newest {
        None => Ok(None),
        Some(Live::Answers(live_view)) => Ok(Some(*live_view)),
        Some(Live::Silent { run, .. }) => Err(silent(home, &run)),
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

async fn inactive(home: &Home, word: Option<&str>) -> CliError {
    let candidates = match Archive::open().await {
        Ok(archive) => archive.candidates(word).map_err(CliError::from),
        Err(cli_error) => return cli_error,
    };
    match candidates {
        Ok(runs) => match runs.first() {
            Some(run) if home.is_live(&run.id) => silent(home, &run.id),
            Some(run) => left(&run.id),
            None => CliError::silent(Exit::NothingToDo),
        },
        Err(cli_error) => cli_error,
    }
}

/// The run is not active, and how to resume it.
pub(crate) fn left(run: &RunId) -> CliError {
    CliError::new(Exit::NothingToDo, format!("run {run} is not active"))
        .help(format!("resume it with `conductor run --resume {run}`; --retry-failed retries what failed"))
}

/// Asks a live run for something, and waits until that is recorded.
pub(crate) fn ask(home: &Home, run: &RunId, request: &Request) -> Result<(), CliError> {
    control::ask(&home.run(run), request).map_err(|error| unable(home, run, error))
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
