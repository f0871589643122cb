//! How tasks and runs are shown to people: the states of the page, and the figures beside a run.

use conductor_core::plan::Task;
use conductor_core::run::event::FailureClass;
use conductor_core::run::{Progress, Run, TaskState, costs};
use conductor_engine::records::flat::timestamp;
use serde_json::{Map, Value, json};

use crate::access::identity::OWNER;

const STATES: [&str; 10] = [
    "pending",
    "waiting",
    "running",
    "needs",
    "landed",
    "completed",
    "failed",
    "conflict",
    "skipped",
    "cancelled",
];

/// The state by which a task is shown. Of a run that is not live, nothing is at work.
pub(crate) fn state(progress: &Progress, is_live: bool) -> &'static str {
    match &progress.state {
        TaskState::Running(_) | TaskState::Racing if is_live => "running",
        TaskState::Running(_) | TaskState::Racing | TaskState::Pending => "pending",
        TaskState::Waiting { .. } => "waiting",
        TaskState::Asking { .. } | TaskState::InReview { .. } => "needs",
        TaskState::Completed if progress.landed.is_some() => "landed",
        TaskState::Completed => "completed",
        TaskState::Failed(failure) if failure.class == FailureClass::Conflict => "conflict",
        TaskState::Failed(_) => "failed",
        TaskState::Skipped { .. } => "skipped",
        TaskState::Cancelled => "cancelled",
    }
}

/// How many tasks are shown in which state.
pub(crate) fn counts(run: &Run, is_live: bool) -> Value {
    let mut counts: Map<String, Value> = STATES.iter().map(|name| ((*name).to_owned(), json!(0))).collect();
    for (_, _, progress) in run.asked() {
        if let Some(count) = counts.get_mut(state(progress, is_live)) {
            *count = json!(count.as_u64().unwrap_or(0) + 1);
        }
    }
    Value::Object(counts)
}

/// What a list of runs tells of each.
pub(crate) fn figures(run: &Run, is_live: bool) -> Value {
    let spent = run.spent();
    json!({
        "shown": counts(run, is_live), "cost_usd": costs::dollars(spent), "known_cost_usd": spent.cost.dollars(),
        "tokens": spent.tokens, "max_cost_usd": run.options().limits.max_cost.map(|cap| cap.dollars()),
        "elapsed_ms": run.active(), "ended_at": run.ended().map(|at| timestamp(at.0)),
        "slots": run.options().tasks_at_once(), "by": run.options().by.as_deref().unwrap_or(OWNER),
    })
}

/// A task of a run, in one line.
pub(crate) fn task(run: &Run, place: usize, task: &Task, progress: &Progress, is_live: bool) -> Value {
    let doer = run.doer(place);
    let choice = run.agent_choice(doer);
    let model = run.model(doer).or_else(|| choice.and_then(|choice| choice.model.as_deref()));
    let landed = progress.landed.as_deref();
    let usage = run.usage(place);
    json!({
        "id": task.id, "name": task.name, "epic_id": task.epic, "group": task.group,
        "status": progress.state.status().name(),
        "state": state(progress, is_live),
        "phase": phase(progress, is_live),
        "priority": run.priority(place),
        "dependencies": task.dependencies.iter().map(|on| &on.id).collect::<Vec<_>>(),
        "attempts": progress.last_attempt,
        "tried": progress.tried,
        "agent": choice.map(|choice| &choice.agent).or(task.agent.as_ref()),
        "model": model.filter(|_| choice.is_some()).or(task.model.as_deref()),
        "started_at": progress.first_started.map(|at| timestamp(at.0)),
        "ended_at": progress.ended.map(|at| timestamp(at.0)),
        "worked_ms": progress.worked,
        "cost_usd": costs::dollars(usage),
        "tokens": usage.tokens,
        "commit": landed.map(|landed| &landed.commit),
        "added": landed.map(|landed| landed.touched.added),
        "removed": landed.map(|landed| landed.touched.removed),
        "files_changed": landed.map(|landed| landed.touched.count()),
        "words": words(progress),
    })
}

/// What it is about, where the state alone does not tell.
fn phase(progress: &Progress, is_live: bool) -> Option<&'static str> {
    match &progress.state {
        TaskState::Running(_) if !is_live => None,
        TaskState::Running(running) if running.ended => Some("landing"),
        TaskState::Running(running) if running.stopping.is_some() => Some("stopping"),
        TaskState::Running(running) if running.process.is_none() => Some("preparing"),
        TaskState::Running(_) => Some("working"),
        TaskState::Racing => Some("racing"),
        TaskState::Asking { .. } => Some("question"),
        TaskState::InReview { .. } => Some("review"),
        TaskState::Waiting { .. } => Some("retry"),
        _ => None,
    }
}

fn words(progress: &Progress) -> Option<String> {
    match &progress.state {
        TaskState::Asking { question, .. } => Some(question.put()),
        TaskState::Failed(failure) => Some(failure.message.clone()),
        TaskState::Skipped { culprit: Some(culprit) } => {
            Some(format!("{culprit} did not come to a good end"))
        }
        _ => None,
    }
}
