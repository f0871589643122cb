use conductor_core::plan::graph::{self, Strategy};
use conductor_core::plan::select::select;

use super::answer;
use crate::args::{Format, Graph};
use crate::error::{CliError, Exit};
use crate::settings::diagnostics;
use crate::settings::taskfile;

pub(crate) fn run(args: &Graph) -> Result<Exit, CliError> {
    let mut plan = diagnostics::load(&taskfile::meant(args.file.as_deref())?)?;
    if let Some(only) = &args.only {
        plan = select(&plan, only)?;
    }
    let graph =
        graph::Graph::new(&plan, Strategy::Queue).map_err(|error| CliError::new(Exit::InvalidFile, error))?;
    let format = match args.format {
        _ if args.json => graph::Format::Json,
        Format::Text => graph::Format::Text,
        Format::Mermaid => graph::Format::Mermaid,
        Format::Dot => graph::Format::Dot,
        Format::Json => graph::Format::Json,
    };
    answer(&graph.export(&plan, format, |task| plan.tasks[task as usize].expected()))?;
    Ok(Exit::Done)
}
