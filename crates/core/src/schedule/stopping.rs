//! How what runs is told to stop, and how a run comes to start nothing new.

use super::{Action, Scheduler};
use crate::plan::graph::Node;
use crate::run::event::{DrainReason, Event, StopReason};
use crate::run::{Running, Stage, TaskState};
use crate::values::units::Now;

impl Scheduler {
    /// Where it is being stopped already, only what keeps it from being taken up again changes what comes of
    /// that. One that makes room may have handed in its work in this moment, and goes on then: its time is
    /// still counted.
    pub(super) fn stop(&mut self, now: Now, place: usize, why: StopReason) {
        let (task, progress) = self.run.task(place);
        let TaskState::Running(Running { attempt, stopping, ended: false, .. }) = progress.state else {
            return;
        };
        let is_outdone = match stopping {
            None => true,
            Some(StopReason::Interrupted | StopReason::BaseChanged) => why == StopReason::Cancelled,
            Some(StopReason::Preempted) => matches!(why, StopReason::Cancelled | StopReason::TimedOut),
            Some(_) => false,
        };
        if !is_outdone {
            return;
        }
        let task = task.id.clone();
        if why != StopReason::Preempted {
            self.timers.disarm(place as Node);
        }
        self.emit(now, Event::StopRequested { task: task.clone(), attempt, why });
        self.act(Action::Stop { task, attempt, why });
    }

    pub(super) fn stop_all(&mut self, now: Now, why: StopReason) {
        for place in self.running() {
            self.stop(now, place, why);
        }
    }

    pub(super) fn drain(&mut self, now: Now, why: DrainReason) {
        if self.run.stage() == Stage::Active {
            self.emit(now, Event::RunDrained { why });
        }
    }
}
