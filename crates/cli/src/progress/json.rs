//! One event a line on standard output, for programs.

use std::io::{BufWriter, Stdout, Write};

use conductor_core::plan::graph::Graph;
use conductor_core::report::SummaryFile;
use conductor_core::report::ledger::Ledger;
use conductor_core::run::Run;
use conductor_core::run::event::Record;
use conductor_core::values::ids::RunId;
use conductor_engine::stores::bus::Records;
use serde_json::{Map, Value, json};

use super::Progress;
use crate::console;

const SCHEMA: &str = "conductor.event/1";

pub(super) struct Json {
    run: RunId,
    out: BufWriter<Stdout>,
}

impl Json {
    pub(super) fn new(run: &RunId) -> Json {
        Json { run: run.clone(), out: BufWriter::new(std::io::stdout()) }
    }

    /// A reader that went away must not end the run.
    fn line(&mut self, value: &Value) {
        let _ = writeln!(self.out, "{}", console::clean(&value.to_string()));
    }
}

impl Progress for Json {
    fn show(&mut self, records: &Records) {
        for record in records.iter() {
            let line = event(&self.run, record);
            self.line(&line);
        }
        let _ = self.out.flush();
    }

    fn notice(&mut self, text: &str) {
        let line = json!({ "schema": SCHEMA, "run": self.run, "type": "notice", "text": text });
        self.line(&line);
        let _ = self.out.flush();
    }

    fn tell(&mut self, text: &str) {
        let line = json!({ "schema": SCHEMA, "run": self.run, "type": "notification", "text": text });
        self.line(&line);
        let _ = self.out.flush();
    }

    fn finish(&mut self, id: &RunId, run: &Run, graph: &Graph, ledger: Option<&Ledger>) {
        let summary = SummaryFile::new(id, run, graph, ledger);
        let mut line = serde_json::to_value(summary).unwrap_or_default();
        line["type"] = json!("summary");
        self.line(&line);
        let _ = self.out.flush();
    }
}

/// The stored form keeps an event's name outside; for readers it is one flat object.
pub(crate) fn event(run: &RunId, record: &Record) -> Value {
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

pub(crate) fn timestamp(millis: i64) -> String {
    jiff::Timestamp::from_millisecond(millis).map(|at| at.to_string()).unwrap_or_default()
}
