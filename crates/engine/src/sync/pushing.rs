//! Runs to the remote: first put together and shown, then sent.

use std::collections::BTreeMap;

use conductor_core::run::event::Record;
use conductor_core::sync::{self as carried, MANIFEST, Manifest, Push};
use conductor_core::values::ids::RunId;
use conductor_core::values::units::Timestamp;

use super::error::SyncError;
use super::gathering::{self, SessionLines};
use super::notes::{self, RunNote};
use super::origin::{self, Repositories};
use super::remote::{Here, Remote, Seen};
use crate::git::ref_store::{Swap, Swapped};
use crate::stores::{LogReader, StoredRun};

/// What a push would do about a run.
pub struct ToPush {
    pub run: RunId,
    pub what: Result<Push, SyncError>,
    /// How many events its log has here.
    pub events: u64,
    /// What is sent, as it is sent.
    pub bytes: u64,
    /// Lines and files in which a secret was blotted out on the way.
    pub blotted: usize,
    /// Transcripts for which there was no room.
    pub left_out: usize,
    pub transcripts: bool,
    /// Its agents have outlived their coordinator and are at work: it stays claimed by this machine.
    pub has_agents: bool,
    /// Who can read it there now, and could not any more.
    pub excluded: Vec<String>,
    swap: Option<Swap>,
    /// The blob of its contents.
    contents: Option<String>,
}

impl ToPush {
    fn nothing(run: &RunId) -> ToPush {
        ToPush {
            run: run.clone(),
            what: Ok(Push::Nothing),
            events: 0,
            bytes: 0,
            blotted: 0,
            left_out: 0,
            transcripts: false,
            has_agents: false,
            excluded: Vec::new(),
            swap: None,
            contents: None,
        }
    }
}

pub struct Pushed {
    pub run: RunId,
    pub outcome: Result<(), SyncError>,
}

impl Remote {
    /// Puts together what is to be sent. Nothing leaves this machine yet.
    pub async fn to_push(
        &self,
        store: &dyn LogReader,
        runs: &[StoredRun],
        now: Timestamp,
    ) -> Result<Vec<ToPush>, SyncError> {
        if !self.settings.code_remote {
            for stored in runs {
                self.address.check_is_not_of_code(&stored.directory)?;
            }
        }
        let recipients = self.recipients()?;
        let wanted: Vec<RunId> = runs.iter().map(|stored| stored.id.clone()).collect();
        let mut seen = if wanted.is_empty() { BTreeMap::new() } else { self.seen(&wanted)? };
        let lines = SessionLines::read(&self.home)?;
        let mut repositories = Repositories::default();
        let mut all = Vec::new();
        for stored in runs {
            // Looked at before the log: one that ends meanwhile is pushed as active, and once more.
            let is_active = self.is_active(&stored.id);
            let loaded = store.load(&stored.id, 0).await;
            let mut one = ToPush::nothing(&stored.id);
            one.has_agents = is_active && self.has_agents(&stored.id);
            let records = match loaded {
                Ok(records) => records,
                Err(error) => {
                    one.what = Err(error.into());
                    all.push(one);
                    continue;
                }
            };
            one.events = records.len() as u64;
            let here = Here { run: &stored.id, records: &records, is_active };
            let there = seen.remove(&stored.id).transpose();
            let around = Around { stored, recipients: &recipients, lines: lines.of(&stored.id), now };
            one.what = match there {
                Ok(there) => self.put_together(&here, there, around, &mut repositories, &mut one),
                Err(error) => Err(error),
            };
            all.push(one);
        }
        Ok(all)
    }

    fn put_together(
        &self,
        here: &Here<'_>,
        there: Option<Seen>,
        Around { stored, recipients, lines, now }: Around<'_>,
        repositories: &mut Repositories,
        one: &mut ToPush,
    ) -> Result<Push, SyncError> {
        let local = self.local(here);
        let claim = there.as_ref().and_then(|seen| seen.manifest.claim.as_ref());
        let claim = carried::claim_after_push(local, claim, now);
        // What was pushed with transcripts once stays so.
        one.transcripts =
            self.settings.transcripts || there.as_ref().is_some_and(|seen| seen.manifest.transcripts);
        let push = match &there {
            None => carried::push(local, None, false)?,
            Some(seen) => {
                let relation = self.relation(seen, here)?;
                let Manifest { recipients: known, transcripts, claim: held, .. } = &seen.manifest;
                let is_settled = known == recipients && *transcripts == one.transcripts && *held == claim;
                carried::push(local, Some(seen.there(relation)), is_settled)?
            }
        };
        if matches!(push, Push::Nothing | Push::Behind(_)) {
            if let (Push::Nothing, Some(seen)) = (&push, &there) {
                self.note_push(here.run, &seen.commit, one.events.min(seen.manifest.events), None)?;
            }
            return Ok(push);
        }
        // It would replace what this machine does not have yet.
        if there.is_some() && notes::run(&self.home, here.run)?.is_some_and(|note| note.is_unfinished()) {
            return Err(SyncError::Unfinished(here.run.clone()));
        }
        let known = there.iter().flat_map(|seen| &seen.manifest.recipients);
        let is_excluded = |one: &&String| !recipients.is_empty() && !recipients.contains(one);
        one.excluded = known.filter(is_excluded).cloned().collect();
        let run = gathering::folded(stored, here.records)?;
        let origin = origin::of(stored, &run, repositories)?;
        let of_run = (&run, here.records);
        let parcel = gathering::gather(&self.home, here.run, of_run, &origin, lines, one.transcripts)?;
        let manifest = Manifest {
            schema: MANIFEST.to_owned(),
            run: here.run.clone(),
            events: one.events,
            at: here.records.last().map_or(Timestamp(0), |last: &Record| last.at),
            from: self.us.clone(),
            recipients: recipients.to_vec(),
            transcripts: one.transcripts,
            claim,
        };
        let put = self.put(&manifest, &parcel.contents, &parcel.parts)?;
        (one.bytes, one.blotted, one.left_out) = (put.bytes, parcel.blotted, parcel.left_out);
        let name = format!("{}{}", super::remote::RUNS, here.run);
        one.swap = Some(Swap { name, from: there.map(|seen| seen.commit), to: Some(put.commit) });
        one.contents = put.contents;
        Ok(push)
    }

    /// Sends what was put together. Each run goes or stays by itself: what another machine has moved meanwhile is told.
    pub fn push(&self, all: &[ToPush]) -> Result<Vec<Pushed>, SyncError> {
        let sent: Vec<(&ToPush, Swap)> =
            all.iter().filter_map(|one| Some((one, one.swap.clone()?))).collect();
        if sent.is_empty() {
            return Ok(Vec::new());
        }
        self.make()?;
        let swaps: Vec<Swap> = sent.iter().map(|(_, swap)| swap.clone()).collect();
        let became = self.store.swap(&swaps).map_err(|source| self.told(source))?;
        let each = sent.into_iter().zip(became).map(|((one, swap), became)| {
            let outcome = match (became, swap.to) {
                (Swapped::Done, Some(commit)) => {
                    self.note_push(&one.run, &commit, one.events, one.contents.as_deref())
                }
                (Swapped::Done, None) => Ok(()),
                (Swapped::Moved, _) => Err(SyncError::Moved(one.run.clone())),
                (Swapped::Refused(why), _) => Err(SyncError::Rejected { name: swap.name, why }),
            };
            Pushed { run: one.run.clone(), outcome }
        });
        Ok(each.collect())
    }

    /// `contents` is nothing where all was there already: what this machine has of it is as it was then.
    fn note_push(
        &self,
        run: &RunId,
        commit: &str,
        events: u64,
        contents: Option<&str>,
    ) -> Result<(), SyncError> {
        let mut before = notes::run(&self.home, run)?.unwrap_or_else(|| RunNote::first(false));
        before.contents = contents.map(str::to_owned).or(before.contents);
        self.note(run, commit, events, &before)
    }
}

/// What is the same for all runs of a push, or known of one beside its log.
struct Around<'a> {
    stored: &'a StoredRun,
    recipients: &'a [String],
    lines: &'a [String],
    now: Timestamp,
}
