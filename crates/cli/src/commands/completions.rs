//! `conductor completions`: a script by which a shell asks us what can follow.

use clap_complete::env::Shells;

use super::answer;
use crate::args::Completions;
use crate::error::{CliError, Exit};
use crate::settings::variables::COMPLETE;

pub(crate) fn run(args: &Completions) -> Result<Exit, CliError> {
    let name = args.shell.to_string();
    let shell = Shells::builtins();
    let shell = shell
        .completer(&name)
        .ok_or_else(|| CliError::new(Exit::Usage, format!("there are no completions for {name}")))?;
    let mut script = Vec::new();
    // By its name, so that the script fits after an update too.
    shell.write_registration(COMPLETE, "conductor", "conductor", "conductor", &mut script)?;
    answer(&String::from_utf8_lossy(&script))?;
    Ok(Exit::Done)
}
