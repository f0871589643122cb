//! What is left at the least: the longest chain of tasks that have not ended.

use std::time::{Duration, Instant};

use conductor_core::graph::{Graph, Node};
use conductor_core::plan::{Task, Work};
use conductor_core::run::{Run, TaskState};
use conductor_core::units::{Millis, Tick};

/// How often it is reckoned, and how much of our time that may take: one part in so many.
const EVERY: Duration = Duration::from_secs(1);
const SHARE: u32 = 100;

/// How many have to be done before the others are taken to last as long.
const ENOUGH: u64 = 3;

pub(super) struct Ahead {
    graph: Graph,
    /// How long completed tasks took, of prompts and of commands, and how many that were.
    took: [(Millis, u64); 2],
    known: Option<Known>,
}

/// What was reckoned when, and how long that took.
#[derive(Clone, Copy)]
struct Known {
    left: (u32, Option<Millis>),
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
        Ahead { graph, took: Default::default(), known: None }
    }

    /// A task is done and took so long.
    pub(super) fn learn(&mut self, task: &Task, worked: Millis) {
        let (sum, count) = &mut self.took[kind(task)];
        *sum += worked;
        *count += 1;
    }

    /// How many tasks, and how long by estimates and by what others of their kind took; no time where some have neither.
    pub(super) fn left(&mut self, run: &Run, now: Tick) -> (u32, Option<Millis>) {
        let begun = Instant::now();
        let ended = run.ended_count();
        if let Some(known) = self.known.filter(|known| begun < known.until(ended)) {
            return known.left;
        }
        let is_open = |task: Node| !run.progress(task as usize).state.status().is_end();
        let longest = |length: &dyn Fn(Node) -> Millis| {
            self.graph.remaining(length).into_iter().max().unwrap_or_default()
        };
        let tasks = longest(&|task| Millis(is_open(task).into())).0 as u32;
        let lengths: Option<Vec<Millis>> =
            (0..self.graph.len()).map(|place| self.length(run, place, now)).collect();
        let time = lengths.map(|lengths| longest(&|task| lengths[task as usize]));
        let left = (tasks, time.filter(|time| *time >= Millis(1000)));
        self.known = Some(Known { left, ended, at: begun, cost: begun.elapsed() });
        left
    }

    /// How long a task will still take; nothing where nobody knows.
    fn length(&self, run: &Run, place: usize, now: Tick) -> Option<Millis> {
        let (task, progress) = run.task(place);
        if progress.state.status().is_end() {
            return Some(Millis(0));
        }
        let (sum, count) = self.took[kind(task)];
        let usual = sum.0.checked_div(count).filter(|_| count >= ENOUGH).map(Millis);
        let whole = task.estimate.or(usual)?;
        Some(match &progress.state {
            TaskState::Running(running) => Millis(whole.0.saturating_sub((now - running.since).0)),
            _ => whole,
        })
    }
}

fn kind(task: &Task) -> usize {
    usize::from(matches!(task.work, Work::Run(_)))
}
