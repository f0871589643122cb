//! What is left of a run at the least: the longest chain of tasks that have not ended.

use crate::plan::graph::{Graph, Node};
use crate::plan::{Task, Wins, Work};
use crate::run::{Run, TaskState};
use crate::values::units::{Millis, Tick};

/// How many have to be done before the others are taken to last as long.
const ENOUGH: u64 = 3;

/// Less than this is not worth telling.
const LEAST: Millis = Millis(1000);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TimeLeft {
    /// Tasks of the longest chain.
    pub tasks: u32,
    /// By estimates and by what others of their kind took; nothing where some tasks have neither.
    pub time: Option<Millis>,
}

/// How long completed tasks took, of prompts and of commands, and how many that were.
#[derive(Debug, Clone, Copy, Default)]
pub struct Pace([(Millis, u64); 2]);

impl Pace {
    /// A task is done and took so long.
    pub fn learn(&mut self, task: &Task, worked: Millis) {
        let (sum, count) = &mut self.0[kind(task)];
        *sum += worked;
        *count += 1;
    }

    /// How long tasks of this kind take, where enough of them are done.
    fn usual(&self, task: &Task) -> Option<Millis> {
        let (sum, count) = self.0[kind(task)];
        sum.0.checked_div(count).filter(|_| count >= ENOUGH).map(Millis)
    }
}

fn kind(task: &Task) -> usize {
    usize::from(matches!(task.work, Work::Run(_)))
}

/// What is left of a run whose plan has this graph.
pub fn time_left(run: &Run, graph: &Graph, pace: &Pace, now: Tick) -> TimeLeft {
    let is_open = |task: Node| !graph.is_entrant(task) && !has_ended(run, task as usize);
    let longest =
        |length: &dyn Fn(Node) -> Millis| graph.remaining(length).into_iter().max().unwrap_or_default();
    let tasks = longest(&|task| Millis(is_open(task).into())).0 as u32;
    let each = (0..graph.len()).map(|place| length_along(run, graph, pace, place, now));
    let lengths: Option<Vec<Millis>> = each.collect();
    let time = lengths.map(|lengths| longest(&|task| lengths[task as usize]));
    TimeLeft { tasks, time: time.filter(|time| *time >= LEAST) }
}

fn has_ended(run: &Run, place: usize) -> bool {
    run.progress(place).state.status().is_end()
}

/// As `length`; what several race for takes as long as they do, and they nothing beside it.
fn length_along(run: &Run, graph: &Graph, pace: &Pace, place: usize, now: Tick) -> Option<Millis> {
    let Some(race) = run.task(place).0.race() else {
        return match graph.is_entrant(place as Node) {
            true => Some(Millis(0)),
            false => length(run, pace, place, now),
        };
    };
    if has_ended(run, place) {
        return Some(Millis(0));
    }
    let open = run.entrants(place).iter().filter(|&&entrant| !has_ended(run, entrant));
    let each: Vec<Millis> = open.map(|&entrant| length(run, pace, entrant, now)).collect::<Option<_>>()?;
    match race.wins {
        Wins::First => each.into_iter().min(),
        Wins::Best => each.into_iter().max(),
    }
}

/// How long a task will still take; nothing where there is no estimate.
fn length(run: &Run, pace: &Pace, place: usize, now: Tick) -> Option<Millis> {
    let (task, progress) = run.task(place);
    if progress.state.status().is_end() {
        return Some(Millis(0));
    }
    let whole = task.estimated().or_else(|| pace.usual(task))?;
    Some(match &progress.state {
        TaskState::Running(running) => Millis(whole.0.saturating_sub(running.length(now).0)),
        _ => whole,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::{Command, Dependency, Plan};
    use crate::run::event::{Options, Outcome};
    use crate::schedule::{Input, Scheduler};
    use crate::values::ids::{Attempt, TaskId};
    use crate::values::units::{Now, Timestamp};

    fn at(secs: u64) -> Now {
        Now { at: Timestamp(0), tick: Tick(secs * 1000), jitter: 0.5 }
    }

    fn id(number: usize) -> TaskId {
        TaskId::parse(&format!("t{number}")).unwrap()
    }

    fn command(number: usize, estimate: Option<Millis>) -> Task {
        let mut task = Task::new(id(number), Work::Run(Command::Line("x".into())));
        task.estimate = estimate;
        task
    }

    fn started(tasks: Vec<Task>, slots: u32) -> Scheduler {
        let (run, _) = Run::create(Plan { tasks, ..Plan::default() }, at(0));
        Scheduler::start(run, Options::with_slots(slots), at(0)).unwrap().0
    }

    fn told(scheduler: &Scheduler, pace: &Pace, now: Tick) -> (u32, Option<Millis>) {
        let TimeLeft { tasks, time } = time_left(scheduler.run(), scheduler.graph(), pace, now);
        (tasks, time)
    }

    /// A chain of so many commands, of which the first have ended after ten seconds each.
    fn chain(length: usize, ended: usize, estimate: Option<Millis>) -> (u32, Option<Millis>) {
        let task = |number: usize| {
            let mut task = command(number, estimate);
            task.dependencies =
                number.checked_sub(1).map(|before| Dependency::on(id(before))).into_iter().collect();
            task
        };
        let mut scheduler = started((0..length).map(task).collect(), 1);
        let mut pace = Pace::default();
        for number in 0..ended {
            let (task, attempt, outcome) = (id(number), Attempt(1), Outcome::Succeeded);
            let input = Input::AttemptEnded { task, attempt, outcome, change: None, phases: None };
            scheduler.handle(at(10 * (number as u64 + 1)), input);
            let (task, progress) = scheduler.run().task(number);
            pace.learn(task, progress.worked);
        }
        told(&scheduler, &pace, Tick(10_000 * ended as u64 + 4_000))
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

    #[test]
    fn side_by_side_the_longest_counts_and_overdue_is_no_time() {
        let tasks = |estimates: [u64; 3]| {
            let each = estimates.into_iter().enumerate();
            each.map(|(number, estimate)| command(number, Some(Millis(estimate)))).collect::<Vec<_>>()
        };
        let pace = Pace::default();
        let three = started(tasks([60_000, 20_000, 30_000]), 3);
        assert_eq!(told(&three, &pace, Tick(10_000)), (1, Some(Millis(50_000))));
        assert_eq!(told(&three, &pace, Tick(59_500)), (1, None), "less than a second is not told");
        assert_eq!(told(&three, &pace, Tick(90_000)), (1, None), "it should be over");
    }

    #[test]
    fn prompts_do_not_take_as_long_as_commands() {
        let mut pace = Pace::default();
        (0..ENOUGH).for_each(|_| pace.learn(&command(0, None), Millis(7_000)));
        assert_eq!(pace.usual(&command(1, None)), Some(Millis(7_000)));
        assert_eq!(pace.usual(&Task::new(id(1), Work::Prompt("do".into()))), None);
    }
}
