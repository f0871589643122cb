//! Text of unknown origin as it may be shown to people.

use std::io::{self, Read as _, Seek as _, SeekFrom};
use std::path::Path;

use super::opening::open_own;
use crate::host::redact;

/// The last lines of a file, made safe to show: no control characters, no escapes, bounded length.
pub fn last_lines(path: &Path, lines: usize) -> Vec<String> {
    const WINDOW: u64 = 16 << 10;
    let read = || -> io::Result<Vec<u8>> {
        let mut file = open_own(path)?;
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

/// Text of unknown origin on one line.
pub fn one_line(text: &str) -> String {
    shown(text.as_bytes()).replace('\n', " ")
}

/// Bytes of unknown origin as text a terminal cannot be fooled with.
pub fn shown(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes);
    let mut out = String::with_capacity(text.len());
    let mut shown_from = 0;
    for (at, c) in text.char_indices() {
        match c {
            _ if at < shown_from => {}
            '\x1b' => shown_from = redact::sequence(text.as_bytes(), at + 1),
            '\n' => out.push('\n'),
            '\t' => out.push(' '),
            c if c.is_control() || is_reordering(c) => {}
            c => out.push(c),
        }
    }
    out
}

/// Characters that make text read differently from what it is.
fn is_reordering(c: char) -> bool {
    matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{200e}' | '\u{200f}')
}
