//! The course of a run as spans: a fold over its log.
//!
//! A span is told when what it stands for is over, and once. What goes on when a coordinator leaves a run in good order
//! is over then too, and the next coordinator begins spans of its own below the same trace: a *leg* of the run. A killed
//! coordinator leaves nothing in order; its successor goes on with the leg it finds.
//!
//! Times are the wall's, as recorded. Where that clock was set back, time stands still until it has caught up: a span
//! never ends before it began, nor outside of its parent.

mod attempt;
mod task;

use std::collections::HashMap;
use std::sync::Arc;

use conductor_core::plan::{Task, Work};
use conductor_core::run::event::{Event, Record, RunOutcome, Usage};
use conductor_core::values::ids::{RunId, TaskId};

use crate::calls::Content;
use crate::ids::{SpanId, TraceId, TraceParent};
use crate::span::{Attributes, Span, SpanEvent, Status};
use task::OpenTask;

/// What is known of a run's trace so far.
pub struct Course {
    known: Known,
    leg: Option<Leg>,
    legs: u32,
    /// When the last record was, and the one before it.
    now: i64,
    before: i64,
}

/// What does not change from span to span.
struct Known {
    run: RunId,
    trace: TraceId,
    parent: Option<SpanId>,
    content: Content,
    tasks: HashMap<TaskId, Facts>,
}

/// What a plan says of a task.
#[derive(Clone)]
struct Facts {
    prompt: Option<Arc<str>>,
    agent: Option<Arc<str>>,
    is_verified: bool,
    epic: Option<String>,
    group: Option<String>,
}

/// From where a coordinator takes a run up to where one leaves it in good order.
struct Leg {
    number: u32,
    id: SpanId,
    from: i64,
    tasks: HashMap<TaskId, OpenTask>,
    /// How often each task has begun in it.
    lives: HashMap<TaskId, u32>,
    events: Vec<SpanEvent>,
    ended: Ended,
    usage: Usage,
}

/// How many tasks came to which end.
#[derive(Default)]
struct Ended {
    completed: u32,
    failed: u32,
    skipped: u32,
    cancelled: u32,
}

impl Facts {
    fn of(task: &Task) -> Facts {
        let (prompt, agent) = match &task.work {
            Work::Prompt(words) => (Some(Arc::from(words.as_str())), Some(Arc::from(task.agent_name()))),
            Work::Run(_) => (None, None),
        };
        let (epic, group) = (task.epic.clone(), task.group.clone());
        Facts { prompt, agent, is_verified: !task.verify.is_empty(), epic, group }
    }
}

impl Course {
    pub fn new(run: &RunId, parent: Option<TraceParent>, content: Content) -> Course {
        let known = Known {
            run: run.clone(),
            trace: parent.map_or_else(|| TraceId::of(run), |parent| parent.trace),
            parent: parent.map(|parent| parent.span),
            content,
            tasks: HashMap::new(),
        };
        Course { known, leg: None, legs: 0, now: 0, before: 0 }
    }

    pub fn trace(&self) -> TraceId {
        self.known.trace
    }

    /// What is over with this record.
    pub fn take(&mut self, record: &Record) -> Vec<Span> {
        (self.before, self.now) = (self.now, self.now.max(record.at.0));
        match &record.event {
            Event::RunCreated { plan, .. } => {
                self.learn(&plan.tasks);
                self.begin();
            }
            Event::PlanAmended { amendment, .. } => self.learn(&amendment.tasks),
            Event::RunStarted { .. } => self.take_up(),
            Event::RunStopped { .. } => return self.leave("stopped", Status::Unset),
            Event::RunFinished { outcome } => {
                let (state, status) = match outcome {
                    RunOutcome::Completed => ("completed", Status::Ok),
                    RunOutcome::Failed => ("failed", Status::Error(None)),
                    RunOutcome::Cancelled => ("cancelled", Status::Unset),
                };
                return self.leave(state, status);
            }
            event => return self.on_task(event),
        }
        Vec::new()
    }

    /// All that is not over, as if it were: of a run that no coordinator drives any more.
    pub fn rest(mut self) -> Vec<Span> {
        self.leave("unfinished", Status::Unset)
    }

    fn learn(&mut self, tasks: &[Task]) {
        self.known.tasks.extend(tasks.iter().map(|task| (task.id.clone(), Facts::of(task))));
    }

    fn begin(&mut self) {
        if self.leg.is_some() {
            return;
        }
        self.legs += 1;
        let id = SpanId::of(&self.known.run, &["run", &self.legs.to_string()]);
        self.leg = Some(Leg {
            number: self.legs,
            id,
            from: self.now,
            tasks: HashMap::new(),
            lives: HashMap::new(),
            events: Vec::new(),
            ended: Ended::default(),
            usage: Usage::default(),
        });
    }

    /// By a coordinator: the first one, one after an orderly end, or the successor of a dead one.
    fn take_up(&mut self) {
        self.begin();
        let (now, before) = (self.now, self.before);
        let Some(leg) = &mut self.leg else { return };
        if leg.from == now && leg.tasks.is_empty() {
            return;
        }
        leg.tasks.values_mut().for_each(|task| task.lost_sight(before));
        leg.events.push(SpanEvent {
            at: now,
            name: "conductor.run.taken_up",
            attributes: Attributes::default(),
        });
    }

    fn leave(&mut self, state: &str, status: Status) -> Vec<Span> {
        let Some(leg) = self.leg.take() else { return Vec::new() };
        let (known, now) = (&self.known, self.now);
        let Leg { number, id, from, tasks, events, ended, usage, .. } = leg;
        let mut open: Vec<(TaskId, OpenTask)> = tasks.into_iter().collect();
        open.sort_by(|(one, _), (other, _)| one.cmp(other));
        let mut spans: Vec<Span> = open
            .into_iter()
            .flat_map(|(_, task)| task.close("unfinished", Status::Unset, now, known))
            .collect();
        let attributes = Attributes::default()
            .with("gen_ai.operation.name", "invoke_workflow")
            .with("conductor.run.id", known.run.as_str())
            .with("conductor.run.leg", number)
            .with("conductor.run.state", state)
            .with("conductor.tasks.completed", ended.completed)
            .with("conductor.tasks.failed", ended.failed)
            .with("conductor.tasks.skipped", ended.skipped)
            .with("conductor.tasks.cancelled", ended.cancelled);
        spans.push(Span {
            trace: known.trace,
            id,
            parent: known.parent,
            name: "conductor run".to_owned(),
            from,
            to: now,
            attributes: used(attributes, usage),
            events,
            status,
            attempt: None,
        });
        spans
    }
}

/// Tokens, and what they cost.
fn used(attributes: Attributes, usage: Usage) -> Attributes {
    if usage.is_nothing() {
        return attributes;
    }
    attributes
        .with("gen_ai.usage.input_tokens", usage.tokens.saturating_sub(usage.output))
        .with("gen_ai.usage.output_tokens", usage.output)
        .with("conductor.cost.usd", usage.cost.dollars())
        .with("conductor.turns", usage.turns)
        .with("conductor.tool_calls", usage.tool_calls)
}

/// A value's name as it stands in the log.
fn name(value: &impl serde::Serialize) -> String {
    match serde_json::to_value(value) {
        Ok(serde_json::Value::String(name)) => name,
        Ok(serde_json::Value::Object(fields)) => fields.keys().next().cloned().unwrap_or_default(),
        _ => String::new(),
    }
}

#[cfg(test)]
mod tests;
