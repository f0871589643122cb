//! What agents did over all runs of a project: their sessions, and how each model fared.

use std::collections::BTreeMap;

use axum::response::Response;
use conductor_core::run::costs;
use conductor_core::run::event::Usage;
use conductor_core::run::{End, Run, Status};
use serde_json::{Value, json};

use super::projects::{PAGE, place};
use crate::app::App;
use crate::problem::{Problem, Result};
use crate::web::answer;
use crate::web::route::{Asked, Route, VIEWER, by, get};

pub(crate) const ROUTES: &[Route] = &[
    get(
        "/api/projects/{project}/sessions",
        VIEWER,
        "List the sessions of agents in the project's runs, newest first",
        by!(sessions),
    )
    .query(PAGE)
    .json("conductor.sessions/1", "project text, total whole, sessions [object], next_cursor text?"),
    get(
        "/api/projects/{project}/model-stats",
        VIEWER,
        "How each agent and model fared in the project's runs",
        by!(models),
    )
    .json("conductor.model-stats/1", "project text, models [object]"),
];

async fn sessions(app: App, asked: Asked) -> Result<Response> {
    let project = app.project(asked.named("project")?).await?;
    let runs: Vec<String> = app.runs_of(&project).await?.into_iter().map(|run| run.id.to_string()).collect();
    let text = match std::fs::read_to_string(app.home.root().join("sessions.jsonl")) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => String::new(),
        Err(error) => return Err(Problem::unavailable(format!("sessions.jsonl: {error}"))),
    };
    // One line when a session starts and one when it ends: the later one says all.
    let mut all: BTreeMap<(usize, String), Value> = BTreeMap::new();
    let mut order: BTreeMap<String, usize> = BTreeMap::new();
    for (number, line) in text.lines().enumerate() {
        let Ok(session) = serde_json::from_str::<Value>(line) else { continue };
        let is_ours = session["run"].as_str().is_some_and(|run| runs.iter().any(|known| known == run));
        let Some(id) = session["session_id"].as_str().filter(|_| is_ours) else { continue };
        let key = format!("{id} {}", session["session_number"]);
        let first = *order.entry(key.clone()).or_insert(number);
        all.insert((first, key), session);
    }
    let all: Vec<Value> = all.into_values().rev().collect();
    let (from, limit) = place(&asked, all.len())?;
    let next = (from + limit < all.len()).then(|| (from + limit).to_string());
    let total = all.len();
    let page: Vec<Value> = all.into_iter().skip(from).take(limit).collect();
    answer::json(
        "conductor.sessions/1",
        json!({ "project": project.id, "total": total, "sessions": page, "next_cursor": next }),
    )
}

#[derive(Default)]
struct Fared {
    tasks: u32,
    completed: u32,
    failed: u32,
    attempts: u32,
    succeeded: u32,
    worked_ms: u64,
    usage: Usage,
}

async fn models(app: App, asked: Asked) -> Result<Response> {
    let project = app.project(asked.named("project")?).await?;
    let mut all: BTreeMap<(String, Option<String>), Fared> = BTreeMap::new();
    for run in app.runs_of(&project).await? {
        let feed = app.runs.feed_of(&run).await?;
        feed.look(|run| add(&mut all, run));
    }
    let told = |((agent, model), fared): (&(String, Option<String>), &Fared)| {
        json!({ "agent": agent, "model": model, "tasks": fared.tasks, "completed": fared.completed, "failed": fared.failed,
            "attempts": fared.attempts, "succeeded_attempts": fared.succeeded, "worked_ms": fared.worked_ms,
            "tokens": fared.usage.tokens, "cost_usd": costs::dollars(fared.usage) })
    };
    answer::json(
        "conductor.model-stats/1",
        json!({ "project": project.id, "models": all.iter().map(told).collect::<Vec<_>>() }),
    )
}

/// By who did a task last: an agent that gave up and the one after it are not told apart.
fn add(all: &mut BTreeMap<(String, Option<String>), Fared>, run: &Run) {
    for (place, _, progress) in run.asked() {
        let doer = run.doer(place);
        let Some(choice) = run.agent_choice(doer) else { continue };
        let model = run.model(doer).map(str::to_owned).or_else(|| choice.model.clone());
        let fared = all.entry((choice.agent.clone(), model)).or_default();
        fared.tasks += 1;
        fared.completed += u32::from(progress.state.status() == Status::Completed);
        fared.failed += u32::from(progress.state.status() == Status::Failed);
        for span in run.spans_of(doer) {
            fared.attempts += 1;
            fared.succeeded += u32::from(span.end == Some(End::Succeeded));
        }
        fared.worked_ms += run.progress(doer).worked.0;
        fared.usage += run.progress(doer).usage;
    }
}
