//! How wide text is on a terminal, and text made to fit.

use std::io::stdout;

use rustix::termios::tcgetwinsize;
use unicode_width::UnicodeWidthChar as _;

/// What every terminal has room for.
pub(crate) const USUAL: Room = Room { columns: 80, rows: 24 };

/// How much fits on a screen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Room {
    pub(crate) columns: usize,
    pub(crate) rows: usize,
}

/// That of the terminal standard output is; nothing where it is none. One that does not know its size has the usual one.
pub(crate) fn room() -> Option<Room> {
    let size = tcgetwinsize(stdout()).ok()?;
    match (size.ws_col, size.ws_row) {
        (0, _) | (_, 0) => Some(USUAL),
        (columns, rows) => Some(Room { columns: columns.into(), rows: rows.into() }),
    }
}

pub(crate) fn width_of(text: &str) -> usize {
    text.chars().map(|c| c.width().unwrap_or(0)).sum()
}

/// As much as there is room for, with a sign where something is missing.
pub(crate) fn cut(text: &str, room: usize, sign: &str) -> String {
    if width_of(text) <= room {
        return text.to_owned();
    }
    let Some(room) = room.checked_sub(width_of(sign)) else { return ".".repeat(room) };
    let (mut out, mut taken) = (String::new(), 0);
    for c in text.chars() {
        taken += c.width().unwrap_or(0);
        if taken > room {
            break;
        }
        out.push(c);
    }
    out + sign
}

/// Text in lines no wider than this, broken between words where that can be. A single word that is wider, such as a path,
/// stays whole: the user may want to copy it.
pub(crate) fn wrapped(text: &str, width: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    let mut taken = 0;
    for word in text.split(' ').filter(|word| !word.is_empty()) {
        let wide = width_of(word);
        if taken > 0 && taken + 1 + wide > width {
            lines.push(String::new());
            taken = 0;
        }
        if let Some(line) = lines.last_mut() {
            if taken > 0 {
                line.push(' ');
                taken += 1;
            }
            line.push_str(word);
            taken += wide;
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_cut_by_its_width_not_its_letters() {
        assert_eq!(cut("hello", 5, "…"), "hello");
        assert_eq!(cut("hello", 4, "…"), "hel…");
        assert_eq!(cut("漢字漢字", 7, "…"), "漢字漢…");
        assert_eq!(cut("漢字漢字", 6, "…"), "漢字…");
        assert_eq!(cut("hello", 2, "..."), "..");
        assert_eq!(cut("e\u{301}e\u{301}e\u{301}", 2, "…"), "e\u{301}…");
    }

    #[test]
    fn lines_break_between_words_and_never_within() {
        assert_eq!(wrapped("one two  three", 7), ["one two", "three"]);
        assert_eq!(wrapped("a /very/long/path b", 6), ["a", "/very/long/path", "b"]);
        assert_eq!(wrapped("漢字 漢字 x", 9), ["漢字 漢字", "x"]);
        assert_eq!(wrapped("", 5), [""]);
    }
}
