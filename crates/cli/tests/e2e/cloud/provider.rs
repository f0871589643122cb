//! A stand-in for providers of sessions. Behind it real git clones the remote and pushes branches, as a session would; what
//! it does is said in the prompt, after `do:`.

use std::collections::HashMap;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::{Value, json};

use super::trap::Trap;

pub(crate) struct Provider {
    pub(crate) url: String,
    /// A request has come (`asked`), is counted (`taken`), is answered (`answered`).
    pub(crate) trap: Trap,
    state: Arc<State>,
}

struct State {
    remote: PathBuf,
    scratch: PathBuf,
    /// The marks of all prompts that were taken, in order.
    submitted: Mutex<Vec<String>>,
    /// How often each task was refused.
    refused: Mutex<HashMap<String, u32>>,
    /// Events of managed sessions, by id, and their marks.
    sessions: Mutex<Vec<(String, String, Vec<Value>)>>,
    stopped: Mutex<Vec<String>>,
    /// What was said to sessions.
    told: Mutex<Vec<String>>,
    prompts: Mutex<Vec<String>>,
    trap: Trap,
}

impl Provider {
    pub(crate) fn new(remote: &Path, scratch: &Path) -> Provider {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        std::fs::create_dir_all(scratch).unwrap();
        let trap = Trap::new(scratch.join("trap"));
        let state = Arc::new(State {
            remote: remote.into(),
            scratch: scratch.into(),
            submitted: Mutex::default(),
            refused: Mutex::default(),
            sessions: Mutex::default(),
            stopped: Mutex::default(),
            told: Mutex::default(),
            prompts: Mutex::default(),
            trap: trap.clone(),
        });
        let shared = state.clone();
        std::thread::spawn(move || {
            for socket in listener.incoming().flatten() {
                let state = shared.clone();
                std::thread::spawn(move || serve(&state, socket));
            }
        });
        Provider { url, trap, state }
    }

    pub(crate) fn submitted(&self) -> Vec<String> {
        self.state.submitted.lock().unwrap().clone()
    }

    pub(crate) fn told(&self) -> Vec<String> {
        self.state.told.lock().unwrap().clone()
    }

    pub(crate) fn stopped(&self) -> Vec<String> {
        self.state.stopped.lock().unwrap().clone()
    }
}

fn serve(state: &State, socket: TcpStream) {
    let mut reader = BufReader::new(socket.try_clone().unwrap());
    let mut first = String::new();
    if reader.read_line(&mut first).is_err() {
        return;
    }
    let (mut length, mut secret) = (0, String::new());
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line).unwrap_or(0) == 0 || line.trim().is_empty() {
            break;
        }
        let lower = line.to_lowercase();
        if let Some(value) = lower.strip_prefix("content-length:") {
            length = value.trim().parse().unwrap_or(0);
        }
        if lower.starts_with("authorization:") || lower.starts_with("x-api-key:") {
            secret = line.trim().to_owned();
        }
    }
    let mut body = vec![0; length];
    if reader.read_exact(&mut body).is_err() {
        return;
    }
    let body: Value = serde_json::from_slice(&body).unwrap_or(Value::Null);
    let mut words = first.split(' ');
    let (method, path) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    if secret.ends_with("revoked-token") {
        return answer(socket, 403, "", &json!({"error": {"message": "this token was revoked"}}));
    }
    if !secret.ends_with("good-token") {
        return answer(socket, 401, "", &json!({"error": {"message": "invalid token"}}));
    }
    match (method, path) {
        ("POST", path) if path.ends_with("/fire") => {
            let prompt = body["text"].as_str().unwrap_or_default().to_owned();
            if let Some(id) = taken(state, &prompt, &socket) {
                let url = format!("https://claude.example/code/session_{id}");
                answer(
                    socket,
                    200,
                    "",
                    &json!({"type": "routine_fire", "claude_code_session_id": format!("session_{id}"), "claude_code_session_url": url}),
                );
                hold(state, &prompt, "answered");
                work(state, &prompt);
            }
        }
        ("POST", "/v1/sessions") => create(state, socket, &body),
        ("GET", path) if path.starts_with("/v1/sessions?") => {
            let sessions = state.sessions.lock().unwrap();
            let data: Vec<Value> = sessions
                .iter()
                .map(|(id, mark, _)| json!({"id": id, "metadata": {"conductor_attempt": mark}}))
                .collect();
            drop(sessions);
            answer(socket, 200, "", &json!({"data": data}));
        }
        ("GET", path) if path.ends_with("/stream") => stream(state, socket, path),
        ("GET", path) => {
            let events = events(state, path);
            answer(socket, 200, "", &json!({"data": events}));
        }
        (_, path) => {
            let id = path.split('/').nth(3).unwrap_or_default().to_owned();
            if body["events"][0]["type"] == "user.interrupt" {
                state.stopped.lock().unwrap().push(id);
            } else {
                let words = body["events"][0]["content"][0]["text"].as_str().unwrap_or_default().to_owned();
                let mark = mark_of_session(state, &id);
                state.told.lock().unwrap().push(words.clone());
                tell(state, &id, json!({"type": "user.message"}));
                mend(state, &mark, &words);
                tell(state, &id, cost(40));
                tell(state, &id, json!({"type": "session.status_idle", "stop_reason": {"type": "end_turn"}}));
            }
            answer(socket, 200, "", &json!({}));
        }
    }
}

/// Counts a prompt; nothing where it is refused, or where the connection is cut before the answer.
fn taken(state: &State, prompt: &str, socket: &TcpStream) -> Option<usize> {
    // Held here, it is one that never came.
    if state.trap.pass("asked") {
        let _ = socket.shutdown(std::net::Shutdown::Both);
        return None;
    }
    let mark = mark_of(prompt);
    let task = mark.split('/').nth(1).unwrap_or_default().to_owned();
    let times = {
        let mut refused = state.refused.lock().unwrap();
        let times = refused.entry(task).or_default();
        *times += 1;
        *times
    };
    let refusal = match deed(prompt) {
        "busy" if times == 1 => Some((429, "retry-after: 1\r\n")),
        "limited" if times == 1 => Some((429, "")),
        "down" if times == 1 => Some((503, "")),
        _ => None,
    };
    if let Some((status, headers)) = refusal {
        answer(socket.try_clone().unwrap(), status, headers, &json!({"error": {"message": "later"}}));
        return None;
    }
    state.prompts.lock().unwrap().push(prompt.to_owned());
    let mut submitted = state.submitted.lock().unwrap();
    submitted.push(mark);
    let number = submitted.len();
    drop(submitted);
    hold(state, prompt, "taken");
    if deed(prompt).starts_with("mute") {
        let _ = socket.shutdown(std::net::Shutdown::Both);
        work(state, prompt);
        return None;
    }
    Some(number)
}

fn create(state: &State, socket: TcpStream, body: &Value) {
    let prompt = body["initial_events"][0]["content"][0]["text"].as_str().unwrap_or_default().to_owned();
    let mark = mark_of(&prompt);
    let is_mute = deed(&prompt).starts_with("mute");
    let id = format!("sesn_{}", state.submitted.lock().unwrap().len() + 1);
    state.sessions.lock().unwrap().push((id.clone(), mark, Vec::new()));
    if taken(state, &prompt, &socket).is_none() && !is_mute {
        state.sessions.lock().unwrap().pop();
        return;
    }
    if !is_mute {
        answer(socket, 200, "", &json!({"id": id}));
        hold(state, &prompt, "answered");
        work(state, &prompt);
    }
    if deed(&prompt) == "wait" {
        return tell(state, &id, cost(25));
    }
    tell(
        state,
        &id,
        json!({"type": "agent.message", "content": [{"type": "text", "text": "All is done and pushed."}]}),
    );
    tell(state, &id, cost(25));
    tell(state, &id, json!({"type": "session.status_idle", "stop_reason": {"type": "end_turn"}}));
}

/// In cents, of the whole session so far.
fn cost(cents: u32) -> Value {
    json!({"type": "session.usage", "usage": {"list_cost": {"amount": cents.to_string(), "currency": "USD"}}})
}

fn mark_of_session(state: &State, id: &str) -> String {
    let sessions = state.sessions.lock().unwrap();
    sessions.iter().find(|(known, ..)| known == id).map(|(_, mark, _)| mark.clone()).unwrap_or_default()
}

fn tell(state: &State, id: &str, mut event: Value) {
    let mut sessions = state.sessions.lock().unwrap();
    let Some((_, _, events)) = sessions.iter_mut().find(|(known, ..)| known == id) else { return };
    event["id"] = format!("event_{}", events.len()).into();
    events.push(event);
}

fn events(state: &State, path: &str) -> Vec<Value> {
    let id = path.split('/').nth(3).unwrap_or_default();
    let sessions = state.sessions.lock().unwrap();
    sessions.iter().find(|(known, ..)| known == id).map(|(_, _, events)| events.clone()).unwrap_or_default()
}

fn stream(state: &State, mut socket: TcpStream, path: &str) {
    let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n";
    let mut told = 0;
    let mut sent = socket.write_all(head.as_bytes());
    while sent.is_ok() {
        for event in events(state, path).iter().skip(told) {
            told += 1;
            sent = write!(socket, "data: {event}\n\n");
        }
        sent = sent.and_then(|()| socket.write_all(b": still here\n\n"));
        std::thread::sleep(Duration::from_millis(20));
    }
}

fn answer(mut socket: TcpStream, status: u16, headers: &str, body: &Value) {
    let body = body.to_string();
    let length = body.len();
    let _ = write!(
        socket,
        "HTTP/1.1 {status} OK\r\ncontent-type: application/json\r\nconnection: close\r\n{headers}content-length: {length}\r\n\r\n{body}"
    );
    let _ = socket.flush();
}

pub(crate) fn mark_of(prompt: &str) -> String {
    let rest = prompt.split("Conductor-Done: ").nth(1).unwrap_or_default();
    rest.split('`').next().unwrap_or_default().to_owned()
}

fn deed(prompt: &str) -> &str {
    prompt.split("do: ").nth(1).and_then(|rest| rest.split_whitespace().next()).unwrap_or("work")
}

/// Stands still, with the session's work done: one that cannot be listed is known by that alone.
fn hold(state: &State, prompt: &str, moment: &str) {
    if state.trap.is_armed(moment) {
        work(state, prompt);
        state.trap.pass(moment);
    }
}

/// What a session does with git, once.
fn work(state: &State, prompt: &str) {
    let deed = deed(prompt);
    let mark = mark_of(prompt);
    if matches!(deed, "lie" | "wait" | "mute-nothing") || state.scratch.join(mark.replace('/', "-")).exists()
    {
        return;
    }
    let checkout = prompt.split("git checkout -B ").nth(1).unwrap_or_default();
    let (branch, rest) = checkout.split_once(' ').unwrap_or_default();
    let anchor = rest.split('`').next().unwrap_or_default();
    let start = if deed == "stray" { "origin/main" } else { anchor };
    let clone = state.scratch.join(mark.replace('/', "-"));
    git(&state.scratch, &["clone", "-q", state.remote.to_str().unwrap(), clone.to_str().unwrap()]);
    git(&clone, &["checkout", "-q", "-B", branch, start]);
    let name = mark.split('/').nth(1).unwrap_or("work").to_owned();
    std::fs::write(clone.join(format!("{name}.txt")), if deed == "bad" { "bad\n" } else { "good\n" })
        .unwrap();
    git(&clone, &["add", "-A"]);
    git(&clone, &["commit", "-q", "-m", &format!("work on {name}\n\nConductor-Done: {mark}")]);
    git(&clone, &["push", "-q", "origin", branch]);
}

/// A session that is told to mend its work does so, on its own branch.
fn mend(state: &State, mark: &str, words: &str) {
    let clone = state.scratch.join(mark.replace('/', "-"));
    if !clone.exists() {
        // It waited to be told what to do.
        let prompts = state.prompts.lock().unwrap();
        let prompt = prompts.iter().find(|prompt| mark_of(prompt) == mark).cloned().unwrap_or_default();
        drop(prompts);
        return work(state, &prompt.replace("do: wait", "do: work"));
    }
    let name = mark.split('/').nth(1).unwrap_or("work").to_owned();
    std::fs::write(clone.join(format!("{name}.txt")), "good\n").unwrap();
    git(&clone, &["commit", "-q", "-a", "-m", &format!("mended: {} words", words.len())]);
    git(&clone, &["push", "-q", "origin", "HEAD"]);
}

fn git(directory: &Path, args: &[&str]) {
    let mut command = Command::new("git");
    command.current_dir(directory).env("GIT_CONFIG_NOSYSTEM", "1").env("GIT_CONFIG_GLOBAL", "/dev/null");
    for who in ["AUTHOR", "COMMITTER"] {
        command
            .env(format!("GIT_{who}_NAME"), "Session")
            .env(format!("GIT_{who}_EMAIL"), "session@localhost");
    }
    let output = command.args(args).output().unwrap();
    assert!(output.status.success(), "git {args:?}: {}", String::from_utf8_lossy(&output.stderr));
}
