//! Who starts next, and with what.

use super::{Action, Scheduler, StartFrom, Unlanded, agent_choice};
use crate::plan::graph::Node;
use crate::run::event::{AgentChoice, DrainReason, Event};
use crate::run::{Stage, TaskState};
use crate::values::ids::{Attempt, TaskId};
use crate::values::units::Now;

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
            && !self.held_back
            && !self.run.is_paused()
            && (self.ready.working() as u32) < self.run.options().at_once()
    }

    fn start_attempt(&mut self, now: Now, place: usize) {
        let task = self.graph.id(place as Node).clone();
        let attempt = Attempt(self.run.progress(place).last_attempt + 1);
        let choice = self.agent_choice(place);
        let executor = self.executors.take(self.where_it_talked(place, choice.as_deref()));
        if let Some(choice) = &choice {
            self.tell_of_other_specialist(now, place);
            self.tell_of_stand_in(now, place, choice);
        }
        let stack = self.stack_under(place);
        let on = stack.iter().map(|below| (below.task.clone(), below.commit.clone())).collect();
        let started =
            Event::AttemptStarted { task: task.clone(), attempt, executor, choice: choice.clone(), on };
        self.emit_about(now, Some(place), started);
        self.arm_timeout(now, place);
        let start_from = self.start_from(place, executor, choice.as_deref(), stack);
        self.act(Action::Start { task, attempt, executor, choice, start_from });
    }

    /// The conversation it can go on with, and the executor that began it.
    fn conversation(&self, place: usize, choice: Option<&AgentChoice>) -> Option<(&str, Option<u32>)> {
        let repeats = self.run.repeats(place)?;
        let (with, session) = repeats.session.as_ref()?;
        (*with == choice?.agent).then_some((session, repeats.session_of))
    }

    /// Some agents go on with a conversation only where they began it.
    fn where_it_talked(&self, place: usize, choice: Option<&AgentChoice>) -> Option<u32> {
        let (_, begun_by) = self.conversation(place, choice)?;
        begun_by.filter(|executor| *executor <= self.run.options().at_once())
    }

    fn start_from(
        &self,
        place: usize,
        executor: u32,
        choice: Option<&AgentChoice>,
        stack: Vec<Unlanded>,
    ) -> Option<Box<StartFrom>> {
        let repeats = self.run.repeats(place);
        let round = repeats.and_then(|repeats| Some((repeats.rounds, repeats.round.clone()?)));
        let answers = repeats.map_or_else(Vec::new, |repeats| repeats.answers.clone());
        let told = self.run.raced_by(place).and_then(|race| self.run.repeats(race));
        let from = || told.into_iter().chain(repeats);
        let words = from().flat_map(|repeats| repeats.words.clone()).collect();
        let unheard = from().flat_map(|repeats| repeats.unheard.clone()).collect();
        let session = self.conversation(place, choice);
        let moved = session.is_some_and(|(_, begun_by)| begun_by.is_some_and(|by| by != executor));
        let set_back = repeats.and_then(|repeats| repeats.set_back.clone()).filter(|_| round.is_none());
        let start_from = StartFrom {
            onto: self.onto(place),
            stack,
            round,
            set_back,
            session: session.map(|(session, _)| session.to_owned()),
            moved,
            answers,
            words,
            unheard,
            before: agent_choice::before(&self.run, place),
            context: self.context(place),
            secure: self.to_secure(place),
        };
        (start_from != StartFrom::default()).then(|| Box::new(start_from))
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
