//! The state of a run: a fold over its events, and nothing but that.
//!
//! `Run::apply` is the only way it changes, live and on replay alike. It knows which transitions are legal, not which are
//! wise: deciding is the scheduler's.

mod decisions;
mod races;
mod repeats;
mod spans;
mod step;
mod times;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use thiserror::Error;

use crate::event::{
    Again, Capped, Change, DrainReason, Event, Failure, Gate, Hand, Options, Outcome, Planning, Process,
    Question, Record, Report, Reviewed, RunOutcome, Severity, StopReason, Touched, Usage,
};
use crate::graph::Node;
use crate::ids::{Attempt, Places, TaskId};
use crate::measure::Measured;
use crate::plan::{Amendment, Plan, Task};
use crate::units::{Millis, Now, Tick, Timestamp};

use decisions::Recoveries;
pub use decisions::Secured;
use races::Races;
pub use races::Verdict;
pub use repeats::Repeats;
use spans::Spans;
pub use spans::{AgentUse, End, Span};
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

#[derive(Debug, Clone, PartialEq)]
pub enum TaskState {
    Pending,
    Running(Running),
    /// Those who race for it have begun.
    Racing,
    Waiting {
        delay: Millis,
        since: Timestamp,
    },
    /// For a person's answer.
    Asking {
        question: Box<Question>,
        since: Timestamp,
    },
    Completed,
    Failed(Failure),
    Skipped {
        culprit: Option<TaskId>,
    },
    Cancelled,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Running {
    pub attempt: Attempt,
    pub executor: u32,
    pub since: Tick,
    pub process: Option<Process>,
    pub stopping: Option<StopReason>,
    /// Set once the attempt has ended and only the task's own end is outstanding.
    pub ended: bool,
    /// What is being merged after a good end, and whether the branch may have been moved for it already.
    pub landing: Option<Box<Landing>>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Landing {
    pub change: Change,
    pub intent: Option<Intent>,
    /// The number of the event by which it began: who ended first lands first.
    pub since: u64,
    /// When that was, in the present coordinator's time; its beginning where an earlier one saw it.
    pub tick: Tick,
}

/// A move of the branch that may have been made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Intent {
    pub from: String,
    /// The commit that holds the task's work.
    pub to: String,
    /// Where the branch ends up, with all that land together.
    pub last: String,
}

/// Work that is on the run's branch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Landed {
    pub commit: String,
    /// The commit it was before it was merged, squashed or rebased.
    pub work: String,
    pub touched: Touched,
    pub gate: Option<Gate>,
    pub reviewed: Option<Box<Reviewed>>,
    pub measured: Option<Box<Measured>>,
}

impl Landed {
    /// A change by the commit that holds it on the branch.
    pub fn of(commit: String, change: Change) -> Landed {
        let Change { base: _, commit: work, touched, gate, reviewed, measured } = change;
        Landed { commit, work, touched, gate, reviewed, measured }
    }
}

/// A conflict that has not cost anything yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Foreseen {
    pub task: TaskId,
    pub with: Option<TaskId>,
    pub files: Vec<String>,
}

/// A change of the user's checkout or branches that was not ours, and who was at work.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stray {
    pub tasks: Vec<TaskId>,
    pub what: Vec<String>,
}

/// What an agent found beside its task.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Issue {
    pub task: TaskId,
    pub severity: Severity,
    pub words: String,
}

/// A task's state as people and exports name it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Status {
    Pending,
    Running,
    Waiting,
    Completed,
    Failed,
    Skipped,
    Cancelled,
}

impl Status {
    pub const ALL: [Status; 7] = [
        Status::Pending,
        Status::Running,
        Status::Waiting,
        Status::Completed,
        Status::Failed,
        Status::Skipped,
        Status::Cancelled,
    ];

    pub fn name(self) -> &'static str {
        match self {
            Status::Pending => "pending",
            Status::Running => "running",
            Status::Waiting => "waiting",
            Status::Completed => "completed",
            Status::Failed => "failed",
            Status::Skipped => "skipped",
            Status::Cancelled => "cancelled",
        }
    }

    pub fn is_end(self) -> bool {
        matches!(self, Status::Completed | Status::Failed | Status::Skipped | Status::Cancelled)
    }
}

impl std::fmt::Display for Status {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(self.name())
    }
}

impl TaskState {
    pub fn status(&self) -> Status {
        match self {
            TaskState::Pending => Status::Pending,
            TaskState::Running(_) | TaskState::Racing => Status::Running,
            TaskState::Waiting { .. } | TaskState::Asking { .. } => Status::Waiting,
            TaskState::Completed => Status::Completed,
            TaskState::Failed(_) => Status::Failed,
            TaskState::Skipped { .. } => Status::Skipped,
            TaskState::Cancelled => Status::Cancelled,
        }
    }
}

/// What has become of one task so far.
#[derive(Debug, Clone, PartialEq)]
pub struct Progress {
    pub state: TaskState,
    /// The newest attempt's number, 0 before the first.
    pub last_attempt: u32,
    /// Tries since it was last opened that ended by their own doing.
    pub tried: u32,
    pub interruptions: u32,
    pub usage: Usage,
    /// Time its attempts have run, all together.
    pub worked: Millis,
    pub executor: Option<u32>,
    /// What it brought onto the run's branch.
    pub landed: Option<Box<Landed>>,
    pub first_started: Option<Timestamp>,
    pub ended: Option<Timestamp>,
}

impl Progress {
    fn new() -> Progress {
        Progress {
            state: TaskState::Pending,
            last_attempt: 0,
            tried: 0,
            interruptions: 0,
            usage: Usage::default(),
            worked: Millis(0),
            executor: None,
            landed: None,
            first_started: None,
            ended: None,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stage {
    Created,
    Active,
    Draining(DrainReason),
    Stopped(DrainReason),
    Finished(RunOutcome),
}

/// What is known of models and caps beside the sums.
#[derive(Debug, Clone, PartialEq, Default)]
struct Costs {
    models: BTreeMap<Box<str>, Usage>,
    last: BTreeMap<Node, Box<str>>,
    /// Caps that were told to be near.
    neared: BTreeSet<(Option<Node>, Capped, u64)>,
    planning: Vec<Planning>,
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
    seq: u64,
    spent: Usage,
    attempts: u32,
    executors: u32,
    created: Timestamp,
    ended: Option<Timestamp>,
    tip: Option<String>,
    foreseen: Vec<Foreseen>,
    strays: Vec<Stray>,
    /// Tasks that agents have added.
    follow_ups: BTreeSet<TaskId>,
    issues: Vec<Issue>,
    recoveries: Recoveries,
    parked: BTreeMap<String, Timestamp>,
    hands: BTreeMap<Node, Hand>,
    repeats: BTreeMap<Node, Repeats>,
    costs: Costs,
    times: Times,
    spans: Spans,
    races: Races,
    /// Awake time of earlier coordinators, and of the present one.
    active_before: Millis,
    active_now: Tick,
}

impl Run {
    /// A run of this plan that has not started, and the record that says so.
    pub fn create(plan: Plan, now: Now) -> (Run, Record) {
        let plan = Arc::new(plan);
        let event = Event::RunCreated { plan: plan.clone() };
        let record = Record { seq: 1, at: now.at, tick: now.tick, event };
        (Run::of(plan, now.at), record)
    }

    /// The run as its log tells it.
    pub fn replay<'a>(records: impl IntoIterator<Item = &'a Record>) -> Result<Run, IllegalEvent> {
        let mut records = records.into_iter();
        let mut run = match records.next() {
            Some(Record { seq: 1, at, event: Event::RunCreated { plan }, .. }) => Run::of(plan.clone(), *at),
            Some(other) => return Err(IllegalEvent::NotCreated(other.seq)),
            None => return Err(IllegalEvent::NotCreated(0)),
        };
        records.try_for_each(|record| run.apply(record)).map(|()| run)
    }

    fn of(plan: Arc<Plan>, created: Timestamp) -> Run {
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
            options: Options::with_slots(1),
            tasks,
            counts,
            stage: Stage::Created,
            paused: false,
            paused_for: None,
            seq: 1,
            spent: Usage::default(),
            attempts: 0,
            executors: 0,
            created,
            ended: None,
            tip: None,
            foreseen: Vec::new(),
            strays: Vec::new(),
            follow_ups: BTreeSet::new(),
            issues: Vec::new(),
            recoveries: Recoveries::default(),
            parked: BTreeMap::new(),
            hands: BTreeMap::new(),
            repeats: BTreeMap::new(),
            costs: Costs::default(),
            times: Times::default(),
            spans: Spans::default(),
            active_before: Millis(0),
            active_now: Tick(0),
        }
    }

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

    /// The tasks that agents have added.
    pub fn follow_ups(&self) -> &BTreeSet<TaskId> {
        &self.follow_ups
    }

    /// What agents found that somebody should look at.
    pub fn issues(&self) -> &[Issue] {
        &self.issues
    }

    /// How a task came to be done more than once, if it did.
    pub fn repeats(&self, place: usize) -> Option<&Repeats> {
        self.repeats.get(&(place as Node))
    }

    /// Who was engaged for it last; nobody for a command.
    pub fn hand(&self, place: usize) -> Option<&Hand> {
        self.hands.get(&(place as Node))
    }

    /// The model that was last heard of at work on it.
    pub fn model(&self, place: usize) -> Option<&str> {
        self.costs.last.get(&(place as Node)).map(|model| &**model)
    }

    /// What was used of each model that somebody named.
    pub fn models(&self) -> &BTreeMap<Box<str>, Usage> {
        &self.costs.models
    }

    /// What making its plan has used; part of what is spent, and of no task.
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
    pub fn parked(&self) -> &BTreeMap<String, Timestamp> {
        &self.parked
    }

    /// How long coordinators have worked on it, time between them not counted.
    pub fn active(&self) -> Millis {
        self.active_before + (self.active_now - Tick(0))
    }

    /// As `active`, for whoever knows that its coordinator has been awake until now.
    pub fn active_until(&self, tick: Tick) -> Millis {
        self.active_before + (self.active_now.max(tick) - Tick(0))
    }

    pub fn apply(&mut self, record: &Record) -> Result<(), IllegalEvent> {
        self.apply_at(record, None)
    }

    /// As `apply`, for whoever knows already which task an event is about.
    pub(crate) fn apply_at(&mut self, record: &Record, place: Option<usize>) -> Result<(), IllegalEvent> {
        if record.seq != self.seq + 1 {
            return Err(IllegalEvent::Gap { seq: record.seq, after: self.seq });
        }
        match &record.event {
            Event::RunCreated { .. } => return Err(IllegalEvent::CreatedTwice(record.seq)),
            Event::RunStarted { .. }
            | Event::RunPaused { .. }
            | Event::RunContinued {}
            | Event::ParallelChanged { .. }
            | Event::RunDrained { .. }
            | Event::RunStopped { .. }
            | Event::RunFinished { .. }
            | Event::BranchRolledBack { .. }
            | Event::ProviderParked { .. }
            | Event::BudgetNeared { .. }
            | Event::PlanningAccounted { .. }
            | Event::RecoveryDecided { .. }
            | Event::CheckpointMade { .. }
            | Event::ConflictForeseen { .. }
            | Event::CheckoutTouched { .. } => self.apply_to_run(record),
            Event::PlanAmended { amendment, .. } => self.amend(record.seq, amendment)?,
            event => self.apply_to_task(record, event, place)?,
        }
        self.seq = record.seq;
        self.active_now = self.active_now.max(record.tick);
        Ok(())
    }

    /// Places stay what they are: whoever joins comes last.
    fn amend(&mut self, seq: u64, amendment: &Amendment) -> Result<(), IllegalEvent> {
        for task in &amendment.tasks {
            let Some(place) = self.place(&task.id) else { continue };
            let progress = &self.tasks[place];
            if progress.last_attempt > 0 || progress.state != TaskState::Pending {
                let (task, status) = (task.id.clone(), progress.state.status());
                return Err(IllegalEvent::Transition { seq, event: "plan_amended", task, status });
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
            Event::RunStarted { options } => {
                self.active_before = self.active();
                self.active_now = record.tick;
                self.options = options.as_ref().clone();
                self.stage = Stage::Active;
                (self.paused, self.paused_for) = (false, None);
                self.ended = None;
                self.times.starts += 1;
                self.restart_landings(record.tick);
            }
            Event::RunPaused { by } => (self.paused, self.paused_for) = (true, by.clone()),
            Event::RunContinued {} => (self.paused, self.paused_for) = (false, None),
            Event::ParallelChanged { slots } => self.options.slots = *slots,
            Event::RunDrained { why } => self.stage = Stage::Draining(*why),
            Event::RunStopped { why } => {
                self.stage = Stage::Stopped(*why);
                self.ended = Some(record.at);
            }
            Event::RunFinished { outcome } => {
                self.stage = Stage::Finished(*outcome);
                self.ended = Some(record.at);
            }
            Event::ProviderParked { agent, until } => {
                self.parked.insert(agent.clone(), *until);
            }
            Event::PlanningAccounted { planning } => {
                for used in &planning.usage {
                    self.spent += used.usage;
                    if let Some(model) = &used.model {
                        *self.costs.models.entry(model.clone()).or_default() += used.usage;
                    }
                }
                self.costs.planning.push(planning.as_ref().clone());
            }
            Event::BudgetNeared { task, what, cap, .. } => {
                let node = task.as_ref().and_then(|task| self.places.get(task).copied());
                self.costs.neared.insert((node, *what, *cap));
            }
            event @ (Event::RecoveryDecided { .. } | Event::CheckpointMade { .. }) => {
                self.account_recovery(event);
            }
            Event::BranchRolledBack { to } => self.tip = Some(to.clone()),
            Event::ConflictForeseen { task, with, files } => {
                self.foreseen.retain(|known| (&known.task, &known.with) != (task, with));
                let (task, with, files) = (task.clone(), with.clone(), files.clone());
                self.foreseen.push(Foreseen { task, with, files });
            }
            Event::CheckoutTouched { tasks, what } => {
                self.strays.push(Stray { tasks: tasks.clone(), what: what.clone() });
            }
            _ => {}
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
        self.account_repeats(place, event);
        self.account_race(place, event);
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

    /// The figures that go along with a transition.
    fn account(&mut self, place: usize, event: &Event, record: &Record) {
        let progress = &mut self.tasks[place];
        match event {
            Event::AttemptStarted { attempt, executor, hand, .. } => {
                if let Some(hand) = hand {
                    self.hands.insert(place as Node, hand.as_ref().clone());
                }
                progress.last_attempt = attempt.0;
                progress.executor = Some(*executor);
                self.executors = self.executors.max(*executor);
                progress.first_started.get_or_insert(record.at);
            }
            Event::UsageReported { usage, model, .. } => {
                progress.usage += *usage;
                self.spent += *usage;
                if let Some(model) = model {
                    *self.costs.models.entry(model.clone()).or_default() += *usage;
                    self.costs.last.insert(place as Node, model.clone());
                }
                if let Some(hand) = self.hands.get(&(place as Node)).filter(|_| !self.parked.is_empty()) {
                    self.parked.retain(|agent, until| *agent != hand.agent || *until > record.at);
                }
            }
            Event::AttemptEnded { outcome, elapsed, .. } => {
                progress.worked += *elapsed;
                match outcome {
                    Outcome::Interrupted | Outcome::Asked(_) => progress.interruptions += 1,
                    Outcome::Succeeded | Outcome::Failed(_) | Outcome::Cancelled => {
                        progress.tried += 1;
                        self.attempts += 1;
                    }
                }
            }
            Event::TaskReported { task, report: Report::Issue { severity, words }, .. } => {
                let (task, words) = (task.clone(), words.clone());
                self.issues.push(Issue { task, severity: *severity, words });
            }
            Event::RetryScheduled {
                again: Again::Mend(_) | Again::Anew | Again::Other | Again::Model,
                ..
            } => {
                // What is mended or done anew was no failed try.
                progress.tried = progress.tried.saturating_sub(1);
            }
            Event::TaskCompleted { commit: Some(commit), .. } | Event::TaskResolved { commit, .. } => {
                if let Some(landed) = self.landed_by_winner(place) {
                    self.tasks[place].landed = Some(landed);
                    return;
                }
                let progress = &mut self.tasks[place];
                let change = match (&progress.state, event) {
                    (TaskState::Running(running), _) => {
                        running.landing.as_ref().map(|landing| &landing.change)
                    }
                    (_, Event::TaskResolved { change, .. }) => change.as_deref(),
                    _ => None,
                };
                let change = change.cloned().unwrap_or_else(|| Change::new("", commit));
                progress.landed = Some(Box::new(Landed::of(commit.clone(), change)));
                self.tip = Some(commit.clone());
            }
            Event::TaskReopened { .. } => {
                progress.tried = 0;
                progress.landed = None;
            }
            _ => {}
        }
    }
}
