//! What has come in since the last turn, and how soon it has to be seen to.

use std::time::Duration;

use conductor_core::schedule::Input;
use tokio::time::Instant;

use super::handing_over::{self, HandingOver};
use super::{Arrival, Coordinator};
use crate::dispatch::Message;
use crate::host::clock::HEARTBEAT;

/// The number of a process, and what an agent has used where there is no cap, wait for company; everything else is acted on
/// at once.
const LAZY: Duration = Duration::from_millis(50);

impl Coordinator {
    /// Everything that has happened, as soon as anything has that cannot wait. Nothing is lost where it is called off.
    pub(super) async fn gather(&mut self) -> Vec<Arrival> {
        let due = self.scheduler.next_deadline().map_or(HEARTBEAT, |tick| self.clock.until(tick));
        let longest = match &self.handovers.waiting {
            Some(_) => handing_over::LOOK,
            None if self.arrived.is_empty() => HEARTBEAT,
            None => LAZY,
        };
        let mut latest = Instant::now() + due.min(longest);
        loop {
            latest = self.backlog.due().map_or(latest, |due| due.min(latest));
            let woken = tokio::select! {
                biased;
                message = self.messages.recv() => message,
                appended = self.backlog.appended() => {
                    match self.settle(appended) {
                        true => continue,
                        false => return std::mem::take(&mut self.arrived),
                    }
                }
                () = tokio::time::sleep_until(latest) => None,
            };
            let mut urgent = self.accept(woken);
            while let Ok(message) = self.messages.try_recv() {
                urgent |= self.accept(Some(message));
            }
            let now = Instant::now();
            if urgent || now >= latest {
                return std::mem::take(&mut self.arrived);
            }
            latest = latest.min(now + LAZY);
        }
    }

    fn accept(&mut self, message: Option<Message>) -> bool {
        match message {
            Some(Message::Input(input)) => {
                if matches!(input, Input::ProcessStarted { .. }) {
                    self.start_reaper();
                }
                let urgent = match &input {
                    Input::ProcessStarted { .. } | Input::WorkHandedIn { .. } => false,
                    // What a call came to may have reached a cap, and every moment may be another call. What is feared of one
                    // under way waits a little: mostly it is known better by then.
                    Input::UsageReported { task, taken_back, .. } => {
                        !taken_back.is_nothing() && self.scheduler.is_capped(task)
                    }
                    _ => true,
                };
                self.arrived.push(input.into());
                urgent
            }
            Some(Message::Asked(request, waits)) => {
                self.arrived.push(Arrival { input: Input::Asked(request), waits: Some(waits) });
                true
            }
            Some(Message::Told(input, waits)) => {
                self.arrived.push(Arrival { input, waits: Some(waits) });
                true
            }
            Some(Message::Look(query, waits)) if self.backlog.is_empty() || self.missed_since.is_some() => {
                let _ = waits.send(self.view(query));
                false
            }
            Some(Message::Look(query, waits)) => {
                self.looks.push((query, waits));
                true
            }
            Some(Message::Follow(waits)) => {
                let _ = waits.send((self.durable, self.bus.subscribe()));
                false
            }
            Some(Message::HandOver(handover)) => {
                self.begin_handover(handover);
                true
            }
            Some(Message::Take) => {
                self.handovers.waiting.iter_mut().for_each(HandingOver::is_taken);
                true
            }
            Some(Message::KillAll) => {
                self.is_killed = true;
                self.kill_all();
                true
            }
            None => false,
        }
    }

    /// Before the first agent, which spends from its first moment on, and from the first command on that lasts; very short
    /// ones leave nothing that would need one.
    pub(super) fn start_reaper(&mut self) {
        if let Some(mut command) = self.reaper_command.take()
            && let Err(error) = self.teardown.keep(&mut command)
        {
            self.notice(format!("what we leave behind if we are killed would go on: {error}"));
        }
    }
}
