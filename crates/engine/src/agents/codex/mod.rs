//! Codex: JSON-RPC with `codex app-server` over its standard input and output, one thread and one turn at a time.
//!
//! It names the thread itself and counts tokens over the whole of it, also after it is resumed. Its exit code says
//! nothing: what counts is the status of the turn. An edit its sandbox refuses leaves no trace here; whether there is
//! one is for our own look at the workspace to say.

mod errors;
mod handshake;
mod notices;
mod questions;
#[cfg(test)]
mod tests;
mod usage;

use std::collections::HashMap;

use conductor_core::plan::Task;
use conductor_core::run::event::FailureClass;
use serde_json::{Value, json};

use super::calls::{CallSize, Calls};
use super::policy::InWorkspace;
use super::talk::{Ending, Heard, Tokens, Translator, class_of, line, plain, status_in, text};
use super::{AgentError, Brief, Engagement};
use crate::agents::tool_access::{self, ToolAccess};
use crate::process::Exit;

pub(super) use errors::class_of_error;

/// The program, and how to get it.
const PROGRAM: &str = "codex";
const REMEDY: &str = "install it with `npm install -g @openai/codex`";

/// Variables that this agent needs and no other program gets.
const KEYS: [&str; 4] = ["CODEX_HOME", "CODEX_API_KEY", "OPENAI_API_KEY", "OPENAI_BASE_URL"];

/// Its features by which it hands work on. Whether they are on is its model's and its own configuration's to say.
const DELEGATES: [&str; 2] = ["multi_agent", "multi_agent_v2"];

/// What our requests are numbered by; there is never more than one of a kind.
const INITIALIZE: u64 = 1;
const THREAD: u64 = 2;
const TURN: u64 = 3;
const INTERRUPT: u64 = 4;
const ANOTHER_THREAD: u64 = 5;

/// How a thread is opened.
const START: &str = "thread/start";
const RESUME: &str = "thread/resume";

pub(super) struct Agent;

impl super::Agent for Agent {
    fn home_variable(&self) -> Option<&'static str> {
        Some("CODEX_HOME")
    }

    fn abilities(&self) -> super::Abilities {
        super::Abilities::ALL
    }

    fn keeps(&self) -> super::Keeps {
        super::Keeps::Some(&super::rules::CODEX)
    }

    /// Its sandbox lets it write in its workspace alone, and git's own files are elsewhere.
    fn commits(&self) -> bool {
        false
    }

    fn names_conversations(&self) -> bool {
        true
    }

    /// It makes its database without a lock.
    fn sets_up_its_home(&self) -> bool {
        true
    }

    fn engage(&self, brief: &Brief<'_>) -> Result<Engagement, AgentError> {
        self.check(brief.task)?;
        let mut args = vec!["app-server".to_owned()];
        args.extend(brief.tools.into_iter().flat_map(server));
        if brief.policy().withholds("WebSearch") {
            args.extend(["-c".to_owned(), "web_search=\"disabled\"".to_owned()]);
        }
        if !brief.task.may_delegate() {
            let off = DELEGATES.iter().flat_map(|name| ["-c".to_owned(), format!("features.{name}=false")]);
            args.extend(off);
        }
        let launch = brief.launch(PROGRAM, args, &KEYS, &[]);
        Ok(Engagement { launch, translator: Box::new(Codex::new(brief)) })
    }

    fn check(&self, task: &Task) -> Result<(), AgentError> {
        super::takes_prompts("codex", task, PROGRAM, REMEDY)
    }
}

/// Our tools, which it may use without asking: what they do is decided by us.
fn server(access: &ToolAccess) -> Vec<String> {
    let name = tool_access::NAME;
    let settings = [
        format!("mcp_servers.{name}.url={:?}", access.url),
        format!("mcp_servers.{name}.bearer_token_env_var={:?}", tool_access::TOKEN),
        format!("mcp_servers.{name}.default_tools_approval_mode=\"approve\""),
    ];
    settings.into_iter().flat_map(|setting| ["-c".to_owned(), setting]).collect()
}

/// What its commands and edits are kept in, and when it asks. It looks at files by commands: where it is only to look, it
/// runs them unasked, and can change nothing.
fn sandbox(policy: &InWorkspace) -> (&'static str, &'static str) {
    if policy.only_looks() { ("read-only", "never") } else { ("workspace-write", "untrusted") }
}

struct Codex {
    /// What the thread is opened with: the method and its parameters.
    thread_request: (&'static str, Value),
    prompt: String,
    /// What it is told instead where the thread is lost.
    anew: Option<String>,
    policy: InWorkspace,
    thread: Option<String>,
    turn: Option<String>,
    /// It was asked to stop. Before it says that the turn has started, it denies that there is one.
    unwanted: bool,
    model: String,
    /// What has been counted of each thread; it may start others for a part of the work.
    counted: HashMap<String, Tokens>,
    calls: Calls,
    /// The files an edit is about, by the edit: a question about it names only the edit.
    edits: HashMap<String, Vec<String>>,
    used: bool,
    words: Option<String>,
    error: Option<Value>,
    resets_at: Option<i64>,
    /// Why it did not even begin.
    refused: Option<String>,
    end: Option<Value>,
}

impl Codex {
    fn new(brief: &Brief<'_>) -> Codex {
        let policy = brief.policy();
        let (sandbox, approval) = sandbox(&policy);
        let mut parameters = json!({
            "cwd": brief.workspace.directory,
            "sandbox": sandbox,
            "approvalPolicy": approval,
        });
        if let Some(model) = &brief.task.model {
            parameters["model"] = json!(model);
        }
        let method = match brief.session.begun {
            false => START,
            true => {
                parameters["threadId"] = json!(brief.session.id);
                // All that was said so far is of no use to us.
                parameters["excludeTurns"] = json!(true);
                RESUME
            }
        };
        Codex {
            thread_request: (method, parameters),
            prompt: brief.words.clone(),
            anew: brief.anew.clone(),
            policy,
            thread: None,
            turn: None,
            unwanted: false,
            model: String::new(),
            counted: HashMap::new(),
            calls: Calls::default(),
            edits: HashMap::new(),
            used: false,
            words: None,
            error: None,
            resets_at: None,
            refused: None,
            end: None,
        }
    }

    fn interruption(&self) -> Vec<u8> {
        request(INTERRUPT, "turn/interrupt", &json!({ "threadId": self.thread, "turnId": self.turn }))
    }

    fn failed(&self, error: &Value) -> Ending {
        let class = class_of_error(error);
        let words = text(&error["message"]).unwrap_or_else(|| "it failed without a reason".to_owned());
        let parked = (class == FailureClass::UsageLimit).then_some(self.resets_at);
        Ending { parked, ..Ending::bad(class, plain(&words)) }
    }
}

impl Translator for Codex {
    fn opening(&mut self) -> Vec<u8> {
        let version = env!("CARGO_PKG_VERSION");
        let client = json!({ "name": "conductor", "title": "Conductor", "version": version });
        request(INITIALIZE, "initialize", &json!({ "clientInfo": client }))
    }

    fn on_line(&mut self, bytes: &[u8]) -> Heard {
        let Ok(event) = serde_json::from_slice::<Value>(bytes) else { return Heard::default() };
        match (event["method"].as_str(), event.get("id")) {
            (Some(method), Some(id)) => self.on_question(method, id, &event["params"]),
            (Some(method), None) => self.on_notice(method, &event["params"]),
            (None, Some(id)) => self.on_answer(id, &event),
            (None, None) => Heard::default(),
        }
    }

    fn interrupt(&mut self) -> Vec<u8> {
        self.unwanted = true;
        match self.turn.is_some() && self.end.is_none() {
            true => self.interruption(),
            false => Vec::new(),
        }
    }

    /// What a call used is told when the tools it asked for are done.
    fn unsaid(&mut self) -> Vec<Tokens> {
        let at_work =
            self.turn.is_some() && self.end.as_ref().is_none_or(|end| end["status"] == "interrupted");
        self.calls.under_way().filter(|_| at_work).into_iter().collect()
    }

    fn newest_call(&self) -> Option<CallSize> {
        self.calls.newest()
    }

    fn goes_on_after(&mut self, call: &CallSize) {
        self.calls = Calls::after(call);
    }

    fn finish(&mut self, exit: Exit) -> Ending {
        if let Some(why) = self.refused.take() {
            return Ending::bad(class_of(status_in(&why), &why), why);
        }
        let error = self.error.take().unwrap_or_default();
        let Some(turn) = self.end.take() else {
            return Ending::unfinished(exit, error["message"].as_str().unwrap_or_default());
        };
        match turn["status"].as_str() {
            // A provider may tell no numbers, but a turn with neither numbers nor words never reached a model.
            Some("completed") if self.used || self.words.is_some() => Ending::good(self.words.take()),
            Some("completed") => Ending::bad(FailureClass::Unfinished, "it ended its turn without a word"),
            Some("interrupted") => Ending::bad(FailureClass::Killed, "it was interrupted"),
            _ if turn["error"].is_object() => self.failed(&turn["error"]),
            _ => self.failed(&error),
        }
    }
}

/// One that only reads what was recorded.
pub(super) fn listener(brief: &Brief<'_>) -> Box<dyn Translator> {
    Box::new(Codex::new(brief))
}

fn request(id: u64, method: &str, params: &Value) -> Vec<u8> {
    line(&json!({ "id": id, "method": method, "params": params }))
}
