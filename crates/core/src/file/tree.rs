//! A parsed file as a tree in which every value knows its place.
//!
//! Collections are shared, so that an alias costs nothing and a node is cheap to clone. Depth is bounded by `parse`.

use std::rc::Rc;

use super::source::{Source, Span};

#[derive(Debug, Clone)]
pub(super) struct Node {
    /// The whole scalar; for a collection only where it begins.
    pub(super) span: Span,
    pub(super) value: Value,
}

#[derive(Debug, Clone)]
pub(super) enum Value {
    Null,
    Bool(bool),
    Int(i64),
    Float(f64),
    Str(Rc<str>),
    Seq(Rc<[Node]>),
    Map(Rc<[Entry]>),
}

#[derive(Debug, Clone)]
pub(super) struct Key {
    pub(super) span: Span,
    pub(super) text: Rc<str>,
}

pub(super) type Entry = (Key, Node);

impl Node {
    pub(super) fn is_null(&self) -> bool {
        matches!(self.value, Value::Null)
    }

    /// What it is, as an error message calls it.
    pub(super) fn kind(&self) -> &'static str {
        match self.value {
            Value::Null => "nothing",
            Value::Bool(_) => "true or false",
            Value::Int(_) | Value::Float(_) => "a number",
            Value::Str(_) => "text",
            Value::Seq(_) => "a list",
            Value::Map(_) => "a mapping",
        }
    }

    /// A scalar's text: for numbers and booleans, as they stand in the file.
    pub(super) fn text<'n>(&'n self, source: &'n Source) -> Option<&'n str> {
        match &self.value {
            Value::Str(text) => Some(text),
            Value::Bool(_) | Value::Int(_) | Value::Float(_) => Some(source.slice(self.span)),
            Value::Null | Value::Seq(_) | Value::Map(_) => None,
        }
    }

    pub(super) fn entries(&self) -> Option<&[Entry]> {
        match &self.value {
            Value::Map(entries) => Some(entries),
            _ => None,
        }
    }

    /// Plain data, without places.
    pub(super) fn to_json(&self) -> serde_json::Value {
        use serde_json::Value as Json;
        match &self.value {
            Value::Null => Json::Null,
            Value::Bool(flag) => Json::Bool(*flag),
            Value::Int(number) => Json::from(*number),
            Value::Float(number) => Json::from(*number),
            Value::Str(text) => Json::from(text.as_ref()),
            Value::Seq(items) => items.iter().map(Node::to_json).collect(),
            Value::Map(entries) => Json::Object(json_map(entries)),
        }
    }
}

pub(super) fn json_map(entries: &[Entry]) -> serde_json::Map<String, serde_json::Value> {
    entries.iter().map(|(key, value)| (key.text.to_string(), value.to_json())).collect()
}

/// A plain scalar by YAML 1.2's core schema: `yes` and `no` are words, `0x1f` is a number.
pub(super) fn resolve(text: &str) -> Value {
    match text {
        "" | "~" | "null" | "Null" | "NULL" => Value::Null,
        "true" | "True" | "TRUE" => Value::Bool(true),
        "false" | "False" | "FALSE" => Value::Bool(false),
        _ => number(text).unwrap_or_else(|| Value::Str(text.into())),
    }
}

fn number(text: &str) -> Option<Value> {
    if let Some(digits) = text.strip_prefix("0x") {
        return unsigned(digits, 16);
    }
    if let Some(digits) = text.strip_prefix("0o") {
        return unsigned(digits, 8);
    }
    let bare = text.strip_prefix(['-', '+']).unwrap_or(text);
    match bare {
        ".inf" | ".Inf" | ".INF" if text.starts_with('-') => return Some(Value::Float(f64::NEG_INFINITY)),
        ".inf" | ".Inf" | ".INF" => return Some(Value::Float(f64::INFINITY)),
        ".nan" | ".NaN" | ".NAN" => return Some(Value::Float(f64::NAN)),
        _ => {}
    }
    // Rust's own parser also takes "inf" and "nan", which are words here.
    let starts = bare.trim_start_matches('.').starts_with(|c: char| c.is_ascii_digit());
    let digits = bare.bytes().all(|b| b.is_ascii_digit() || matches!(b, b'.' | b'e' | b'E' | b'+' | b'-'));
    if !(starts && digits) {
        return None;
    }
    text.parse().map(Value::Int).or_else(|_| text.parse().map(Value::Float)).ok()
}

fn unsigned(digits: &str, radix: u32) -> Option<Value> {
    let plain = digits.bytes().all(|b| b.is_ascii_alphanumeric());
    i64::from_str_radix(digits, radix).ok().filter(|_| plain).map(Value::Int)
}
