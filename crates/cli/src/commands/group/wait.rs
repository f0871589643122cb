//! `conductor group wait`: returns when a group has come to its end, told by the events of its run.

use std::io;
use std::time::{Duration, Instant};

use conductor_core::report::groups::{Metadata, Status, landed_words};
use conductor_core::run::Run;
use conductor_core::values::ids::RunId;
use conductor_engine::host::home::Home;
use conductor_engine::runs::control::{self, Followed};

use super::exit;
use crate::archive::Archive;
use crate::archive::live;
use crate::args::GroupWait;
use crate::commands::{answer, block_on, talk};
use crate::error::{CliError, Exit};

pub(super) fn run(args: &GroupWait) -> Result<Exit, CliError> {
    let deadline = Instant::now() + Duration::from_millis(args.timeout.0);
    let group = &args.of.group_id;
    let (home, found, metadata) = block_on(async {
        let archive = Archive::open().await?;
        let (found, metadata) = archive.group(args.of.run.as_deref(), &args.of.group_id).await?;
        Ok((archive.home.clone(), found, metadata))
    })?;
    if metadata.status.is_end() {
        return told(&found.run, &metadata, args.json);
    }
    let id = found.stored.id.clone();
    // What happens between reading and following is read again: nothing of it is missed.
    let Ok((_, mut following)) = control::follow(&home.run(&id)) else { return ended(&home, args, &id) };
    let mut run = again(&id)?;
    loop {
        match Metadata::of(&run, group) {
            Some(metadata) if metadata.status.is_end() => return told(&run, &metadata, args.json),
            _ => {}
        }
        let left = deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            talk(format!("group {group} is still being worked on in run {id}"));
            return Ok(Exit::StillRunning);
        }
        following.patience(Some(left))?;
        match following.next() {
            None => match live::follow_again(&home, &id, Some(deadline)) {
                Some((_, next)) => (following, run) = (next, again(&id)?),
                None => return ended(&home, args, &id),
            },
            Some(Ok(Followed::Missed { .. })) => {
                let Ok((_, next)) = control::follow(&home.run(&id)) else { return ended(&home, args, &id) };
                (following, run) = (next, again(&id)?);
            }
            Some(Ok(Followed::Record(record))) if record.seq <= run.seq() => {}
            Some(Ok(Followed::Record(record))) => {
                let broken =
                    |error| CliError::new(Exit::Unexpected, format!("run {id} cannot be followed: {error}"));
                run.apply(&record).map_err(broken)?;
            }
            Some(Err(error)) if is_late(&error) => {}
            Some(Err(error)) => return Err(error.into()),
        }
    }
}

fn is_late(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut)
}

/// The run as it is in the store now.
fn again(id: &RunId) -> Result<Run, CliError> {
    block_on(async {
        let archive = Archive::open().await?;
        let stored = archive.named(id.as_str())?;
        Ok(archive.read(&stored).await?.run)
    })
}

/// The run's coordinator does not speak any more: the group has come to its end, or was left.
fn ended(home: &Home, args: &GroupWait, id: &RunId) -> Result<Exit, CliError> {
    let group = &args.of.group_id;
    let run = again(id)?;
    match Metadata::of(&run, group) {
        Some(metadata) if metadata.status.is_end() => told(&run, &metadata, args.json),
        _ if home.is_live(id) => Err(live::silent(home, id)),
        _ => {
            Err(CliError::new(Exit::Unexpected, format!("group {group} was left in the middle, in run {id}"))
                .help(format!("resume it with `conductor run --resume {id}`")))
        }
    }
}

fn told(run: &Run, metadata: &Metadata, as_json: bool) -> Result<Exit, CliError> {
    if as_json {
        answer(&metadata.text())?;
        return Ok(exit(metadata.status));
    }
    let Metadata { group_id, status, .. } = metadata;
    answer(&format!("{group_id} {}: {}", status.name(), landed_words(run, metadata)))?;
    if *status != Status::Completed {
        metadata.errors.iter().for_each(talk);
    }
    Ok(exit(*status))
}
