//! A command that does not exist, and the one that was most likely meant.

use std::ffi::OsString;
use std::path::Path;

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Command, CommandFactory as _};
use conductor_core::values::suggest::did_you_mean;

use crate::args::Arguments;
use crate::end_block::one_line;
use crate::error::{CliError, Exit};

/// What is wrong, where it is the name of a command.
pub(crate) fn command(error: &clap::Error, words: &[OsString]) -> Option<CliError> {
    if error.kind() != ErrorKind::InvalidSubcommand {
        return None;
    }
    let Some(ContextValue::String(word)) = error.get(ContextKind::InvalidSubcommand) else { return None };
    let cli_error = CliError::new(Exit::Usage, format!("there is no command '{}'", one_line(word)));
    let whole = Arguments::command();
    Some(match did_you_mean(word, names(&whole, words)) {
        Some(meant) => cli_error.help(format!("did you mean '{meant}'?")),
        None if Path::new(word).is_file() => {
            cli_error.help(format!("to run this task file: conductor run {word}"))
        }
        None => cli_error.help(format!("`{} --help` lists every command", reached(&whole, words).join(" "))),
    })
}

/// The commands below the one that the words have led to.
fn names<'c>(whole: &'c Command, words: &[OsString]) -> impl Iterator<Item = &'c str> {
    let last = way(whole, words).last().unwrap_or(whole);
    last.get_subcommands().filter(|command| !command.is_hide_set()).map(Command::get_name)
}

/// The command that the words have led to, as it is typed.
fn reached<'c>(whole: &'c Command, words: &[OsString]) -> Vec<&'c str> {
    std::iter::once(whole).chain(way(whole, words)).map(Command::get_name).collect()
}

/// From one command to the one below it, as far as the words name any.
fn way<'c>(whole: &'c Command, words: &[OsString]) -> impl Iterator<Item = &'c Command> {
    let typed = words.iter().skip(1).filter_map(|word| word.to_str());
    typed
        .scan(whole, |command, word| Some(command.find_subcommand(word).inspect(|below| *command = below)))
        .flatten()
}
