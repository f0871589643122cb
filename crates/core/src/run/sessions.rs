//! Sessions of agents, numbered over the run: an attempt of a command is none.

use std::collections::BTreeMap;

use super::Run;
use crate::plan::graph::Node;
use crate::run::event::{Event, Record};
use crate::values::units::Timestamp;

/// A session that has not ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OpenSession {
    /// Counted over the run, from 1.
    pub number: u64,
    pub since: Timestamp,
}

#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct Sessions {
    begun: u64,
    open: BTreeMap<Node, OpenSession>,
}

impl Run {
    pub(super) fn number_session(&mut self, place: usize, event: &Event, record: &Record) {
        let Sessions { begun, open } = &mut self.sessions;
        match event {
            Event::AttemptStarted { choice: Some(_), .. } => {
                *begun += 1;
                open.insert(place as Node, OpenSession { number: *begun, since: record.at });
            }
            Event::AttemptEnded { .. } => {
                open.remove(&(place as Node));
            }
            _ => {}
        }
    }

    /// How many sessions of agents have begun.
    pub fn sessions_begun(&self) -> u64 {
        self.sessions.begun
    }

    /// The session of the agent that works on a task.
    pub fn open_session(&self, place: usize) -> Option<OpenSession> {
        self.sessions.open.get(&(place as Node)).copied()
    }
}
