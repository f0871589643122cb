//! The parts of an attempt's exchange with agents.
//!
//! Each round, skill and review speaks to us in a stream of its own. Only the newest has the attempt's usual name; those
//! before it are kept beside it. Who speaks in each part and what was said to them is noted in the attempt's *record*, a
//! line each, written when it has no secrets any more. What a line means is not known here, but for the first word of
//! those that begin a part.

use std::fs;
use std::io::{self, Write as _};
use std::path::PathBuf;

use conductor_core::values::ids::{Attempt, TaskId};

use super::open_own;
use super::reading::read;
use super::{Clear, Reader, Speaker};
use crate::host::access;

/// How a line of the record starts that begins a part.
pub(crate) const BEGINS: &str = "{\"begins\":";

/// The record is for people. One that is longer than this is not written on.
const LONGEST: u64 = 8 << 20;

impl Speaker<'_> {
    /// Where it is noted who speaks in this attempt, and what is said to them.
    pub fn record(&self) -> PathBuf {
        let folder = self.folder().join(self.task.as_str());
        match self.attempt {
            Attempt(1) => folder.join("conversation.jsonl"),
            Attempt(n) => folder.join(format!("conversation.{n}.jsonl")),
        }
    }

    /// Where the stream of an earlier part is kept.
    fn earlier_stream(&self, part: usize) -> PathBuf {
        self.record().with_extension(format!("part{part}.jsonl"))
    }

    /// Begins a part: the stream of the one before moves aside.
    pub(crate) fn begin_part(&self, line: &str) -> io::Result<()> {
        let begun = match fs::read_to_string(self.record()) {
            Ok(text) => text.lines().filter(|line| line.starts_with(BEGINS)).count(),
            Err(error) if error.kind() == io::ErrorKind::NotFound => 0,
            Err(error) => return Err(error),
        };
        match fs::rename(self.stream(), self.earlier_stream(begun)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            _ => self.note(line),
        }
    }

    /// A line of the record, without its end.
    pub(crate) fn note(&self, line: &str) -> io::Result<()> {
        let path = self.record();
        if let Some(folder) = path.parent() {
            access::create_dir_all(folder)?;
        }
        let mut file = access::options(&path).create(true).append(true).open(&path)?;
        if file.metadata()?.len() > LONGEST {
            return Ok(());
        }
        // In one go: one who reads meanwhile sees all of it or nothing.
        file.write_all(format!("{line}\n").as_bytes())
    }
}

/// Where the newest part is read from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Newest {
    /// The attempt is at work, and this much of its stream can be shown.
    AtWork(Clear),
    /// It is over: what is kept of it.
    Kept,
    /// Its coordinator died: what is kept, or else what is left in the spool, secrets and all.
    Left,
}

/// What is new of an attempt's exchange.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct News {
    /// Lines of the record. They were noted before what was said came to be read.
    pub notes: Vec<Vec<u8>>,
    /// The number of a part, from 1, and bytes of its stream that follow those told before.
    pub said: Option<(usize, Vec<u8>)>,
}

impl News {
    pub fn is_empty(&self) -> bool {
        self.notes.is_empty() && self.said.is_none()
    }
}

/// Reads all parts of an attempt's exchange, each byte once.
#[derive(Debug, Clone)]
pub struct PartReader {
    output: PathBuf,
    executor: u32,
    task: TaskId,
    attempt: Attempt,
    /// How much of the record was read, and how many parts have begun by it.
    noted: u64,
    begun: usize,
    part: usize,
    place: u64,
}

impl PartReader {
    pub fn new(speaker: &Speaker<'_>) -> PartReader {
        PartReader {
            output: speaker.output.to_owned(),
            executor: speaker.executor,
            task: speaker.task.clone(),
            attempt: speaker.attempt,
            noted: 0,
            begun: 0,
            part: 1,
            place: 0,
        }
    }

    fn speaker(&self) -> Speaker<'_> {
        Speaker { output: &self.output, executor: self.executor, task: &self.task, attempt: self.attempt }
    }

    /// The next of it, or nothing. What was read of an attempt at work counts only if it is still at work then.
    pub fn next(&mut self, newest: Newest) -> io::Result<News> {
        let mut notes = self.read_record()?;
        let begun = self.begun;
        let (part, place) = (self.part, self.place);
        let bytes = self.read_stream(newest)?;
        let part_read = self.part;
        notes.extend(self.read_record()?);
        if self.begun != begun {
            // Another part began meanwhile: the spool may be its own, and not cleared so far.
            (self.part, self.place) = (part, place);
            return Ok(News { notes, said: None });
        }
        Ok(News { notes, said: (!bytes.is_empty()).then_some((part_read, bytes)) })
    }

    /// The part that is read; those before it have been read to their end.
    pub fn part(&self) -> usize {
        self.part
    }

    /// Whole lines of the record that were not read before.
    fn read_record(&mut self) -> io::Result<Vec<Vec<u8>>> {
        let file = match open_own(self.speaker().record()) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(error),
        };
        let mut bytes = Vec::new();
        loop {
            let more = read(&file, self.noted + bytes.len() as u64, u64::MAX)?;
            if more.is_empty() {
                break;
            }
            bytes.extend(more);
        }
        bytes.truncate(bytes.iter().rposition(|&byte| byte == b'\n').map_or(0, |end| end + 1));
        self.noted += bytes.len() as u64;
        let lines = bytes.split(|&byte| byte == b'\n').filter(|line| !line.is_empty());
        let lines: Vec<Vec<u8>> = lines.map(<[u8]>::to_vec).collect();
        self.begun += lines.iter().filter(|line| line.starts_with(BEGINS.as_bytes())).count();
        Ok(lines)
    }

    fn read_stream(&mut self, newest: Newest) -> io::Result<Vec<u8>> {
        while self.part < self.begun {
            let bytes = self.read_file(&self.speaker().earlier_stream(self.part))?.unwrap_or_default();
            if !bytes.is_empty() {
                return Ok(bytes);
            }
            (self.part, self.place) = (self.part + 1, 0);
        }
        if let Some(bytes) = self.read_file(&self.speaker().stream())? {
            return Ok(bytes);
        }
        let mut reader = Reader::new(&self.speaker(), true).at(self.place);
        let bytes = match newest {
            Newest::AtWork(clear) => reader.spooled(clear)?,
            Newest::Kept => Vec::new(),
            Newest::Left => reader.all_left()?,
        };
        self.place = reader.place();
        Ok(bytes)
    }

    /// The next of a file; nothing where there is no such file.
    fn read_file(&mut self, path: &std::path::Path) -> io::Result<Option<Vec<u8>>> {
        let file = match open_own(path) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error),
        };
        let bytes = read(&file, self.place, u64::MAX)?;
        self.place += bytes.len() as u64;
        Ok(Some(bytes))
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::super::{Mark, Transcript};
    use super::*;

    fn all(reader: &mut PartReader, newest: Newest) -> Vec<(usize, String)> {
        let mut told: Vec<(usize, String)> = Vec::new();
        loop {
            let news = reader.next(newest).unwrap();
            if news.is_empty() {
                return told;
            }
            let notes = news.notes.into_iter().map(|note| (0, String::from_utf8(note).unwrap()));
            told.extend(notes);
            told.extend(news.said.map(|(part, bytes)| (part, String::from_utf8(bytes).unwrap())));
        }
    }

    #[test]
    fn every_part_is_kept_and_read_in_its_turn() {
        let (dir, task) = (tempfile::tempdir().unwrap(), TaskId::parse("t").unwrap());
        let speaker = Speaker { output: dir.path(), executor: 1, task: &task, attempt: Attempt(2) };
        let mut live = PartReader::new(&speaker);
        let mut told = Vec::new();
        for part in 1..=3 {
            let mark = Arc::new(Mark::default());
            let stream = Transcript::open_stream(&speaker).unwrap();
            speaker.begin_part(&format!("{BEGINS}{part}}}")).unwrap();
            let mut stream = stream.marked(mark.clone());
            // The second says nothing, and nothing is kept of it.
            if part != 2 {
                writeln!(stream.writer().unwrap(), "part {part}").unwrap();
            }
            stream.trim();
            told.extend(all(&mut live, Newest::AtWork(mark.get())));
            stream.finish().unwrap();
        }
        let expected = [
            (0, "{\"begins\":1}".to_owned()),
            (1, "part 1\n".to_owned()),
            (0, "{\"begins\":2}".to_owned()),
            (0, "{\"begins\":3}".to_owned()),
            (3, "part 3\n".to_owned()),
        ];
        assert_eq!(told, expected);
        let mut later = all(&mut PartReader::new(&speaker), Newest::Kept);
        later.sort();
        let mut sorted = expected.to_vec();
        sorted.sort();
        assert_eq!(later, sorted);
    }

    #[test]
    fn what_a_dead_coordinator_left_is_read_where_nothing_is_kept() {
        let (dir, task) = (tempfile::tempdir().unwrap(), TaskId::parse("t").unwrap());
        let speaker = Speaker { output: dir.path(), executor: 1, task: &task, attempt: Attempt(1) };
        let stream = Transcript::open_stream(&speaker).unwrap();
        writeln!(stream.writer().unwrap(), "left").unwrap();
        assert_eq!(all(&mut PartReader::new(&speaker), Newest::Kept), []);
        assert_eq!(all(&mut PartReader::new(&speaker), Newest::Left), [(1, "left\n".to_owned())]);
    }
}
