//! Records as rows of the table of events, each chained to the one before it.

use conductor_core::run::event::{Event, Record};
use conductor_core::values::units::{Tick, Timestamp};

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

/// All of them in one parameter. Numbers and strings only, which JSON can always hold.
pub(super) fn as_array(rows: &[EventRow]) -> String {
    let rows = rows.iter().map(|row| (row.seq, row.at, row.tick.0, EVENT_VERSION, row.sum, &row.body));
    serde_json::to_string(&rows.collect::<Vec<_>>()).unwrap_or_default()
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
