//! Lists and mappings whose elements have lines of their own: these lines are added, taken out and replaced.
//!
//! Comments right above an element and deeper ones right below it belong to it. Empty lines between elements are kept
//! as they are between others.

use std::ops::Range;

use super::layout::{Collection, Element, Form};
use super::lines::{self, Cut};
use super::path::{Refused, Side};
use super::write::Written;

pub(super) struct Rows<'a> {
    pub(super) text: &'a str,
    pub(super) line_end: &'static str,
    /// What the collection belongs to: behind its key's colon or its dash, or where the document begins.
    pub(super) mark: usize,
    pub(super) is_root: bool,
    pub(super) collection: &'a Collection,
}

impl Rows<'_> {
    fn element(&self, place: usize) -> &Element {
        &self.collection.elements[place]
    }

    fn count(&self) -> usize {
        self.collection.elements.len()
    }

    /// Whether an element does not stand behind the dash of another.
    pub(super) fn begins(&self, place: usize) -> bool {
        lines::begins(self.text, self.element(place).start)
    }

    /// The lines of an element and of its comments.
    pub(super) fn extent(&self, place: usize) -> Range<usize> {
        let line = lines::start(self.text, self.element(place).start);
        let least = match place {
            0 if self.is_root && self.mark == 0 => 0,
            0 => lines::end(self.text, self.mark),
            _ => self.end(place - 1),
        };
        let start = lines::comments_from(self.text, line, least.min(line));
        // What the file begins with is about the file.
        let is_head = self.is_root && place == 0 && start == least;
        (if is_head { line } else { start })..self.end(place)
    }

    fn end(&self, place: usize) -> usize {
        let element = self.element(place);
        let column = lines::column(self.text, element.start);
        let mut end = lines::end(self.text, element.end());
        while lines::comment(self.text, end).is_some_and(|deeper| deeper > column) {
            end = lines::end(self.text, end);
        }
        end
    }

    /// The empty lines right above an element.
    fn gap_above(&self, place: usize) -> Range<usize> {
        let extent = self.extent(place);
        let least = if place > 0 { self.end(place - 1) } else { 0 };
        lines::blank_from(self.text, extent.start, least)..extent.start
    }

    /// The empty lines right below an element.
    fn gap_below(&self, place: usize) -> Range<usize> {
        let end = self.end(place);
        end..lines::blank_until(self.text, end)
    }

    fn line_count(&self, range: Range<usize>) -> usize {
        self.text[range].matches('\n').count()
    }

    /// Adds lines beside an element, with as many empty lines between as there are between others.
    pub(super) fn insert(&self, side: Side, lines: &str) -> Result<Vec<Cut>, Refused> {
        let (at, gap) = match side {
            Side::After(place) if place + 1 < self.count() => (self.end(place), self.gap_below(place)),
            Side::After(0) => (self.end(0), 0..0),
            Side::After(place) => (self.end(place), self.gap_above(place)),
            Side::Before(place) if !self.begins(place) => {
                return Err(Refused::here(self.element(place).start));
            }
            Side::Before(0) if self.count() > 1 => (self.extent(0).start, self.gap_below(0)),
            Side::Before(0) => (self.extent(0).start, 0..0),
            Side::Before(place) => (self.extent(place).start, self.gap_above(place)),
        };
        let gap = self.line_end.repeat(self.line_count(gap));
        let new = match side {
            Side::After(_) => format!("{gap}{lines}"),
            Side::Before(_) => format!("{lines}{gap}"),
        };
        Ok(vec![(at..at, new)])
    }

    /// Takes out one of several elements.
    pub(super) fn remove(&self, place: usize) -> Vec<Cut> {
        let extent = self.extent(place);
        if !self.begins(place) {
            // What comes next takes its place behind the dash.
            let rest = &self.text[extent.end..];
            let next = extent.end + rest.len() - rest.trim_ascii_start().len();
            return vec![(self.element(place).start..next, String::new())];
        }
        let (above, below) = (self.gap_above(place), self.gap_below(place));
        let takes_above = match place {
            0 => false,
            _ if place + 1 == self.count() => true,
            _ => self.line_count(above.clone()) <= self.line_count(below.clone()),
        };
        let range = if takes_above { above.start..extent.end } else { extent.start..below.end };
        vec![(range, String::new())]
    }

    /// Writes another value behind an element's key or dash. A comment in the line of the key stays.
    pub(super) fn replace(&self, place: usize, new: &Written) -> Vec<Cut> {
        let Element { mark, value, .. } = self.element(place);
        let (text, mark) = (self.text, *mark);
        let below: String = new.below.iter().flat_map(|line| [line.as_str(), self.line_end]).collect();
        let is_beside = !text[mark..value.start].contains('\n');
        let behind = if new.beside.is_empty() { String::new() } else { format!(" {}", new.beside) };
        if value.is_empty() {
            let next = lines::end(text, mark);
            return vec![(mark..mark, behind), (next..next, below)];
        }
        if !is_beside {
            let range = lines::end(text, mark)..lines::end(text, value.end);
            return vec![(mark..mark, behind), (range, below)];
        }
        let head_end = match value.form {
            Form::Block { header_end } => header_end,
            _ => value.end,
        };
        let head = match new.beside.is_empty() {
            true => (mark..head_end, String::new()),
            false => (value.start..head_end, new.beside.clone()),
        };
        vec![head, (lines::end(text, head_end)..lines::end(text, value.end), below)]
    }
}
