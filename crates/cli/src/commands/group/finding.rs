//! Which run is meant where a group is named: the newest one here that carried it out.

use conductor_core::plan::groups::SEQUENTIAL;
use conductor_core::report::groups::{Metadata, Status, landed};
use conductor_core::values::ids::RunId;
use conductor_core::values::suggest::did_you_mean;

use crate::archive::{Archive, Found};
use crate::args::OfGroup;
use crate::end_block::one_line;
use crate::error::{CliError, Exit};

/// How many runs are looked through.
const LOOK_BACK: usize = 100;

/// A group as a run has carried it out.
pub(super) struct Carried {
    pub(super) run: RunId,
    pub(super) metadata: Metadata,
    /// How many of its tasks have landed.
    pub(super) landed: usize,
}

/// Every group of the runs here, each as its newest run has it, the newest first.
pub(super) async fn all(archive: &Archive) -> Result<Vec<Carried>, CliError> {
    let mut groups: Vec<Carried> = Vec::new();
    for stored in archive.here()?.iter().take(LOOK_BACK) {
        let Some(found) = archive.read_or_leave_out(stored).await else { continue };
        let Some(execution) = found.run.plan().execution.clone() else { continue };
        for group in execution.groups() {
            let Some(metadata) = Metadata::of(&found.run, group) else { continue };
            if !groups.iter().any(|known| known.metadata.group_id == metadata.group_id) {
                let landed = landed(&found.run, group);
                groups.push(Carried { run: stored.id.clone(), metadata, landed });
            }
        }
    }
    Ok(groups)
}

/// The group that is meant, and the run it is in.
pub(super) async fn meant(archive: &Archive, of: &OfGroup) -> Result<(Found, Metadata), CliError> {
    let mut others = vec![SEQUENTIAL.to_owned()];
    for stored in archive.candidates(of.run.as_deref())?.iter().take(LOOK_BACK) {
        let found = match of.run {
            Some(_) => archive.read(stored).await?,
            None => match archive.read_or_leave_out(stored).await {
                Some(found) => found,
                None => continue,
            },
        };
        if let Some(metadata) = Metadata::of(&found.run, &of.group_id) {
            return Ok((found, metadata));
        }
        let plan = found.run.plan();
        let known = plan.execution.iter().flat_map(|execution| execution.groups());
        others.extend(known.flat_map(|name| [name, plan.group_id(name)]).map(str::to_owned));
    }
    let message = format!("no run here has carried out a group '{}'", one_line(&of.group_id));
    let error = CliError::new(Exit::Usage, message);
    Err(match did_you_mean(&of.group_id, others.iter().map(String::as_str)) {
        Some(meant) if meant != of.group_id => error.help(format!("did you mean '{meant}'?")),
        _ => error.help("`conductor group list` names those there are"),
    })
}

/// The exit code of `group wait` for a group's status.
pub(super) fn exit(status: Status) -> Exit {
    match status {
        Status::Completed => Exit::Done,
        Status::Failed => Exit::TaskFailed,
        Status::Blocked => Exit::NothingToDo,
        Status::Pending | Status::InProgress => Exit::StillRunning,
    }
}
