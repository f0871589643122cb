//! One event a line on standard output, for programs.

use std::io::{BufWriter, Stdout, Write};

use conductor_core::plan::graph::Graph;
use conductor_core::report::SummaryFile;
use conductor_core::report::ledger::Ledger;
use conductor_core::run::Run;
use conductor_core::values::ids::RunId;
use conductor_engine::records::flat::SCHEMA;
use conductor_engine::stores::bus::Records;
use serde_json::{Value, json};

use super::Progress;
use crate::console;

pub(crate) use conductor_engine::records::flat::{event, timestamp};

pub(super) struct Json {
    run: RunId,
    out: BufWriter<Stdout>,
}

impl Json {
    pub(super) fn new(run: &RunId) -> Json {
        Json { run: run.clone(), out: BufWriter::new(std::io::stdout()) }
    }

    fn line(&mut self, value: &Value) {
        let written = writeln!(self.out, "{}", console::clean(&value.to_string()));
        written.unwrap_or_else(|error| console::lose(&error));
    }

    /// What cannot be written does not end the run.
    fn flush(&mut self) {
        self.out.flush().unwrap_or_else(|error| console::lose(&error));
    }
}

impl Progress for Json {
    fn show(&mut self, records: &Records) {
        for record in records.iter() {
            let line = event(&self.run, record);
            self.line(&line);
        }
        self.flush();
    }

    fn notice(&mut self, text: &str) {
        let line = json!({ "schema": SCHEMA, "run": self.run, "type": "notice", "text": text });
        self.line(&line);
        self.flush();
    }

    fn tell(&mut self, text: &str) {
        let line = json!({ "schema": SCHEMA, "run": self.run, "type": "notification", "text": text });
        self.line(&line);
        self.flush();
    }

    fn finish(&mut self, id: &RunId, run: &Run, graph: &Graph, ledger: Option<&Ledger>) {
        let summary = SummaryFile::new(id, run, graph, ledger);
        let mut line = serde_json::to_value(summary).unwrap_or_default();
        line["type"] = json!("summary");
        self.line(&line);
        self.flush();
    }
}
