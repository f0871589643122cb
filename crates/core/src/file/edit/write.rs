//! Values as text: in lines of their own, or between brackets and braces.

use serde_json::{Map, Value};

use super::scalar::{self, Context, Quotes};
use super::style::Style;

/// Longer lists of words get a line for each of them.
const LONGEST_LIST: usize = 80;

/// A value as it is written behind a key or a dash.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Written {
    /// What stands in the same line.
    pub(super) beside: String,
    /// The lines below it.
    pub(super) below: Vec<String>,
}

impl Style {
    /// A value in lines of its own. `column` is that of the key or dash it belongs to.
    pub(super) fn block(&self, value: &Value, column: usize, quotes: Quotes) -> Written {
        let beside = |beside: String| Written { beside, below: Vec::new() };
        match value {
            Value::Object(map) if !map.is_empty() => {
                Written { beside: String::new(), below: self.entries(map, column + self.step, no_quotes) }
            }
            Value::Array(items) if !items.is_empty() => match self.short_list(items) {
                Some(list) => beside(list),
                None => Written { beside: String::new(), below: self.items(items, column + self.list_step) },
            },
            Value::String(text) => match scalar::block(text) {
                Some((mark, lines)) => {
                    let below = lines.into_iter().map(|line| indented(line, column + self.step)).collect();
                    Written { beside: mark.to_owned(), below }
                }
                None => beside(scalar::text(text, Context::Block, quotes)),
            },
            other => beside(other.to_string()),
        }
    }

    fn short_list(&self, items: &[Value]) -> Option<String> {
        let is_word = |item: &Value| match item {
            Value::String(text) => !text.contains('\n'),
            other => !other.is_object() && !other.is_array(),
        };
        let list = (self.flow_lists && items.iter().all(is_word)).then(|| self.list(items))?;
        (list.len() <= LONGEST_LIST).then_some(list)
    }

    /// The entries of a mapping, whose keys are in this column.
    pub(super) fn entries(
        &self,
        map: &Map<String, Value>,
        column: usize,
        quotes: impl Fn(&str) -> Quotes,
    ) -> Vec<String> {
        let mut lines = Vec::new();
        for (key, value) in map {
            let Written { beside, below } = self.block(value, column, quotes(key));
            let key = scalar::text(key, Context::Block, Quotes::None);
            let gap = if beside.is_empty() { "" } else { " " };
            lines.push(indented(&format!("{key}:{gap}{beside}"), column));
            lines.extend(below);
        }
        lines
    }

    /// The items of a list, whose dashes are in this column.
    fn items(&self, items: &[Value], column: usize) -> Vec<String> {
        items.iter().flat_map(|item| self.item(item, column, STEP_OF_ITEM, |_| Quotes::None)).collect()
    }

    /// One item of a list, whose keys are `step` behind its dash. `quotes` are those of its keys, or its own.
    pub(super) fn item(
        &self,
        item: &Value,
        column: usize,
        step: usize,
        quotes: impl Fn(&str) -> Quotes,
    ) -> Vec<String> {
        let dash = indented("-", column);
        let gap = " ".repeat(step.saturating_sub(1).max(1));
        match item {
            Value::Object(map) if !map.is_empty() => {
                let mut lines = self.entries(map, column + 1 + gap.len(), quotes);
                if let Some(first) = lines.first_mut() {
                    *first = format!("{dash}{gap}{}", first.trim_start_matches(' '));
                }
                lines
            }
            Value::Array(_) => vec![format!("{dash}{gap}{}", self.inline(item))],
            _ => {
                let Written { beside, below } = self.block(item, column, quotes(""));
                std::iter::once(format!("{dash}{gap}{beside}")).chain(below).collect()
            }
        }
    }

    /// A value in one line.
    pub(super) fn inline(&self, value: &Value) -> String {
        match value {
            Value::Array(items) => self.list(items),
            Value::Object(map) if map.is_empty() => "{}".to_owned(),
            Value::Object(map) => {
                let entries: Vec<String> =
                    map.iter().map(|(key, value)| self.entry(key, &self.inline(value))).collect();
                format!("{{{pad}{}{pad}}}", entries.join(self.comma), pad = self.pad)
            }
            Value::String(text) => scalar::text(text, self.flow(), Quotes::None),
            other => other.to_string(),
        }
    }

    fn list(&self, items: &[Value]) -> String {
        let items: Vec<String> = items.iter().map(|item| self.inline(item)).collect();
        format!("[{}]", items.join(self.comma))
    }

    /// An entry between braces.
    pub(super) fn entry(&self, key: &str, value: &str) -> String {
        let key = scalar::text(key, self.flow(), Quotes::None);
        format!("{key}{}{value}", self.colon)
    }

    /// A value between brackets or braces, with lines of their own for its entries. `indent` is that of its line.
    pub(super) fn spread(&self, value: &Value, indent: &str) -> String {
        let deeper = format!("{indent}{}", self.unit);
        let parts: Vec<String> = match value {
            Value::Object(map) => {
                map.iter().map(|(key, value)| self.entry(key, &self.spread(value, &deeper))).collect()
            }
            Value::Array(items) if self.long_lists || items.iter().any(Value::is_object) => {
                items.iter().map(|item| self.spread(item, &deeper)).collect()
            }
            _ => Vec::new(),
        };
        if parts.is_empty() {
            return self.inline(value);
        }
        let (open, close) = if value.is_object() { ('{', '}') } else { ('[', ']') };
        let (inner, outer) = (format!("{}{deeper}", self.line_end), format!("{}{indent}", self.line_end));
        format!("{open}{inner}{}{outer}{close}", parts.join(&format!(",{inner}")))
    }
}

/// From a dash to the keys behind it.
pub(super) const STEP_OF_ITEM: usize = 2;

fn no_quotes(_: &str) -> Quotes {
    Quotes::None
}

fn indented(line: &str, column: usize) -> String {
    if line.is_empty() { String::new() } else { format!("{}{line}", " ".repeat(column)) }
}
