//! A run in the background: this very command is started once more, and left as soon as its run answers.
//!
//! What goes wrong before that is said here, by the one in the background, which still has our terminal then.

use std::fs::File;
use std::io::{self, BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use conductor_core::values::ids::RunId;
use conductor_core::values::units::Millis;
use conductor_engine::host::access;
use conductor_engine::host::home::Home;
use conductor_engine::runs::control;
use serde::{Deserialize, Serialize};

use super::handing;
use crate::args::{self, words::place_of_command};
use crate::commands::{answer, answer_json};
use crate::error::{CliError, Exit};
use crate::globals;

const SCHEMA: &str = "conductor.detached/1";

/// Leftovers of dead coordinators are ended and workspaces saved before a run answers.
const LONGEST_START: Duration = Duration::from_secs(60);

/// What the one in the background says when it has begun.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Begun {
    schema: String,
    pub(crate) run: RunId,
    pid: u32,
    log: PathBuf,
}

pub(super) fn start(args: &args::Run) -> Result<Exit, CliError> {
    let begun = started()?;
    begun.tell(args.json || args.ui == args::Ui::Json)?;
    Ok(Exit::Done)
}

impl Begun {
    pub(crate) fn tell(&self, as_json: bool) -> Result<(), CliError> {
        if as_json {
            return answer_json(self);
        }
        let Begun { run, pid, log, .. } = self;
        answer(&format!(
            "run {run} goes on in the background, as process {pid}\n\
             look at it:   conductor status {run}   or, until its end: conductor attach {run}\n\
             wait for it:  conductor wait {run}\n\
             stop it:      kill {pid}   or for good: conductor cancel --all --run {run}\n\
             what it says: {}\n",
            log.display()
        ))
    }
}

/// Starts it, and says nothing about it.
pub(super) fn begin() -> Result<RunId, CliError> {
    started().map(|begun| begun.run)
}

fn started() -> Result<Begun, CliError> {
    let mut words: Vec<_> = std::env::args_os().skip(1).collect();
    words.insert(place_of_command(&words) + 1, "--detached".into());
    let mut command = Command::new(std::env::current_exe()?);
    // The words have every -C in them, to be taken from where we were.
    if let Some(directory) = globals::started_in() {
        command.current_dir(directory);
    }
    begun_by(command.args(words))
}

/// Starts a process that takes a run over, and waits until it has. What it says meanwhile is said here.
pub(crate) fn take_over(home: &Home, run: &RunId, patience: Millis) -> Result<Begun, CliError> {
    let mut command = taking_over(Path::new(&std::env::current_exe()?), home, run, patience);
    begun_by(&mut command)
}

/// What takes a run over. It goes on as the process that has it was told to.
pub(super) fn taking_over(program: &Path, home: &Home, run: &RunId, patience: Millis) -> Command {
    let mut command = Command::new(program);
    command.args(globals::handed_on()).args(["run", "--resume", run.as_str(), "--detached", "--ui", "plain"]);
    command.arg("--taking-over").arg(format!("{}ms", patience.0)).args(handing::kept_words(&home.run(run)));
    command.stdin(Stdio::null());
    command
}

/// Starts a process for a run in the background, and waits until that answers.
fn begun_by(command: &mut Command) -> Result<Begun, CliError> {
    let mut child = command.stdout(Stdio::piped()).spawn()?;
    let mut line = String::new();
    if let Some(out) = child.stdout.take() {
        BufReader::new(out).read_line(&mut line)?;
    }
    let Ok(begun) = serde_json::from_str::<Begun>(&line) else {
        let code = child.wait()?.code().and_then(|code| Exit::of(u8::try_from(code).ok()?));
        // It has said why.
        return Err(CliError::silent(code.filter(|exit| *exit != Exit::Done).unwrap_or(Exit::Unexpected)));
    };
    until_it_answers(&begun, &mut child);
    Ok(begun)
}

/// Every command right after this one is to find the run, and no other: so it is left only when it answers. One that ends
/// before that, or does not get there, is there all the same, and its log says why.
fn until_it_answers(begun: &Begun, child: &mut Child) {
    let Some(state) = begun.log.parent() else { return };
    let deadline = Instant::now() + LONGEST_START;
    while Instant::now() < deadline && control::live_view(state).is_err() {
        if !matches!(child.try_wait(), Ok(None)) {
            return;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// Leaves the terminal and reports the run to the parent process, which waits for that.
pub(super) fn settle(run: &RunId, state: &Path) -> Result<(), CliError> {
    let path = state.join("run.log");
    let log = access::private().create(true).append(true).open(&path)?;
    // Fails only where this process leads a process group already.
    let _ = rustix::process::setsid();
    rustix::stdio::dup2_stdin(File::open("/dev/null")?).map_err(io::Error::from)?;
    rustix::stdio::dup2_stderr(&log).map_err(io::Error::from)?;
    let begun = Begun { schema: SCHEMA.to_owned(), run: run.clone(), pid: std::process::id(), log: path };
    let mut out = io::stdout().lock();
    // The parent may be gone; the run goes on all the same.
    let _ = writeln!(out, "{}", serde_json::to_string(&begun).unwrap_or_default()).and_then(|()| out.flush());
    rustix::stdio::dup2_stdout(&log).map_err(io::Error::from)?;
    Ok(())
}
