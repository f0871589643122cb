//! A web page behind which coding agents work, as the real ones are: for tests of everything that drives such a page.
//!
//! Its back end really works: a session clones the repository at the chosen branch, commits, and pushes a branch
//! `claude/…`. A prompt's lines `Write PATH: TEXT` say what is written; without any it is a file named after the session.
//! A prompt that contains `only pretend` has a session that says it is done and has pushed nothing.

mod http;
mod work;

use std::collections::{BTreeMap, HashSet};
use std::fmt;
use std::io;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread;
use std::time::Duration;

use http::{Request, Response};
use serde_json::{Value, json};

const APP: &str = include_str!("site/app.html");
const LOGIN: &str = include_str!("site/login.html");
const CHECK: &str = "<!doctype html><title>Just a moment...</title><h1>Just a moment...</h1>\
                     <script>setTimeout(() => location.reload(), 500)</script>";

/// How the page looks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Skin {
    Plain,
    /// Everything within a shadow root.
    Shadow,
    /// Other labels on every control.
    Renamed,
}

impl Skin {
    fn name(self) -> &'static str {
        match self {
            Skin::Plain => "plain",
            Skin::Shadow => "shadow",
            Skin::Renamed => "renamed",
        }
    }
}

/// What goes wrong, from the next request on.
#[derive(Debug, Clone, Default)]
pub struct Faults {
    /// Only signed-in visitors see the page.
    pub login: bool,
    pub interstitial: bool,
    /// The text of a banner; nothing is begun while it is there.
    pub limit: Option<String>,
    /// A step of provisioning that only goes on when the page is loaded again.
    pub hang_at: Option<String>,
    /// It does not go on then, either.
    pub hangs_for_good: bool,
    /// The address never becomes the session's.
    pub no_address: bool,
    /// The list of sessions leads to addresses of another kind.
    pub other_list: bool,
    pub send_delay: Duration,
    pub address_delay: Duration,
    /// How long a session is at work before it pushes.
    pub work: Duration,
}

#[derive(Debug, Clone, Default)]
pub struct Session {
    pub id: String,
    pub prompt: String,
    pub repository: String,
    pub branch: String,
    /// What was pushed.
    pub pushed: Option<String>,
    pub messages: Vec<String>,
    label: String,
    rows: Vec<String>,
    offers_pull_request: bool,
    loads: u32,
    stopped: bool,
}

/// A pull request in the site's own small forge.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pull {
    pub session: String,
    pub branch: String,
}

#[derive(Debug, Default)]
struct Inner {
    faults: Faults,
    logins: HashSet<String>,
    last_login: u32,
    sessions: Vec<Session>,
    pulls: Vec<Pull>,
}

/// Hears of moments, and holds them for as long as it likes.
type Watcher = Box<dyn Fn(&str) + Send + Sync>;

struct Shared {
    skin: Skin,
    repositories: BTreeMap<String, PathBuf>,
    inner: Mutex<Inner>,
    watcher: OnceLock<Watcher>,
}

impl fmt::Debug for Shared {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Shared").field("skin", &self.skin).field("inner", &self.inner).finish()
    }
}

impl Shared {
    fn passes(&self, moment: &str) {
        if let Some(watcher) = self.watcher.get() {
            watcher(moment);
        }
    }

    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn change(&self, id: &str, change: impl FnOnce(&mut Session)) {
        if let Some(session) = self.inner().sessions.iter_mut().find(|session| session.id == id) {
            change(session);
        }
    }
}

/// The site at work, on loopback; it ends when this is dropped.
#[derive(Debug)]
pub struct Site {
    shared: Arc<Shared>,
    server: http::Server,
}

impl Site {
    /// Repositories are named `owner/name`, each with its bare repository.
    pub fn start(skin: Skin, repositories: &[(&str, PathBuf)]) -> io::Result<Site> {
        let repositories =
            repositories.iter().map(|(name, path)| ((*name).to_owned(), path.clone())).collect();
        let faults = Faults {
            send_delay: Duration::from_millis(300),
            address_delay: Duration::from_millis(300),
            work: Duration::from_millis(300),
            ..Faults::default()
        };
        let inner = Mutex::new(Inner { faults, ..Inner::default() });
        let shared = Arc::new(Shared { skin, repositories, inner, watcher: OnceLock::new() });
        let answering = Arc::clone(&shared);
        let server = http::Server::start(move |request| answer(&answering, request))?;
        Ok(Site { shared, server })
    }

    pub fn url(&self) -> String {
        format!("http://{}", self.server.address)
    }

    pub fn sessions(&self) -> Vec<Session> {
        self.shared.inner().sessions.clone()
    }

    pub fn pulls(&self) -> Vec<Pull> {
        self.shared.inner().pulls.clone()
    }

    /// A session from before, whose transcript has its prompt and so many rows more.
    pub fn put(&self, prompt: &str, rows: usize) {
        let mut inner = self.shared.inner();
        let more = (1..=rows).map(|row| format!("row {row}"));
        let session = Session {
            id: format!("01Test{}", inner.sessions.len() + 1),
            prompt: prompt.to_owned(),
            label: "Idle".to_owned(),
            rows: std::iter::once(prompt.to_owned()).chain(more).collect(),
            ..Session::default()
        };
        inner.sessions.push(session);
    }

    pub fn set(&self, change: impl FnOnce(&mut Faults)) {
        change(&mut self.shared.inner().faults);
    }

    /// Tells of every moment from now on, and waits there: the start page is asked for (`opened`) and what it shows (`listed`),
    /// a prompt has come (`asked`) and is a session (`taken`), a session's page asks how it stands (`looked`).
    pub fn watch(&self, watcher: impl Fn(&str) + Send + Sync + 'static) {
        let _ = self.shared.watcher.set(Box::new(watcher));
    }

    /// The value of the cookie `login` of a visitor who has just signed in.
    pub fn sign_in(&self) -> String {
        sign_in(&self.shared)
    }

    /// All sign-ins are over.
    pub fn expire(&self) {
        self.shared.inner().logins.clear();
    }
}

fn answer(shared: &Arc<Shared>, request: &Request) -> Response {
    let path = request.path.as_str();
    if request.method == "POST" && path == "/login" {
        return Response::signed_in(sign_in(shared));
    }
    let is_signed_in = {
        let inner = shared.inner();
        !inner.faults.login || request.cookie.as_ref().is_some_and(|cookie| inner.logins.contains(cookie))
    };
    if let Some(rest) = path.strip_prefix("/api/") {
        return if is_signed_in { api(shared, request, rest) } else { Response::status(401) };
    }
    if path != "/code" && !path.starts_with("/code/") {
        return Response::status(404);
    }
    if shared.inner().faults.interstitial {
        return Response::html(CHECK.to_owned());
    }
    if !is_signed_in {
        return Response::html(LOGIN.to_owned());
    }
    if path == "/code" {
        shared.passes("opened");
    }
    if let Some(id) = path.strip_prefix("/code/session_") {
        shared.change(id, |session| session.loads += 1);
    }
    Response::html(APP.replace("SKIN", shared.skin.name()))
}

fn sign_in(shared: &Shared) -> String {
    let mut inner = shared.inner();
    inner.last_login += 1;
    let login = format!("l{}", inner.last_login);
    inner.logins.insert(login.clone());
    login
}

fn api(shared: &Arc<Shared>, request: &Request, path: &str) -> Response {
    let parts: Vec<&str> = path.split('/').collect();
    let body: Value = serde_json::from_str(&request.body).unwrap_or_default();
    match (request.method.as_str(), parts.as_slice()) {
        ("GET", ["state"]) => {
            shared.passes("listed");
            Response::json(&state(shared))
        }
        ("POST", ["sessions"]) => {
            shared.passes("asked");
            begin(shared, &body)
        }
        ("GET", ["sessions", id]) => {
            shared.passes("looked");
            look(shared, id)
        }
        ("POST", ["sessions", id, "messages"]) => {
            let text = body["text"].as_str().unwrap_or_default().to_owned();
            shared.change(id, |session| session.messages.push(text));
            Response::status(204)
        }
        ("POST", ["sessions", id, "stop"]) => {
            shared.change(id, |session| session.stopped = true);
            Response::status(204)
        }
        ("POST", ["sessions", id, "pr"]) => open_pull_request(shared, id),
        _ => Response::status(404),
    }
}

fn state(shared: &Shared) -> Value {
    let branches: BTreeMap<&String, Vec<String>> =
        shared.repositories.iter().map(|(name, path)| (name, work::branches(path))).collect();
    let inner = shared.inner();
    let sessions: Vec<Value> = inner
        .sessions
        .iter()
        .rev()
        .map(|session| {
            let title: String = session.prompt.lines().next().unwrap_or_default().chars().take(40).collect();
            json!({ "id": session.id, "title": title, "status": session.label })
        })
        .collect();
    json!({
        "repositories": shared.repositories.keys().collect::<Vec<_>>(),
        "branches": branches,
        "sessions": sessions,
        "limit": inner.faults.limit,
        "no_address": inner.faults.no_address,
        "other_list": inner.faults.other_list,
        "send_delay": inner.faults.send_delay.as_millis() as u64,
        "address_delay": inner.faults.address_delay.as_millis() as u64,
    })
}

fn begin(shared: &Arc<Shared>, body: &Value) -> Response {
    let text = |key: &str| body[key].as_str().unwrap_or_default().to_owned();
    let session = {
        let mut inner = shared.inner();
        let session = Session {
            id: format!("01Test{}", inner.sessions.len() + 1),
            prompt: text("prompt"),
            repository: text("repo"),
            branch: text("branch"),
            label: "Starting container".to_owned(),
            ..Session::default()
        };
        inner.sessions.push(session.clone());
        session
    };
    let answer = Response::json(&json!({ "id": session.id }));
    let shared = Arc::clone(shared);
    let held = Arc::clone(&shared);
    thread::spawn(move || work::session(&shared, &session));
    held.passes("taken");
    answer
}

fn look(shared: &Shared, id: &str) -> Response {
    let inner = shared.inner();
    match inner.sessions.iter().find(|session| session.id == id) {
        Some(session) => {
            let number = inner.pulls.iter().position(|pull| pull.session == id).map(|at| at + 1);
            let pull =
                number.map(|number| format!("https://forge.example/{}/pull/{number}", session.repository));
            Response::json(&json!({
                "label": session.label, "rows": session.rows, "pr": session.offers_pull_request, "pull": pull,
            }))
        }
        None => Response::status(404),
    }
}

fn open_pull_request(shared: &Shared, id: &str) -> Response {
    let mut inner = shared.inner();
    let pushed =
        inner.sessions.iter().find(|session| session.id == id).and_then(|session| session.pushed.clone());
    if let Some(branch) = pushed {
        let pull = Pull { session: id.to_owned(), branch };
        if !inner.pulls.contains(&pull) {
            inner.pulls.push(pull);
        }
    }
    Response::status(204)
}
