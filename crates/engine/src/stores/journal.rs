//! The *journal* beside each run's log: what is written of it and not in the database yet.
//!
//! A line is a turn: what was decided together is there together or not at all. It goes to the kernel with one call and needs
//! no other thread, so it outlives this process and not a power cut. The database follows a moment later, with many turns at once. A
//! line tells by its checksum whether it is whole; what a power cut left of the journal ends at the first that is not.

use std::fs::File;
use std::io::{self, Write as _};
use std::path::PathBuf;

use conductor_core::run::event::{Event, Record};
use conductor_core::values::ids::RunId;
use conductor_core::values::units::{Tick, Timestamp};
use serde::{Deserialize, Serialize, Serializer as _};

use crate::host::access;
use crate::host::home::Home;

/// Of the runs of this machine's own database. A store that many machines share has a file for each claim.
pub(super) const NAME: &str = "journal";

/// How long it may become before it begins anew, once the database holds all of it.
const LENGTH: u64 = 256 << 10;

/// A journal that is written to.
pub(super) struct Journal {
    file: File,
    length: u64,
    /// The last event that is in it.
    last: u64,
    /// It ends with a part of a line, which would hide all that is written behind it.
    is_torn: bool,
}

impl Journal {
    pub(super) fn open(home: &Home, run: &RunId, name: &str) -> io::Result<Journal> {
        access::create_private_dir_all(&home.run(run))?;
        let file = access::private().append(true).create(true).open(path(home, run, name))?;
        let length = file.metadata()?.len();
        Ok(Journal { file, length, last: 0, is_torn: false })
    }

    /// All of them or none. Those it holds already are not written again.
    pub(super) fn write(&mut self, records: &[Record]) -> io::Result<()> {
        let new = records.iter().position(|record| record.seq > self.last);
        let Some(new) = new.map(|new| &records[new..]) else { return Ok(()) };
        let line = line(new)?;
        if self.is_torn {
            self.file.set_len(self.length)?;
            self.is_torn = false;
        }
        if let Err(error) = self.file.write_all(&line) {
            self.is_torn = self.file.set_len(self.length).is_err();
            return Err(error);
        }
        self.length += line.len() as u64;
        self.last = records.last().map_or(self.last, |record| record.seq.max(self.last));
        Ok(())
    }

    /// The database holds everything up to this event.
    pub(super) fn is_stored(&mut self, last: u64) {
        if self.length > LENGTH && last >= self.last && self.file.set_len(0).is_ok() {
            self.length = 0;
        }
    }
}

#[derive(Serialize, Deserialize)]
struct Entry<E> {
    seq: u64,
    at: Timestamp,
    tick: u64,
    event: E,
}

fn line(records: &[Record]) -> io::Result<Vec<u8>> {
    const SUM: usize = 9;
    let mut line = Vec::with_capacity(64 + 256 * records.len());
    line.extend([b' '; SUM]);
    let entries = records.iter().map(|record| Entry {
        seq: record.seq,
        at: record.at,
        tick: record.tick.0,
        event: &record.event,
    });
    serde_json::Serializer::new(&mut line).collect_seq(entries)?;
    let sum = format!("{:08x}", crc32fast::hash(&line[SUM..]));
    line[..SUM - 1].copy_from_slice(sum.as_bytes());
    line.push(b'\n');
    Ok(line)
}

/// What a run's journal holds, as far as it is whole. Without one, nothing.
pub(super) fn read(home: &Home, run: &RunId, name: &str) -> io::Result<Vec<Record>> {
    match std::fs::read(path(home, run, name)) {
        Ok(bytes) => Ok(bytes.split(|&byte| byte == b'\n').map_while(turn).flatten().collect()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
        Err(error) => Err(error),
    }
}

fn turn(line: &[u8]) -> Option<Vec<Record>> {
    let (sum, line) = line.split_at_checked(8)?;
    let line = line.strip_prefix(b" ")?;
    let sum = u32::from_str_radix(std::str::from_utf8(sum).ok()?, 16).ok()?;
    let read = || serde_json::from_slice::<Vec<Entry<Event>>>(line).ok();
    let entries = (crc32fast::hash(line) == sum).then(read)??;
    let record = |Entry { seq, at, tick, event }| Record { seq, at, tick: Tick(tick), event };
    Some(entries.into_iter().map(record).collect())
}

/// Those that come right behind an event, without a gap.
pub(super) fn behind(last: u64, records: Vec<Record>) -> impl Iterator<Item = Record> {
    let later = records.into_iter().skip_while(move |record| record.seq <= last);
    later.zip(last + 1..).map_while(|(record, seq)| (record.seq == seq).then_some(record))
}

/// A run's journal is gone from here on: the database holds what was in it. What a power cut brings back of it is known
/// to be there.
pub(super) fn take_away(home: &Home, run: &RunId, name: &str) -> io::Result<()> {
    match std::fs::remove_file(path(home, run, name)) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

/// Where it cannot be removed, it goes with the run's folder.
pub(super) fn remove(home: &Home, run: &RunId, name: &str) {
    let _ = std::fs::remove_file(path(home, run, name));
}

fn path(home: &Home, run: &RunId, name: &str) -> PathBuf {
    home.run(run).join(name)
}
