//! Hooks: CI or a chat starts a project's run by a secret address. What is to run, and what it may cost, is stored with the
//! hook; nothing that the caller sends is even read.

use axum::response::Response;
use conductor_engine::records::flat::timestamp;
use serde_json::{Map, Value, json};

use super::parallel::{self, START};
use crate::access::throttle::Guessed;
use crate::app::App;
use crate::problem::{Doer, Problem, Result};
use crate::web::answer;
use crate::web::fields::{Field, Given, Kind, must};
use crate::web::route::{ADMIN, Asked, PUBLIC, Route, by, delete, get, post};

const GUESSED: Guessed<'_> = Guessed::Secret("hook");

const NEW: &[Field] = &[
    must("name", Kind::Text, "What it is for."),
    must("max_cost", Kind::Amount, "The most that a run of it may cost, in dollars."),
    START[0],
    START[1],
    START[2],
    START[3],
    START[5],
    START[6],
    START[7],
];

pub(crate) const ROUTES: &[Route] = &[
    get("/api/projects/{project}/hooks", ADMIN, "List the hooks that can start a run", by!(list))
        .json("conductor.hooks/1", "hooks [object]"),
    post(
        "/api/projects/{project}/hooks",
        ADMIN,
        "Make a hook that starts a run; its address is told this once",
        by!(add),
    )
    .body(NEW)
    .json("conductor.hook/1", "id text, name text, url text")
    .status(201),
    delete("/api/projects/{project}/hooks/{hook}", ADMIN, "Revoke a hook", by!(revoke))
        .json("conductor.revoked/1", "id text"),
    post("/api/hooks/{token}", PUBLIC, "Start the run of a hook; the body is not read", by!(call))
        .json("conductor.parallel-start/1", "run text, pid whole")
        .status(202)
        .any_body(),
];

async fn list(app: App, asked: Asked) -> Result<Response> {
    let project = app.project(asked.named("project")?).await?;
    let hooks = app.records.hooks(&project.id).await?;
    let hook = |hook: &crate::records::Hook| {
        json!({ "id": hook.id, "name": hook.name, "settings": hook.settings, "created_at": timestamp(hook.created),
            "revoked": hook.revoked, "used_at": hook.used.map(timestamp) })
    };
    answer::json("conductor.hooks/1", json!({ "hooks": hooks.iter().map(hook).collect::<Vec<_>>() }))
}

async fn add(app: App, asked: Asked) -> Result<Response> {
    let project = app.project(asked.named("project")?).await?;
    let name = asked.body.filled("name")?;
    let settings: Map<String, Value> = START
        .iter()
        .filter_map(|field| Some((field.name.to_owned(), asked.body.get(field.name)?.clone())))
        .collect();
    let (id, secret) = app.records.add_hook(&project.id, name, &Value::Object(settings)).await?;
    let url = format!("{}/api/hooks/{secret}", app.hosts.page());
    answer::json_with(201, "conductor.hook/1", json!({ "id": id, "name": name, "url": url }))
}

async fn revoke(app: App, asked: Asked) -> Result<Response> {
    let (project, id) = (asked.named("project")?, asked.named("hook")?);
    match app.records.revoke_hook(project, id).await? {
        true => answer::json("conductor.revoked/1", json!({ "id": id })),
        false => Err(Problem::not_found("there is no such hook, or it is revoked already")),
    }
}

async fn call(app: App, asked: Asked) -> Result<Response> {
    let from = asked.from.ip();
    if let Some(seconds) = app.throttle.wait(GUESSED, from) {
        return Err(Problem::new(429, "too many wrong hooks; wait a little").retry_after(seconds));
    }
    let Some(hook) = app.records.hook(asked.named("token")?).await? else {
        app.throttle.note_wrong(GUESSED, from);
        return Err(Problem::not_found("there is no such hook"));
    };
    let doer = Doer { name: format!("{} of {}", hook.name, hook.project), means: "hook" };
    let begun = async {
        app.hook_calls.attempt(Guessed::Call(&hook.id), from).map_err(|seconds| {
            Problem::new(429, "this hook was called too often; wait a little").retry_after(seconds)
        })?;
        let project = app.project(&hook.project).await?;
        let wanted = Given::of_body(START, hook.settings)?;
        parallel::begin(&app, &project, &wanted, &format!("hook {}", hook.name)).await
    };
    let begun = begun.await.map_err(|problem: Problem| problem.by(doer.clone()))?;
    let mut response = answer::json_with(202, "conductor.parallel-start/1", begun)?;
    response.extensions_mut().insert(doer);
    Ok(response)
}
