//! The port by which sessions in the cloud are started, spoken to, watched and stopped.
//!
//! A transport knows its provider and nothing of git: what a session says of itself is a hint for people and for the
//! moment to look at the remote. What it has done is found there. Calls block; each attempt has a process of its own.

use std::time::Duration;

use conductor_core::plan::{Cloud, Transport as Kind};
use conductor_core::run::event::FailureClass;
use conductor_core::values::units::Usd;
use serde::{Deserialize, Serialize};

/// No provider takes a longer text, counted in characters.
pub const LONGEST_PROMPT: usize = 65_536;

/// What a session is created for.
#[derive(Debug, Clone, Copy)]
pub struct Assignment<'a> {
    /// A line for people, unique for the attempt: it has the mark in it.
    pub title: &'a str,
    /// The whole prompt. Where the session starts elsewhere, its first step checks the anchor out.
    pub prompt: &'a str,
    /// `owner/name`, as the task says it or as the remote's address has it; nothing where neither does.
    pub repository: Option<&'a str>,
    /// The address of the remote.
    pub remote: &'a str,
    /// The branch on the remote at whose tip the session is to begin.
    pub branch: &'a str,
    /// Unique for each submission: `run/task/number`. It is in the prompt and in the title, so that a session whose
    /// creation had no answer can be found again.
    pub mark: &'a str,
    /// What the session may cost, where that is capped and the provider holds caps.
    pub max_cost: Option<Usd>,
    pub model: Option<&'a str>,
    /// What the task file says of its sessions.
    pub settings: &'a Cloud,
}

/// A session that exists.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SessionName {
    /// What the provider calls it.
    pub id: String,
    /// Where a person can look at it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
}

impl SessionName {
    pub fn new(id: impl Into<String>, url: Option<String>) -> SessionName {
        SessionName { id: id.into(), url }
    }

    /// The one name by which it is recorded: its address where it has one.
    pub fn recorded(&self) -> &str {
        self.url.as_deref().unwrap_or(&self.id)
    }
}

/// What a session is doing, as far as its provider says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum State {
    /// It works, or it cannot be told: only the remote says more.
    Working,
    /// It says that it is done and does nothing until it is spoken to.
    Idle,
    /// It asks for something that only a person can give; its words.
    Waiting(String),
    /// It is over and cannot go on; why.
    Ended(String),
}

/// What happened in a session since it was last looked at.
#[derive(Debug, Clone, PartialEq)]
pub struct Observed {
    pub state: State,
    /// For the transcript, in order.
    pub said: Vec<Line>,
    /// What the whole session has cost so far, where its provider tells.
    pub cost: Option<Usd>,
    /// Tokens of the whole session so far, in and out, where its provider tells.
    pub tokens: Option<(u64, u64)>,
}

impl Observed {
    pub fn state(state: State) -> Observed {
        Observed { state, said: Vec::new(), cost: None, tokens: None }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Line {
    Text(String),
    /// A tool and what for, in a few words.
    Tool(String, String),
    Note(String),
    /// The provider makes it wait; what it says of that.
    Waiting(String),
}

/// Why a call did not do what was asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Refusal {
    /// It was not carried out, and the provider or this machine says why.
    Refused {
        class: FailureClass,
        message: String,
        /// Nothing is to be asked before this, counted from now.
        retry_after: Option<Duration>,
    },
    /// It may have been carried out: no answer came, or one that cannot be read.
    Unsure(String),
    /// This transport cannot do that at all.
    Unable(&'static str),
}

impl Refusal {
    pub fn refused(class: FailureClass, message: impl Into<String>) -> Refusal {
        Refusal::Refused { class, message: message.into(), retry_after: None }
    }
}

/// Tells the user something at once, while a call is still under way.
pub fn notice(words: &str) {
    super::telling::note(words);
}

pub trait Transport {
    /// Creates one session and submits the prompt to it. Anything but a session it knows of and a plain refusal is
    /// `Unsure`: then the caller looks with `find` and at the remote, and never calls this again without the user's word.
    fn create(&mut self, assignment: &Assignment<'_>) -> Result<SessionName, Refusal>;

    /// A session that was created for this mark, where the provider can be asked; `Unable` where it cannot.
    fn find(&mut self, _assignment: &Assignment<'_>) -> Result<Option<SessionName>, Refusal> {
        Err(Refusal::Unable("its provider has no list of sessions that can be asked"))
    }

    /// Says something to a session, which goes on with it.
    fn send(&mut self, session: &SessionName, words: &str) -> Result<(), Refusal>;

    /// What happened since the last look, waiting up to `patience` for anything to happen. A transport that is new to a
    /// session tells what it still can of what was before.
    fn observe(&mut self, session: &SessionName, patience: Duration) -> Result<Observed, Refusal>;

    /// Ends what the session is doing, within moments, and lets go of it (a tab is closed unless `keep_tabs`).
    fn stop(&mut self, session: &SessionName) -> Result<(), Refusal>;

    /// Opens a pull request by the provider's own means, where no forge can be asked; its address, once it is there.
    fn open_pull_request(&mut self, _session: &SessionName) -> Result<String, Refusal> {
        Err(Refusal::Unable("it has no means of its own to open a pull request"))
    }
}

/// What a transport may take from its surroundings.
#[derive(Debug, Clone, Default)]
pub struct Surroundings {
    /// The state directory.
    pub home: std::path::PathBuf,
    /// The folder in which this task's record is kept: a transport may keep files of its own there.
    pub folder: std::path::PathBuf,
    /// Variables of the driver's environment, by name.
    pub variables: std::collections::BTreeMap<String, String>,
}

/// Makes transports of kinds that the engine has none for, which is the browser.
pub type Factory<'a> = &'a dyn Fn(Kind, &Cloud, &Surroundings) -> Option<Result<Box<dyn Transport>, Refusal>>;
