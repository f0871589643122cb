//! Lines on standard error, and one now and then that says what is running.

use std::collections::BTreeMap;
use std::io::Write as _;
use std::time::Instant;

use conductor_core::plan::graph::Graph;
use conductor_core::report::ledger::Ledger;
use conductor_core::run::Run;
use conductor_core::run::event::Event;
use conductor_core::values::ids::{RunId, TaskId};
use conductor_core::values::units::Millis;
use conductor_engine::stores::bus::Records;

use super::lines::{Lines, heading, is_colored};
use super::{Progress, Stage};
use crate::console;

/// How many of those that run a heartbeat names.
const NAMED: usize = 5;

pub(super) struct Plain {
    lines: Lines,
    pulse: Pulse,
}

impl Plain {
    pub(super) fn new(stage: &Stage<'_>) -> Plain {
        console::say(heading(stage));
        Plain { lines: Lines::new(stage.run, is_colored()), pulse: Pulse::default() }
    }
}

impl Progress for Plain {
    fn show(&mut self, records: &Records) {
        let mut text = String::new();
        for record in records.iter() {
            self.pulse.note(&record.event);
            if let Some(line) = self.lines.of(&record.event) {
                text.push_str(&line);
                text.push('\n');
            }
        }
        // A reader that went away must not end the run.
        let _ = std::io::stderr().lock().write_all(console::clean(&text).as_bytes());
    }

    fn notice(&mut self, text: &str) {
        console::say(format_args!("conductor: {text}"));
    }

    fn tell(&mut self, text: &str) {
        super::terminal::ring(text);
        console::say(format_args!("conductor: {text}"));
    }

    fn beat(&mut self) {
        if let Some(line) = self.pulse.line(Instant::now()) {
            console::say(format_args!("conductor: {line}"));
        }
    }

    fn finish(&mut self, _: &RunId, _: &Run, _: &Graph, _: Option<&Ledger>) {}
}

/// Who is at work since when.
#[derive(Default)]
pub(super) struct Pulse {
    running: BTreeMap<TaskId, Instant>,
}

impl Pulse {
    pub(super) fn note(&mut self, event: &Event) {
        match event {
            Event::AttemptStarted { task, .. } => {
                self.running.insert(task.clone(), Instant::now());
            }
            Event::AttemptEnded { task, .. } => {
                self.running.remove(task);
            }
            _ => {}
        }
    }

    /// What is running, longest first; nothing where nothing is.
    pub(super) fn line(&self, now: Instant) -> Option<String> {
        let mut running: Vec<_> = self.running.iter().map(|(task, since)| (*since, task)).collect();
        running.sort_unstable();
        let more = running.len().saturating_sub(NAMED);
        let each = running.iter().take(NAMED).map(|(since, task)| {
            let elapsed = now.saturating_duration_since(*since).as_secs();
            format!("{task} ({})", Millis::from_secs(elapsed))
        });
        let names = each.collect::<Vec<_>>().join(", ");
        let rest = if more > 0 { format!(" and {more} more") } else { String::new() };
        (!running.is_empty()).then(|| format!("still running {}: {names}{rest}", running.len()))
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use conductor_core::values::ids::Attempt;

    use super::*;

    #[test]
    fn a_heartbeat_names_those_that_run_longest() {
        let mut pulse = Pulse::default();
        assert_eq!(pulse.line(Instant::now()), None);
        for name in ["g", "f", "e", "d", "c", "b", "a"] {
            let task = TaskId::parse(name).unwrap();
            pulse.note(&Event::AttemptStarted {
                task,
                attempt: Attempt(1),
                executor: 1,
                choice: None,
                on: Default::default(),
            });
        }
        let start = Instant::now();
        for (at, since) in pulse.running.values_mut().enumerate() {
            *since = start + Duration::from_secs(at as u64);
        }
        assert_eq!(
            pulse.line(start + Duration::from_secs(90)).unwrap(),
            "still running 7: a (1m30s), b (1m29s), c (1m28s), d (1m27s), e (1m26s) and 2 more"
        );
    }
}
