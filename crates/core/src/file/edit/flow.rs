//! Lists and mappings between brackets and braces, which may have a line for each element or be in one line: elements
//! are added, taken out and replaced together with their commas.

use super::layout::{Collection, Element};
use super::lines::{self, Cut};
use super::path::{Refused, Side};

pub(super) struct Flow<'a> {
    pub(super) text: &'a str,
    pub(super) line_end: &'static str,
    /// What is written between two elements of one line.
    pub(super) comma: &'static str,
    pub(super) brackets: (usize, usize),
    pub(super) collection: &'a Collection,
}

/// An element with the comments that belong to it.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Chunk {
    /// Whole lines above it.
    pub(super) above: String,
    pub(super) text: String,
    /// A comment behind it and its comma.
    pub(super) beside: String,
}

impl Flow<'_> {
    fn element(&self, place: usize) -> &Element {
        &self.collection.elements[place]
    }

    fn is_last(&self, place: usize) -> bool {
        place + 1 == self.collection.elements.len()
    }

    /// Whether an element begins its line.
    pub(super) fn begins(&self, place: usize) -> bool {
        lines::begins(self.text, self.element(place).start)
    }

    /// The comma behind an element.
    fn comma(&self, place: usize) -> Option<usize> {
        let at = lines::after_trivia(self.text, self.element(place).end());
        self.text[at..].starts_with(',').then_some(at)
    }

    /// Behind an element and its comma.
    fn end(&self, place: usize) -> usize {
        self.comma(place).map_or_else(|| self.element(place).end(), |comma| comma + 1)
    }

    /// Whether an element has its lines for itself.
    fn has_lines(&self, place: usize) -> bool {
        self.begins(place) && lines::is_done(self.text, self.end(place))
    }

    /// Where the lines of an element and of the comments above it begin.
    fn line(&self, place: usize) -> usize {
        let line = lines::start(self.text, self.element(place).start);
        let least = match place {
            0 => lines::end(self.text, self.brackets.0),
            _ => lines::end(self.text, self.end(place - 1)),
        };
        lines::comments_from(self.text, line, least.min(line))
    }

    /// An element as it can be put somewhere else.
    pub(super) fn chunk(&self, place: usize) -> Chunk {
        let element = self.element(place);
        let text = self.text[element.start..element.end()].to_owned();
        if !self.has_lines(place) {
            return Chunk { text, ..Chunk::default() };
        }
        let end = self.end(place);
        let above = self.text[self.line(place)..lines::start(self.text, element.start)].to_owned();
        let beside = self.text[end..lines::content_end(self.text, end)].trim_ascii_end().to_owned();
        Chunk { above, text, beside }
    }

    pub(super) fn insert(&self, side: Side, chunk: &Chunk) -> Result<Vec<Cut>, Refused> {
        let place = match side {
            Side::Before(place) | Side::After(place) => place,
        };
        let element = self.element(place);
        let (indent, line_end) = (lines::indent(self.text, element.start), self.line_end);
        let Chunk { above, text, beside } = chunk;
        let lines = |comma: &str| format!("{above}{indent}{text}{comma}{beside}{line_end}");
        let has_comments = !above.is_empty() || !beside.is_empty();
        let refused = || Refused::here(element.start);
        match side {
            Side::Before(_) if self.begins(place) => {
                let at = self.line(place);
                Ok(vec![(at..at, lines(","))])
            }
            _ if self.has_lines(place) => {
                let at = lines::end(self.text, self.end(place));
                Ok(match self.comma(place) {
                    Some(_) => vec![(at..at, lines(","))],
                    None => vec![(element.end()..element.end(), ",".to_owned()), (at..at, lines(""))],
                })
            }
            _ if has_comments => Err(refused()),
            Side::Before(_) => Ok(vec![(element.start..element.start, format!("{text}{}", self.comma))]),
            Side::After(_) => {
                let comma =
                    if self.begins(place) { format!(",{line_end}{indent}") } else { self.comma.to_owned() };
                Ok(vec![(element.end()..element.end(), format!("{comma}{text}"))])
            }
        }
    }

    /// Puts the first element between the brackets.
    pub(super) fn fill(&self, text: &str, pad: &str) -> Vec<Cut> {
        let (open, close) = self.brackets;
        let inner = &self.text[open + 1..close];
        let end = if inner.trim_ascii().is_empty() { close } else { open + 1 };
        vec![(open + 1..end, format!("{pad}{text}{pad}"))]
    }

    /// Takes out an element, its comma and its comments.
    pub(super) fn remove(&self, place: usize) -> Vec<Cut> {
        let (element, end) = (self.element(place), self.end(place));
        let is_blank = |from: usize, to: usize| self.text[from..to].trim_ascii().is_empty();
        if self.collection.elements.len() == 1 {
            let (open, close) = self.brackets;
            let whole = is_blank(open + 1, element.start) && is_blank(end, close);
            return vec![(if whole { open + 1..close } else { element.start..end }, String::new())];
        }
        let none = String::new;
        // The last one leaves the comma before it behind, unless it has one itself.
        let before = place.checked_sub(1).and_then(|before| self.comma(before));
        let left = before.filter(|_| self.comma(place).is_none());
        if self.has_lines(place) {
            let lines = (self.line(place)..lines::end(self.text, end), none());
            return left.map(|comma| (comma..comma + 1, none())).into_iter().chain([lines]).collect();
        }
        let range = match (before, left) {
            (Some(comma), left) if self.is_last(place) && is_blank(comma + 1, element.start) => {
                comma + usize::from(left.is_none())..end
            }
            (_, Some(comma)) => return vec![(comma..comma + 1, none()), (element.start..end, none())],
            _ if !self.is_last(place) && is_blank(end, self.element(place + 1).start) => {
                element.start..self.element(place + 1).start
            }
            _ => element.start..end,
        };
        vec![(range, none())]
    }

    /// Writes another value in the place of an element's.
    pub(super) fn replace(&self, place: usize, new: &str) -> Result<Vec<Cut>, Refused> {
        let Element { mark, value, .. } = self.element(place);
        match value.is_empty() {
            false => Ok(vec![(value.start..value.end, new.to_owned())]),
            true if self.text[..*mark].ends_with(':') => Ok(vec![(*mark..*mark, format!(" {new}"))]),
            true => Err(Refused::here(*mark)),
        }
    }
}
