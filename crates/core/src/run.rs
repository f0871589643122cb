//! The state of a run: a fold over its events, and nothing but that.
//!
//! `Run::apply` is the only way it changes, live and on replay alike. It knows which transitions are legal, not which are
//! wise: deciding is the scheduler's.

pub mod costs;
mod decisions;
pub mod event;
mod figures;
pub mod measure;
mod races;
mod reading;
mod repeats;
mod sessions;
mod spans;
mod state;
mod step;
mod times;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use thiserror::Error;

use crate::plan::graph::Node;
use crate::plan::{Amendment, Plan, Priority, Task};
use crate::run::event::{AgentChoice, Capped, Event, ModelUsage, Options, Planning, Record, Usage};
use crate::values::ids::{Places, TaskId};
use crate::values::units::{Millis, Now, Tick, Timestamp};

use decisions::Recoveries;
pub use decisions::{Decided, Secured, recovery_words};
use races::Races;
pub use races::Verdict;
pub use repeats::Repeats;
pub use sessions::OpenSession;
use sessions::Sessions;
use spans::Spans;
pub use spans::{AgentUse, End, Span};
pub use state::{
    Batch, Foreseen, Intent, Issue, Landed, Landing, Outage, Progress, Running, SettingsTouched, Stage,
    Status, Stray, TaskState,
};
use step::step;
pub(crate) use step::subject;
pub use times::Times;

#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum IllegalEvent {
    #[error("event {seq} follows event {after}: the log has a gap")]
    Gap { seq: u64, after: u64 },
    #[error("event {0} comes before the run was created")]
    NotCreated(u64),
    #[error("event {0} creates a run that exists")]
    CreatedTwice(u64),
    #[error("event {seq} names task '{task}', which the plan does not have")]
    UnknownTask { seq: u64, task: TaskId },
    #[error("event {seq} ({event}) does not fit task '{task}', which is {status}")]
    Transition { seq: u64, event: &'static str, task: TaskId, status: Status },
}

/// What is known of models and caps beside the sums.
#[derive(Debug, Clone, PartialEq, Default)]
struct Costs {
    models: BTreeMap<Box<str>, Usage>,
    last: BTreeMap<Node, Box<str>>,
    /// Caps that were told to be near.
    neared: BTreeSet<(Option<Node>, Capped, u64)>,
    planning: Vec<Planning>,
    /// What attempts under way have used, by model.
    open: BTreeMap<Node, Vec<ModelUsage>>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Run {
    plan: Arc<Plan>,
    places: Places<Node>,
    options: Options,
    tasks: Vec<Progress>,
    counts: [u32; Status::ALL.len()],
    stage: Stage,
    paused: bool,
    /// Whose question it is paused for, where no person wanted it.
    paused_for: Option<TaskId>,
    /// The next start is of one that goes on where another left it on purpose.
    taken_over: bool,
    seq: u64,
    spent: Usage,
    attempts: u32,
    executors: u32,
    created: Timestamp,
    ended: Option<Timestamp>,
    tip: Option<String>,
    foreseen: Vec<Foreseen>,
    strays: Vec<Stray>,
    settings: Vec<SettingsTouched>,
    /// Stages of which it was looked up what blocks them, since the run was last taken up.
    examined: BTreeSet<u32>,
    /// Tasks that agents have added.
    follow_ups: BTreeSet<TaskId>,
    /// What a person said of tasks' urgency since, over what their plan says.
    priorities: BTreeMap<Node, Priority>,
    issues: Vec<Issue>,
    recoveries: Recoveries,
    parked: BTreeMap<String, Timestamp>,
    parked_since: BTreeMap<String, Timestamp>,
    outages: BTreeMap<String, Outage>,
    agent_choice: BTreeMap<Node, AgentChoice>,
    repeats: BTreeMap<Node, Repeats>,
    costs: Costs,
    times: Times,
    spans: Spans,
    sessions: Sessions,
    batches: Vec<Batch>,
    races: Races,
    /// Awake time of earlier coordinators, and of the present one.
    active_before: Millis,
    active_now: Tick,
}

impl Run {
    /// A run of this plan that has not started, and the record that says so.
    pub fn create(plan: Plan, now: Now) -> (Run, Record) {
        Run::create_with(plan, None, now)
    }

    /// As `create`, with what the run was asked for with: a later coordinator takes the run up with that.
    pub fn create_with(plan: Plan, options: Option<Options>, now: Now) -> (Run, Record) {
        let (plan, options) = (Arc::new(plan), options.map(Box::new));
        let run = Run::of(plan.clone(), options.as_deref(), now.at);
        let event = Event::RunCreated { plan, options };
        (run, Record { seq: 1, at: now.at, tick: now.tick, event })
    }

    /// The run as its log tells it.
    pub fn replay<'a>(records: impl IntoIterator<Item = &'a Record>) -> Result<Run, IllegalEvent> {
        let mut records = records.into_iter();
        let mut run = match records.next() {
            Some(Record { seq: 1, at, event: Event::RunCreated { plan, options }, .. }) => {
                Run::of(plan.clone(), options.as_deref(), *at)
            }
            Some(other) => return Err(IllegalEvent::NotCreated(other.seq)),
            None => return Err(IllegalEvent::NotCreated(0)),
        };
        records.try_for_each(|record| run.apply(record)).map(|()| run)
    }

    fn of(plan: Arc<Plan>, options: Option<&Options>, created: Timestamp) -> Run {
        let options = options.cloned().unwrap_or_else(|| Options::of_plan(&plan));
        let places: Places<Node> =
            plan.tasks.iter().enumerate().map(|(place, task)| (task.id.clone(), place as Node)).collect();
        let tasks = plan.tasks.iter().map(|_| Progress::new()).collect::<Vec<_>>();
        let mut counts = [0; Status::ALL.len()];
        let mut races = Races::new(&plan, |task| places.get(task).map(|&place| place as usize));
        let entrants = races.len() as u32;
        counts[Status::Pending as usize] = tasks.len() as u32 - entrants;
        races.counts()[Status::Pending as usize] = entrants;
        Run {
            races,
            plan,
            places,
            options,
            tasks,
            counts,
            stage: Stage::Created,
            paused: false,
            paused_for: None,
            taken_over: false,
            seq: 1,
            spent: Usage::default(),
            attempts: 0,
            executors: 0,
            created,
            ended: None,
            tip: None,
            foreseen: Vec::new(),
            strays: Vec::new(),
            settings: Vec::new(),
            examined: BTreeSet::new(),
            follow_ups: BTreeSet::new(),
            priorities: BTreeMap::new(),
            issues: Vec::new(),
            recoveries: Recoveries::default(),
            parked: BTreeMap::new(),
            parked_since: BTreeMap::new(),
            outages: BTreeMap::new(),
            agent_choice: BTreeMap::new(),
            repeats: BTreeMap::new(),
            costs: Costs::default(),
            times: Times::default(),
            spans: Spans::default(),
            sessions: Sessions::default(),
            batches: Vec::new(),
            active_before: Millis(0),
            active_now: Tick(0),
        }
    }

    pub fn apply(&mut self, record: &Record) -> Result<(), IllegalEvent> {
        self.apply_at(record, None)
    }

    /// As `apply`, for a caller that knows already which task an event is about.
    pub(crate) fn apply_at(&mut self, record: &Record, place: Option<usize>) -> Result<(), IllegalEvent> {
        if record.seq != self.seq + 1 {
            return Err(IllegalEvent::Gap { seq: record.seq, after: self.seq });
        }
        match &record.event {
            Event::RunCreated { .. } => return Err(IllegalEvent::CreatedTwice(record.seq)),
            Event::RunStarted { .. }
            | Event::RunHandedOver { .. }
            | Event::RunTakenOver { .. }
            | Event::RunPaused { .. }
            | Event::RunContinued {}
            | Event::ParallelChanged { .. }
            | Event::CapChanged { .. }
            | Event::DrainLifted {}
            | Event::RunDrained { .. }
            | Event::RunStopped { .. }
            | Event::RunFinished { .. }
            | Event::BatchStarted { .. }
            | Event::BatchCompleted { .. }
            | Event::BranchRolledBack { .. }
            | Event::ProviderParked { .. }
            | Event::BudgetNeared { .. }
            | Event::PlanningAccounted { .. }
            | Event::RecoveryDecided { .. }
            | Event::CheckpointMade { .. }
            | Event::StageExamined { .. }
            | Event::ConflictForeseen { .. }
            | Event::CheckoutTouched { .. }
            | Event::ExpertiseRetired { .. }
            | Event::GitSettingsTouched { .. } => self.apply_to_run(record),
            Event::PlanAmended { amendment, .. } => self.amend(record.seq, amendment)?,
            event => self.apply_to_task(record, event, place)?,
        }
        self.seq = record.seq;
        self.active_now = self.active_now.max(record.tick);
        Ok(())
    }

    fn examine(&mut self, stage: u32, blocked: &BTreeMap<TaskId, String>) {
        self.examined.insert(stage);
        let plan = Arc::make_mut(&mut self.plan);
        let Some(execution) = plan.execution.as_mut() else { return };
        let Some(found) = execution.stages.get(stage as usize) else { return };
        let mut members: BTreeSet<&TaskId> = found.tasks.iter().chain(found.steps()).collect();
        let races = |task: &&Task| task.entrant_of().is_some_and(|race| found.tasks.contains(race));
        members.extend(plan.tasks.iter().filter(races).map(|task| &task.id));
        execution.blocked.retain(|task, _| !members.contains(task));
        execution.blocked.extend(blocked.clone());
    }

    /// Whether it was looked up what blocks a stage, since the run was last taken up.
    pub(crate) fn is_examined(&self, stage: u32) -> bool {
        self.examined.contains(&stage)
    }

    /// Places stay what they are: tasks that join come last.
    fn amend(&mut self, seq: u64, amendment: &Amendment) -> Result<(), IllegalEvent> {
        for task in &amendment.tasks {
            let Some(place) = self.place(&task.id) else { continue };
            let progress = &self.tasks[place];
            if progress.begun || progress.state != TaskState::Pending {
                let (task, status) = (task.id.clone(), progress.state.status());
                return Err(IllegalEvent::Transition { seq, event: "plan_amended", task, status });
            }
            // The newer word counts.
            if task.priority != self.plan.tasks[place].priority {
                self.priorities.remove(&(place as Node));
            }
        }
        let plan = Arc::make_mut(&mut self.plan);
        plan.amend(amendment);
        let joined = self.tasks.len()..plan.tasks.len();
        for place in joined.clone() {
            self.places.insert(plan.tasks[place].id.clone(), place as Node);
            self.tasks.push(Progress::new());
        }
        self.join_races();
        for place in joined {
            self.tally(place)[Status::Pending as usize] += 1;
        }
        self.options.absent.extend(amendment.absent.iter().cloned());
        if amendment.by.is_some() {
            self.follow_ups.extend(amendment.tasks.iter().map(|task| task.id.clone()));
        }
        Ok(())
    }

    fn apply_to_run(&mut self, record: &Record) {
        match &record.event {
            Event::RunStarted { options } => self.apply_start(options, record),
            Event::RunTakenOver { .. } => self.taken_over = true,
            Event::RunPaused { by } => (self.paused, self.paused_for) = (true, by.clone()),
            Event::RunContinued {} => (self.paused, self.paused_for) = (false, None),
            Event::ParallelChanged { slots } => self.options.slots = *slots,
            Event::CapChanged { what, cap } => self.options.set_cap(*what, *cap),
            Event::DrainLifted {} => self.stage = Stage::Active,
            Event::RunDrained { why } => self.stage = Stage::Draining(*why),
            Event::RunStopped { why } => {
                self.stage = Stage::Stopped(*why);
                self.ended = Some(record.at);
            }
            Event::RunFinished { outcome } => {
                self.stage = Stage::Finished(*outcome);
                self.ended = Some(record.at);
            }
            Event::BatchStarted { number, tasks } => {
                self.batches.retain(|known| known.number != *number);
                let tasks = tasks.iter().filter_map(|task| self.places.get(task).copied()).collect();
                let (started, began) = (record.at, self.active());
                self.batches.push(Batch { number: *number, started, began, tasks, result: None });
            }
            Event::BatchCompleted { number, result } => {
                if let Some(known) = self.batches.iter_mut().find(|known| known.number == *number) {
                    known.result = Some(result.as_ref().clone());
                }
            }
            Event::ProviderParked { agent, until, outage } => {
                self.park(agent, *until, outage.is_some(), record.at);
            }
            Event::PlanningAccounted { planning } => self.account_planning(planning),
            Event::BudgetNeared { task, what, cap, .. } => {
                let node = task.as_ref().and_then(|task| self.places.get(task).copied());
                self.costs.neared.insert((node, *what, *cap));
            }
            event @ (Event::RecoveryDecided { .. } | Event::CheckpointMade { .. }) => {
                self.account_recovery(event);
            }
            Event::StageExamined { stage, blocked } => self.examine(*stage, blocked),
            Event::BranchRolledBack { to } => self.tip = Some(to.clone()),
            Event::ConflictForeseen { task, with, files } => {
                self.foreseen.retain(|known| (&known.task, &known.with) != (task, with));
                let (task, with, files) = (task.clone(), with.clone(), files.clone());
                self.foreseen.push(Foreseen { task, with, files });
            }
            Event::CheckoutTouched { tasks, what } => {
                self.strays.push(Stray { tasks: tasks.clone(), what: what.clone() });
            }
            Event::GitSettingsTouched { tasks, what, undo } => {
                let (tasks, what, undo) = (tasks.clone(), what.clone(), undo.clone());
                self.settings.push(SettingsTouched { tasks, what, undo });
            }
            _ => {}
        }
    }

    fn apply_start(&mut self, options: &Options, record: &Record) {
        self.active_before = self.active();
        self.active_now = record.tick;
        self.options = options.clone();
        let is_taken_over = std::mem::take(&mut self.taken_over);
        if !(is_taken_over && matches!(self.stage, Stage::Draining(_))) {
            self.stage = Stage::Active;
        }
        // What blocks a stage that has not begun may have changed meanwhile.
        self.examined.clear();
        self.ended = None;
        if !is_taken_over {
            // The user who takes it up again wants to know at once.
            (self.paused, self.paused_for) = (false, None);
            let outages = std::mem::take(&mut self.outages);
            self.parked.retain(|agent, _| !outages.contains_key(agent));
        }
        self.times.starts += 1;
        self.restart_landings(record.tick);
    }

    fn park(&mut self, agent: &str, until: Timestamp, is_outage: bool, at: Timestamp) {
        self.parked.insert(agent.to_owned(), until);
        self.parked_since.insert(agent.to_owned(), at);
        if is_outage {
            let known = self.outages.entry(agent.to_owned());
            known.or_insert(Outage { since: at, looks: 0 }).looks += 1;
        }
    }

    fn apply_to_task(
        &mut self,
        record: &Record,
        event: &Event,
        place: Option<usize>,
    ) -> Result<(), IllegalEvent> {
        let Some((task, name)) = subject(event) else { return Ok(()) };
        debug_assert!(place.is_none_or(|place| self.plan.tasks[place].id == *task));
        let place = place
            .or_else(|| self.place(task))
            .ok_or_else(|| IllegalEvent::UnknownTask { seq: record.seq, task: task.clone() })?;
        let before = self.tasks[place].state.status();
        let next = step(&self.tasks[place], event, record).ok_or_else(|| IllegalEvent::Transition {
            seq: record.seq,
            event: name,
            task: task.clone(),
            status: before,
        })?;
        let next = self.reopened(place, event).unwrap_or(next);
        self.account(place, event, record);
        self.account_time(place, event, record);
        self.account_course(place, event, record);
        self.number_session(place, event, record);
        self.account_repeats(place, event);
        self.account_race(place, event);
        if let Event::PriorityChanged { priority, .. } = event {
            self.priorities.insert(place as Node, *priority);
        }
        let progress = &mut self.tasks[place];
        progress.state = next;
        let after = progress.state.status();
        if after != Status::Running && !self.foreseen.is_empty() {
            self.foreseen.retain(|known| known.task != *task && known.with.as_ref() != Some(task));
        }
        progress.ended = after.is_end().then_some(record.at);
        let tally = self.tally(place);
        tally[before as usize] -= 1;
        tally[after as usize] += 1;
        Ok(())
    }
}
