//! What a process wrote, kept in a file of bounded size.
//!
//! The process writes to the file itself, so nothing of it passes through us and it goes on writing when we are gone.
//! While it writes, the middle of a file that grows too long is given back to the disk; at the end head and tail are
//! joined around a line that says what is missing. Secrets in it are blotted out behind the writer (see `redact`).
//!
//! An executor has one file its attempts write to, the *spool*. What an attempt wrote is moved from there to the task's
//! own folder; one that wrote nothing leaves nothing, and the spool serves the next. Making a file costs more than
//! starting a process on some file systems, and most commands of a large graph are silent.

mod calls;
mod checks;
mod cleared;
mod opening;
mod parts;
mod reading;
mod shown;
mod speaker;
mod tail;

use std::fs::{self, File};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustix::fs::FallocateFlags;

use crate::host::access;
use crate::host::redact::{Redactor, Scrubber};
use opening::open_own;

pub(crate) use calls::CallLog;
pub use calls::{ToolCall, last_tool_call, tool_calls};
pub use checks::{CheckRun, CheckedOn, checks};
pub use cleared::Clear;
pub(crate) use cleared::{Mark, Marks};
#[cfg(test)]
pub(crate) use parts::BEGINS;
pub use parts::{Newest, News, PartReader};
pub use reading::Reader;
pub use shown::{last_lines, one_line, shown};
pub use speaker::Speaker;
pub(crate) use speaker::Words;
pub use tail::{Tail, has_gap, tail};

/// Enough of the beginning to see what it set out to do, enough of the end to see what became of it.
const HEAD: u64 = 8 << 20;
const TAIL: u64 = 8 << 20;

/// What stands where the middle was.
const GAP: &str = "\n[conductor: ";

/// Holes are punched in whole steps of this, well above any file system's block.
const STEP: u64 = 1 << 20;

/// A stream up to this long can be read again from its start, and is kept whole while its agent may outlive us.
const WHOLE: u64 = 64 << 20;

/// How much is searched for secrets at a time while it is written: one agent's flood must not hold up others.
const GLANCE: u64 = 4 << 20;

/// How far from the end of what is kept a line's end is looked for, so that no line is cut in two.
const LINE: u64 = 64 << 10;

const SPOOL: &str = "spool.log";
const STREAM: &str = "spool.jsonl";
const ACCOUNT: &str = "spool.account";
const NEW_ACCOUNT: &str = "spool.account.new";

/// The merge train speaks under no executor's number.
pub const MERGE: u32 = 0;

#[derive(Debug)]
pub struct Transcript {
    spool: PathBuf,
    kept: PathBuf,
    file: File,
    punched: u64,
    /// Nothing is left out of it until it is longer than this.
    whole: u64,
    redactor: Arc<Redactor>,
    scrubber: Scrubber,
    /// Where it says how far it can be shown, and from where on, if its middle is left out.
    mark: Option<Arc<Mark>>,
    shown_from: u64,
}

impl Transcript {
    fn new(spool: PathBuf, kept: PathBuf, file: File) -> Transcript {
        let (redactor, scrubber) = (Redactor::of_shapes(), Scrubber::default());
        let whole = HEAD + TAIL + STEP;
        Transcript { spool, kept, file, punched: HEAD, whole, redactor, scrubber, mark: None, shown_from: 0 }
    }

    pub fn open(speaker: &Speaker<'_>) -> io::Result<Transcript> {
        let kept = speaker.transcript();
        let mut spool = speaker.spool();
        let mut file = open(&spool)?;
        if file.metadata()?.len() > 0 {
            // An earlier attempt's output could not be moved away. It stays; this attempt writes elsewhere.
            spool = speaker.aside();
            file = open(&spool)?;
        }
        Ok(Transcript::new(spool, kept, file))
    }

    /// What an agent says to us, kept beside the transcript.
    pub fn open_stream(speaker: &Speaker<'_>) -> io::Result<Transcript> {
        let spool = speaker.folder().join(STREAM);
        let file = open(&spool)?;
        // What a dead coordinator's agent said is in its transcript, as far as that coordinator read it.
        file.set_len(0)?;
        Ok(Transcript::new(spool, speaker.stream(), file))
    }

    /// As `open_stream`, kept whole for the coordinator that may have to read it again.
    pub(crate) fn open_lasting_stream(speaker: &Speaker<'_>) -> io::Result<Transcript> {
        Transcript::open_stream(speaker).map(|stream| Transcript { whole: WHOLE, ..stream })
    }

    /// What an attempt says to us that another coordinator has begun, wherever it is by now.
    pub(crate) fn reopen_stream(speaker: &Speaker<'_>) -> io::Result<Transcript> {
        let spool = speaker.folder().join(STREAM);
        let path = if spool.exists() { spool } else { speaker.stream() };
        let file = access::options(&path).append(true).read(true).open(&path)?;
        Ok(Transcript { whole: WHOLE, ..Transcript::new(path, speaker.stream(), file) })
    }

    /// Where an attempt writes to that another coordinator has begun.
    pub(crate) fn reopen(speaker: &Speaker<'_>) -> io::Result<Transcript> {
        let spool = if speaker.aside().exists() { speaker.aside() } else { speaker.spool() };
        let file = open(&spool)?;
        Ok(Transcript::new(spool, speaker.transcript(), file))
    }

    /// Whether the stream of an attempt can be read from its start: nothing of it was left out, and it is as long as it was
    /// at its end, where it has ended.
    pub(crate) fn is_whole(speaker: &Speaker<'_>, length: Option<u64>) -> bool {
        let stream = speaker.left_stream().ok().flatten();
        stream.is_some_and(|stream| {
            let found = stream.length();
            found <= WHOLE && length.is_none_or(|length| length == found)
        })
    }

    /// Bytes from a place on, as many as are there and fit; how many that were.
    pub fn read_from(&self, place: u64, into: &mut [u8]) -> io::Result<usize> {
        use std::os::unix::fs::FileExt as _;
        self.file.read_at(into, place)
    }

    /// How much has been written so far.
    pub fn length(&self) -> u64 {
        self.file.metadata().map_or(0, |metadata| metadata.len())
    }

    /// What was written from a place on, as far as it is kept in any case: the last of it, where it is very much.
    pub fn since(&self, place: u64) -> String {
        let length = self.length();
        let place = place.max(length.saturating_sub(TAIL));
        let mut bytes = vec![0; length.saturating_sub(place) as usize];
        let mut filled = 0;
        while let Ok(read) = self.read_from(place + filled as u64, &mut bytes[filled..])
            && read > 0
        {
            filled += read;
        }
        String::from_utf8_lossy(&bytes[..filled]).into_owned()
    }

    /// This one, without these secrets.
    pub fn redacted(self, redactor: Arc<Redactor>) -> Transcript {
        Transcript { redactor, ..self }
    }

    /// This one, which says there how far it can be shown.
    pub(crate) fn marked(self, mark: Arc<Mark>) -> Transcript {
        mark.set(Clear::default());
        Transcript { mark: Some(mark), ..self }
    }

    /// A program that writes from now on may have other secrets than those that wrote before.
    pub fn redact(&mut self, redactor: Arc<Redactor>) {
        if !self.redactor.is_like(&redactor) {
            let _ = self.scrub(u64::MAX, u64::MAX);
            self.redactor = redactor;
        }
    }

    pub fn redactor(&self) -> &Arc<Redactor> {
        &self.redactor
    }

    /// A handle for the process to write to.
    pub fn writer(&self) -> io::Result<File> {
        self.file.try_clone()
    }

    /// A line of our own between what processes say. It is only a comment: where it cannot be written, it is left out.
    pub fn note(&mut self, line: &str) {
        let _ = writeln!(self.file, "{}", self.redactor.text(line));
    }

    /// Several lines of our own at once, each with its end.
    pub fn notes(&mut self, lines: &str) {
        let _ = self.file.write_all(self.redactor.text(lines).as_bytes());
    }

    /// What was said last, safe to show.
    pub fn last_lines(&mut self, lines: usize) -> Vec<String> {
        // What could not be cleared of secrets is not shown.
        match self.scrub(u64::MAX, u64::MAX) {
            Ok(()) => last_lines(&self.spool, lines),
            Err(_) => Vec::new(),
        }
    }

    /// The last whole line of what has been cleared of secrets, safe to show, and up to where that is; nothing where
    /// that is no further than this place.
    pub fn last_line_since(&self, seen: u64) -> Option<(u64, String)> {
        const WINDOW: u64 = 1 << 10;
        let place = self.scrubber.place();
        if place <= seen {
            return None;
        }
        let mut bytes = [0; WINDOW as usize];
        let from = place.saturating_sub(WINDOW);
        let read = self.read_from(from, &mut bytes[..(place - from) as usize]).ok()?;
        let text = shown(&bytes[..=bytes[..read].iter().rposition(|&byte| byte == b'\n')?]);
        let line = text.lines().rev().find(|line| !line.trim().is_empty())?;
        Some((place, self.redactor.cut(line, 200)))
    }

    /// Blots out the secrets before a place, as far as it gets. What will not be kept is left out.
    fn scrub(&mut self, place: u64, most: u64) -> io::Result<()> {
        let length = self.file.metadata()?.len();
        let place = place.min(length);
        if length > self.whole {
            self.scrub_on(place.min(HEAD), most)?;
            let skipped = place.min(length - TAIL);
            if self.scrubber.place() >= HEAD && skipped > self.scrubber.place() {
                self.scrubber.skip_to(skipped);
                self.shown_from = skipped;
            }
        }
        self.scrub_on(place, most)
    }

    fn scrub_on(&mut self, place: u64, most: u64) -> io::Result<()> {
        let until = place.min(self.scrubber.place().saturating_add(most));
        self.scrubber.scrub(&self.redactor, &self.file, &self.spool, until)?;
        if let Some(mark) = &self.mark {
            mark.set(Clear { from: self.shown_from, to: self.scrubber.place() });
        }
        Ok(())
    }

    /// Blots out secrets, and gives the middle back to the disk where the file has become too long. A file system that
    /// cannot do that keeps the whole until the end.
    pub fn trim(&mut self) {
        self.trim_behind(u64::MAX);
    }

    /// As `trim`, but touches nothing from this place on: the worker has yet to read it.
    pub fn trim_behind(&mut self, place: u64) {
        // What fails here is tried again at the end.
        let _ = self.scrub(place, GLANCE);
        self.punched = punch(&self.file, (self.punched, place), self.whole);
    }

    /// Moves what was written to the task's folder, without secrets, shortened where it is too long.
    pub fn finish(mut self) -> io::Result<()> {
        let length = self.file.metadata()?.len();
        if length == 0 {
            return Ok(());
        }
        self.scrub(u64::MAX, u64::MAX)?;
        if let Some(folder) = self.kept.parent() {
            access::create_dir_all(folder)?;
        }
        if length > HEAD + TAIL + STEP {
            let short = self.spool.with_extension("short");
            self.shorten(
                length,
                &mut access::options(&short).write(true).create(true).truncate(true).open(&short)?,
            )?;
            fs::rename(&short, &self.spool)?;
        }
        fs::rename(&self.spool, &self.kept)
    }

    fn shorten(&mut self, length: u64, out: &mut File) -> io::Result<()> {
        let head = self.line_end(HEAD - LINE, true)?.unwrap_or(HEAD);
        let tail = self.line_end(length - TAIL, false)?.unwrap_or(length - TAIL);
        self.file.seek(SeekFrom::Start(0))?;
        io::copy(&mut (&self.file).take(head), out)?;
        writeln!(out, "{GAP}{} bytes left out]", tail - head)?;
        self.file.seek(SeekFrom::Start(tail))?;
        io::copy(&mut (&self.file).take(length - tail), out)?;
        Ok(())
    }

    /// Behind the last or first end of a line within reach of a place.
    fn line_end(&self, place: u64, last: bool) -> io::Result<Option<u64>> {
        let mut bytes = vec![0; LINE as usize];
        let read = self.read_from(place, &mut bytes)?;
        let mut ends = bytes[..read].iter();
        let end =
            if last { ends.rposition(|&byte| byte == b'\n') } else { ends.position(|&byte| byte == b'\n') };
        Ok(end.map(|end| place + end as u64 + 1))
    }
}

/// Gives the middle of a file that has become longer than this back to the disk, from one place to the other at most. Up to
/// where it is given back by then.
fn punch(file: impl AsFd, (from, to): (u64, u64), whole: u64) -> u64 {
    let Ok(length) = rustix::fs::fstat(&file).map(|stat| stat.st_size as u64) else { return from };
    let end = length.saturating_sub(TAIL).min(to) / STEP * STEP;
    if end <= from || length <= whole {
        return from;
    }
    let hole = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
    rustix::fs::fallocate(&file, hole, from, end - from).map_or(from, |()| end)
}

/// What a process writes while no coordinator is there, kept from filling the disk by who holds it. A stream is kept whole for as
/// long as it can be read again.
#[derive(Debug)]
pub(crate) struct Unread {
    whole: u64,
    punched: u64,
}

impl Unread {
    pub(crate) fn stream() -> Unread {
        Unread { whole: WHOLE, punched: HEAD }
    }

    pub(crate) fn transcript() -> Unread {
        Unread { whole: HEAD + TAIL + STEP, punched: HEAD }
    }

    pub(crate) fn trim(&mut self, file: impl AsFd) {
        self.punched = punch(file, (self.punched, u64::MAX), self.whole);
    }
}

fn open(path: &Path) -> io::Result<File> {
    let open = || access::options(path).create(true).append(true).read(true).open(path);
    open().or_else(|error| match (error.kind(), path.parent()) {
        (io::ErrorKind::NotFound, Some(folder)) => access::create_dir_all(folder).and_then(|()| open()),
        _ => Err(error),
    })
}

/// Takes away what is only of use while a run goes on. A spool that still holds words is left.
pub fn clear_spools(output: &Path, executors: u32) {
    for executor in MERGE..=executors {
        let folder = folder(output, executor);
        for name in [SPOOL, STREAM] {
            let spool = folder.join(name);
            if fs::metadata(&spool).is_ok_and(|metadata| metadata.len() == 0) {
                let _ = fs::remove_file(&spool);
            }
        }
        for note in [ACCOUNT, NEW_ACCOUNT] {
            let _ = fs::remove_file(folder.join(note));
        }
        // Goes only if nothing is in it.
        let _ = fs::remove_dir(folder);
    }
}

fn folder(output: &Path, executor: u32) -> PathBuf {
    match executor {
        MERGE => output.join("merge"),
        executor => output.join(format!("executor_{executor}")),
    }
}

#[cfg(test)]
mod tests {
    use conductor_core::values::ids::{Attempt, TaskId};

    use super::*;

    fn speaker<'a>(output: &'a Path, task: &'a TaskId) -> Speaker<'a> {
        Speaker { output, executor: 2, task, attempt: Attempt(1) }
    }

    fn id() -> TaskId {
        TaskId::parse("t").unwrap()
    }

    #[test]
    fn a_short_transcript_is_kept_to_the_byte() {
        let (dir, task) = (tempfile::tempdir().unwrap(), id());
        let speaker = speaker(dir.path(), &task);
        let mut transcript = Transcript::open(&speaker).unwrap();
        let bytes = b"ok \xff\xfe \x1b[31m\0\n";
        transcript.writer().unwrap().write_all(bytes).unwrap();
        transcript.trim();
        transcript.finish().unwrap();
        assert_eq!(fs::read(dir.path().join("executor_2/t/transcript.log")).unwrap(), bytes);
    }

    #[test]
    fn who_says_nothing_leaves_nothing() {
        let (dir, task) = (tempfile::tempdir().unwrap(), id());
        let speaker = speaker(dir.path(), &task);
        for _ in 0..2 {
            Transcript::open(&speaker).unwrap().finish().unwrap();
        }
        assert!(!speaker.transcript().exists());
        clear_spools(dir.path(), 2);
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 0);
    }

    #[test]
    fn words_left_by_a_crash_are_rescued_and_never_mixed_with_the_next_ones() {
        let (dir, task) = (tempfile::tempdir().unwrap(), id());
        let speaker = speaker(dir.path(), &task);
        let left = Transcript::open(&speaker).unwrap();
        left.writer().unwrap().write_all(b"left").unwrap();
        drop(left);
        let next = TaskId::parse("next").unwrap();
        let other = Speaker { task: &next, ..speaker };
        let transcript = Transcript::open(&other).unwrap();
        transcript.writer().unwrap().write_all(b"next").unwrap();
        transcript.finish().unwrap();
        speaker.rescue(&Redactor::of_shapes()).unwrap();
        assert_eq!(fs::read(speaker.transcript()).unwrap(), b"left");
        assert_eq!(fs::read(other.transcript()).unwrap(), b"next");
        speaker.rescue(&Redactor::of_shapes()).unwrap();
    }

    #[test]
    fn a_long_one_keeps_head_and_tail_and_says_what_is_missing() {
        let (dir, task) = (tempfile::tempdir().unwrap(), id());
        let speaker = speaker(dir.path(), &task);
        let mut transcript = Transcript::open(&speaker).unwrap();
        let mut out = transcript.writer().unwrap();
        out.write_all(b"the beginning\n").unwrap();
        for _ in 0..64 {
            out.write_all(&vec![b'x'; 1 << 20]).unwrap();
            transcript.trim();
        }
        out.write_all(b"\nthe end\n").unwrap();
        let on_disk = std::os::unix::fs::MetadataExt::blocks(&transcript.file.metadata().unwrap()) * 512;
        assert!(on_disk < 24 << 20, "{on_disk} bytes on disk while it was written");
        transcript.finish().unwrap();
        let text = fs::read_to_string(speaker.transcript()).unwrap();
        assert!(text.starts_with("the beginning\n") && text.ends_with("\nthe end\n"));
        assert!(text.contains("[conductor: 50331671 bytes left out]"), "{}", text.len());
        assert!(text.len() < 17 << 20);
        assert!(has_gap(&speaker.transcript()));
        fs::write(speaker.transcript(), &text.as_bytes()[..9 << 20]).unwrap();
        assert!(has_gap(&speaker.transcript()));
        fs::write(speaker.transcript(), vec![b'x'; 20 << 20]).unwrap();
        assert!(!has_gap(&speaker.transcript()));
    }

    #[test]
    fn what_is_shown_cannot_move_the_cursor_or_reorder_text() {
        let hostile = b"a\x1b[2Jb\x1b]0;title\x07c\x1b]8;;http://x\x1b\\d\r\n\x07\xffe\xe2\x80\xaef\x1b";
        assert_eq!(shown(hostile), "abcd\n\u{fffd}ef");
    }

    #[test]
    fn the_last_lines_of_a_huge_line_are_bounded() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("t");
        fs::write(&path, vec![b'y'; 1 << 20]).unwrap();
        let lines = last_lines(&path, 5);
        assert_eq!(lines.len(), 1);
        assert_eq!(lines[0].len(), 200);
        assert!(last_lines(&dir.path().join("none"), 5).is_empty());
    }

    #[test]
    fn secrets_are_gone_while_it_is_written_and_afterwards() {
        let (dir, task) = (tempfile::tempdir().unwrap(), id());
        let speaker = speaker(dir.path(), &task);
        let redactor = Arc::new(Redactor::new([b"canary-one-two-three".to_vec()]));
        let mut transcript = Transcript::open(&speaker).unwrap().redacted(redactor);
        let mut out = transcript.writer().unwrap();
        out.write_all(b"it is canary-one-").unwrap();
        transcript.trim();
        out.write_all(b"two-three\n").unwrap();
        transcript.trim();
        assert_eq!(fs::read(&transcript.spool).unwrap(), b"it is ********************\n");
        transcript.note("and canary-one-two-three");
        assert!(fs::read_to_string(&transcript.spool).unwrap().ends_with("and ********************\n"));
        out.write_all(b"canary-one-two-three").unwrap();
        assert_eq!(transcript.last_lines(1), ["********************"]);
        out.write_all(b" canary-one-two-three").unwrap();
        transcript.finish().unwrap();
        assert!(!fs::read_to_string(speaker.transcript()).unwrap().contains("canary"));
    }

    #[test]
    fn a_flood_hides_no_secrets() {
        let (dir, task) = (tempfile::tempdir().unwrap(), id());
        let speaker = speaker(dir.path(), &task);
        let redactor = Arc::new(Redactor::new([b"canary-one-two-three".to_vec()]));
        let mut transcript = Transcript::open(&speaker).unwrap().redacted(redactor);
        let mut out = transcript.writer().unwrap();
        let line = format!("{} canary-one-two-three\n", "x".repeat(4096 - 22));
        let megabyte = line.repeat(256);
        for _ in 0..40 {
            out.write_all(megabyte.as_bytes()).unwrap();
            transcript.trim();
        }
        transcript.finish().unwrap();
        let text = fs::read_to_string(speaker.transcript()).unwrap();
        assert!(text.len() > 15 << 20 && text.contains("bytes left out]"));
        assert!(!text.contains("canary"));
    }

    #[test]
    fn what_is_written_without_a_coordinator_is_trimmed_but_for_streams_that_can_be_read_again() {
        use std::os::unix::fs::MetadataExt as _;
        let folder = tempfile::tempdir().unwrap();
        let (mut transcript, mut stream) = (Unread::transcript(), Unread::stream());
        let flood = vec![b'x'; (HEAD + TAIL + 4 * STEP) as usize];
        for (name, unread, is_trimmed) in
            [("transcript", &mut transcript, true), ("stream", &mut stream, false)]
        {
            let path = folder.path().join(name);
            fs::write(&path, &flood).unwrap();
            let blocks = fs::metadata(&path).unwrap().blocks();
            let file = File::options().append(true).open(&path).unwrap();
            unread.trim(&file);
            let after = fs::metadata(&path).unwrap();
            assert_eq!(after.len(), flood.len() as u64);
            assert_eq!(after.blocks() < blocks, is_trimmed, "{name}");
        }
    }
}
