//! Providers that take nothing more from us for a while: nobody who needs one starts before it is open
//! again, and then one alone, who finds out whether it is.
//!
//! They say when in wall time; we wait in awake time, from whenever that is looked at.

use super::Scheduler;
use super::pools::Door;
use crate::event::Event;
use crate::units::{Millis, Now, Tick, Timestamp};

/// A clock of ours and one of theirs are never the same; nobody gains by asking a moment too early.
const MARGIN: Millis = Millis(500);

impl Scheduler {
    pub(super) fn on_provider_parked(&mut self, now: Now, agent: String, until: Timestamp) {
        if self.run.parked().get(&agent).is_none_or(|known| *known < until) && until > now.at {
            self.emit(now, Event::ProviderParked { agent, until });
            self.close_providers(now);
            self.assign_waiting(now);
        }
    }

    /// Its provider answers again: everybody may ask it.
    pub(super) fn heard_of(&mut self, agent: &str) {
        if !self.run.parked().contains_key(agent) {
            self.ready.let_to(agent, Door::Open);
        }
    }

    /// Closes those whose time has not come and sees to it that somebody looks when it has.
    pub(super) fn close_providers(&mut self, now: Now) {
        let closed: Vec<(String, Timestamp)> = self
            .run
            .parked()
            .iter()
            .filter(|(_, until)| **until > now.at)
            .map(|(a, u)| (a.clone(), *u))
            .collect();
        for (agent, _) in &closed {
            self.ready.let_to(agent, Door::Closed);
        }
        let next = closed.iter().map(|(_, until)| wait(now, *until)).min();
        self.timers.arm_providers(next);
    }

    pub(super) fn open_providers(&mut self, now: Now) {
        let open: Vec<String> = self
            .run
            .parked()
            .iter()
            .filter(|(_, until)| **until <= now.at)
            .map(|(agent, _)| agent.clone())
            .collect();
        for agent in open {
            self.ready.let_to(&agent, Door::Ajar);
        }
        self.close_providers(now);
        self.assign_waiting(now);
    }
}

fn wait(now: Now, until: Timestamp) -> Tick {
    now.tick + (until - now.at) + MARGIN
}
