//! A project's execution as one thing: start what is not done, see how it stands, cancel it, look at its batches.

use std::ffi::OsString;

use axum::response::Response;
use conductor_core::plan::graph::{Graph, Strategy};
use conductor_core::report::{BatchFigures, ExecutionResult};
use conductor_core::run::Run;
use conductor_core::schedule::{Request, Snapshot};
use conductor_engine::records::flat::timestamp;
use conductor_engine::runs::control::async_client;
use conductor_engine::stores::StoredRun;
use serde_json::{Value, json};

use super::{runs, steering};
use crate::access::identity::OWNER;
use crate::app::App;
use crate::live::Feed;
use crate::problem::{Problem, Result};
use crate::records::Project;
use crate::web::answer;
use crate::web::fields::{Field, Given, Kind, may};
use crate::web::route::{Asked, OPERATOR, Route, VIEWER, by, get, post};

/// So many tasks are part of the first message; of larger runs the rest is read page by page.
const FIRST_TASKS: usize = 1_000;

/// Three at once, and a level after the other, unless the caller says otherwise.
const AT_ONCE: u64 = 3;

pub(crate) const START: &[Field] = &[
    may("max_concurrency", Kind::Whole(1, 100_000), "How many tasks run at once (default 3)."),
    may("only", Kind::Text, "Run only these tasks: ids, globs, group:G, epic:E; +id adds what id needs."),
    may("agent", Kind::Agent, "The agent for tasks that name none."),
    may("model", Kind::Text, "The model for tasks that name none."),
    may(
        "max_cost",
        Kind::Amount,
        "Interrupt agents and start nothing new once this many dollars have been spent.",
    ),
    may(
        "merge",
        Kind::OneOf(&["none", "branch", "pr"]),
        "What becomes of the run's branch: nothing, merged at the end, or a pull request (default none).",
    ),
    may("isolation", Kind::OneOf(&["worktree", "clone", "none"]), "Where tasks work."),
    may(
        "strategy",
        Kind::OneOf(&["queue", "batch", "sequential"]),
        "When a task may start, beyond its dependencies (default batch).",
    ),
];

const STATUS: &str =
    "running flag, active_agents whole, agents [object], max_concurrency whole?, run text?, result object?";

pub(crate) const ROUTES: &[Route] = &[
    post(
        "/api/projects/{project}/parallel/start",
        OPERATOR,
        "Run the tasks of the file that are not done yet",
        by!(start),
    )
    .body(START)
    .json(
        "conductor.parallel-start/1",
        "run text, pid whole, running flag, max_concurrency whole, strategy text",
    )
    .status(202),
    get(
        "/api/projects/{project}/parallel/status",
        VIEWER,
        "How the project's newest run stands",
        by!(status),
    )
    .json("conductor.parallel-status/1", STATUS),
    post(
        "/api/projects/{project}/parallel/cancel",
        OPERATOR,
        "Cancel everything in the live run that has not ended",
        by!(cancel),
    )
    .json("conductor.parallel-cancel/1", "run text, cancelled whole"),
    get(
        "/api/projects/{project}/parallel/batches",
        VIEWER,
        "The batches of the newest run; of the file where there is none",
        by!(batches),
    )
    .json("conductor.batches/1", "run text?, batches [object]"),
    get(
        "/api/projects/{project}/parallel/batches/{number}",
        VIEWER,
        "One batch, counted from 1, with its tasks",
        by!(batch),
    )
    .json("conductor.batch/1", "run text?, batch object"),
];

/// The run of the project that a process drives, of this machine or of another one, where there is one.
async fn live(app: &App, project: &Project) -> Result<Option<StoredRun>> {
    Ok(app.runs_of(project).await?.into_iter().find(|run| is_driven(app, run)))
}

/// Whether a process works on a run, wherever that is.
pub(crate) fn is_driven(app: &App, run: &StoredRun) -> bool {
    app.home.is_live(&run.id) || run.holder().is_some()
}

async fn newest(app: &App, project: &Project) -> Result<Option<StoredRun>> {
    let runs = app.runs_of(project).await?;
    let live = runs.iter().find(|run| is_driven(app, run));
    Ok(live.or(runs.first()).cloned())
}

async fn start(app: App, asked: Asked) -> Result<Response> {
    let project = app.project(asked.named("project")?).await?;
    let begun = begin(&app, &project, &asked.body, &asked.identity.name).await?;
    answer::json_with(202, "conductor.parallel-start/1", begun)
}

/// One at a time: of two that want to start the same project, one does, and the other is told of it.
pub(crate) async fn begin(app: &App, project: &Project, wanted: &Given, by: &str) -> Result<Value> {
    let _turn = app.starting.take().await?;
    app.runs.forget_list().await;
    if let Some(run) = live(app, project).await? {
        return Err(Problem::conflict(format!("run {} of this project is under way", run.id))
            .with("run", run.id.as_str()));
    }
    // The command would only count the file's mistakes; each is told with its place.
    super::projects::ReadFile::of(project)?.plan(project)?;
    let at_once = wanted.whole("max_concurrency").unwrap_or(AT_ONCE);
    let strategy = wanted.text("strategy").unwrap_or("batch");
    let mut words = vec![OsString::from("run")];
    words.extend(taken_up_by(by));
    words.extend(start_words(project, wanted, at_once, strategy));
    let begun = app.program.json(&project.directory, words, None).await?;
    app.runs.forget_list().await;
    Ok(
        json!({ "run": begun["run"], "pid": begun["pid"], "running": true, "max_concurrency": at_once, "strategy": strategy }),
    )
}

/// What the run's log is to say of who took it up; nothing where that is the owner.
pub(crate) fn taken_up_by(name: &str) -> Option<OsString> {
    (name != OWNER).then(|| format!("--by={name}").into())
}

fn start_words(project: &Project, wanted: &Given, at_once: u64, strategy: &str) -> Vec<OsString> {
    let mut words: Vec<OsString> = ["--detach", "--json", "--skip-done"].map(OsString::from).to_vec();
    words.push(format!("--parallel={at_once}").into());
    words.push(format!("--strategy={strategy}").into());
    for name in ["only", "agent", "model", "merge", "isolation"] {
        words.extend(wanted.text(name).map(|value| OsString::from(format!("--{name}={value}"))));
    }
    words.extend(wanted.get("max_cost").map(|cost| OsString::from(format!("--max-cost={cost}"))));
    words.push("--".into());
    words.push(project.file.clone().into_os_string());
    words
}

async fn status(app: App, asked: Asked) -> Result<Response> {
    let project = app.project(asked.named("project")?).await?;
    let Some(newest) = newest(&app, &project).await? else {
        let nothing = json!({ "running": false, "active_agents": 0, "agents": [], "max_concurrency": null, "run": null, "result": null });
        return answer::json("conductor.parallel-status/1", nothing);
    };
    let feed = app.runs.feed_of(&newest).await?;
    let is_driven = is_driven(&app, &newest);
    let snapshot = match feed.is_live() {
        true => async_client::live_view(&feed.directory()).await.ok().map(|view| view.snapshot),
        false => None,
    };
    let snapshot = snapshot.unwrap_or_else(|| runs::left(feed.look(Snapshot::of), is_driven));
    let agents: Vec<Value> = snapshot
        .running
        .iter()
        .map(|one| {
            json!({ "task_id": one.task, "epic_id": one.epic, "model": one.model, "agent": one.agent,
                "duration": one.since.map(|since| since.0 as f64 / 1_000.0) })
        })
        .collect();
    let value = json!({
        "running": is_driven, "active_agents": snapshot.counts.running, "agents": agents,
        "max_concurrency": snapshot.slots, "run": feed.id(), "state": snapshot.state, "seq": snapshot.seq,
        "counts": snapshot.counts, "result": result(&feed),
    });
    answer::json("conductor.parallel-status/1", value)
}

/// What came of it so far.
pub(crate) fn result(feed: &Feed) -> Value {
    feed.look(|run| {
        let batches = levels(run);
        let is_over =
            |batch: &Vec<usize>| batch.iter().all(|place| run.progress(*place).state.status().is_end());
        let over = batches.iter().enumerate().filter(|(_, batch)| is_over(batch));
        let over = over.map(|(place, batch)| batch_json(run, place, batch)).collect();
        json!(ExecutionResult::<Value>::new(run, Some(batches.len()), over))
    })
}

/// The tasks of each batch. A run that does not wait for whole batches has levels all the same.
fn levels(run: &Run) -> Vec<Vec<usize>> {
    let Ok(graph) = Graph::new(run.plan(), Strategy::Queue) else { return Vec::new() };
    graph.batches().into_iter().map(|batch| batch.into_iter().map(|node| node as usize).collect()).collect()
}

fn batch_json(run: &Run, place: usize, tasks: &[usize]) -> Value {
    let number = place as u32 + 1;
    let known = run.batches().iter().find(|batch| batch.number == number);
    let elapsed = known.and_then(|batch| batch.result.as_ref()).map(|result| result.elapsed);
    let mut value = json!(BatchFigures::new(run, number, tasks, elapsed));
    value["started_at"] = json!(known.map(|batch| timestamp(batch.started.0)));
    value
}

async fn cancel(app: App, asked: Asked) -> Result<Response> {
    let project = app.project(asked.named("project")?).await?;
    let Some(run) = live(&app, &project).await? else {
        return Err(Problem::conflict("no run of this project is under way"));
    };
    let feed = app.runs.feed_of(&run).await?;
    let open = feed.look(|run| run.total() - run.ended_count());
    match feed.is_live() {
        true => async_client::ask(&feed.directory(), &Request::CancelAll).await?,
        false => drop(steering::asked_elsewhere(&app, &feed, Request::CancelAll).await?),
    }
    answer::json("conductor.parallel-cancel/1", json!({ "run": run.id, "cancelled": open }))
}

/// All batches, each as it stands.
async fn all_batches(app: &App, project: &Project) -> Result<(Option<String>, Vec<Value>)> {
    if let Some(run) = newest(app, project).await? {
        let feed = app.runs.feed_of(&run).await?;
        let batches = feed.look(|run| {
            let levels = levels(run);
            levels.iter().enumerate().map(|(place, tasks)| batch_json(run, place, tasks)).collect()
        });
        return Ok((Some(run.id.to_string()), batches));
    }
    let plan = super::projects::ReadFile::of(project)?.plan(project)?;
    let graph = Graph::new(&plan, Strategy::Queue).map_err(|error| Problem::new(422, error))?;
    let batch = |(place, batch): (usize, Vec<u32>)| {
        let ids: Vec<&str> = batch.iter().map(|node| graph.id(*node).as_str()).collect();
        json!({ "batch_number": place + 1, "status": "pending", "task_count": ids.len(), "task_ids": ids,
            "completed": 0, "failed": [], "failed_ids": [], "left_out": [], "open": ids, "started_at": null,
            "duration_ms": null, "duration": null, "cost_usd": null, "cost": null })
    };
    Ok((None, graph.batches().into_iter().enumerate().map(batch).collect()))
}

async fn batches(app: App, asked: Asked) -> Result<Response> {
    let project = app.project(asked.named("project")?).await?;
    let (run, batches) = all_batches(&app, &project).await?;
    answer::json("conductor.batches/1", json!({ "run": run, "batches": batches }))
}

async fn batch(app: App, asked: Asked) -> Result<Response> {
    let project = app.project(asked.named("project")?).await?;
    let (run, batches) = all_batches(&app, &project).await?;
    let number = asked.named("number")?;
    let found =
        number.parse::<usize>().ok().and_then(|number| batches.into_iter().nth(number.checked_sub(1)?));
    match found {
        Some(batch) => answer::json("conductor.batch/1", json!({ "run": run, "batch": batch })),
        None => Err(Problem::not_found(format!("there is no batch {number}; they are counted from 1"))),
    }
}

/// How a run is told of in the first message of a project's WebSocket.
pub(crate) async fn initial(app: &App, feed: &Feed) -> Value {
    let mut status = runs::status(app, feed).await;
    status["tasks"] = json!(super::tasks::all(feed, FIRST_TASKS));
    status["cost"] = feed.look(runs::spent);
    status
}
