//! Which issues are not free, as our own store knows it: those of runs that are under way or can be taken up, and those
//! that landed and are not closed for all that.

use std::collections::BTreeMap;
use std::fs::File;
use std::io;
use std::path::Path;

use conductor_core::plan::Task;
use conductor_core::run::{Run, TaskState};
use conductor_core::values::ids::RunId;

use super::closing::Notes;
use crate::host::access;
use crate::host::home::Home;
use crate::stores::{EarlierRuns, StoreError, StoredRun};

/// What runs of the same issues tell.
#[derive(Debug, Default)]
pub struct Claims {
    /// Why an issue is not free.
    pub taken: BTreeMap<String, String>,
    /// Inactive runs with an issue that has landed and is not known to be closed.
    pub unsettled: Vec<(RunId, Run)>,
}

/// Waits until no other process makes a run of issues. For as long as it takes to make one.
pub fn turn(home: &Home) -> io::Result<File> {
    let path = home.root().join("beads.claims.lock");
    let file = access::private().create(true).truncate(false).write(true).open(path)?;
    file.lock()?;
    Ok(file)
}

/// Of all runs of the issues of a directory, but for one that asks what others claim. One that cannot be read claims
/// nothing.
pub async fn claims(
    home: &Home,
    earlier: &mut EarlierRuns<'_>,
    directory: &Path,
    except: Option<&RunId>,
) -> Result<Claims, StoreError> {
    let sources = [super::source(directory), super::export_source(directory)];
    let mut claims = Claims::default();
    // A run of groups notes in its folder that it has issues.
    let ours = |run: &StoredRun| {
        let of_issues = || run.directory == directory && Notes::is_kept(&home.run(&run.id));
        Some(&run.id) != except && (sources.contains(&run.source) || of_issues())
    };
    for stored in earlier.list().await?.into_iter().filter(ours) {
        let notes = Notes::of(&home.run(&stored.id));
        if notes.is_complete() {
            continue;
        }
        if let Some(run) = earlier.run(&stored.id).await {
            claims.add(home, &stored, run, notes);
        }
    }
    Ok(claims)
}

impl Claims {
    fn add(&mut self, home: &Home, stored: &StoredRun, run: Run, notes: Notes) {
        let live = home.is_live(&stored.id) || stored.holder().is_some();
        let mut landed = false;
        let execution = run.plan().execution.as_ref();
        let is_issue = |task: &Task| execution.is_none_or(|execution| execution.issues.contains(&task.id));
        for (_, task, progress) in run.asked().filter(|(_, task, _)| is_issue(task)) {
            let id = task.id.as_str();
            let why = match &progress.state {
                TaskState::Completed if notes.has(id) => continue,
                TaskState::Completed => {
                    landed = true;
                    format!("landed in run {}, and is not closed yet", stored.id)
                }
                state if state.status().is_end() => continue,
                _ if live => format!("is being done in run {}", stored.id),
                _ => format!(
                    "is part of run {0}, which can be taken up: conductor run --resume {0}",
                    stored.id
                ),
            };
            self.taken.entry(id.to_owned()).or_insert(why);
        }
        match landed {
            true if !live => self.unsettled.push((stored.id.clone(), run)),
            false if !live && run.all_ended() => notes.set_complete(&home.run(&stored.id)),
            _ => {}
        }
    }
}
