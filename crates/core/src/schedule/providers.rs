//! Providers that take nothing more for a while: no task that needs one starts before it is open again. Then
//! one task starts alone, and finds out whether it is.
//!
//! A provider says until when in wall time; the scheduler waits in awake time, counted anew at every look.

use super::Scheduler;
use super::pools::Door;
use crate::run::event::{DrainReason, Event, Failure, FailureClass, Outcome, StopReason};
use crate::values::units::{Millis, Now, Timestamp};

/// The provider's clock differs from ours, and a request a moment too early is refused once more.
const MARGIN: Millis = Millis(500);

/// How long a provider that fails is left alone, at most.
const LONGEST: Millis = Millis::from_secs(10 * 60);
const SHORTEST: Millis = Millis::from_secs(1);

impl Scheduler {
    /// An outage of its provider is no failure of a task: its agent is parked for all, and one looks now and then whether
    /// it is over. No task waits longer than the run's patience.
    pub(super) fn waited_out(&mut self, now: Now, place: usize, outcome: Outcome) -> Outcome {
        let Outcome::Failed(failure) = &outcome else { return outcome };
        let Some(agent) = self.run.agent_choice(place).map(|choice| choice.agent.clone()) else {
            return outcome;
        };
        let patience = self.run.options().limits.outage_patience.unwrap_or_default();
        let outage = self.run.outage(&agent);
        let waited = outage.map_or(Millis::default(), |outage| now.at - outage.since);
        if !failure.class.is_outage() || waited >= patience {
            return outcome;
        }
        // Others that asked before it was parked tell nothing new.
        if self.run.parked().get(&agent).is_none_or(|until| *until <= now.at) {
            let looks = outage.map_or(0, |outage| outage.looks);
            let first = self.run.task(place).0.retry.initial_delay.max(SHORTEST);
            let pause = Millis(first.0.saturating_mul(1 << looks.min(20))).min(LONGEST);
            let until = Timestamp(now.at.0.saturating_add(pause.0 as i64));
            let outage = Some(failure.message.clone());
            self.emit(now, Event::ProviderParked { agent, until, outage });
            self.close_providers(now);
        }
        Outcome::Interrupted
    }

    /// Other tasks that ask that provider are not let in either: nothing new starts, and those at work with it are stopped.
    pub(super) fn leave_unauthorized(&mut self, now: Now, place: usize, failure: &Failure) {
        if failure.class != FailureClass::Unauthorized {
            return;
        }
        let Some(agent) = self.run.agent_choice(place).map(|choice| choice.agent.clone()) else { return };
        self.drain(now, DrainReason::Unauthorized);
        for other in self.running() {
            if other != place && self.run.agent_choice(other).is_some_and(|choice| choice.agent == agent) {
                self.stop(now, other, StopReason::Interrupted);
            }
        }
    }

    pub(super) fn on_provider_parked(&mut self, now: Now, agent: String, until: Timestamp) {
        if self.run.parked().get(&agent).is_none_or(|known| *known < until) && until > now.at {
            self.emit(now, Event::ProviderParked { agent, until, outage: None });
            self.close_providers(now);
            self.assign_waiting(now);
        }
    }

    /// Its provider answers again: all tasks may ask it.
    pub(super) fn heard_of(&mut self, agent: &str) {
        if !self.run.parked().contains_key(agent) {
            self.ready.let_to(agent, Door::Open);
        }
    }

    /// Closes the providers whose time has not come, and arms the timer for the first that opens.
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
        let wait = |(agent, until): &(String, Timestamp)| {
            // A clock that was set back makes no wait longer.
            let left = (*until - now.at).min(self.run.parked_for(agent));
            now.tick + left + MARGIN
        };
        let next = closed.iter().map(wait).min();
        self.timers.arm_providers(next);
    }

    pub(super) fn open_providers(&mut self, now: Now) {
        let behind = self
            .run
            .parked()
            .iter()
            .filter(|(agent, until)| **until > now.at && **until - now.at > self.run.parked_for(agent));
        for agent in behind.map(|(agent, _)| agent.clone()).collect::<Vec<_>>() {
            self.emit(now, Event::ProviderParked { agent, until: now.at, outage: None });
        }
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
