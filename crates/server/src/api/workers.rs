//! Workers on other machines: who was let in, who is there, and that one gets nothing more or is shut out.

use std::collections::BTreeMap;

use axum::response::Response;
use conductor_core::values::ids::WorkerId;
use conductor_engine::dispatch::WorkerView;
use conductor_engine::dispatch::distant::enrolment::{Enrolled, Enrolment};
use conductor_engine::records::flat::timestamp;
use serde_json::{Value, json};

use crate::access::Role;
use crate::app::App;
use crate::fleet;
use crate::problem::{Problem, Result};
use crate::web::answer;
use crate::web::fields::{Kind, may};
use crate::web::route::{Asked, Route, Rule, by, delete, get, post};

const VIEWERS: Rule = Rule::Everywhere(Role::Viewer);
const ADMINS: Rule = Rule::Everywhere(Role::Admin);
const WORKER: &str = "conductor.worker/1";

pub(crate) const ROUTES: &[Route] = &[
    get(
        "/api/workers",
        VIEWERS,
        "List the workers on other machines that were let in, and what those have that are there for an active run",
        by!(workers),
    )
    .json("conductor.workers/1", "workers [object]"),
    post(
        "/api/workers/{worker}/drain",
        ADMINS,
        "Send a worker no new tasks; let running ones finish",
        by!(drain),
    )
    .body(&[may("undo", Kind::Flag, "Give it work again.")])
    .json(WORKER, "name text, state text"),
    delete(
        "/api/workers/{worker}",
        ADMINS,
        "Revoke a worker: take its tasks back and refuse its reports",
        by!(revoke),
    )
    .json(WORKER, "name text, state text"),
];

async fn workers(app: App, _: Asked) -> Result<Response> {
    let entries = fleet::entries(&app.home)?;
    let present = fleet::present(&app.home, &app.runs).await?;
    let workers = entries.workers.iter().map(|(name, enrolled)| worker(name, enrolled, &present));
    let invited = entries.invitations.iter().map(|(name, invitation)| {
        json!({ "name": name, "state": "invited", "until": timestamp(invitation.until.0) })
    });
    let all: Vec<Value> = workers.chain(invited).collect();
    answer::json("conductor.workers/1", json!({ "workers": all }))
}

/// As `conductor workers list` has it, and what is known of it where it is there.
fn worker(name: &str, enrolled: &Enrolled, present: &BTreeMap<WorkerId, WorkerView>) -> Value {
    let state = if enrolled.drained { "drained" } else { "enrolled" };
    let mut value = json!({ "name": name, "state": state, "since": timestamp(enrolled.since.0),
        "key": enrolled.key, "here": false });
    if let Some(view) = WorkerId::parse(name).and_then(|name| present.get(&name)) {
        value["here"] = json!(true);
        value["slots"] = json!(view.slots);
        value["busy"] = json!(view.busy);
        value["labels"] = json!(view.labels);
    }
    value
}

fn named(asked: &Asked) -> Result<WorkerId> {
    let name = asked.named("worker")?;
    WorkerId::parse(name).ok_or_else(|| Problem::not_found(format!("there is no worker {name}")))
}

async fn drain(app: App, asked: Asked) -> Result<Response> {
    let (worker, undo) = (named(&asked)?, asked.body.flag("undo"));
    Enrolment::of(app.home.root()).drain(&worker, !undo)?;
    let state = if undo { "enrolled" } else { "drained" };
    answer::json(WORKER, json!({ "name": worker, "state": state }))
}

async fn revoke(app: App, asked: Asked) -> Result<Response> {
    let worker = named(&asked)?;
    Enrolment::of(app.home.root()).revoke(&worker)?;
    answer::json(WORKER, json!({ "name": worker, "state": "revoked" }))
}
