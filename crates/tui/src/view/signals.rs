//! Signals that end the view or stop it for a while.

use std::io;

use tokio::signal::unix::{Signal, SignalKind, signal};

use crate::Leaving;

pub(super) struct Signals {
    terminate: Signal,
    hangup: Signal,
    interrupt: Signal,
    quit: Signal,
    stop: Signal,
}

/// What a signal is about.
pub(super) enum Signalled {
    Leave(Leaving),
    Stop,
}

impl Signals {
    pub(super) fn new() -> io::Result<Signals> {
        Ok(Signals {
            terminate: signal(SignalKind::terminate())?,
            hangup: signal(SignalKind::hangup())?,
            interrupt: signal(SignalKind::interrupt())?,
            quit: signal(SignalKind::quit())?,
            stop: signal(SignalKind::from_raw(rustix::process::Signal::TSTP.as_raw()))?,
        })
    }

    pub(super) async fn next(&mut self) -> Signalled {
        tokio::select! {
            _ = self.terminate.recv() => Signalled::Leave(Leaving::Terminated),
            _ = self.hangup.recv() => Signalled::Leave(Leaving::Terminated),
            _ = self.interrupt.recv() => Signalled::Leave(Leaving::Interrupted),
            _ = self.quit.recv() => Signalled::Leave(Leaving::Interrupted),
            _ = self.stop.recv() => Signalled::Stop,
        }
    }
}
