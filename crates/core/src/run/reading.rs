//! What can be asked of a run.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::Decided;
use super::{
    Batch, Foreseen, Issue, Outage, Progress, Repeats, Run, SettingsTouched, Stage, Status, Stray, TaskState,
    Times,
};
use crate::plan::graph::Node;
use crate::plan::recovery::Strategy;
use crate::plan::{Plan, Priority, Task};
use crate::run::event::{
    AgentChoice, Capped, Event, ModelUsage, Options, Planning, Record, RunOutcome, Usage,
};
use crate::run::step::subject;
use crate::values::ids::{Places, TaskId};
use crate::values::units::{Millis, Tick, Timestamp};

impl Run {
    pub fn plan(&self) -> &Arc<Plan> {
        &self.plan
    }

    pub fn options(&self) -> &Options {
        &self.options
    }

    pub fn stage(&self) -> Stage {
        self.stage
    }

    pub fn is_paused(&self) -> bool {
        self.paused
    }

    /// The number of the last event applied.
    pub fn seq(&self) -> u64 {
        self.seq
    }

    pub fn place(&self, task: &TaskId) -> Option<usize> {
        self.places.get(task).map(|&place| place as usize)
    }

    pub(crate) fn places(&self) -> &Places<Node> {
        &self.places
    }

    pub fn task(&self, place: usize) -> (&Task, &Progress) {
        (&self.plan.tasks[place], &self.tasks[place])
    }

    pub fn progress(&self, place: usize) -> &Progress {
        &self.tasks[place]
    }

    pub fn tasks(&self) -> impl Iterator<Item = (&Task, &Progress)> + Clone {
        self.plan.tasks.iter().zip(&self.tasks)
    }

    /// Which tasks look different after these records: none where it may be all of them. A task that others race for
    /// changes with them.
    pub fn touched_by<'a>(&self, records: impl IntoIterator<Item = &'a Record>) -> Option<BTreeSet<usize>> {
        let mut places = BTreeSet::new();
        for record in records {
            match &record.event {
                Event::RunCreated { .. }
                | Event::RunStarted { .. }
                | Event::RunStopped { .. }
                | Event::PlanAmended { .. }
                | Event::BranchRolledBack { .. } => return None,
                event => {
                    let Some(place) = subject(event).and_then(|(task, _)| self.place(task)) else { continue };
                    places.insert(place);
                    places.extend(self.raced_by(place));
                }
            }
        }
        Some(places)
    }

    pub fn count(&self, status: Status) -> u32 {
        self.counts[status as usize]
    }

    /// How many of the tasks that were asked for have come to an end, whichever.
    pub fn ended_count(&self) -> u32 {
        Status::ALL.into_iter().filter(|status| status.is_end()).map(|status| self.count(status)).sum()
    }

    pub fn all_ended(&self) -> bool {
        (self.ended_count() + self.entrants_ended()) as usize == self.tasks.len()
    }

    /// Whether a run is complete without this one.
    pub fn is_dispensable(&self, place: usize) -> bool {
        let execution = self.plan.execution.as_ref();
        execution.is_some_and(|execution| execution.is_dispensable(&self.plan.tasks[place].id))
    }

    /// Whether everything has been done that is to be done.
    pub fn is_all_good(&self) -> bool {
        let good = |(place, _, progress): (usize, &Task, &Progress)| {
            progress.state == TaskState::Completed || self.is_dispensable(place)
        };
        self.count(Status::Completed) == self.total()
            || self.plan.execution.is_some() && self.asked().all(good)
    }

    /// What a run of which every task has ended came to. What was skipped by hand or for what was cancelled is no
    /// failure; what recovery gave up, or what is blocked, is.
    pub fn outcome(&self) -> RunOutcome {
        let given_up = |task: &TaskId| {
            let skips = |decided: &Decided| decided.strategy == Strategy::Skip && decided.task == *task;
            self.plan.blocked(task).is_some() || self.decisions().iter().any(skips)
        };
        let by_hand = |(place, task, progress): (usize, &Task, &Progress)| match &progress.state {
            TaskState::Failed(_) => self.is_dispensable(place),
            TaskState::Skipped { culprit } => {
                self.is_dispensable(place) || !given_up(culprit.as_ref().unwrap_or(&task.id))
            }
            _ => true,
        };
        match self.is_all_good() {
            true => RunOutcome::Completed,
            false if self.count(Status::Cancelled) > 0 && self.asked().all(by_hand) => RunOutcome::Cancelled,
            false => RunOutcome::Failed,
        }
    }

    pub fn spent(&self) -> Usage {
        self.spent
    }

    /// Attempts of all tasks that were not interrupted.
    pub fn attempts(&self) -> u32 {
        self.attempts
    }

    /// How many workers it has had use for at once.
    pub fn executors(&self) -> u32 {
        self.executors
    }

    pub fn created(&self) -> Timestamp {
        self.created
    }

    pub fn ended(&self) -> Option<Timestamp> {
        self.ended
    }

    /// Where the run's branch was put last, if anything has landed.
    pub fn tip(&self) -> Option<&str> {
        self.tip.as_deref()
    }

    /// Conflicts ahead among the tasks at work.
    pub fn foreseen(&self) -> &[Foreseen] {
        &self.foreseen
    }

    pub fn strays(&self) -> &[Stray] {
        &self.strays
    }

    /// Changes of what the user's git is configured by.
    pub fn settings(&self) -> &[SettingsTouched] {
        &self.settings
    }

    /// The tasks that agents have added.
    pub fn follow_ups(&self) -> &BTreeSet<TaskId> {
        &self.follow_ups
    }

    /// What agents found that the user should look at.
    pub fn issues(&self) -> &[Issue] {
        &self.issues
    }

    /// How urgent a task is: as a person said last, else as its plan says.
    pub fn priority(&self, place: usize) -> Priority {
        let planned = self.plan.tasks[place].priority;
        self.priorities.get(&(place as Node)).copied().unwrap_or(planned)
    }

    /// How a task came to be done more than once, if it did.
    pub fn repeats(&self, place: usize) -> Option<&Repeats> {
        self.repeats.get(&(place as Node))
    }

    /// The agent and model of its last attempt; nothing for a command.
    pub fn agent_choice(&self, place: usize) -> Option<&AgentChoice> {
        self.agent_choice.get(&(place as Node))
    }

    /// The model that was last heard of at work on it.
    pub fn model(&self, place: usize) -> Option<&str> {
        self.costs.last.get(&(place as Node)).map(|model| &**model)
    }

    /// What was used of each model that a usage report named.
    pub fn models(&self) -> &BTreeMap<Box<str>, Usage> {
        &self.costs.models
    }

    /// What its attempt that is under way has used so far, by model.
    pub fn used_in_attempt(&self, place: usize) -> &[ModelUsage] {
        self.costs.open.get(&(place as Node)).map_or(&[], Vec::as_slice)
    }

    /// What making its plan has used; part of what is spent, and of no task.
    /// Those that have begun, with `--strategy batch`.
    pub fn batches(&self) -> &[Batch] {
        &self.batches
    }

    pub fn planning(&self) -> &[Planning] {
        &self.costs.planning
    }

    pub fn times(&self) -> &Times {
        &self.times
    }

    /// Whether it was told that this cap is near, of a task or of the run.
    pub fn is_neared(&self, place: Option<usize>, what: Capped, cap: u64) -> bool {
        self.costs.neared.contains(&(place.map(|place| place as Node), what, cap))
    }

    /// Agents whose providers took nothing from us until then and have not been heard of since.
    /// For how long an agent was parked when that was decided.
    pub fn parked_for(&self, agent: &str) -> Millis {
        match (self.parked.get(agent), self.parked_since.get(agent)) {
            (Some(until), Some(since)) => *until - *since,
            _ => Millis(0),
        }
    }

    /// The outage of an agent's provider, for as long as that has not answered.
    pub fn outage(&self, agent: &str) -> Option<Outage> {
        self.outages.get(agent).copied()
    }

    pub fn parked(&self) -> &BTreeMap<String, Timestamp> {
        &self.parked
    }

    /// How long coordinators have worked on it, time between them not counted.
    pub fn active(&self) -> Millis {
        self.active_before + (self.active_now - Tick(0))
    }

    /// As `active`, for a caller that knows that the run's coordinator has been awake until now.
    pub fn active_until(&self, tick: Tick) -> Millis {
        self.active_before + (self.active_now.max(tick) - Tick(0))
    }
}
