//! Where the time of all tasks went, as far as it was measured.

use super::{Run, TaskState};
use crate::run::event::{Event, Processes, Record};
use crate::values::units::{Millis, Tick};

/// Sums over all tasks, so that they may well be longer than the run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Times {
    pub preparing: Millis,
    pub working: Millis,
    pub verifying: Millis,
    /// From a good end of the work until it was on the run's branch, or was not to be.
    pub merging: Millis,
    /// Waiting for the next try, and for a person's answer.
    pub retrying: Millis,
    pub asking: Millis,
    /// Waiting for a person's review.
    pub reviewing: Millis,
    /// What all their processes took; nothing where none was measured.
    pub processes: Option<Processes>,
    /// How many attempts told their phases.
    pub attempts: u32,
    /// How often a coordinator took the run up.
    pub starts: u32,
}

impl Run {
    /// Looks at the task as it was before the event.
    pub(super) fn account_time(&mut self, place: usize, event: &Event, record: &Record) {
        let (state, times) = (&self.tasks[place].state, &mut self.times);
        match (event, state) {
            (Event::AttemptEnded { phases: Some(phases), .. }, _) => {
                times.preparing += phases.preparing;
                times.working += phases.working;
                times.verifying += phases.verifying;
                times.attempts += 1;
                if let Some(processes) = phases.processes {
                    times.processes.get_or_insert_default().add(processes);
                }
            }
            (Event::AttemptStarted { .. }, TaskState::Waiting { since, .. }) => {
                times.retrying += record.at - *since;
            }
            (Event::QuestionAnswered { .. }, TaskState::Asking { since, .. }) => {
                times.asking += record.at - *since;
            }
            (Event::ReviewGiven { .. } | Event::WorkSetAside { .. }, TaskState::InReview { since, .. }) => {
                times.reviewing += record.at - *since;
            }
            (Event::TaskCompleted { .. } | Event::MergeFailed { .. }, TaskState::Running(running)) => {
                if let Some(landing) = &running.landing {
                    times.merging += record.tick - landing.tick;
                }
            }
            _ => {}
        }
    }

    /// The ticks of an earlier coordinator mean nothing to this one.
    pub(super) fn restart_landings(&mut self, now: Tick) {
        for progress in &mut self.tasks {
            if let TaskState::Running(running) = &mut progress.state
                && let Some(landing) = &mut running.landing
            {
                landing.tick = now;
            }
        }
    }
}
