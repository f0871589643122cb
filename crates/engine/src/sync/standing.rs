//! How runs stand here and at the remote, for people who look.

use conductor_core::run::event::Record;
use conductor_core::sync::{Beside, Claim, Machine, Manifest, Relation};
use conductor_core::values::ids::RunId;

use super::error::SyncError;
use super::remote::{Here, Remote, Seen};
use crate::stores::LogReader;

/// One run.
#[derive(Debug, Clone)]
pub struct Standing {
    pub run: RunId,
    /// The number of the last event here and there.
    pub here: Option<u64>,
    pub there: Option<u64>,
    /// How the two logs stand to each other, where both are there; or why that cannot be told.
    pub relation: Option<Result<Relation, String>>,
    /// Whether all that belongs to the remote's log is here as well: summary, sessions, transcripts.
    pub is_whole: bool,
    pub is_active: bool,
    pub claim: Option<Claim>,
    pub is_claimed_here: bool,
    pub from: Option<Machine>,
    /// None where it is in plain text.
    pub recipients: Vec<String>,
    pub transcripts: bool,
}

impl Remote {
    /// How each of these runs, and each at the remote, stands.
    pub async fn standings(&self, store: &dyn LogReader, runs: &[RunId]) -> Result<Vec<Standing>, SyncError> {
        let mut there = self.seen(&[])?;
        let known: Vec<RunId> = store.runs().await?.into_iter().map(|stored| stored.id).collect();
        let mut all = Vec::new();
        let elsewhere: Vec<RunId> = there.keys().filter(|run| !runs.contains(run)).cloned().collect();
        for run in runs.iter().chain(&elsewhere) {
            let seen = there.remove(run);
            let (records, broken) = match known.contains(run) {
                false => (None, None),
                true => match store.load(run, 0).await {
                    Ok(records) => (Some(records), None),
                    Err(error) => (None, Some(error.to_string())),
                },
            };
            let mut standing = self.standing(run, records.as_deref(), seen);
            standing.relation = broken.map(Err).or(standing.relation);
            all.push(standing);
        }
        Ok(all)
    }

    fn standing(
        &self,
        run: &RunId,
        records: Option<&[Record]>,
        seen: Option<Result<Seen, SyncError>>,
    ) -> Standing {
        let is_active = self.is_active(run);
        let mut standing = Standing {
            run: run.clone(),
            here: records.map(|records| records.len() as u64),
            there: None,
            relation: None,
            is_whole: true,
            is_active,
            claim: None,
            is_claimed_here: false,
            from: None,
            recipients: Vec::new(),
            transcripts: false,
        };
        match seen {
            None => {}
            Some(Err(error)) => standing.relation = Some(Err(error.to_string())),
            Some(Ok(seen)) => {
                standing.relation = records.map(|records| {
                    let here = Here { run, records, is_active };
                    self.relation(&seen, &here).map_err(|error| error.to_string())
                });
                let beside = self.beside(run, &seen);
                standing.is_whole = records.is_some() && beside.is_ok_and(|beside| beside == Beside::Whole);
                let Manifest { events, from, recipients, transcripts, claim, .. } = seen.manifest;
                standing.there = Some(events);
                standing.is_claimed_here = claim.as_ref().is_some_and(|claim| claim.is_of(&self.us));
                (standing.claim, standing.from) = (claim, Some(from));
                (standing.recipients, standing.transcripts) = (recipients, transcripts);
            }
        }
        standing
    }
}
