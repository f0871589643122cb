//! `conductor workers`: who may work for the runs of this state directory.

use std::collections::BTreeMap;

use conductor_core::values::ids::WorkerId;
use conductor_engine::dispatch::distant::enrolment::{Enrolled, Enrolment};
use conductor_engine::dispatch::distant::{remove_queue, take_in_waiting};
use conductor_engine::dispatch::{WorkerView, broker};
use conductor_engine::host::home::Home;
use conductor_engine::records::flat::timestamp;
use conductor_engine::runs::live;
use serde_json::{Value, json};

use super::{answer, answer_either, answer_json, block_on, talk};
use crate::args;
use crate::error::{CliError, Exit};
use crate::output::table::columns;

pub(crate) fn run(args: &args::Workers) -> Result<Exit, CliError> {
    let home = Home::open()?;
    match args {
        args::Workers::Token(args) => token(&home, args),
        args::Workers::List(args) => block_on(list(&home, args)),
        args::Workers::Drain(args) => drain(&home, args),
        args::Workers::Revoke(args) => block_on(revoke(&home, args)),
    }
}

pub(crate) fn named(name: &str) -> Result<WorkerId, CliError> {
    WorkerId::parse(name).ok_or_else(|| {
        let message =
            format!("{name:?} is no name of a worker: letters, digits, '.', '_' and '-', 64 at the most");
        CliError::new(Exit::Usage, message)
    })
}

fn token(home: &Home, args: &args::WorkersToken) -> Result<Exit, CliError> {
    let name = args.name.as_deref().map(named).transpose()?;
    let token = Enrolment::of(home.root()).invite(name)?;
    let words = token.words();
    // Alone on standard output, for `TOKEN=$(conductor workers token)`.
    talk(format!("a token for worker {}, good for one day and once; it is shown this once", token.worker));
    answer_either(
        args.json,
        &words,
        "conductor.worker-token/1",
        json!({ "worker": token.worker, "token": words }),
    )?;
    Ok(Exit::Done)
}

async fn list(home: &Home, args: &args::WorkersList) -> Result<Exit, CliError> {
    if let Some(queue) = &args.queue {
        let broker = broker::open(queue)?;
        let count = take_in_waiting(&*broker, home.root()).await?;
        if count > 0 {
            talk(format!("answered {count} that waited to be let in"));
        }
    }
    let entries = Enrolment::of(home.root()).entries()?;
    let present = present(home);
    let there = |name: &str| WorkerId::parse(name).and_then(|name| present.get(&name));
    if args.json {
        let workers = entries.workers.iter().map(|(name, worker)| entry(name, worker, there(name)));
        let invited = entries.invitations.iter().map(|(name, invitation)| {
            json!({ "name": name, "state": "invited", "until": timestamp(invitation.until.0) })
        });
        let all: Vec<_> = workers.chain(invited).collect();
        answer_json(&json!({ "schema": "conductor.workers/1", "workers": all }))?;
        return Ok(Exit::Done);
    }
    if entries.workers.is_empty() && entries.invitations.is_empty() {
        answer("there are no workers on other machines; `conductor workers token` lets one in\n")?;
        return Ok(Exit::Done);
    }
    let workers = entries.workers.iter().map(|(name, worker)| {
        let view = there(name);
        let is_here = if view.is_some() { "yes" } else { "no" };
        let slots = view.map_or_else(String::new, |view| format!("{} of {}", view.busy, view.slots));
        let labels = view.map_or_else(String::new, |view| view.labels.join(","));
        let since = format!("since {}", timestamp(worker.since.0));
        [name.clone(), state(worker).to_owned(), is_here.to_owned(), slots, labels, since]
    });
    let invited = entries.invitations.iter().map(|(name, invitation)| {
        let until = format!("until {}", timestamp(invitation.until.0));
        [name.clone(), "invited".to_owned(), "no".to_owned(), String::new(), String::new(), until]
    });
    let head = ["NAME", "STATE", "HERE", "BUSY", "LABELS", "WHEN"];
    answer(&columns(head, workers.chain(invited).collect()))?;
    Ok(Exit::Done)
}

fn state(worker: &Enrolled) -> &'static str {
    if worker.drained { "drained" } else { "enrolled" }
}

/// As `GET /api/workers` has it.
fn entry(name: &str, worker: &Enrolled, view: Option<&WorkerView>) -> Value {
    let mut value = json!({ "name": name, "state": state(worker), "since": timestamp(worker.since.0),
        "key": worker.key, "here": view.is_some() });
    if let Some(view) = view {
        value["slots"] = json!(view.slots);
        value["busy"] = json!(view.busy);
        value["labels"] = json!(view.labels);
    }
    value
}

/// Those that are there for an active run of this machine, with what all of these have them do.
fn present(home: &Home) -> BTreeMap<WorkerId, WorkerView> {
    let mut present = BTreeMap::new();
    let known = live::all(home).into_iter().flat_map(|run| run.workers);
    known.for_each(|worker| worker.add_to(&mut present));
    present
}

fn drain(home: &Home, args: &args::WorkersDrain) -> Result<Exit, CliError> {
    let worker = named(&args.name)?;
    Enrolment::of(home.root()).drain(&worker, !args.undo)?;
    let (state, words) = match args.undo {
        true => ("enrolled", format!("worker {worker} gets work again")),
        false => ("drained", format!("worker {worker} gets nothing more; what it is at is finished")),
    };
    answer_either(args.json, &words, "conductor.worker/1", json!({ "name": worker, "state": state }))?;
    Ok(Exit::Done)
}

async fn revoke(home: &Home, args: &args::WorkersRevoke) -> Result<Exit, CliError> {
    let worker = named(&args.name)?;
    Enrolment::of(home.root()).revoke(&worker)?;
    if let Some(queue) = &args.queue {
        remove_queue(&*broker::open(queue)?, home.root(), &worker).await?;
    }
    let words = format!("worker {worker} is shut out: active runs take back what it has");
    answer_either(args.json, &words, "conductor.worker/1", json!({ "name": worker, "state": "revoked" }))?;
    Ok(Exit::Done)
}
