//! A run that goes on after its end: checks of its pull requests failed, and a task that fixes them has joined it.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use conductor_core::plan::Amendment;
use conductor_core::report::ledger::Ledger;
use conductor_core::run::Run;
use conductor_core::values::ids::RunId;
use conductor_engine::host::home::Home;
use conductor_engine::runs::amend::{self, AmendError};
use conductor_engine::runs::driving::Concluded;
use conductor_engine::stores::Store;

use super::arguments::Resolved;
use super::concluding::note_exit;
use super::pull_request::{Due, Patience, Publisher};
use super::signals::Received;
use super::take_up;
use crate::args::{self, Ui};
use crate::commands::{block_on, talk};
use crate::error::{CliError, Exit};

/// What a run came to, and whether it is to be taken up once more right away.
pub(super) struct Carried {
    pub(super) exit: Exit,
    pub(super) again: Option<RunId>,
}

impl From<Exit> for Carried {
    fn from(exit: Exit) -> Carried {
        Carried { exit, again: None }
    }
}

pub(super) fn until_all_is_done(typed: &args::Run, first: Carried) -> Result<Exit, CliError> {
    let mut carried = first;
    while let Some(id) = carried.again {
        let typed = taken_up(typed, &id);
        carried = block_on(take_up(Resolved::new(&typed)?))?;
    }
    Ok(carried.exit)
}

/// The same command for the run as it is now: what was only about its beginning is over.
fn taken_up(typed: &args::Run, id: &RunId) -> args::Run {
    args::Run {
        resume: Some(id.to_string()),
        file: None,
        from: None,
        only: None,
        skip_done: false,
        retry_failed: false,
        as_before: false,
        include_uncommitted: false,
        known_commands: false,
        watch: false,
        detach: false,
        detached: false,
        planning: None,
        ui: if typed.ui == Ui::Tui { Ui::Plain } else { typed.ui },
        ..typed.clone()
    }
}

/// Waits for the checks of pull requests, as long as the user allows; what is to be done about them.
pub(super) async fn look_at_checks(
    args: &Resolved<'_>,
    publisher: Option<Publisher>,
    run: &Run,
    ledger: Option<&Ledger>,
    signalled: &Received,
) -> Due {
    let Some(publisher) = publisher else { return Due::default() };
    let (run, ledger, signalled) = (run.clone(), ledger.cloned(), signalled.clone());
    let (within, fixes) = (Duration::from_millis(args.typed.checks_within.0), args.typed.check_fixes);
    let looking = tokio::task::spawn_blocking(move || {
        let is_over = || signalled.received().is_some();
        let patience = Patience { within, fixes, is_over: &is_over, tell: &|words| talk(words) };
        publisher.finish(ledger.as_ref(), &run, &patience)
    });
    looking.await.unwrap_or_default()
}

/// Lets go of a run that has been driven. Whether it goes on, by what has joined it; else who waits for it finds how it
/// ended as soon as it is not ours any more.
pub(super) async fn let_go(
    concluded: Concluded,
    (id, state): (&RunId, &Path),
    exit: Exit,
    joining: Option<(Arc<dyn Store>, Amendment)>,
) -> bool {
    let Some((store, amendment)) = joining else {
        note_exit(state, exit);
        return false;
    };
    drop(concluded);
    let goes_on = join(id, store, amendment).await;
    if !goes_on {
        note_exit(state, exit);
    }
    goes_on
}

/// Whether the task is in the run now. One that cannot be is told of: what has landed stays.
async fn join(id: &RunId, store: Arc<dyn Store>, amendment: Amendment) -> bool {
    let joined = async {
        let home = Home::open()?;
        let mut amending = amend::Amendment::begin(&home, store, id).await?;
        amending.join(amendment).await
    };
    let joined: Result<(), AmendError> = joined.await;
    if let Err(error) = &joined {
        talk(format!("no task was added that fixes the checks: {error}"));
    }
    joined.is_ok()
}
