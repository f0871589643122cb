//! Commands of others: `conductor NAME` is the program `conductor-NAME` of the user's plugins or on PATH, where there is no
//! command of that name. A repository's own programs are never taken for one.

use std::ffi::OsString;
use std::os::unix::process::CommandExt as _;
use std::process::Command;

use clap::error::{ContextKind, ContextValue, ErrorKind};
use conductor_engine::plugins;

use crate::args::words::place_of_command;
use crate::error::{CliError, Exit};

/// Becomes the program of this name, where there is one: gives nothing where there is none.
pub(crate) fn command(error: &clap::Error, words: &[OsString]) -> Option<Result<Exit, CliError>> {
    if error.kind() != ErrorKind::InvalidSubcommand {
        return None;
    }
    let Some(ContextValue::String(word)) = error.get(ContextKind::InvalidSubcommand) else { return None };
    let words = words.get(1..)?;
    let place = place_of_command(words);
    // A word further on is a mistake within one of our own commands.
    if words.get(place).is_none_or(|typed| typed != word.as_str()) {
        return None;
    }
    let program = plugins::subcommand(word)?;
    if place > 0 {
        let message = format!("options before the name are not for {}", program.display());
        return Some(Err(CliError::new(Exit::Usage, message).help("put them behind it")));
    }
    let failed = Command::new(&program).args(&words[place + 1..]).exec();
    Some(Err(CliError::new(Exit::Unexpected, format!("cannot start {}: {failed}", program.display()))))
}
