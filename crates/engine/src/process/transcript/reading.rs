//! Reading what an attempt says, while it speaks and afterwards, each word once.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt as _;
use std::path::PathBuf;

use super::{Clear, HEAD, STREAM, Speaker, open_own};

/// How much is read at a time.
const BITE: u64 = 256 << 10;

#[derive(Debug, Clone)]
pub struct Reader {
    spools: [PathBuf; 2],
    kept: PathBuf,
    place: u64,
}

impl Reader {
    /// Of its transcript, or of what it says to us word by word.
    pub fn new(speaker: &Speaker<'_>, stream: bool) -> Reader {
        let folder = speaker.folder();
        match stream {
            false => {
                Reader { spools: [speaker.aside(), speaker.spool()], kept: speaker.transcript(), place: 0 }
            }
            true => {
                let spool = folder.join(STREAM);
                Reader { spools: [spool.clone(), spool], kept: speaker.stream(), place: 0 }
            }
        }
    }

    /// This one, which goes on from a place.
    pub(super) fn at(self, place: u64) -> Reader {
        Reader { place, ..self }
    }

    pub(crate) fn place(&self) -> u64 {
        self.place
    }

    /// Where it is once the attempt is over.
    pub fn kept(&self) -> &PathBuf {
        &self.kept
    }

    /// The new whole lines of a running attempt. The caller shows them only if the attempt still runs
    /// afterwards: later the spool belongs to another attempt.
    pub fn spooled(&mut self, clear: Clear) -> io::Result<Vec<u8>> {
        let mut said = Vec::new();
        if clear.to < self.place {
            // It has begun anew: each round of an agent speaks to us from the beginning.
            self.place = 0;
        }
        if clear.from > self.place && self.place >= HEAD {
            said = left_out(clear.from - self.place);
            self.place = clear.from;
        }
        let until = if clear.from > self.place { HEAD.min(clear.to) } else { clear.to };
        let Some(file) = self.spools.iter().find_map(|path| open_own(path).ok()) else { return Ok(said) };
        let mut bytes = read(&file, self.place, until)?;
        let whole = bytes.iter().rposition(|&byte| byte == b'\n').map_or(0, |end| end + 1);
        // A line without an end is not waited for for ever.
        if whole > 0 || (bytes.len() as u64) < BITE {
            bytes.truncate(whole);
        }
        self.place += bytes.len() as u64;
        said.append(&mut bytes);
        Ok(said)
    }

    /// The next of what is kept of an attempt that is over; nothing at the end, or where it said nothing.
    pub fn rest(&mut self) -> io::Result<Vec<u8>> {
        let file = match open_own(&self.kept) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(error),
        };
        let bytes = read(&file, self.place, u64::MAX)?;
        self.place += bytes.len() as u64;
        Ok(bytes)
    }

    /// All that an attempt of a dead coordinator left in its spool, secrets and all: one that comes in two pieces would not
    /// be recognised.
    pub fn all_left(&mut self) -> io::Result<Vec<u8>> {
        let mut all = Vec::new();
        let Some(file) = self.spools.iter().find_map(|path| open_own(path).ok()) else { return Ok(all) };
        loop {
            let bytes = read(&file, self.place, u64::MAX)?;
            if bytes.is_empty() {
                return Ok(all);
            }
            self.place += bytes.len() as u64;
            all.extend(bytes);
        }
    }
}

fn left_out(bytes: u64) -> Vec<u8> {
    format!("[conductor: {bytes} bytes left out]\n").into_bytes()
}

pub(super) fn read(file: &File, from: u64, until: u64) -> io::Result<Vec<u8>> {
    let mut bytes = vec![0; until.saturating_sub(from).min(BITE) as usize];
    let mut filled = 0;
    while filled < bytes.len() {
        match file.read_at(&mut bytes[filled..], from + filled as u64)? {
            0 => break,
            read => filled += read,
        }
    }
    bytes.truncate(filled);
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use conductor_core::values::ids::{Attempt, TaskId};

    use super::super::{Mark, Transcript};
    use super::*;
    use crate::host::redact::Redactor;

    #[test]
    fn only_whole_lines_that_are_clear_are_read_and_each_once() {
        let (dir, task) = (tempfile::tempdir().unwrap(), TaskId::parse("t").unwrap());
        let speaker = Speaker { output: dir.path(), executor: 1, task: &task, attempt: Attempt(1) };
        let mark = std::sync::Arc::new(Mark::default());
        let clear = || mark.get();
        let redactor = std::sync::Arc::new(Redactor::new([b"hunter2hunter2".to_vec()]));
        let mut transcript = Transcript::open(&speaker).unwrap().redacted(redactor).marked(mark.clone());
        let mut writer = transcript.writer().unwrap();
        let mut reader = Reader::new(&speaker, false);
        writer.write_all(b"one hunter2hunter2\ntw").unwrap();
        assert_eq!(reader.spooled(clear()).unwrap(), b"", "it was not searched for secrets yet");
        transcript.trim();
        assert_eq!(reader.spooled(clear()).unwrap(), b"one **************\n");
        writer.write_all(b"o\nthree").unwrap();
        transcript.trim();
        assert_eq!(reader.spooled(clear()).unwrap(), b"two\n");
        assert_eq!(reader.spooled(clear()).unwrap(), b"");
        transcript.finish().unwrap();
        assert_eq!(reader.spooled(clear()).unwrap(), b"");
        assert_eq!(reader.rest().unwrap(), b"three");
        assert_eq!(reader.rest().unwrap(), b"");
    }

    #[test]
    fn the_middle_of_a_flood_is_never_shown() {
        let (dir, task) = (tempfile::tempdir().unwrap(), TaskId::parse("t").unwrap());
        let speaker = Speaker { output: dir.path(), executor: 1, task: &task, attempt: Attempt(1) };
        let mark = std::sync::Arc::new(Mark::default());
        let mut transcript = Transcript::open(&speaker).unwrap().marked(mark.clone());
        let mut writer = transcript.writer().unwrap();
        let line = format!("{}\n", "x".repeat(1023));
        let middle = format!("{}\n", "m".repeat(1023));
        (0..8 << 10).for_each(|_| writer.write_all(line.as_bytes()).unwrap());
        (0..12 << 10).for_each(|_| writer.write_all(middle.as_bytes()).unwrap());
        (0..8 << 10).for_each(|_| writer.write_all(line.as_bytes()).unwrap());
        for _ in 0..32 {
            transcript.trim();
        }
        let (mut reader, mut all) = (Reader::new(&speaker, false), Vec::new());
        loop {
            let more = reader.spooled(mark.get()).unwrap();
            if more.is_empty() {
                break;
            }
            all.extend(more);
        }
        assert!(all.ends_with(line.as_bytes()), "it got to the end");
        let text = String::from_utf8(all).unwrap();
        assert!(text.contains("bytes left out"));
        assert!(!text.contains(['\0', 'm']), "neither what is left out nor the hole is shown");
    }
}
