//! A turn is made durable, then told, then done; and what is decided while the store cannot be written is held in order.
//!
//! One thing does not wait: stopping. What a person, a deadline or a cap stops is stopped when that is decided, and
//! recorded as soon as the store takes it. A coordinator that dies in between leaves an attempt that counts as interrupted.

use std::time::Duration;

use conductor_core::run::event::{DrainReason, Event, Record};
use conductor_core::run::{IllegalEvent, Stage};
use conductor_core::schedule::Action;

use tokio::time::Instant;

use super::backlog::timed;
use super::{Coordinator, CoordinatorError, Words};
use crate::agents;
use crate::stores::StoreError;
use crate::stores::bus::Records;

/// How long an append may take before anything else is looked at: a healthy one takes far less, and what comes in
/// meanwhile is decided together after it.
pub(super) const SOON: Duration = Duration::from_millis(250);

/// While the store cannot be written: first and longest wait before the next try.
const FIRST_WAIT: Duration = Duration::from_millis(100);
const LONGEST_WAIT: Duration = Duration::from_secs(2);

/// How long a killed run waits for the store with its last word.
const LAST_WORD: Duration = Duration::from_secs(3);

/// What was decided: to be recorded, and then to be done and answered.
#[derive(Default)]
pub(super) struct Turn {
    pub(super) records: Vec<Record>,
    pub(super) actions: Vec<Action>,
    pub(super) words: Words,
    /// Where the decision that was to follow these does not fit the run.
    pub(super) illegal: Option<IllegalEvent>,
}

impl Turn {
    fn absorb(&mut self, later: Turn) {
        self.records.extend(later.records);
        self.actions.extend(later.actions);
        self.words.extend(later.words);
    }
}

impl Coordinator {
    pub(super) async fn carry_out(&mut self, turn: Turn) -> Result<(), CoordinatorError> {
        let mut next = turn;
        loop {
            self.stop_at_once(&mut next.actions);
            let recorded = match self.is_enough_written(&next) && self.write(&next.records) {
                true => None,
                false => self.record(std::mem::take(&mut next.records), next.illegal.take()).await?,
            };
            let Turn { actions, words, .. } = next;
            for action in actions {
                self.perform(action);
            }
            for (waits, word) in words {
                let _ = waits.send(word);
            }
            self.answer_looks();
            match recorded {
                Some(held) => next = held,
                None => return Ok(()),
            }
        }
    }

    fn answer_looks(&mut self) {
        for (query, waits) in std::mem::take(&mut self.looks) {
            let _ = waits.send(self.view(query));
        }
    }

    fn stop_at_once(&mut self, actions: &mut Vec<Action>) {
        for stop in actions.extract_if(.., |action| matches!(action, Action::Stop { .. })) {
            self.perform(stop);
        }
    }

    /// Waits until these are durable, and publishes them. What was decided meanwhile is given back: nothing of it is
    /// recorded or done, but for stops.
    pub(super) async fn record(
        &mut self,
        records: Vec<Record>,
        illegal: Option<IllegalEvent>,
    ) -> Result<Option<Turn>, CoordinatorError> {
        let mut held = None;
        let records = self.with_backlog(records, &mut held).await?;
        if let Some(illegal) = illegal {
            // What had been decided before it did happen; nothing of it is done any more.
            if let Ok(Ok(())) = tokio::time::timeout(LAST_WORD, self.log.append(&records)).await {
                self.publish(&records);
            }
            return Err(illegal.into());
        }
        if records.is_empty() {
            return Ok(held);
        }
        self.append(&records, &mut held).await?;
        if records.iter().any(|record| matches!(record.event, Event::PlanAmended { .. })) {
            agents::keep_secrets_of(self.scheduler.run().plan());
            let plan = self.scheduler.run().plan().clone();
            self.worker.plan.set(plan.clone());
            self.dispatch.amend(&plan);
        }
        for record in records.iter() {
            if let Event::PriorityChanged { task, priority } = &record.event {
                self.dispatch.prioritize(task, *priority);
            }
        }
        self.publish(&records);
        Ok(held)
    }

    pub(super) fn publish(&mut self, records: &Records) {
        self.durable = records.last().map_or(self.durable, |record| record.seq);
        self.bus.publish(records);
    }

    /// Waits for a full disk or a foreign lock to go away; only what no waiting can mend is an error.
    async fn append(&mut self, records: &Records, held: &mut Option<Turn>) -> Result<(), CoordinatorError> {
        let log = self.log.clone();
        let (mut wait, mut patience) = (FIRST_WAIT, SOON);
        let appended = loop {
            match self.meanwhile(timed(log.append(records), records.len()), patience, held).await? {
                Err(StoreError::Unavailable { why }) => {
                    self.miss_the_store(why);
                    patience = Duration::ZERO;
                    self.meanwhile(tokio::time::sleep(wait), patience, held).await?;
                    wait = (wait * 2).min(LONGEST_WAIT);
                }
                appended => break appended,
            }
        };
        if self.away.take().is_some() && appended.is_ok() {
            self.notice("the store can be written again, going on".to_owned());
        }
        (self.missed_since, self.told_unrecorded) = (None, false);
        Ok(appended?)
    }

    fn miss_the_store(&mut self, why: String) {
        if self.away.as_ref() != Some(&why) {
            self.notice(format!("{why}; nothing is lost, waiting for it"));
            self.away = Some(why);
        }
    }

    /// Waits for something that concerns the store. Where that takes long, what comes in is decided meanwhile.
    pub(super) async fn meanwhile<T>(
        &mut self,
        awaited: impl Future<Output = T>,
        patience: Duration,
        held: &mut Option<Turn>,
    ) -> Result<T, CoordinatorError> {
        tokio::pin!(awaited);
        if !patience.is_zero()
            && let Ok(done) = tokio::time::timeout(patience, &mut awaited).await
        {
            return Ok(done);
        }
        let since = *self.missed_since.get_or_insert_with(Instant::now);
        self.answer_looks();
        loop {
            let is_idle = self.attempts.is_empty() && self.merging.is_none();
            if is_idle {
                self.tell_unrecorded();
            }
            let leaves = is_idle && self.is_killed;
            let arrivals = tokio::select! {
                biased;
                done = &mut awaited => return Ok(done),
                () = tokio::time::sleep_until(since + LAST_WORD), if leaves => {
                    return Err(CoordinatorError::Unrecorded { why: self.why_away() });
                }
                arrivals = self.gather() => arrivals,
            };
            let mut turn = self.decide(arrivals);
            self.stop_at_once(&mut turn.actions);
            if let Some(illegal) = turn.illegal.take() {
                return Err(illegal.into());
            }
            held.get_or_insert_default().absorb(turn);
        }
    }

    /// The user who has stopped everything is told that it is, and that this is not recorded.
    fn tell_unrecorded(&mut self) {
        let is_left = matches!(
            self.scheduler.run().stage(),
            Stage::Draining(DrainReason::User) | Stage::Stopped(DrainReason::User)
        );
        if is_left && !self.is_killed && !std::mem::replace(&mut self.told_unrecorded, true) {
            let (why, id) = (self.why_away(), &self.id);
            self.notice(format!(
                "nothing is at work any more, but that is not recorded yet: {why}; waiting for it. Killed (Ctrl-C thrice), \
                 the run is left without that; `conductor run --resume {id}` goes on then"
            ));
        }
    }

    fn why_away(&self) -> String {
        self.away.clone().unwrap_or_else(|| "the store does not answer".to_owned())
    }
}
