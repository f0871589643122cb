//! What is said of a run that could not be driven to its end. Everything it had started is ended by then.

use conductor_core::values::ids::RunId;
use conductor_engine::runs::coordinator::CoordinatorError;

use super::signals::Signalled;
use crate::error::{CliError, Exit};

pub(super) fn cli_error(id: &RunId, error: CoordinatorError, signalled: Option<Signalled>) -> CliError {
    let resume = format!("conductor run --resume {id}");
    match error {
        CoordinatorError::Unrecorded { .. } => {
            let exit = match signalled {
                Some(Signalled::Terminate) => Exit::Terminated,
                Some(Signalled::Interrupt) | None => Exit::Interrupted,
            };
            CliError::new(exit, error).help(format!("when the store can be written again: {resume}"))
        }
        CoordinatorError::Store(_) => CliError::from(error).help(format!(
            "run {id} was ended, with everything it had started; `conductor doctor` looks at the store, and {resume} goes \
             on from what it holds"
        )),
        CoordinatorError::Illegal(_) | CoordinatorError::Panicked(_) => CliError::from(error).help(format!(
            "nothing is lost: {resume} goes on; please report this, with the output of `conductor version`"
        )),
        CoordinatorError::HandedOver { .. } | CoordinatorError::Graph(_) => error.into(),
    }
}
