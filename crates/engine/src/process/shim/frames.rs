//! What passes between a shim and its coordinator: frames of a kind, a number and bytes, the same both ways.
//!
//! What is said to an agent because of something it has written carries the place behind that in its output. A coordinator
//! that came later reads the output from its start and says all of it again; the shim leaves out what it has written.

use std::io::{self, Read, Write};
use std::ops::RangeInclusive;

use serde::Serialize;
use serde::de::DeserializeOwned;

/// Of what is said here. A shim may be older than the coordinator that takes hold of it.
pub(super) const VERSION: u32 = 3;

/// What this program can speak to. One of the version before does not know `Until`.
pub(super) const READS: RangeInclusive<u32> = 2..=3;
pub(super) const KNOWS_UNTIL: u32 = 3;

/// No frame is longer: a prompt with all there is to know is far below this.
const LONGEST: u32 = 256 << 20;

const HEAD: usize = 13;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum Kind {
    /// Who wants to take hold of the agent (`Hello`).
    Hello = 1,
    /// What to start; the first frame of the coordinator that starts the shim.
    Start = 2,
    /// For the agent's standard input. Its number is the place that it answers, plus one; 0 where it answers nothing.
    Say = 3,
    /// Nothing more comes for its standard input.
    Close = 4,
    /// Up to this place its output was heard, and written down for people.
    Heard = 5,
    /// Something the next coordinator is to know, in its own words.
    Keep = 6,
    /// What the agent may use without a coordinator (`Slice`), with a number to confirm it by.
    Grant = 7,
    /// The coordinator leaves, and another is about to come: the last frame of this one. A shim that does not know it lets go of
    /// the coordinator as well.
    Leave = 8,
    /// So many milliseconds of the run's time are left; all there is for `u64::MAX`.
    Until = 9,
    /// The agent was started (`Process`).
    Started = 20,
    /// It could not be started: the number is the system's, the bytes are words.
    Failed = 21,
    /// To a coordinator that came later (`Welcome`).
    Welcome = 22,
    /// It has exited, and nothing of it is left (`ExitRecord`).
    Ended = 23,
    /// The grant of this number holds.
    Granted = 24,
}

impl Kind {
    fn of(byte: u8) -> Option<Kind> {
        use Kind::*;
        let all = [
            Hello, Start, Say, Close, Heard, Keep, Grant, Leave, Until, Started, Failed, Welcome, Ended,
            Granted,
        ];
        all.into_iter().find(|kind| *kind as u8 == byte)
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Frame {
    pub(super) kind: Kind,
    pub(super) number: u64,
    pub(super) bytes: Vec<u8>,
}

impl Frame {
    pub(super) fn new(kind: Kind, number: u64, bytes: Vec<u8>) -> Frame {
        Frame { kind, number, bytes }
    }

    pub(super) fn bare(kind: Kind) -> Frame {
        Frame::new(kind, 0, Vec::new())
    }

    pub(super) fn json(kind: Kind, value: &impl Serialize) -> io::Result<Frame> {
        Ok(Frame::new(kind, 0, serde_json::to_vec(value)?))
    }

    pub(super) fn read_json<T: DeserializeOwned>(&self) -> io::Result<T> {
        Ok(serde_json::from_slice(&self.bytes)?)
    }

    pub(super) fn encoded(&self) -> Vec<u8> {
        let mut all = Vec::with_capacity(HEAD + self.bytes.len());
        all.push(self.kind as u8);
        all.extend(self.number.to_le_bytes());
        all.extend((self.bytes.len() as u32).to_le_bytes());
        all.extend(&self.bytes);
        all
    }

    pub(super) fn write(&self, to: &mut impl Write) -> io::Result<()> {
        to.write_all(&self.encoded())
    }

    /// Blocks until there is a whole one.
    pub(super) fn read(from: &mut impl Read) -> io::Result<Frame> {
        let mut head = [0; HEAD];
        from.read_exact(&mut head)?;
        let (kind, number, length) = parts(&head)?;
        let mut bytes = vec![0; length];
        from.read_exact(&mut bytes)?;
        Ok(Frame { kind, number, bytes })
    }
}

fn parts(head: &[u8; HEAD]) -> io::Result<(Kind, u64, usize)> {
    let [kind, rest @ ..] = *head;
    let [a, b, c, d, e, f, g, h, length @ ..] = rest;
    let broken = || io::Error::other("what the other side said is no frame");
    let length = u32::from_le_bytes(length);
    let kind = Kind::of(kind).filter(|_| length <= LONGEST).ok_or_else(broken)?;
    Ok((kind, u64::from_le_bytes([a, b, c, d, e, f, g, h]), length as usize))
}

/// Frames out of bytes that come in pieces, for a side that must not wait.
#[derive(Debug, Default)]
pub(super) struct Incoming {
    bytes: Vec<u8>,
}

impl Incoming {
    pub(super) fn add(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
    }

    pub(super) fn next(&mut self) -> io::Result<Option<Frame>> {
        let Some(head) = self.bytes.first_chunk::<HEAD>() else { return Ok(None) };
        let (kind, number, length) = parts(head)?;
        if self.bytes.len() < HEAD + length {
            return Ok(None);
        }
        let rest = self.bytes.split_off(HEAD + length);
        let bytes = std::mem::replace(&mut self.bytes, rest).split_off(HEAD);
        Ok(Some(Frame { kind, number, bytes }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_are_whole_wherever_they_were_cut() {
        let frames = [
            Frame::new(Kind::Say, 7, b"hello\n".to_vec()),
            Frame::bare(Kind::Close),
            Frame::new(Kind::Keep, u64::MAX, vec![0; 300]),
        ];
        let all: Vec<u8> = frames.iter().flat_map(Frame::encoded).collect();
        for cut in 0..all.len() {
            let (mut incoming, mut read) = (Incoming::default(), Vec::new());
            for piece in [&all[..cut], &all[cut..]] {
                incoming.add(piece);
                while let Some(frame) = incoming.next().unwrap() {
                    read.push(frame);
                }
            }
            assert_eq!(read, frames, "{cut}");
        }
        let mut bytes = all.as_slice();
        for frame in &frames {
            assert_eq!(Frame::read(&mut bytes).unwrap(), *frame);
        }
        assert!(bytes.is_empty());
    }

    #[test]
    fn what_is_no_frame_is_refused_before_anything_is_kept_for_it() {
        let mut incoming = Incoming::default();
        incoming.add(&[99; HEAD]);
        assert!(incoming.next().is_err());
        let mut long = Frame::bare(Kind::Say).encoded();
        long[9..13].copy_from_slice(&u32::MAX.to_le_bytes());
        assert!(Frame::read(&mut long.as_slice()).is_err());
    }
}
