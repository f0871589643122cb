//! The program that runs inside of an agent's confinement before the agent does. Conductor starts it, never the user.

use std::ffi::OsString;

use conductor_engine::process::confinement::inner;

use crate::error::{CliError, Exit};

/// Not a command of the command line's table: reading that takes longer than all that is done here.
const WORD: &str = "sandbox-inner";

pub(crate) fn is_meant(words: &[OsString]) -> bool {
    words.get(1).is_some_and(|word| word == WORD)
}

pub(crate) fn run(words: &[OsString]) -> CliError {
    CliError::new(Exit::Unexpected, inner::run(words.get(2..).unwrap_or_default()))
}

/// Says where it is, before anything is confined.
pub(crate) fn announce() {
    if let Ok(program) = std::env::current_exe() {
        conductor_engine::process::confinement::inner_is(program, WORD);
    }
}
