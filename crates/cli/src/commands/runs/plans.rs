//! What old planners have said, as far as `runs prune` takes it away.

use std::fs;

use conductor_core::values::ids::RunId;
use conductor_core::values::units::Millis;
use conductor_engine::host::access;
use conductor_engine::host::clock::wall;
use conductor_engine::planner::{self, KeptPlan};
use serde::Serialize;

use super::talk;
use crate::archive::Archive;
use crate::args;
use crate::error::CliError;
use crate::progress::json::timestamp;

/// No planner takes longer: one whose folder is older than this was killed.
const A_DAY: Millis = Millis::from_secs(24 * 3600);

#[derive(Debug, Serialize)]
pub(super) struct PlanVerdict {
    pub(super) plan: RunId,
    pub(super) asked_at: String,
    /// The run that was made of it, which is gone or goes along.
    pub(super) run: Option<RunId>,
}

/// Plans older than --older-than, but not those of runs that stay or of planners at work.
pub(super) fn old(
    archive: &Archive,
    args: &args::RunsPrune,
    going: &[&RunId],
) -> Result<Vec<PlanVerdict>, CliError> {
    let Some(age) = args.older_than else { return Ok(Vec::new()) };
    let plans = if args.here { archive.plans_here()? } else { planner::plans(&archive.home) };
    let now = wall();
    let stays = |run: &RunId| archive.known(run).is_some() && !going.contains(&run);
    let is_needed = |plan: &KeptPlan| {
        let may_be_at_work = now - plan.at < A_DAY && plan.folder.join("place").exists();
        may_be_at_work || plan.run.as_ref().is_some_and(stays) || made_runs(archive, plan).any(stays)
    };
    let goes = |plan: &KeptPlan| now - plan.at > age && !is_needed(plan);
    let old = plans.into_iter().filter(goes);
    let verdict =
        |plan: KeptPlan| PlanVerdict { plan: plan.id, asked_at: timestamp(plan.at.0), run: plan.run };
    Ok(old.map(verdict).collect())
}

/// Runs whose task file is the one that is kept with the plan.
fn made_runs<'a>(archive: &'a Archive, plan: &'a KeptPlan) -> impl Iterator<Item = &'a RunId> {
    // A source is the real path of its file, and the state directory may have been reached by a link.
    let real = plan.folder.canonicalize().unwrap_or_else(|_| plan.folder.clone());
    let made = move |source: &str| {
        let source = std::path::Path::new(source);
        source.starts_with(&plan.folder) || source.starts_with(&real)
    };
    archive.runs().iter().filter(move |run| made(&run.source)).map(|run| &run.id)
}

/// A rename; the disk is cleared behind our back. Whether it is gone.
pub(super) fn discard(archive: &Archive, verdict: &PlanVerdict) -> bool {
    let (plan, root) = (&verdict.plan, archive.home.root());
    let trash = root.join("trash");
    let to = trash.join(format!("plan-{plan}-{:x}", fastrand::u64(..)));
    let done = access::create_private_dir_all(&trash)
        .and_then(|()| fs::rename(root.join("plans").join(plan.as_str()), to));
    if let Err(error) = &done {
        talk(format!("{plan}: the planner's answers cannot be removed: {error}"));
    }
    done.is_ok()
}
