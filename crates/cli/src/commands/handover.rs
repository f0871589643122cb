//! `conductor handover`: this very program becomes the coordinator of a run that another process drives, while its agents work.

use conductor_engine::host::home::Home;

use super::block_on;
use super::run::detach;
use crate::archive::live;
use crate::args;
use crate::error::{CliError, Exit};

pub(crate) fn run(args: &args::Handover) -> Result<Exit, CliError> {
    let home = Home::open()?;
    let run = block_on(live::required(&home, args.run.as_deref()))?.run;
    live::check_here(&home, &run, "hand it over")?;
    detach::take_over(&home, &run, args.timeout)?.tell(args.json)?;
    Ok(Exit::Done)
}
