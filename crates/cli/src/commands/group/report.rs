//! `conductor group report`: what a group came to, and why.

use conductor_core::report::groups::Report;

use crate::archive::Archive;
use crate::args::{GroupReport, GroupReportFormat};
use crate::commands::{answer, block_on};
use crate::error::{CliError, Exit};

pub(super) fn run(args: &GroupReport) -> Result<Exit, CliError> {
    block_on(async {
        let archive = Archive::open().await?;
        let (found, _) = archive.group(args.of.run.as_deref(), &args.of.group_id).await?;
        let report = Report::of(&found.stored.id, &found.run, &found.records, &args.of.group_id)
            .ok_or_else(|| CliError::silent(Exit::NothingToDo))?;
        match args.json || args.format == GroupReportFormat::Json {
            true => answer(&report.json())?,
            false => answer(&report.markdown())?,
        }
        Ok(Exit::Done)
    })
}
