//! Which machine goes on with a run. A run that is known at a remote is taken up only after it was claimed there, and only
//! where its code is.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use conductor_core::run::Run;
use conductor_core::run::event::Record;
use conductor_core::sync::{self as carried, Claim, Machine, NotOurs, Origin, Refused, TakeUp, There};
use conductor_core::values::ids::{RunId, TaskId};
use conductor_core::values::units::Timestamp;

use super::error::SyncError;
use super::notes::{self, RunNote};
use super::origin::{self, Repositories};
use super::remote::{Here, Remote, Seen, Settings};
use super::taking;
use crate::host::home::Home;
use crate::process::shim;
use crate::stores::{LogReader, Store, StoredRun};

/// A run that may be gone on with here.
#[derive(Debug, Clone)]
pub struct TakenUp {
    /// The remote that knows of it.
    pub remote: String,
    /// Whether it was claimed now, and not before.
    pub is_new: bool,
    /// Where it works from now on.
    pub directory: PathBuf,
}

/// How a claim was come by.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Forced {
    No,
    /// It was this machine's.
    From(Machine),
}

/// Claims a run for this machine before it is gone on with, where a remote knows of it. The caller has it claimed on this
/// machine. `named` says whether the user named it: what came from elsewhere is not resumed by accident.
pub async fn take_up(
    home: &Home,
    store: &Arc<dyn Store>,
    (stored, run, records): (&StoredRun, &Run, &[Record]),
    settings: Settings,
    (here, named, now): (&Path, bool, Timestamp),
) -> Result<Option<TakenUp>, SyncError> {
    let Some(note) = notes::run(home, &stored.id)? else { return Ok(None) };
    let unreachable = |error| match error {
        SyncError::Git { shown, source } => {
            SyncError::Unreachable { run: stored.id.clone(), shown, why: source.to_string() }
        }
        SyncError::NoPlace(shown) => {
            SyncError::Unreachable { run: stored.id.clone(), shown, why: "it is not there".to_owned() }
        }
        other => other,
    };
    let remote = Remote::of_note(home, &note, settings).map_err(unreachable)?;
    let seen = remote.see(&stored.id).map_err(unreachable)?;
    let seen = seen.ok_or_else(|| SyncError::NotThere(stored.id.clone()))?;
    let local = Here { run: &stored.id, records, is_active: false };
    let relation = remote.relation(&seen, &local)?;
    let decided = carried::take_up(remote.local(&local), seen.there(relation))?;
    if note.is_unfinished() {
        return Err(SyncError::Unfinished(stored.id.clone()));
    }
    let is_claimed = decided == TakeUp::Ours;
    if note.pulled && !is_claimed && !named {
        return Err(SyncError::Unnamed { run: stored.id.clone(), from: seen.manifest.from.to_string() });
    }
    let origin = match note.pulled && !is_claimed || !stored.directory.is_dir() {
        true => {
            let contents = remote.contents(&seen)?;
            check_secrets(&stored.id, run, &contents.blotted)?;
            Some(contents.origin)
        }
        false => None,
    };
    let directory = match &origin {
        Some(origin) => place(stored, (run, records, origin), here)?,
        None => stored.directory.clone(),
    };
    if !is_claimed {
        remote.claim_seen(&seen, &note, now, true)?;
    }
    if let Some(origin) = &origin {
        if let Some((repository, _)) = Repositories::default().of(&directory) {
            origin::make_branch(repository, run, origin, &stored.id)?;
        }
        if directory != stored.directory {
            store.move_to(&stored.id, &directory).await?;
        }
    }
    Ok(Some(TakenUp { remote: remote.shown().to_owned(), is_new: !is_claimed, directory }))
}

/// Where a run from elsewhere goes on: in its repository, which has to have its code. Refuses before anything is claimed.
fn place(
    stored: &StoredRun,
    (run, records, origin): (&Run, &[Record], &Origin),
    here: &Path,
) -> Result<PathBuf, SyncError> {
    let mut repositories = Repositories::default();
    let Some(known) = &origin.repository else {
        // Outside of any repository, or in one that was cut short: only the very same place will do.
        return match stored.directory.is_dir() {
            true => Ok(stored.directory.clone()),
            false => Err(no_directory(stored)),
        };
    };
    for directory in [stored.directory.as_path(), here] {
        if let Some((repository, first)) = repositories.of(directory).filter(|_| directory.is_dir())
            && first.as_ref() == Some(known)
        {
            origin::check_code(repository, &stored.id, (run, records, origin))?;
            let is_own = directory == stored.directory;
            return Ok(if is_own {
                directory.to_owned()
            } else {
                taking::below(&repository.root, origin.below.as_ref())
            });
        }
    }
    Err(no_directory(stored))
}

fn no_directory(stored: &StoredRun) -> SyncError {
    SyncError::NoDirectory { run: stored.id.clone(), directory: stored.directory.clone() }
}

/// What was blotted out of a task on the way cannot be given to it any more.
fn check_secrets(id: &RunId, run: &Run, blotted: &[TaskId]) -> Result<(), SyncError> {
    let is_open =
        |task: &&TaskId| run.place(task).is_some_and(|place| !run.progress(place).state.status().is_end());
    match blotted.iter().find(is_open) {
        Some(task) => Err(SyncError::SecretsLeft { run: id.clone(), task: task.clone() }),
        None => Ok(()),
    }
}

impl Remote {
    /// Whether a coordinator drives a run here, or its agents go on without one: it is not to be gone on with elsewhere.
    pub(super) fn is_active(&self, run: &RunId) -> bool {
        self.home.is_live(run) || self.has_agents(run)
    }

    /// Whether agents of a run are at work here that have outlived their coordinator.
    pub(super) fn has_agents(&self, run: &RunId) -> bool {
        !self.home.is_live(run) && !shim::living(&self.home.run(run)).is_empty()
    }

    fn claim_seen(
        &self,
        seen: &Seen,
        note: &RunNote,
        since: Timestamp,
        while_active: bool,
    ) -> Result<(), SyncError> {
        let claim = Claim { machine: self.us.clone(), since, while_active };
        let commit = self.set_claim(seen, Some(claim))?;
        self.note(&seen.manifest.run, &commit, seen.manifest.events, note)
    }

    /// Claims a run until it is released; with `force`, also from another machine.
    pub async fn claim(
        &self,
        store: &dyn LogReader,
        run: &RunId,
        force: bool,
        now: Timestamp,
    ) -> Result<Forced, SyncError> {
        let seen = self.see(run)?.ok_or_else(|| SyncError::NotThere(run.clone()))?;
        let records = store.load(run, 0).await?;
        let here = Here { run, records: &records, is_active: self.is_active(run) };
        let relation = self.relation(&seen, &here)?;
        let there = seen.there(relation);
        let held = there.claim.filter(|claim| !claim.is_of(&self.us)).map(|claim| claim.machine.clone());
        let there = There { claim: there.claim.filter(|_| !force || held.is_none()), ..there };
        carried::take_up(self.local(&here), there)?;
        let known = notes::run(&self.home, run)?.filter(|note| note.address == self.address.git);
        let note = known.unwrap_or_else(|| RunNote {
            address: self.address.git.clone(),
            commit: seen.commit.clone(),
            events: seen.manifest.events,
            pulled: seen.manifest.from.id != self.us.id,
            contents: None,
            blotted: Vec::new(),
        });
        self.claim_seen(&seen, &note, now, false)?;
        Ok(held.map_or(Forced::No, Forced::From))
    }

    /// Gives a claim back; with `force`, also another machine's. Whether there was one.
    pub fn release(&self, run: &RunId, force: bool) -> Result<bool, SyncError> {
        if self.home.is_live(run) {
            return Err(SyncError::Active(run.clone()));
        }
        if self.has_agents(run) {
            return Err(SyncError::AgentsAtWork(run.clone()));
        }
        let seen = self.see(run)?.ok_or_else(|| SyncError::NotThere(run.clone()))?;
        let Some(claim) = seen.manifest.claim.clone() else { return Ok(false) };
        if !claim.is_of(&self.us) && !force {
            let Claim { machine: holder, since, .. } = claim;
            return Err(Refused::from(NotOurs { run: run.clone(), holder, since }).into());
        }
        let commit = self.set_claim(&seen, None)?;
        if let Some(note) = notes::run(&self.home, run)?.filter(|note| note.commit == seen.commit) {
            self.note(run, &commit, note.events, &note)?;
        }
        Ok(true)
    }
}
