//! What of a group can be done now: read and told here, decided in `conductor_engine::records::groups::readiness`.

use std::fs::File;
use std::path::Path;

use conductor_core::plan::Plan;
use conductor_core::plan::groups::{Chosen, Circumstances};
use conductor_core::plan::subagents::Known;
use conductor_core::values::ids::RunId;
use conductor_engine::agents::subagents;
use conductor_engine::host::home::Home;
use conductor_engine::records::beads;
use conductor_engine::records::groups::readiness::{
    KnownIssues, LandedBefore, Unready, names, ready, refuse_twice, take_out_done,
};
use conductor_engine::stores::{self, EarlierRuns, LogReader};

use crate::archive::patiently;
use crate::args::GroupExecute;
use crate::commands::import::Tracker;
use crate::commands::run::issues::claimed;
use crate::commands::talk;
use crate::error::{CliError, Exit};
use crate::settings::diagnostics;

/// What is to be done, and why some of it cannot be.
pub(super) struct Ready {
    pub(super) plan: Plan,
    pub(super) circumstances: Circumstances,
    /// Held until the run is in the store, so that no other process begins the same tasks.
    pub(super) turn: File,
}

pub(super) async fn of(
    mut chosen: Chosen,
    source: &str,
    directory: &Path,
    args: &GroupExecute,
    only_looks: bool,
) -> Result<Ready, CliError> {
    let home = Home::open()?;
    let turn = beads::turn(&home)?;
    let store = patiently(|| stores::open_to_look(&home)).await?;
    if !only_looks {
        refuse_twice(&mut EarlierRuns::of(&*store), directory, &chosen.plan).await?;
    }
    let issues = issues(directory, &home, &*store, only_looks).await?;
    let mut earlier = EarlierRuns::of(&*store);
    let before = LandedBefore::read(&mut earlier, source, directory, &chosen.plan, args.again).await?;
    earlier.notice().into_iter().for_each(talk);
    let done = take_out_done(&mut chosen, &issues, &before.same, args.group_id.is_some())?;
    if !done.is_empty() {
        talk(format!("done before, and not done again: {}", names(&done)));
    }
    let specialists = match issues.all.is_empty() {
        true => None,
        false => Some(Known::new(&diagnostics::without_file()?.subagents, &subagents::found(directory))),
    };
    let (plan, circumstances) = ready(chosen, done, &issues, &before.any, specialists.as_ref())?;
    for (task, why) in &circumstances.blocked {
        talk(format!("{task} is blocked: {why}"));
    }
    Ok(Ready { plan, circumstances, turn })
}

impl From<Unready> for CliError {
    fn from(error: Unready) -> CliError {
        let (exit, help) = match error {
            Unready::Store(error) => return error.into(),
            Unready::UnderWay { ref run, ref group } => {
                let help = format!(
                    "wait for it: conductor group wait --group-id {group}; resume it: conductor run --resume {run}; \
                     give it up: conductor cancel --all --run {run}"
                );
                return CliError::new(Exit::StillRunning, error).help(help);
            }
            Unready::Unmerged { .. } => {
                (Exit::NothingToDo, "merge it first; or do all of it anew with --again")
            }
            Unready::AllDone { .. } => (
                Exit::NothingToDo,
                "--again does again what has landed; what is closed in beads is opened there",
            ),
            Unready::NoSubagent { .. } => {
                (Exit::InvalidFile, "describe it in .claude/agents, or name another in fallback_agents")
            }
        };
        CliError::new(exit, error).help(help)
    }
}

/// What beads knows, where it is used here.
async fn issues(
    directory: &Path,
    home: &Home,
    store: &dyn LogReader,
    only_looks: bool,
) -> Result<KnownIssues, CliError> {
    if !beads::is_here(directory) {
        return Ok(KnownIssues::default());
    }
    let tracker = Tracker::find(directory, home)?;
    let bd = match &tracker {
        Tracker::Bd(bd) => Some(bd),
        Tracker::Export(_) => None,
    };
    let all = tracker.all()?;
    let claims = claimed(bd.filter(|_| !only_looks), home, store, directory, None).await?;
    Ok(KnownIssues { all, taken: claims.taken, closes: bd.is_some() })
}

/// As it is while a run is under way: what that one claims is free for it.
pub(super) async fn issues_of_others(
    directory: &Path,
    home: &Home,
    store: &dyn LogReader,
    own: &RunId,
) -> Result<KnownIssues, CliError> {
    if !beads::is_here(directory) {
        return Ok(KnownIssues::default());
    }
    let all = Tracker::find(directory, home)?.all()?;
    let claims = claimed(None, home, store, directory, Some(own)).await?;
    Ok(KnownIssues { all, taken: claims.taken, closes: false })
}
