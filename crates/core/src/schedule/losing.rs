//! Attempts that end because what held them is gone: the worker that carried them out, or the shim of their agent.
//!
//! That is not the fault of their work, so they count as interrupted and are no failed tries. But a task whose processes take
//! down what holds them, by a signal or by using up the memory of the machine, would be begun again and paid for without end.

use super::Scheduler;
use crate::run::Running;
use crate::run::event::{Event, Failure, FailureClass, Outcome};
use crate::values::ids::{Attempt, TaskId};
use crate::values::units::Now;

/// So many lost workers, or shims, of one task are taken to be its own doing.
pub(super) const MOST_LOST: u32 = 3;

/// What an attempt was held by, where that is gone.
#[derive(Clone, Copy)]
pub(super) enum Lost {
    Worker,
    Shim,
}

impl Lost {
    pub(super) fn of(running: &Running) -> Option<Lost> {
        let by = if running.worker.is_some() { Lost::Worker } else { Lost::Shim };
        running.lost.then_some(by)
    }
}

impl Scheduler {
    /// One that is told to stop is ended anyway, whatever of it goes first.
    pub(super) fn on_shim_lost(&mut self, now: Now, task: TaskId, attempt: Attempt) {
        let Some((_, running)) = self.current(&task, attempt) else { return };
        if running.stopping.is_none() && running.worker.is_none() && !running.lost {
            self.emit(now, Event::ShimLost { task, attempt });
        }
    }

    /// How an attempt has ended whose holder may have been lost.
    pub(super) fn survived(&self, place: usize, lost: Option<Lost>, outcome: Outcome) -> Outcome {
        let (Outcome::Interrupted, Some(lost), Some(repeats)) = (&outcome, lost, self.run.repeats(place))
        else {
            return outcome;
        };
        let (times, what) = match lost {
            Lost::Worker => (repeats.lost_workers, "its worker was lost"),
            Lost::Shim => (repeats.lost_shims, "the process that held it was ended"),
        };
        match times >= MOST_LOST {
            true => {
                let message = format!("{what} {times} times while it was at work");
                Outcome::Failed(Failure::new(FailureClass::Killed, message))
            }
            false => outcome,
        }
    }
}
