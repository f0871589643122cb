//! Lines out of a file that is still being written to, one after the other and none of them copied.

use std::io;

use crate::process::transcript::Transcript;

/// How much is read at a time, and kept while nothing is said.
const BITE: usize = 64 << 10;

/// A line longer than this is passed over: no agent says anything worth that much at once.
const LONGEST: usize = 16 << 20;

#[derive(Default)]
pub(super) struct Lines {
    bytes: Vec<u8>,
    /// What is not yet given out lies between these.
    from: usize,
    to: usize,
    /// Up to here there is no end of a line.
    seen: usize,
    read: u64,
    /// The line under way is too long, and its rest is passed over too.
    passing: bool,
}

impl Lines {
    /// Reads on; whether there was anything.
    pub(super) fn fill(&mut self, stream: &Transcript) -> io::Result<bool> {
        self.make_room();
        let read = stream.read_from(self.read, &mut self.bytes[self.to..])?;
        self.read += read as u64;
        self.to += read;
        Ok(read > 0)
    }

    /// How much of the file has been read.
    pub(super) fn read(&self) -> u64 {
        self.read
    }

    /// Behind what has been given out.
    pub(super) fn place(&self) -> u64 {
        self.read - (self.to - self.from) as u64
    }

    /// The next whole line, without its end.
    pub(super) fn next(&mut self) -> Option<&[u8]> {
        loop {
            let Some(end) = self.bytes[self.seen..self.to].iter().position(|&byte| byte == b'\n') else {
                self.seen = self.to;
                return None;
            };
            let (from, end) = (self.from, self.seen + end);
            (self.from, self.seen) = (end + 1, end + 1);
            if !std::mem::take(&mut self.passing) {
                return Some(&self.bytes[from..end]);
            }
        }
    }

    /// What is left at the end: a line that lacks its own.
    pub(super) fn rest(&self) -> &[u8] {
        if self.passing { &[] } else { &self.bytes[self.from..self.to] }
    }

    /// What has been given out makes room for what comes, at most once for every bite.
    fn make_room(&mut self) {
        if self.passing || self.to - self.from > LONGEST {
            self.passing = true;
            self.from = self.to;
        }
        if self.from > 0 {
            self.bytes.copy_within(self.from..self.to, 0);
            self.to -= self.from;
            self.seen = self.seen.saturating_sub(self.from);
            self.from = 0;
        }
        let room = (self.to + 1).next_multiple_of(BITE);
        if self.bytes.len() < room || self.to < BITE {
            self.bytes.resize(room, 0);
            self.bytes.shrink_to(4 * BITE);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;
    use std::path::Path;

    use conductor_core::values::ids::{Attempt, TaskId};

    use super::*;
    use crate::process::transcript::Speaker;

    fn stream(output: &Path) -> Transcript {
        let task = TaskId::parse("t").unwrap();
        Transcript::open_stream(&Speaker { output, executor: 1, task: &task, attempt: Attempt(1) }).unwrap()
    }

    /// All lines, as they come when the text is written piece by piece.
    fn heard(pieces: &[&[u8]]) -> (Vec<Vec<u8>>, Vec<u8>, usize) {
        let folder = tempfile::tempdir().unwrap();
        let stream = stream(folder.path());
        let mut lines = Lines::default();
        let mut all = Vec::new();
        for piece in pieces {
            stream.writer().unwrap().write_all(piece).unwrap();
            while lines.fill(&stream).unwrap() {
                while let Some(line) = lines.next() {
                    all.push(line.to_vec());
                }
            }
        }
        let rest = lines.rest().to_vec();
        (all, rest, lines.bytes.capacity())
    }

    #[test]
    fn lines_are_whole_wherever_they_were_cut() {
        let text = b"one\n\ntwo and more\nthree\nthe rest";
        for cut in 0..text.len() {
            let (head, tail) = text.split_at(cut);
            let (lines, rest, _) = heard(&[head, tail]);
            assert_eq!(lines, [&b"one"[..], b"", b"two and more", b"three"], "{cut}");
            assert_eq!(rest, b"the rest");
        }
    }

    #[test]
    fn a_long_line_is_heard_and_its_room_given_back() {
        let long = vec![b'x'; 5 << 20];
        let mut text = long.clone();
        text.extend(b"\nshort\n");
        let (lines, rest, room) = heard(&[&text, b"more\n"]);
        assert!(lines[0] == long && lines[1..] == [&b"short"[..], b"more"]);
        assert!(rest.is_empty());
        assert!(room <= 4 * BITE, "{room}");
    }

    #[test]
    fn a_line_beyond_all_measure_is_passed_over_to_its_end() {
        let mut text = vec![b'x'; LONGEST + 3 * BITE];
        text.extend(b" its end\nshort\n");
        let (lines, rest, room) = heard(&[&text]);
        assert_eq!(lines, [b"short"]);
        assert!(rest.is_empty());
        assert!(room <= LONGEST + 4 * BITE);
        let (lines, rest, _) = heard(&[&vec![b'x'; LONGEST + 3 * BITE]]);
        assert!(lines.is_empty() && rest.is_empty());
    }
}
