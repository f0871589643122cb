//! `conductor task`: answers, messages and requests for one task, whether its run is active or not.

use conductor_core::run::TaskState;
use conductor_core::run::event::{Answer, Answerer, Event};
use conductor_core::schedule::amend;
use conductor_core::schedule::{Refusal, Request};
use conductor_core::values::ids::TaskId;
use conductor_engine::agents;
use conductor_engine::runs::control::{self, ControlError};
use serde_json::json;

use super::left::Asked;
use super::{answer_either, block_on, left, talk};
use crate::archive::live;
use crate::archive::{Archive, Found, FoundTask};
use crate::args::{self, Answered, OfTask, Send};
use crate::end_block::one_line;
use crate::error::{CliError, Exit};

const SCHEMA: &str = "conductor.task/1";
const RETRY: &str = "retry";

pub(crate) fn run(args: &args::Task) -> Result<Exit, CliError> {
    match args {
        args::Task::Approve(args) => block_on(answered(args, true)),
        args::Task::Deny(args) => block_on(answered(args, false)),
        args::Task::Send(args) => block_on(send(args)),
        args::Task::Retry(args) => retry(args),
        args::Task::Skip(of) => wish(of, Request::Skip, ("skip", "is skipped"), |_| Ok(())),
        args::Task::Cancel(of) => wish(of, Request::Cancel, ("cancel", "is cancelled"), |_| Ok(())),
        args::Task::Priority(args::OfPriority { of, priority }) => {
            let request = |task| Request::SetPriority { task, priority: *priority };
            wish(of, request, ("priority", &format!("has priority {}", priority.name())), |_| Ok(()))
        }
    }
}

async fn answered(args: &Answered, allow: bool) -> Result<Exit, CliError> {
    let archive = Archive::open().await?;
    let asks =
        |found: &Found, place: usize| matches!(found.run.progress(place).state, TaskState::Asking { .. });
    let chosen = archive.task(args.of.run.as_deref(), &args.of.task, asks).await?;
    let task = chosen.task().id.clone();
    let question = match &chosen.progress().state {
        TaskState::Asking { question, .. } => question.to_string(),
        state => {
            let message = format!("task '{task}' is {}; it has asked nothing", state.status());
            return Err(CliError::new(Exit::NothingToDo, message));
        }
    };
    let given = Answer { allow, words: args.message.clone(), by: Answerer::Person };
    let request = Request::Answer { task: task.clone(), answer: given.clone() };
    let live = record(&archive, &chosen, request, |run| amend::answered(run, &task, given.clone())).await?;
    let verb = if allow { "allowed" } else { "not allowed" };
    let words = format!("{task}: {verb}: {}", one_line(&question));
    let value = json!({
        "run": chosen.found.stored.id, "task": task, "action": if allow { "approve" } else { "deny" },
        "question": question, "active": live,
    });
    answer_either(args.of.json, &words, SCHEMA, value)?;
    say_next(&chosen, live);
    Ok(Exit::Done)
}

async fn send(args: &Send) -> Result<Exit, CliError> {
    let archive = Archive::open().await?;
    let open = |found: &Found, place: usize| !found.run.progress(place).state.status().is_end();
    let chosen = archive.task(args.of.run.as_deref(), &args.of.task, open).await?;
    let task = chosen.task().id.clone();
    let request = Request::Tell { task: task.clone(), words: args.words.clone() };
    let live = record(&archive, &chosen, request, |run| amend::told(run, &task, args.words.clone())).await?;
    let words = match (live, &chosen.progress().state) {
        (true, TaskState::Running(_)) => {
            format!("{task}: sent; an agent that reads no messages while it works gets it next round")
        }
        _ => format!("{task}: recorded; its next attempt gets it"),
    };
    let value = json!({ "run": chosen.found.stored.id, "task": task, "action": "send", "active": live });
    answer_either(args.of.json, &words, SCHEMA, value)?;
    say_next(&chosen, live);
    Ok(Exit::Done)
}

fn retry(args: &args::Retried) -> Result<Exit, CliError> {
    let Some(agent) = &args.agent else {
        return wish(&args.of, Request::Retry, (RETRY, "is done again"), |_| Ok(()));
    };
    let model = args.model.clone();
    let request = |task| Request::RetryWith { task, agent: agent.clone(), model: model.clone() };
    // An agent that is not there, or does not keep the task's rules, is refused before anything is recorded.
    let can = |chosen: &FoundTask| {
        let given = chosen.task().given_to(agent, model.as_deref());
        agents::check(chosen.found.run.plan(), &given)
            .map(drop)
            .map_err(|error| CliError::new(Exit::AgentMissing, format!("task '{}': {error}", given.id)))
    };
    wish(&args.of, request, ("retry", &format!("is done again by {agent}")), can)
}

/// What changes what is to be done: asked of the coordinator, or recorded where the run is not active.
fn wish(
    of: &OfTask,
    request: impl Fn(TaskId) -> Request,
    (action, what): (&str, &str),
    can: impl Fn(&FoundTask) -> Result<(), CliError>,
) -> Result<Exit, CliError> {
    let (run, asked) = block_on(async {
        let archive = Archive::open().await?;
        let live = |found: &Found, _| archive.home.is_live(&found.stored.id);
        let chosen = archive.task(of.run.as_deref(), &of.task, live).await?;
        can(&chosen)?;
        let (task, run) = (chosen.task().id.clone(), chosen.found.stored.id.clone());
        let asked = left::ask(&archive.home, &run, request(task.clone())).await?;
        let active = asked == Asked::OfCoordinator;
        let mut value = json!({ "run": run, "task": task, "action": action, "active": active });
        if action == RETRY && is_edited(&archive, &chosen.found) {
            value["file_edited"] = true.into();
            say_edited(&chosen.found, active);
        }
        answer_either(of.json, &format!("{task} {what}"), SCHEMA, value)?;
        Ok((run, asked))
    })?;
    left::follow_up(&run, asked)
}

fn is_edited(archive: &Archive, found: &Found) -> bool {
    let stored = &found.stored;
    super::run::is_edited(&archive.home.run(&stored.id), &stored.directory, &stored.source)
}

/// A retry of one task does it again as the run knows it. Whose file is another by now may have meant the new text.
fn say_edited(found: &Found, active: bool) {
    let stored = &found.stored;
    let when = if active { "when the run is over" } else { "instead" };
    talk(format!(
        "{} was edited since; the task is done again as it was. For its new text, {when}: conductor run --resume {} \
         --retry-failed",
        stored.file_name().unwrap_or(&stored.source),
        stored.id
    ));
}

/// Asks the coordinator, or records it where the run is not active. Returns whether it is active.
async fn record(
    archive: &Archive,
    chosen: &FoundTask,
    request: Request,
    events: impl Fn(&conductor_core::run::Run) -> Result<Vec<Event>, Refusal>,
) -> Result<bool, CliError> {
    let run = &chosen.found.stored.id;
    match control::elsewhere::ask(&archive.home, run, &request) {
        Ok(()) => Ok(true),
        Err(ControlError::NotThere) => {
            let mut amendment = archive.amend(run).await?;
            let events = events(amendment.run())
                .map_err(|refusal| CliError::new(Exit::NothingToDo, refusal.to_string()))?;
            amendment.append(&events).await?;
            Ok(false)
        }
        Err(ControlError::Silent) => Err(live::silent(&archive.home, run)),
        Err(error) => Err(unable(chosen, error)),
    }
}

fn unable(chosen: &FoundTask, error: ControlError) -> CliError {
    match error {
        ControlError::Refused(why) => CliError::new(Exit::NothingToDo, why),
        error => CliError::new(Exit::Unexpected, format!("run {}: {error}", chosen.found.stored.id)),
    }
}

fn say_next(chosen: &FoundTask, live: bool) {
    if !live {
        talk(format!("to go on with it: conductor run --resume {}", chosen.found.stored.id));
    }
}
