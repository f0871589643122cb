//! A stand-in for a forge: it keeps pull requests, one for each branch, and has a check that fails, or one that looks into the
//! pushed tree.

use std::collections::HashSet;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};

pub(crate) struct Forge {
    pub(crate) url: String,
    state: Arc<Mutex<State>>,
}

#[derive(Default)]
struct State {
    pulls: Vec<Value>,
    /// The repository whose commits are checked, and the file that they have to have.
    checked: Option<(PathBuf, String)>,
    /// Commits whose checks were looked at: at the first look they are still running.
    looked: HashSet<String>,
}

impl Forge {
    /// Every check fails at once.
    pub(crate) fn new() -> Forge {
        Forge::with(State::default())
    }

    /// A check passes for commits that have the file, after a while.
    pub(crate) fn checking(remote: &Path, file: &str) -> Forge {
        Forge::with(State { checked: Some((remote.to_owned(), file.to_owned())), ..State::default() })
    }

    fn with(state: State) -> Forge {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let state = Arc::new(Mutex::new(state));
        let shared = state.clone();
        std::thread::spawn(move || {
            for socket in listener.incoming().flatten() {
                serve(socket, &shared);
            }
        });
        Forge { url, state }
    }

    pub(crate) fn pulls(&self) -> Vec<Value> {
        self.state.lock().unwrap().pulls.clone()
    }
}

impl State {
    fn check_run(&mut self, commit: &str) -> Value {
        let failed = json!({"name": "ci", "conclusion": "failure", "output": {"summary": "red"}});
        let Some((remote, file)) = &self.checked else { return failed };
        let asked = Command::new("git")
            .arg("-C")
            .arg(remote)
            .args(["cat-file", "-e", &format!("{commit}:{file}")])
            .stderr(std::process::Stdio::null())
            .status();
        let is_good = asked.unwrap().success();
        match (self.looked.insert(commit.to_owned()), is_good) {
            (true, _) => json!({"name": "ci", "conclusion": null, "output": {}}),
            (false, true) => json!({"name": "ci", "conclusion": "success", "output": {}}),
            (false, false) => failed,
        }
    }
}

fn serve(mut socket: TcpStream, state: &Mutex<State>) {
    let mut reader = BufReader::new(socket.try_clone().unwrap());
    let mut first = String::new();
    if reader.read_line(&mut first).is_err() {
        return;
    }
    let (mut length, mut is_known) = (0, false);
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line).unwrap_or(0) == 0 || line.trim().is_empty() {
            break;
        }
        let line = line.to_lowercase();
        is_known |= line.trim() == "authorization: bearer forge-token";
        if let Some(value) = line.strip_prefix("content-length:") {
            length = value.trim().parse().unwrap_or(0);
        }
    }
    let mut body = vec![0; length];
    if reader.read_exact(&mut body).is_err() {
        return;
    }
    let body: Value = serde_json::from_slice(&body).unwrap_or(Value::Null);
    let mut words = first.split(' ');
    let (method, path) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    let (status, answer) = match is_known {
        true => answered(method, path, body, &mut state.lock().unwrap()),
        false => (401, json!({"message": "Bad credentials"})),
    };
    let text = answer.to_string();
    let length = text.len();
    let _ = write!(
        socket,
        "HTTP/1.1 {status} OK\r\ncontent-type: application/json\r\nconnection: close\r\ncontent-length: {length}\r\n\r\n{text}"
    );
}

fn answered(method: &str, path: &str, body: Value, state: &mut State) -> (u16, Value) {
    let pulls = &mut state.pulls;
    match (method, path) {
        ("GET", "/repos/o/r") => (200, json!({"default_branch": "main"})),
        ("GET", path) if path.starts_with("/repos/o/r/pulls?") => {
            let head = path.split("head=o:").nth(1).unwrap_or_default();
            let found: Vec<&Value> = pulls.iter().filter(|pull| pull["head"]["ref"] == head).collect();
            (200, json!(found))
        }
        ("POST", "/repos/o/r/pulls") => {
            let head = body["head"].clone();
            if pulls.iter().any(|pull| pull["head"]["ref"] == head) {
                return (422, json!({"message": "A pull request already exists"}));
            }
            let number = pulls.len() + 1;
            let pull = json!({
                "number": number, "html_url": format!("https://forge.example/o/r/pull/{number}"), "head": {"ref": head},
                "base": body["base"], "title": body["title"], "body": body["body"], "updates": 0,
            });
            pulls.push(pull.clone());
            (201, pull)
        }
        ("PATCH", path) => {
            let number: usize = path.rsplit('/').next().and_then(|number| number.parse().ok()).unwrap_or(0);
            let Some(pull) = number.checked_sub(1).and_then(|at| pulls.get_mut(at)) else {
                return (404, json!({"message": "Not Found"}));
            };
            pull["body"] = body["body"].clone();
            pull["updates"] = (pull["updates"].as_u64().unwrap_or(0) + 1).into();
            (200, pull.clone())
        }
        ("GET", path) if path.ends_with("/check-runs") => {
            let commit = path.split('/').nth_back(1).unwrap_or_default().to_owned();
            (200, json!({"check_runs": [state.check_run(&commit)]}))
        }
        ("GET", path) if path.ends_with("/status") => (200, json!({"statuses": []})),
        _ => (404, json!({"message": "Not Found"})),
    }
}
