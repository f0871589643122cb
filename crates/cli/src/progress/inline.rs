//! Lines that stay, and below them a block that is drawn anew: the usual view on a terminal.
//!
//! A thread of its own draws it, so that a terminal that takes nothing (Ctrl-S) does not hold up the run.

mod ahead;
mod watch;

use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use conductor_core::plan::graph::Graph;
use conductor_core::report::ledger::Ledger;
use conductor_core::run::Run;
use conductor_core::values::ids::RunId;
use conductor_engine::stores::bus::Records;
use rustix::process::{Signal, getpid, kill_process};
use tokio::signal::unix::{SignalKind, signal};

use super::{Progress, Stage, terminal};
use crate::console;
use watch::Watch;

/// How long after the last time it is drawn again, where something has happened; and where nothing has, for its clock.
const PACE: Duration = Duration::from_millis(100);
const CLOCK: Duration = Duration::from_secs(1);

/// The thread's name, so that its CPU time can be measured.
const THREAD: &str = "view";

/// What a shell makes of a process that this signal ended.
const QUIT: i32 = 128 + 3;

enum News {
    Records(Records),
    Line(String),
    /// The terminal is not what it was.
    Look,
    Over,
}

pub(super) struct Inline {
    news: Sender<News>,
    drawing: Option<JoinHandle<()>>,
    listening: Option<tokio::task::JoinHandle<()>>,
}

impl Inline {
    pub(super) fn new(stage: &Stage<'_>) -> Inline {
        terminal::hold();
        stage.board.watch();
        let (news, heard) = mpsc::channel();
        let watch = Watch::new(stage);
        let thread = std::thread::Builder::new().name(THREAD.to_owned());
        let drawing = thread.spawn(move || keep(watch, &heard)).ok();
        let listening = tokio::spawn(listen(news.clone()));
        Inline { news, drawing, listening: Some(listening) }
    }

    fn leave(&mut self) {
        if let Some(listening) = self.listening.take() {
            listening.abort();
        }
        let _ = self.news.send(News::Over);
        let _ = self.drawing.take().map(JoinHandle::join);
        terminal::release();
    }
}

impl Progress for Inline {
    fn show(&mut self, records: &Records) {
        let _ = self.news.send(News::Records(records.clone()));
    }

    fn notice(&mut self, text: &str) {
        let line = format!("conductor: {text}");
        if self.drawing.is_none() {
            return console::say(line);
        }
        let _ = self.news.send(News::Line(line));
    }

    fn tell(&mut self, text: &str) {
        terminal::ring(text);
        self.notice(text);
    }

    fn finish(&mut self, _: &RunId, _: &Run, _: &Graph, _: Option<&Ledger>) {
        self.leave();
    }
}

/// A run that comes to nothing leaves the terminal in order too.
impl Drop for Inline {
    fn drop(&mut self) {
        self.leave();
    }
}

fn keep(mut watch: Watch, heard: &Receiver<News>) {
    let mut drawn = None;
    loop {
        let pause = if watch.is_fresh() { PACE } else { CLOCK };
        let due = drawn.map_or_else(Instant::now, |drawn: Instant| drawn + pause);
        if Instant::now() >= due {
            drawn = Some(Instant::now());
            watch.draw();
            continue;
        }
        match heard.recv_timeout(due.saturating_duration_since(Instant::now())) {
            Ok(News::Over) | Err(RecvTimeoutError::Disconnected) => return watch.leave(),
            Ok(News::Records(records)) => watch.follow(&records),
            Ok(News::Line(line)) => watch.say(&line),
            Ok(News::Look) => watch.look(),
            Err(RecvTimeoutError::Timeout) => {}
        }
    }
}

/// A new size is drawn for at once. Who is put into the background, or ended the hard way, leaves the terminal as it was.
async fn listen(news: Sender<News>) {
    let kinds =
        [SignalKind::window_change(), SignalKind::from_raw(Signal::TSTP.as_raw()), SignalKind::quit()];
    let [Ok(mut size), Ok(mut suspend), Ok(mut quit)] = kinds.map(signal) else { return };
    loop {
        tokio::select! {
            Some(()) = size.recv() => {}
            Some(()) = suspend.recv() => {
                terminal::release();
                let _ = kill_process(getpid(), Signal::STOP);
                terminal::hold();
            }
            Some(()) = quit.recv() => {
                terminal::step_aside();
                std::process::exit(QUIT);
            }
            else => return,
        }
        if news.send(News::Look).is_err() {
            return;
        }
    }
}
