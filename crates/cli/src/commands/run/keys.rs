//! The key `t` at a terminal, and SIGUSR1 anywhere: what is at work, for how long, and what waits on what. The key `d` gives the
//! run to a process without a terminal.
//!
//! Keys are read one by one without being shown, and Ctrl-C and Ctrl-Z stay what they are. The terminal is as it was
//! whenever another process has it: after every end of ours, and while we are stopped or in the background.

use std::io::{self, IsTerminal as _};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use conductor_engine::dispatch::Control;
use conductor_engine::dispatch::{Query, View};
use rustix::process::{Signal, getpgrp, getpid, kill_process};
use rustix::termios::{
    LocalModes, OptionalActions, SpecialCodeIndex, Termios, tcgetattr, tcgetpgrp, tcsetattr,
};
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::mpsc;
use tokio::time::MissedTickBehavior;

use super::handing::Giver;
use crate::commands::status::text;
use crate::progress::terminal;

const PAUSE: Duration = Duration::from_millis(100);

/// How the terminal was before we read keys from it, as long as we do.
static BEFORE: Mutex<Option<Termios>> = Mutex::new(None);

/// The status texts that the user asked for. Dropping this puts the terminal back as it was.
pub(super) struct Looks(mpsc::UnboundedReceiver<String>);

impl Looks {
    pub(super) async fn next(&mut self) -> Option<String> {
        self.0.recv().await
    }
}

impl Drop for Looks {
    fn drop(&mut self) {
        restore();
    }
}

/// `keys` says whether to read the keyboard.
pub(super) fn watch(control: Control, keys: bool, giver: Giver) -> Looks {
    let (sender, looks) = mpsc::unbounded_channel();
    if let Ok(mut wish) = signal(SignalKind::user_defined1()) {
        let (control, sender) = (control.clone(), sender.clone());
        tokio::spawn(async move {
            while wish.recv().await.is_some() && look(&control, &sender).await.is_some() {}
        });
    }
    if keys && io::stdin().is_terminal() && io::stderr().is_terminal() {
        tokio::spawn(listen(control, sender, giver));
        if !terminal::sees_to(restore) {
            tokio::spawn(step_aside());
        }
    }
    Looks(looks)
}

/// Keys for a view of another process's run. Dropping this puts the terminal back as it was.
pub(crate) struct Typing;

impl Typing {
    /// Nothing without a terminal. In a runtime.
    pub(crate) fn begin() -> Option<Typing> {
        let is_there = io::stdin().is_terminal() && io::stderr().is_terminal();
        if is_there && !terminal::sees_to(restore) {
            tokio::spawn(step_aside());
        }
        is_there.then_some(Typing)
    }

    /// What was typed since the last time. It does not wait.
    pub(crate) fn keys(&self) -> Vec<u8> {
        typed().unwrap_or_default()
    }
}

impl Drop for Typing {
    fn drop(&mut self) {
        restore();
    }
}

async fn look(control: &Control, sender: &mpsc::UnboundedSender<String>) -> Option<()> {
    match control.look(Query::Snapshot).await? {
        Ok(View::Snapshot(live_view)) => sender.send(text::brief(&live_view.snapshot)).ok(),
        _ => Some(()),
    }
}

/// Looks for a key now and then; what is typed while another process has the terminal is left to it.
async fn listen(control: Control, sender: mpsc::UnboundedSender<String>, giver: Giver) {
    let mut now_and_then = tokio::time::interval(PAUSE);
    now_and_then.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        now_and_then.tick().await;
        if sender.is_closed() {
            return;
        }
        let keys = typed().unwrap_or_default();
        if keys.contains(&b'd') {
            giver.give();
        }
        if keys.contains(&b't') && look(&control, &sender).await.is_none() {
            return;
        }
    }
}

/// Does not wait for anything, for the terminal was told not to.
fn typed() -> Option<Vec<u8>> {
    take().then_some(())?;
    let mut keys = [0; 64];
    let count = rustix::io::read(io::stdin(), &mut keys).ok()?;
    Some(keys[..count].to_vec())
}

/// Ctrl-Z stops us as ever, with the terminal as it was; it is taken again when we are in front again.
async fn step_aside() {
    let Ok(mut stop) = signal(SignalKind::from_raw(Signal::TSTP.as_raw())) else { return };
    while stop.recv().await.is_some() {
        restore();
        let _ = kill_process(getpid(), Signal::STOP);
    }
}

fn in_front() -> bool {
    tcgetpgrp(io::stdin()).is_ok_and(|group| group == getpgrp())
}

/// Whether it is ours. Only taken in the foreground: a background process that changes a terminal is stopped.
fn take() -> bool {
    let mut before = BEFORE.lock().unwrap_or_else(PoisonError::into_inner);
    if before.is_some() || !in_front() {
        return before.is_some() && in_front();
    }
    let Ok(was) = tcgetattr(io::stdin()) else { return false };
    let mut keys = was.clone();
    keys.local_modes.remove(LocalModes::ICANON | LocalModes::ECHO);
    keys.special_codes[SpecialCodeIndex::VMIN] = 0;
    keys.special_codes[SpecialCodeIndex::VTIME] = 0;
    if tcsetattr(io::stdin(), OptionalActions::Now, &keys).is_err() {
        return false;
    }
    *before = Some(was);
    true
}

/// Gives the terminal back as it was, if it was taken.
pub(super) fn restore() {
    let before = BEFORE.lock().unwrap_or_else(PoisonError::into_inner).take();
    if let Some(was) = before.filter(|_| in_front()) {
        let _ = tcsetattr(io::stdin(), OptionalActions::Now, &was);
    }
}
