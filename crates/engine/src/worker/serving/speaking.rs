//! What attempts say, told to the machine that drives their run: as much of a transcript as is free of secrets while the
//! attempt goes on, and the rest of it with its other files when it is over.
//!
//! Each piece says where it begins and where the next one does, so that one which is told twice counts once.

use std::collections::HashMap;

use conductor_core::values::ids::RunId;

use super::places::Quarters;
use super::server::{Key, Server};
use crate::dispatch::wire::FromWorker;
use crate::process::transcript::{Reader, Speaker, Words};

/// How much of a file is said at a time.
const PIECE: usize = 128 << 10;

/// How much of a transcript is told while its attempt goes on. The beginning of every transcript is kept as it is at least up to
/// here, so that what is told at the end goes on from it.
const LIVE: u64 = 4 << 20;

/// How far the transcripts of attempts at work have been told.
#[derive(Default)]
pub(super) struct Speaking(HashMap<Key, Reader>);

impl Server {
    /// An attempt that is set to work is listened to.
    pub(super) fn listen_to(&mut self, quarters: &Quarters, run: &RunId, key: &Key, executor: u32) {
        // What the marks say is of the attempt before.
        self.link.marks.begin(executor);
        let output = quarters.run_folder(run);
        let speaker = Speaker { output: &output, executor, task: &key.0, attempt: key.1 };
        self.speaking.0.insert(key.clone(), Reader::new(&speaker, false));
    }

    /// What is new in the transcripts of those at work.
    pub(super) fn spoken(&mut self) -> Vec<FromWorker> {
        let mut lines = Vec::new();
        for (key, reader) in &mut self.speaking.0 {
            // What has ended tells the rest by itself.
            if self.delivering.contains_key(key) || reader.place() >= LIVE {
                continue;
            }
            let executor = self.executors.get(&key.0).copied().unwrap_or_default();
            let [clear, _] = self.link.marks.clear(executor);
            let before = reader.place();
            // One that cannot be read now is told at the end.
            let Ok(said) = (if clear.to > before { reader.spooled(clear) } else { continue }) else {
                continue;
            };
            lines.extend(pieces(key, Words::Transcript, before, &said));
        }
        lines
    }

    /// How far the transcript of an attempt was told, which is told of no more in this way.
    pub(super) fn told_until(&self, key: &Key) -> u64 {
        self.speaking.0.get(key).map_or(0, Reader::place)
    }

    pub(super) fn listen_no_more(&mut self, key: &Key) {
        self.speaking.0.remove(key);
    }
}

/// What an attempt has left to be read and was not told yet, as far as that can be.
pub(super) fn rest(quarters: &Quarters, run: &RunId, key: &Key, executor: u32, told: u64) -> Vec<FromWorker> {
    let output = quarters.run_folder(run);
    let speaker = Speaker { output: &output, executor, task: &key.0, attempt: key.1 };
    let mut lines = Vec::new();
    for file in Words::ALL {
        let Ok(bytes) = std::fs::read(speaker.words(file)) else { continue };
        let from = if file == Words::Transcript { told } else { 0 };
        let rest = usize::try_from(from).ok().and_then(|from| bytes.get(from..)).unwrap_or_default();
        lines.extend(pieces(key, file, from, rest));
    }
    lines
}

fn pieces(key: &Key, file: Words, from: u64, bytes: &[u8]) -> Vec<FromWorker> {
    let (mut lines, mut offset, mut rest) = (Vec::new(), from, bytes);
    while !rest.is_empty() {
        let (piece, others) = rest.split_at(boundary(rest));
        let next = offset + piece.len() as u64;
        let (task, attempt, text) = (key.0.clone(), key.1, String::from_utf8_lossy(piece).into_owned());
        lines.push(FromWorker::Words { task, attempt, file, offset, next, text });
        (offset, rest) = (next, others);
    }
    lines
}

/// Where the next piece ends: in no letter.
fn boundary(bytes: &[u8]) -> usize {
    let most = bytes.len().min(PIECE);
    let is_within = |at: usize| bytes.get(at).is_some_and(|byte| byte & 0b1100_0000 == 0b1000_0000);
    (0..4).map(|back| most - back.min(most)).find(|at| *at > 0 && !is_within(*at)).unwrap_or(most)
}

#[cfg(test)]
mod tests {
    use conductor_core::values::ids::{Attempt, TaskId};
    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// Whatever the bytes are: each piece begins where the one before ends, and no letter is in two.
        #[test]
        fn pieces_follow_one_another_and_come_to_the_whole(
            text in "\\PC{0,40}",
            odd in proptest::collection::vec(any::<u8>(), 0..20),
            times in 1_usize..12_000,
            from in 0_u64..1_000,
        ) {
            let key = (TaskId::parse("t").unwrap(), Attempt(1));
            let whole = text.repeat(times);
            let told = pieces(&key, Words::Transcript, from, whole.as_bytes());
            let (mut at, mut all) = (from, String::new());
            for piece in told {
                let FromWorker::Words { offset, next, text, .. } = piece else { panic!("{piece:?}") };
                prop_assert_eq!(offset, at);
                prop_assert!(next > offset && next - offset <= PIECE as u64);
                at = next;
                all += &text;
            }
            prop_assert_eq!(all, whole);
            // Of what is no text at all only the length is promised.
            let told = pieces(&key, Words::Transcript, from, &odd);
            let end = told.last().map_or(from, |piece| match piece {
                FromWorker::Words { next, .. } => *next,
                _ => 0,
            });
            prop_assert_eq!(end, from + odd.len() as u64);
        }
    }
}
