//! What a process wrote, kept in a file of bounded size.
//!
//! The process writes to the file itself, so nothing of it passes through us and it goes on writing when we are gone.
//! While it writes, the middle of a file that grows too long is given back to the disk; at the end head and tail are
//! joined around a line that says what is missing.

use std::fs::{self, File};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use rustix::fs::FallocateFlags;

/// Enough of the beginning to see what it set out to do, enough of the end to see what became of it.
const HEAD: u64 = 8 << 20;
const TAIL: u64 = 8 << 20;

/// Holes are punched in whole steps of this, well above any file system's block.
const STEP: u64 = 1 << 20;

#[derive(Debug)]
pub struct Transcript {
    path: PathBuf,
    file: File,
    punched: u64,
}

impl Transcript {
    pub fn create(path: PathBuf) -> io::Result<Transcript> {
        let open = || File::options().create(true).append(true).read(true).open(&path);
        let file = open().or_else(|error| match (error.kind(), path.parent()) {
            (io::ErrorKind::NotFound, Some(parent)) => fs::create_dir_all(parent).and_then(|()| open()),
            _ => Err(error),
        })?;
        // An earlier run may have written to the same directory.
        file.set_len(0)?;
        Ok(Transcript { path, file, punched: HEAD })
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// A handle for the process to write to.
    pub fn writer(&self) -> io::Result<File> {
        self.file.try_clone()
    }

    /// Gives the middle back to the disk where the file has become too long. A file system that cannot do that keeps
    /// the whole until the end.
    pub fn trim(&mut self) {
        let Ok(length) = self.file.metadata().map(|metadata| metadata.len()) else { return };
        let end = length.saturating_sub(TAIL) / STEP * STEP;
        if end > self.punched {
            let hole = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
            if rustix::fs::fallocate(&self.file, hole, self.punched, end - self.punched).is_ok() {
                self.punched = end;
            }
        }
    }

    /// Makes a file that is too long a short one: head, a line about what is missing, tail.
    pub fn finish(mut self) -> io::Result<()> {
        let length = self.file.metadata()?.len();
        if length <= HEAD + TAIL + STEP {
            return Ok(());
        }
        let short = self.path.with_extension("short");
        let mut out = File::create(&short)?;
        self.file.seek(SeekFrom::Start(0))?;
        io::copy(&mut (&self.file).take(HEAD), &mut out)?;
        writeln!(out, "\n[conductor: {} bytes left out]", length - HEAD - TAIL)?;
        self.file.seek(SeekFrom::Start(length - TAIL))?;
        io::copy(&mut (&self.file).take(TAIL), &mut out)?;
        fs::rename(&short, &self.path)
    }
}

/// The last lines of a file, made safe to show: no control characters, no escapes, bounded length.
pub fn last_lines(path: &Path, lines: usize) -> Vec<String> {
    const WINDOW: u64 = 16 << 10;
    let read = || -> io::Result<Vec<u8>> {
        let mut file = File::open(path)?;
        let length = file.metadata()?.len();
        file.seek(SeekFrom::Start(length.saturating_sub(WINDOW)))?;
        let mut bytes = Vec::new();
        file.take(WINDOW).read_to_end(&mut bytes)?;
        Ok(bytes)
    };
    let text = shown(&read().unwrap_or_default());
    let all: Vec<&str> = text.lines().filter(|line| !line.trim().is_empty()).collect();
    all[all.len().saturating_sub(lines)..].iter().map(|line| line.chars().take(200).collect()).collect()
}

/// Bytes of unknown origin as text a terminal cannot be fooled with.
pub fn shown(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes);
    let mut out = String::with_capacity(text.len());
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '\x1b' => skip_escape(&mut chars),
            '\n' => out.push('\n'),
            '\t' => out.push(' '),
            c if c.is_control() || is_reordering(c) => {}
            c => out.push(c),
        }
    }
    out
}

/// `ESC [ … letter`, `ESC ] … BEL or ESC \`, or `ESC` and one character.
fn skip_escape(chars: &mut std::iter::Peekable<std::str::Chars<'_>>) {
    match chars.next() {
        Some('[') => while chars.next().is_some_and(|c| !('\x40'..='\x7e').contains(&c)) {},
        Some(']' | 'P' | '_' | '^' | 'X') => {
            while let Some(c) = chars.next() {
                if c == '\x07' || (c == '\x1b' && chars.next_if_eq(&'\\').is_some()) {
                    break;
                }
            }
        }
        _ => {}
    }
}

/// Characters that make text read differently from what it is.
fn is_reordering(c: char) -> bool {
    matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{200e}' | '\u{200f}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_short_transcript_is_kept_to_the_byte() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a/b/t.log");
        let mut transcript = Transcript::create(path.clone()).unwrap();
        let bytes = b"ok \xff\xfe \x1b[31m\0\n";
        transcript.writer().unwrap().write_all(bytes).unwrap();
        transcript.trim();
        transcript.finish().unwrap();
        assert_eq!(fs::read(&path).unwrap(), bytes);
    }

    #[test]
    fn a_long_one_keeps_head_and_tail_and_says_what_is_missing() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("t.log");
        let mut transcript = Transcript::create(path.clone()).unwrap();
        let mut out = transcript.writer().unwrap();
        out.write_all(b"the beginning\n").unwrap();
        for _ in 0..64 {
            out.write_all(&vec![b'x'; 1 << 20]).unwrap();
            transcript.trim();
        }
        out.write_all(b"\nthe end\n").unwrap();
        let on_disk = std::os::unix::fs::MetadataExt::blocks(&fs::metadata(&path).unwrap()) * 512;
        assert!(on_disk < 24 << 20, "{on_disk} bytes on disk while it was written");
        transcript.finish().unwrap();
        let text = fs::read_to_string(&path).unwrap();
        assert!(text.starts_with("the beginning\n") && text.ends_with("\nthe end\n"));
        assert!(text.contains("[conductor: 50331671 bytes left out]"), "{}", text.len());
        assert!(text.len() < 17 << 20);
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
}
