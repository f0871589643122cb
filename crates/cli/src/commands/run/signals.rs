//! Ctrl-C once drains, twice stops, thrice kills; a fourth leaves at once. Termination stops, and so does a terminal that
//! goes away, unless the run was started with nohup.

use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};

use conductor_core::schedule::Request;
use conductor_engine::dispatch::Control;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::mpsc;

use super::keys;
use crate::error::Exit;
use crate::progress::terminal;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Signalled {
    Interrupt = 1,
    Terminate = 2,
}

/// Which signal came first.
#[derive(Debug, Clone, Default)]
pub(super) struct Received(Arc<AtomicU8>);

impl Received {
    fn note(&self, what: Signalled) {
        let _ = self.0.compare_exchange(0, what as u8, Ordering::Relaxed, Ordering::Relaxed);
    }

    pub(super) fn received(&self) -> Option<Signalled> {
        match self.0.load(Ordering::Relaxed) {
            1 => Some(Signalled::Interrupt),
            2 => Some(Signalled::Terminate),
            _ => None,
        }
    }
}

/// What is done about a signal is said through `words`.
pub(super) fn watch(control: Control, words: mpsc::UnboundedSender<String>) -> Received {
    let received = Received::default();
    if let (Ok(interrupt), Ok(terminate)) = (signal(SignalKind::interrupt()), signal(SignalKind::terminate()))
    {
        let listener = Listener { control, words, received: received.clone() };
        tokio::spawn(listener.listen(interrupt, terminate, hangup()));
    }
    received
}

fn hangup() -> Option<Signal> {
    const HANGUP_BIT: u64 = 1;
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let ignored = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0);
    (ignored & HANGUP_BIT == 0).then(|| signal(SignalKind::hangup()).ok()).flatten()
}

async fn next(signal: &mut Option<Signal>) {
    match signal {
        Some(signal) => {
            signal.recv().await;
        }
        None => std::future::pending().await,
    }
}

struct Listener {
    control: Control,
    words: mpsc::UnboundedSender<String>,
    received: Received,
}

impl Listener {
    async fn listen(self, mut interrupt: Signal, mut terminate: Signal, mut hangup: Option<Signal>) {
        let mut times = 0;
        loop {
            tokio::select! {
                _ = interrupt.recv() => {
                    self.received.note(Signalled::Interrupt);
                    times += 1;
                }
                _ = terminate.recv() => {
                    self.received.note(Signalled::Terminate);
                    times = times.max(1) + 1;
                }
                () = next(&mut hangup) => {
                    self.received.note(Signalled::Terminate);
                    times = times.max(1) + 1;
                }
            }
            self.act(times);
        }
    }

    fn act(&self, times: u32) {
        match times {
            1 => {
                self.say("finishing what runs, starting nothing new; again to stop it now");
                self.control.ask(Request::Drain);
            }
            2 => {
                self.say("stopping what runs; again to kill it");
                self.control.ask(Request::Stop);
            }
            3 => {
                self.say("killing what runs");
                self.control.ask(Request::Stop);
                self.control.kill_all();
            }
            _ => {
                keys::restore();
                terminal::step_aside();
                std::process::exit(Exit::Interrupted as i32);
            }
        }
    }

    fn say(&self, text: &str) {
        let _ = self.words.send(text.to_owned());
    }
}
