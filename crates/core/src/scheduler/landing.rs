//! The merge train: what ended well and has something to merge waits here, and lands one after the other.
//!
//! A task that waits to land holds no slot and no resource any more, but its files: nobody who touches them starts from
//! a tree without its work.

use std::collections::VecDeque;

use super::{Action, Scheduler};
use crate::event::{Event, Failure};
use crate::graph::Node;
use crate::ids::{Attempt, TaskId};
use crate::run::{Landing, Running, TaskState};
use crate::units::Now;

#[derive(Debug, Default)]
pub(super) struct Train {
    waiting: VecDeque<usize>,
    landing: Option<usize>,
}

impl Scheduler {
    /// Its attempt is over and left something; it lands when everybody before it has.
    pub(super) fn board(&mut self, place: usize) {
        self.ready.release_all_but_files(place as Node);
        self.train.waiting.push_back(place);
        self.pull();
    }

    /// What was waiting to land when the run was left.
    pub(super) fn board_leftovers(&mut self) {
        for place in 0..self.graph.len() {
            let state = &self.run.progress(place).state;
            if matches!(state, TaskState::Running(running) if running.landing.is_some()) {
                self.board(place);
            }
        }
    }

    /// Sends the next one off if nobody is under way.
    fn pull(&mut self) {
        if self.train.landing.is_none() {
            self.train.landing = self.train.waiting.pop_front();
            self.send();
        }
    }

    /// Sends whoever is at the head on its way: to be merged, or, where the branch may have been moved for it by a
    /// coordinator that died, to see whether it was.
    fn send(&mut self) {
        let Some((place, attempt, landing)) = self.head() else { return };
        let task = self.run.plan().tasks[place].id.clone();
        let Landing { change, intent } = landing.clone();
        self.act(match intent {
            Some((from, to)) => Action::MoveBranch { task, attempt, from, to },
            None => Action::Integrate { task, attempt, change },
        });
    }

    fn head(&self) -> Option<(usize, Attempt, &Landing)> {
        let place = self.train.landing?;
        match &self.run.progress(place).state {
            TaskState::Running(Running { attempt, landing: Some(landing), .. }) => {
                Some((place, *attempt, landing))
            }
            _ => None,
        }
    }

    /// Whether a report is about the very merge that is under way.
    fn is_head(&self, task: &TaskId, attempt: Attempt) -> Option<usize> {
        let (place, current, _) = self.head()?;
        (self.run.plan().tasks[place].id == *task && current == attempt).then_some(place)
    }

    pub(super) fn on_merge_prepared(
        &mut self,
        now: Now,
        task: TaskId,
        attempt: Attempt,
        from: String,
        to: String,
    ) {
        if self.is_head(&task, attempt).is_some() {
            self.emit(now, Event::MergeIntended { task, attempt, from, to });
            self.send();
        }
    }

    pub(super) fn on_merge_failed(&mut self, now: Now, task: TaskId, attempt: Attempt, failure: Failure) {
        let Some(place) = self.is_head(&task, attempt) else { return };
        self.emit(now, Event::MergeFailed { task, attempt, failure: failure.clone() });
        self.alight(place);
        self.on_failure(now, place, failure);
    }

    pub(super) fn on_branch_moved(&mut self, now: Now, task: TaskId, attempt: Attempt, moved: bool) {
        let Some((place, _, Landing { change, intent: Some((_, to)) })) = self.head() else { return };
        let (change, to) = (change.clone(), to.clone());
        if self.is_head(&task, attempt).is_none() {
            return;
        }
        match moved {
            true => {
                self.alight(place);
                self.complete(now, place, Some(to));
            }
            // Somebody else moved the branch in between: merge anew onto where it is now.
            false => self.act(Action::Integrate { task, attempt, change }),
        }
    }

    fn alight(&mut self, place: usize) {
        self.train.landing = None;
        self.ready.release_files(place as Node);
        self.pull();
    }
}
