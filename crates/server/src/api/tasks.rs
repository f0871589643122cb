//! The tasks of a run: how each stands, and its attempts.

use axum::response::Response;
use conductor_core::plan::Task;
use conductor_core::run::costs;
use conductor_core::run::{Progress, Run, Status, TaskState};
use conductor_core::values::ids::TaskId;
use conductor_core::values::suggest::did_you_mean;
use conductor_engine::records::flat::timestamp;
use serde_json::{Value, json};

use super::projects::{PAGE, place, task_json};
use crate::app::App;
use crate::live::Feed;
use crate::problem::{Problem, Result};
use crate::web::answer;
use crate::web::fields::{Field, Kind, may};
use crate::web::route::{Asked, Route, VIEWER, by, get};

const STATES: &[&str] = &["pending", "running", "waiting", "completed", "failed", "skipped", "cancelled"];

const LISTED: &[Field] =
    &[PAGE[0], PAGE[1], may("status", Kind::OneOf(STATES), "Only tasks with this status.")];

pub(crate) const ROUTES: &[Route] = &[
    get("/api/runs/{run}/tasks", VIEWER, "List the tasks of a run", by!(list))
        .query(LISTED)
        .json("conductor.tasks/1", "run text, seq whole, total whole, tasks [object], next_cursor text?"),
    get("/api/runs/{run}/tasks/{task}", VIEWER, "Show a task of a run", by!(show))
        .json("conductor.run-task/1", "run text, seq whole, task object"),
    get("/api/runs/{run}/tasks/{task}/attempts", VIEWER, "List the attempts of a task", by!(attempts))
        .json("conductor.attempts/1", "run text, task text, attempts [object]"),
];

/// Where a task of a run is.
pub(crate) fn find(run: &Run, id: &str) -> Result<usize> {
    TaskId::parse(id).ok().and_then(|id| run.place(&id)).ok_or_else(|| {
        let meant = did_you_mean(id, run.plan().tasks.iter().map(|task| task.id.as_str()));
        Problem::not_found(format!("there is no task '{id}' in this run")).meant(meant)
    })
}

fn brief(task: &Task, progress: &Progress) -> Value {
    json!({
        "id": task.id, "name": task.name, "epic_id": task.epic, "group": task.group,
        "status": progress.state.status().name(),
        "dependencies": task.dependencies.iter().map(|on| &on.id).collect::<Vec<_>>(),
        "attempts": progress.last_attempt,
        "started_at": progress.first_started.map(|at| timestamp(at.0)),
        "ended_at": progress.ended.map(|at| timestamp(at.0)),
        "worked_ms": progress.worked,
        "cost_usd": costs::dollars(progress.usage),
        "commit": progress.landed.as_ref().map(|landed| &landed.commit),
    })
}

async fn list(app: App, asked: Asked) -> Result<Response> {
    let feed = app.runs.feed(asked.named("run")?).await?;
    let wanted = asked
        .query
        .text("status")
        .and_then(|name| Status::ALL.into_iter().find(|status| status.name() == name));
    let (seq, total, page, next) = feed.look(|run| {
        let fits = |progress: &Progress| wanted.is_none_or(|status| progress.state.status() == status);
        let all: Vec<(&Task, &Progress)> = run
            .asked()
            .filter(|(_, _, progress)| fits(progress))
            .map(|(_, task, progress)| (task, progress))
            .collect();
        let (from, limit) = place(&asked, run.plan().tasks.len())?;
        let page: Vec<Value> =
            all.iter().skip(from).take(limit).map(|(task, progress)| brief(task, progress)).collect();
        let next = (from + limit < all.len()).then(|| (from + limit).to_string());
        Ok::<_, Problem>((run.seq(), all.len(), page, next))
    })?;
    answer::json(
        "conductor.tasks/1",
        json!({ "run": feed.id(), "seq": seq, "total": total, "tasks": page, "next_cursor": next }),
    )
}

async fn show(app: App, asked: Asked) -> Result<Response> {
    let feed = app.runs.feed(asked.named("run")?).await?;
    let (seq, task) = feed.look(|run| {
        let place = find(run, asked.named("task")?)?;
        Ok::<_, Problem>((run.seq(), whole(run, place)))
    })?;
    answer::json("conductor.run-task/1", json!({ "run": feed.id(), "seq": seq, "task": task }))
}

fn whole(run: &Run, place: usize) -> Value {
    let (task, progress) = run.task(place);
    let mut value = task_json(task);
    if let (Value::Object(value), Value::Object(brief)) = (&mut value, brief(task, progress)) {
        value.extend(brief);
    }
    value["failure"] = match &progress.state {
        TaskState::Failed(failure) => json!(failure),
        _ => Value::Null,
    };
    value["question"] = match &progress.state {
        TaskState::Asking { question, since } => {
            json!({ "tool": question.tool, "what": question.what, "put": question.put(), "since": timestamp(since.0) })
        }
        _ => Value::Null,
    };
    value["touched"] = json!(progress.landed.as_ref().map(|landed| &landed.touched));
    value["chosen"] = json!(run.agent_choice(place));
    value
}

async fn attempts(app: App, asked: Asked) -> Result<Response> {
    let feed = app.runs.feed(asked.named("run")?).await?;
    let task = asked.named("task")?;
    let attempts = feed.look(|run| {
        let place = find(run, task)?;
        let attempt = |span: &conductor_core::run::Span| {
            json!({ "attempt": span.attempt, "executor": span.executor, "from_ms": span.from, "to_ms": span.to,
                "end": span.end.map(conductor_core::run::End::name), "phases": span.phases })
        };
        Ok::<Vec<Value>, Problem>(run.spans_of(place).map(attempt).collect())
    })?;
    answer::json("conductor.attempts/1", json!({ "run": feed.id(), "task": task, "attempts": attempts }))
}

/// The tasks of a run, for one who has just come.
pub(crate) fn all(feed: &Feed, most: usize) -> Vec<Value> {
    feed.look(|run| run.asked().take(most).map(|(_, task, progress)| brief(task, progress)).collect())
}
