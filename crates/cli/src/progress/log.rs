//! `orchestrator.log` among a run's files: what was told of it, each line with its time, however it was shown.

use std::fs::File;
use std::io::Write as _;

use conductor_core::plan::graph::Graph;
use conductor_core::report::ledger::Ledger;
use conductor_core::run::Run;
use conductor_core::values::ids::RunId;
use conductor_core::values::units::Timestamp;
use conductor_engine::host::access;
use conductor_engine::host::clock::wall;
use conductor_engine::stores::bus::Records;

use super::lines::{Lines, heading};
use super::{Progress, Stage};
use crate::console;

const NAME: &str = "orchestrator.log";

/// Shows as another does, and writes it down. A log that cannot be written is no reason to fail.
pub(super) struct Logged {
    shown: Box<dyn Progress>,
    file: Option<File>,
    lines: Lines,
}

impl Logged {
    pub(super) fn new(shown: Box<dyn Progress>, stage: &Stage<'_>) -> Logged {
        let path = stage.output.join(NAME);
        let file = access::options(&path).create(true).append(true).open(&path).ok();
        let mut logged = Logged { shown, file, lines: Lines::new(stage.run, false) };
        logged.write(&line(wall(), &heading(stage)));
        logged
    }

    fn write(&mut self, text: &str) {
        if let Some(file) = &mut self.file
            && file.write_all(console::clean(text).as_bytes()).is_err()
        {
            self.file = None;
        }
    }
}

/// With its end. What goes over several lines is indented, so that every line of the log begins with a time or a space.
fn line(at: Timestamp, text: &str) -> String {
    let at = jiff::Timestamp::from_millisecond(at.0).unwrap_or_default();
    format!("{at:.3} {}\n", text.trim_end().replace('\n', "\n  "))
}

impl Progress for Logged {
    fn show(&mut self, records: &Records) {
        let mut text = String::new();
        for record in records.iter() {
            if let Some(told) = self.lines.of(&record.event) {
                text.push_str(&line(record.at, &told));
            }
        }
        self.write(&text);
        self.shown.show(records);
    }

    fn notice(&mut self, text: &str) {
        self.write(&line(wall(), &format!("conductor: {text}")));
        self.shown.notice(text);
    }

    fn tell(&mut self, text: &str) {
        self.write(&line(wall(), &format!("conductor: {text}")));
        self.shown.tell(text);
    }

    fn beat(&mut self) {
        self.shown.beat();
    }

    fn finish(&mut self, id: &RunId, run: &Run, graph: &Graph, ledger: Option<&Ledger>) {
        let ended = conductor_core::report::outcome_name(run.stage());
        self.write(&line(wall(), &format!("run {id} {ended}")));
        self.shown.finish(id, run, graph, ledger);
    }
}
