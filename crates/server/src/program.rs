//! Conductor's own program, started for what a command of it does: so that a verb means the same over HTTP as in a
//! terminal, and the server itself never writes to a run. No shell sees any of it.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use conductor_engine::host::access;
use serde_json::Value;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::process::Command;
use tokio::sync::Semaphore;
use tokio::time::timeout;

use crate::listen::HANDED_OVER;
use crate::problem::{Problem, Result};

/// Of those that run beside each other; others wait.
const AT_ONCE: usize = 8;

/// Checks of a merge may take long.
const LONGEST: Duration = Duration::from_secs(15 * 60);

/// What a command may print.
const MOST: u64 = 64 << 20;

/// Words of a command that end up in an answer.
const LONGEST_WORDS: usize = 4_000;

pub(crate) struct Program {
    path: PathBuf,
    state: PathBuf,
    turns: Semaphore,
}

/// What was meant for the server is not meant for every run that it starts: not how it logs, and not the one file of
/// metrics that all of them would write.
const OF_THE_SERVER: [&str; 5] =
    ["CONDUCTOR_PARALLEL", "CONDUCTOR_UI", "CONDUCTOR_LOG", "CONDUCTOR_STRATEGY", "CONDUCTOR_METRICS_FILE"];

/// What a command said and how it ended.
#[derive(Debug)]
pub(crate) struct Said {
    pub(crate) exit: i32,
    pub(crate) out: Vec<u8>,
    /// What it told people.
    pub(crate) words: String,
}

impl Program {
    pub(crate) fn new(path: PathBuf, state: &Path) -> Program {
        Program { path, state: state.to_owned(), turns: Semaphore::new(AT_ONCE) }
    }

    /// Whatever becomes of it, it begins like this.
    fn command(&self, directory: &Path) -> std::process::Command {
        let mut command = std::process::Command::new(&self.path);
        command.current_dir(directory).env("CONDUCTOR_HOME", &self.state).env("NO_COLOR", "1");
        for name in OF_THE_SERVER.into_iter().chain(HANDED_OVER) {
            command.env_remove(name);
        }
        command.stdin(Stdio::null());
        command
    }

    /// Runs a command to its end, in a folder.
    pub(crate) async fn run(
        &self,
        directory: &Path,
        words: Vec<OsString>,
        input: Option<&str>,
    ) -> Result<Said> {
        let _turn = self.turns.acquire().await.map_err(|_| Problem::unavailable("the server is stopping"))?;
        let mut command = Command::from(self.command(directory));
        command.args(words).stdout(Stdio::piped()).stderr(Stdio::piped()).kill_on_drop(true);
        if input.is_some() {
            command.stdin(Stdio::piped());
        }
        let mut child = command.spawn().map_err(|error| unstarted(&self.path, directory, &error))?;
        let ended = async {
            if let (Some(mut stdin), Some(input)) = (child.stdin.take(), input) {
                // One that reads nothing says itself what it misses.
                let _ = stdin.write_all(input.as_bytes()).await;
            }
            let (mut out, mut words) = (Vec::new(), Vec::new());
            let (stdout, stderr) = (child.stdout.take(), child.stderr.take());
            let read_out = async {
                if let Some(stdout) = stdout {
                    let _ = stdout.take(MOST).read_to_end(&mut out).await;
                }
            };
            let read_words = async {
                if let Some(stderr) = stderr {
                    let _ = stderr.take(MOST).read_to_end(&mut words).await;
                }
            };
            tokio::join!(read_out, read_words);
            let exit = child.wait().await.map(|status| status.code().unwrap_or(1));
            exit.map(|exit| Said { exit, out, words: String::from_utf8_lossy(&words).into_owned() })
        };
        match timeout(LONGEST, ended).await {
            Ok(Ok(said)) => Ok(said),
            Ok(Err(error)) => Err(Problem::internal(format!("the command's end was not heard of: {error}"))),
            Err(_) => Err(Problem::new(504, "the command took too long and was ended")),
        }
    }

    /// As `run`, for a command that answers with JSON.
    pub(crate) async fn json(
        &self,
        directory: &Path,
        words: Vec<OsString>,
        input: Option<&str>,
    ) -> Result<Value> {
        let said = self.run(directory, words, input).await?;
        match serde_json::from_slice::<Value>(&said.out) {
            // Of what failed there is as much to tell as of what went well: a command that answers has an answer.
            Ok(answer) if answer.is_object() || (answer.is_array() && said.exit == 0) => Ok(answer),
            _ => Err(said.problem()),
        }
    }

    /// Starts a command that outlives the server; what it answers and says goes to files of a folder.
    pub(crate) fn leave(&self, directory: &Path, words: Vec<OsString>, folder: &Path) -> Result<u32> {
        use std::os::unix::process::CommandExt as _;
        let file = |name: &str| {
            access::private().create(true).append(true).open(folder.join(name)).map_err(Problem::unavailable)
        };
        let (out, error) = (file("out")?, file("words")?);
        let mut command = self.command(directory);
        // What ends the server's group is not meant for it.
        command.process_group(0);
        command.args(words).stdout(out).stderr(error);
        let mut child = command.spawn().map_err(|error| unstarted(&self.path, directory, &error))?;
        let pid = child.id();
        // Its end has to be heard of, or it stays as a zombie.
        std::thread::spawn(move || child.wait());
        Ok(pid)
    }
}

impl Said {
    /// Why it did not do what it was asked.
    pub(crate) fn problem(&self) -> Problem {
        let status = match self.exit {
            2 => 422,
            3 => 422,
            4 | 5 | 8 | 9 | 100 | 101 => 409,
            6 => 409,
            7 => 503,
            _ => 500,
        };
        let (detail, help) = told(&self.words);
        let problem = Problem::new(status, detail).with("exit_code", self.exit);
        match help {
            Some(help) => problem.help(help),
            None => problem,
        }
    }
}

/// What a command says for people: the last error, and the help that follows it.
fn told(words: &str) -> (String, Option<String>) {
    let error = words.rfind("error: ").filter(|at| *at == 0 || words.as_bytes()[at - 1] == b'\n');
    let Some(at) = error else {
        let last = words.trim();
        let from = last.char_indices().rev().nth(LONGEST_WORDS).map_or(0, |(at, _)| at);
        let words = if last.is_empty() { "the command failed and said nothing" } else { &last[from..] };
        return (words.to_owned(), None);
    };
    let rest = &words[at + "error: ".len()..];
    let (detail, help) = match rest.split_once("\nhelp: ") {
        Some((detail, help)) => (detail, Some(help.trim().to_owned())),
        None => (rest, None),
    };
    (detail.trim().chars().take(LONGEST_WORDS).collect(), help)
}

fn unstarted(program: &Path, directory: &Path, error: &std::io::Error) -> Problem {
    if !directory.is_dir() {
        return Problem::conflict(format!("the folder {} is gone", directory.display()));
    }
    Problem::internal(format!("{} cannot be started: {error}", program.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Of whatever kind: those that outlive the server begin in the same way.
    #[test]
    fn what_is_meant_for_the_server_reaches_no_command() {
        let program = Program::new("conductor".into(), Path::new("/home"));
        let command = program.command(Path::new("/"));
        let removed: Vec<_> =
            command.get_envs().filter(|(_, value)| value.is_none()).map(|(name, _)| name).collect();
        for name in OF_THE_SERVER.into_iter().chain(HANDED_OVER) {
            assert!(removed.contains(&std::ffi::OsStr::new(name)), "{name}");
        }
    }

    #[test]
    fn a_commands_error_becomes_the_problem() {
        let said = |exit, words: &str| Said { exit, out: vec![], words: words.into() }.problem();
        let problem = said(4, "a notice\nerror: nothing is left\nhelp: edit a task\n");
        assert_eq!((problem.status(), problem.detail()), (409, "nothing is left"));
        assert_eq!(said(1, "").detail(), "the command failed and said nothing");
        assert_eq!(said(3, "tasks.yaml:3: wrong").detail(), "tasks.yaml:3: wrong");
        assert_eq!(said(3, "no error: here").detail(), "no error: here");
    }
}
