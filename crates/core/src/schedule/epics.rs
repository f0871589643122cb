//! Epics whose tasks share a workspace: they work one after the other, each on top of what the one before it left, and
//! land together when none of them is left to run.
//!
//! Until then a task's work is *aboard*: tasks of its epic can build on it, all others wait for the landing.

use super::{Scheduler, landing};
use crate::plan::graph::{Edge, Node};
use crate::plan::recovery::{Nature, Strategy};
use crate::plan::{EpicLanding, Kind, Plan, When};
use crate::run::event::{Again, Event, Failure, FailureClass, Round};
use crate::run::{Status, TaskState};
use crate::schedule::recovery::{self, Judgement};
use crate::values::units::{Millis, Now};

#[derive(Debug, Default)]
pub(super) struct Epics {
    /// For each task the number of its epic; empty where no epic shares a workspace.
    of: Vec<Option<usize>>,
    epics: Vec<Epic>,
}

#[derive(Debug, Default)]
struct Epic {
    members: Vec<usize>,
    /// Whether it lands as a whole or not at all.
    whole: bool,
    /// Who is aboard, in the order of their ends.
    aboard: Vec<Aboard>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Aboard {
    since: u64,
    place: usize,
    /// Whether the train has taken it already. A task that is done again meanwhile waits for the next.
    sent: bool,
}

impl Epics {
    pub(super) fn new(plan: &Plan) -> Epics {
        let shared = plan.shared_epics();
        if shared.is_empty() {
            return Epics::default();
        }
        let number = |epic: &String| shared.iter().position(|name| name == epic);
        let of: Vec<Option<usize>> =
            plan.tasks.iter().map(|task| task.epic.as_ref().and_then(number)).collect();
        let whole = |name: &str| {
            let epic = plan.epics.iter().find(|epic| epic.id == name);
            epic.is_some_and(|epic| epic.epic_landing == EpicLanding::All)
        };
        let mut epics: Vec<Epic> =
            shared.iter().map(|name| Epic { whole: whole(name), ..Epic::default() }).collect();
        for (place, epic) in of.iter().enumerate() {
            if let Some(epic) = epic {
                epics[*epic].members.push(place);
            }
        }
        Epics { of, epics }
    }

    /// As the plan has them now; tasks that are aboard stay so.
    pub(super) fn grow(&mut self, plan: &Plan) {
        let mut grown = Epics::new(plan);
        for (epic, before) in grown.epics.iter_mut().zip(std::mem::take(&mut self.epics)) {
            epic.aboard = before.aboard;
        }
        *self = grown;
    }

    pub(super) fn of(&self, place: usize) -> Option<usize> {
        self.of.get(place).copied().flatten()
    }

    pub(super) fn join(&mut self, epic: usize, place: usize, since: u64, sent: bool) {
        let epic = &mut self.epics[epic];
        epic.aboard.push(Aboard { since, place, sent });
        epic.aboard.sort_unstable();
    }

    /// They have not landed, and are sent off again later.
    fn take_back(&mut self, car: &[usize]) {
        let aboard = self.epics.iter_mut().flat_map(|epic| &mut epic.aboard);
        aboard.filter(|aboard| car.contains(&aboard.place)).for_each(|aboard| aboard.sent = false);
    }

    fn leave(&mut self, place: usize) {
        if let Some(epic) = self.of(place) {
            self.epics[epic].aboard.retain(|other| other.place != place);
        }
    }

    fn is_aboard(&self, place: usize) -> bool {
        self.of(place).is_some_and(|epic| self.epics[epic].aboard.iter().any(|other| other.place == place))
    }

    /// Whether it is aboard of an epic that is not done yet.
    pub(super) fn is_parked(&self, place: usize) -> bool {
        let waits = |other: &Aboard| other.place == place && !other.sent;
        self.of(place).is_some_and(|epic| self.epics[epic].aboard.iter().any(waits))
    }

    /// Those that are aboard of an epic that is not done yet.
    fn parked(&self) -> impl Iterator<Item = usize> {
        let aboard = self.epics.iter().flat_map(|epic| &epic.aboard);
        aboard.filter(|aboard| !aboard.sent).map(|aboard| aboard.place)
    }

    /// All tasks of its epic, where that lands as one.
    pub(super) fn members_with(&self, place: usize) -> &[usize] {
        self.of(place).map_or(&[], |epic| self.epics[epic].members.as_slice())
    }

    /// A task, and those that land with it.
    pub(super) fn aboard_with(&self, place: usize) -> Vec<usize> {
        match self.of(place) {
            Some(epic) => self.epics[epic].aboard.iter().map(|aboard| aboard.place).collect(),
            None => vec![place],
        }
    }

    /// The cars of epics that had been sent off before.
    pub(super) fn sent(&self) -> Vec<(u64, Vec<usize>)> {
        let sent = |epic: &Epic| {
            let sent: Vec<Aboard> = epic.aboard.iter().filter(|aboard| aboard.sent).copied().collect();
            let since = sent.last()?.since;
            Some((since, sent.into_iter().map(|aboard| aboard.place).collect()))
        };
        self.epics.iter().filter_map(sent).collect()
    }
}

/// Which of a node's edges an end goes through.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Through {
    All,
    /// Those that need no landing: of an epic to its own tasks and those that only order, of other work to tasks that
    /// may build on it before.
    Early,
    /// All but those.
    Late,
}

impl Scheduler {
    /// Its work is good and stays in the workspace, for the next task of its epic. It gives up its files too:
    /// its epic may have to wait for a task that needs them.
    pub(super) fn go_aboard(&mut self, now: Now, epic: usize, place: usize) {
        self.ready.release(place as Node);
        self.epics.join(epic, place, self.run.seq(), false);
        self.release_early(now, place as Node);
    }

    /// How many have done their part of an epic that is not done yet.
    pub(super) fn parked(&self) -> usize {
        self.epics.parked().filter(|&place| !self.is_in_review(place)).count()
    }

    /// The commit the next task of an epic starts from.
    pub(super) fn onto(&self, place: usize) -> Option<String> {
        let epic = &self.epics.epics[self.epics.of(place)?];
        let last = epic.aboard.last()?;
        Some(self.run.progress(last.place).state.landing()?.change.commit.clone())
    }

    /// Sends off every epic of which no task is left to run. Where a person reviews it first, that is by its last task, whose
    /// commit holds the work of all.
    pub(super) fn board_epics(&mut self, now: Now) {
        for number in 0..self.epics.epics.len() {
            let epic = &self.epics.epics[number];
            let over = |&place: &usize| {
                self.epics.is_aboard(place) || self.run.progress(place).state.status().is_end()
            };
            let under_way = epic.aboard.iter().any(|aboard| aboard.sent);
            if under_way || epic.aboard.is_empty() || !epic.members.iter().all(over) {
                continue;
            }
            let aboard: Vec<usize> = epic.aboard.iter().map(|aboard| aboard.place).collect();
            let is_bad = |&&place: &&usize| {
                let status = self.run.progress(place).state.status();
                status.is_end() && status != Status::Completed
            };
            if let Some(&culprit) = epic.members.iter().find(is_bad).filter(|_| epic.whole) {
                self.withhold(now, &aboard, culprit);
                continue;
            }
            let Some(&last) = aboard.last() else { continue };
            if self.needs_review(last) {
                self.request_review(now, last);
            }
            if aboard.iter().any(|&place| self.is_in_review(place)) {
                continue;
            }
            let epic = &mut self.epics.epics[number];
            epic.aboard.iter_mut().for_each(|aboard| aboard.sent = true);
            let car = epic.aboard.iter().map(|aboard| aboard.place).collect();
            self.board(car);
        }
    }

    /// Work of an epic that does not fit, or fails its checks on the combined tree. The commit of its last task holds the
    /// work of all, so that task mends it; the others wait for it, as before they were sent off. A task that was opened
    /// again meanwhile goes on from that commit: then it is the last one, and what it leaves is tried first.
    pub(super) fn leave_epic_behind(&mut self, now: Now, car: &[usize], failure: &Failure) {
        let Some(&last) = car.last() else { return };
        let Some(round) = self.next_round(last, failure) else {
            return self.fail_epic(now, car, failure);
        };
        self.epics.take_back(car);
        let is_open =
            |member: &usize| !car.contains(member) && !self.run.progress(*member).state.status().is_end();
        if self.epics.members_with(last).iter().any(is_open) {
            return;
        }
        let Some(change) = self.unmerge(now, last, failure) else { return };
        let task = &self.run.plan().tasks[last];
        let Judgement { nature, why } = recovery::judge(task, failure);
        let words = format!("{why}; {}", landing::mending(round, task.fix_rounds));
        self.decide(now, last, nature, Strategy::Mend, &words);
        self.again_in_epic(now, last, Again::Mend(Box::new(Round { change, failure: failure.clone() })));
    }

    fn fail_epic(&mut self, now: Now, car: &[usize], failure: &Failure) {
        for &place in car {
            if self.unmerge(now, place, failure).is_none() {
                continue;
            }
            let task = self.graph.id(place as Node).clone();
            let reason = "its epic lands as one, or not at all";
            self.decide(now, place, Nature::Ambiguous, Strategy::Fail, reason);
            self.end(now, place, Event::TaskFailed { task, failure: failure.clone() });
        }
    }

    /// Its work is done once more. Those of its epic that were let go on by it wait for it again.
    pub(super) fn again_in_epic(&mut self, now: Now, place: usize, again: Again) {
        self.disembark(place);
        let task = self.graph.id(place as Node).clone();
        self.emit(now, Event::RetryScheduled { task, delay: Millis(0), again });
        self.rebuild(now);
    }

    /// Their work is kept, and landed by another try of the one that it waits for.
    fn withhold(&mut self, now: Now, aboard: &[usize], culprit: usize) {
        let what = match self.run.progress(culprit).state.status() {
            Status::Cancelled => "was cancelled",
            Status::Skipped => "was skipped",
            _ => "failed",
        };
        let culprit = self.graph.id(culprit as Node).clone();
        for &place in aboard {
            let task = self.graph.id(place as Node).clone();
            let message = format!("its epic does not land, for '{culprit}' {what}");
            self.decide(now, place, Nature::Permanent, Strategy::Fail, &message);
            let failure = Failure::new(FailureClass::HeldBack, message);
            self.end(now, place, Event::TaskFailed { task, failure });
        }
    }

    /// Those whose work waits for another task of their epic to be done.
    pub(super) fn withheld_with(&self, place: usize) -> Vec<usize> {
        let members = self.epics.members_with(place).iter().copied();
        members.filter(|&member| member != place && self.is_withheld(member)).collect()
    }

    pub(super) fn is_withheld(&self, place: usize) -> bool {
        let state = &self.run.progress(place).state;
        matches!(state, TaskState::Failed(failure) if failure.class == FailureClass::HeldBack)
    }

    /// How far a task's end reaches that may have been aboard before; it no longer is.
    pub(super) fn disembark(&mut self, place: usize) -> Through {
        let was_built_on = self.stacks.end(place as Node);
        let has_landed = self.run.progress(place).state.status() == Status::Completed;
        let through = match self.epics.is_aboard(place) || (was_built_on && has_landed) {
            true => Through::Late,
            false => Through::All,
        };
        self.epics.leave(place);
        through
    }

    pub(super) fn goes(&self, through: Through, from: Node, edge: &Edge) -> bool {
        match through {
            Through::All => true,
            Through::Early => self.is_early(from, edge),
            Through::Late => !self.is_early(from, edge),
        }
    }

    fn is_early(&self, from: Node, edge: &Edge) -> bool {
        match self.epics.of(from as usize) {
            None => self.may_build_on(edge),
            own => {
                edge.kind == Kind::Soft
                    || edge.when == When::Finished
                    || own == self.epics.of(edge.to as usize)
            }
        }
    }
}
