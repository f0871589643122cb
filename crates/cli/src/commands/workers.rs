//! `conductor workers`: who may work for the runs of this state directory.

use conductor_core::values::ids::WorkerId;
use conductor_engine::dispatch::broker;
use conductor_engine::dispatch::distant::enrolment::Enrolment;
use conductor_engine::dispatch::distant::{remove_queue, take_in_waiting};
use conductor_engine::host::home::Home;
use conductor_engine::records::flat::timestamp;
use serde_json::json;

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
    if args.json {
        let workers = entries.workers.iter().map(|(name, worker)| {
            json!({ "name": name, "state": if worker.drained { "drained" } else { "enrolled" }, "since": timestamp(worker.since.0),
                    "key": worker.key })
        });
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
        let state = if worker.drained { "drained" } else { "enrolled" };
        [name.clone(), state.to_owned(), format!("since {}", timestamp(worker.since.0))]
    });
    let invited = entries.invitations.iter().map(|(name, invitation)| {
        [name.clone(), "invited".to_owned(), format!("until {}", timestamp(invitation.until.0))]
    });
    answer(&columns(["NAME", "STATE", "WHEN"], workers.chain(invited).collect()))?;
    Ok(Exit::Done)
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
