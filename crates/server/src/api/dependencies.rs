//! The dependencies of a project's file, and what its runs have cost.

use axum::response::Response;
use conductor_core::plan::graph::{Graph, Strategy};
use conductor_core::run::costs::{self, By};
use conductor_core::run::event::Record;
use serde_json::json;

use super::projects::ReadFile;
use super::runs;
use crate::app::App;
use crate::problem::{Problem, Result};
use crate::web::answer;
use crate::web::fields::{Kind, may};
use crate::web::route::{Asked, Route, VIEWER, by, get};

pub(crate) const ROUTES: &[Route] = &[
    get("/api/projects/{project}/dependencies/graph", VIEWER, "The dependency graph of the file", by!(graph))
        .json("conductor.graph/1", "tasks [object], batches [any], critical_path any"),
    get(
        "/api/projects/{project}/dependencies/batches",
        VIEWER,
        "Which tasks can run beside each other, level by level",
        by!(batches),
    )
    .json("conductor.levels/1", "project text, batches [any]"),
    get(
        "/api/projects/{project}/dependencies/critical-path",
        VIEWER,
        "The longest chain of tasks",
        by!(critical_path),
    )
    .json("conductor.critical-path/1", "project text, tasks [text], expected_ms whole"),
    get("/api/projects/{project}/costs", VIEWER, "What the project's runs have used", by!(spent))
        .query(&[may(
            "by",
            Kind::OneOf(&["task", "epic", "model", "agent", "day", "run"]),
            "Grouped by this (default run).",
        )])
        .json("conductor.cost/1", "by text, lines [object], total object"),
];

async fn graph(app: App, asked: Asked) -> Result<Response> {
    let project = app.project(asked.named("project")?).await?;
    let plan = ReadFile::of(&project)?.plan(&project)?;
    Ok(answer::encoded(200, runs::exported(&plan)?))
}

async fn batches(app: App, asked: Asked) -> Result<Response> {
    let project = app.project(asked.named("project")?).await?;
    let plan = ReadFile::of(&project)?.plan(&project)?;
    let graph = Graph::new(&plan, Strategy::Queue).map_err(|error| Problem::new(422, error))?;
    let ids = |batch: Vec<u32>| batch.into_iter().map(|node| graph.id(node).to_string()).collect::<Vec<_>>();
    let batches: Vec<Vec<String>> = graph.batches().into_iter().map(ids).collect();
    answer::json("conductor.levels/1", json!({ "project": project.id, "batches": batches }))
}

async fn critical_path(app: App, asked: Asked) -> Result<Response> {
    let project = app.project(asked.named("project")?).await?;
    let plan = ReadFile::of(&project)?.plan(&project)?;
    let graph = Graph::new(&plan, Strategy::Queue).map_err(|error| Problem::new(422, error))?;
    let path = graph.critical_path(|task| plan.tasks[task as usize].expected());
    let tasks: Vec<&str> = path.tasks.iter().map(|node| graph.id(*node).as_str()).collect();
    let value = json!({ "project": project.id, "tasks": tasks, "expected_ms": path.length });
    answer::json("conductor.critical-path/1", value)
}

async fn spent(app: App, asked: Asked) -> Result<Response> {
    let project = app.project(asked.named("project")?).await?;
    let by = asked.query.text("by").and_then(By::named).unwrap_or(By::Run);
    let mut logs: Vec<(String, Vec<Record>)> = Vec::new();
    for run in app.runs_of(&project).await?.into_iter().rev() {
        let feed = app.runs.feed_of(&run).await?;
        logs.push((run.id.to_string(), feed.records(0).await?));
    }
    let lines = costs::lines(logs.iter().map(|(run, records)| (run.as_str(), records.as_slice())), by, |_| 0);
    let total = costs::total(&lines);
    let value = json!({ "by": by.name(), "runs": logs.iter().map(|(run, _)| run).collect::<Vec<_>>(),
        "lines": lines.iter().map(runs::line).collect::<Vec<_>>(), "total": runs::line(&total) });
    answer::json("conductor.cost/1", value)
}
