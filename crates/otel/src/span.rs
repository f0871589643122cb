//! One span, before it is put into the words of a protocol.

use conductor_core::values::ids::{Attempt, TaskId};

use crate::ids::{SpanId, TraceId};

#[derive(Debug, Clone, PartialEq)]
pub struct Span {
    pub trace: TraceId,
    pub id: SpanId,
    pub parent: Option<SpanId>,
    pub name: String,
    /// In milliseconds since 1970.
    pub from: i64,
    pub to: i64,
    pub attributes: Attributes,
    pub events: Vec<SpanEvent>,
    pub status: Status,
    /// Where it is an attempt: whose, and where its files are.
    pub attempt: Option<AttemptOf>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AttemptOf {
    pub task: TaskId,
    pub attempt: Attempt,
    pub executor: u32,
}

#[derive(Debug, Clone, PartialEq)]
pub struct SpanEvent {
    pub at: i64,
    pub name: &'static str,
    pub attributes: Attributes,
}

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Status {
    /// Neither good nor bad: it was left, skipped or cancelled.
    #[default]
    Unset,
    Ok,
    /// With what was said of it, where that may be told.
    Error(Option<String>),
}

#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    Text(String),
    Whole(u64),
    Number(f64),
    Flag(bool),
}

impl From<&str> for Value {
    fn from(text: &str) -> Value {
        Value::Text(text.to_owned())
    }
}

impl From<String> for Value {
    fn from(text: String) -> Value {
        Value::Text(text)
    }
}

impl From<u64> for Value {
    fn from(number: u64) -> Value {
        Value::Whole(number)
    }
}

impl From<u32> for Value {
    fn from(number: u32) -> Value {
        Value::Whole(number.into())
    }
}

impl From<f64> for Value {
    fn from(number: f64) -> Value {
        Value::Number(number)
    }
}

impl From<bool> for Value {
    fn from(flag: bool) -> Value {
        Value::Flag(flag)
    }
}

/// What is said of a span, each name once.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Attributes(pub Vec<(&'static str, Value)>);

impl Attributes {
    #[must_use]
    pub fn with(mut self, name: &'static str, value: impl Into<Value>) -> Attributes {
        self.0.push((name, value.into()));
        self
    }

    /// Where it is known.
    #[must_use]
    pub fn maybe(self, name: &'static str, value: Option<impl Into<Value>>) -> Attributes {
        match value {
            Some(value) => self.with(name, value),
            None => self,
        }
    }

    pub fn get(&self, name: &str) -> Option<&Value> {
        self.0.iter().find(|(known, _)| *known == name).map(|(_, value)| value)
    }
}
