//! What the YAML parser stumbled over, in words for people who do not know its grammar.

use granit_parser::{ErrorKind, ScanError};

use super::diagnostic::Report;
use super::parse::Stop;
use super::source::Span;

pub(super) fn report(r: &mut Report<'_>, error: &ScanError) -> Stop {
    let text = r.source.text();
    let at = text.floor_char_boundary(error.marker().byte_offset().unwrap_or_default());
    let (code, message, help) = explain(error.kind());
    // The parser names the text that the tab runs into; people look for the tab.
    let at = match error.kind() {
        ErrorKind::TabInPlainScalar => at + text[at..].find('\t').unwrap_or_default(),
        _ => at,
    };
    r.stop(code, token(text, at), &message, help)
}

/// The word at a place, or one character where there is none.
fn token(text: &str, at: usize) -> Span {
    let rest = &text[at..];
    let word = rest.find(|c: char| c.is_whitespace() || ",:]}".contains(c)).unwrap_or(rest.len());
    let one = rest.chars().next().map_or(0, char::len_utf8);
    Span::new(at, at + word.max(one))
}

fn explain(kind: &ErrorKind) -> (&'static str, String, Option<&'static str>) {
    let (code, message, help) = match kind {
        ErrorKind::RecursionLimitExceeded => ("too-deep", "values are nested too deep", None),
        ErrorKind::UnknownAnchor => (
            "unknown-anchor",
            "this alias has no anchor",
            Some("a text that starts with '*' needs quotes around it"),
        ),
        ErrorKind::TabInPlainScalar
        | ErrorKind::TabInBlockIndentation
        | ErrorKind::TabInIndentation
        | ErrorKind::TabNotAllowed => ("syntax", "a tab cannot indent YAML", Some("indent with spaces")),
        ErrorKind::InvalidTrailingDoubleQuotedScalar | ErrorKind::InvalidTrailingSingleQuotedScalar => (
            "syntax",
            "a quoted text has ended, and this cannot follow it",
            Some("a ',' is missing before this, or the quote inside the text needs escaping"),
        ),
        ErrorKind::UnclosedQuotedScalar => ("syntax", "this quote is never closed", None),
        ErrorKind::MappingValueNotAllowed | ErrorKind::SimpleKeyExpected => (
            "syntax",
            "a ':' is missing or stands where none can",
            Some("a text with ': ' in it needs quotes around it"),
        ),
        ErrorKind::ExpectedBlockMappingKey
        | ErrorKind::ExpectedBlockSequenceEntry
        | ErrorKind::InvalidIndentation => (
            "syntax",
            "the indentation does not fit the lines above",
            Some("the keys of a mapping start in one column, and so do the '-' of a list"),
        ),
        ErrorKind::ExpectedFlowMappingSeparator => ("syntax", "expected ',' or '}' here", None),
        ErrorKind::ExpectedFlowSequenceSeparator => ("syntax", "expected ',' or ']' here", None),
        ErrorKind::UnexpectedCharacter { .. } => {
            ("syntax", "this character cannot start a text", Some("put quotes around it"))
        }
        ErrorKind::UnknownQuotedScalarEscape => (
            "syntax",
            "unknown escape in a quoted text",
            Some("write '\\\\' for a backslash, or use single quotes"),
        ),
        ErrorKind::UnclosedFlowCollection { open } => {
            return ("syntax", format!("this '{open}' is never closed"), None);
        }
        ErrorKind::MismatchedFlowCollectionEnd { open, close } => {
            return ("syntax", format!("'{open}' is closed by '{close}'"), None);
        }
        other => return ("syntax", in_words(other), None),
    };
    (code, message.to_owned(), help)
}

/// The rare ones: `ExpectedTagBang` becomes "expected tag bang", which is still better than silence.
fn in_words(kind: &ErrorKind) -> String {
    let name = format!("{kind:?}");
    let name = name.split([' ', '(', '{']).next().unwrap_or_default();
    let mut words = String::from("not valid YAML:");
    for letter in name.chars() {
        if letter.is_ascii_uppercase() {
            words.push(' ');
        }
        words.push(letter.to_ascii_lowercase());
    }
    words
}
