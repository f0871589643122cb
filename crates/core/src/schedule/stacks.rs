//! Building on work that has not landed: with `speculate`, a task begins while work it depends on waits for a review.
//!
//! It begins on top of that work and lands after it. Where the work it is built on is dropped, sent back or changed, what
//! was done on top of it is set aside, and the task waits again.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use super::{Scheduler, StopReason};
use crate::plan::graph::{Edge, Node};
use crate::plan::{Isolation, Kind, Land, When};
use crate::run::event::{Event, SetAside};
use crate::run::{Landing, Run, Running, TaskState};
use crate::values::ids::{Attempt, TaskId};
use crate::values::units::Now;

/// Work that has not landed, for a task to begin on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Unlanded {
    pub task: TaskId,
    pub commit: String,
    /// Where it began, if that was on such work too: then what it did itself is all that came since.
    pub base: Option<String>,
}

#[derive(Debug)]
pub(super) struct Stacks {
    /// Whether any task may begin like this, or has; spares the look everywhere else.
    speculates: bool,
    /// Whose dependents have been let go on before it landed.
    early: BTreeSet<Node>,
}

impl Stacks {
    pub(super) fn new(run: &Run) -> Stacks {
        let tasks = || run.tasks().map(|(task, _)| task);
        let is_reviewed = || match run.options().land {
            Some(land) => land == Land::Approve,
            None => tasks().any(|task| task.land == Land::Approve),
        };
        let has_stack = |place| run.repeats(place).is_some_and(|repeats| !repeats.stack.is_empty());
        let speculates = tasks().any(|task| task.speculate)
            && (is_reviewed() || (0..run.plan().tasks.len()).any(has_stack));
        Stacks { speculates, early: BTreeSet::new() }
    }

    /// Whether its dependents had been let go on; they are not any more.
    pub(super) fn end(&mut self, node: Node) -> bool {
        self.early.remove(&node)
    }
}

impl Scheduler {
    /// Whether a dependent may begin before what it depends on has landed.
    pub(super) fn may_build_on(&self, edge: &Edge) -> bool {
        let (to, speculates) = (edge.to as usize, self.stacks.speculates);
        speculates
            && !self.graph.is_gate(edge.to)
            && edge.kind == Kind::Hard
            && edge.when == When::Landed
            && self.run.plan().tasks[to].speculate
            && !self.run.repeats(to).is_some_and(|repeats| repeats.does_not_fit)
            && self.has_own_workspace(to)
    }

    fn has_own_workspace(&self, place: usize) -> bool {
        let isolation = self.run.plan().tasks[place].isolation.or(self.run.options().isolation);
        isolation != Some(Isolation::None)
            && self.epics.of(place).is_none()
            && self.run.raced_by(place).is_none()
            && !self.run.is_raced(place)
    }

    /// Work that others may begin on although it has not landed: it waits for a person's approval or is built on such
    /// work, or it was and is on its way.
    fn unlanded(&self, place: usize) -> Option<&Landing> {
        let landing = self.run.progress(place).state.landing()?;
        let is_offered = self.is_in_review(place) || landing.approved || self.has_stack(place);
        (is_offered && self.has_own_workspace(place)).then_some(landing)
    }

    pub(super) fn is_unlanded(&self, node: Node) -> bool {
        self.stacks.speculates && self.unlanded(node as usize).is_some()
    }

    /// What an attempt that starts now begins on, the lowest first.
    pub(super) fn stack_under(&self, place: usize) -> Vec<Unlanded> {
        let mut stack = Vec::new();
        if self.stacks.speculates && self.run.plan().tasks[place].speculate && self.has_own_workspace(place) {
            for dependency in &self.run.plan().tasks[place].dependencies {
                if dependency.kind == Kind::Hard && dependency.when == When::Landed {
                    self.lay(&dependency.id, &mut stack);
                }
            }
        }
        stack
    }

    fn lay(&self, task: &TaskId, stack: &mut Vec<Unlanded>) {
        let Some(place) = self.run.place(task) else { return };
        let Some(landing) = self.unlanded(place) else { return };
        if stack.iter().any(|known| known.task == *task) {
            return;
        }
        let below = self.run.repeats(place).map(|repeats| &repeats.stack);
        for lower in below.into_iter().flat_map(|stack| stack.keys()) {
            self.lay(lower, stack);
        }
        let base = landing.change.own_base().map(str::to_owned);
        stack.push(Unlanded { task: task.clone(), commit: landing.change.commit.clone(), base });
    }

    /// Whether its work is done and on top of other work, and not on the train: it lands after that, or, where it has
    /// changed nothing, is complete when that has landed.
    pub(super) fn is_stacked(&self, place: usize) -> bool {
        let is_done = |running: &Running| {
            running.ended && running.landing.as_ref().is_none_or(|landing| landing.intent.is_none())
        };
        self.stacks.speculates
            && self.has_stack(place)
            && matches!(&self.run.progress(place).state, TaskState::Running(running) if is_done(running))
            && !self.is_aboard(place)
    }

    pub(super) fn has_stack(&self, place: usize) -> bool {
        self.run.repeats(place).is_some_and(|repeats| !repeats.stack.is_empty())
    }

    /// How many are done and wait for what they are built on; while they do, nothing is under way for them.
    pub(super) fn stacked(&self) -> usize {
        match self.stacks.speculates {
            true => (0..self.graph.len()).filter(|&place| self.is_stacked(place)).count(),
            false => 0,
        }
    }

    /// The work it is built on that is not what it was any more.
    fn gone_from_under(&self, place: usize) -> Option<TaskId> {
        let is_gone = |task: &TaskId, commit: &String| {
            let state = self.run.place(task).map(|below| &self.run.progress(below).state);
            !state.is_some_and(|state| {
                *state == TaskState::Completed
                    || state.landing().is_some_and(|landing| landing.change.commit == *commit)
            })
        };
        let stack = &self.run.repeats(place)?.stack;
        stack.iter().find(|(task, commit)| is_gone(task, commit)).map(|(task, _)| task.clone())
    }

    /// Sets aside what is built on work that is gone, lets those begin who may build on work that waits, and sends off
    /// what was built on work that has landed.
    pub(super) fn see_to_stacks(&mut self, now: Now) {
        if !self.stacks.speculates {
            return;
        }
        let mut is_stale = false;
        while let Some((place, because)) = self.next_without_ground() {
            match &self.run.progress(place).state {
                TaskState::Running(running) if !running.ended => {
                    self.stop(now, place, StopReason::BaseChanged)
                }
                _ => {
                    self.set_aside(now, place, SetAside::Changed { task: because });
                    is_stale = true;
                }
            }
        }
        let offered = self.offered();
        if is_stale || !self.stacks.early.is_subset(&offered) {
            self.rebuild(now);
        } else {
            for &node in offered.difference(&self.stacks.early.clone()) {
                self.stacks.early.insert(node);
                self.release_early(now, node);
            }
        }
        for place in 0..self.graph.len() {
            if !self.is_stacked(place) || self.run.lands_after_another(place) || self.needs_review(place) {
                continue;
            }
            match self.run.progress(place).state.landing() {
                Some(_) => {
                    self.ready.hold_files(place as Node);
                    self.board(vec![place]);
                }
                None => self.complete(now, place, None),
            }
        }
    }

    /// Of those that could still do something about it.
    fn next_without_ground(&self) -> Option<(usize, TaskId)> {
        let could = |place: &usize| match &self.run.progress(*place).state {
            TaskState::Running(running) if !running.ended => running.stopping.is_none(),
            TaskState::Running(_) => self.is_stacked(*place),
            state => !state.status().is_end(),
        };
        let places = (0..self.graph.len()).filter(|&place| self.has_stack(place)).filter(could);
        places
            .filter(|_| self.illegal.is_none())
            .find_map(|place| Some((place, self.gone_from_under(place)?)))
    }

    pub(super) fn set_aside(&mut self, now: Now, place: usize, why: SetAside) {
        self.forget(place);
        let (task, progress) = self.run.task(place);
        let (task, attempt) = (task.id.clone(), Attempt(progress.last_attempt));
        self.emit_about(now, Some(place), Event::WorkSetAside { task, attempt, why });
    }

    /// Whose dependents may begin before it has landed.
    fn offered(&self) -> BTreeSet<Node> {
        (0..self.graph.len() as Node).filter(|&node| self.is_unlanded(node)).collect()
    }

    /// As the blockers are counted anew.
    pub(super) fn rebuild_early(&mut self) {
        if self.stacks.speculates {
            self.stacks.early = self.offered();
        }
    }
}
