//! Runs that somebody works on right now. They are asked themselves: the store is not opened for that.

use std::path::{Path, PathBuf};

use conductor_core::ids::RunId;
use conductor_core::scheduler::Request;
use conductor_engine::control::{self, ControlError, Glance};
use conductor_engine::git::Repository;
use conductor_engine::home::Home;

use crate::archive::Archive;
use crate::fault::{Exit, Fault};

/// The live run that is meant: by the beginning of its name, or the newest of the repository we are in.
pub(crate) fn meant(home: &Home, word: Option<&str>) -> Result<Option<Glance>, Fault> {
    match word {
        Some(word) => {
            let named = |run: &RunId| !word.is_empty() && run.as_str().starts_with(word);
            let mut fitting = home.runs().into_iter().filter(named);
            match (fitting.next(), fitting.next()) {
                (Some(one), None) => glance(home, &one),
                // The store knows how to put it.
                _ => Ok(None),
            }
        }
        None => Ok(newest_here(home, &std::env::current_dir()?)),
    }
}

fn glance(home: &Home, run: &RunId) -> Result<Option<Glance>, Fault> {
    match control::glance(&home.run(run)) {
        Ok(glance) => Ok(Some(glance)),
        Err(ControlError::NotThere) => Ok(None),
        Err(_) if !home.is_live(run) => Ok(None),
        Err(error) => Err(Fault::new(Exit::Unexpected, format!("run {run}: {error}"))),
    }
}

/// Every run that answers.
pub(crate) fn all(home: &Home) -> Vec<Glance> {
    let open = home.runs().into_iter().filter(|run| control::is_open(&home.run(run)));
    open.filter_map(|run| control::glance(&home.run(&run)).ok()).collect()
}

fn newest_here(home: &Home, here: &Path) -> Option<Glance> {
    let mut live = all(home);
    live.sort_by_key(|glance| std::cmp::Reverse(glance.snapshot.created));
    // Git is asked only where the directories differ.
    let mut ours: Option<Option<PathBuf>> = None;
    live.into_iter().find(|glance| {
        glance.directory == here || {
            let ours = ours.get_or_insert_with(|| Repository::common_of(here).ok());
            ours.is_some() && Repository::common_of(&glance.directory).ok() == *ours
        }
    })
}

/// As `meant`, where nothing can be done with one that nobody works on.
pub(crate) async fn required(home: &Home, word: Option<&str>) -> Result<Glance, Fault> {
    match meant(home, word)? {
        Some(glance) => Ok(glance),
        None => Err(nobody(word).await),
    }
}

async fn nobody(word: Option<&str>) -> Fault {
    let candidates = match Archive::open().await {
        Ok(archive) => archive.candidates(word),
        Err(fault) => return fault,
    };
    match candidates {
        Ok(runs) => runs.first().map_or_else(|| Fault::silent(Exit::NothingToDo), |run| left(&run.id)),
        Err(fault) => fault,
    }
}

/// Nobody works on it, and what to do about that.
pub(crate) fn left(run: &RunId) -> Fault {
    Fault::new(Exit::NothingToDo, format!("nobody is working on run {run}"))
        .help(format!("take it up with `conductor run --resume {run}`, or --retry-failed for what failed"))
}

/// Asks a live run for something, and waits until that is recorded.
pub(crate) fn ask(home: &Home, run: &RunId, request: &Request) -> Result<(), Fault> {
    control::ask(&home.run(run), request).map_err(|error| unable(run, error))
}

pub(crate) fn unable(run: &RunId, error: ControlError) -> Fault {
    match error {
        ControlError::NotThere => left(run),
        ControlError::Refused(why) => Fault::new(Exit::NothingToDo, why),
        error => Fault::new(Exit::Unexpected, format!("run {run}: {error}")),
    }
}
