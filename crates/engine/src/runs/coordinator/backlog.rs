//! What is written and not yet on the disk.
//!
//! Two grades of safety. *Written* is in the kernel and outlives this process; that is enough before a command is started
//! where the user is, since a power cut takes the command along. On the *disk* comes before everything that costs money,
//! leaves the run or leaves the machine: an agent, a workspace, a landing, an answer to a client, and what onlookers
//! are told. What is only written follows in a moment, many turns at once.

use std::time::Duration;

use conductor_core::run::event::{Event, Record};
use conductor_core::schedule::Action;
use tokio::task::{JoinError, JoinHandle};
use tokio::time::Instant;
use tracing::Instrument as _;

use super::holding::{SOON, Turn};
use super::{Coordinator, CoordinatorError};
use crate::host::logs::millis;
use crate::stores::StoreError;
use crate::stores::bus::Records;

/// How long what is written waits for company on its way to the disk.
const COMPANY: Duration = Duration::from_millis(20);

/// How many records may wait: where the disk is slower than the run, the run waits for it.
const MOST: usize = 10_000;

/// A healthy append takes a tenth of this.
const SLOW: Duration = Duration::from_millis(100);

#[derive(Default)]
pub(super) struct Backlog {
    /// Written, and not on its way to the disk yet; since when.
    waiting: Vec<Record>,
    since: Option<Instant>,
    on_its_way: Option<(Records, JoinHandle<Result<(), StoreError>>)>,
    /// Why what was on its way did not arrive.
    failed: Option<StoreError>,
}

impl Backlog {
    pub(super) fn is_empty(&self) -> bool {
        self.waiting.is_empty() && self.on_its_way.is_none()
    }

    /// When what waits is to go.
    pub(super) fn due(&self) -> Option<Instant> {
        self.since.filter(|_| self.on_its_way.is_none()).map(|since| since + COMPANY)
    }

    fn is_due(&self) -> bool {
        self.due().is_some_and(|due| due <= Instant::now())
    }

    /// When what is on its way has arrived, and whether it has. Can be called off and called again.
    pub(super) async fn appended(&mut self) -> Result<(), StoreError> {
        match &mut self.on_its_way {
            Some((_, appending)) => finished(appending.await),
            None => std::future::pending().await,
        }
    }
}

impl Coordinator {
    /// Whether it is enough that a turn's records are written, for now.
    pub(super) fn is_enough_written(&self, turn: &Turn) -> bool {
        let is_local = |action: &Action| match action {
            Action::Start { task, choice: None, .. } => {
                let run = self.scheduler.run();
                run.place(task)
                    .is_some_and(|place| !self.worker.workspaces.is_apart(&run.plan().tasks[place]))
            }
            _ => false,
        };
        let is_plain =
            |record: &Record| !matches!(record.event, Event::RunStarted { .. } | Event::PlanAmended { .. });
        !self.finished
            && turn.illegal.is_none()
            && turn.words.is_empty()
            && self.looks.is_empty()
            && self.backlog.failed.is_none()
            && self.backlog.waiting.len() < MOST
            && turn.actions.iter().all(is_local)
            && turn.records.iter().all(is_plain)
    }

    /// Whether they are written. Where not, they have to be appended, which says what is in the way and waits for it.
    pub(super) fn write(&mut self, records: &[Record]) -> bool {
        if !records.is_empty() {
            if self.log.write(records).is_err() {
                return false;
            }
            self.backlog.waiting.extend_from_slice(records);
            self.backlog.since.get_or_insert_with(Instant::now);
        }
        if self.backlog.is_due() {
            self.send_on();
        }
        true
    }

    fn send_on(&mut self) {
        let records: Records = std::mem::take(&mut self.backlog.waiting).into();
        self.backlog.since = None;
        let (log, going) = (self.log.clone(), records.clone());
        let appending = async move { timed(log.append(&going), going.len()).await };
        let appending = tokio::spawn(appending.in_current_span());
        self.backlog.on_its_way = Some((records, appending));
    }

    /// What was on its way has arrived, or has to go again; whether all is well.
    pub(super) fn settle(&mut self, appended: Result<(), StoreError>) -> bool {
        match self.backlog.on_its_way.take() {
            Some((records, _)) => self.account_for(records, appended),
            None => true,
        }
    }

    fn account_for(&mut self, records: Records, appended: Result<(), StoreError>) -> bool {
        match appended {
            Ok(()) => {
                self.publish(&records);
                true
            }
            Err(error) => {
                self.backlog.waiting.splice(..0, records.iter().cloned());
                self.backlog.failed = Some(error);
                false
            }
        }
    }

    /// These behind all that is not on the disk yet. What was decided while something was on its way is held.
    pub(super) async fn with_backlog(
        &mut self,
        records: Vec<Record>,
        held: &mut Option<Turn>,
    ) -> Result<Records, CoordinatorError> {
        self.backlog.since = None;
        if let Some((going, appending)) = self.backlog.on_its_way.take() {
            let appended = self.meanwhile(appending, SOON, held).await?;
            self.account_for(going, finished(appended));
        }
        match self.backlog.failed.take() {
            None | Some(StoreError::Unavailable { .. }) => {}
            Some(error) => return Err(error.into()),
        }
        let mut all = std::mem::take(&mut self.backlog.waiting);
        all.extend(records);
        Ok(all.into())
    }
}

/// An append that is slow holds up all that waits for it.
pub(super) async fn timed<T>(appending: impl Future<Output = T>, records: usize) -> T {
    let begun = Instant::now();
    let appended = appending.await;
    let took = begun.elapsed();
    if took >= SLOW {
        tracing::warn!(records, took = millis(took), "the store was slow");
    }
    appended
}

fn finished<T>(done: Result<T, JoinError>) -> T {
    done.unwrap_or_else(|error| std::panic::resume_unwind(error.into_panic()))
}
