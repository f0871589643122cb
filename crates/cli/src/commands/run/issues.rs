//! `run --from beads`: open issues become the plan, and what landed is closed.

use std::fs::File;
use std::path::Path;
use std::time::Duration;

use conductor_core::plan::Plan;
use conductor_core::plan::select::select;
use conductor_core::run::Run;
use conductor_core::values::ids::RunId;
use conductor_engine::host::home::Home;
use conductor_engine::records::beads::{self, Bd, Claims, Closer, Settled};
use conductor_engine::runs::coordinator::Coordinator;
use conductor_engine::stores::{self, EarlierRuns, LogReader};

use super::arguments::Resolved;
use crate::archive::patiently;
use crate::commands::import::{Tracker, some, tell};
use crate::commands::talk;
use crate::end_block::one_line;
use crate::error::{CliError, Exit};
use crate::settings::diagnostics;

/// How long a run waits at its end for its issues to be closed.
const PATIENCE: Duration = Duration::from_secs(120);

/// A plan made of issues. Until the run is in the store, no other process makes one of the same issues.
pub(super) struct Issues {
    pub(super) plan: Plan,
    pub(super) source: String,
    pub(super) turn: File,
}

/// What landed in former runs and is still open is closed first, so that nothing is done twice.
pub(super) async fn plan(args: &Resolved<'_>) -> Result<Issues, CliError> {
    let home = Home::open()?;
    let directory = &args.directory;
    let tracker = Tracker::find(directory, &home)?;
    let turn = beads::turn(&home)?;
    let store = patiently(|| stores::open_to_look(&home)).await?;
    let bd = match &tracker {
        Tracker::Bd(bd) if !args.typed.dry_run => Some(bd),
        _ => None,
    };
    let claims = claimed(bd, &home, &*store, directory, None).await?;
    let drafted = tracker.draft(directory, &claims.taken)?;
    tell(&drafted.left_out);
    some(&drafted)?;
    let plan = diagnostics::load_text("<beads>", beads::text(&drafted, &tracker.name()))?;
    let plan = match &args.typed.only {
        Some(only) => select(&plan, only)?,
        None => plan,
    };
    let source = match tracker {
        Tracker::Bd(_) => beads::source(directory),
        Tracker::Export(_) => beads::export_source(directory),
    };
    Ok(Issues { plan, source, turn })
}

/// What is not free for a run. What landed in former runs and is still open is closed first.
pub(crate) async fn claimed(
    bd: Option<&Bd>,
    home: &Home,
    store: &dyn LogReader,
    directory: &Path,
    own: Option<&RunId>,
) -> Result<Claims, CliError> {
    let mut earlier = EarlierRuns::of(store);
    let mut claims = beads::claims(home, &mut earlier, directory, own).await?;
    earlier.notice().into_iter().for_each(talk);
    if let Some(bd) = bd {
        for (id, run) in std::mem::take(&mut claims.unsettled) {
            let settled = beads::settle(bd, &id, &run, &home.run(&id));
            report(&id, Some(&settled));
            for closed in settled.closed {
                claims.taken.remove(&closed);
            }
        }
    }
    Ok(claims)
}

/// Follows a run whose issues are to be closed.
pub(super) fn follow(
    source: &str,
    directory: &Path,
    id: &RunId,
    run: &Run,
    state: &Path,
    coordinator: &mut Coordinator,
) -> Option<Closer> {
    let bd = bd(closes(source, directory, run)?, state)?;
    Some(Closer::follow(bd, id, run, state, coordinator.subscribe()))
}

/// Closes what is still open of a run of which nothing is left to do.
pub(super) fn settle(source: &str, directory: &Path, id: &RunId, run: &Run, state: &Path) {
    if let Some(bd) = closes(source, directory, run).and_then(|directory| bd(directory, state)) {
        report(id, Some(&beads::settle(&bd, id, run, state)));
    }
}

/// The directory whose issues a run closes: one that was made of them, or one of whose groups' tasks some are issues.
fn closes<'a>(source: &'a str, directory: &'a Path, run: &Run) -> Option<&'a Path> {
    let execution = run.plan().execution.as_ref();
    let has_issues = execution.is_some_and(|execution| !execution.issues.is_empty());
    beads::closes(source).or_else(|| has_issues.then_some(directory))
}

fn bd(directory: &Path, state: &Path) -> Option<Bd> {
    let home = state.ancestors().nth(2)?;
    let bd = Bd::find(directory, home);
    if bd.is_none() {
        talk(
            "there is no bd on PATH: what lands stays open in beads until a run is begun or taken up with it",
        );
    }
    bd
}

/// Waits for the last issues, tells what became of them, and says whether all is as it should be.
pub(super) fn finish(closer: Option<Closer>, id: &RunId, exit: Exit) -> Exit {
    let Some(closer) = closer else { return exit };
    let settled = closer.finish(PATIENCE);
    let good = report(id, settled.as_ref());
    if exit == Exit::Done && !good { Exit::Unexpected } else { exit }
}

fn report(id: &RunId, settled: Option<&Settled>) -> bool {
    let Some(settled) = settled else {
        talk(format!(
            "bd is too slow: some of what landed is still open; conductor run --resume {id} closes it"
        ));
        return false;
    };
    if !settled.closed.is_empty() {
        talk(format!("closed in beads: {}", settled.closed.join(", ")));
    }
    for (issue, why) in &settled.open {
        talk(format!("{issue} landed and is still open in beads: {}", one_line(why)));
    }
    if !settled.open.is_empty() {
        talk(format!("to close it later: conductor run --resume {id}"));
    }
    settled.open.is_empty()
}
