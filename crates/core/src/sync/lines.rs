//! A log as lines of text, and how two logs of one run stand to each other.

use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::run::event::{Event, Record};
use crate::run::{IllegalEvent, Run};
use crate::values::units::{Tick, Timestamp};

#[derive(Serialize, Deserialize)]
struct Line<E> {
    seq: u64,
    at: Timestamp,
    tick: u64,
    event: E,
}

#[derive(Debug, Error)]
pub enum BadLog {
    #[error(
        "line {line} of its log cannot be read ({why}): it is damaged, or was written by a newer conductor"
    )]
    Unreadable { line: usize, why: String },
    #[error("its log has no event {expected}: line {line} is event {found}")]
    Gap { line: usize, expected: u64, found: u64 },
    #[error("its log has no events")]
    Empty,
    #[error("its log does not fold: {0}")]
    Illegal(#[from] IllegalEvent),
}

/// A record as one line, without the line's end.
pub fn line(record: &Record) -> serde_json::Result<String> {
    let Record { seq, at, tick, event } = record;
    serde_json::to_string(&Line { seq: *seq, at: *at, tick: tick.0, event })
}

pub fn lines(records: &[Record]) -> serde_json::Result<Vec<String>> {
    records.iter().map(line).collect()
}

/// A whole log, from its first event, that folds to a run.
pub fn read(text: &str) -> Result<(Vec<Record>, Run), BadLog> {
    let mut records = Vec::new();
    for (at, text) in text.lines().enumerate() {
        let line: Line<Event> = serde_json::from_str(text)
            .map_err(|error| BadLog::Unreadable { line: at + 1, why: error.to_string() })?;
        let expected = at as u64 + 1;
        if line.seq != expected {
            return Err(BadLog::Gap { line: at + 1, expected, found: line.seq });
        }
        records.push(Record { seq: line.seq, at: line.at, tick: Tick(line.tick), event: line.event });
    }
    if records.is_empty() {
        return Err(BadLog::Empty);
    }
    let run = Run::replay(&records)?;
    Ok((records, run))
}

/// How this machine's log of a run stands to another's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Relation {
    Same,
    /// Ours goes on, by so many events.
    Ahead(u64),
    /// The other goes on, by so many events.
    Behind(u64),
    /// They are the same up to this event, and each goes on by itself.
    Parted {
        after: u64,
    },
}

/// Compares two logs, line by line. What one machine has blotted out as a secret another may know as it is.
pub fn relation(ours: &[String], other: &[String]) -> Relation {
    let same = ours.iter().zip(other).take_while(|(ours, other)| is_same(ours, other)).count();
    let (left, more) = (ours.len() - same, other.len() - same);
    match (left as u64, more as u64) {
        (0, 0) => Relation::Same,
        (left, 0) => Relation::Ahead(left),
        (0, more) => Relation::Behind(more),
        _ => Relation::Parted { after: same as u64 },
    }
}

/// Blotting out replaces each byte of a secret by a `*` and moves nothing else.
fn is_same(one: &str, other: &str) -> bool {
    let alike = |(a, b): (u8, u8)| a == b || a == b'*' || b == b'*';
    one == other || one.len() == other.len() && one.bytes().zip(other.bytes()).all(alike)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::Plan;
    use crate::run::event::Options;
    use crate::values::units::Now;

    fn log() -> Vec<Record> {
        let (_, created) = Run::create(Plan::default(), Now { at: Timestamp(7), ..Now::default() });
        let event = Event::RunStarted { options: Box::new(Options::with_slots(2)) };
        vec![created, Record { seq: 2, at: Timestamp(8), tick: Tick(3), event }]
    }

    #[test]
    fn a_log_comes_back_as_it_went() {
        let log = log();
        let text = lines(&log).unwrap().join("\n");
        assert_eq!(read(&text).unwrap().0, log);
    }

    #[test]
    fn a_log_that_is_not_whole_is_refused_with_its_cause() {
        let told = |text: &str| read(text).unwrap_err().to_string();
        let lines = lines(&log()).unwrap();
        assert_eq!(told(""), "its log has no events");
        assert_eq!(told(&lines[1]), "its log has no event 1: line 1 is event 2");
        assert!(told(&lines.join("\n").replace("run_started", "run_begun")).starts_with("line 2 of its log"));
        assert!(
            told(&lines.join("\n")[..lines[0].len() + 9]).starts_with("line 2 of its log cannot be read")
        );
        let twice =
            [&lines[0], &lines[0].replacen("\"seq\":1", "\"seq\":2", 1)].map(String::as_str).join("\n");
        assert!(told(&twice).starts_with("its log does not fold"), "{}", told(&twice));
    }

    #[test]
    fn logs_are_the_same_ahead_behind_or_parted() {
        let log = |words: &str| words.split(' ').map(str::to_owned).collect::<Vec<_>>();
        let stand = |ours: &str, other: &str| relation(&log(ours), &log(other));
        assert_eq!(stand("a b", "a b"), Relation::Same);
        assert_eq!(stand("a b c", "a b"), Relation::Ahead(1));
        assert_eq!(stand("a", "a b c"), Relation::Behind(2));
        assert_eq!(stand("a b c", "a b d e"), Relation::Parted { after: 2 });
        assert_eq!(stand("x", "y"), Relation::Parted { after: 0 });
        assert_eq!(stand("key=secret! b", "key=******! b c"), Relation::Behind(1), "blotted out");
        assert_eq!(stand("key=secret", "key=***"), Relation::Parted { after: 0 }, "not by as many stars");
    }
}
