//! `runs show`: the end block of a run that is over or was left, the status of a live one.

use std::path::PathBuf;

use conductor_core::plan::graph::Graph;
use conductor_core::report::SummaryFile;
use conductor_engine::git::Repository;
use conductor_engine::git::merge::{Ending, short};
use conductor_engine::git::workspaces::RunRefs;
use conductor_engine::records::ledger;

use super::{answer, answer_json};
use crate::archive::{Archive, Found};
use crate::args;
use crate::commands::status::{self, Seen};
use crate::end_block::Block;
use crate::error::{CliError, Exit};

pub(super) async fn show(args: &args::RunsShow) -> Result<Exit, CliError> {
    let archive = Archive::open().await?;
    let runs = archive.candidates(args.run.as_deref())?;
    let Some(stored) = runs.first() else { return Ok(Exit::NothingToDo) };
    if let Ok(live_view) = conductor_engine::runs::control::live_view(&archive.home.run(&stored.id)) {
        let seen = Seen::live(live_view);
        match args.json {
            true => answer_json(&status::json(&seen))?,
            false => answer(&status::text::whole(&seen))?,
        }
        return Ok(Exit::Done);
    }
    if archive.home.is_live(&stored.id)
        && conductor_engine::runs::control::is_open(&archive.home.run(&stored.id))
    {
        return Err(crate::archive::live::silent(&archive.home, &stored.id));
    }
    let found = archive.read(stored).await?;
    let graph = Graph::new(found.run.plan(), found.run.options().strategy)
        .map_err(|error| CliError::new(Exit::Unexpected, error))?;
    // The ledger is what git, the disk and the processes say now; without the repository there is none.
    let run_repo = found.context(&archive.home).ok();
    let ledger =
        run_repo.as_ref().and_then(|run_repo| ledger::take(&stored.id, &found.run, run_repo, &[]).ok());
    if args.json {
        let summary = SummaryFile::new(&stored.id, &found.run, &graph, ledger.as_ref());
        answer_json(&summary)?;
        return Ok(Exit::Done);
    }
    let output = found.run.options().output.as_ref();
    let directory = output.map_or_else(|| archive.home.run(&stored.id), PathBuf::from);
    let ending = ending(&found);
    let block = Block {
        id: &stored.id,
        run: &found.run,
        graph: &graph,
        directory: &directory,
        ending: ending.as_ref(),
        ledger: ledger.as_ref(),
        stats: args.stats,
        gone: false,
    };
    answer(&block.text())?;
    Ok(Exit::Done)
}

/// The run's branch as far as it is there and the run is over.
fn ending(found: &Found) -> Option<Ending> {
    let repository = Repository::of(&found.stored.directory).ok()?;
    let RunRefs { branch, .. } = RunRefs::of(&repository, &found.stored.id).ok()?;
    let there = repository.read_ref(&branch).ok().flatten();
    match (found.run.all_ended(), there) {
        (false, _) => None,
        (true, None) => None,
        (true, Some(tip)) => {
            let in_the_way = repository.in_the_way(&repository.head, &tip).unwrap_or_default();
            Some(Ending::Left { branch: short(&branch), why: None, in_the_way })
        }
    }
}
