//! `conductor completions`: our commands and options, for a shell.

use clap::CommandFactory as _;

use super::answer;
use crate::args::{Arguments, Completions};
use crate::fault::{Exit, Fault};

pub(crate) fn run(args: &Completions) -> Result<Exit, Fault> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Arguments::command(), "conductor", &mut script);
    answer(&String::from_utf8_lossy(&script))?;
    Ok(Exit::Done)
}
