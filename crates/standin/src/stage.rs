//! Everything the stand-in remembers, and what it makes of a request.
//!
//! It knows requests and responses but no sockets.

use std::collections::HashMap;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use hyper::header::{HeaderMap, USER_AGENT};
use hyper::{Method, Response};
use serde_json::{Value, json};

use crate::address::{Address, ApiCall};
use crate::conversation::{Conversation, Offered};
use crate::dialects::Dialect;
use crate::faults::Failure;
use crate::limits::Limits;
use crate::log::{Answered, Log, Request};
use crate::play::{Answer, Asker, Content, Decision, Ending, Met, decide};
use crate::script::{Script, Usage};
use crate::turns::{Manner, Turns};
use crate::wire::{self, Body, Lifeline};

/// Headers by which CLIs say which session a request is of.
const SESSION: [&str; 3] = ["x-claude-code-session-id", "session-id", "x-session-id"];

#[derive(Debug)]
pub(crate) struct Stage {
    pub(crate) limits: Limits,
    /// Makes ids unique among stand-ins.
    seed: u64,
    memory: Mutex<Memory>,
    heard: Condvar,
}

#[derive(Debug, Default)]
struct Memory {
    scripts: HashMap<String, Turns>,
    met: Met,
    log: Log,
    requests: usize,
}

/// A request whose body has arrived.
pub(crate) struct Asked {
    pub(crate) method: Method,
    pub(crate) path: String,
    pub(crate) query: String,
    pub(crate) headers: HeaderMap,
    pub(crate) body: String,
}

/// What to do, once the lock is gone.
enum Reaction {
    Now(Response<Body>),
    Speak { dialect: Dialect, stream: bool, answer: Answer },
}

impl Stage {
    pub(crate) fn new(limits: Limits) -> Stage {
        let seed = since_epoch().as_micros() as u64;
        Stage { limits, seed, memory: Mutex::default(), heard: Condvar::new() }
    }

    pub(crate) fn script(&self, name: &str, script: &Script) {
        let mut memory = self.memory();
        memory.met.forget(name);
        memory.scripts.insert(name.to_owned(), Turns::of(script));
    }

    pub(crate) fn requests(&self, job: &str) -> Vec<Request> {
        self.memory().log.of_job(job)
    }

    pub(crate) fn billed(&self) -> Usage {
        self.memory().log.billed()
    }

    /// Waits until a job has made so many requests.
    pub(crate) fn await_requests(&self, job: &str, number: usize, patience: Duration) -> bool {
        let deadline = Instant::now() + patience;
        let mut memory = self.memory();
        while memory.log.count(job) < number {
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return false;
            }
            let woken = self.heard.wait_timeout(memory, left);
            memory = woken.unwrap_or_else(PoisonError::into_inner).0;
        }
        true
    }

    /// Answers a request; waits only where a script wants it to.
    pub(crate) async fn respond(&self, asked: Asked, lifeline: Lifeline) -> Response<Body> {
        match self.react(&asked) {
            Reaction::Now(response) => response,
            Reaction::Speak { dialect, stream, answer } => {
                wire::answer(dialect, stream, answer, lifeline).await
            }
        }
    }

    fn react(&self, asked: &Asked) -> Reaction {
        let address = Address::of(&asked.method, &asked.path);
        if let ApiCall::Log(job) = address.call {
            return Reaction::Now(self.show_log(job, asked.query.contains("bodies")));
        }
        let mut memory = self.memory();
        if memory.requests >= self.limits.requests {
            return Reaction::Now(refuse(&format!(
                "the stand-in answers {} requests, no more",
                self.limits.requests
            )));
        }
        memory.requests += 1;
        let mut entry = self.entry(asked, &address, memory.requests);
        let reaction = match address.call {
            ApiCall::Speak { dialect, model, stream } => {
                entry.dialect = Some(dialect);
                self.speak(asked, dialect, (model, stream), &mut entry, &mut memory)
            }
            ref other => aside(other, address.job, &mut entry, &memory),
        };
        memory.log.push(entry);
        self.heard.notify_all();
        reaction
    }

    fn speak(
        &self,
        asked: &Asked,
        dialect: Dialect,
        (model, stream): (Option<&str>, bool),
        entry: &mut Request,
        memory: &mut Memory,
    ) -> Reaction {
        let Ok(body) = serde_json::from_str::<Value>(&asked.body) else {
            return refused(dialect, false, "the body is no JSON", entry);
        };
        let mut conversation = dialect.read(&body, model, stream);
        conversation.session = SESSION.iter().find_map(|name| header(&asked.headers, name));
        describe(&conversation, entry);
        let stream = conversation.stream;
        let Some(turns) = memory.scripts.get(&entry.job) else {
            let why = format!("the stand-in has no script named {:?}", entry.job);
            return refused(dialect, stream, &why, entry);
        };
        let unique = format!("{:x}{:04x}", self.seed, entry.number);
        let now = since_epoch().as_secs();
        let asker = Asker { job: &entry.job, conversation: &conversation, unique, now };
        let Decision { place, answer } = decide(&asker, turns, &mut memory.met);
        entry.turn = place;
        (entry.status, entry.answer) = outcome(place, &answer);
        if let Content::Given { reply, ending: Ending::Whole } = &answer.content {
            entry.billed = reply.usage;
        }
        Reaction::Speak { dialect, stream, answer }
    }

    fn entry(&self, asked: &Asked, address: &Address<'_>, number: usize) -> Request {
        let at_ms = since_epoch().as_millis() as u64;
        Request {
            method: asked.method.to_string(),
            path: asked.path.clone(),
            user_agent: header(&asked.headers, USER_AGENT.as_str()).unwrap_or_default(),
            ..Request::new(number, at_ms, address.job.unwrap_or_default(), &asked.body)
        }
    }

    fn show_log(&self, job: Option<&str>, bodies: bool) -> Response<Body> {
        let memory = self.memory();
        let Some(job) = job else {
            return wire::json(200, &json!(memory.log.counts()));
        };
        let mut requests = memory.log.of_job(job);
        if !bodies {
            requests.iter_mut().for_each(|request| request.body = None);
        }
        wire::json(200, &json!(requests))
    }

    fn memory(&self) -> MutexGuard<'_, Memory> {
        self.memory.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn describe(conversation: &Conversation, entry: &mut Request) {
    entry.model.clone_from(&conversation.model);
    entry.session.clone_from(&conversation.session);
    entry.stream = conversation.stream;
    entry.tools = conversation.offered.iter().map(Offered::full_name).collect();
    entry.keep_prompt(conversation.prompts().last().unwrap_or_default());
    // A marker is more particular than an address: a subagent has its parent's address and a prompt of its own.
    if let Some((name, _)) = conversation.marker() {
        entry.job = name.to_owned();
    }
}

fn outcome(place: Option<usize>, answer: &Answer) -> (u16, Answered) {
    match &answer.content {
        Content::Refused(failure) if failure.limit.is_some() => (failure.status, Answered::UsedUp),
        Content::Refused(failure) => (failure.status, Answered::Refused(failure.kind)),
        Content::Given { ending: Ending::Cut | Ending::Short, .. } => (200, Answered::Cut),
        Content::Given { ending: Ending::BrokenOff(failure), .. } => (200, Answered::Refused(failure.kind)),
        Content::Given { reply, .. } => match &reply.call {
            Some(call) if call.preparing => (200, Answered::Prepared(call.name.clone())),
            Some(call) => (200, Answered::Called(call.name.clone())),
            None if place.is_none() => (200, Answered::Aside),
            None => (200, Answered::Text),
        },
    }
}

fn refused(dialect: Dialect, stream: bool, why: &str, entry: &mut Request) -> Reaction {
    let failure = Failure::refusal(why.to_owned());
    entry.status = failure.status;
    entry.answer = Answered::Refused(failure.kind);
    let answer = Answer { manner: Manner::default(), content: Content::Refused(failure) };
    Reaction::Speak { dialect, stream, answer }
}

/// Calls that are no conversation.
fn aside(call: &ApiCall<'_>, job: Option<&str>, entry: &mut Request, memory: &Memory) -> Reaction {
    let usage = job.and_then(|job| memory.scripts.get(job)).map(Turns::usage);
    let tokens = usage.unwrap_or_default().input;
    Reaction::Now(match call {
        ApiCall::Probe => wire::empty(),
        ApiCall::Models => wire::json(200, &models()),
        ApiCall::CountTokens(Dialect::Gemini) => wire::json(200, &json!({"totalTokens": tokens})),
        ApiCall::CountTokens(_) => wire::json(200, &json!({"input_tokens": tokens})),
        _ => {
            entry.status = 404;
            wire::json(404, &error("the stand-in knows no such call"))
        }
    })
}

/// A list that each API's clients can read: one looks into `data`, another into `models`.
fn models() -> Value {
    let model = json!({
        "id": "stand-in", "object": "model", "type": "model", "display_name": "Stand-in",
        "created": 0, "created_at": "1970-01-01T00:00:00Z", "owned_by": "conductor",
    });
    json!({"object": "list", "data": [model], "has_more": false, "models": []})
}

fn refuse(why: &str) -> Response<Body> {
    wire::json(400, &error(why))
}

/// Read as an error by every dialect.
pub(crate) fn error(why: &str) -> Value {
    json!({"type": "error", "error": {"type": "invalid_request_error", "code": 400, "message": why}})
}

fn header(headers: &HeaderMap, name: &str) -> Option<String> {
    headers.get(name)?.to_str().ok().map(str::to_owned)
}

fn since_epoch() -> Duration {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default()
}
