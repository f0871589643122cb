//! How an attempt ends, and what becomes of its task then.

use super::Scheduler;
use super::losing::Lost;
use crate::plan::graph::Node;
use crate::run::event::{Change, Event, Failure, FailureClass, Outcome, Phases, SetAside, StopReason};
use crate::values::ids::{Attempt, TaskId};
use crate::values::units::Now;

impl Scheduler {
    pub(super) fn on_attempt_ended(
        &mut self,
        now: Now,
        task: &TaskId,
        attempt: Attempt,
        outcome: Outcome,
        (change, phases): (Option<Box<Change>>, Option<Phases>),
    ) {
        let Some((place, running)) = self.current(task, attempt) else { return };
        let (executor, elapsed) = (running.executor, running.length(now.tick));
        let fits = running.process.is_some() || !self.has_stack(place) || !outcome.is_conflict();
        let outcome = if fits { outcome } else { Outcome::Interrupted };
        let lost = Lost::of(running);
        let outcome = self.judged(place, running.stopping, outcome);
        let outcome = self.survived(place, lost, outcome);
        let outcome = self.waited_out(now, place, outcome);
        let change = change.filter(|_| match &outcome {
            Outcome::Succeeded | Outcome::Interrupted | Outcome::Asked(_) => true,
            Outcome::Failed(failure) => failure.class.cuts_short(),
            Outcome::Cancelled => false,
        });
        let lands = change.is_some() && outcome == Outcome::Succeeded;
        let stands_by = outcome == Outcome::Succeeded && self.run.raced_by(place).is_some();
        let ended = Event::AttemptEnded {
            task: task.clone(),
            attempt,
            outcome: outcome.clone(),
            elapsed,
            executor,
            change,
            phases,
        };
        self.emit_about(now, Some(place), ended);
        self.tell_attempts(now);
        self.timers.disarm(place as Node);
        self.leases.drop(place as Node);
        self.accepted.remove(&(place as Node));
        self.handed_in.remove(&(place as Node));
        self.executors.free(executor);
        if stands_by {
            return self.stand_by(place);
        }
        if lands {
            return match self.epics.of(place) {
                Some(epic) => self.go_aboard(now, epic, place),
                None if self.needs_review(place) => self.request_review(now, place),
                // It is sent off when what it is built on has landed.
                None if self.has_stack(place) => self.ready.release(place as Node),
                None => self.board(vec![place]),
            };
        }
        self.ready.release(place as Node);
        match outcome {
            Outcome::Interrupted if !fits => {
                self.set_aside(now, place, SetAside::DoesNotFit);
                self.rebuild(now);
            }
            Outcome::Succeeded if self.has_stack(place) => {}
            Outcome::Succeeded => self.complete(now, place, None),
            Outcome::Cancelled => self.end(now, place, Event::TaskCancelled { task: task.clone() }),
            Outcome::Interrupted => self.enqueue(now, place as Node),
            Outcome::Asked(_) => self.await_answer(now, place, now.at),
            Outcome::Failed(failure) => self.on_failure(now, place, failure),
        }
    }

    pub(super) fn complete(&mut self, now: Now, place: usize, commit: Option<String>) {
        let task = self.graph.id(place as Node).clone();
        self.end(now, place, Event::TaskCompleted { task, commit });
    }

    /// What a report means, given why the attempt was told to stop.
    fn judged(&self, place: usize, stopping: Option<StopReason>, reported: Outcome) -> Outcome {
        let task = &self.run.plan().tasks[place];
        if self.is_outrun(place) {
            return Outcome::Cancelled;
        }
        match (stopping, reported) {
            // Some count their turns themselves and stop by it.
            (None, Outcome::Failed(failure)) if failure.class == FailureClass::Budget => {
                let cap = task.max_turns.map(|turns| format!("reached max_turns {turns}"));
                Outcome::Failed(Failure { message: cap.unwrap_or(failure.message), ..failure })
            }
            (None, reported) => reported,
            (Some(StopReason::Interrupted | StopReason::BaseChanged), Outcome::Succeeded) => {
                Outcome::Succeeded
            }
            (Some(StopReason::Interrupted | StopReason::BaseChanged), _) => Outcome::Interrupted,
            // It had handed in its work when it was to be stopped: then what was found about that counts.
            (Some(StopReason::Preempted), reported) => match reported {
                Outcome::Succeeded | Outcome::Asked(_) => reported,
                Outcome::Failed(failure) if failure.class.is_of_work() => Outcome::Failed(failure),
                _ => Outcome::Interrupted,
            },
            (Some(StopReason::Cancelled | StopReason::Outrun), _) => Outcome::Cancelled,
            (Some(StopReason::TimedOut), _) => {
                let limit = task.timeout.unwrap_or_default();
                Outcome::Failed(Failure::new(FailureClass::TimedOut, format!("timed out after {limit}")))
            }
            (Some(StopReason::Budget), _) => {
                let cap = self.cap_words(place);
                Outcome::Failed(Failure::new(FailureClass::Budget, format!("reached {cap}")))
            }
        }
    }

    /// A task's own end, and what it means for those who wait for it.
    pub(super) fn end(&mut self, now: Now, place: usize, event: Event) {
        self.emit_about(now, Some(place), event);
        let through = self.disembark(place);
        self.release_dependents(now, place as Node, through);
    }
}
