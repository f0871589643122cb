//! Wishes for a run that may not be active: asked of its coordinator, else recorded by the same rules.

use conductor_core::schedule::{Request, is_called_off};
use conductor_core::values::ids::RunId;
use conductor_engine::host::home::Home;
use conductor_engine::runs::control::{self, ControlError};

use super::{run, talk};
use crate::archive::Archive;
use crate::archive::live;
use crate::error::{CliError, Exit};

/// What became of a wish.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Asked {
    /// A coordinator has heard it.
    OfCoordinator,
    /// It is recorded for the next coordinator, which has things to do.
    Recorded,
    /// It is recorded, and nothing can begin any more: only the run's end is missing.
    CalledOff,
}

/// The store is opened only where no coordinator answers: a coordinator is to hear a stop whatever the store is like.
pub(super) async fn ask(home: &Home, run: &RunId, request: Request) -> Result<Asked, CliError> {
    match control::elsewhere::ask(home, run, &request) {
        Ok(()) => return Ok(Asked::OfCoordinator),
        Err(ControlError::NotThere) => {}
        Err(error) => return Err(live::unable(home, run, error)),
    }
    let archive = Archive::open().await?;
    let mut amendment = archive.amend(run).await?;
    amendment.ask(request).await?;
    Ok(if is_called_off(amendment.run()) { Asked::CalledOff } else { Asked::Recorded })
}

/// What comes next: the user's command, or the end of a run of which nothing is left. No runtime may be entered here.
pub(super) fn follow_up(id: &RunId, asked: Asked) -> Result<Exit, CliError> {
    match asked {
        Asked::OfCoordinator => {}
        Asked::Recorded => talk(format!("to go on with it: conductor run --resume {id}")),
        Asked::CalledOff => {
            run::conclude(id)?;
            talk(format!("to do it after all: conductor run --resume {id} --retry-failed"));
        }
    }
    Ok(Exit::Done)
}
