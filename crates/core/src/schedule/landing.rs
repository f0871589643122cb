//! The merge train: what ended well and has something to merge waits here, and lands in the order of its ends.
//!
//! All changes that wait when the train is free travel together: they are stacked on one another, checked
//! once, and the branch is moved once. A change that does not fit or fails the check is left behind; those
//! behind it wait for the next train. A task that waits to land holds no slot and no resource, only its
//! files: no task that touches them starts from a tree without its work.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};

use super::{Action, Scheduler};
use crate::plan::OnConflict;
use crate::plan::graph::Node;
use crate::plan::recovery::Strategy;
use crate::run::event::{Again, Change, Event, Failure, FailureClass, Round};
use crate::run::{Intent, Landing, Running, TaskState};
use crate::schedule::recovery::{self, Judgement};
use crate::values::ids::{Attempt, TaskId};
use crate::values::units::Now;

/// How many travel together at the most: a red stack of this size is taken apart in four checks.
const LONGEST: usize = 16;

/// How often work that does not fit is done anew before a person has to look at it.
const ANEW: u32 = 3;

/// One change to be merged. Mostly of one task; where an epic lands as one, of all its tasks.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Car {
    /// Whose commit it is.
    pub task: TaskId,
    pub attempt: Attempt,
    pub change: Change,
    /// Who else's work is in it.
    pub others: Vec<TaskId>,
    /// Which side wins a conflict, where the time for mending it is over.
    pub favour: Option<Side>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Side {
    /// What has landed.
    Ours,
    /// The task.
    Theirs,
}

/// A car that fits, and the commit by which it would be on the branch.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stacked {
    pub task: TaskId,
    pub attempt: Attempt,
    pub to: String,
}

/// A car that does not.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LeftBehind {
    pub task: TaskId,
    pub attempt: Attempt,
    pub failure: Failure,
}

/// The places of a car's tasks, the one whose commit it is last.
type Places = Vec<usize>;

#[derive(Debug, Default)]
pub(super) struct Train {
    waiting: VecDeque<Places>,
    under_way: Vec<Places>,
    /// Nothing more is sent off: the coordinator that resumes the run does that.
    halted: bool,
}

/// How a round of mending is told of.
pub(super) fn mending(round: u32, of: u32) -> String {
    format!("it goes back to be mended, round {round} of {of}")
}

impl Scheduler {
    pub(super) fn on_merges_put_off(&mut self) {
        for car in std::mem::take(&mut self.train.under_way).into_iter().rev() {
            self.train.waiting.push_front(car);
        }
        self.train.halted = true;
    }

    /// Whether it is being merged at this moment.
    pub(super) fn is_under_way(&self, place: usize) -> bool {
        self.train.under_way.iter().any(|car| car.contains(&place))
    }

    /// Whether it is being merged, or waits for it.
    pub(super) fn is_aboard(&self, place: usize) -> bool {
        self.is_under_way(place) || self.train.waiting.iter().any(|car| car.contains(&place))
    }

    /// How many wait for a train that does not go any more.
    pub(super) fn put_off(&self) -> usize {
        match self.train.halted {
            true => self.train.waiting.iter().map(Vec::len).sum(),
            false => 0,
        }
    }

    /// Their attempts are over and left something; they land when all before them have.
    pub(super) fn board(&mut self, car: Places) {
        for &place in &car {
            self.ready.release_all_but_files(place as Node);
        }
        self.train.waiting.push_back(car);
        self.pull();
    }

    /// What was waiting to land when the run was left, in the order of its ends.
    pub(super) fn board_leftovers(&mut self, now: Now) {
        self.settle_reviews(now);
        let mut cars: Vec<(u64, Places)> = Vec::new();
        for place in 0..self.graph.len() {
            if let (TaskState::InReview { running, .. }, Some(epic)) =
                (&self.run.progress(place).state, self.epics.of(place))
            {
                let since = running.landing.as_ref().map_or(0, |landing| landing.since);
                self.epics.join(epic, place, since, false);
            }
            let Some((_, landing)) = self.landing(place) else { continue };
            match (self.epics.of(place), &landing.intent) {
                // Of those who stand by, who lands is for the race to say; what is stacked lands after what is below.
                (None, None) if self.run.raced_by(place).is_some() || self.is_stacked(place) => {}
                (None, _) => {
                    let since = landing.since;
                    self.ready.hold_files(place as Node);
                    cars.push((since, vec![place]));
                }
                (Some(epic), intent) => {
                    let (since, sent) = (landing.since, intent.is_some());
                    self.epics.join(epic, place, since, sent);
                }
            }
        }
        cars.extend(self.epics.sent());
        // Those that were on their way come first, also before older work that was approved since.
        cars.sort_by_key(|(since, car)| (self.intent_of(car).is_none(), *since));
        for (_, car) in cars {
            self.train.waiting.push_back(car);
        }
        self.pull();
    }

    /// Sends the next cars off if none is under way: to be merged, or, where a coordinator that died may have
    /// moved the branch for them, to see whether it did.
    pub(super) fn pull(&mut self) {
        if !self.train.under_way.is_empty() || self.train.halted || self.held_back {
            return;
        }
        let Some(first) = self.train.waiting.front() else { return };
        match self.intent_of(first) {
            Some(Intent { from, last, .. }) => {
                let all = std::mem::take(&mut self.train.waiting);
                let same = |car: &Places| self.intent_of(car).is_some_and(|intent| intent.last == last);
                let (together, rest): (Vec<_>, Vec<_>) = all.into_iter().partition(same);
                (self.train.under_way, self.train.waiting) = (together, rest.into());
                self.act(Action::MoveBranch { from, to: last });
            }
            None => {
                let fresh = |car: &&Places| self.intent_of(car).is_none();
                let count = self.train.waiting.iter().take_while(fresh).count().min(LONGEST);
                self.train.under_way = self.train.waiting.drain(..count).collect();
                self.integrate();
            }
        }
    }

    fn integrate(&mut self) {
        let cars = self.train.under_way.iter().filter_map(|car| self.car(car)).collect();
        self.act(Action::Integrate { cars });
    }

    fn car(&self, places: &Places) -> Option<Car> {
        let (&place, others) = places.split_last()?;
        let (attempt, landing) = self.landing(place)?;
        let id = |place: usize| self.graph.id(place as Node).clone();
        Some(Car {
            task: id(place),
            attempt,
            change: landing.change.clone(),
            others: others.iter().map(|&place| id(place)).collect(),
            favour: self.favour(place),
        })
    }

    /// No side wins before the agent has had its rounds to mend the work.
    fn favour(&self, place: usize) -> Option<Side> {
        let task = &self.run.plan().tasks[place];
        let rounds = self.run.repeats(place).map_or(0, |repeats| repeats.rounds);
        let mended = rounds >= task.fix_rounds;
        match task.on_conflict {
            // A person has approved all of the work, not what a rule leaves of it.
            _ if self.lands_by_approval(place) => None,
            OnConflict::Ours if mended => Some(Side::Ours),
            OnConflict::Theirs if mended => Some(Side::Theirs),
            _ => None,
        }
    }

    fn landing(&self, place: usize) -> Option<(Attempt, &Landing)> {
        match &self.run.progress(place).state {
            TaskState::Running(Running { attempt, landing: Some(landing), .. }) => Some((*attempt, landing)),
            _ => None,
        }
    }

    fn intent_of(&self, car: &Places) -> Option<Intent> {
        self.landing(*car.last()?)?.1.intent.clone()
    }

    /// Takes the car a report is about off the train; nothing where the report is not about the merge under way.
    fn uncouple(&mut self, task: &TaskId, attempt: Attempt) -> Option<Places> {
        let place = self.run.place(task)?;
        let at = self.train.under_way.iter().position(|car| car.last() == Some(&place))?;
        let (current, _) = self.landing(place)?;
        (current == attempt).then(|| self.train.under_way.remove(at))
    }

    /// Who was neither stacked nor left behind waits for the next train, ahead of those who came later.
    pub(super) fn on_merges_prepared(
        &mut self,
        now: Now,
        from: String,
        stacked: Vec<Stacked>,
        failed: Vec<LeftBehind>,
    ) {
        let failed: Vec<(Places, Failure)> = failed
            .into_iter()
            .filter_map(|left| Some((self.uncouple(&left.task, left.attempt)?, left.failure)))
            .collect();
        let stacked: Vec<(Places, String)> = stacked
            .into_iter()
            .filter_map(|car| Some((self.uncouple(&car.task, car.attempt)?, car.to)))
            .collect();
        let last = stacked.last().map(|(_, to)| to.clone());
        if failed.is_empty() && last.is_none() {
            return;
        }
        for car in std::mem::take(&mut self.train.under_way).into_iter().rev() {
            self.train.waiting.push_front(car);
        }
        if let Some(last) = last {
            for (car, to) in stacked {
                self.intend(now, &car, &from, &to, &last);
                self.train.under_way.push(car);
            }
            self.act(Action::MoveBranch { from, to: last });
        }
        for (car, failure) in failed {
            self.leave_behind(now, &car, &failure);
        }
        self.pull();
    }

    fn intend(&mut self, now: Now, car: &Places, from: &str, to: &str, last: &str) {
        for &place in car {
            let Some((attempt, _)) = self.landing(place) else { continue };
            let task = self.graph.id(place as Node).clone();
            let (from, to) = (from.to_owned(), to.to_owned());
            let last = (last != to).then(|| last.to_owned());
            self.emit(now, Event::MergeIntended { task, attempt, from, to, last });
        }
    }

    fn withdraw(&mut self, now: Now) {
        for place in self.train.under_way.concat() {
            let Some((attempt, _)) = self.landing(place) else { continue };
            let task = self.graph.id(place as Node).clone();
            self.emit(now, Event::MergeWithdrawn { task, attempt });
        }
    }

    fn leave_behind(&mut self, now: Now, car: &Places, failure: &Failure) {
        if car.iter().any(|&place| self.epics.of(place).is_some()) {
            return self.leave_epic_behind(now, car, failure);
        }
        for &place in car {
            if let Some(change) = self.unmerge(now, place, failure) {
                self.on_unmerged(now, place, change, failure.clone());
            }
        }
    }

    /// What it left lands no more as it is; nothing where it was not to land.
    pub(super) fn unmerge(&mut self, now: Now, place: usize, failure: &Failure) -> Option<Change> {
        let (attempt, landing) = self.landing(place)?;
        let change = landing.change.clone();
        let task = self.graph.id(place as Node).clone();
        self.emit(now, Event::MergeFailed { task, attempt, failure: failure.clone() });
        self.ready.release_files(place as Node);
        Some(change)
    }

    /// Which round of mending would be next for work that does not fit, or fails its checks on the combined tree;
    /// nothing where that would not help, or its rounds or its budget are used up.
    pub(super) fn next_round(&self, place: usize, failure: &Failure) -> Option<u32> {
        let rounds = self.run.repeats(place).map_or(0, |repeats| repeats.rounds);
        let mendable = matches!(failure.class, FailureClass::Conflict | FailureClass::Unverified);
        let may = mendable && rounds < self.run.plan().tasks[place].fix_rounds;
        (may && !self.task_is_over_budget(place)).then_some(rounds + 1)
    }

    /// Another attempt mends the work, as long as that may help; then as the task says.
    fn on_unmerged(&mut self, now: Now, place: usize, change: Change, failure: Failure) {
        let task = &self.run.plan().tasks[place];
        let anew = self.run.repeats(place).map_or(0, |repeats| repeats.anew);
        let later = task.on_conflict == OnConflict::RetryLater && failure.class == FailureClass::Conflict;
        let again = if let Some(round) = self.next_round(place, &failure) {
            let words = mending(round, task.fix_rounds);
            let round = Round { change, failure: failure.clone() };
            Some((Again::Mend(Box::new(round)), Strategy::Mend, words))
        } else if later && anew < ANEW && !self.task_is_over_budget(place) {
            let words = format!("it is done anew from where the branch is, {} of {ANEW}", anew + 1);
            Some((Again::Anew, Strategy::Rollback, words))
        } else {
            None
        };
        match again {
            Some((again, strategy, words)) => {
                let Judgement { nature, why } = recovery::judge(task, &failure);
                self.decide(now, place, nature, strategy, &format!("{why}; {words}"));
                self.at_once(now, place, again);
            }
            None => self.on_failure(now, place, failure),
        }
    }

    /// Whether the branch is being moved there.
    fn awaits(&self, to: &str) -> bool {
        let intent = self.train.under_way.last().and_then(|car| self.intent_of(car));
        intent.is_some_and(|intent| intent.last == to)
    }

    pub(super) fn on_branch_stuck(&mut self, now: Now, to: &str, failure: &Failure) {
        if self.awaits(to) {
            for car in std::mem::take(&mut self.train.under_way) {
                self.leave_behind(now, &car, failure);
            }
            self.pull();
        }
    }

    pub(super) fn on_branch_moved(&mut self, now: Now, to: &str, moved: bool) {
        if !self.awaits(to) {
            return;
        }
        if !moved {
            // Another process moved the branch in between: merge anew onto where it is now. What was stacked
            // before must never count as merged, for one of these changes may no longer fit.
            self.withdraw(now);
            return self.integrate();
        }
        for car in std::mem::take(&mut self.train.under_way) {
            let commit = self.intent_of(&car).map(|intent| intent.to);
            for place in car {
                self.ready.release_files(place as Node);
                self.complete(now, place, commit.clone());
            }
        }
        self.pull();
    }
}
