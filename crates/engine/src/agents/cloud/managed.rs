//! Sessions of the Managed Agents API: created with their first message, watched by server-sent events, spoken to,
//! interrupted. It tells what a session costs and holds a budget of its own.

use std::collections::HashSet;
use std::io::{BufRead as _, BufReader};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant};

use conductor_core::plan::Cloud;
use conductor_core::run::event::FailureClass;
use conductor_core::values::units::Usd;
use serde_json::{Value, json};

use super::http::Client;
use super::routine::{base, text, token};
use super::transport::{Assignment, Line, Observed, Refusal, SessionName, State, Surroundings, Transport};

const BETA: &str = "managed-agents-2026-04-01";
pub(super) const TOKEN: &str = "ANTHROPIC_API_KEY";

/// The variable with the token by which a session clones and pushes.
const REPOSITORY_TOKENS: [&str; 2] = ["GH_TOKEN", "GITHUB_TOKEN"];

/// After how long a stream that broke is opened again.
const AGAIN: Duration = Duration::from_secs(2);

/// How many sessions are looked through for one that may have been created, newest first.
const LOOKED_THROUGH: u32 = 100;

pub(super) struct Managed {
    client: Arc<Client>,
    repository_token: Option<String>,
    watched: Option<Watched>,
}

/// A session whose events are followed.
struct Watched {
    id: String,
    events: Receiver<Result<Value, Refusal>>,
    seen: HashSet<String>,
    state: State,
    cost: Option<Usd>,
    tokens: (u64, u64),
}

impl Managed {
    pub(super) fn new(settings: &Cloud, around: &Surroundings) -> Result<Managed, Refusal> {
        let token = token(settings.token_variable.as_deref().unwrap_or(TOKEN), around)?;
        let headers = vec![
            ("x-api-key", token),
            ("anthropic-version", "2023-06-01".to_owned()),
            ("anthropic-beta", BETA.to_owned()),
        ];
        let repository_token = REPOSITORY_TOKENS.iter().find_map(|name| around.variables.get(*name)).cloned();
        Ok(Managed { client: Arc::new(Client::new(base(around), headers)), repository_token, watched: None })
    }

    fn watched(&mut self, session: &SessionName) -> &mut Watched {
        if self.watched.as_ref().is_none_or(|watched| watched.id != session.id) {
            self.watched = None;
        }
        let client = &self.client;
        self.watched.get_or_insert_with(|| Watched::begin(client.clone(), session.id.clone()))
    }
}

impl Transport for Managed {
    fn create(&mut self, assignment: &Assignment<'_>) -> Result<SessionName, Refusal> {
        let settings = assignment.settings;
        let mut body = json!({
            "agent": settings.agent,
            "environment_id": settings.environment,
            "title": assignment.title,
            "metadata": { "conductor_attempt": assignment.mark },
            "initial_events": [message(assignment.prompt)],
        });
        if let Some(repository) = assignment.repository {
            let mut resource = json!({
                "type": "github_repository",
                "url": format!("https://github.com/{repository}"),
                "checkout": { "type": "branch", "name": assignment.branch },
            });
            if let Some(token) = &self.repository_token {
                resource["authorization_token"] = token.as_str().into();
            }
            body["resources"] = json!([resource]);
        }
        if let Some(Usd(millionths)) = assignment.max_cost {
            let cents = (millionths / 10_000).max(1).to_string();
            body["budget"] =
                json!({ "type": "limit", "max_list_cost": { "amount": cents, "currency": "USD" } });
        }
        let answer = self.client.post("/v1/sessions", &body)?;
        match text(&answer["id"]) {
            Some(id) => Ok(SessionName::new(id, None)),
            None => Err(Refusal::Unsure("its answer names no session".to_owned())),
        }
    }

    fn find(&mut self, assignment: &Assignment<'_>) -> Result<Option<SessionName>, Refusal> {
        let answer = self.client.get(&format!("/v1/sessions?limit={LOOKED_THROUGH}&order=desc"))?;
        let Some(sessions) = answer["data"].as_array() else {
            return Err(Refusal::Unsure("its list of sessions cannot be read".to_owned()));
        };
        let is_it = |session: &&Value| {
            session["metadata"]["conductor_attempt"] == assignment.mark
                || session["title"] == assignment.title
        };
        match sessions.iter().find(is_it).map(|session| text(&session["id"])) {
            Some(Some(id)) => Ok(Some(SessionName::new(id, None))),
            Some(None) => Err(Refusal::Unsure("its list names the session without an id".to_owned())),
            None if sessions.len() >= LOOKED_THROUGH as usize || text(&answer["next_page"]).is_some() => {
                let why = format!("it has more than the {LOOKED_THROUGH} sessions that were looked through");
                Err(Refusal::Unsure(why))
            }
            None => Ok(None),
        }
    }

    fn send(&mut self, session: &SessionName, words: &str) -> Result<(), Refusal> {
        self.client
            .post(&format!("/v1/sessions/{}/events", session.id), &json!({ "events": [message(words)] }))?;
        self.watched(session).state = State::Working;
        Ok(())
    }

    fn observe(&mut self, session: &SessionName, patience: Duration) -> Result<Observed, Refusal> {
        self.watched(session).look(patience)
    }

    fn stop(&mut self, session: &SessionName) -> Result<(), Refusal> {
        let interrupt = json!({ "events": [{ "type": "user.interrupt" }] });
        self.client.post(&format!("/v1/sessions/{}/events", session.id), &interrupt).map(drop)
    }
}

fn message(words: &str) -> Value {
    json!({ "type": "user.message", "content": [{ "type": "text", "text": words }] })
}

impl Watched {
    fn begin(client: Arc<Client>, id: String) -> Watched {
        let (sender, events) = channel();
        let path = id.clone();
        std::thread::spawn(move || follow(&client, &path, &sender));
        Watched { id, events, seen: HashSet::new(), state: State::Working, cost: None, tokens: (0, 0) }
    }

    /// Everything that came, waiting for the first of it.
    fn look(&mut self, patience: Duration) -> Result<Observed, Refusal> {
        let (deadline, mut said) = (Instant::now() + patience, Vec::new());
        let mut left = patience;
        loop {
            match self.events.recv_timeout(left) {
                Ok(Ok(event)) => said.extend(self.hear(&event)),
                Ok(Err(refusal)) => return Err(refusal),
                Err(RecvTimeoutError::Timeout) => break,
                Err(RecvTimeoutError::Disconnected) => {
                    std::thread::sleep(deadline.saturating_duration_since(Instant::now()));
                    break;
                }
            }
            // What else is there already, and no more waiting once it says how it stands.
            left = match self.state {
                State::Working => deadline.saturating_duration_since(Instant::now()),
                _ => Duration::ZERO,
            };
        }
        let tokens = (self.tokens != (0, 0)).then_some(self.tokens);
        Ok(Observed { state: self.state.clone(), said, cost: self.cost, tokens })
    }

    fn hear(&mut self, event: &Value) -> Vec<Line> {
        if let Some(id) = text(&event["id"])
            && !self.seen.insert(id)
        {
            return Vec::new();
        }
        match event["type"].as_str().unwrap_or_default() {
            "user.message" | "session.status_running" => self.state = State::Working,
            "session.status_idle" => self.state = idle(&event["stop_reason"]),
            "session.status_terminated" => self.state = State::Ended("the session was terminated".to_owned()),
            "session.status_rescheduled" => {
                return vec![Line::Waiting("the session is rescheduled".to_owned())];
            }
            "session.error" => {
                let words =
                    text(&event["error"]["message"]).unwrap_or_else(|| "an error in the session".to_owned());
                return vec![Line::Note(words)];
            }
            "session.usage" => self.count(&event["usage"]),
            "span.model_request_end" => self.add(&event["model_usage"]),
            "agent.message" => return words_of(event).into_iter().map(Line::Text).collect(),
            "agent.tool_use" | "agent.mcp_tool_use" => {
                let name = text(&event["name"]).unwrap_or_default();
                return vec![Line::Tool(name, super::super::talk::purpose(&event["input"]))];
            }
            _ => {}
        }
        Vec::new()
    }

    /// Totals of the whole session; its price is in cents.
    fn count(&mut self, usage: &Value) {
        let cents = &usage["list_cost"]["amount"];
        let cents = cents.as_str().and_then(|text| text.parse::<f64>().ok()).or_else(|| cents.as_f64());
        if let Some(cents) = cents {
            self.cost = Some(Usd::from_dollars(cents / 100.0));
        }
    }

    fn add(&mut self, usage: &Value) {
        let number = |name: &str| usage[name].as_u64().unwrap_or(0).min(super::super::talk::MOST);
        let input = ["input_tokens", "cache_read_input_tokens", "cache_creation_input_tokens"].map(number);
        self.tokens.0 += input.iter().sum::<u64>();
        self.tokens.1 += number("output_tokens");
    }
}

/// Why it does nothing more.
fn idle(reason: &Value) -> State {
    match reason["type"].as_str() {
        Some("requires_action") => State::Waiting("the session waits for a tool to be confirmed".to_owned()),
        Some("budget_reached") => State::Ended("the session reached its budget (max_cost)".to_owned()),
        Some("retries_exhausted") => State::Ended("the session gave up after repeated errors".to_owned()),
        _ => State::Idle,
    }
}

fn words_of(event: &Value) -> Vec<String> {
    let parts = event["content"].as_array().map_or(&[][..], Vec::as_slice);
    parts.iter().filter_map(|part| text(&part["text"])).collect()
}

/// Everything that happens in a session, for as long as anything listens. The stream is opened first and what was before
/// is read then: nothing is lost in between, and what comes twice is known by its id. A stream lasts a while only, so that
/// everything is read again now and then.
fn follow(client: &Client, id: &str, sender: &Sender<Result<Value, Refusal>>) {
    loop {
        let heard = match client.stream(&format!("/v1/sessions/{id}/stream")) {
            Ok(stream) => history(client, id, sender).and_then(|()| listen(stream, sender)),
            Err(refusal) => sender.send(Err(refusal)).map_err(drop),
        };
        if heard.is_err() {
            return;
        }
        std::thread::sleep(AGAIN);
    }
}

/// An error where no one listens any more.
fn history(client: &Client, id: &str, sender: &Sender<Result<Value, Refusal>>) -> Result<(), ()> {
    let mut page: Option<String> = None;
    loop {
        let after = page.as_ref().map_or_else(String::new, |page| format!("&page={page}"));
        let answer = match client.get(&format!("/v1/sessions/{id}/events?limit=1000&order=asc{after}")) {
            Ok(answer) => answer,
            Err(refusal) => return sender.send(Err(refusal)).map_err(drop),
        };
        for event in answer["data"].as_array().map_or(&[][..], Vec::as_slice) {
            sender.send(Ok(event.clone())).map_err(drop)?;
        }
        page = text(&answer["next_page"]);
        if page.is_none() {
            return Ok(());
        }
    }
}

fn listen(stream: impl std::io::Read, sender: &Sender<Result<Value, Refusal>>) -> Result<(), ()> {
    for line in BufReader::new(stream).lines() {
        let Ok(line) = line else { return Ok(()) };
        let Some(data) = line.strip_prefix("data:") else { continue };
        if let Ok(event) = serde_json::from_str::<Value>(data.trim()) {
            sender.send(Ok(event)).map_err(drop)?;
        }
    }
    Ok(())
}

/// Whether a refusal passes by itself while a session goes on.
pub(super) fn passes(refusal: &Refusal) -> bool {
    match refusal {
        Refusal::Unsure(_) => true,
        Refusal::Refused { class, .. } => class.is_outage() || *class == FailureClass::UsageLimit,
        Refusal::Unable(_) => false,
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Read as _, Write as _};
    use std::net::TcpListener;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    /// A provider that answers each request by its first line; nothing leaves the connection open and silent.
    fn provider(answer: impl Fn(&str) -> Option<Value> + Send + Sync + 'static) -> String {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let answer = Arc::new(answer);
        std::thread::spawn(move || {
            for mut socket in listener.incoming().flatten() {
                let answer = answer.clone();
                std::thread::spawn(move || {
                    let mut bytes = [0; 4096];
                    let read = socket.read(&mut bytes).unwrap_or(0);
                    let first =
                        String::from_utf8_lossy(&bytes[..read]).lines().next().unwrap_or("").to_owned();
                    let Some(body) = answer(&first) else {
                        let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n";
                        let _ = socket.write_all(head.as_bytes());
                        let _ = socket.read(&mut bytes);
                        return;
                    };
                    let body = body.to_string();
                    let _ = write!(
                        socket,
                        "HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: {}\r\n\r\n{body}",
                        body.len()
                    );
                });
            }
        });
        format!("http://{address}")
    }

    fn managed(url: &str) -> Managed {
        let client = Client::new(url, Vec::new()).with_streams_of(Duration::from_millis(200));
        Managed { client: Arc::new(client), repository_token: None, watched: None }
    }

    /// Its connection stays open and nothing comes any more: that it is idle is read when the stream is opened again.
    #[test]
    fn a_stream_that_fell_silent_is_opened_again_and_what_was_missed_is_read() {
        let asked = AtomicUsize::new(0);
        let url = provider(move |first| {
            let is_history = first.contains("/events?");
            let is_later = is_history && asked.fetch_add(1, Ordering::SeqCst) > 0;
            let idle =
                json!({ "id": "e1", "type": "session.status_idle", "stop_reason": { "type": "end_turn" } });
            is_history.then(|| json!({ "data": if is_later { vec![idle] } else { Vec::new() } }))
        });
        let (mut managed, session) = (managed(&url), SessionName::new("s", None));
        let deadline = Instant::now() + Duration::from_secs(60);
        loop {
            match managed.observe(&session, Duration::from_millis(100)) {
                Ok(observed) if observed.state == State::Idle => return,
                seen => assert!(Instant::now() < deadline, "{seen:?}"),
            }
        }
    }

    fn found(answer: Value) -> Result<Option<SessionName>, Refusal> {
        let url = provider(move |_| Some(answer.clone()));
        let settings = Cloud::default();
        managed(&url).find(&Assignment {
            title: "Do it (r/t/1)",
            prompt: "",
            repository: None,
            remote: "",
            branch: "",
            mark: "r/t/1",
            max_cost: None,
            model: None,
            settings: &settings,
        })
    }

    #[test]
    fn a_list_that_does_not_end_proves_nothing() {
        let others = |count: u32| vec![json!({ "id": "x", "title": "another" }); count as usize];
        assert_eq!(found(json!({ "data": others(3) })), Ok(None));
        assert!(matches!(found(json!({ "data": others(LOOKED_THROUGH) })), Err(Refusal::Unsure(_))));
        assert!(matches!(found(json!({ "data": others(3), "next_page": "p" })), Err(Refusal::Unsure(_))));
        let ours = json!({ "id": "y", "metadata": { "conductor_attempt": "r/t/1" } });
        assert_eq!(found(json!({ "data": [ours] })), Ok(Some(SessionName::new("y", None))));
    }
}
