//! Requests to a run: over its coordinator's socket where it is live, by the command where it is not.

use std::collections::BTreeMap;
use std::ffi::OsString;

use axum::response::Response;
use conductor_core::plan::Priority;
use conductor_core::run::event::{Answer, Answerer, Capped};
use conductor_core::schedule::Request;
use conductor_core::values::ids::TaskId;
use conductor_core::values::units::{Millis, Usd};
use conductor_engine::agents;
use conductor_engine::runs::control::{ControlError, async_client, elsewhere};
use serde_json::json;

use super::{parallel, tasks};
use crate::app::App;
use crate::live::Feed;
use crate::problem::{Problem, Result};
use crate::web::answer;
use crate::web::fields::{Field, Given, Kind, may, must};
use crate::web::route::{Asked, OPERATOR, Route, by, post};

const DONE: &str = "run text, state text";
const OF_TASK: &str = "run text, task text, asked text";
const MESSAGE: &[Field] = &[may("message", Kind::Words, "A message to the agent with the answer.")];

pub(crate) const ROUTES: &[Route] = &[
    post("/api/runs/{run}/pause", OPERATOR, "Start no new tasks, let running ones finish", by!(pause))
        .json("conductor.pause/1", DONE),
    post("/api/runs/{run}/continue", OPERATOR, "Go on with a paused run", by!(go_on))
        .json("conductor.continue/1", DONE),
    post("/api/runs/{run}/stop", OPERATOR, "Stop what runs and leave; the run can be resumed", by!(stop))
        .json("conductor.stop/1", DONE),
    post("/api/runs/{run}/slots", OPERATOR, "Change how many tasks run at once", by!(slots))
        .body(&[must("slots", Kind::Whole(1, 100_000), "How many.")])
        .json("conductor.parallel/1", "run text, slots whole"),
    post("/api/runs/{run}/caps", OPERATOR, "Change what a run may use, active or not", by!(caps))
        .body(&[
            may("max_cost", Kind::Amount, "Interrupt agents and start nothing new once this many dollars have been spent."),
            may("max_tokens", Kind::Whole(1, u64::MAX >> 1), "Start nothing new once so many tokens are used."),
            may("max_time", Kind::Whole(1, u64::MAX >> 20), "Stop after so many seconds."),
            may("max_attempts", Kind::Whole(1, u32::MAX as u64), "Start nothing new after so many attempts."),
        ])
        .json(
            "conductor.caps/1",
            "run text, active flag, max_cost_usd number?, max_tokens whole?, max_time_ms whole?, max_attempts whole?",
        ),
    post(
        "/api/runs/{run}/cancel",
        OPERATOR,
        "Cancel everything that has not ended, or one group of it",
        by!(cancel),
    )
    .body(&[may("group", Kind::Text, "Only the tasks of this group.")])
    .json("conductor.cancel/1", "run text, cancelled whole?"),
    post("/api/runs/{run}/resume", OPERATOR, "Go on with a run that was left", by!(resume))
        .body(&[
            may("retry_failed", Kind::Flag, "Also do again what failed, was skipped or cancelled."),
            may("max_concurrency", Kind::Whole(1, 100_000), "How many tasks run at once."),
            may("max_cost", Kind::Amount, "Interrupt agents and start nothing new once this many dollars have been spent."),
        ])
        .json("conductor.detached/1", "run text, pid whole")
        .status(202),
    post(
        "/api/runs/{run}/tasks/{task}/approve",
        OPERATOR,
        "Allow what a task's agent asks to do",
        by!(approve),
    )
    .body(MESSAGE)
    .json("conductor.answer/1", OF_TASK),
    post("/api/runs/{run}/tasks/{task}/deny", OPERATOR, "Deny what a task's agent asks to do", by!(deny))
        .body(MESSAGE)
        .json("conductor.answer/1", OF_TASK),
    post("/api/runs/{run}/tasks/{task}/send", OPERATOR, "Send a message to a task's agent", by!(send))
        .body(&[must("words", Kind::Words, "The message.")])
        .json("conductor.answer/1", OF_TASK),
    post(
        "/api/runs/{run}/tasks/{task}/retry",
        OPERATOR,
        "Run a task again, with its attempts counted anew",
        by!(retry),
    )
    .body(&[
        may("agent", Kind::Agent, "Give it to this agent instead."),
        may("model", Kind::Text, "Use this model of that agent (default: the agent's usual one)."),
    ])
    .json("conductor.answer/1", OF_TASK),
    post("/api/runs/{run}/tasks/{task}/skip", OPERATOR, "Skip a task that has not started", by!(skip))
        .json("conductor.answer/1", OF_TASK),
    post(
        "/api/runs/{run}/tasks/{task}/cancel",
        OPERATOR,
        "Cancel a task, and stop it if it is running",
        by!(cancel_task),
    )
    .json("conductor.answer/1", OF_TASK),
    post(
        "/api/runs/{run}/tasks/{task}/priority",
        OPERATOR,
        "Change how urgent a task is, and with it which task starts next",
        by!(priority),
    )
    .body(&[must("priority", Kind::Whole(0, 4), "From 0 (critical) to 4 (backlog).")])
    .json("conductor.answer/1", OF_TASK),
];

/// Asks a live run, and shows how it stands then.
async fn ask(app: &App, asked: &Asked, schema: &str, request: Request) -> Result<Response> {
    let feed = app.runs.feed(asked.named("run")?).await?;
    if app.runs.is_elsewhere(feed.id()).await? {
        return ask_elsewhere(app, &feed, schema, request).await;
    }
    if !feed.is_live() {
        return Err(Problem::conflict(format!("run {} is not active", feed.id()))
            .help(format!("go on with it: POST /api/runs/{}/resume", feed.id())));
    }
    async_client::ask(&feed.directory(), &request).await?;
    let state = async_client::live_view(&feed.directory()).await.map(|view| view.snapshot.state);
    answer::json(schema, json!({ "run": feed.id(), "state": state.unwrap_or_else(|_| "over".to_owned()) }))
}

/// As `ask`, of a run that another machine drives: by way of the store that both share.
async fn ask_elsewhere(app: &App, feed: &Feed, schema: &str, request: Request) -> Result<Response> {
    let state = asked_elsewhere(app, feed, request).await?;
    answer::json(schema, json!({ "run": feed.id(), "state": state }))
}

/// How the run stands then.
pub(crate) async fn asked_elsewhere(app: &App, feed: &Feed, request: Request) -> Result<String> {
    let (home, run) = (app.home.clone(), feed.id().clone());
    let asking = tokio::task::spawn_blocking(move || {
        elsewhere::ask(&home, &run, &request)?;
        Ok(elsewhere::live_view(&home, &run).map(|view| view.snapshot.state))
    });
    let asked: std::result::Result<_, ControlError> =
        asking.await.unwrap_or_else(|failed| Err(std::io::Error::other(failed).into()));
    Ok(asked?.unwrap_or_else(|_| "over".to_owned()))
}

async fn pause(app: App, asked: Asked) -> Result<Response> {
    ask(&app, &asked, "conductor.pause/1", Request::Pause).await
}

async fn go_on(app: App, asked: Asked) -> Result<Response> {
    ask(&app, &asked, "conductor.continue/1", Request::Continue).await
}

async fn stop(app: App, asked: Asked) -> Result<Response> {
    ask(&app, &asked, "conductor.stop/1", Request::Stop).await
}

async fn slots(app: App, asked: Asked) -> Result<Response> {
    let slots = asked.body.whole("slots").and_then(|slots| u32::try_from(slots).ok()).unwrap_or(1);
    ask(&app, &asked, "conductor.parallel/1", Request::SetSlots(slots)).await?;
    let feed = app.runs.feed(asked.named("run")?).await?;
    answer::json("conductor.parallel/1", json!({ "run": feed.id(), "slots": slots }))
}

async fn caps(app: App, asked: Asked) -> Result<Response> {
    let feed = app.runs.feed(asked.named("run")?).await?;
    let caps = wanted(&asked.body);
    if caps.is_empty() {
        return Err(Problem::new(422, "no cap is named")
            .help("name one of max_cost, max_tokens, max_time and max_attempts"));
    }
    if feed.is_live() {
        async_client::ask(&feed.directory(), &Request::SetCaps(caps.clone())).await?;
        let value = json!({
            "run": feed.id(), "active": true,
            "max_cost_usd": caps.get(&Capped::Cost).map(|cap| Usd(*cap).dollars()),
            "max_tokens": caps.get(&Capped::Tokens), "max_time_ms": caps.get(&Capped::Time),
            "max_attempts": caps.get(&Capped::Attempts),
        });
        return answer::json("conductor.caps/1", value);
    }
    let mut words: Vec<OsString> = vec!["cap".into(), "--json".into()];
    words.extend(caps.into_iter().filter_map(|(what, cap)| flag(what, cap)));
    words.extend([OsString::from("--"), feed.id().as_str().into()]);
    let said = app.program.json(&directory(&app, &feed.stored.directory), words, None).await?;
    answer::json("conductor.caps/1", said)
}

/// In the units of the core.
fn wanted(body: &Given) -> BTreeMap<Capped, u64> {
    let cost = body.get("max_cost").and_then(serde_json::Value::as_f64);
    let each = [
        (Capped::Cost, cost.map(|dollars| Usd::from_dollars(dollars).0)),
        (Capped::Tokens, body.whole("max_tokens")),
        (Capped::Time, body.whole("max_time").map(|seconds| Millis::from_secs(seconds).0)),
        (Capped::Attempts, body.whole("max_attempts")),
    ];
    each.into_iter().filter_map(|(what, cap)| Some((what, cap?))).collect()
}

fn flag(what: Capped, cap: u64) -> Option<OsString> {
    Some(OsString::from(match what {
        Capped::Cost => format!("--max-cost={}", Usd(cap).dollars()),
        Capped::Tokens => format!("--max-tokens={cap}"),
        Capped::Time => format!("--max-time={cap}ms"),
        Capped::Attempts => format!("--max-attempts={cap}"),
        Capped::Turns => return None,
    }))
}

async fn cancel(app: App, asked: Asked) -> Result<Response> {
    let feed = app.runs.feed(asked.named("run")?).await?;
    let what = match asked.body.text("group") {
        Some(group) => OsString::from(format!("--group={group}")),
        None => "--all".into(),
    };
    let words = vec!["cancel".into(), what, "--json".into(), format!("--run={}", feed.id()).into()];
    let said = app.program.json(&directory(&app, &feed.stored.directory), words, None).await?;
    answer::json("conductor.cancel/1", said)
}

/// A run's folder may be gone; the command needs none then.
fn directory(app: &App, wanted: &std::path::Path) -> std::path::PathBuf {
    if wanted.is_dir() { wanted.to_owned() } else { app.home.root().to_owned() }
}

async fn resume(app: App, asked: Asked) -> Result<Response> {
    let _turn = app.starting.take().await?;
    app.runs.forget_list().await;
    let run = app.runs.named(asked.named("run")?).await?;
    if parallel::is_driven(&app, &run) {
        return Err(Problem::conflict(format!("run {} is under way", run.id)).with("run", run.id.as_str()));
    }
    let mut words: Vec<OsString> =
        vec!["run".into(), "--detach".into(), "--json".into(), format!("--resume={}", run.id).into()];
    if asked.body.flag("retry_failed") {
        words.push("--retry-failed".into());
    }
    words.extend(
        asked.body.whole("max_concurrency").map(|count| OsString::from(format!("--parallel={count}"))),
    );
    words.extend(asked.body.get("max_cost").map(|cost| OsString::from(format!("--max-cost={cost}"))));
    words.extend(parallel::taken_up_by(&asked.identity.name));
    let begun = app.program.json(&run.directory, words, None).await?;
    answer::json_with(202, "conductor.detached/1", begun)
}

/// Of one task: a live run is asked itself; what one that was left can still take, the command does.
async fn of_task(
    app: &App,
    asked: &Asked,
    verb: &str,
    more: Vec<OsString>,
    request: impl FnOnce(TaskId) -> Request,
) -> Result<Response> {
    let feed = app.runs.feed(asked.named("run")?).await?;
    let task =
        feed.look(|run| Ok::<_, Problem>(run.task(tasks::find(run, asked.named("task")?)?).0.id.clone()))?;
    let value = json!({ "run": feed.id(), "task": task, "asked": verb });
    if feed.is_live() {
        async_client::ask(&feed.directory(), &request(task)).await?;
        return answer::json("conductor.answer/1", value);
    }
    // Words to send and a priority come behind the task, a message before it.
    let is_behind = matches!(verb, "send" | "priority");
    let (behind, before) = if is_behind { (more, Vec::new()) } else { (Vec::new(), more) };
    let mut words: Vec<OsString> =
        vec!["task".into(), verb.into(), "--json".into(), format!("--run={}", feed.id()).into()];
    words.extend(before);
    words.extend([OsString::from("--"), task.as_str().into()]);
    words.extend(behind);
    app.program.json(&directory(app, &feed.stored.directory), words, None).await?;
    answer::json("conductor.answer/1", value)
}

async fn answered(app: App, asked: Asked, allow: bool) -> Result<Response> {
    let words = asked.body.text("message").map(str::to_owned);
    let more = words.iter().map(|words| OsString::from(format!("--message={words}"))).collect();
    let verb = if allow { "approve" } else { "deny" };
    of_task(&app, &asked, verb, more, |task| Request::Answer {
        task,
        answer: Answer { allow, words, by: Answerer::Person },
    })
    .await
}

async fn approve(app: App, asked: Asked) -> Result<Response> {
    answered(app, asked, true).await
}

async fn deny(app: App, asked: Asked) -> Result<Response> {
    answered(app, asked, false).await
}

async fn send(app: App, asked: Asked) -> Result<Response> {
    let words = asked.body.filled("words")?.to_owned();
    of_task(&app, &asked, "send", vec![words.clone().into()], |task| Request::Tell { task, words }).await
}

async fn retry(app: App, asked: Asked) -> Result<Response> {
    let model = asked.body.text("model").map(str::to_owned);
    let Some(agent) = asked.body.text("agent").map(str::to_owned) else {
        return match model {
            Some(_) => Err(Problem::field("model", "goes with 'agent', whose model it is")),
            None => of_task(&app, &asked, "retry", vec![], Request::Retry).await,
        };
    };
    let feed = app.runs.feed(asked.named("run")?).await?;
    feed.look(|run| {
        let task = run.task(tasks::find(run, asked.named("task")?)?).0.given_to(&agent, model.as_deref());
        agents::check(run.plan(), &task)
            .map_err(|error| Problem::field("agent", format!("cannot do it: {error}")))
    })?;
    let mut more = vec![OsString::from(format!("--agent={agent}"))];
    more.extend(model.iter().map(|model| OsString::from(format!("--model={model}"))));
    of_task(&app, &asked, "retry", more, |task| Request::RetryWith { task, agent, model }).await
}

async fn skip(app: App, asked: Asked) -> Result<Response> {
    of_task(&app, &asked, "skip", vec![], Request::Skip).await
}

async fn cancel_task(app: App, asked: Asked) -> Result<Response> {
    of_task(&app, &asked, "cancel", vec![], Request::Cancel).await
}

async fn priority(app: App, asked: Asked) -> Result<Response> {
    let number =
        asked.body.whole("priority").and_then(|number| u8::try_from(number).ok()).unwrap_or_default();
    let priority = Priority(number);
    let words = vec![number.to_string().into()];
    of_task(&app, &asked, "priority", words, |task| Request::SetPriority { task, priority }).await
}
