//! A run's log is read into a tally, record by record.

use std::collections::HashMap;

use super::{COMMAND, NONE, TASK_BOUNDS, Tally, Took, UNKNOWN, add, retry_reason};
use crate::plan::{Task, Work};
use crate::run::Status;
use crate::run::event::{AgentChoice, Event, FailureClass, ModelUsage, Outcome, Processes, Record, Usage};
use crate::values::ids::TaskId;
use crate::values::units::{Millis, Tick};

/// A tally, and what has to be remembered of a run that is still read.
#[derive(Debug, Clone, Default)]
pub struct Counting {
    tally: Tally,
    tasks: HashMap<TaskId, Known>,
    /// Awake time of earlier coordinators, and of the present one.
    active_before: Millis,
    active_now: Tick,
}

#[derive(Debug, Clone, Default)]
struct Known {
    /// Who does it by the plan; nothing for a command.
    planned: Option<Box<str>>,
    /// The task that it races for.
    race: Option<TaskId>,
    /// Its first start since it was last opened, and who is at it.
    begun: Option<(Millis, Box<str>)>,
    /// What its attempt under way has used.
    open: Vec<ModelUsage>,
}

impl Counting {
    pub fn tally(&self) -> &Tally {
        &self.tally
    }

    pub fn into_tally(self) -> Tally {
        self.tally
    }

    /// The next record of the log.
    pub fn count(&mut self, record: &Record) {
        if let Event::RunStarted { .. } = record.event {
            (self.active_before, self.active_now) = (self.now(), Tick(0));
        }
        self.active_now = self.active_now.max(record.tick);
        match &record.event {
            Event::RunCreated { plan, .. } => self.learn(&plan.tasks),
            Event::PlanAmended { amendment, .. } => self.learn(&amendment.tasks),
            Event::PlanningAccounted { planning } => self.settle(&planning.usage),
            Event::AttemptStarted { task, choice, .. } => self.begin(task, choice.as_deref()),
            Event::UsageReported { task, usage, model, taken_back, .. } => {
                self.report(task, model.as_deref(), (*usage, *taken_back));
            }
            Event::AttemptEnded { task, outcome, phases, .. } => {
                if let Some(processes) = phases.and_then(|phases| phases.processes) {
                    self.measured(task, processes);
                }
                let open = self.tasks.get_mut(task).map(|known| std::mem::take(&mut known.open));
                self.settle(&open.unwrap_or_default());
                if let Outcome::Failed(failure) = outcome {
                    self.fail(failure.class);
                }
            }
            Event::MergeFailed { failure, .. } => self.fail(failure.class),
            Event::RetryScheduled { again, .. } => add(&mut self.tally.retries, retry_reason(again), 1),
            Event::RaceDecided { task, winner, .. } => self.decide(task, winner),
            Event::TaskCompleted { task, .. } => self.end(task, Status::Completed),
            Event::TaskFailed { task, .. } => self.end(task, Status::Failed),
            Event::TaskSkipped { task, .. } => self.end(task, Status::Skipped),
            Event::TaskCancelled { task } => self.end(task, Status::Cancelled),
            // It had ended before, and a person's work is not its own.
            Event::TaskResolved { task, .. } => {
                if let Some(agent) = self.agent(task) {
                    self.ended(Status::Completed, &agent, 1);
                }
            }
            Event::TaskReopened { task } => {
                if let Some(known) = self.tasks.get_mut(task) {
                    known.begun = None;
                }
            }
            _ => {}
        }
    }

    /// As `Run::active`.
    fn now(&self) -> Millis {
        self.active_before + (self.active_now - Tick(0))
    }

    fn learn(&mut self, tasks: &[Task]) {
        for task in tasks {
            let known = self.tasks.entry(task.id.clone()).or_default();
            known.planned = matches!(task.work, Work::Prompt(_)).then(|| task.agent_name().into());
            known.race = task.entrant_of().cloned();
        }
    }

    /// Those who race for a task begin it.
    fn begin(&mut self, task: &TaskId, choice: Option<&AgentChoice>) {
        let now = self.now();
        let Some(known) = self.tasks.get_mut(task) else { return };
        let chosen = choice.map(|choice| choice.agent.as_str());
        let agent: Box<str> = chosen.or(known.planned.as_deref()).unwrap_or(COMMAND).into();
        let race = known.race.clone();
        for task in std::iter::once(task).chain(&race) {
            if let Some(known) = self.tasks.get_mut(task) {
                let since = known.begun.take().map_or(now, |(since, _)| since);
                known.begun = Some((since, agent.clone()));
            }
        }
        // A counter whose first value is not 0 has a rate of nothing.
        for state in [Status::Completed, Status::Failed] {
            self.ended(state, &agent, 0);
            self.tally.durations.entry(state.name().to_owned()).or_default();
        }
    }

    fn report(&mut self, task: &TaskId, model: Option<&str>, (usage, taken_back): (Usage, Usage)) {
        let Some(known) = self.tasks.get_mut(task) else { return };
        match known.open.iter_mut().find(|one| one.model.as_deref() == model) {
            Some(one) => one.usage.report(usage, taken_back),
            None => {
                known.open.push(ModelUsage { model: model.map(Box::from), usage: usage.less(taken_back) })
            }
        }
        self.tally.used.entry(model.unwrap_or(UNKNOWN).to_owned()).or_default();
    }

    fn settle(&mut self, used: &[ModelUsage]) {
        for ModelUsage { model, usage } in used {
            let model = model.as_deref().unwrap_or(UNKNOWN);
            *self.tally.used.entry(model.to_owned()).or_default() += (*usage).into();
        }
    }

    /// Those who race count by themselves here: each of them took what it took.
    fn measured(&mut self, task: &TaskId, processes: Processes) {
        let begun = self.tasks.get(task).and_then(|known| known.begun.as_ref());
        let agent = begun.map_or(NONE, |(_, agent)| agent);
        *self.tally.took.entry(agent.to_owned()).or_default() += &Took::from(processes);
    }

    fn fail(&mut self, class: FailureClass) {
        if class == FailureClass::Conflict {
            self.tally.conflicts = self.tally.conflicts.saturating_add(1);
        }
    }

    /// A race was done by its winner.
    fn decide(&mut self, task: &TaskId, winner: &TaskId) {
        let agent = self.tasks.get(winner).and_then(|known| Some(known.begun.as_ref()?.1.clone()));
        if let (Some(agent), Some(known)) = (agent, self.tasks.get_mut(task))
            && let Some((_, by)) = &mut known.begun
        {
            *by = agent;
        }
    }

    fn end(&mut self, task: &TaskId, state: Status) {
        let Some(agent) = self.agent(task) else { return };
        self.ended(state, &agent, 1);
        let begun = self.tasks.get(task).and_then(|known| known.begun.as_ref());
        if let Some((since, _)) = begun {
            let took = self.now().0.saturating_sub(since.0).saturating_mul(1_000);
            self.tally.durations.entry(state.name().to_owned()).or_default().observe(took, &TASK_BOUNDS);
        }
    }

    /// Whose task it is; nothing for those who race, which are not counted beside the task they race for.
    fn agent(&self, task: &TaskId) -> Option<Box<str>> {
        let known = self.tasks.get(task).filter(|known| known.race.is_none())?;
        Some(known.begun.as_ref().map_or(NONE.into(), |(_, agent)| agent.clone()))
    }

    fn ended(&mut self, state: Status, agent: &str, count: u64) {
        add(self.tally.tasks.entry(state.name().to_owned()).or_default(), agent, count);
    }
}
