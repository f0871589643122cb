//! An event of a run as programs read it: one flat object.

use conductor_core::run::event::Record;
use conductor_core::values::ids::RunId;
use serde_json::{Map, Value, json};

pub const SCHEMA: &str = "conductor.event/1";

/// The stored form keeps an event's name outside; for readers it is one flat object.
pub fn event(run: &RunId, record: &Record) -> Value {
    let mut line = Map::new();
    line.insert("schema".into(), json!(SCHEMA));
    line.insert("run".into(), json!(run));
    line.insert("seq".into(), json!(record.seq));
    line.insert("at".into(), json!(timestamp(record.at.0)));
    if let Ok(Value::Object(stored)) = serde_json::to_value(&record.event) {
        for (name, fields) in stored {
            line.insert("type".into(), json!(name));
            if let Value::Object(fields) = fields {
                line.extend(fields);
            }
        }
    }
    Value::Object(line)
}

/// Milliseconds since 1970 as RFC 3339 writes them.
pub fn timestamp(millis: i64) -> String {
    jiff::Timestamp::from_millisecond(millis).map(|at| at.to_string()).unwrap_or_default()
}
