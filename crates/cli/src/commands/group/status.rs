//! `conductor group status`: how a group stands, from any terminal.

use conductor_core::report::groups::{Metadata, landed_words};

use super::exit;
use crate::archive::{Archive, Found};
use crate::args::{GroupStatus, Shown};
use crate::commands::{answer, block_on};
use crate::end_block::one_line;
use crate::error::{CliError, Exit};

pub(super) fn run(args: &GroupStatus) -> Result<Exit, CliError> {
    block_on(async {
        let archive = Archive::open().await?;
        let (found, metadata) = archive.group(args.of.run.as_deref(), &args.of.group_id).await?;
        match args.json || args.output == Shown::Json {
            true => answer(&metadata.text())?,
            false => answer(&text(&archive, &found, &metadata))?,
        }
        Ok(Exit::Done)
    })
}

fn text(archive: &Archive, found: &Found, metadata: &Metadata) -> String {
    let (status, phase) = (metadata.status.name(), metadata.phase.name());
    let mut text = format!(
        "{}: {status} ({phase}), {}, run {}\n",
        metadata.group_id,
        landed_words(&found.run, metadata),
        found.stored.id,
    );
    let width = metadata.tasks.iter().map(|task| task.chars().count()).max().unwrap_or_default();
    for task in &metadata.tasks {
        let result = metadata.results.iter().find(|result| result.task_id == *task);
        let status = result.map_or("pending", |result| result.status.name());
        let subagent = result.and_then(|result| result.subagent.as_deref()).unwrap_or_default();
        text += format!("  {task:<width$}  {status:<11}  {subagent}").trim_end();
        text.push('\n');
    }
    for error in &metadata.errors {
        text += &format!("  {}\n", one_line(error));
    }
    if exit(metadata.status) == Exit::StillRunning && !archive.home.is_live(&found.stored.id) {
        let run = &found.stored.id;
        text += &format!("the run is not active; resume it with `conductor run --resume {run}`\n");
    }
    text
}
