//! Lines of a word and what there is to say about it. Prose is broken to fit; paths and commands stay whole to be copied.

use std::fmt::Write as _;

use crate::output::style::{BOLD, PLAIN, painted};
use crate::output::width::wrapped;

/// How far in the words begin.
pub(super) const INDENT: usize = 7;
/// Where even a word has no room, lines are broken as if there were some.
const NARROWEST: usize = 40;

pub(super) struct Page {
    text: String,
    columns: usize,
}

impl Page {
    pub(super) fn new(columns: usize) -> Page {
        Page { text: String::new(), columns: columns.max(NARROWEST) }
    }

    pub(super) fn columns(&self) -> usize {
        self.columns
    }

    /// How wide what follows the first word may be.
    pub(super) fn room(&self) -> usize {
        self.columns - INDENT
    }

    /// A word of at most six letters, and what there is to say about it, in lines that fit.
    pub(super) fn say(&mut self, word: &str, text: &str) {
        self.styled(PLAIN, word, text);
    }

    /// The same with the word in a style.
    pub(super) fn styled(&mut self, style: &str, word: &str, text: &str) {
        for (at, line) in wrapped(text, self.room()).iter().enumerate() {
            let word = if at == 0 { word } else { "" };
            let _ = writeln!(self.text, "{} {line}", painted(style, &format!("{word:<6}")));
        }
    }

    /// The same on one line, whatever its width.
    pub(super) fn styled_line(&mut self, style: &str, word: &str, text: &str) {
        let _ =
            writeln!(self.text, "{}", format!("{} {text}", painted(style, &format!("{word:<6}"))).trim_end());
    }

    /// A line as it is.
    pub(super) fn line(&mut self, style: &str, text: &str) {
        let _ = writeln!(self.text, "{}", painted(style, text));
    }

    /// A line that an agent or a command has written, whole.
    pub(super) fn quote(&mut self, line: &str) {
        let _ = writeln!(self.text, "{}", format!("       | {line}").trim_end());
    }

    /// What the user can do next, to be copied.
    pub(super) fn next(&mut self, command: &str) {
        let _ = writeln!(self.text, "{}   {}", painted(BOLD, "next"), painted(BOLD, command));
    }

    /// A command that belongs to the line above it.
    pub(super) fn command(&mut self, command: &str) {
        let _ = writeln!(self.text, "       {}", painted(BOLD, command));
    }

    /// An empty line, unless there is one or nothing before it.
    pub(super) fn gap(&mut self) {
        if !self.text.is_empty() && !self.text.ends_with("\n\n") {
            self.text.push('\n');
        }
    }

    pub(super) fn into_text(self) -> String {
        self.text
    }
}
