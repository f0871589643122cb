//! What is given to attempts and learned from them is recorded. It decides nothing else.

use super::{Input, Scheduler};
use crate::run::event::Event;
use crate::values::units::Now;

impl Scheduler {
    /// What is told of an attempt that is over is ignored.
    pub(super) fn on_expertise(&mut self, now: Now, input: Input) {
        let event = match input {
            Input::ExpertiseUsed { task, attempt, given, withheld, held_out } => {
                let Some(_) = self.current(&task, attempt) else { return };
                Event::ExpertiseUsed { task, attempt, given, withheld, held_out }
            }
            Input::ExpertiseLearned { task, attempt, lessons } => {
                let Some(_) = self.current(&task, attempt) else { return };
                Event::ExpertiseLearned { task, attempt, lessons }
            }
            Input::ExpertiseRetired { item, why } => Event::ExpertiseRetired { item, why },
            _ => return,
        };
        self.emit(now, event);
    }
}
