//! The process that ends what a killed run has left behind. Conductor starts it, never the user.

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use conductor_core::file::parse_duration;
use conductor_core::plan::ORPHAN_GRACE;
use conductor_core::values::ids::RunId;
use conductor_core::values::units::Millis;
use conductor_engine::host::home::{Home, RunClaim};
use conductor_engine::process;

use crate::args::Reaper;
use crate::error::{CliError, Exit};

/// How long processes that a killed run left may go on.
const GRACE: &str = "CONDUCTOR_ORPHAN_GRACE";

pub(crate) fn run(args: &Reaper) -> Result<Exit, CliError> {
    let run = RunId::parse(&args.run).ok_or_else(|| CliError::new(Exit::Usage, "no such run"))?;
    let grace = std::env::var(GRACE).ok().and_then(|text| parse_duration(&text).ok());
    let grace = Duration::from_millis(grace.unwrap_or(ORPHAN_GRACE).0);
    process::watch_over(&Home::open()?, &run, &mut std::io::stdin().lock(), grace);
    Ok(Exit::Done)
}

/// What starts it for a run.
pub(crate) fn command(claim: &RunClaim, grace: Option<Millis>) -> Option<Command> {
    let run = RunId::parse(claim.directory().file_name()?.to_str()?)?;
    let mut command = command_in(&claim.home(), &run)?;
    grace.map(|grace| command.env(GRACE, format!("{}ms", grace.0)));
    Some(command)
}

/// What starts it for a worker on another machine than its coordinator: what it leaves is done elsewhere, and ends at once.
pub(crate) fn of_worker(folder: &Path, run: &RunId) -> Option<Command> {
    let mut command = command_in(folder, run)?;
    command.env(GRACE, "0s");
    Some(command)
}

/// What starts it for the processes that carry the mark of this run.
pub(crate) fn command_in(home: &Path, run: &RunId) -> Option<Command> {
    let mut command = Command::new(std::env::current_exe().ok()?);
    command.arg("reaper").arg(run.as_str()).env("CONDUCTOR_HOME", home).current_dir("/");
    Some(command)
}
