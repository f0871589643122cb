//! How a file is written, so that what is added to it looks like the rest.

use super::layout::{Collection, Element, Form, Layout, Spot};
use super::lines;
use super::scalar::Context;

#[derive(Debug, Clone)]
pub(super) struct Style {
    pub(super) line_end: &'static str,
    pub(super) is_json: bool,
    /// How much deeper the keys of a mapping are than the key it belongs to.
    pub(super) step: usize,
    /// The same for the dashes of a list.
    pub(super) list_step: usize,
    /// Whether lists of words are written between brackets.
    pub(super) flow_lists: bool,
    /// Whether these have a line for each word.
    pub(super) long_lists: bool,
    /// How much deeper the lines between brackets or braces are.
    pub(super) unit: String,
    /// What stands behind `{` and before `}`.
    pub(super) pad: &'static str,
    pub(super) colon: &'static str,
    pub(super) comma: &'static str,
}

/// What most files have.
const STEP: usize = 2;

impl Style {
    pub(super) fn of(text: &str, layout: &Layout) -> Style {
        let is_json = serde_json::from_str::<serde::de::IgnoredAny>(text).is_ok();
        let seen = Seen::of(text, layout);
        let is_tight = is_json && seen.map.is_some_and(|map| map.mark == map.value.start);
        let is_padded = !is_json && seen.map.is_some_and(|map| text[..map.start].ends_with(' '));
        Style {
            line_end: Style::line_end(text),
            is_json,
            step: seen.step.filter(|step| *step > 0).unwrap_or(STEP),
            list_step: seen.inner_list_step.or(seen.list_step).unwrap_or(STEP),
            flow_lists: is_json || seen.is_flow_list.unwrap_or(seen.is_long_list == Some(false)),
            long_lists: seen.is_long_list.unwrap_or(false),
            unit: seen.unit.map_or_else(|| " ".repeat(STEP), str::to_owned),
            pad: if is_padded { " " } else { "" },
            colon: if is_tight { ":" } else { ": " },
            comma: if is_tight { "," } else { ", " },
        }
    }

    /// How the lines of a text end.
    pub(super) fn line_end(text: &str) -> &'static str {
        let is_windows = text.split_once('\n').is_some_and(|(line, _)| line.ends_with('\r'));
        if is_windows { "\r\n" } else { "\n" }
    }

    pub(super) fn flow(&self) -> Context {
        if self.is_json { Context::Json } else { Context::Flow }
    }
}

/// The first of each that the file has.
#[derive(Default)]
struct Seen<'l> {
    step: Option<usize>,
    list_step: Option<usize>,
    /// Of a list inside of a list's item.
    inner_list_step: Option<usize>,
    is_flow_list: Option<bool>,
    is_long_list: Option<bool>,
    unit: Option<&'l str>,
    /// The first entry of a mapping between braces.
    map: Option<&'l Element>,
}

impl<'l> Seen<'l> {
    fn of(text: &'l str, layout: &'l Layout) -> Seen<'l> {
        let mut seen = Seen::default();
        // In the order of the file, each with whether it is in a list.
        let mut open: Vec<(&Spot, bool)> = vec![(&layout.root, false)];
        while let Some((spot, in_list)) = open.pop() {
            let Some(collection) = spot.collection() else { continue };
            seen.collection(text, collection, in_list);
            let inside = in_list || !collection.is_map;
            open.extend(collection.elements.iter().rev().map(|element| (&element.value, inside)));
        }
        seen
    }

    fn collection(&mut self, text: &'l str, collection: &'l Collection, in_list: bool) {
        match (collection.is_map, collection.brackets) {
            (true, None) => collection.elements.iter().for_each(|entry| self.entry(text, entry, in_list)),
            (true, Some(_)) => self.map = self.map.or(collection.elements.first()),
            _ => {}
        }
        let (Some((open, _)), Some(first)) = (collection.brackets, collection.elements.first()) else {
            return;
        };
        let begins = lines::begins(text, first.start);
        if !collection.is_map && is_words(collection) {
            self.is_long_list.get_or_insert(begins);
        }
        let deeper = lines::indent(text, first.start).strip_prefix(lines::indent(text, open));
        self.unit = self.unit.or(deeper.filter(|deeper| begins && !deeper.is_empty()));
    }

    /// An entry that has lines of its own.
    fn entry(&mut self, text: &str, entry: &Element, in_list: bool) {
        let Some(value) = entry.value.collection() else { return };
        let Some(first) = value.elements.first() else { return };
        if !value.is_map && is_words(value) {
            self.is_flow_list.get_or_insert(value.brackets.is_some());
        }
        let deeper = lines::column(text, first.start).checked_sub(lines::column(text, entry.start));
        let (Some(deeper), None) = (deeper, value.brackets) else { return };
        match (value.is_map, in_list) {
            (true, _) => self.step.get_or_insert(deeper),
            (false, true) => self.inner_list_step.get_or_insert(deeper),
            (false, false) => self.list_step.get_or_insert(deeper),
        };
    }
}

/// Whether a list has nothing but scalars.
fn is_words(list: &Collection) -> bool {
    list.elements.iter().all(|item| matches!(item.value.form, Form::Scalar(_)))
}
