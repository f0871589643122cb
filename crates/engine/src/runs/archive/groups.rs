//! Which run is meant where a group is named: the newest one here that carried it out.

use conductor_core::plan::groups::SEQUENTIAL;
use conductor_core::report::groups::{Metadata, landed};
use conductor_core::run::Run;
use conductor_core::values::ids::RunId;
use conductor_core::values::suggest::did_you_mean;

use super::{Archive, FindError, Found};

/// How many runs are looked through.
const LOOK_BACK: usize = 100;

/// A group as a run has carried it out.
#[derive(Debug, Clone)]
pub struct CarriedGroup {
    pub run: RunId,
    pub metadata: Metadata,
    /// How many of its tasks have landed.
    pub landed: usize,
}

impl Archive {
    /// Every group of the runs here, each as its newest run has it, the newest first.
    pub async fn groups(&self) -> Result<Vec<CarriedGroup>, FindError> {
        let mut groups = Vec::new();
        for stored in self.here()?.iter().take(LOOK_BACK) {
            if let Some(found) = self.read_or_leave_out(stored).await {
                add_groups(&mut groups, &stored.id, &found.run);
            }
        }
        Ok(groups)
    }

    /// The group that is meant, and the run it is in.
    pub async fn group(&self, run: Option<&str>, group: &str) -> Result<(Found, Metadata), FindError> {
        let mut others = vec![SEQUENTIAL.to_owned()];
        for stored in self.candidates(run)?.iter().take(LOOK_BACK) {
            let Some(found) = self.read_candidate(stored, run.is_some()).await? else { continue };
            if let Some(metadata) = Metadata::of(&found.run, group) {
                return Ok((found, metadata));
            }
            let plan = found.run.plan();
            let known = plan.execution.iter().flat_map(|execution| execution.groups());
            others.extend(known.flat_map(|name| [name, plan.group_id(name)]).map(str::to_owned));
        }
        let meant = did_you_mean(group, others.iter().map(String::as_str)).filter(|meant| *meant != group);
        Err(FindError::NoSuchGroup { group: group.to_owned(), meant: meant.map(str::to_owned) })
    }
}

/// Adds those of a run that no newer one has carried out.
fn add_groups(groups: &mut Vec<CarriedGroup>, id: &RunId, run: &Run) {
    for group in run.plan().execution.iter().flat_map(|execution| execution.groups()) {
        let Some(metadata) = Metadata::of(run, group) else { continue };
        if !groups.iter().any(|known| known.metadata.group_id == metadata.group_id) {
            groups.push(CarriedGroup { run: id.clone(), metadata, landed: landed(run, group) });
        }
    }
}
