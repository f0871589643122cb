//! A YAML or JSON text that is changed value by value: every other byte stays as it is.
//!
//! Knows no tasks, only paths. Each change is made in the text, which is then read anew.

use serde_json::{Map, Value};

use super::diff;
use super::flow::{Chunk, Flow};
use super::layout::{Collection, Form, Layout, Spot};
use super::lines::{self, Cut};
use super::path::{Refused, Side, Step, Why, joined, parent};
use super::rows::Rows;
use super::scalar::{self, Quotes};
use super::style::Style;
use super::write::{STEP_OF_ITEM, Written};

pub(super) struct Doc {
    text: String,
    /// Whether its last line has an end; while it is changed, it has one.
    is_ended: bool,
    layout: Layout,
    style: Style,
}

/// A value that may be changed.
struct Found<'d> {
    /// Behind the colon or dash that it stands behind.
    mark: usize,
    spot: &'d Spot,
    is_root: bool,
}

impl Doc {
    pub(super) fn of(text: &str) -> Result<Doc, Refused> {
        let is_ended = text.ends_with('\n');
        let text = if is_ended { text.to_owned() } else { format!("{text}{}", Style::line_end(text)) };
        let layout = Layout::of(&text)?;
        let style = Style::of(&text, &layout);
        Ok(Doc { text, is_ended, layout, style })
    }

    pub(super) fn text(&self) -> &str {
        let text = &self.text;
        if self.is_ended { text } else { text.strip_suffix(self.style.line_end).unwrap_or(text) }
    }

    pub(super) fn is_json(&self) -> bool {
        self.style.is_json
    }

    /// The line of a place, as it is now.
    pub(super) fn line(&self, at: usize) -> usize {
        lines::number(&self.text, at)
    }

    /// Whether any value is repeated by an alias.
    pub(super) fn has_aliases(&self) -> bool {
        self.layout.root.all().any(|spot| matches!(spot.form, Form::Alias))
    }

    /// The line in which a value begins, wherever it is written.
    pub(super) fn line_of(&self, path: &[Step]) -> usize {
        match self.find(path) {
            Ok(found) => self.line(found.spot.start),
            Err(refused) => self.line(refused.at),
        }
    }

    /// Sets one key of the mapping at a path, which has `old` there so far.
    pub(super) fn set(
        &mut self,
        path: &[Step],
        key: &str,
        old: Option<&Value>,
        new: &Value,
    ) -> Result<(), Refused> {
        let collection = self.collection(path)?;
        if !collection.is_map {
            return Err(Refused::here(self.find(path)?.spot.start));
        }
        match collection.place(key) {
            Some(_) => {
                self.change(&joined(path, Step::Key(key.to_owned())), old.unwrap_or(&Value::Null), new)
            }
            None => self.add_entry(path, key, new),
        }
    }

    /// Writes another value where `old` is, as little of it as possible.
    pub(super) fn change(&mut self, path: &[Step], old: &Value, new: &Value) -> Result<(), Refused> {
        if old == new {
            return Ok(());
        }
        let (place, found) = self.element(path)?;
        let spot = &found.elements[place].value;
        let parted = spot.collection().is_some_and(|inner| {
            let begins = inner.elements.first().is_some_and(|first| lines::begins(&self.text, first.start));
            let is_usual = !inner.is_odd && !inner.merges && !inner.elements.is_empty();
            is_usual && !self.layout.is_shared(spot) && (inner.is_map || inner.brackets.is_some() || begins)
        });
        match (old, new) {
            (Value::Object(old), Value::Object(new)) if parted && !new.is_empty() => {
                self.change_map(path, old, new)
            }
            (Value::Array(old), Value::Array(new)) if parted => match diff::steps(old, new) {
                Some(steps) => self.change_list(path, &steps, new),
                None => self.replace(path, &Value::Array(new.clone())),
            },
            _ => self.replace(path, new),
        }
    }

    fn change_map(
        &mut self,
        path: &[Step],
        old: &Map<String, Value>,
        new: &Map<String, Value>,
    ) -> Result<(), Refused> {
        for (key, value) in new {
            self.set(path, key, old.get(key), value)?;
        }
        for key in old.keys().filter(|key| !new.contains_key(*key)) {
            self.remove(&joined(path, Step::Key(key.clone())))?;
        }
        Ok(())
    }

    fn change_list(&mut self, path: &[Step], steps: &[diff::Step], new: &[Value]) -> Result<(), Refused> {
        let mut place = 0;
        for step in steps {
            match step {
                diff::Step::Keep => place += 1,
                diff::Step::Remove => self.remove(&joined(path, Step::Item(place)))?,
                diff::Step::Insert(from) => {
                    let side = place.checked_sub(1).map_or(Side::Before(0), Side::After);
                    self.insert(path, side, &new[*from])?;
                    place += 1;
                }
            }
        }
        Ok(())
    }

    fn replace(&mut self, path: &[Step], new: &Value) -> Result<(), Refused> {
        let cuts = self.replacing(path, new)?;
        self.splice(cuts)
    }

    /// Writes one value at several places, none of which is in another.
    pub(super) fn replace_all(&mut self, paths: &[&[Step]], new: &Value) -> Result<(), Refused> {
        let cuts: Result<Vec<_>, _> = paths.iter().map(|path| self.replacing(path, new)).collect();
        self.splice(cuts?.concat())
    }

    fn replacing(&self, path: &[Step], new: &Value) -> Result<Vec<Cut>, Refused> {
        let (place, collection) = self.element(path)?;
        let element = &collection.elements[place];
        self.refuse_shared(&element.value)?;
        Ok(match self.flow(collection) {
            Some(flow) => {
                let indent = lines::indent(&self.text, element.start);
                let spreads =
                    flow.begins(place) || self.text[element.value.start..element.value.end].contains('\n');
                let new = if spreads { self.style.spread(new, indent) } else { self.style.inline(new) };
                flow.replace(place, &new)?
            }
            None => {
                let quotes = match element.value.form {
                    Form::Scalar(style) if !element.value.is_empty() => Quotes::of(style),
                    _ => element.key.as_deref().map_or(Quotes::None, |key| self.quotes(parent(path), key)),
                };
                let column = lines::column(&self.text, element.start);
                let new = match (new, collection.is_map) {
                    (Value::Object(_), false) => {
                        Written { beside: self.style.inline(new), below: Vec::new() }
                    }
                    _ => self.style.block(new, column, quotes),
                };
                self.rows(parent(path))?.replace(place, &new)
            }
        })
    }

    fn add_entry(&mut self, path: &[Step], key: &str, value: &Value) -> Result<(), Refused> {
        let collection = self.collection(path)?;
        let last = collection.elements.len().checked_sub(1);
        let cuts = match (self.flow(collection), last) {
            (Some(flow), None) => {
                flow.fill(&self.style.entry(key, &self.style.inline(value)), self.style.pad)
            }
            (Some(flow), Some(last)) => {
                let indent = lines::indent(&self.text, collection.elements[last].start);
                let value = if flow.begins(last) {
                    self.style.spread(value, indent)
                } else {
                    self.style.inline(value)
                };
                let text = self.style.entry(key, &value);
                flow.insert(Side::After(last), &Chunk { text, ..Chunk::default() })?
            }
            (None, Some(last)) => {
                let column = lines::column(&self.text, collection.elements[0].start);
                let quotes = self.quotes(path, key);
                let entry = Map::from_iter([(key.to_owned(), value.clone())]);
                let lines = self.style.entries(&entry, column, |_| quotes);
                self.rows(path)?.insert(Side::After(last), &self.ended(&lines))?
            }
            (None, None) => return Err(Refused::here(self.layout.start)),
        };
        self.splice(cuts)
    }

    /// Adds an item to a list.
    pub(super) fn insert(&mut self, path: &[Step], side: Side, value: &Value) -> Result<(), Refused> {
        let list = self.collection(path)?;
        let (Side::Before(place) | Side::After(place)) = side;
        let cuts = match (self.flow(list), list.elements.get(place)) {
            (Some(flow), None) => flow.fill(&self.style.inline(value), ""),
            (Some(flow), Some(beside)) => {
                let is_long = self.text[beside.start..beside.end()].contains('\n');
                let indent = lines::indent(&self.text, beside.start);
                let spreads = flow.begins(place) && (is_long || self.style.long_lists);
                let text = if spreads { self.style.spread(value, indent) } else { self.style.inline(value) };
                flow.insert(side, &Chunk { text, ..Chunk::default() })?
            }
            (None, Some(_)) => {
                let lines = self.item(path, list, place, value);
                self.rows(path)?.insert(side, &self.ended(&lines))?
            }
            (None, None) => return Err(Refused::here(self.layout.start)),
        };
        self.splice(cuts)
    }

    /// An item in lines of its own that looks like the one beside it.
    fn item(&self, path: &[Step], list: &Collection, place: usize, value: &Value) -> Vec<String> {
        let beside = &list.elements[place];
        let column = lines::column(&self.text, beside.start);
        let is_near = !self.text[beside.mark..beside.value.start].contains('\n');
        let step = match lines::column(&self.text, beside.value.start).checked_sub(column) {
            Some(step) if is_near && step > 1 => step,
            _ => STEP_OF_ITEM,
        };
        let is_inline = beside.value.collection().is_some_and(|inner| inner.brackets.is_some());
        let is_long = |value: &Value| value.as_str().is_some_and(|text| scalar::block(text).is_some());
        match value.as_object() {
            Some(map) if is_inline && !map.values().any(is_long) => {
                let gap = " ".repeat(step - 1);
                vec![format!("{}-{gap}{}", " ".repeat(column), self.style.inline(value))]
            }
            Some(_) => {
                let item = joined(path, Step::Item(place));
                self.style.item(value, column, step, |key| self.quotes(&item, key))
            }
            None => {
                let quotes = match beside.value.form {
                    Form::Scalar(style) => Quotes::of(style),
                    _ => Quotes::None,
                };
                self.style.item(value, column, step, |_| quotes)
            }
        }
    }

    /// Takes out an item of a list or an entry of a mapping.
    pub(super) fn remove(&mut self, path: &[Step]) -> Result<(), Refused> {
        let (place, collection) = self.element(path)?;
        let element = &collection.elements[place];
        self.refuse_shared(&element.value)?;
        let cuts = match self.flow(collection) {
            Some(flow) => flow.remove(place),
            None if collection.elements.len() == 1 => return Err(Refused::here(element.start)),
            None => self.rows(parent(path))?.remove(place),
        };
        self.splice(cuts)
    }

    /// Moves an item of a list beside another one, with its comments.
    pub(super) fn shift(&mut self, path: &[Step], from: usize, side: Side) -> Result<(), Refused> {
        let list = self.collection(path)?;
        let element = list.elements.get(from).ok_or(Refused::here(self.layout.start))?;
        let (start, beyond) = (element.start, |place: usize| if place > from { place - 1 } else { place });
        let side = match side {
            Side::Before(place) => Side::Before(beyond(place)),
            Side::After(place) => Side::After(beyond(place)),
        };
        let before = self.text.clone();
        let moved = match self.flow(list) {
            Some(flow) => {
                let chunk = flow.chunk(from);
                let cuts = flow.remove(from);
                self.splice(cuts).and_then(|()| {
                    let list = self.collection(path)?;
                    let flow = self.flow(list).ok_or(Refused::here(start))?;
                    let cuts = flow.insert(side, &chunk)?;
                    self.splice(cuts)
                })
            }
            None => {
                let rows = self.rows(path)?;
                let lines = self.text[rows.extent(from)].to_owned();
                let cuts =
                    if rows.begins(from) { rows.remove(from) } else { return Err(Refused::here(start)) };
                self.splice(cuts).and_then(|()| {
                    let cuts = self.rows(path)?.insert(side, &lines)?;
                    self.splice(cuts)
                })
            }
        };
        if moved.is_err() {
            self.layout = Layout::of(&before)?;
            self.text = before;
        }
        moved
    }

    fn splice(&mut self, cuts: Vec<Cut>) -> Result<(), Refused> {
        let at = cuts.first().map_or(0, |(range, _)| range.start);
        let text = lines::spliced(&self.text, cuts);
        // Its places are those of a text that is not kept.
        self.layout = Layout::of(&text).map_err(|_| Refused::here(at))?;
        self.text = text;
        Ok(())
    }

    /// The value at a path, where nothing on the way is repeated elsewhere.
    fn find(&self, path: &[Step]) -> Result<Found<'_>, Refused> {
        let mut found = Found { mark: self.layout.start, spot: &self.layout.root, is_root: true };
        self.refuse_repeated(found.spot)?;
        for step in path {
            let spot = found.spot;
            let inner = spot.collection().filter(|inner| !inner.is_odd).ok_or(Refused::here(spot.start))?;
            let place = match step {
                Step::Key(key) => inner.place(key),
                Step::Item(place) => Some(*place),
            };
            let element = place.and_then(|place| inner.elements.get(place)).ok_or_else(|| {
                let why = if inner.merges { Why::Merged } else { Why::Form };
                Refused { at: spot.start, why }
            })?;
            found = Found { mark: element.mark, spot: &element.value, is_root: false };
            self.refuse_repeated(found.spot)?;
        }
        Ok(found)
    }

    fn collection(&self, path: &[Step]) -> Result<&Collection, Refused> {
        let spot = self.find(path)?.spot;
        spot.collection().filter(|inner| !inner.is_odd).ok_or(Refused::here(spot.start))
    }

    /// The collection that a value is in, and its place there. The value itself may be an alias.
    fn element(&self, path: &[Step]) -> Result<(usize, &Collection), Refused> {
        let spot = self.find(parent(path))?.spot;
        let refused = |why: Why| Refused { at: spot.start, why };
        let inner = spot.collection().filter(|inner| !inner.is_odd).ok_or_else(|| refused(Why::Form))?;
        let place = match path.last() {
            Some(Step::Key(key)) => inner.place(key),
            Some(Step::Item(place)) => Some(*place).filter(|place| *place < inner.elements.len()),
            None => None,
        };
        let why = || refused(if inner.merges { Why::Merged } else { Why::Form });
        Ok((place.ok_or_else(why)?, inner))
    }

    fn refuse_repeated(&self, spot: &Spot) -> Result<(), Refused> {
        match matches!(spot.form, Form::Alias) || self.layout.is_shared(spot) {
            true => Err(self.shared(spot)),
            false => Ok(()),
        }
    }

    /// Where it goes, so do anchors in it.
    fn refuse_shared(&self, spot: &Spot) -> Result<(), Refused> {
        match self.layout.shared(spot) {
            Some(shared) => Err(self.shared(shared)),
            None => Ok(()),
        }
    }

    fn shared(&self, spot: &Spot) -> Refused {
        let words = self.text[spot.start..spot.end].split(|c: char| c.is_whitespace() || ",[]{}".contains(c));
        let name = words.take(2).find(|word| word.starts_with(['&', '*'])).unwrap_or_default();
        Refused { at: spot.start, why: Why::Shared(name.to_owned()) }
    }

    /// How others beside a mapping quote this key.
    fn quotes(&self, path: &[Step], key: &str) -> Quotes {
        let list = match path.last() {
            Some(Step::Item(_)) => self.find(parent(path)).ok().and_then(|found| found.spot.collection()),
            _ => None,
        };
        let others = list.into_iter().flat_map(|list| &list.elements);
        let mut styles = others.filter_map(|item| {
            let inner = item.value.collection()?;
            match inner.elements.get(inner.place(key)?)?.value.form {
                Form::Scalar(style) if inner.brackets.is_none() => Some(Quotes::of(style)),
                _ => None,
            }
        });
        styles.next().unwrap_or_default()
    }

    fn rows(&self, path: &[Step]) -> Result<Rows<'_>, Refused> {
        let Found { mark, spot, is_root } = self.find(path)?;
        let collection = spot.collection().ok_or(Refused::here(spot.start))?;
        Ok(Rows { text: &self.text, line_end: self.style.line_end, mark, is_root, collection })
    }

    fn flow<'d>(&'d self, collection: &'d Collection) -> Option<Flow<'d>> {
        let (brackets, line_end) = (collection.brackets?, self.style.line_end);
        Some(Flow { text: &self.text, line_end, comma: self.style.comma, brackets, collection })
    }

    fn ended(&self, lines: &[String]) -> String {
        lines.iter().flat_map(|line| [line.as_str(), self.style.line_end]).collect()
    }
}
