//! The driver of one session in the cloud. The coordinator starts it for an attempt, never the user.

mod browser;

use conductor_core::plan::Transport as Kind;
use conductor_engine::agents::cloud;

use crate::error::{CliError, Exit};

pub(crate) fn run() -> Result<Exit, CliError> {
    cloud::drive(&|kind, settings, around| match kind {
        Kind::Browser => Some(browser::transport(settings, around)),
        _ => None,
    })?;
    Ok(Exit::Done)
}
