//! What happens, as it happens.

mod chosen;

use std::sync::Arc;
use std::time::Duration;

use axum::response::Response;
use conductor_core::run::Run;
use conductor_core::values::ids::RunId;
use conductor_engine::stores::StoredRun;
use serde_json::{Value, json};
use tokio::sync::mpsc;

use self::chosen::{Chosen, Known, ToldFrom};
use super::{parallel, tasks};
use crate::access::Identity;
use crate::app::App;
use crate::live::sending::{self, Sent};
use crate::live::{Feed, Output, Subscription};
use crate::problem::{Problem, Result};
use crate::records::Project;
use crate::web::fields::{Field, Kind, may};
use crate::web::route::{Asked, Route, VIEWER, by, get};
use crate::web::{credentials, serving};

const BEHIND: Field = may("since", Kind::Whole(0, u64::MAX >> 1), "Go on behind the event of this number.");

const SINCE: &[Field] = &[BEHIND];

const WITH_OUTPUT: &[Field] = &[
    BEHIND,
    may(
        "output",
        Kind::Flag,
        "Also tell what agents at work say from now on, as `agent_output` messages, which have no number.",
    ),
    may("task", Kind::Text, "With `output`: only what the agent or command of this task says."),
];

/// How often it is looked for new runs of a project.
const LOOK: Duration = Duration::from_millis(250);

pub(crate) const ROUTES: &[Route] = &[
    get("/api/runs/{run}/ws", VIEWER, "The events of a run over a WebSocket", by!(run_socket))
        .query(WITH_OUTPUT)
        .status(101),
    get(
        "/api/runs/{run}/events/stream",
        VIEWER,
        "The events of a run as server-sent events",
        by!(run_stream),
    )
    .query(SINCE)
    .other("text/event-stream"),
    get(
        "/api/ws",
        VIEWER,
        "What happens in all runs that you may see, over a WebSocket, from now on",
        by!(all_socket),
    )
    .status(101),
    get("/api/ws/{project}", VIEWER, "The events of a project's runs over a WebSocket", by!(project_socket))
        .query(&[may(
            "since",
            Kind::Text,
            "Go on behind these events: RUN:SEQ, several with commas. Runs that began since then are told whole.",
        )])
        .status(101),
];

fn message(value: &Value) -> Sent {
    Sent::Text(json!([value]).to_string().into())
}

fn connected(more: Value) -> Sent {
    let mut value = json!({ "type": "connected", "server": env!("CARGO_PKG_VERSION") });
    if let (Value::Object(value), Value::Object(more)) = (&mut value, more) {
        value.extend(more);
    }
    message(&value)
}

/// What a run's listener gets: how it stands where nothing else is known to it, then what happens. One that knows of events
/// that never were, or are lost, begins anew.
async fn begin(
    app: &App,
    feed: &Arc<Feed>,
    since: Option<u64>,
    queue: &mpsc::Sender<Sent>,
) -> Result<Subscription> {
    let from = match since {
        Some(since) if feed.has_come_to(since).await? => since,
        _ => {
            let mut state = parallel::initial(app, feed).await;
            // What happened meanwhile is told as events.
            let seq = feed.look(|run| run.seq()).min(state["seq"].as_u64().unwrap_or(0));
            state["type"] = json!("initial_state");
            state["seq"] = json!(seq);
            let _ = queue.send(message(&state)).await;
            seq
        }
    };
    Subscription::begin(feed.clone(), from).await
}

/// How soon one who may not listen any more hears nothing more.
const LOOK_AGAIN: Duration = Duration::from_secs(5);

/// Ends when who listens may not any more, or may see something else: logged out, revoked, disabled, given other roles.
fn let_go(app: &App, asked: &Asked) -> impl Future<Output = ()> + Send + use<> {
    let (app, route, identity) = (app.clone(), asked.route, asked.identity.clone());
    let (headers, path) = (asked.headers.clone(), asked.path.clone());
    async move {
        loop {
            tokio::time::sleep(LOOK_AGAIN).await;
            let is_good = match credentials::still(&app, &headers).await {
                Ok(now) => {
                    now.roles() == identity.roles() && serving::check(&app, route, &now, &path).await.is_ok()
                }
                // What cannot be looked up now is looked up again.
                Err(problem) => problem.status() != 401,
            };
            if !is_good {
                return;
            }
        }
    }
}

async fn run_socket(app: App, asked: Asked) -> Result<Response> {
    let (let_go, stream) = (let_go(&app, &asked), app.streams.begin());
    let feed = app.runs.feed(asked.named("run")?).await?;
    let since = asked.query.whole("since");
    let wants_output = asked.query.flag("output");
    let only = match asked.query.text("task") {
        Some(_) if !wants_output => {
            return Err(Problem::field("task", "goes with 'output', of which it names a part"));
        }
        Some(task) => Some(feed.look(|run| tasks::find(run, task))?),
        None => None,
    };
    let upgrade = asked.upgrade.ok_or_else(not_a_socket)?;
    Ok(upgrade.on_upgrade(move |socket| async move {
        let (queue, sent) = sending::queue();
        let told = tokio::spawn(async move {
            let _ = queue.send(connected(json!({ "run": feed.id() }))).await;
            let begun = async {
                let output = if wants_output { Some(output(&app, &feed, only).await?) } else { None };
                Ok::<_, Problem>((output, begin(&app, &feed, since, &queue).await?))
            };
            match begun.await {
                Ok((None, subscription)) => sending::forward(subscription, queue).await,
                Ok((Some(output), subscription)) => tokio::select! {
                    () = sending::forward(subscription, queue.clone()) => {}
                    () = output.tell(queue) => {}
                },
                Err(problem) => drop(queue.send(failed(&problem)).await),
            }
        });
        sending::speak(socket, sent, let_go, stream).await;
        told.abort();
    }))
}

/// What is said from now on; the client gets its first event after this.
async fn output(app: &App, feed: &Arc<Feed>, only: Option<usize>) -> Result<Output> {
    Ok(Output::begin(app.home.clone(), app.runs.reader().await?, feed.clone(), only).await)
}

fn failed(problem: &Problem) -> Sent {
    message(&json!({ "type": "parallel_error", "error": problem.detail(), "status": problem.status() }))
}

fn not_a_socket() -> Problem {
    Problem::new(422, "this address speaks WebSocket")
        .help("send `Connection: Upgrade` and `Upgrade: websocket`")
}

async fn run_stream(app: App, asked: Asked) -> Result<Response> {
    let (let_go, stream) = (let_go(&app, &asked), app.streams.begin());
    let feed = app.runs.feed(asked.named("run")?).await?;
    // A browser that lost the connection says itself where it was.
    let last = asked.header("last-event-id").and_then(|id| id.parse().ok());
    let since = last.or(asked.query.whole("since")).unwrap_or(0);
    if !feed.has_come_to(since).await? {
        let last = feed.look(Run::seq);
        return Err(Problem::field("since", format!("is beyond the run's last event, {last}")));
    }
    let subscription = Subscription::begin(feed, since).await?;
    let (queue, sent) = sending::queue();
    tokio::spawn(sending::forward_or_cut(subscription, queue, asked.cut));
    Ok(sending::stream_events(sent, let_go, stream))
}

async fn project_socket(app: App, asked: Asked) -> Result<Response> {
    let (let_go, stream) = (let_go(&app, &asked), app.streams.begin());
    let project = app.project(asked.named("project")?).await?;
    let known = match asked.query.text("since") {
        Some(since) => Known::read(since).ok_or_else(|| {
            Problem::field("since", "has to be RUN:SEQ, with commas in between")
                .help("a number alone says nothing: the newest run may be another one by now")
        })?,
        None => Known::default(),
    };
    let upgrade = asked.upgrade.ok_or_else(not_a_socket)?;
    Ok(upgrade.on_upgrade(move |socket| async move {
        let (queue, sent) = sending::queue();
        let told = tokio::spawn(tell_project(app, project, known, queue));
        sending::speak(socket, sent, let_go, stream).await;
        told.abort();
    }))
}

async fn all_socket(app: App, asked: Asked) -> Result<Response> {
    let (let_go, stream) = (let_go(&app, &asked), app.streams.begin());
    let identity = asked.identity;
    let upgrade = asked.upgrade.ok_or_else(not_a_socket)?;
    Ok(upgrade.on_upgrade(move |socket| async move {
        let (queue, sent) = sending::queue();
        let told = tokio::spawn(tell_all(app, identity, queue));
        sending::speak(socket, sent, let_go, stream).await;
        told.abort();
    }))
}

/// Every run that is live or begins, from now on.
async fn tell_all(app: App, identity: Identity, queue: mpsc::Sender<Sent>) {
    let mut chosen = Chosen::default();
    let mut tasks = tokio::task::JoinSet::new();
    let _ = queue.send(connected(json!({}))).await;
    while !queue.is_closed() {
        // What cannot be read now says nothing of which runs there are.
        if let Ok(runs) = app.visible(&identity).await {
            let runs: Vec<StoredRun> = runs.into_iter().map(|(run, _)| run).collect();
            let there = with_life(&app, &runs);
            let told = match chosen.has_begun() {
                true => chosen.next(&there),
                false => chosen.first_live(&there).into_iter().map(|run| (run, ToldFrom::State)).collect(),
            };
            for (run, from) in told {
                let Some(run) = runs.iter().find(|known| known.id == *run).cloned() else { continue };
                let (app, queue) = (app.clone(), queue.clone());
                tasks.spawn(async move {
                    let Ok(feed) = app.runs.feed_of(&run).await else { return };
                    let since = match from {
                        ToldFrom::Behind(seq) => seq,
                        ToldFrom::State => feed.look(Run::seq),
                    };
                    if let Ok(subscription) = Subscription::begin(feed, since).await {
                        sending::forward(subscription, queue).await;
                    }
                });
            }
        }
        tokio::time::sleep(LOOK).await;
    }
}

fn with_life<'a>(app: &App, runs: &'a [StoredRun]) -> Vec<(&'a RunId, bool)> {
    runs.iter().map(|run| (&run.id, parallel::is_driven(app, run))).collect()
}

/// What is under way and what the listener missed, then each run that begins, wherever it was started.
async fn tell_project(app: App, project: Project, known: Known, queue: mpsc::Sender<Sent>) {
    let mut chosen = Chosen::default();
    let mut tasks = tokio::task::JoinSet::new();
    let _ = queue.send(connected(json!({ "project": project.id }))).await;
    while !queue.is_closed() {
        // What cannot be read now says nothing of which runs there are.
        if let Ok(runs) = app.runs_of(&project).await {
            let there = with_life(&app, &runs);
            let told = match chosen.has_begun() {
                true => chosen.next(&there),
                false => {
                    let (told, left_out) = chosen.first(&there, &known);
                    if left_out > 0 {
                        let resync =
                            json!({ "type": "resync", "project": project.id, "runs_left_out": left_out });
                        let _ = queue.send(message(&resync)).await;
                    }
                    told
                }
            };
            for (run, from) in told {
                let Some(run) = runs.iter().find(|known| known.id == *run).cloned() else { continue };
                tasks.spawn(tell_run(app.clone(), run, from, queue.clone()));
            }
        }
        tokio::time::sleep(LOOK).await;
    }
}

async fn tell_run(app: App, run: StoredRun, from: ToldFrom, queue: mpsc::Sender<Sent>) {
    let since = match from {
        ToldFrom::Behind(seq) => Some(seq),
        ToldFrom::State => None,
    };
    let begun = async { begin(&app, &app.runs.feed_of(&run).await?, since, &queue).await };
    match begun.await {
        Ok(subscription) => sending::forward(subscription, queue).await,
        Err(problem) => drop(queue.send(failed(&problem)).await),
    }
}
