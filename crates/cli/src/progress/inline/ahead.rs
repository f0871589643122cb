//! What is left at the least: the longest chain of tasks that have not ended.

use std::time::{Duration, Instant};

use conductor_core::plan::graph::{Graph, Node};
use conductor_core::plan::{Task, Wins, Work};
use conductor_core::run::{Run, TaskState};
use conductor_core::values::units::{Millis, Tick};

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

    /// The plan is another.
    pub(super) fn look_again(&mut self, run: &Run) {
        if let Ok(graph) = Graph::new(run.plan(), run.options().strategy) {
            (self.graph, self.known) = (graph, None);
        }
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
        let is_open =
            |task: Node| !self.graph.is_entrant(task) && !run.progress(task as usize).state.status().is_end();
        let longest = |length: &dyn Fn(Node) -> Millis| {
            self.graph.remaining(length).into_iter().max().unwrap_or_default()
        };
        let tasks = longest(&|task| Millis(is_open(task).into())).0 as u32;
        let lengths: Option<Vec<Millis>> =
            (0..self.graph.len()).map(|place| self.length_along(run, place, now)).collect();
        let time = lengths.map(|lengths| longest(&|task| lengths[task as usize]));
        let left = (tasks, time.filter(|time| *time >= Millis(1000)));
        self.known = Some(Known { left, ended, at: begun, cost: begun.elapsed() });
        left
    }

    /// As `length`; what several race for takes as long as they do, and they nothing beside it.
    fn length_along(&self, run: &Run, place: usize, now: Tick) -> Option<Millis> {
        let Some(race) = run.task(place).0.race() else {
            return if self.graph.is_entrant(place as Node) {
                Some(Millis(0))
            } else {
                self.length(run, place, now)
            };
        };
        if run.progress(place).state.status().is_end() {
            return Some(Millis(0));
        }
        let open = |&&entrant: &&usize| !run.progress(entrant).state.status().is_end();
        let each = run.entrants(place).iter().filter(open).map(|&entrant| self.length(run, entrant, now));
        let each: Vec<Millis> = each.collect::<Option<_>>()?;
        match race.wins {
            Wins::First => each.into_iter().min(),
            Wins::Best => each.into_iter().max(),
        }
    }

    /// How long a task will still take; nothing where there is no estimate.
    fn length(&self, run: &Run, place: usize, now: Tick) -> Option<Millis> {
        let (task, progress) = run.task(place);
        if progress.state.status().is_end() {
            return Some(Millis(0));
        }
        let (sum, count) = self.took[kind(task)];
        let usual = sum.0.checked_div(count).filter(|_| count >= ENOUGH).map(Millis);
        let whole = task.estimated().or(usual)?;
        Some(match &progress.state {
            TaskState::Running(running) => Millis(whole.0.saturating_sub((now - running.since).0)),
            _ => whole,
        })
    }
}

fn kind(task: &Task) -> usize {
    usize::from(matches!(task.work, Work::Run(_)))
}

#[cfg(test)]
mod tests {
    use conductor_core::plan::{Command, Dependency, Plan};
    use conductor_core::run::event::{Options, Outcome};
    use conductor_core::schedule::{Input, Scheduler};
    use conductor_core::values::ids::{Attempt, TaskId};
    use conductor_core::values::units::{Now, Timestamp};

    use super::*;

    fn at(secs: u64) -> Now {
        Now { at: Timestamp(0), tick: Tick(secs * 1000), jitter: 0.5 }
    }

    /// A chain of so many commands, of which the first have ended after ten seconds each.
    fn chain(length: usize, ended: usize, estimate: Option<Millis>) -> (u32, Option<Millis>) {
        let id = |number: usize| TaskId::parse(&format!("t{number}")).unwrap();
        let task = |number: usize| {
            let mut task = Task::new(id(number), Work::Run(Command::Line("x".into())));
            task.dependencies =
                number.checked_sub(1).map(|before| Dependency::on(id(before))).into_iter().collect();
            task.estimate = estimate;
            task
        };
        let plan = Plan { tasks: (0..length).map(task).collect(), ..Plan::default() };
        let (run, _) = Run::create(plan, at(0));
        let (mut scheduler, _) = Scheduler::start(run, Options::with_slots(1), at(0)).unwrap();
        let mut ahead = Ahead::new(scheduler.graph().clone());
        for number in 0..ended {
            let (task, attempt, outcome) = (id(number), Attempt(1), Outcome::Succeeded);
            let input = Input::AttemptEnded { task, attempt, outcome, change: None, phases: None };
            scheduler.handle(at(10 * (number as u64 + 1)), input);
            let (task, progress) = scheduler.run().task(number);
            ahead.learn(task, progress.worked);
        }
        ahead.left(scheduler.run(), Tick(10_000 * ended as u64 + 4_000))
    }

    #[test]
    fn time_is_told_by_estimates_or_by_what_others_took() {
        assert_eq!(chain(6, 0, None), (6, None), "there is no estimate");
        assert_eq!(chain(6, 2, None), (4, None), "two are not enough to go by");
        assert_eq!(
            chain(6, 3, None),
            (3, Some(Millis(26_000))),
            "the one at work has four seconds behind it"
        );
        assert_eq!(chain(3, 0, Some(Millis(60_000))), (3, Some(Millis(176_000))));
        assert_eq!(chain(3, 3, None), (0, None));
    }
}
