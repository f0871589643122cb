//! Who does the work: translators between a task and a program.
//!
//! An agent says what to start and what an exit means. It starts nothing itself and reads no file; `process` and
//! `worker` treat all of them alike.

mod shell;

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::Path;

use conductor_core::event::Outcome;
use conductor_core::plan::Task;
use thiserror::Error;

use crate::process::{Exit, Launch};

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
    /// The program that does this task in this directory.
    fn launch(&self, task: &Task, directory: &Path) -> Result<Launch, AgentError>;

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

/// Whether there is somebody for this task, without starting anything.
pub fn check(task: &Task) -> Result<(), AgentError> {
    agent(task.agent_name())?.launch(task, Path::new(".")).map(drop)
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

/// The environment of a task's program: what is passed by name, then what the task sets.
fn environment(
    task: &Task,
    from: impl Iterator<Item = (OsString, OsString)>,
) -> BTreeMap<OsString, OsString> {
    let asked = task.env_pass.iter().map(String::as_str);
    let passed: Vec<&str> = PASSED.into_iter().chain(asked).collect();
    from.filter(|(name, _)| passed.iter().any(|pattern| names(pattern, &name.to_string_lossy())))
        .chain(task.env.iter().map(|(name, value)| (name.into(), value.into())))
        .collect()
}

fn names(pattern: &str, name: &str) -> bool {
    match pattern.strip_suffix('*') {
        Some(prefix) => name.starts_with(prefix),
        None => pattern == name,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use conductor_core::ids::TaskId;
    use conductor_core::plan::{Command, Work};

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
        let shown: Vec<String> = environment(&task, caller)
            .iter()
            .map(|(name, value)| format!("{}={}", name.display(), value.display()))
            .collect();
        assert_eq!(shown, ["AWS_REGION=eu", "DATABASE_URL=db", "LANG=C", "LC_ALL=C", "MINE=1", "PATH=/bin"]);
    }
}
