//! What old planners have said: it goes with the last run that was made of it.

use std::path::{Path, PathBuf};

use conductor_core::values::ids::RunId;
use conductor_core::values::units::{Millis, Timestamp};

use super::Wanted;
use crate::planner::{self, KeptPlan};
use crate::runs::archive::{Archive, FindError};
use crate::stores::StoredRun;

/// No planner takes longer: one whose folder is older than this was killed.
const A_DAY: Millis = Millis::from_secs(24 * 3600);

/// A plan that goes.
#[derive(Debug, PartialEq, Eq)]
pub struct PlanVerdict {
    pub plan: RunId,
    pub asked: Timestamp,
    /// The run that was made of it, which is gone or goes along.
    pub run: Option<RunId>,
}

/// Plans of the wanted age, but not those of runs that stay or of planners at work.
pub(super) fn judge(
    archive: &Archive,
    wanted: &Wanted,
    now: Timestamp,
    stays: impl Fn(&RunId) -> bool,
) -> Result<Vec<PlanVerdict>, FindError> {
    let Some(age) = wanted.older_than else { return Ok(Vec::new()) };
    let plans = if wanted.here { archive.plans_here()? } else { planner::plans(&archive.home) };
    let goes = |plan: &KeptPlan| {
        let has_place = plan.folder.join("place").exists();
        let is_needed = plan.run.as_ref().is_some_and(&stays) || made_runs(archive, plan).any(&stays);
        is_old(plan.at, now, age, has_place) && !is_needed
    };
    let verdict = |plan: KeptPlan| PlanVerdict { plan: plan.id, asked: plan.at, run: plan.run };
    Ok(plans.into_iter().filter(goes).map(verdict).collect())
}

/// A planner that has its place to work in may be at work.
pub(super) fn is_old(at: Timestamp, now: Timestamp, age: Millis, has_place: bool) -> bool {
    let may_be_at_work = now - at < A_DAY && has_place;
    now - at > age && !may_be_at_work
}

/// Runs whose task file is the one that is kept with the plan.
fn made_runs<'a>(archive: &'a Archive, plan: &'a KeptPlan) -> impl Iterator<Item = &'a RunId> {
    // A source is the real path of its file, and the state directory may have been reached by a link.
    let real: PathBuf = plan.folder.canonicalize().unwrap_or_else(|_| plan.folder.clone());
    let made = move |run: &&StoredRun| {
        let source = Path::new(&run.source);
        source.starts_with(&plan.folder) || source.starts_with(&real)
    };
    archive.runs().iter().filter(made).map(|run| &run.id)
}
