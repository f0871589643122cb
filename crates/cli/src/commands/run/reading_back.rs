//! A run that is to be taken up: found, claimed for this process, and read.

use std::sync::Arc;

use conductor_core::run::Run;
use conductor_engine::host::home::{Home, RunClaim};
use conductor_engine::stores::{Store, StoredRun};

use super::arguments::Resolved;
use super::editing::{self, Reading};
use super::finding::{find, is_unfinished, nothing_to_do};
use crate::commands::sync;
use crate::error::{CliError, Exit};

/// A run as it was left.
pub(super) struct ReadBack {
    pub(super) stored: StoredRun,
    pub(super) claim: RunClaim,
    pub(super) run: Run,
    pub(super) reading: Option<Reading>,
    /// The versions of the coordinator that has left it to this one, and of this one.
    pub(super) taken_over: Option<(String, String)>,
}

/// Finds the run that is meant and reads it. Where other machines may know of it, it is claimed for this one.
pub(super) async fn read_back(
    args: &Resolved<'_>,
    home: &Home,
    store: &Arc<dyn Store>,
) -> Result<ReadBack, CliError> {
    let mut stored = find(args, home, &store.runs().await?)?;
    let claim = home.claim(&stored.id)?;
    let reading = editing::begin_reading(args, &stored, claim.directory());
    let records = store.load(&stored.id, 0).await?;
    let run = Run::replay(&records).map_err(|error| {
        CliError::new(Exit::Unexpected, format!("run {} cannot be read: {error}", stored.id))
    })?;
    let is_over = nothing_to_do(args, &stored, &run).is_some();
    if is_over && !is_unfinished(args, &stored, &run, claim.directory()) {
        return Ok(ReadBack { stored, claim, run, reading, taken_over: None });
    }
    let is_named = args.resume.as_deref().is_some_and(|word| !word.is_empty());
    stored.directory = sync::take_up(home, store, (&stored, &run, &records), is_named).await?;
    if !stored.directory.is_dir() {
        let message = format!("run {} works in {}, which is gone", stored.id, stored.directory.display());
        return Err(CliError::new(Exit::Unexpected, message).help("bring the directory back, then resume"));
    }
    Ok(ReadBack { stored, claim, run, reading, taken_over: None })
}
