//! What happens, as it happens.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use axum::response::Response;
use conductor_core::run::Run;
use conductor_core::values::ids::RunId;
use conductor_engine::stores::StoredRun;
use serde_json::{Value, json};
use tokio::sync::mpsc;

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
            "Go on behind these events: RUN:SEQ, several with commas; or a number, of the newest run.",
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

/// What a run's listener gets: how it stands where nothing else is known to it, then what happens.
async fn begin(
    app: &App,
    feed: &Arc<Feed>,
    since: Option<u64>,
    queue: &mpsc::Sender<Sent>,
) -> Result<Subscription> {
    let from = match since {
        Some(since) => since,
        None => {
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
    let subscription = Subscription::begin(feed, since).await?;
    let (queue, sent) = sending::queue();
    tokio::spawn(sending::forward_or_cut(subscription, queue, asked.cut));
    Ok(sending::stream_events(sent, let_go, stream))
}

/// Which runs a listener knows already, and how far.
#[derive(Debug, Default, PartialEq)]
struct Known {
    runs: Vec<(String, u64)>,
    newest: Option<u64>,
}

impl Known {
    fn read(since: &str) -> Option<Known> {
        if let Ok(number) = since.parse() {
            return Some(Known { newest: Some(number), ..Known::default() });
        }
        let one = |part: &str| {
            let (run, seq) = part.split_once(':')?;
            Some((run.to_owned(), seq.parse().ok()?))
        };
        since.split(',').map(one).collect::<Option<_>>().map(|runs| Known { runs, newest: None })
    }

    fn of(&self, run: &str, is_newest: bool) -> Option<u64> {
        let named = self.runs.iter().find(|(known, _)| known == run).map(|(_, seq)| *seq);
        named.or(self.newest.filter(|_| is_newest))
    }
}

async fn project_socket(app: App, asked: Asked) -> Result<Response> {
    let (let_go, stream) = (let_go(&app, &asked), app.streams.begin());
    let project = app.project(asked.named("project")?).await?;
    let known = match asked.query.text("since") {
        Some(since) => {
            let known = Known::read(since);
            Some(known.ok_or_else(|| {
                Problem::field("since", "has to be a number, or RUN:SEQ with commas in between")
            })?)
        }
        None => None,
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
    let mut followed: HashSet<RunId> = HashSet::new();
    let mut tasks = tokio::task::JoinSet::new();
    let _ = queue.send(connected(json!({}))).await;
    let mut first = true;
    while !queue.is_closed() {
        let runs = app.visible(&identity).await.unwrap_or_default();
        for (run, _) in runs.into_iter().filter(|(run, _)| app.home.is_live(&run.id)) {
            if !followed.insert(run.id.clone()) {
                continue;
            }
            let (app, queue, is_new) = (app.clone(), queue.clone(), !first);
            tasks.spawn(async move {
                let Ok(feed) = app.runs.feed_of(&run).await else { return };
                let since = if is_new { 0 } else { feed.look(Run::seq) };
                if let Ok(subscription) = Subscription::begin(feed, since).await {
                    sending::forward(subscription, queue).await;
                }
            });
        }
        first = false;
        tokio::time::sleep(LOOK).await;
    }
}

/// The newest run first, then each that begins, wherever it was started.
async fn tell_project(app: App, project: Project, known: Option<Known>, queue: mpsc::Sender<Sent>) {
    let mut followed: Vec<StoredRun> = Vec::new();
    let mut tasks = tokio::task::JoinSet::new();
    let _ = queue.send(connected(json!({ "project": project.id }))).await;
    let mut first = true;
    while !queue.is_closed() {
        let runs = app.runs_of(&project).await.unwrap_or_default();
        let is_wanted = |place: usize, run: &StoredRun| {
            let is_known =
                known.as_ref().is_some_and(|known| known.of(run.id.as_str(), place == 0).is_some());
            place == 0 || app.home.is_live(&run.id) || (first && is_known)
        };
        let new: Vec<(usize, StoredRun)> = runs
            .iter()
            .enumerate()
            .filter(|(place, run)| !followed.iter().any(|known| known.id == run.id) && is_wanted(*place, run))
            .map(|(place, run)| (place, run.clone()))
            .collect();
        for (place, run) in new.into_iter().rev() {
            let since = known.as_ref().and_then(|known| known.of(run.id.as_str(), place == 0));
            // One that began while we listened is told from its beginning.
            let since = since.or((!first).then_some(0));
            followed.push(run.clone());
            let (app, queue) = (app.clone(), queue.clone());
            tasks.spawn(async move {
                let begun = async { begin(&app, &app.runs.feed_of(&run).await?, since, &queue).await };
                match begun.await {
                    Ok(subscription) => sending::forward(subscription, queue).await,
                    Err(problem) => drop(queue.send(failed(&problem)).await),
                }
            });
        }
        first = false;
        tokio::time::sleep(LOOK).await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_listener_says_how_far_it_knows_which_run() {
        let known = Known::read("otter:12,owl:3").unwrap();
        assert_eq!(
            (known.of("otter", true), known.of("owl", false), known.of("fox", true)),
            (Some(12), Some(3), None)
        );
        assert_eq!(Known::read("7").unwrap().of("fox", true), Some(7));
        assert_eq!(Known::read("7").unwrap().of("fox", false), None);
        assert_eq!((Known::read("otter"), Known::read("otter:x"), Known::read("")), (None, None, None));
    }
}
