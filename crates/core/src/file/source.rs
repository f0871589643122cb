//! A task file's text and the places in it.
//!
//! Knows bytes, lines and characters; nothing of YAML.

use super::diagnostic::{Diagnostic, Severity};

/// A range of bytes in a source's text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct Span {
    pub start: usize,
    pub end: usize,
}

impl Span {
    pub fn new(start: usize, end: usize) -> Span {
        Span { start, end }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Source {
    name: String,
    text: String,
    /// Where each line begins.
    lines: Vec<usize>,
    has_mark: bool,
}

const BOM: &str = "\u{feff}";

impl Source {
    /// The text of a file, which must be UTF-8 without NUL bytes. A byte-order mark is dropped.
    #[expect(clippy::result_large_err, reason = "made once per file")]
    pub fn new(name: impl Into<String>, bytes: Vec<u8>) -> Result<Source, Diagnostic> {
        let (bytes, has_mark) = match bytes.strip_prefix(BOM.as_bytes()) {
            Some(rest) => (rest.to_vec(), true),
            None => (bytes, false),
        };
        let text =
            String::from_utf8(bytes).map_err(|error| not_utf8(error.as_bytes(), error.utf8_error()))?;
        if let Some(at) = text.find('\0') {
            return Err(unreadable("nul-byte", text.as_bytes(), at, "is a NUL byte, which no text file has"));
        }
        Ok(Source { name: name.into(), lines: line_starts(&text), text, has_mark })
    }

    /// What the file begins with before its text.
    pub(super) fn byte_order_mark(&self) -> &'static str {
        if self.has_mark { BOM } else { "" }
    }

    pub fn name(&self) -> &str {
        &self.name
    }

    pub fn text(&self) -> &str {
        &self.text
    }

    /// The words at a place; empty where the place is not in this text.
    pub fn slice(&self, span: Span) -> &str {
        self.text.get(span.start..span.end).unwrap_or_default()
    }

    /// Line and column of a byte, both counted from 1, the column in characters.
    pub fn position(&self, byte: usize) -> (usize, usize) {
        let byte = self.text.floor_char_boundary(byte);
        let line = self.lines.partition_point(|&start| start <= byte);
        let start = self.lines[line - 1];
        (line, self.text[start..byte].chars().count() + 1)
    }

    /// The part of a place that lies on its first line, so that a mark under it stays one mark.
    pub(super) fn first_line(&self, span: Span) -> Span {
        let end = self.slice(span).find(['\n', '\r']).map_or(span.end, |length| span.start + length);
        Span::new(span.start, end)
    }
}

fn line_starts(text: &str) -> Vec<usize> {
    std::iter::once(0).chain(text.match_indices('\n').map(|(at, _)| at + 1)).collect()
}

fn not_utf8(bytes: &[u8], error: std::str::Utf8Error) -> Diagnostic {
    let mut found = unreadable("not-utf8", bytes, error.valid_up_to(), "is not UTF-8");
    if bytes.starts_with(b"\xFF\xFE") || bytes.starts_with(b"\xFE\xFF") {
        found.help = Some("the file looks like UTF-16; save it as UTF-8".to_owned());
    }
    found
}

/// There is no text to show a place in, so the message itself says where.
fn unreadable(code: &'static str, bytes: &[u8], at: usize, what: &str) -> Diagnostic {
    let before = String::from_utf8_lossy(&bytes[..at]);
    let line = before.matches('\n').count() + 1;
    let column = before.rsplit('\n').next().unwrap_or_default().chars().count() + 1;
    let byte = bytes.get(at).copied().unwrap_or_default();
    let message = format!("byte 0x{byte:02x} at line {line}, column {column} {what}");
    Diagnostic::new(Severity::Error, code, Span::new(at, at + 1), message)
}
