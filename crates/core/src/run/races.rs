//! Tasks that others race for: who they are, and how it came out.

use std::collections::BTreeMap;

use super::{Landed, Progress, Run, Status, TaskState};
use crate::plan::graph::Node;
use crate::plan::{Plan, Wins};
use crate::run::event::{Event, Standing, Usage};
use crate::values::ids::TaskId;
use crate::values::units::Millis;

/// How a race came out.
#[derive(Debug, Clone, PartialEq)]
pub struct Verdict {
    pub winner: TaskId,
    pub why: String,
    /// All entrants, in the order of the file.
    pub standings: Vec<Standing>,
}

#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct Races {
    /// Of each entrant the task it races for.
    of: BTreeMap<Node, Node>,
    entrants: BTreeMap<Node, Vec<usize>>,
    verdicts: BTreeMap<Node, Verdict>,
    /// How many entrants there are of each status; they are not among the tasks that are counted.
    counts: [u32; Status::ALL.len()],
}

impl Races {
    pub(super) fn new(plan: &Plan, place: impl Fn(&TaskId) -> Option<usize>) -> Races {
        let mut races = Races::default();
        races.read(plan, place);
        races
    }

    fn read(&mut self, plan: &Plan, place: impl Fn(&TaskId) -> Option<usize>) {
        for (at, task) in plan.tasks.iter().enumerate() {
            if let Some(race) = task.race() {
                let entrants: Vec<usize> = race.entrants.iter().filter_map(&place).collect();
                self.of.extend(entrants.iter().map(|&entrant| (entrant as Node, at as Node)));
                self.entrants.insert(at as Node, entrants);
            }
        }
    }

    /// How many entrants there are.
    pub(super) fn len(&self) -> usize {
        self.of.len()
    }

    pub(super) fn counts(&mut self) -> &mut [u32; Status::ALL.len()] {
        &mut self.counts
    }
}

impl Run {
    /// The task that an entrant races for.
    pub fn raced_by(&self, place: usize) -> Option<usize> {
        self.races.of.get(&(place as Node)).map(|&race| race as usize)
    }

    /// The entrants that race for a task; most tasks have none.
    pub fn entrants(&self, place: usize) -> &[usize] {
        self.races.entrants.get(&(place as Node)).map(Vec::as_slice).unwrap_or_default()
    }

    pub fn is_raced(&self, place: usize) -> bool {
        self.races.entrants.contains_key(&(place as Node))
    }

    /// The tasks that others race for.
    pub fn races(&self) -> impl Iterator<Item = usize> {
        self.races.entrants.keys().map(|&race| race as usize)
    }

    pub fn verdict(&self, place: usize) -> Option<&Verdict> {
        self.races.verdicts.get(&(place as Node))
    }

    /// All entrants that race for the same task, itself among them.
    pub(crate) fn rivals(&self, place: usize) -> Vec<usize> {
        self.raced_by(place).map_or_else(|| vec![place], |race| self.entrants(race).to_vec())
    }

    /// The entrant whose work landed.
    pub fn winner(&self, place: usize) -> Option<usize> {
        let won = |entrant: &usize| self.tasks[*entrant].state == TaskState::Completed;
        self.entrants(place).iter().copied().find(won)
    }

    /// Which place did a task: its own, or the entrant that won; where none has won, the one that ended last.
    pub fn doer(&self, place: usize) -> usize {
        let begun = |entrant: &&usize| self.tasks[**entrant].last_attempt > 0;
        let last = || self.entrants(place).iter().filter(begun).max_by_key(|at| self.tasks[**at].ended);
        self.winner(place).or_else(|| last().copied()).unwrap_or(place)
    }

    /// How long a task took. The time of entrants counts for the task they race for, not for themselves.
    pub fn took(&self, place: usize) -> Millis {
        let worked = |place: &usize| self.tasks[*place].worked;
        match (self.is_raced(place), self.raced_by(place).is_some()) {
            (true, _) if self.wins(place) == Wins::Best => {
                self.entrants(place).iter().map(worked).max().unwrap_or_default()
            }
            (true, _) => worked(&self.doer(place)),
            (false, true) => Millis(0),
            (false, false) => worked(&place),
        }
    }

    pub(crate) fn wins(&self, race: usize) -> Wins {
        self.plan.tasks[race].race().map_or_else(Wins::default, |race| race.wins)
    }

    /// What a task has used, its entrants included.
    pub fn usage(&self, place: usize) -> Usage {
        self.entrants(place).iter().fold(self.tasks[place].usage, |mut sum, &entrant| {
            sum += self.tasks[entrant].usage;
            sum
        })
    }

    /// The tasks that were asked for, with their places: without those who race for one of them.
    pub fn asked(&self) -> impl Iterator<Item = (usize, &crate::plan::Task, &Progress)> + Clone {
        let all = self.tasks().enumerate().map(|(place, (task, progress))| (place, task, progress));
        all.filter(|(_, task, _)| !task.is_entrant())
    }

    /// How many tasks were asked for.
    pub fn total(&self) -> u32 {
        (self.tasks.len() - self.races.of.len()) as u32
    }

    /// How many attempts, merges among them, are not over.
    pub(crate) fn under_way(&self) -> usize {
        let racing = |race: &Node| self.tasks[*race as usize].state == TaskState::Racing;
        let racing = self.races.entrants.keys().filter(|race| racing(race)).count();
        (self.count(Status::Running) + self.races.counts[Status::Running as usize]) as usize - racing
    }

    pub(super) fn entrants_ended(&self) -> u32 {
        Status::ALL.into_iter().filter(|s| s.is_end()).map(|s| self.races.counts[s as usize]).sum()
    }

    pub(super) fn join_races(&mut self) {
        let mut races = std::mem::take(&mut self.races);
        races.read(&self.plan, |task| self.place(task));
        self.races = races;
    }

    /// Looks at the task as it was before the event.
    pub(super) fn account_race(&mut self, place: usize, event: &Event) {
        match event {
            Event::AttemptStarted { .. } => {
                let Some(race) = self.raced_by(place) else { return };
                if self.tasks[race].state == TaskState::Pending {
                    self.tasks[race].state = TaskState::Racing;
                    self.counts[Status::Pending as usize] -= 1;
                    self.counts[Status::Running as usize] += 1;
                }
            }
            Event::RaceDecided { winner, why, standings, .. } => {
                let verdict =
                    Verdict { winner: winner.clone(), why: why.clone(), standings: standings.clone() };
                self.races.verdicts.insert(place as Node, verdict);
            }
            Event::TaskReopened { .. } => {
                self.races.verdicts.remove(&(place as Node));
            }
            _ => {}
        }
    }

    /// A race that is reopened goes on where an entrant is still at work.
    pub(super) fn reopened(&self, place: usize, event: &Event) -> Option<TaskState> {
        let at_work = |at: &usize| self.tasks[*at].state.status() == Status::Running;
        let goes_on = matches!(event, Event::TaskReopened { .. }) && self.entrants(place).iter().any(at_work);
        goes_on.then_some(TaskState::Racing)
    }

    /// What the winner of a task brought onto the branch.
    pub(super) fn landed_by_winner(&self, place: usize) -> Option<Box<Landed>> {
        self.winner(place).and_then(|winner| self.tasks[winner].landed.clone())
    }

    /// How many have not ended, those who race among them.
    pub(crate) fn unended(&self) -> usize {
        let open = |counts: &[u32; Status::ALL.len()]| {
            let open = Status::ALL.into_iter().filter(|status| !status.is_end());
            open.map(|status| counts[status as usize]).sum::<u32>()
        };
        (open(&self.counts) + open(&self.races.counts)) as usize
    }

    /// Where a task's state is counted.
    pub(super) fn tally(&mut self, place: usize) -> &mut [u32; Status::ALL.len()] {
        match self.races.of.contains_key(&(place as Node)) {
            true => self.races.counts(),
            false => &mut self.counts,
        }
    }
}
