//! Attempts whose agents have outlived their coordinator: the one that takes the run up goes on with them.
//!
//! Nothing about such an attempt begins anew: its number, its time and what it has used count on. One that was told to
//! stop, or that another process carries out, is interrupted as ever.

use std::collections::BTreeMap;

use super::{Action, Attached, Scheduler};
use crate::plan::graph::Node;
use crate::run::event::Event;
use crate::run::{Running, TaskState};
use crate::values::ids::TaskId;
use crate::values::units::Now;

/// Whether an attempt at work may be gone on with by another coordinator.
pub fn can_be_reattached(running: &Running) -> bool {
    !running.ended && running.stopping.is_none() && running.worker.is_none()
}

impl Scheduler {
    pub(super) fn reattach(&mut self, now: Now, attached: &BTreeMap<TaskId, Attached>) {
        for place in self.running() {
            if !self.is_attached(place, attached) {
                continue;
            }
            let task = self.run.plan().tasks[place].id.clone();
            let Some(Attached { attempt, worked }) = attached.get(&task).copied() else { continue };
            self.emit(now, Event::AttemptReattached { task: task.clone(), attempt, worked });
            self.timers.disarm(place as Node);
            self.arm_timeout(now, place);
            self.act(Action::Reattach { task: task.clone(), attempt });
            let unheard = self.run.repeats(place).map_or_else(Vec::new, |repeats| repeats.unheard.clone());
            for words in unheard {
                self.act(Action::Say { task: task.clone(), attempt, words });
            }
        }
    }

    pub(super) fn is_attached(&self, place: usize, attached: &BTreeMap<TaskId, Attached>) -> bool {
        let (task, progress) = self.run.task(place);
        match &progress.state {
            TaskState::Running(running) => {
                can_be_reattached(running)
                    && attached.get(&task.id).is_some_and(|attached| attached.attempt == running.attempt)
            }
            _ => false,
        }
    }
}
