//! A run is taken over from the process that drives it: first it is seen that it can be, and only then is it asked for.
//!
//! Up to the moment when it is taken, that process goes on whatever happens here.

use std::path::PathBuf;
use std::sync::Arc;

use conductor_core::run::Run;
use conductor_core::run::event::{Event, Record};
use conductor_core::values::ids::RunId;
use conductor_core::values::units::Millis;
use conductor_engine::host::home::{Home, HomeError, RunClaim, Successor};
use conductor_engine::runs::control::ControlError;
use conductor_engine::runs::control::handover::{self, Offer};
use conductor_engine::stores::{Store, StoredRun};
use conductor_engine::worker;

use super::arguments::Resolved;
use super::checking::check_machine;
use super::finding::find;
use super::reading_back::ReadBack;
use super::{cloud, elsewhere};
use crate::archive::live;
use crate::commands::talk;
use crate::error::{CliError, Exit};

pub(super) const VERSION: &str = env!("CARGO_PKG_VERSION");

pub(super) async fn take(
    args: &Resolved<'_>,
    home: &Home,
    store: &Arc<dyn Store>,
    patience: Millis,
) -> Result<ReadBack, CliError> {
    let stored = find(args, home, &store.runs().await?)?;
    let id = stored.id.clone();
    let (run, _) = readable(store, &stored).await?;
    worker::readable(&home.run(&id)).map_err(|why| refused(&id, why))?;
    elsewhere::check(args, run.plan(), Some(run.options()))?;
    check_machine(args, run.plan(), Some(run.options()))?;
    cloud::check(args, run.plan())?;
    drop(run);
    let successor = home.succeed(&id).map_err(|error| match error {
        HomeError::Busy(_) => {
            CliError::new(Exit::StillRunning, format!("another process waits for run {id} already"))
        }
        error => error.into(),
    })?;
    let offer = asked(home, &id, patience).await?;
    // What was recorded while it was waited for has to be readable, too. Where it is not, the offer is dropped.
    readable(store, &stored).await?;
    let claim = taken(home, &id, (offer, successor)).await?;
    let (run, records) = readable(store, &stored).await?;
    let taken_over = records.iter().rev().find_map(|record| match &record.event {
        Event::RunHandedOver { from, to } => Some((from.clone(), to.clone())),
        _ => None,
    });
    Ok(ReadBack { stored, claim, run, reading: None, taken_over })
}

async fn readable(store: &Arc<dyn Store>, stored: &StoredRun) -> Result<(Run, Vec<Record>), CliError> {
    let id = &stored.id;
    let records = store.load(id, 0).await.map_err(|error| refused(id, error))?;
    let run = Run::replay(&records).map_err(|error| refused(id, error))?;
    Ok((run, records))
}

fn refused(id: &RunId, why: impl std::fmt::Display) -> CliError {
    let message = format!("this conductor, version {VERSION}, cannot take run {id} over: {why}");
    CliError::new(Exit::Unexpected, message)
        .help("nothing happened to the run: it goes on in the process that has it")
}

/// Waits until the process that has the run could leave it, and says meanwhile what that waits for.
async fn asked(home: &Home, id: &RunId, patience: Millis) -> Result<Offer, CliError> {
    let folder: PathBuf = home.run(id);
    let asking = move || {
        let mut tell = |what: &[String]| talk(format!("waiting for {}", what.join(", ")));
        handover::ask(&folder, VERSION, patience, &mut tell)
    };
    match tokio::task::spawn_blocking(asking).await.map_err(|error| CliError::new(Exit::Unexpected, error))? {
        Ok(offer) => Ok(offer),
        Err(error) => Err(unable(home, id, error)),
    }
}

fn unable(home: &Home, id: &RunId, error: ControlError) -> CliError {
    match error {
        ControlError::Refused(why) if why.starts_with("this is no request") => {
            let message =
                format!("the process that has run {id} is of a version that does not hand runs over");
            CliError::new(Exit::StillRunning, message)
                .help("stop it, and take the run up: its agents go on meanwhile, see `conductor run --help`")
        }
        ControlError::Refused(why) => CliError::new(Exit::StillRunning, format!("run {id}: {why}")),
        error => live::unable(home, id, error),
    }
}

/// From here on it is ours: neither the terminal nor who asked for it is waited for any more.
async fn taken(
    home: &Home,
    id: &RunId,
    (offer, successor): (Offer, Successor),
) -> Result<RunClaim, CliError> {
    let _ = rustix::process::setsid();
    let taking = move || (offer.take(), successor.claim());
    let taking = tokio::task::spawn_blocking(taking).await;
    match taking.map_err(|error| CliError::new(Exit::Unexpected, error))? {
        // Whatever it said: it is gone.
        (_, Ok(claim)) => Ok(claim),
        (Err(error), Err(_)) => Err(unable(home, id, error)),
        (Ok(()), Err(error)) => Err(error.into()),
    }
}
