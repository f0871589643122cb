//! Agents in the cloud: sessions elsewhere that work on a branch of the remote, by one of several transports.
//!
//! An attempt is a process like every other: a driver of ours in the task's workspace, whose lines are read here. Git is
//! the truth. The driver pushes an anchor, has a session created, watches it, and takes what descends from the anchor into
//! the workspace, where it is judged like any other work. Without a commit nothing is done, whatever a session says.

mod driver;
mod ending;
mod going_on;
mod http;
mod looking;
mod managed;
mod pull_request;
mod record;
mod routine;
mod runner;
mod telling;
pub mod transport;
mod watching;
mod words;

use conductor_core::plan::{Changes, Cloud, Isolation, Task, Work};
use conductor_core::run::event::{CLOUD_SUBMISSION, FailureClass};
use conductor_core::values::units::Usd;
use serde_json::{Value, json};

use super::questions::STOP;
use super::talk::{Ending, Heard, Said, Tokens, Translator, line, said, text};
use super::{Abilities, AgentError, Brief, Engagement, Keeps, Questions};
use crate::process::Exit;
use telling::Job;

pub use driver::drive;

/// The hidden command of our own program that drives a session.
pub const COMMAND: &str = "cloud-session";

/// How often the remote is looked at; for tests, and for users with a reason.
pub(super) const POLL: &str = "CONDUCTOR_CLOUD_POLL";

/// What the driver gets of the caller's environment beside the token: its state directory, how git and the forge are
/// reached, and what `claude` and a browser need.
const PASSED: [&str; 27] = [
    "CONDUCTOR_HOME",
    POLL,
    routine::BASE_VARIABLE,
    "GH_TOKEN",
    "GITHUB_TOKEN",
    "GH_ENTERPRISE_TOKEN",
    "GITHUB_ENTERPRISE_TOKEN",
    "GH_HOST",
    "GH_CONFIG_DIR",
    "GITHUB_API_URL",
    "GIT_CONFIG_GLOBAL",
    "GIT_CONFIG_NOSYSTEM",
    "GIT_SSH",
    "GIT_SSH_COMMAND",
    "SSH_AUTH_SOCK",
    "CLAUDE_CONFIG_DIR",
    "CLAUDE_CODE_OAUTH_TOKEN",
    "ANTHROPIC_AUTH_TOKEN",
    "DISPLAY",
    "WAYLAND_DISPLAY",
    "XAUTHORITY",
    "DBUS_SESSION_BUS_ADDRESS",
    "PLAYWRIGHT_BROWSERS_PATH",
    "PLAYWRIGHT_MCP_PING_TIMEOUT_MS",
    "NPM_CONFIG_CACHE",
    "NPM_CONFIG_REGISTRY",
    "NODE_PATH",
];

pub(super) struct Agent;

impl super::Agent for Agent {
    fn abilities(&self) -> Abilities {
        Abilities { resumes: true, asks: true, interrupts: true, ..Abilities::NONE }
    }

    fn keeps(&self) -> Keeps {
        Keeps::Nothing("it works elsewhere, and Conductor does not see what it runs and edits")
    }

    fn names_conversations(&self) -> bool {
        true
    }

    fn engage(&self, brief: &Brief<'_>) -> Result<Engagement, AgentError> {
        self.check(brief.task)?;
        // Whichever way the run was told where tasks work: in the user's checkout nothing is put in place of anything. For one
        // that only reads what was said before there is no folder.
        let workspace = brief.workspace;
        if workspace.base.is_none() && !workspace.directory.as_os_str().is_empty() {
            return Err(unfit(NEEDS_WORKTREE.into()));
        }
        let own =
            std::env::current_exe().map_err(|error| unfit(format!("its driver cannot be found: {error}")))?;
        let settings = settings(brief.task);
        let token = settings.token_variable.clone();
        let tokens = [routine::TOKEN, managed::TOKEN];
        let keys: Vec<&str> = PASSED.into_iter().chain(tokens).chain(token.as_deref()).collect();
        let launch = brief.launch(&own.display().to_string(), vec![COMMAND.to_owned()], &keys, &[]);
        Ok(Engagement { launch, translator: Box::new(Driven::new(brief, settings)) })
    }

    fn check(&self, task: &Task) -> Result<(), AgentError> {
        if let Work::Run(_) = task.work {
            return Err(unfit("it takes a prompt, not a command".into()));
        }
        if task.isolation.is_some_and(|isolation| isolation != Isolation::Worktree) {
            return Err(unfit(NEEDS_WORKTREE.into()));
        }
        match settings(task).missing() {
            Some(missing) => Err(unfit(missing)),
            None => task.uncapped(false).map_or(Ok(()), |why| Err(unfit(why))),
        }
    }
}

const NEEDS_WORKTREE: &str =
    "its work comes as commits of the remote, which needs a worktree (isolation: worktree)";

fn unfit(why: String) -> AgentError {
    AgentError::Unfit { agent: "cloud", why }
}

fn settings(task: &Task) -> Cloud {
    task.cloud.as_deref().cloned().unwrap_or_default()
}

/// Understands the lines of a driver.
struct Driven {
    job: Job,
    questions: Questions,
    result: Option<Value>,
    /// It has let go of its session, which another attempt goes on with.
    left: bool,
}

impl Driven {
    fn new(brief: &Brief<'_>, cloud: Cloud) -> Driven {
        let task = brief.task;
        let job = Job {
            task: task.id.to_string(),
            name: task.name.clone(),
            words: brief.words.clone(),
            anew: brief.anew.clone(),
            directory: brief.workspace.directory.clone(),
            session: brief.session.id.clone(),
            begun: brief.session.begun,
            cut_short: brief.earlier.cut_short,
            sent_back: brief.earlier.sent_back,
            said: brief.earlier.said.to_vec(),
            model: task.model.clone(),
            repository: task.repository.clone(),
            changes_required: task.changes == Changes::Required,
            max_cost: task.max_cost.map(|cost| cost.0),
            pull_request_after: task.pull_request_after().map(|after| after.0),
            cloud,
        };
        Driven { job, questions: brief.questions.clone(), result: None, left: false }
    }

    /// What only a person can decide: whether a prompt is submitted once more, or what a session wants to know.
    fn on_question(&self, event: &Value) -> Heard {
        let words = |key: &str| text(&event[key]).unwrap_or_default();
        let answer = match event["kind"] == "submit" {
            true => self.questions.put(CLOUD_SUBMISSION, words("what"), words("why")),
            false => Some(self.questions.ask_human(words("what"))),
        };
        let later = answer.as_deref() == Some(STOP) || self.questions.open().is_some();
        let reply = json!({ "type": "answer", "allow": answer.is_none(), "later": later, "why": answer });
        Heard { reply: line(&reply), ..said(Said::Note(words("why"))) }
    }

    fn on_event(&mut self, event: Value) -> Heard {
        let words = || text(&event["text"]).unwrap_or_default();
        match event["type"].as_str() {
            Some("text") => said(Said::Text(words())),
            Some("tool") => said(Said::Tool(text(&event["name"]).unwrap_or_default(), words())),
            Some("note") => said(Said::Note(words())),
            Some("waiting") => said(Said::Retry(words())),
            Some("usage") => used(&event),
            Some("session") => Heard { session: text(&event["id"]), ..Heard::default() },
            Some("question") => self.on_question(&event),
            Some("left") => {
                self.left = true;
                Heard { over: true, ..Heard::default() }
            }
            Some("result") => {
                self.result = Some(event);
                Heard { over: true, ..Heard::default() }
            }
            _ => Heard::default(),
        }
    }
}

/// Since the last time. The provider's own price counts: it tells that apart from the tokens, and what a list made of those
/// would be counted twice.
fn used(event: &Value) -> Heard {
    let number = |name: &str| event[name].as_u64().unwrap_or(0);
    let model = "cloud session".to_owned();
    let tokens = Tokens { model, input: number("input"), output: number("output"), ..Tokens::default() };
    let used = if tokens.total() > 0 { vec![tokens] } else { Vec::new() };
    Heard { used, cost: Some(Usd(number("cost"))), ..Heard::default() }
}

impl Translator for Driven {
    fn opening(&mut self) -> Vec<u8> {
        line(&serde_json::to_value(&self.job).unwrap_or_default())
    }

    fn on_line(&mut self, bytes: &[u8]) -> Heard {
        match serde_json::from_slice::<Value>(bytes) {
            Ok(event) => self.on_event(event),
            Err(_) => Heard::default(),
        }
    }

    fn say(&mut self, words: &str) -> Vec<u8> {
        line(&json!({ "type": "words", "text": words }))
    }

    fn interrupt(&mut self) -> Vec<u8> {
        line(&json!({ "type": "leave" }))
    }

    fn abandon(&mut self) -> Vec<u8> {
        line(&json!({ "type": "abandon" }))
    }

    fn finish(&mut self, exit: Exit) -> Ending {
        let Some(result) = self.result.take() else {
            let last = if self.left { "its session goes on without it" } else { "" };
            return Ending::unfinished(exit, last);
        };
        let words = text(&result["text"]);
        match result["ok"] == true {
            // Its work is in the workspace by then. How the driver ends after that says nothing of it, and a session that was
            // paid for is not asked for again.
            true => Ending::good(words),
            false => {
                let class = serde_json::from_value(result["class"].clone()).unwrap_or(FailureClass::Exit);
                let until = result["resets_at"].as_i64();
                let parked = (class == FailureClass::UsageLimit || until.is_some()).then_some(until);
                Ending { parked, ..Ending::bad(class, words.unwrap_or_default()) }
            }
        }
    }
}

/// One that only reads what was recorded.
pub(super) fn listener(brief: &Brief<'_>) -> Box<dyn Translator> {
    Box::new(Driven::new(brief, Cloud::default()))
}

#[cfg(test)]
mod tests;
