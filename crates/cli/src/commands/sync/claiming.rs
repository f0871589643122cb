//! `conductor sync claim`, `release` and `forget`.

use conductor_core::values::ids::RunId;
use conductor_engine::host::clock::wall;
use conductor_engine::host::home::Home;
use conductor_engine::sync::{Forced, SyncError, forget as forget_run};
use serde_json::json;

use super::remote;
use crate::archive::Archive;
use crate::args::{SyncClaim, SyncForget};
use crate::commands::answer_either;
use crate::error::{CliError, Exit};

const SCHEMA: &str = "conductor.sync-claim/1";

pub(super) async fn claim(args: &SyncClaim) -> Result<Exit, CliError> {
    let (archive, run) = named(&args.run).await?;
    let remote = remote(&archive.home, args.remote.as_deref(), |_| {})?;
    let forced = remote.claim(&*archive.store(), &run, args.force, wall()).await?;
    let words = match &forced {
        Forced::No => format!("run {run} is claimed by this machine"),
        Forced::From(machine) => format!("run {run} is claimed by this machine, and no more by {machine}"),
    };
    let from = match &forced {
        Forced::No => None,
        Forced::From(machine) => Some(machine),
    };
    let value = json!({ "run": run, "claimed": true, "claimed_by": remote.machine(), "taken_from": from });
    answer_either(args.json, &words, SCHEMA, value)?;
    Ok(Exit::Done)
}

pub(super) async fn release(args: &SyncClaim) -> Result<Exit, CliError> {
    let (archive, run) = named(&args.run).await?;
    let remote = remote(&archive.home, args.remote.as_deref(), |_| {})?;
    let was_claimed = remote.release(&run, args.force)?;
    let words = match was_claimed {
        true => format!("run {run} is free: another machine can resume it"),
        false => format!("run {run} was not claimed"),
    };
    let value = json!({ "run": run, "claimed": false, "was_claimed": was_claimed });
    answer_either(args.json, &words, SCHEMA, value)?;
    Ok(Exit::Done)
}

pub(super) async fn forget(args: &SyncForget) -> Result<Exit, CliError> {
    let (archive, run) = named(&args.run).await?;
    if !forget_run(&archive.home, &run)? {
        return Err(SyncError::NotSynced(run).into());
    }
    let words = format!("no remote is asked about run {run} any more; what is there stays there");
    answer_either(args.json, &words, "conductor.sync-forget/1", json!({ "run": run }))?;
    Ok(Exit::Done)
}

async fn named(word: &str) -> Result<(Archive, RunId), CliError> {
    let archive = Archive::of(Home::open()?).await?;
    let run = archive.named(word)?.id;
    Ok((archive, run))
}
