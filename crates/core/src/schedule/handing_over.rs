//! A run that is left to another coordinator while it goes on: before, nothing new begins; after, all is as it was.

use super::Scheduler;
use crate::run::event::Event;
use crate::values::units::Now;

impl Scheduler {
    /// What is at work goes on, and what is being landed is landed. Where the run is not left after all, what waited begins.
    pub(super) fn hold_all_back(&mut self, held_back: bool) {
        self.held_back = held_back;
        if !held_back {
            self.pull();
        }
    }

    /// Before the run is started by this coordinator: what people wanted of it holds on.
    pub(super) fn tell_taken_over(&mut self, now: Now, versions: Option<(String, String)>) {
        if let Some((from, to)) = versions {
            self.emit(now, Event::RunTakenOver { from, to });
        }
    }
}
