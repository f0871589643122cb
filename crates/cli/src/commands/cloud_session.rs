//! The driver of one session in the cloud. The coordinator starts it for an attempt, never the user.

use conductor_engine::agents::cloud;

use crate::error::{CliError, Exit};

pub(crate) fn run() -> Result<Exit, CliError> {
    cloud::drive(&|_, _, _| None)?;
    Ok(Exit::Done)
}
