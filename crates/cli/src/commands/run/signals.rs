//! Ctrl-C once drains, twice stops, thrice kills; a fourth leaves at once. Termination stops.

use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};

use conductor_core::scheduler::Request;
use conductor_engine::drive::Control;
use tokio::signal::unix::{Signal, SignalKind, signal};

use crate::fault::Exit;

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

pub(super) fn watch(control: Control) -> Received {
    let received = Received::default();
    if let (Ok(interrupt), Ok(terminate)) = (signal(SignalKind::interrupt()), signal(SignalKind::terminate()))
    {
        tokio::spawn(listen(control, interrupt, terminate, received.clone()));
    }
    received
}

async fn listen(control: Control, mut interrupt: Signal, mut terminate: Signal, received: Received) {
    let mut times = 0;
    loop {
        tokio::select! {
            _ = interrupt.recv() => {
                received.note(Signalled::Interrupt);
                times += 1;
            }
            _ = terminate.recv() => {
                received.note(Signalled::Terminate);
                times = times.max(1) + 1;
            }
        }
        match times {
            1 => {
                say("finishing what runs, starting nothing new; again to stop it now");
                control.ask(Request::Drain);
            }
            2 => {
                say("stopping what runs; again to kill it");
                control.ask(Request::Stop);
            }
            3 => {
                say("killing what runs");
                control.ask(Request::Stop);
                control.kill_all();
            }
            _ => std::process::exit(Exit::Interrupted as i32),
        }
    }
}

fn say(text: &str) {
    anstream::eprintln!("\nconductor: {text}");
}
