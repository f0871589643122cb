//! A call of git: the command, made deaf to what the repository would have it run, and what it answers.

use std::ffi::OsStr;
use std::path::Path;
use std::process::{Command, Output};
use std::time::Instant;

use super::{GitError, locks};
use crate::host::logs::{self, millis};
use crate::host::redact;

/// Switched off wherever git runs in the user's repository.
const DEAF: [&str; 12] = [
    "core.hooksPath=/dev/null",
    "core.fsmonitor=false",
    "core.pager=cat",
    "core.editor=true",
    "core.askPass=true",
    "core.sshCommand=false",
    "credential.helper=",
    "diff.external=",
    "commit.gpgSign=false",
    "gc.auto=0",
    "maintenance.auto=false",
    "protocol.allow=never",
];

/// A file that cannot exist: git says something about every file of grafts that it can open.
const NO_GRAFTS: &str = "/dev/null/none";

/// Git in a directory, without prompts, locale, inherited repository or anything that runs programs.
pub(super) fn deaf(directory: &Path) -> Command {
    let mut command = bare_command();
    command.current_dir(directory).env("GIT_OPTIONAL_LOCKS", "0");
    for setting in DEAF {
        command.args(["-c", setting]);
    }
    command
}

/// Git with none of the variables by which a caller could point it elsewhere.
pub(super) fn bare_command() -> Command {
    let mut command = Command::new("git");
    for (name, _) in std::env::vars_os() {
        if name.as_encoded_bytes().starts_with(b"GIT_") {
            command.env_remove(name);
        }
    }
    command
        .env("LC_ALL", "C")
        .env("GIT_TERMINAL_PROMPT", "0")
        .env("GIT_EDITOR", "true")
        .env("GIT_PAGER", "cat")
        .env("GIT_ATTR_NOSYSTEM", "1")
        // History is what it is, whatever an agent puts in its place.
        .env("GIT_NO_REPLACE_OBJECTS", "1")
        .env("GIT_GRAFT_FILE", NO_GRAFTS)
        // Nothing is fetched, whatever a configuration allows or promises.
        .env("GIT_ALLOW_PROTOCOL", "none")
        .env("GIT_NO_LAZY_FETCH", "1");
    command
}

/// What a command answered, without the last line break.
pub(super) fn output(command: Command) -> Result<String, GitError> {
    let text = String::from_utf8_lossy(&bytes(command)?).into_owned();
    Ok(text.strip_suffix('\n').map(str::to_owned).unwrap_or(text))
}

pub(super) fn bytes(command: Command) -> Result<Vec<u8>, GitError> {
    said(command, &[])
}

pub(super) fn said(mut command: Command, input: &[u8]) -> Result<Vec<u8>, GitError> {
    let output = run(&mut command, input)?;
    finished(&output, &command)
}

/// Every call of git passes here: what a killed one left locked is freed, what a living one holds is waited
/// for.
pub(super) fn run(command: &mut Command, input: &[u8]) -> Result<Output, GitError> {
    let started = Instant::now();
    let output = locks::run(command, input, locks::PATIENCE).map_err(|error| missing(command, error));
    let ok = output.as_ref().is_ok_and(|output| output.status.success());
    let took = millis(started.elapsed());
    tracing::debug!(target: logs::GIT, git = what(command), more = more(command), took, ok, "called git");
    output
}

/// A program is "not found" too where the folder is gone that it was to be started in.
fn missing(command: &Command, error: GitError) -> GitError {
    match (error, command.get_current_dir()) {
        (GitError::Missing(_), Some(folder)) if !folder.is_dir() => GitError::Gone(folder.to_owned()),
        (error, _) => error,
    }
}

pub(super) fn finished(output: &Output, command: &Command) -> Result<Vec<u8>, GitError> {
    match output.status.success() {
        true => Ok(output.stdout.clone()),
        false => Err(GitError::Failed {
            what: what(command),
            code: output.status.code(),
            said: String::from_utf8_lossy(&output.stderr).trim().to_owned(),
        }),
    }
}

/// How many words name a call, and how many of those after them are logged.
const NAMED: usize = 4;
const LOGGED: usize = 12;

/// The verb and what follows, without the switches before it.
pub(super) fn what(command: &Command) -> String {
    words(command, 60).take(NAMED).collect::<Vec<_>>().join(" ")
}

/// What comes after that, where there is any.
fn more(command: &Command) -> Option<String> {
    let more: Vec<String> = words(command, 200).skip(NAMED).take(LOGGED).collect();
    (!more.is_empty()).then(|| more.join(" "))
}

fn words(command: &Command, longest: usize) -> impl Iterator<Item = String> {
    let args: Vec<_> = command.get_args().map(OsStr::to_string_lossy).collect();
    let verb = args.iter().position(|arg| !arg.starts_with('-') && !arg.contains('=')).unwrap_or(0);
    args.into_iter().skip(verb).map(move |arg| redact::known().cut(&arg, longest))
}

pub(super) fn with_input(command: Command, input: &[u8]) -> Result<String, GitError> {
    let text = said(command, input)?;
    Ok(String::from_utf8_lossy(&text).trim_end().to_owned())
}

/// Whether `old` is in the history of `new`, as a git command of this kind sees it.
pub(super) fn is_ancestor(mut command: Command, new: &str, old: &str) -> Result<bool, GitError> {
    command.args(["merge-base", "--is-ancestor", old, new]);
    match output(command) {
        Ok(_) => Ok(true),
        Err(GitError::Failed { code: Some(1), .. }) => Ok(false),
        Err(error) => Err(error),
    }
}
