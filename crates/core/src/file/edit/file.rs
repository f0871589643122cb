//! One file while one edit is made: in its text, and in what it says, so that the two can be compared.

use serde_json::{Map, Value};

use crate::values::suggest::did_you_mean;

use super::super::diagnostic::{Diagnostic, Report};
use super::super::source::Source;
use super::super::tree::{Node, Value as Form};
use super::super::{forms, own_plan, parse};
use super::doc::Doc;
use super::names::{self, list_path, naming};
use super::path::{Refused, Side, Step, joined};
use super::{Change, Edit, EditError, Kind, Place};

pub(super) struct File {
    source: Source,
    root: Node,
    doc: Doc,
    /// What the file says when the edit is made, as plain values.
    wanted: Value,
}

impl File {
    pub(super) fn read(name: &str, text: String) -> Result<File, EditError> {
        let source = read_text(name, text)?;
        let root = tree(&source).map_err(|found| EditError::Unreadable { found })?;
        let report = Report::new(&source);
        if own_plan::is_one(&report, &root) {
            return Err(EditError::Foreign { what: "the plan that a run has written" });
        }
        if forms::is_plan(&root) {
            return Err(EditError::Foreign { what: "an execution_plan.json" });
        }
        let doc = Doc::of(source.text());
        let lost = |refused: Refused| {
            let line = source.position(refused.at).0;
            EditError::of(refused, "the file".to_owned(), line)
        };
        let (doc, wanted) = (doc.map_err(lost)?, root.to_json());
        Ok(File { source, root, doc, wanted })
    }

    pub(super) fn with(mut self, edit: &Edit) -> Result<String, EditError> {
        let kind = edit.kind;
        match &edit.change {
            Change::Add { fields, place } => self.add(kind, fields, place)?,
            Change::Set { id, fields } => self.set(kind, id, fields)?,
            Change::Rename { id, to } => self.rename(kind, id, to)?,
            Change::Remove { id } => self.remove(kind, id)?,
            Change::Move { id, place } => self.shift(kind, id, place)?,
        }
        self.finish(edit)
    }

    /// The text, if it says what was asked for and nothing else.
    fn finish(self, edit: &Edit) -> Result<String, EditError> {
        let is_json = |text: &str| serde_json::from_str::<serde::de::IgnoredAny>(text).is_ok();
        let new = read_text(self.source.name(), self.doc.text().to_owned())?;
        let is_wanted = match tree(&new) {
            Ok(root) => same(&root.to_json(), &self.wanted) && (!self.doc.is_json() || is_json(new.text())),
            Err(found) if found.iter().any(|found| found.code == "unknown-anchor") => false,
            Err(found) => return Err(EditError::Invalid { text: Box::new(new), found }),
        };
        if is_wanted {
            return Ok(self.doc.text().to_owned());
        }
        let line = edit.id().and_then(|id| self.find(edit.kind, id)).map_or(1, |place| {
            let path = self.item(edit.kind, place);
            Doc::of(self.source.text()).map_or(1, |doc| doc.line_of(&path))
        });
        let field = format!("{} '{}'", edit.kind, edit.id().unwrap_or_default());
        Err(match self.doc.has_aliases() {
            true => EditError::Shared { field, line, name: None },
            false => EditError::Form { field, line },
        })
    }

    fn add(&mut self, kind: Kind, fields: &Map<String, Value>, place: &Place) -> Result<(), EditError> {
        let id = match fields.get("id") {
            Some(Value::String(id)) if !id.is_empty() => id.clone(),
            Some(Value::Number(id)) => id.to_string(),
            _ => return Err(EditError::NoId { kind }),
        };
        if let Some(known) = self.find(kind, &id) {
            return Err(EditError::Exists { kind, id, line: self.line(kind, known) });
        }
        check_depth(fields)?;
        self.refuse_no_list(kind)?;
        let fields = fields.iter().filter(|(_, value)| !value.is_null());
        let new = Value::Object(fields.map(|(key, value)| (key.clone(), value.clone())).collect());
        let (list, count) = (list_path(&self.root, kind), self.ids(kind).len());
        let side = self.side(kind, place, count)?;
        let made = match (count, list.split_last()) {
            (0, Some((_, parent))) => {
                let old = pointed(&mut self.wanted, &list).cloned();
                self.doc.set(parent, kind.section(), old.as_ref(), &Value::Array(vec![new.clone()]))
            }
            _ => self.doc.insert(&list, side, &new),
        };
        made.map_err(|refused| self.told(refused, format!("'{}'", kind.section())))?;
        let at = match side {
            Side::Before(place) => place,
            Side::After(place) => (place + 1).min(count),
        };
        match self.listed(kind) {
            Some(items) => items.insert(at, new),
            None => {
                if let Value::Object(root) = &mut self.wanted {
                    root.insert(kind.section().to_owned(), Value::Array(vec![new]));
                }
            }
        }
        Ok(())
    }

    /// Whether something else than a list stands where things are to be listed.
    fn refuse_no_list(&self, kind: Kind) -> Result<(), EditError> {
        let is_list = |node: &Node| matches!(node.value, Form::Seq(_)) || node.is_null();
        match (&self.root.value, kind) {
            (Form::Seq(_), Kind::Task) => Ok(()),
            (Form::Map(_), _) => match names::value_of(&self.root, kind.section()) {
                Some(node) if !is_list(node) => {
                    let line = self.source.position(node.span.start).0;
                    Err(EditError::Form { field: format!("'{}'", kind.section()), line })
                }
                _ => Ok(()),
            },
            _ => Err(EditError::NoSection { kind }),
        }
    }

    fn set(&mut self, kind: Kind, id: &str, fields: &Map<String, Value>) -> Result<(), EditError> {
        let place = self.known(kind, id)?;
        check_depth(fields)?;
        let item = self.item(kind, place);
        for (key, value) in fields {
            let own = pointed(&mut self.wanted, &item).as_deref().and_then(Value::as_object).cloned();
            let own = own.unwrap_or_default();
            if key == "id" && own.get("id") != Some(value) && value.as_str() != Some(id) {
                let line = self.line(kind, place);
                return Err(EditError::NewId { kind, id: id.to_owned(), line });
            }
            if key != "id" {
                let told = |file: &File, refused| file.told(refused, format!("'{key}' of {kind} '{id}'"));
                self.set_key(kind, &item, &own, key, value).map_err(|refused| told(self, refused))?;
            }
        }
        Ok(())
    }

    fn set_key(
        &mut self,
        kind: Kind,
        item: &[Step],
        own: &Map<String, Value>,
        key: &str,
        value: &Value,
    ) -> Result<(), Refused> {
        let twin = kind.twin(key).filter(|twin| own.contains_key(*twin));
        let (name, twin) = match twin {
            Some(twin) if !own.contains_key(key) => (twin, None),
            twin => (key, twin),
        };
        if !value.is_null() {
            self.doc.set(item, name, own.get(name), value)?;
        } else if own.contains_key(name) {
            self.doc.remove(&joined(item, key_step(name)))?;
        }
        // Where the file says it in both words, one is enough.
        if let Some(twin) = twin {
            self.doc.remove(&joined(item, key_step(twin)))?;
        }
        if let Some(Value::Object(wanted)) = pointed(&mut self.wanted, item) {
            twin.map(|twin| wanted.shift_remove(twin));
            match value {
                Value::Null => wanted.shift_remove(name),
                _ => wanted.insert(name.to_owned(), value.clone()),
            };
        }
        Ok(())
    }

    fn rename(&mut self, kind: Kind, id: &str, to: &str) -> Result<(), EditError> {
        let place = self.known(kind, id)?;
        if id == to {
            return Ok(());
        }
        if let Some(known) = self.find(kind, to) {
            return Err(EditError::Exists { kind, id: to.to_owned(), line: self.line(kind, known) });
        }
        let own = joined(&self.item(kind, place), key_step("id"));
        let others = naming(&self.source, &self.root, kind, id);
        let new = Value::from(to);
        // What others say of it may be an alias of its own id, and goes first.
        let paths: Vec<&[Step]> = others.iter().map(|naming| naming.path.as_slice()).collect();
        let made = self.doc.replace_all(&paths, &new).and_then(|()| self.doc.replace_all(&[&own], &new));
        made.map_err(|refused| self.told(refused, format!("the id of {kind} '{id}'")))?;
        for path in paths.into_iter().chain([own.as_slice()]) {
            if let Some(wanted) = pointed(&mut self.wanted, path) {
                wanted.clone_from(&new);
            }
        }
        Ok(())
    }

    fn remove(&mut self, kind: Kind, id: &str) -> Result<(), EditError> {
        let place = self.known(kind, id)?;
        let line = self.line(kind, place);
        let mut by: Vec<String> =
            naming(&self.source, &self.root, kind, id).into_iter().map(|naming| naming.by).collect();
        by.dedup();
        let own = format!("{kind} '{id}'");
        by.retain(|by| *by != own);
        let id = id.to_owned();
        if !by.is_empty() {
            return Err(EditError::Named { kind, id, line, by });
        }
        let (list, is_last) = (list_path(&self.root, kind), self.ids(kind).len() == 1);
        let made = match (kind, is_last) {
            (Kind::Task, true) => return Err(EditError::OnlyTask { id, line }),
            (Kind::Epic, true) => {
                let old = pointed(&mut self.wanted, &list).cloned().unwrap_or_default();
                self.doc.change(&list, &old, &Value::Array(Vec::new()))
            }
            _ => self.doc.remove(&self.item(kind, place)),
        };
        made.map_err(|refused| self.told(refused, own))?;
        self.listed(kind).map(|items| items.remove(place));
        Ok(())
    }

    fn shift(&mut self, kind: Kind, id: &str, place: &Place) -> Result<(), EditError> {
        let from = self.known(kind, id)?;
        let count = self.ids(kind).len();
        let side = self.side(kind, place, count)?;
        // Its place once it is taken out of the list.
        let to = match side {
            Side::Before(place) if place > from => place - 1,
            Side::Before(place) => place,
            Side::After(place) if place < from => place + 1,
            Side::After(place) => place,
        };
        if to == from {
            return Ok(());
        }
        let made = self.doc.shift(&list_path(&self.root, kind), from, side);
        made.map_err(|refused| self.told(refused, format!("{kind} '{id}'")))?;
        if let Some(items) = self.listed(kind) {
            let item = items.remove(from);
            items.insert(to, item);
        }
        Ok(())
    }

    /// The ids of a section, as they are written.
    fn ids(&self, kind: Kind) -> Vec<&str> {
        let list = match list_path(&self.root, kind).is_empty() {
            true => Some(&self.root),
            false => names::value_of(&self.root, kind.section()),
        };
        let items = list.map_or(&[][..], names::items);
        items
            .iter()
            .map(|item| names::value_of(item, "id").and_then(|id| id.text(&self.source)).unwrap_or(""))
            .collect()
    }

    fn find(&self, kind: Kind, id: &str) -> Option<usize> {
        self.ids(kind).iter().position(|known| *known == id)
    }

    fn known(&self, kind: Kind, id: &str) -> Result<usize, EditError> {
        self.find(kind, id).ok_or_else(|| {
            let nearest = did_you_mean(id, self.ids(kind)).map(str::to_owned);
            EditError::Unknown { kind, id: id.to_owned(), nearest }
        })
    }

    fn side(&self, kind: Kind, place: &Place, count: usize) -> Result<Side, EditError> {
        Ok(match place {
            Place::First => Side::Before(0),
            Place::Last => count.checked_sub(1).map_or(Side::Before(0), Side::After),
            Place::Before(id) => Side::Before(self.known(kind, id)?),
            Place::After(id) => Side::After(self.known(kind, id)?),
        })
    }

    fn item(&self, kind: Kind, place: usize) -> Vec<Step> {
        joined(&list_path(&self.root, kind), Step::Item(place))
    }

    fn line(&self, kind: Kind, place: usize) -> usize {
        self.doc.line_of(&self.item(kind, place))
    }

    fn told(&self, refused: Refused, field: String) -> EditError {
        let line = self.doc.line(refused.at);
        EditError::of(refused, field, line)
    }

    /// The items of a section in what is wanted.
    fn listed(&mut self, kind: Kind) -> Option<&mut Vec<Value>> {
        pointed(&mut self.wanted, &list_path(&self.root, kind)).and_then(Value::as_array_mut)
    }
}

pub(super) fn read_text(name: &str, text: String) -> Result<Source, EditError> {
    Source::new(name, text.into_bytes()).map_err(|found| EditError::Unreadable { found: vec![found] })
}

fn tree(source: &Source) -> Result<Node, Vec<Diagnostic>> {
    let mut report = Report::new(source);
    let root = parse::parse(&mut report);
    let (found, failed) = report.finish();
    root.filter(|_| !failed).ok_or(found)
}

fn key_step(key: &str) -> Step {
    Step::Key(key.to_owned())
}

fn pointed<'v>(value: &'v mut Value, path: &[Step]) -> Option<&'v mut Value> {
    path.iter().try_fold(value, |value, step| match step {
        Step::Key(key) => value.get_mut(key),
        Step::Item(place) => value.get_mut(*place),
    })
}

/// Deeper values are no task; a file must not be either.
const MAX_DEPTH: usize = 32;

fn check_depth(fields: &Map<String, Value>) -> Result<(), EditError> {
    for (field, value) in fields {
        let mut open = vec![(value, 0)];
        while let Some((value, depth)) = open.pop() {
            if depth > MAX_DEPTH {
                return Err(EditError::TooDeep { field: field.clone() });
            }
            match value {
                Value::Array(items) => open.extend(items.iter().map(|item| (item, depth + 1))),
                Value::Object(map) => open.extend(map.values().map(|value| (value, depth + 1))),
                _ => {}
            }
        }
    }
    Ok(())
}

/// Whether two values are the same, however their numbers are kept.
fn same(one: &Value, other: &Value) -> bool {
    match (one, other) {
        (Value::Number(one), Value::Number(other)) => one == other || one.as_f64() == other.as_f64(),
        (Value::Array(one), Value::Array(other)) => {
            one.len() == other.len() && one.iter().zip(other).all(|(one, other)| same(one, other))
        }
        (Value::Object(one), Value::Object(other)) => {
            one.len() == other.len()
                && one.iter().all(|(key, one)| other.get(key).is_some_and(|other| same(one, other)))
        }
        _ => one == other,
    }
}
