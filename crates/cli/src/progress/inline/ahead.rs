//! What is left at the least, reckoned no oftener than it is worth: large plans take their time.

use std::time::{Duration, Instant};

use conductor_core::forecast::{Pace, TimeLeft, time_left};
use conductor_core::plan::Task;
use conductor_core::plan::graph::Graph;
use conductor_core::run::Run;
use conductor_core::values::units::{Millis, Tick};

/// How often it is reckoned, and how much of our time that may take: one part in so many.
const EVERY: Duration = Duration::from_secs(1);
const SHARE: u32 = 100;

pub(super) struct Ahead {
    graph: Graph,
    pace: Pace,
    known: Option<Known>,
}

/// What was reckoned when, and how long that took.
#[derive(Clone, Copy)]
struct Known {
    left: TimeLeft,
    ended: u32,
    at: Instant,
    cost: Duration,
}

impl Known {
    /// An end changes what is left; else only time does.
    fn until(&self, ended: u32) -> Instant {
        let pause = if ended == self.ended { EVERY } else { Duration::ZERO };
        self.at + pause.max(self.cost * SHARE)
    }
}

impl Ahead {
    pub(super) fn new(graph: Graph) -> Ahead {
        Ahead { graph, pace: Pace::default(), known: None }
    }

    /// The plan is another.
    pub(super) fn look_again(&mut self, run: &Run) {
        if let Ok(graph) = Graph::new(run.plan(), run.options().strategy) {
            (self.graph, self.known) = (graph, None);
        }
    }

    /// A task is done and took so long.
    pub(super) fn learn(&mut self, task: &Task, worked: Millis) {
        self.pace.learn(task, worked);
    }

    pub(super) fn left(&mut self, run: &Run, now: Tick) -> TimeLeft {
        let begun = Instant::now();
        let ended = run.ended_count();
        if let Some(known) = self.known.filter(|known| begun < known.until(ended)) {
            return known.left;
        }
        let left = time_left(run, &self.graph, &self.pace, now);
        self.known = Some(Known { left, ended, at: begun, cost: begun.elapsed() });
        left
    }
}
