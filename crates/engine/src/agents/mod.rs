//! Who does the work: translators between a task and a program.
//!
//! An agent says what to start and what an exit means. It starts nothing itself and reads no file; `process` and
//! `worker` treat all of them alike.

mod claude;
mod shell;
mod talk;

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::sync::Arc;

use conductor_core::event::Outcome;
use conductor_core::plan::{Command, Task};
use thiserror::Error;

use crate::process::{Exit, Launch};
use crate::workspaces::Seat;

#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum AgentError {
    #[error("there is no agent '{0}'; the one there is: shell, for `run:` tasks")]
    Unknown(String),
    #[error("a prompt needs a coding agent, and this version has none yet; give it a `run:` command instead")]
    NoPrompts,
    #[error("the {agent} agent cannot do this: {why}")]
    Unfit { agent: &'static str, why: String },
}

pub trait Agent: Send + Sync {
    /// The program that does this task in this place.
    fn launch(&self, task: &Task, seat: &Seat, caller: &Caller) -> Result<Launch, AgentError>;

    /// What its exit means.
    fn finish(&self, exit: Exit) -> Outcome;
}

/// The list of backends.
pub fn agent(name: &str) -> Result<&'static dyn Agent, AgentError> {
    match name {
        "shell" => Ok(&shell::Shell),
        "default" => Err(AgentError::NoPrompts),
        other => Err(AgentError::Unknown(other.to_owned())),
    }
}

/// A command of ours, such as a check, in a task's place and environment.
pub fn command(line: &str, task: &Task, seat: &Seat, caller: &Caller) -> Launch {
    shell::launch(&Command::Line(line.to_owned()), task, seat, caller)
}

/// Whether there is somebody for this task, without starting anything.
pub fn check(task: &Task) -> Result<(), AgentError> {
    agent(task.agent_name())?.launch(task, &Seat::default(), &Caller::default()).map(drop)
}

/// Names every program may expect; the rest of the caller's environment, keys and tokens above all, stays out.
const PASSED: [&str; 22] = [
    "PATH",
    "HOME",
    "USER",
    "LOGNAME",
    "SHELL",
    "LANG",
    "LANGUAGE",
    "LC_*",
    "TERM",
    "COLORTERM",
    "NO_COLOR",
    "TZ",
    "TMPDIR",
    "XDG_*",
    "CARGO_HOME",
    "RUSTUP_HOME",
    "GOPATH",
    "JAVA_HOME",
    "NVM_DIR",
    "PYENV_ROOT",
    "CI",
    "SSL_CERT_*",
];

/// The caller's environment, looked through once for the whole run.
#[derive(Debug, Clone, Default)]
pub struct Caller {
    passed: Arc<BTreeMap<OsString, OsString>>,
    held_back: Vec<(OsString, OsString)>,
}

impl Caller {
    pub fn new(environment: impl Iterator<Item = (OsString, OsString)>) -> Caller {
        let passes = |name: &OsString| PASSED.iter().any(|pattern| names(pattern, name));
        let (passed, held_back): (Vec<_>, Vec<_>) = environment.partition(|(name, _)| passes(name));
        Caller { passed: Arc::new(passed.into_iter().collect()), held_back }
    }

    /// The environment of a task's program: what everybody gets, what its place has, what the task asks for, what it
    /// sets itself.
    fn environment(&self, task: &Task, seat: &Seat) -> Arc<BTreeMap<OsString, OsString>> {
        if task.env.is_empty() && task.env_pass.is_empty() && seat.env.is_empty() {
            return self.passed.clone();
        }
        let asked = |name: &OsString| task.env_pass.iter().any(|pattern| names(pattern, name));
        let mut environment = self.passed.as_ref().clone();
        environment.extend(seat.env.iter().map(|(name, value)| (name.into(), value.into())));
        environment.extend(self.held_back.iter().filter(|(name, _)| asked(name)).cloned());
        environment.extend(task.env.iter().map(|(name, value)| (name.into(), value.into())));
        Arc::new(environment)
    }
}

fn names(pattern: &str, name: &OsString) -> bool {
    match pattern.strip_suffix('*') {
        Some(prefix) => name.as_encoded_bytes().starts_with(prefix.as_bytes()),
        None => name == pattern,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use conductor_core::ids::TaskId;
    use conductor_core::plan::Work;

    #[test]
    fn secrets_of_the_caller_stay_out_unless_asked_for() {
        let mut task = Task::new(TaskId::parse("t").unwrap(), Work::Run(Command::Line("true".into())));
        task.env.insert("MINE".into(), "1".into());
        task.env.insert("LANG".into(), "C".into());
        task.env_pass = vec!["DATABASE_URL".into(), "AWS_*".into()];
        let caller = [
            ("PATH", "/bin"),
            ("LC_ALL", "C"),
            ("LANG", "de"),
            ("ANTHROPIC_API_KEY", "sk"),
            ("GITHUB_TOKEN", "t"),
            ("DATABASE_URL", "db"),
            ("AWS_REGION", "eu"),
            ("CONDUCTOR_HOME", "/x"),
        ];
        let caller = caller.into_iter().map(|(name, value)| (name.into(), value.into()));
        let shown: Vec<String> = Caller::new(caller)
            .environment(&task, &Seat::default())
            .iter()
            .map(|(name, value)| format!("{}={}", name.display(), value.display()))
            .collect();
        assert_eq!(shown, ["AWS_REGION=eu", "DATABASE_URL=db", "LANG=C", "LC_ALL=C", "MINE=1", "PATH=/bin"]);
    }
}
