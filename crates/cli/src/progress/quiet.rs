//! Nothing but what the user has to answer, and what the task file wants told.

use conductor_core::plan::graph::Graph;
use conductor_core::report::ledger::Ledger;
use conductor_core::run::Run;
use conductor_core::run::event::{Event, Outcome};
use conductor_core::values::ids::RunId;
use conductor_engine::stores::bus::Records;

use super::lines::{Lines, is_colored};
use super::{Progress, Stage};
use crate::console;

pub(super) struct Quiet {
    lines: Lines,
}

impl Quiet {
    pub(super) fn new(stage: &Stage<'_>) -> Quiet {
        Quiet { lines: Lines::new(stage.run, is_colored()) }
    }
}

fn is_question(event: &Event) -> bool {
    matches!(event, Event::ApprovalAsked { .. } | Event::AttemptEnded { outcome: Outcome::Asked(_), .. })
}

impl Progress for Quiet {
    fn show(&mut self, records: &Records) {
        for record in records.iter() {
            // Every event counts in the lines, also where its own is not shown.
            if let Some(line) = self.lines.of(&record.event).filter(|_| is_question(&record.event)) {
                console::say(line);
            }
        }
    }

    fn notice(&mut self, _: &str) {}

    fn tell(&mut self, text: &str) {
        super::terminal::ring(text);
        console::say(format_args!("conductor: {text}"));
    }

    fn finish(&mut self, _: &RunId, _: &Run, _: &Graph, _: Option<&Ledger>) {}
}
