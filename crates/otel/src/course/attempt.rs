//! An attempt while it goes on, and the span it becomes.

use conductor_core::run::event::{Change, Failure, FailureClass, ModelUsage, Outcome, Phases, Usage};
use conductor_core::values::ids::{Attempt, TaskId};
use serde_json::json;

use super::task::bad;
use super::{Known, name, used};
use crate::ids::SpanId;
use crate::span::{AttemptOf, Attributes, Span, Status};

pub(super) struct OpenAttempt {
    pub(super) attempt: Attempt,
    executor: u32,
    /// Nothing for a command.
    agent: Option<String>,
    model: Option<String>,
    again: Option<&'static str>,
    from: i64,
    pub(super) session: Option<String>,
    usage: Vec<ModelUsage>,
    /// When a dead coordinator was last heard of.
    lost: Option<i64>,
    ended: Option<End>,
}

/// What is known of an attempt that ended.
struct End {
    at: i64,
    outcome: String,
    failure: Option<Failure>,
    /// What our checks said of its work.
    checks: Option<&'static str>,
    gate_holds: Option<bool>,
    review_score: Option<u64>,
    phases: Option<Phases>,
}

impl OpenAttempt {
    pub(super) fn new(
        attempt: Attempt,
        executor: u32,
        (agent, model): (Option<String>, Option<String>),
        again: Option<&'static str>,
        from: i64,
    ) -> OpenAttempt {
        let (session, usage, lost, ended) = (None, Vec::new(), None, None);
        OpenAttempt { attempt, executor, agent, model, again, from, session, usage, lost, ended }
    }

    pub(super) fn report(&mut self, model: Option<&str>, usage: Usage, taken_back: Usage) {
        match self.usage.iter_mut().find(|known| known.model.as_deref() == model) {
            Some(known) => known.usage.report(usage, taken_back),
            None => {
                self.usage.push(ModelUsage { model: model.map(Box::from), usage: usage.less(taken_back) });
            }
        }
    }

    pub(super) fn lost_sight(&mut self, at: i64) {
        if self.ended.is_none() {
            self.lost = Some(at.max(self.from));
        }
    }

    pub(super) fn end(
        &mut self,
        outcome: &Outcome,
        change: Option<&Change>,
        phases: Option<&Phases>,
        is_verified: bool,
        now: i64,
    ) {
        // One that was cut short by its coordinator's death is found to be over only when the run is taken up.
        let at = self.lost.filter(|_| *outcome == Outcome::Interrupted).unwrap_or(now);
        let failure = match outcome {
            Outcome::Failed(failure) => Some(failure.clone()),
            _ => None,
        };
        let checks = match (outcome, &failure) {
            (Outcome::Succeeded, _) => is_verified.then_some("passed"),
            (_, Some(failure)) => fails_checks(failure.class).then_some("failed"),
            _ => None,
        };
        self.ended = Some(End {
            at,
            outcome: name(outcome),
            failure,
            checks,
            gate_holds: change.and_then(|change| change.gate.as_ref()).map(|gate| gate.holds),
            review_score: change.and_then(|change| change.reviewed.as_ref()?.score).map(u64::from),
            phases: phases.copied(),
        });
    }

    pub(super) fn close(self, task: &TaskId, parent: SpanId, now: i64, known: &Known) -> Span {
        let to = self.ended.as_ref().map_or_else(|| self.lost.unwrap_or(now), |end| end.at);
        let number = self.attempt.0;
        let status = self.ended.as_ref().map_or(Status::Unset, |end| end.status(known));
        let span_name = match &self.agent {
            Some(agent) => format!("invoke_agent {agent}"),
            None => "command".to_owned(),
        };
        let of = AttemptOf { task: task.clone(), attempt: self.attempt, executor: self.executor };
        Span {
            trace: known.trace,
            id: SpanId::of(&known.run, &["attempt", task.as_str(), &number.to_string()]),
            parent: Some(parent),
            name: span_name,
            from: self.from,
            to,
            attributes: self.attributes(task, known),
            events: Vec::new(),
            status,
            attempt: Some(of),
        }
    }

    fn attributes(&self, task: &TaskId, known: &Known) -> Attributes {
        let mut sum = Usage::default();
        self.usage.iter().for_each(|one| sum += one.usage);
        let most = self.usage.iter().filter(|one| one.model.is_some()).max_by_key(|one| one.usage.tokens);
        let prompt = known.tasks.get(task).and_then(|facts| facts.prompt.as_deref());
        let told = self.agent.as_ref().and(prompt).and_then(|prompt| known.content.of(prompt));
        let attributes = Attributes::default()
            .maybe("gen_ai.operation.name", self.agent.as_ref().map(|_| "invoke_agent"))
            .maybe("gen_ai.agent.name", self.agent.as_deref())
            .maybe("gen_ai.provider.name", self.agent.as_deref().and_then(provider))
            .maybe("gen_ai.request.model", self.model.as_deref())
            .maybe("gen_ai.response.model", most.and_then(|one| one.model.as_deref()))
            .maybe("gen_ai.conversation.id", self.session.as_deref())
            .maybe("gen_ai.input.messages", told.map(|words| messages(&words)))
            .with("conductor.run.id", known.run.as_str())
            .with("conductor.task.id", task.as_str())
            .with("conductor.attempt", self.attempt.0)
            .with("conductor.executor", self.executor)
            .maybe("conductor.retry.reason", self.again);
        let attributes = used(attributes, sum);
        match &self.ended {
            Some(end) => end.attributes(attributes),
            None => attributes.with("conductor.attempt.outcome", "unfinished"),
        }
    }
}

impl End {
    fn status(&self, known: &Known) -> Status {
        match &self.failure {
            Some(failure) => bad(failure, known),
            None if self.outcome == "succeeded" => Status::Ok,
            None => Status::Unset,
        }
    }

    fn attributes(&self, attributes: Attributes) -> Attributes {
        let attributes = attributes
            .with("conductor.attempt.outcome", self.outcome.as_str())
            .maybe("error.type", self.failure.as_ref().map(|failure| name(&failure.class)))
            .maybe("conductor.gate.checks", self.checks)
            .maybe("conductor.gate.notices_damage", self.gate_holds)
            .maybe("conductor.gate.review_score", self.review_score);
        let Some(phases) = &self.phases else { return attributes };
        attributes
            .with("conductor.phase.preparing_ms", phases.preparing.0)
            .with("conductor.phase.working_ms", phases.working.0)
            .with("conductor.phase.verifying_ms", phases.verifying.0)
    }
}

fn fails_checks(class: FailureClass) -> bool {
    matches!(class, FailureClass::Unverified | FailureClass::FailsOnBase)
}

/// Who makes the models that an agent asks by itself. Which cloud they are reached through is the agent's own affair.
fn provider(agent: &str) -> Option<&'static str> {
    match agent {
        "claude" => Some("anthropic"),
        "codex" => Some("openai"),
        "gemini" => Some("gcp.gemini"),
        _ => None,
    }
}

/// As the conventions want the words that an agent was given.
fn messages(words: &str) -> String {
    json!([{ "role": "user", "parts": [{ "type": "text", "content": words }] }]).to_string()
}
