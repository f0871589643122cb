//! Who starts next, and with what.

use super::{Action, Beginning, Scheduler, Unlanded, hands};
use crate::event::{DrainReason, Event, Hand};
use crate::graph::Node;
use crate::ids::{Attempt, TaskId};
use crate::run::{Stage, TaskState};
use crate::units::Now;

impl Scheduler {
    /// Starts whatever can start now.
    pub(super) fn dispatch(&mut self, now: Now) {
        while self.may_start() {
            if self.run_is_over_budget() {
                return match self.ready.is_empty() {
                    true => {}
                    false => self.drain(now, DrainReason::Budget),
                };
            }
            let Some(node) = self.ready.take() else { return };
            match self.task_is_over_budget(node as usize) {
                true => self.give_up(now, node as usize),
                false => self.start_attempt(now, node as usize),
            }
        }
    }

    fn may_start(&self) -> bool {
        self.run.stage() == Stage::Active
            && !self.run.is_paused()
            && (self.ready.working() as u32) < self.run.options().at_once()
    }

    fn start_attempt(&mut self, now: Now, place: usize) {
        let task = self.graph.id(place as Node).clone();
        let attempt = Attempt(self.run.progress(place).last_attempt + 1);
        let hand = self.hand(place);
        let executor = self.executors.take(self.where_it_talked(place, hand.as_deref()));
        if let Some(hand) = &hand {
            self.tell_of_other_specialist(now, place);
            self.tell_of_stand_in(now, place, hand);
        }
        let stack = self.stack_under(place);
        let on = stack.iter().map(|below| (below.task.clone(), below.commit.clone())).collect();
        let started = Event::AttemptStarted { task: task.clone(), attempt, executor, hand: hand.clone(), on };
        self.emit_about(now, Some(place), started);
        self.arm_timeout(now, place);
        let beginning = self.beginning(place, executor, hand.as_deref(), stack);
        self.act(Action::Start { task, attempt, executor, hand, beginning });
    }

    /// The conversation it can go on with, and the executor that began it.
    fn conversation(&self, place: usize, hand: Option<&Hand>) -> Option<(&str, Option<u32>)> {
        let repeats = self.run.repeats(place)?;
        let (with, session) = repeats.session.as_ref()?;
        (*with == hand?.agent).then_some((session, repeats.session_of))
    }

    /// Some agents go on with a conversation only where they began it.
    fn where_it_talked(&self, place: usize, hand: Option<&Hand>) -> Option<u32> {
        let (_, begun_by) = self.conversation(place, hand)?;
        begun_by.filter(|executor| *executor <= self.run.options().at_once())
    }

    fn beginning(
        &self,
        place: usize,
        executor: u32,
        hand: Option<&Hand>,
        stack: Vec<Unlanded>,
    ) -> Option<Box<Beginning>> {
        let repeats = self.run.repeats(place);
        let round = repeats.and_then(|repeats| Some((repeats.rounds, repeats.round.clone()?)));
        let answers = repeats.map_or_else(Vec::new, |repeats| repeats.answers.clone());
        let told = self.run.raced_by(place).and_then(|race| self.run.repeats(race));
        let words = told.into_iter().chain(repeats).flat_map(|repeats| repeats.words.clone()).collect();
        let session = self.conversation(place, hand);
        let moved = session.is_some_and(|(_, begun_by)| begun_by.is_some_and(|by| by != executor));
        let set_back = repeats.and_then(|repeats| repeats.set_back.clone()).filter(|_| round.is_none());
        let beginning = Beginning {
            onto: self.onto(place),
            stack,
            round,
            set_back,
            session: session.map(|(session, _)| session.to_owned()),
            moved,
            answers,
            words,
            before: hands::before(&self.run, place),
            context: self.context(place),
            secure: self.to_secure(place),
        };
        (beginning != Beginning::default()).then(|| Box::new(beginning))
    }

    /// The step before its group, if that went well.
    fn context(&self, place: usize) -> Option<(TaskId, u32, Attempt)> {
        let (task, _) = self.run.task(place);
        let stage = self.run.plan().execution.as_ref()?.stage_of(&task.id)?;
        let refresh = stage.refresh.as_ref().filter(|_| stage.tasks.contains(&task.id))?;
        let progress = self.run.progress(self.run.place(refresh)?);
        let done = progress.state == TaskState::Completed;
        Some((refresh.clone(), progress.executor.filter(|_| done)?, Attempt(progress.last_attempt)))
    }
}
