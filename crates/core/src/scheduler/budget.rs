//! Caps on cost, tokens, turns, attempts and time, of one task and of the whole run.

use super::Scheduler;
use crate::event::{DrainReason, Event, StopReason, Usage};
use crate::ids::{Attempt, TaskId};
use crate::plan::Work;
use crate::units::{Now, Tick};

impl Scheduler {
    pub(super) fn on_usage(&mut self, now: Now, task: TaskId, attempt: Attempt, usage: Usage) {
        let Some((place, _)) = self.current(&task, attempt) else { return };
        self.emit(now, Event::UsageReported { task: task.clone(), attempt, usage });
        if self.task_is_over_budget(place) {
            self.stop(now, place, StopReason::Budget);
        }
        if self.run_is_over_budget() {
            self.drain(now, DrainReason::Budget);
            self.stop_paid_attempts(now);
        }
    }

    /// Commands cost no money and may end in peace.
    fn stop_paid_attempts(&mut self, now: Now) {
        for place in self.running() {
            if matches!(self.run.plan().tasks[place].work, Work::Prompt(_)) {
                self.stop(now, place, StopReason::Interrupted);
            }
        }
    }

    pub(super) fn arm_run_deadline(&mut self, now: Now) {
        let limit = self.run.options().limits.max_time;
        self.timers.arm_run(limit.map(|limit| now.tick + (Tick(limit.0) - Tick(self.run.active().0))));
    }

    pub(super) fn task_is_over_budget(&self, place: usize) -> bool {
        let (task, progress) = self.run.task(place);
        task.max_cost.is_some_and(|cap| progress.usage.cost >= cap)
            || task.max_tokens.is_some_and(|cap| progress.usage.tokens >= cap)
            // The last turn it may take is to come to its end; some count it when it begins.
            || task.max_turns.is_some_and(|cap| progress.usage.turns > cap)
    }

    pub(super) fn run_is_over_budget(&self) -> bool {
        let limits = &self.run.options().limits;
        let spent = self.run.spent();
        let attempts = self.run.attempts() + self.ready.working() as u32;
        limits.max_cost.is_some_and(|cap| spent.cost >= cap)
            || limits.max_tokens.is_some_and(|cap| spent.tokens >= cap)
            || limits.max_attempts.is_some_and(|cap| attempts >= cap)
    }
}
