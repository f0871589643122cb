//! A run that goes on in another process: by the key `d`, or because another asked for it. This process ends then.

use std::ffi::OsString;
use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::Stdio;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use conductor_core::values::ids::RunId;
use conductor_core::values::units::Millis;
use conductor_engine::host::access;
use conductor_engine::host::home::Home;
use conductor_engine::process::Beside;
use conductor_engine::runs::control;
use rustix::process::{Pid, Signal, kill_process};
use tokio::sync::mpsc::UnboundedSender;

use super::arguments::Resolved;
use super::audience::Audience;
use super::{detach, keys};
use crate::commands::{shim, talk};
use crate::error::Exit;
use crate::progress::terminal;

/// What a process that takes the run over is told, in the run's folder.
const WORDS: &str = "coordinator.json";

/// How long a run that is given away by a key may be held up, unless the key is pressed once more.
const PATIENCE: Millis = Millis::from_secs(300);

/// How long the process that has the run now may take until it answers.
const ANSWERS: Duration = Duration::from_secs(10);

/// Writes down what this process was told that is not in the log: how the run is watched and followed. Where that cannot be,
/// one that takes the run over does as one that resumes it.
pub(super) fn keep_words(args: &Resolved<'_>, state: &Path) {
    let typed = args.typed;
    let mut words = vec![
        format!("--conflict-monitor={}ms", args.conflict_monitor.0),
        format!("--checks-within={}ms", typed.checks_within.0),
        format!("--check-fixes={}", typed.check_fixes),
        format!("--heartbeat={}ms", typed.heartbeat.0),
    ];
    words.extend(typed.watch.then(|| "--watch".to_owned()));
    words.extend(typed.headless.then(|| "--headless".to_owned()));
    let metrics = typed.metrics_file.as_deref().and_then(|path| std::path::absolute(path).ok());
    words.extend(metrics.and_then(|path| Some(format!("--metrics-file={}", path.to_str()?))));
    let _ = access::replace(&state.join(WORDS), serde_json::to_vec(&words).unwrap_or_default());
}

/// No process takes over a run that has ended here or was left: one that resumes it is told anew.
pub(super) fn forget_words(state: &Path) {
    let _ = std::fs::remove_file(state.join(WORDS));
}

pub(super) fn kept_words(state: &Path) -> Vec<OsString> {
    let kept = std::fs::read(state.join(WORDS)).unwrap_or_default();
    let words: Vec<String> = serde_json::from_slice(&kept).unwrap_or_default();
    words.into_iter().map(OsString::from).collect()
}

/// Gives a run to a process without a terminal, when the key is pressed.
#[derive(Clone)]
pub(super) struct Giver {
    run: RunId,
    words: UnboundedSender<String>,
    is_detached: bool,
    asked: Arc<AtomicBool>,
    /// What is to have it, while it waits for that.
    other: Arc<Mutex<Option<Pid>>>,
}

impl Giver {
    /// Nothing where the run is in the background already.
    pub(super) fn of(args: &Resolved<'_>, run: &RunId, words: UnboundedSender<String>) -> Giver {
        Giver {
            run: run.clone(),
            words,
            is_detached: args.typed.detached,
            asked: Arc::default(),
            other: Arc::default(),
        }
    }

    pub(super) fn is_asked(&self) -> bool {
        self.asked.load(Ordering::Acquire)
    }

    /// Starts this very program once more. What it says is shown here, until it has the run; where it does not get it, the run
    /// stays here. Once more, and it does.
    pub(super) fn give(&self) {
        if self.is_detached {
            return;
        }
        if self.asked.swap(true, Ordering::AcqRel) {
            if let Some(other) = self.other().take() {
                let _ = kill_process(other, Signal::TERM);
            }
            return;
        }
        let giver = self.clone();
        std::thread::spawn(move || {
            let word =
                giver.wait_for_the_other().unwrap_or_else(|error| format!("the run stays here: {error}"));
            *giver.other() = None;
            giver.asked.store(false, Ordering::Release);
            let _ = giver.words.send(word);
        });
    }

    /// Returns where the run stays here. Where it does not, this process ends meanwhile.
    fn wait_for_the_other(&self) -> std::io::Result<String> {
        let home = Home::open().map_err(std::io::Error::other)?;
        let program = shim::program().map_or_else(std::env::current_exe, Ok)?;
        let mut command = detach::taking_over(&program, &home, &self.run, PATIENCE);
        let mut beside = Beside::start(command.stdout(Stdio::null()).stderr(Stdio::piped()))?;
        let child = beside.child();
        *self.other() = Some(Pid::from_child(child));
        let said = child.stderr.take().into_iter().flat_map(|said| BufReader::new(said).lines());
        for line in said.map_while(Result::ok) {
            let line = line.trim_start_matches("conductor: ");
            let more = if line.starts_with("waiting for") {
                "; nothing new starts; d once more keeps the run here"
            } else {
                ""
            };
            let _ = self.words.send(format!("{line}{more}"));
        }
        child.wait()?;
        Ok("the run stays here".to_owned())
    }

    fn other(&self) -> MutexGuard<'_, Option<Pid>> {
        self.other.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Ends this process. What lies about for agents at work is still theirs, so that nothing is put away first.
pub(super) fn leave(run: &RunId, state: &Path, audience: Audience, by_key: bool) -> ! {
    audience.leave();
    keys::restore();
    terminal::step_aside();
    let until = Instant::now() + ANSWERS;
    let home = Home::open().ok();
    let is_awaited = || home.as_ref().is_some_and(|home| home.is_live(run));
    while control::live_view(state).is_err() && is_awaited() && Instant::now() < until {
        std::thread::sleep(Duration::from_millis(5));
    }
    match is_awaited() {
        true => talk(format!("run {run} goes on in the background; back to it: conductor attach {run}")),
        false => talk(format!(
            "run {run} was left to a process that is gone; nothing is lost: conductor run --resume {run} goes on"
        )),
    }
    // What is given away by the user who is here is done; who waits for the run's end has to know that this is not it.
    std::process::exit(if by_key { Exit::Done } else { Exit::StillRunning } as i32)
}
