//! The lines that go over a control socket, and what they mean. Both clients and the server read and write them here.

use std::io;
use std::sync::Arc;

use conductor_core::run::event::{Event, Record};
use conductor_core::schedule::Request;
use conductor_core::values::units::{Millis, Tick, Timestamp};
use serde::{Deserialize, Serialize};

use super::{ControlError, Followed};
use crate::dispatch::{LiveView, Query, View};

pub(super) const LONGEST_REQUEST: u64 = 1 << 20;

/// A view of the largest plans has a tenth of this. What is longer comes from no coordinator of ours.
pub(super) const LONGEST_ANSWER: u64 = 1 << 28;

/// A line that asks for no change. All others are requests.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Question {
    Look(Query),
    /// Everything that happens from now on, a line each.
    Follow,
    /// To leave the run to the one who asks, of this version; what holds it up for longer than this ends the matter.
    HandOver {
        version: String,
        patience: Millis,
    },
    /// The one who asked that is ready.
    Take,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Reply {
    Done,
    Refused(String),
    Seen(View),
    /// What follows comes after the event of this number.
    Following(u64),
    /// What the run's coordinator waits for before it leaves the run.
    Awaits(Vec<String>),
    /// It waits for nothing but the one who asks.
    Ready,
}

/// A record as it goes over the socket.
#[derive(Debug, Serialize, Deserialize)]
struct Told<E> {
    seq: u64,
    at: Timestamp,
    tick: u64,
    event: E,
}

/// In place of a record: no more are told, and those behind the event of this number were not.
#[derive(Debug, Serialize, Deserialize)]
struct Missed {
    missed: u64,
}

fn line(value: &impl Serialize) -> io::Result<Vec<u8>> {
    let mut line = serde_json::to_vec(value)?;
    line.push(b'\n');
    Ok(line)
}

pub(super) fn request(request: &Request) -> io::Result<Vec<u8>> {
    line(request)
}

pub(super) fn question(question: &Question) -> io::Result<Vec<u8>> {
    line(question)
}

pub(super) fn reply(reply: &Reply) -> io::Result<Vec<u8>> {
    line(reply)
}

pub(super) fn record(Record { seq, at, tick, event }: &Record) -> io::Result<Vec<u8>> {
    line(&Told { seq: *seq, at: *at, tick: tick.0, event })
}

pub(super) fn missed(after: u64) -> io::Result<Vec<u8>> {
    line(&Missed { missed: after })
}

/// What a line of a follower says; nothing where it is cut off in the middle. The log holds the whole record.
pub(super) fn followed(line: &[u8]) -> Option<io::Result<Followed>> {
    let line = line.strip_suffix(b"\n")?;
    let told = match serde_json::from_slice::<Told<Event>>(line) {
        Ok(Told { seq, at, tick, event }) => {
            Ok(Followed::Record(Box::new(Record { seq, at, tick: Tick(tick), event })))
        }
        Err(error) => match serde_json::from_slice(line) {
            Ok(Missed { missed }) => Ok(Followed::Missed { after: missed }),
            Err(_) => Err(io::Error::other(error)),
        },
    };
    Some(told)
}

/// The first line that comes back. Nothing comes where the run came to its end before it got to this.
pub(super) fn heard(line: &[u8]) -> Result<Reply, ControlError> {
    match serde_json::from_slice(line) {
        _ if line.is_empty() => Err(ControlError::NotThere),
        Ok(Reply::Refused(why)) => Err(ControlError::Refused(why)),
        Ok(reply) => Ok(reply),
        Err(error) => Err(io::Error::other(error).into()),
    }
}

pub(super) fn seen(reply: Reply) -> Result<View, ControlError> {
    match reply {
        Reply::Seen(view) => Ok(view),
        _ => Err(unexpected()),
    }
}

pub(super) fn live_view(view: View) -> Result<LiveView, ControlError> {
    match view {
        View::Snapshot(live_view) => Ok(Arc::unwrap_or_clone(live_view)),
        _ => Err(unexpected()),
    }
}

pub(super) fn following(reply: &Reply) -> Result<u64, ControlError> {
    match reply {
        Reply::Following(seq) => Ok(*seq),
        _ => Err(unexpected()),
    }
}

fn unexpected() -> ControlError {
    io::Error::other("it said something else").into()
}

pub(super) fn unconnected(error: io::Error) -> ControlError {
    match error.kind() {
        io::ErrorKind::NotFound | io::ErrorKind::ConnectionRefused => ControlError::NotThere,
        _ => unwritten(error),
    }
}

pub(super) fn unwritten(error: io::Error) -> ControlError {
    match error.kind() {
        io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut => ControlError::Silent,
        _ => ControlError::Unreachable(error),
    }
}

pub(super) fn unheard(error: io::Error) -> ControlError {
    match error.kind() {
        io::ErrorKind::ConnectionReset => ControlError::NotThere,
        _ => unwritten(error),
    }
}
