//! One line of a log, as text for people or as JSON for programs, without secrets.

use std::fmt::{Debug, Write as _};

use jiff::Timestamp;
use serde_json::{Map, Value};
use tracing::field::{Field, Visit};
use tracing::{Event, Level};

use crate::host::redact;

const MESSAGE: &str = "message";

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Format {
    #[default]
    Text,
    Json,
}

/// The fields of a span or an event, in their order.
#[derive(Debug, Clone, Default)]
pub(super) struct Fields(Vec<(&'static str, Value)>);

impl Fields {
    pub(super) fn of_event(event: &Event<'_>) -> Fields {
        let mut fields = Fields::default();
        event.record(&mut fields);
        fields
    }

    fn value(&self, name: &str) -> Option<&Value> {
        self.0.iter().find(|(known, _)| *known == name).map(|(_, value)| value)
    }

    pub(super) fn text(&self, name: &str) -> Option<&str> {
        self.value(name)?.as_str()
    }

    pub(super) fn number(&self, name: &str) -> Option<u64> {
        self.value(name)?.as_u64()
    }

    pub(super) fn flag(&self, name: &str) -> Option<bool> {
        self.value(name)?.as_bool()
    }

    fn set(&mut self, field: &Field, value: Value) {
        match self.0.iter_mut().find(|(known, _)| *known == field.name()) {
            Some((_, old)) => *old = value,
            None => self.0.push((field.name(), value)),
        }
    }
}

impl Visit for Fields {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        self.set(field, format!("{value:?}").into());
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        self.set(field, value.into());
    }

    fn record_u64(&mut self, field: &Field, value: u64) {
        self.set(field, value.into());
    }

    fn record_i64(&mut self, field: &Field, value: i64) {
        self.set(field, value.into());
    }

    fn record_f64(&mut self, field: &Field, value: f64) {
        self.set(field, value.into());
    }

    fn record_bool(&mut self, field: &Field, value: bool) {
        self.set(field, value.into());
    }
}

pub(super) struct Line {
    at: Timestamp,
    level: Level,
    target: String,
    spans: Vec<(&'static str, Fields)>,
    message: String,
    fields: Fields,
}

impl Line {
    pub(super) fn of(event: &Event<'_>, spans: Vec<(&'static str, Fields)>) -> Line {
        let mut fields = Fields::of_event(event);
        let message = fields.text(MESSAGE).unwrap_or_default().to_owned();
        fields.0.retain(|(name, _)| *name != MESSAGE);
        let about = event.metadata();
        let (at, level, target) = (Timestamp::now(), *about.level(), about.target().to_owned());
        Line { at, level, target, spans, message, fields }
    }

    /// Stands for lines that could not be written.
    pub(super) fn lost(lost: u64, why: &str) -> Line {
        Line {
            at: Timestamp::now(),
            level: Level::WARN,
            target: module_path!().to_owned(),
            spans: Vec::new(),
            message: "lines before this one could not be written".to_owned(),
            fields: Fields(vec![("lost", lost.into()), ("why", why.into())]),
        }
    }

    /// With its end, and without secrets.
    pub(super) fn written(&self, format: Format) -> String {
        let line = match format {
            Format::Text => self.text(),
            Format::Json => self.json(),
        };
        redact::known().string(line)
    }

    fn text(&self) -> String {
        let mut line = format!("{:.3} {:>5} ", self.at, self.level);
        for (name, fields) in &self.spans {
            let fields: Vec<String> = fields.0.iter().map(pair).collect();
            let _ = write!(line, "{name}{{{}}} ", fields.join(" "));
        }
        let _ = write!(line, "{}: {}", self.target, escaped(&self.message));
        for field in &self.fields.0 {
            let _ = write!(line, " {}", pair(field));
        }
        line.push('\n');
        line
    }

    /// Flat: `run`, `task` and `attempt` stand beside the fields of the event itself.
    fn json(&self) -> String {
        let mut object = Map::new();
        object.insert("at".to_owned(), format!("{:.3}", self.at).into());
        object.insert("level".to_owned(), self.level.as_str().to_ascii_lowercase().into());
        object.insert("target".to_owned(), self.target.clone().into());
        for (span, fields) in &self.spans {
            for (name, value) in &fields.0 {
                let name = if *name == "id" { span } else { name };
                object.insert((*name).to_owned(), value.clone());
            }
        }
        object.insert(MESSAGE.to_owned(), self.message.clone().into());
        for (name, value) in &self.fields.0 {
            object.insert((*name).to_owned(), value.clone());
        }
        format!("{}\n", Value::Object(object))
    }
}

fn pair((name, value): &(&'static str, Value)) -> String {
    let Some(text) = value.as_str() else { return format!("{name}={value}") };
    let is_plain = !text.is_empty() && !text.contains(|c: char| c.is_whitespace() || "\"\\{}=".contains(c));
    match is_plain {
        true => format!("{name}={}", escaped(text)),
        false => format!("{name}=\"{}\"", escaped(&text.replace('\\', "\\\\").replace('"', "\\\""))),
    }
}

/// One line that gives a terminal no commands. Written as JSON would, since secrets are known in that spelling.
fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\n' => out.push_str("\\n"),
            '\t' => out.push_str("\\t"),
            '\r' => out.push_str("\\r"),
            c if c.is_control() => {
                let _ = write!(out, "\\u{:04x}", u32::from(c));
            }
            c => out.push(c),
        }
    }
    out
}
