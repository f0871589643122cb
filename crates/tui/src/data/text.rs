//! Text in tones: what a line means, not how it looks. Lines are broken here, because how far one can scroll depends on it.

use unicode_width::{UnicodeWidthChar as _, UnicodeWidthStr as _};

use super::state::State;

/// What a piece of text is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Tone {
    Plain,
    Dim,
    Strong,
    Accent,
    State(State),
    Added,
    Removed,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Piece {
    pub(crate) tone: Tone,
    pub(crate) text: String,
}

/// One line, and how far its continuation is set in where it is broken.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Line {
    pub(crate) pieces: Vec<Piece>,
    pub(crate) indent: usize,
}

impl Line {
    pub fn of(tone: Tone, text: impl Into<String>) -> Line {
        Line { pieces: vec![Piece { tone, text: text.into() }], indent: 0 }
    }

    pub fn and(mut self, tone: Tone, text: impl Into<String>) -> Line {
        self.add(tone, text);
        self
    }

    pub fn add(&mut self, tone: Tone, text: impl Into<String>) {
        self.pieces.push(Piece { tone, text: text.into() });
    }

    /// What another line says, behind what this one says.
    pub fn append(&mut self, other: Line) {
        self.pieces.extend(other.pieces);
    }

    pub(crate) fn set_in(self, indent: usize) -> Line {
        Line { indent, ..self }
    }

    pub(crate) fn plain(&self) -> String {
        self.pieces.iter().map(|piece| piece.text.as_str()).collect()
    }

    pub fn width(&self) -> usize {
        self.pieces.iter().map(|piece| piece.text.width()).sum()
    }

    /// In lines of at most so many columns: broken at spaces where there are any.
    fn broken(&self, width: usize) -> Vec<Line> {
        if self.width() <= width || width == 0 {
            return vec![self.clone()];
        }
        let indent = self.indent.min(width / 2);
        let mut breaking = Breaking { width, indent, lines: Vec::new(), now: Line::default(), used: 0 };
        for piece in &self.pieces {
            for word in words(&piece.text) {
                breaking.add(piece.tone, word);
            }
        }
        breaking.lines.push(breaking.now);
        breaking.lines
    }
}

/// Words with the spaces before them.
fn words(text: &str) -> Vec<&str> {
    let (mut words, mut start, mut in_word) = (Vec::new(), 0, false);
    for (at, c) in text.char_indices() {
        if c == ' ' && in_word {
            words.push(&text[start..at]);
            start = at;
            in_word = false;
        } else if c != ' ' {
            in_word = true;
        }
    }
    words.push(&text[start..]);
    words
}

struct Breaking {
    width: usize,
    indent: usize,
    lines: Vec<Line>,
    now: Line,
    used: usize,
}

impl Breaking {
    fn add(&mut self, tone: Tone, word: &str) {
        if self.used + word.width() <= self.width {
            return self.put(tone, word);
        }
        let bare = word.trim_start_matches(' ');
        if self.indent + bare.width() <= self.width && self.used > self.indent {
            self.next();
            return self.put(tone, bare);
        }
        let mut part = String::new();
        for c in word.chars() {
            if self.used + part.width() + c.width().unwrap_or(0) > self.width {
                self.put(tone, &std::mem::take(&mut part));
                self.next();
            }
            part.push(c);
        }
        self.put(tone, &part);
    }

    fn put(&mut self, tone: Tone, text: &str) {
        self.used += text.width();
        match self.now.pieces.last_mut() {
            Some(last) if last.tone == tone => last.text.push_str(text),
            _ => self.now.pieces.push(Piece { tone, text: text.to_owned() }),
        }
    }

    fn next(&mut self) {
        self.lines.push(std::mem::take(&mut self.now));
        self.used = 0;
        if self.indent > 0 {
            self.put(Tone::Plain, &" ".repeat(self.indent));
        }
    }
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Text(pub(crate) Vec<Line>);

impl Text {
    pub(crate) fn one(tone: Tone, words: impl Into<String>) -> Text {
        let mut text = Text::default();
        text.add(tone, &words.into());
        text
    }

    /// Every line of these words in one tone.
    pub(crate) fn add(&mut self, tone: Tone, words: &str) {
        self.0.extend(words.lines().map(|line| Line::of(tone, clean(line))));
    }

    pub(crate) fn push(&mut self, line: Line) {
        self.0.push(line);
    }

    pub(crate) fn gap(&mut self) {
        if !self.0.is_empty() {
            self.0.push(Line::default());
        }
    }

    pub(crate) fn broken(&self, width: usize) -> Vec<Line> {
        self.0.iter().flat_map(|line| line.broken(width)).collect()
    }

    pub(crate) fn plain(&self) -> String {
        self.0.iter().map(|line| line.plain() + "\n").collect()
    }
}

/// Tabs as spaces, and nothing a terminal would act on.
pub(crate) fn clean(text: &str) -> String {
    text.replace('\t', "    ").chars().filter(|c| !c.is_control()).collect()
}

/// Cut to a width, with a sign where something is missing.
pub fn cut(text: &str, width: usize, sign: &str) -> String {
    if text.width() <= width {
        return text.to_owned();
    }
    let Some(room) = width.checked_sub(sign.width()) else { return ".".repeat(width) };
    let (mut out, mut used) = (String::new(), 0);
    for c in text.chars() {
        used += c.width().unwrap_or(0);
        if used > room {
            break;
        }
        out.push(c);
    }
    out + sign
}

pub fn width_of(text: &str) -> usize {
    text.width()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn broken(text: &str, width: usize, indent: usize) -> Vec<String> {
        Line::of(Tone::Plain, text).set_in(indent).broken(width).iter().map(Line::plain).collect()
    }

    #[test]
    fn lines_are_broken_at_spaces_and_words_only_where_they_are_too_long() {
        assert_eq!(broken("one two three", 20, 0), ["one two three"]);
        assert_eq!(broken("one two three", 8, 0), ["one two", "three"]);
        assert_eq!(broken("one two three", 8, 2), ["one two", "  three"]);
        assert_eq!(broken("abcdefghij", 4, 0), ["abcd", "efgh", "ij"]);
        assert_eq!(broken("漢字漢字", 5, 0), ["漢字", "漢字"]);
        assert_eq!(broken("a bcdefghijk", 4, 1), ["a bc", " def", " ghi", " jk"]);
    }

    #[test]
    fn what_is_cut_says_so() {
        assert_eq!(cut("abc", 3, "…"), "abc");
        assert_eq!(cut("abcd", 3, "…"), "ab…");
        assert_eq!(cut("漢字漢", 4, "…"), "漢…");
        assert_eq!(cut("abc", 0, "…"), "");
        assert_eq!(cut("abcd", 3, "..."), "...");
        assert_eq!(cut("abcd", 2, "..."), "..");
    }

    #[test]
    fn nothing_a_terminal_acts_on_is_left() {
        assert_eq!(clean("a\x1b[31mb\tc\r"), "a[31mb    c");
    }
}
