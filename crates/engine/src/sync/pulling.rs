//! Runs from the remote: first looked at and shown, then stored.

use std::path::Path;
use std::sync::Arc;

use conductor_core::run::event::Record;
use conductor_core::sync::{self as carried, Beside, Machine, Pull};
use conductor_core::values::ids::RunId;

use super::error::SyncError;
use super::notes::{self, COMING};
use super::remote::{Here, Remote, Seen};
use crate::stores::{LogReader, Store};

/// What a pull would do about a run.
pub struct ToPull {
    pub run: RunId,
    pub what: Result<Pull, SyncError>,
    /// How many events its log has there.
    pub events: u64,
    pub from: Option<Machine>,
    pub transcripts: bool,
    seen: Option<Seen>,
}

pub struct Pulled {
    pub run: RunId,
    pub outcome: Result<(), SyncError>,
}

impl Remote {
    /// Compares what is at the remote with what is here; of these runs, or all of them. Nothing is stored yet.
    pub async fn to_pull(&self, store: &dyn LogReader, wanted: &[RunId]) -> Result<Vec<ToPull>, SyncError> {
        let mut seen = self.seen(wanted)?;
        let known: Vec<RunId> = store.runs().await?.into_iter().map(|stored| stored.id).collect();
        let runs: Vec<RunId> = match wanted {
            [] => {
                let there = seen.keys().filter(|run| known.contains(run) || !self.was_removed(run));
                there.cloned().collect()
            }
            wanted => wanted.to_vec(),
        };
        let mut all = Vec::new();
        for run in runs {
            let there = seen.remove(&run).unwrap_or_else(|| Err(SyncError::NotThere(run.clone())));
            let (what, seen) = match there {
                Err(error) => (Err(error), None),
                Ok(seen) => {
                    let what = match known.contains(&run) {
                        false => Ok(carried::pull(None)?),
                        true => match store.load(&run, 0).await {
                            Ok(records) => self.compared(&run, &records, &seen),
                            Err(error) => Err(error.into()),
                        },
                    };
                    (what, Some(seen))
                }
            };
            let manifest = seen.as_ref().map(|seen| &seen.manifest);
            all.push(ToPull {
                run,
                what,
                events: manifest.map_or(0, |manifest| manifest.events),
                from: manifest.map(|manifest| manifest.from.clone()),
                transcripts: manifest.is_some_and(|manifest| manifest.transcripts),
                seen,
            });
        }
        Ok(all)
    }

    /// A run that was here, and is not any more: it comes back only by its name.
    fn was_removed(&self, run: &RunId) -> bool {
        matches!(notes::run(&self.home, run), Ok(Some(note)) if note.commit != COMING)
    }

    fn compared(&self, run: &RunId, records: &[Record], seen: &Seen) -> Result<Pull, SyncError> {
        let here = Here { run, records, is_active: self.is_active(run) };
        let relation = self.relation(seen, &here)?;
        let beside = self.beside(run, seen)?;
        Ok(carried::pull(Some((self.local(&here), seen.there(relation), beside)))?)
    }

    /// What is here of what belongs to the log at the remote. A run that is this machine's alone, or was last at another remote,
    /// is left as it is.
    pub(super) fn beside(&self, run: &RunId, seen: &Seen) -> Result<Beside, SyncError> {
        let Some(note) = notes::run(&self.home, run)? else { return Ok(Beside::Whole) };
        let is_here = match &note.contents {
            Some(contents) => Some(contents.as_str()) == seen.contents_blob(),
            None => note.commit == seen.commit,
        };
        Ok(match note.is_unfinished() {
            true => Beside::Unfinished,
            false if is_here || note.address != self.address.git => Beside::Whole,
            false => Beside::Renewed,
        })
    }

    /// Stores what was found new. Each run is taken as a whole or not at all.
    pub async fn pull(
        &self,
        store: &Arc<dyn Store>,
        all: Vec<ToPull>,
        here: &Path,
    ) -> Result<Vec<Pulled>, SyncError> {
        let mut pulled = Vec::new();
        for one in all {
            let (Ok(what @ (Pull::New | Pull::More(_) | Pull::Renew)), Some(seen)) = (&one.what, &one.seen)
            else {
                continue;
            };
            let outcome = match self.arrived(seen) {
                Ok(arrived) => self.take_in(store, (seen, what), &arrived, here).await,
                Err(error) => Err(error),
            };
            pulled.push(Pulled { run: one.run, outcome });
        }
        Ok(pulled)
    }
}
