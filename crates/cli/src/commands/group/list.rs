//! `conductor group list`: every group that was carried out here.

use conductor_core::report::groups::Metadata;
use conductor_engine::runs::archive::CarriedGroup;

use crate::archive::Archive;
use crate::args::{GroupList, Shown};
use crate::commands::{answer, answer_json, block_on};
use crate::error::{CliError, Exit};

pub(super) fn run(args: &GroupList) -> Result<Exit, CliError> {
    block_on(async {
        let archive = Archive::open().await?;
        let mut groups = archive.groups().await?;
        groups.retain(|group| args.status.is_none_or(|status| group.metadata.status == status));
        match args.json || args.output == Shown::Json {
            true => {
                let groups: Vec<&Metadata> = groups.iter().map(|group| &group.metadata).collect();
                answer_json(&groups)?;
            }
            false if groups.is_empty() => answer("no such group was carried out here")?,
            false => answer(&table(&groups))?,
        }
        Ok(Exit::Done)
    })
}

fn table(groups: &[CarriedGroup]) -> String {
    let width = groups.iter().map(|group| group.metadata.group_id.chars().count()).max().unwrap_or_default();
    let line = |CarriedGroup { run, metadata, landed }: &CarriedGroup| {
        let since = metadata.completed_at.as_ref().or(metadata.started_at.as_ref());
        format!(
            "{:<width$}  {:<11}  {:<20}  {:>4} of {:<4}  run {}  {}\n",
            metadata.group_id,
            metadata.status.name(),
            metadata.phase.name(),
            landed,
            metadata.tasks.len(),
            run,
            since.unwrap_or(&metadata.created_at),
        )
    };
    groups.iter().map(line).collect()
}
