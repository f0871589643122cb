//! A task while it goes on, and what records say of it.

use conductor_core::report::tally::retry_reason;
use conductor_core::run::event::{Event, Failure, Usage};
use conductor_core::values::ids::{Attempt, TaskId};

use super::attempt::OpenAttempt;
use super::{Course, Known, Leg, name, used};
use crate::ids::SpanId;
use crate::span::{Attributes, Span, SpanEvent, Status};

pub(super) struct OpenTask {
    task: TaskId,
    id: SpanId,
    parent: SpanId,
    from: i64,
    attempts: Vec<OpenAttempt>,
    events: Vec<SpanEvent>,
    /// Why its next attempt is another one.
    again: Option<&'static str>,
    commit: Option<String>,
    usage: Usage,
}

impl Course {
    /// What a record says of one task. What is done to a run that no coordinator drives is in no span.
    pub(super) fn on_task(&mut self, event: &Event) -> Vec<Span> {
        let (known, now) = (&self.known, self.now);
        let Some(leg) = &mut self.leg else { return Vec::new() };
        match event {
            Event::AttemptStarted { task, attempt, executor, choice, .. } => {
                leg.task(task, known, now).start(*attempt, *executor, choice.as_deref(), now, known);
            }
            Event::SessionStarted { task, attempt, session } => {
                leg.attempt(task, *attempt, |open| open.session = Some(session.clone()));
            }
            Event::UsageReported { task, attempt, usage, model, taken_back } => {
                leg.usage.report(*usage, *taken_back);
                if let Some(open) = leg.tasks.get_mut(task) {
                    open.usage.report(*usage, *taken_back);
                }
                leg.attempt(task, *attempt, |open| open.report(model.as_deref(), *usage, *taken_back));
            }
            Event::AttemptEnded { task, attempt, outcome, change, phases, .. } => {
                let is_verified = known.tasks.get(task).is_some_and(|facts| facts.is_verified);
                leg.attempt(task, *attempt, |open| {
                    open.end(outcome, change.as_deref(), phases.as_ref(), is_verified, now);
                });
            }
            Event::RetryScheduled { task, delay, again } => {
                let reason = retry_reason(again);
                let attributes =
                    Attributes::default().with("conductor.retry.reason", reason).with("delay_ms", delay.0);
                leg.note(task, now, "conductor.retry", attributes);
                if let Some(open) = leg.tasks.get_mut(task) {
                    open.again = Some(reason);
                }
            }
            Event::RecoveryDecided { task, nature, strategy, reason, .. } => {
                let attributes = Attributes::default()
                    .with("conductor.recovery.nature", name(nature))
                    .with("conductor.recovery.strategy", name(strategy))
                    .maybe("conductor.recovery.reason", known.content.of(reason));
                leg.note(task, now, "conductor.recovery", attributes);
            }
            Event::MergeFailed { task, failure, .. } => {
                let attributes = Attributes::default().with("error.type", name(&failure.class));
                leg.note(task, now, "conductor.merge_failed", attributes);
            }
            Event::ReviewGiven { task, verdict, .. } => {
                let attributes = Attributes::default().with("conductor.review.verdict", name(verdict));
                leg.note(task, now, "conductor.review", attributes);
            }
            event => return leg.ended(event, known, now),
        }
        Vec::new()
    }
}

impl Leg {
    fn task(&mut self, task: &TaskId, known: &Known, now: i64) -> &mut OpenTask {
        let (leg, parent) = (self.number.to_string(), self.id);
        let lives = &mut self.lives;
        self.tasks.entry(task.clone()).or_insert_with(|| {
            let life = lives.entry(task.clone()).or_default();
            *life += 1;
            OpenTask {
                task: task.clone(),
                id: SpanId::of(&known.run, &["task", &leg, task.as_str(), &life.to_string()]),
                parent,
                from: now,
                attempts: Vec::new(),
                events: Vec::new(),
                again: None,
                commit: None,
                usage: Usage::default(),
            }
        })
    }

    fn attempt(&mut self, task: &TaskId, attempt: Attempt, change: impl FnOnce(&mut OpenAttempt)) {
        let newest = self.tasks.get_mut(task).and_then(|open| open.attempts.last_mut());
        if let Some(open) = newest.filter(|open| open.attempt == attempt) {
            change(open);
        }
    }

    fn note(&mut self, task: &TaskId, at: i64, name: &'static str, attributes: Attributes) {
        if let Some(open) = self.tasks.get_mut(task) {
            open.events.push(SpanEvent { at, name, attributes });
        }
    }

    /// Whether the event is a task's end; then its spans are told.
    fn ended(&mut self, event: &Event, known: &Known, now: i64) -> Vec<Span> {
        let (task, state, status, commit) = match event {
            Event::TaskCompleted { task, commit } => {
                self.ended.completed += 1;
                (task, "completed", Status::Ok, commit.clone())
            }
            Event::TaskResolved { task, commit, .. } => {
                self.ended.completed += 1;
                (task, "completed", Status::Ok, Some(commit.clone()))
            }
            Event::TaskFailed { task, failure } => {
                self.ended.failed += 1;
                (task, "failed", bad(failure, known), None)
            }
            Event::TaskSkipped { task, .. } => {
                self.ended.skipped += 1;
                (task, "skipped", Status::Unset, None)
            }
            Event::TaskCancelled { task } => {
                self.ended.cancelled += 1;
                (task, "cancelled", Status::Unset, None)
            }
            _ => return Vec::new(),
        };
        // One that never began is a moment of its own.
        self.task(task, known, now).commit = commit;
        let open = self.tasks.remove(task);
        open.map(|open| open.close(state, status, now, known)).unwrap_or_default()
    }
}

/// A failure's own words may hold an agent's.
pub(super) fn bad(failure: &Failure, known: &Known) -> Status {
    Status::Error(known.content.of(&failure.message))
}

impl OpenTask {
    fn start(
        &mut self,
        attempt: Attempt,
        executor: u32,
        choice: Option<&conductor_core::run::event::AgentChoice>,
        now: i64,
        known: &Known,
    ) {
        if self.attempts.last().is_some_and(|last| last.attempt >= attempt) {
            return;
        }
        let facts = known.tasks.get(&self.task);
        let by_plan = || facts.and_then(|facts| facts.agent.as_deref()).map(str::to_owned);
        let agent = choice.map(|choice| choice.agent.clone()).or_else(by_plan);
        let model = choice.and_then(|choice| choice.model.clone());
        let again = self.again.take();
        self.attempts.push(OpenAttempt::new(attempt, executor, (agent, model), again, now));
    }

    /// Its coordinator was killed; the last that was heard of it is this old.
    pub(super) fn lost_sight(&mut self, at: i64) {
        self.attempts.iter_mut().for_each(|attempt| attempt.lost_sight(at));
    }

    /// Its own span, before those of its attempts.
    pub(super) fn close(self, state: &str, status: Status, now: i64, known: &Known) -> Vec<Span> {
        let facts = known.tasks.get(&self.task);
        let attributes = Attributes::default()
            .with("conductor.run.id", known.run.as_str())
            .with("conductor.task.id", self.task.as_str())
            .with("conductor.task.state", state)
            .with("conductor.task.attempts", self.attempts.len() as u64)
            .maybe("conductor.epic", facts.and_then(|facts| facts.epic.as_deref()))
            .maybe("conductor.group", facts.and_then(|facts| facts.group.as_deref()))
            .maybe("conductor.commit", self.commit.as_deref());
        let mut spans = vec![Span {
            trace: known.trace,
            id: self.id,
            parent: Some(self.parent),
            name: format!("task {}", self.task),
            from: self.from,
            to: now,
            attributes: used(attributes, self.usage),
            events: self.events,
            status,
            attempt: None,
        }];
        let attempts = self.attempts.into_iter();
        spans.extend(attempts.map(|attempt| attempt.close(&self.task, self.id, now, known)));
        spans
    }
}
