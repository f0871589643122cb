//! What agents ask of a person, and what people say to agents.
//!
//! An agent that asks has stopped and holds nothing: no slot, no process. The answer is recorded, and the
//! same conversation goes on with it, now or after a restart.

use super::requests::{Refusal, wrong};
use super::{Action, Scheduler};
use crate::plan::graph::Node;
use crate::run::event::{Answer, Answerer, Event};
use crate::run::{Progress, TaskState};
use crate::values::ids::TaskId;
use crate::values::units::{Millis, Now, Timestamp};

impl Scheduler {
    /// Counts as denied without an answer within the time limit.
    pub(super) fn await_answer(&mut self, now: Now, place: usize, since: Timestamp) {
        let own = self.run.plan().tasks[place].permissions.as_ref().and_then(|rules| rules.answer_within);
        if let Some(within) = own.or(self.run.options().answer_within) {
            let waited = (now.at - since).0.min(within.0);
            self.timers.arm(place as Node, now.tick + Millis(within.0 - waited));
        }
    }

    pub(super) fn on_answer(&mut self, now: Now, task: &TaskId, answer: Answer) -> Result<(), Refusal> {
        let place = self.known(task)?;
        let state = &self.run.progress(place).state;
        if !matches!(state, TaskState::Asking { .. }) {
            return Err(wrong(task, state.status(), "it has asked nothing"));
        }
        self.timers.disarm(place as Node);
        let (never_begun, allowed) = (self.waits_for_approval(place), answer.allow);
        let about_failure = self.asks_about_failure(place);
        self.emit(now, Event::QuestionAnswered { task: task.clone(), answer });
        match (never_begun, about_failure) {
            (_, true) => self.on_answered_failure(now, place, allowed),
            (true, false) => self.on_approval(now, place, allowed),
            (false, false) => self.enqueue(now, place as Node),
        }
        Ok(())
    }

    /// Whether nothing can go on before a person has answered, and the run is not to wait for that.
    pub(super) fn only_questions_are_left(&self) -> bool {
        let waits = |(_, progress): (_, &Progress)| matches!(progress.state, TaskState::Waiting { .. });
        let asks = |(_, progress): (_, &Progress)| matches!(progress.state, TaskState::Asking { .. });
        self.run.options().leave_unanswered
            && (self.run.is_escalated() || self.ready.is_empty() && !self.run.tasks().any(waits))
            && self.run.tasks().any(asks)
    }

    pub(super) fn on_no_answer(&mut self, now: Now, place: usize) {
        let task = self.run.plan().tasks[place].id.clone();
        let answer = Answer { allow: false, words: None, by: Answerer::Deadline };
        // It is asking, or no timer would have waited for the answer.
        let _ = self.on_answer(now, &task, answer);
    }

    /// Recorded whatever the task is doing. An agent at work gets it at once, where it takes messages; every
    /// later attempt gets it at its start.
    pub(super) fn on_words(&mut self, now: Now, task: &TaskId, words: String) -> Result<(), Refusal> {
        let place = self.known(task)?;
        let status = self.run.progress(place).state.status();
        if status.is_end() {
            return Err(wrong(task, status, "only a task that has not ended takes messages"));
        }
        let sent = Event::WordsSent { task: task.clone(), words: words.clone(), unheard: false };
        self.emit(now, sent);
        // What is said of a task that others race for is for all of them.
        for at in std::iter::once(place).chain(self.run.entrants(place).to_vec()) {
            if let TaskState::Running(running) = &self.run.progress(at).state
                && !running.ended
            {
                let (task, attempt) = (self.graph.id(at as Node).clone(), running.attempt);
                self.act(Action::Say { task, attempt, words: words.clone() });
            }
        }
        Ok(())
    }
}
