//! `conductor report`: what a run came to, or has come to so far, as a page to send on, as Markdown, as JSON or as a trace.

mod traces;

use std::path::{Path, PathBuf};

use conductor_core::plan::graph::Graph;
use conductor_core::report::{self, Subject, SummaryFile};
use conductor_engine::records::ledger;
use conductor_engine::records::output;

use super::{answer, block_on};
use crate::archive::Archive;
use crate::args::{self, ReportFormat};
use crate::console;
use crate::error::{CliError, Exit};

pub(crate) fn run(args: &args::Report) -> Result<Exit, CliError> {
    let format = if args.json { ReportFormat::Json } else { args.format };
    let (Some(text), directory) = block_on(tell(args, format))? else { return Ok(Exit::Done) };
    let place = match (&args.output, format) {
        (Some(file), _) if file.as_os_str() == "-" => None,
        (Some(file), _) => Some(file.clone()),
        (None, ReportFormat::Html) => Some(directory.join(output::PAGE)),
        (None, _) => None,
    };
    match place {
        Some(place) => write(&place, &text)?,
        None => answer(&text)?,
    }
    Ok(Exit::Done)
}

/// The report, where it is to be written, and where the run's own files are.
async fn tell(args: &args::Report, format: ReportFormat) -> Result<(Option<String>, PathBuf), CliError> {
    if args.send && format != ReportFormat::Otlp {
        return Err(CliError::new(Exit::Usage, "only a trace can be sent").help("add --format otlp"));
    }
    let archive = Archive::open().await?;
    let runs = archive.candidates(args.run.as_deref())?;
    let Some(stored) = runs.first() else {
        return Err(CliError::new(Exit::NothingToDo, "nothing has been run here yet"));
    };
    // What an active run has on disk changes while it is read.
    let live = archive.home.is_live(&stored.id);
    let found = archive.read(stored).await?;
    let (id, run) = (&stored.id, &found.run);
    let directory = run.options().output.as_ref().map_or_else(|| archive.home.run(id), PathBuf::from);
    let graph = &Graph::new(run.plan(), run.options().strategy)
        .map_err(|error| CliError::new(Exit::Unexpected, error))?;
    let run_repo = found.context(&archive.home).ok().filter(|_| !live);
    let ledger = run_repo.as_ref().and_then(|run_repo| ledger::take(id, run, run_repo, &[]).ok());
    let voices = &output::voices(&directory, run);
    let subject = Subject {
        id,
        run,
        graph,
        ledger: ledger.as_ref(),
        source: stored.file_name(),
        voices,
        aggregation: output::aggregation(&directory).filter(|_| !live),
    };
    let text = match format {
        ReportFormat::Html => report::html(&subject),
        ReportFormat::Md => report::markdown(&subject),
        ReportFormat::Json => {
            let summary =
                SummaryFile::new(id, run, graph, subject.ledger).with_aggregation(subject.aggregation);
            serde_json::to_string_pretty(&summary).unwrap_or_default() + "\n"
        }
        ReportFormat::Otlp => return Ok((traces::tell(&archive, &found, &directory, args)?, directory)),
    };
    Ok((Some(text), directory))
}

fn write(place: &Path, text: &str) -> Result<(), CliError> {
    conductor_engine::host::access::replace(place, console::clean(text).as_bytes()).map_err(|error| {
        let message = format!("the report cannot be written to {}: {error}", place.display());
        CliError::new(Exit::Unexpected, message).help("name another file with -o")
    })?;
    answer(&place.display().to_string())
}
