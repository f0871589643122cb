//! `conductor runs`: the runs there were, one of them, and taking old ones away.

mod list;
mod prune;
mod show;

use conductor_core::values::ids::RunId;

use super::{answer, answer_json, block_on, talk};
use crate::args;
use crate::error::{CliError, Exit};
pub(crate) use list::local;

/// As `runs show`, of this one.
pub(crate) fn show(run: &RunId) -> Result<Exit, CliError> {
    let args = args::RunsShow { run: Some(run.to_string()), stats: false, json: false };
    block_on(show::show(&args))
}

pub(crate) fn run(args: &args::RunsOrList) -> Result<Exit, CliError> {
    match &args.verb {
        None => block_on(list::list(&args.list)),
        Some(args::Runs::List(args)) => block_on(list::list(args)),
        Some(args::Runs::Show(args)) => block_on(show::show(args)),
        Some(args::Runs::Prune(args)) => block_on(prune::prune(args)),
    }
}
