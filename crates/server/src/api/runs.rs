//! Runs: which there are, how each stands, what it cost, and what happened in it.

use axum::response::Response;
use conductor_core::plan::graph::{Format, Graph, Strategy};
use conductor_core::run::Run;
use conductor_core::run::costs::{self, By};
use conductor_core::run::event::Usage;
use conductor_core::schedule::{AtWork, Snapshot, Wait, Waiting, Words};
use conductor_engine::records::flat::timestamp;
use conductor_engine::runs::control::async_client;
use conductor_engine::stores::StoredRun;
use serde_json::{Value, json};

use super::projects::PAGE;
use super::{shown, tasks};
use crate::app::App;
use crate::live::Feed;
use crate::problem::{Problem, Result};
use crate::web::answer;
use crate::web::fields::{Field, Kind, may};
use crate::web::route::{Asked, Route, VIEWER, by, get};

pub(crate) const LISTED: &[Field] = &[
    PAGE[0],
    PAGE[1],
    may("figures", Kind::Flag, "Also how many tasks are in which state, and what each run cost."),
];

pub(crate) const ROUTES: &[Route] = &[
    get("/api/runs", VIEWER, "List the runs, newest first", by!(list))
        .query(LISTED)
        .json("conductor.run-list/1", "runs [Listed], next_cursor text?"),
    get("/api/runs/{run}", VIEWER, "Show what a run is doing", by!(show)).json(
        "conductor.status/1",
        "run text, live flag, pid whole?, directory text, state text, seq whole, created_at text, elapsed_ms whole, \
         slots whole, total whole, counts Counts, shown Shown, cost_usd number?, known_cost_usd number, tokens whole, max_cost_usd number?, \
         running [AtWork], waiting [Waiting], next [Waiting], reviews [text], questions [TaskQuestion], failed [TaskWords], \
         conflicts_ahead [TaskWords], parked_agents [ParkedAgent], can_be_resumed flag, source text, why text?, ended_at text?",
    ),
    get("/api/runs/{run}/events", VIEWER, "The events of a run behind a number", by!(events))
        .query(&[
            may("since", Kind::Whole(0, u64::MAX >> 1), "Only events behind the one of this number (default 0)."),
            may("limit", Kind::Whole(1, 10_000), "How many at most (default 1000)."),
            may("task", Kind::Text, "Only what happened to this task."),
        ])
        .json("conductor.events/1", "run text, events [object], next_since whole?"),
    get("/api/runs/{run}/graph", VIEWER, "The dependency graph of a run, with batches and critical path", by!(graph))
        .json("conductor.graph/1", "tasks [object], batches [any], critical_path any"),
    get("/api/runs/{run}/costs", VIEWER, "What a run has used", by!(costs_of_run))
        .query(&[may("by", Kind::OneOf(&["task", "epic", "model", "agent", "day", "run"]), "Grouped by this (default task).")])
        .json("conductor.cost/1", "by text, lines [CostLine], total CostLine"),
];

async fn list(app: App, asked: Asked) -> Result<Response> {
    let runs = app.visible(&asked.identity).await?;
    page(&app, &asked, runs).await
}

/// From behind the run that the cursor names: new ones come at the front and move nothing.
pub(crate) async fn page(
    app: &App,
    asked: &Asked,
    runs: Vec<(StoredRun, Option<String>)>,
) -> Result<Response> {
    let limit = asked.query.whole("limit").unwrap_or(100) as usize;
    let from = match asked.query.text("cursor") {
        Some(cursor) => {
            let at = runs.iter().position(|(run, _)| run.id.as_str() == cursor);
            at.ok_or_else(|| Problem::field("cursor", "names no run that is there"))? + 1
        }
        None => 0,
    };
    let mut shown: Vec<Value> = Vec::new();
    for (run, project) in runs.iter().skip(from).take(limit) {
        let mut value = listed(app, run, project.as_deref());
        if asked.query.flag("figures") {
            // One that cannot be read hides nothing of the others.
            value["figures"] = app.runs.figures(run, shown::figures).await.unwrap_or_default();
        }
        shown.push(value);
    }
    let next =
        runs.get(from + limit - 1).filter(|_| from + limit < runs.len()).map(|(run, _)| run.id.as_str());
    answer::json("conductor.run-list/1", json!({ "runs": shown, "next_cursor": next }))
}

pub(crate) fn listed(app: &App, run: &StoredRun, project: Option<&str>) -> Value {
    let live = app.home.is_live(&run.id) || run.holder().is_some();
    // A coordinator that died cannot have said so.
    let state = if run.status == "running" && !live { "stopped" } else { run.status.as_str() };
    json!({
        "run": run.id, "project": project, "directory": run.directory.display().to_string(), "source": run.source,
        "tasks": run.tasks, "state": state, "live": live, "created_at": timestamp(run.created.0),
        "can_be_resumed": !live && !run.is_over(),
    })
}

async fn show(app: App, asked: Asked) -> Result<Response> {
    let feed = app.runs.feed(asked.named("run")?).await?;
    answer::json("conductor.status/1", status(&app, &feed).await)
}

/// A live run is asked itself, since only its coordinator knows what is next and why; else its log tells.
pub(crate) async fn status(app: &App, feed: &Feed) -> Value {
    let live_view = match feed.is_live() {
        true => async_client::live_view(&feed.directory()).await.ok(),
        false => None,
    };
    match live_view {
        Some(view) => seen(feed, Some(view.pid), &view.snapshot, view.away.as_deref()),
        None => {
            let pid = feed.is_live().then(|| app.home.holder(feed.id())).flatten();
            let is_live = pid.is_some() || app.runs.is_elsewhere(feed.id()).await.unwrap_or(false);
            let snapshot = left(feed.look(Snapshot::of), is_live);
            seen(feed, pid, &snapshot, None)
        }
    }
}

/// A coordinator that was killed could not say so: nothing of its run is at work any more.
pub(crate) fn left(mut snapshot: Snapshot, is_live: bool) -> Snapshot {
    if !is_live && matches!(snapshot.state.as_str(), "running" | "paused" | "finishing") {
        snapshot.state = "stopped".to_owned();
        snapshot.counts.pending += std::mem::take(&mut snapshot.counts.running);
        snapshot.running.clear();
    }
    snapshot
}

fn seen(feed: &Feed, pid: Option<u32>, snapshot: &Snapshot, away: Option<&str>) -> Value {
    let spent = snapshot.spent;
    json!({
        "run": feed.id(),
        "live": pid.is_some(),
        "pid": pid,
        "directory": feed.stored.directory.display().to_string(),
        "store_away": away,
        "state": snapshot.state,
        "why": snapshot.why,
        "seq": snapshot.seq,
        "created_at": timestamp(snapshot.created.0),
        "ended_at": snapshot.ended.map(|at| timestamp(at.0)),
        "elapsed_ms": snapshot.elapsed,
        "slots": snapshot.slots,
        "total": snapshot.total,
        "counts": snapshot.counts,
        "shown": feed.look(|run| shown::counts(run, pid.is_some())),
        "source": feed.stored.source,
        "cost_usd": costs::dollars(spent),
        "known_cost_usd": spent.cost.dollars(),
        "tokens": spent.tokens,
        "max_cost_usd": snapshot.max_cost.map(|cap| cap.dollars()),
        "running": snapshot.running.iter().map(at_work).collect::<Vec<_>>(),
        "waiting": snapshot.waiting.iter().map(waiting).collect::<Vec<_>>(),
        "next": snapshot.next.iter().map(waiting).collect::<Vec<_>>(),
        "reviews": snapshot.reviews().collect::<Vec<_>>(),
        "questions": snapshot.questions().map(|(task, question)| json!({ "task": task, "question": question })).collect::<Vec<_>>(),
        "failed": snapshot.failed.iter().map(words).collect::<Vec<_>>(),
        "conflicts_ahead": snapshot.ahead.iter().map(words).collect::<Vec<_>>(),
        "git_settings_touched": snapshot.settings,
        "parked_agents": snapshot.parked.iter().map(|(agent, until)| json!({ "agent": agent, "until": timestamp(until.0) })).collect::<Vec<_>>(),
        "can_be_resumed": pid.is_none() && matches!(snapshot.state.as_str(), "stopped" | "created"),
    })
}

fn at_work(at_work: &AtWork) -> Value {
    json!({
        "task": at_work.task, "epic_id": at_work.epic, "attempt": at_work.attempt, "phase": phase(at_work),
        "for_ms": at_work.since, "agent": at_work.agent, "model": at_work.model, "pid": at_work.pid,
        "cost_usd": costs::dollars(at_work.spent), "last_tool": at_work.last_tool,
    })
}

fn phase(at_work: &AtWork) -> Value {
    match serde_json::to_value(at_work.phase) {
        Ok(Value::String(name)) => json!(name),
        _ => json!("stopping"),
    }
}

/// Each reason with its words, for programs that only show them.
pub(crate) fn waiting(waiting: &Waiting) -> Value {
    let reason = |wait: &Wait| {
        let mut value = serde_json::to_value(wait).unwrap_or_default();
        match &mut value {
            Value::Object(fields) => drop(fields.insert("words".into(), json!(wait.to_string()))),
            other => *other = json!({ "is": other.take(), "words": wait.to_string() }),
        }
        value
    };
    json!({ "task": waiting.task, "why": waiting.why.iter().map(reason).collect::<Vec<_>>() })
}

fn words(words: &Words) -> Value {
    json!({ "task": words.task, "words": words.words })
}

async fn events(app: App, asked: Asked) -> Result<Response> {
    let feed = app.runs.feed(asked.named("run")?).await?;
    let since = asked.query.whole("since").unwrap_or(0);
    let limit = asked.query.whole("limit").unwrap_or(1_000) as usize;
    let place = match asked.query.text("task") {
        Some(task) => Some(feed.look(|run| tasks::find(run, task))?),
        None => None,
    };
    let (events, next) = feed.told_after(since, limit, place).await?;
    answer::json("conductor.events/1", json!({ "run": feed.id(), "events": events, "next_since": next }))
}

async fn graph(app: App, asked: Asked) -> Result<Response> {
    let feed = app.runs.feed(asked.named("run")?).await?;
    let plan = feed.look(|run| run.plan().clone());
    Ok(answer::encoded(200, exported(&plan)?))
}

pub(crate) fn exported(plan: &conductor_core::plan::Plan) -> Result<String> {
    let graph = Graph::new(plan, Strategy::Queue).map_err(|error| Problem::new(422, error))?;
    Ok(graph.export(plan, Format::Json, |task| plan.tasks[task as usize].expected()))
}

async fn costs_of_run(app: App, asked: Asked) -> Result<Response> {
    let feed = app.runs.feed(asked.named("run")?).await?;
    let by = asked.query.text("by").and_then(By::named).unwrap_or(By::Task);
    let records = feed.records(0).await?;
    let lines = costs::lines([(feed.id().as_str(), records.as_slice())], by, |_| 0);
    let total = costs::total(&lines);
    let lines: Vec<Value> = lines.iter().map(line).collect();
    answer::json(
        "conductor.cost/1",
        json!({ "by": by.name(), "runs": [feed.id()], "lines": lines, "total": line(&total) }),
    )
}

pub(crate) fn line(line: &costs::Line) -> Value {
    let mut value = usage(line.usage);
    value["key"] = json!((line.key != costs::NONE).then_some(&line.key));
    value["kind"] = json!(if line.planning { "planning" } else { "task" });
    value["attempts"] = json!(line.attempts);
    value["untold_attempts"] = json!(line.untold);
    value
}

pub(crate) fn usage(usage: Usage) -> Value {
    json!({ "turns": usage.turns, "tokens": usage.tokens, "cost_usd": costs::dollars(usage),
        "known_cost_usd": usage.cost.dollars(), "unpriced_tokens": usage.unpriced })
}

/// What its tasks at work and those that ended came to.
pub(crate) fn spent(run: &Run) -> Value {
    usage(run.spent())
}
