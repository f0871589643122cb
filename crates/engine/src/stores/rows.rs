//! Records as rows of the table of events, each chained to the one before it, and what is known of the end of a log.

use conductor_core::run::event::{Event, Record, RunOutcome};
use conductor_core::values::units::{Tick, Timestamp};

use super::witness::Witness;
use super::{Epoch, StoreError};

/// The form that events are written in.
pub(super) const EVENT_VERSION: i64 = 1;

pub(super) struct EventRow {
    pub(super) seq: u64,
    pub(super) at: Timestamp,
    pub(super) tick: Tick,
    pub(super) sum: u32,
    pub(super) body: String,
}

impl EventRow {
    /// `before` is the sum of the row before it.
    pub(super) fn of(before: u32, record: &Record) -> serde_json::Result<EventRow> {
        let body = body_of(&record.event)?;
        let sum = chained(before, record.seq, &body);
        Ok(EventRow { seq: record.seq, at: record.at, tick: record.tick, sum, body })
    }
}

pub(super) fn chained(before: u32, seq: u64, body: &str) -> u32 {
    let mut hasher = crc32fast::Hasher::new_with_initial(before);
    hasher.update(&seq.to_le_bytes());
    hasher.update(body.as_bytes());
    hasher.finalize()
}

/// An event as it lies in a database.
pub(super) struct Stored {
    pub(super) seq: u64,
    pub(super) at: Timestamp,
    pub(super) tick: Tick,
    pub(super) version: i64,
    pub(super) sum: u32,
    pub(super) body: String,
}

impl Stored {
    /// Checked against the sum of the row before it.
    pub(super) fn record(&self, before: u32, place: &str) -> Result<Record, StoreError> {
        let &Stored { seq, at, tick, version, sum, ref body } = self;
        let damaged = |why| StoreError::Damaged { place: place.to_owned(), why };
        if version > EVENT_VERSION {
            let (found, known) = (version, EVENT_VERSION);
            return Err(StoreError::Newer { place: place.to_owned(), found, known });
        }
        if chained(before, seq, body) != sum {
            return Err(damaged(format!("event {seq} does not match its checksum")));
        }
        let event = serde_json::from_str(body)
            .map_err(|error| damaged(format!("event {seq} cannot be read: {error}")))?;
        Ok(Record { seq, at, tick, event })
    }
}

/// Where the next event of a run goes, and what it is chained to.
pub(super) struct LogEnd {
    pub(super) key: i64,
    pub(super) epoch: Epoch,
    pub(super) last_seq: u64,
    pub(super) sum: u32,
    pub(super) witness: Witness,
}

/// Why records are no rows of a log.
pub(super) enum NoRows {
    /// They leave a gap before the event of this number.
    Gap(u64),
    Unreadable(serde_json::Error),
}

impl LogEnd {
    /// The records that are new as rows, each chained to the one before.
    pub(super) fn rows(&self, records: &[Record]) -> Result<Vec<EventRow>, NoRows> {
        let (mut seq, mut sum) = (self.last_seq, self.sum);
        let mut rows = Vec::with_capacity(records.len());
        for record in records.iter().filter(|record| record.seq > self.last_seq) {
            if record.seq != seq + 1 {
                return Err(NoRows::Gap(record.seq));
            }
            let row = EventRow::of(sum, record).map_err(NoRows::Unreadable)?;
            (seq, sum) = (row.seq, row.sum);
            rows.push(row);
        }
        Ok(rows)
    }

    pub(super) fn acknowledge(&mut self, last: &EventRow) {
        self.last_seq = last.seq;
        self.sum = last.sum;
        self.witness.note(last.seq);
    }
}

/// What an event says of its run's status, and when that ended, where it says something.
pub(super) fn status(record: &Record) -> Option<(&'static str, Option<Timestamp>)> {
    match &record.event {
        Event::RunStarted { .. } => Some(("running", None)),
        Event::RunStopped { .. } => Some(("stopped", Some(record.at))),
        Event::RunFinished { outcome: RunOutcome::Completed } => Some(("completed", Some(record.at))),
        Event::RunFinished { outcome: RunOutcome::Failed } => Some(("failed", Some(record.at))),
        Event::RunFinished { outcome: RunOutcome::Cancelled } => Some(("cancelled", Some(record.at))),
        _ => None,
    }
}

/// As JSON. The plan of a large run is given no more room than it takes, which is counted first: it is most of what the
/// program holds at that moment.
fn body_of(event: &Event) -> serde_json::Result<String> {
    if !matches!(event, Event::RunCreated { .. }) {
        return serde_json::to_string(event);
    }
    let mut length = Length(0);
    serde_json::to_writer(&mut length, event)?;
    let mut text = Vec::with_capacity(length.0);
    serde_json::to_writer(&mut text, event)?;
    String::from_utf8(text).map_err(serde::ser::Error::custom)
}

struct Length(usize);

impl std::io::Write for Length {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0 += bytes.len();
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}
