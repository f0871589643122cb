//! A run that other machines may know of, before it is gone on with here.

use std::path::PathBuf;
use std::sync::Arc;

use conductor_core::run::Run;
use conductor_core::run::event::Record;
use conductor_engine::host::clock::wall;
use conductor_engine::host::home::Home;
use conductor_engine::stores::{Store, StoredRun};
use conductor_engine::sync;

use super::here;
use crate::commands::talk;
use crate::error::CliError;
use crate::settings::syncing;

/// Claims it at its remote, if it was ever pushed or pulled. Where it works from now on.
pub(crate) async fn take_up(
    home: &Home,
    store: &Arc<dyn Store>,
    (stored, run, records): (&StoredRun, &Run, &[Record]),
    is_named: bool,
) -> Result<PathBuf, CliError> {
    let settings = syncing::for_a_run(home)?;
    let around = (here()?, is_named, wall());
    let taken =
        sync::take_up(home, store, (stored, run, records), settings, (&around.0, around.1, around.2)).await?;
    let Some(taken) = taken else { return Ok(stored.directory.clone()) };
    if taken.is_new {
        talk(format!(
            "run {id} is claimed by this machine at {}; when it has ended: conductor sync push {id}",
            taken.remote,
            id = stored.id
        ));
    }
    Ok(taken.directory)
}
