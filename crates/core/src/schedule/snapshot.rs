//! A run at one moment, small enough to be sent to any client, however many tasks it has.

use serde::{Deserialize, Serialize};

use super::waiting::review;
use super::{Scheduler, Wait};
use crate::plan::graph::Node;
use crate::run::SettingsTouched;
use crate::run::event::{DrainReason, RunOutcome, StopReason, Usage};
use crate::run::{Run, Running, Stage, Status, TaskState};
use crate::values::ids::{Attempt, TaskId};
use crate::values::units::{Millis, Now, Timestamp, Usd};

/// How many of each kind are told one by one.
const LISTED: usize = 200;
const NEXT: usize = 10;

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Snapshot {
    /// `running`, `paused`, `finishing`, `stopped`, `completed`, `failed` or `created`.
    pub state: String,
    /// Why it is being left, or was.
    pub why: Option<DrainReason>,
    /// The last event it takes in.
    pub seq: u64,
    pub created: Timestamp,
    pub ended: Option<Timestamp>,
    /// Time coordinators have been at work on it.
    pub elapsed: Millis,
    pub slots: u32,
    pub total: u32,
    pub counts: Counts,
    pub spent: Usage,
    pub max_cost: Option<Usd>,
    /// The first of them, where there are very many.
    pub running: Vec<AtWork>,
    /// Those that wait for a time or a person; of those who wait for a turn, see `next`.
    pub waiting: Vec<Waiting>,
    /// Who starts next, in order, with what keeps them.
    pub next: Vec<Waiting>,
    /// The first tasks that failed, with why.
    pub failed: Vec<Words>,
    /// Conflicts ahead: a task, and what it will conflict with in which files.
    pub ahead: Vec<Words>,
    /// Changes of what the user's git is configured by.
    #[serde(default)]
    pub settings: Vec<String>,
    /// Agents whose providers take nothing more until then.
    pub parked: Vec<(String, Timestamp)>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Counts {
    pub pending: u32,
    pub running: u32,
    pub waiting: u32,
    pub completed: u32,
    pub failed: u32,
    pub skipped: u32,
    pub cancelled: u32,
    /// Of those that run: their attempts are over, and only their landing is left. They take no slot.
    #[serde(default)]
    pub landing: u32,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AtWork {
    pub task: TaskId,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub epic: Option<String>,
    pub attempt: Attempt,
    pub phase: Phase,
    /// In awake time; nothing where no coordinator drives the run.
    pub since: Option<Millis>,
    pub agent: Option<String>,
    pub model: Option<String>,
    pub pid: Option<u32>,
    pub spent: Usage,
    /// The tool its agent called last, and what for. Only its worker knows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_tool: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Phase {
    /// Its workspace is being made ready.
    Preparing,
    Working,
    /// What it did is being looked at. Only its worker knows.
    Verifying,
    Stopping(StopReason),
    /// Its work is good and waits for its turn to be merged.
    Landing,
    /// Its work is good and being merged into the run's branch.
    Merging,
    /// Its work is good and lands with the rest of its epic.
    Aboard,
    /// Its work is good, and others race for the same task.
    StandingBy,
    /// Its work is good, and lands after work that it is built on and that has not landed yet.
    Stacked,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Waiting {
    pub task: TaskId,
    pub why: Vec<Wait>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Words {
    pub task: TaskId,
    pub words: String,
}

impl Snapshot {
    /// What the log alone shows, for a run that no coordinator drives.
    pub fn of(run: &Run) -> Snapshot {
        let mut snapshot = Snapshot::without_tasks(run);
        for (place, (task, progress)) in run.tasks().enumerate() {
            match &progress.state {
                TaskState::Running(running) if snapshot.running.len() < LISTED => {
                    snapshot.running.push(at_work(run, place, running, None));
                }
                TaskState::Asking { question, .. } if snapshot.waiting.len() < LISTED => {
                    let why = vec![Wait::Person { question: question.to_string(), left: None }];
                    snapshot.waiting.push(Waiting { task: task.id.clone(), why });
                }
                state @ TaskState::InReview { .. } if snapshot.waiting.len() < LISTED => {
                    let why = review(state).into_iter().collect();
                    snapshot.waiting.push(Waiting { task: task.id.clone(), why });
                }
                TaskState::Failed(failure) => snapshot.add_failed(&task.id, &failure.message),
                _ => {}
            }
        }
        snapshot
    }

    fn without_tasks(run: &Run) -> Snapshot {
        let ahead = run.foreseen().iter().map(|known| {
            let with = known.with.as_ref().map_or("what has landed", TaskId::as_str);
            Words { task: known.task.clone(), words: format!("with {with} in {}", known.files.join(", ")) }
        });
        let why = match run.stage() {
            Stage::Draining(why) | Stage::Stopped(why) => Some(why),
            _ => None,
        };
        Snapshot {
            state: state(run).to_owned(),
            why,
            seq: run.seq(),
            created: run.created(),
            ended: run.ended(),
            elapsed: run.active(),
            slots: run.options().tasks_at_once(),
            total: run.total(),
            counts: Counts::of(run),
            spent: run.spent(),
            max_cost: run.options().limits.max_cost,
            running: Vec::new(),
            waiting: Vec::new(),
            next: Vec::new(),
            failed: Vec::new(),
            ahead: ahead.collect(),
            settings: run.settings().iter().map(SettingsTouched::words).collect(),
            parked: run.parked().iter().map(|(agent, until)| (agent.clone(), *until)).collect(),
        }
    }

    fn add_failed(&mut self, task: &TaskId, message: &str) {
        if self.failed.len() < LISTED {
            self.failed.push(Words { task: task.clone(), words: message.to_owned() });
        }
    }

    /// Whether a coordinator drives the run, as far as the log tells.
    pub fn is_active(&self) -> bool {
        matches!(self.state.as_str(), "running" | "paused" | "finishing")
    }

    /// How many slots are taken: attempts that only have to land take none. Where very many are at work, those who race for
    /// one task count as one.
    pub fn busy(&self) -> u32 {
        let takes_one = |at: &&AtWork| {
            matches!(at.phase, Phase::Preparing | Phase::Working | Phase::Verifying | Phase::Stopping(_))
        };
        match self.running.len() < LISTED {
            true => self.running.iter().filter(takes_one).count() as u32,
            false => self.counts.running.saturating_sub(self.counts.landing),
        }
    }

    /// Tasks whose work waits for a person's review.
    pub fn reviews(&self) -> impl Iterator<Item = &TaskId> {
        let in_review = |waiting: &&Waiting| matches!(waiting.why.first(), Some(Wait::Review { .. }));
        self.waiting.iter().filter(in_review).map(|waiting| &waiting.task)
    }

    /// Those who wait for a person, with what they ask.
    pub fn questions(&self) -> impl Iterator<Item = (&TaskId, &str)> {
        self.waiting.iter().filter_map(|waiting| match waiting.why.first() {
            Some(Wait::Person { question, .. }) => Some((&waiting.task, question.as_str())),
            _ => None,
        })
    }
}

impl Counts {
    pub fn of(run: &Run) -> Counts {
        Counts {
            pending: run.count(Status::Pending),
            running: run.count(Status::Running),
            waiting: run.count(Status::Waiting),
            completed: run.count(Status::Completed),
            failed: run.count(Status::Failed),
            skipped: run.count(Status::Skipped),
            cancelled: run.count(Status::Cancelled),
            landing: run.asked().filter(|(_, _, progress)| is_landing(&progress.state)).count() as u32,
        }
    }
}

fn is_landing(state: &TaskState) -> bool {
    matches!(state, TaskState::Running(Running { ended: true, .. }))
}

fn state(run: &Run) -> &'static str {
    match run.stage() {
        Stage::Created => "created",
        Stage::Active if run.is_paused() => "paused",
        Stage::Active => "running",
        Stage::Draining(_) => "finishing",
        Stage::Stopped(_) => "stopped",
        Stage::Finished(RunOutcome::Completed) => "completed",
        Stage::Finished(RunOutcome::Failed) => "failed",
        Stage::Finished(RunOutcome::Cancelled) => "cancelled",
    }
}

fn at_work(run: &Run, place: usize, running: &Running, now: Option<Now>) -> AtWork {
    let (task, progress) = run.task(place);
    let phase = match running {
        Running { ended: true, .. } if run.lands_after_another(place) => Phase::Stacked,
        Running { ended: true, .. } => Phase::Landing,
        Running { stopping: Some(why), .. } => Phase::Stopping(*why),
        Running { process: None, .. } => Phase::Preparing,
        _ => Phase::Working,
    };
    let choice = run.agent_choice(place);
    let model =
        run.model(place).map(str::to_owned).or_else(|| choice.and_then(|choice| choice.model.clone()));
    AtWork {
        task: task.id.clone(),
        epic: task.epic.clone(),
        attempt: running.attempt,
        phase,
        since: now.map(|now| running.length(now.tick)),
        agent: choice.map(|choice| choice.agent.clone()),
        model: model.filter(|_| choice.is_some()),
        pid: running.process.filter(|_| !running.ended).map(|process| process.pid),
        spent: progress.usage,
        last_tool: None,
    }
}

impl Scheduler {
    /// The run as it is now. Looks at every task once, and at few of them closely.
    pub fn snapshot(&self, now: Now) -> Snapshot {
        let mut snapshot = Snapshot::without_tasks(&self.run);
        snapshot.elapsed = self.run.active_until(now.tick);
        for place in 0..self.graph.len() {
            match &self.run.progress(place).state {
                TaskState::Running(running) if snapshot.running.len() < LISTED => {
                    let mut at_work = at_work(&self.run, place, running, Some(now));
                    if self.epics.is_parked(place) {
                        at_work.phase = Phase::Aboard;
                    } else if self.is_standing_by(place) {
                        at_work.phase = Phase::StandingBy;
                    } else if at_work.phase == Phase::Landing && self.is_under_way(place) {
                        at_work.phase = Phase::Merging;
                    }
                    snapshot.running.push(at_work);
                }
                TaskState::Waiting { .. } | TaskState::Asking { .. } | TaskState::InReview { .. }
                    if snapshot.waiting.len() < LISTED && !self.ready.is_waiting(place as Node) =>
                {
                    snapshot.waiting.push(self.waiting(place, now));
                }
                TaskState::Failed(failure) => {
                    snapshot.add_failed(self.graph.id(place as Node), &failure.message);
                }
                _ => {}
            }
        }
        let first = self.ready.first(NEXT);
        snapshot.next = first.into_iter().map(|node| self.waiting(node as usize, now)).collect();
        snapshot
    }

    fn waiting(&self, place: usize, now: Now) -> Waiting {
        Waiting { task: self.graph.id(place as Node).clone(), why: self.why_waiting(place, now) }
    }
}
