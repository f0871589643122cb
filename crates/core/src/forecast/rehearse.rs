//! A run against supposed durations instead of processes: the same scheduler, the same rules, no world.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

use crate::plan::graph::GraphError;
use crate::plan::{Plan, Task};
use crate::run::Run;
use crate::run::event::{Options, Outcome, StopReason};
use crate::schedule::{Action, Decision, Input, Scheduler};
use crate::values::ids::{Attempt, TaskId};
use crate::values::units::{Millis, Now, Tick, Timestamp};

/// What a run would look like.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rehearsal {
    pub makespan: Millis,
    /// How many slots it had use for.
    pub executors: u32,
    /// When each task would start, in the order of their starts.
    pub starts: Vec<(TaskId, Tick)>,
    /// How many events its log would hold.
    pub events: u64,
}

/// Runs the plan to its end, every task succeeding after the time `length` gives.
pub fn rehearse(
    plan: Plan,
    options: Options,
    length: impl Fn(&Task) -> Millis,
) -> Result<Rehearsal, GraphError> {
    let lengths = plan.tasks.iter().map(length).collect();
    rehearse_as(plan, options, lengths)
}

/// As `rehearse`, with the time each task takes in the order of the plan.
pub fn rehearse_as(plan: Plan, options: Options, lengths: Vec<Millis>) -> Result<Rehearsal, GraphError> {
    let starts = Vec::with_capacity(lengths.len());
    let (run, _) = Run::create(plan, at(Tick(0)));
    let (mut scheduler, decision) = Scheduler::start(run, options, at(Tick(0)))?;
    let mut stage = Stage { lengths, ends: BinaryHeap::new(), executors: 0, starts, drawn: 0 };
    stage.perform(&mut scheduler, Tick(0), decision);
    let mut now = Tick(0);
    while let Some(Reverse((tick, _, task, attempt))) = stage.ends.pop() {
        now = tick;
        let decision = scheduler.handle(at(now), ended(task, Attempt(attempt), Outcome::Succeeded));
        stage.perform(&mut scheduler, now, decision);
    }
    Ok(Rehearsal {
        makespan: now - Tick(0),
        executors: stage.executors,
        starts: stage.starts,
        events: scheduler.run().seq(),
    })
}

/// Attempts under way: when each ends, a number that keeps equals in the order they started, and whose it is.
type End = Reverse<(Tick, u64, TaskId, u32)>;
type Ends = BinaryHeap<End>;

struct Stage {
    lengths: Vec<Millis>,
    ends: Ends,
    executors: u32,
    starts: Vec<(TaskId, Tick)>,
    drawn: u64,
}

impl Stage {
    fn perform(&mut self, scheduler: &mut Scheduler, now: Tick, decision: Decision) {
        let mut actions = VecDeque::from(decision.actions);
        while let Some(action) = actions.pop_front() {
            match action {
                Action::Start { task, attempt, executor, .. } => {
                    let Some(place) = scheduler.run().place(&task) else { continue };
                    let end = now + self.lengths[place];
                    self.executors = self.executors.max(executor);
                    if attempt == Attempt(1) {
                        self.starts.push((task.clone(), now));
                    }
                    self.drawn += 1;
                    self.ends.push(Reverse((end, self.drawn, task, attempt.0)));
                }
                // Another entrant has won, or a more urgent task needs the room: it stops at once.
                Action::Stop { task, attempt, why } => {
                    let is_it = |end: &End| (&end.0.2, end.0.3) == (&task, attempt.0);
                    let left = self.ends.iter().find(|end| is_it(end)).map(|end| end.0.0 - now);
                    self.ends.retain(|end| !is_it(end));
                    let outcome = match why {
                        StopReason::Preempted | StopReason::BaseChanged => Outcome::Interrupted,
                        _ => Outcome::Cancelled,
                    };
                    if let (Some(left), Some(place)) = (left, scheduler.run().place(&task)) {
                        self.lengths[place] = left;
                    }
                    let decision = scheduler.handle(at(now), ended(task, attempt, outcome));
                    actions.extend(decision.actions);
                }
                Action::Examine { stage } => {
                    let examined = Input::StageExamined { stage, blocked: None };
                    actions.extend(scheduler.handle(at(now), examined).actions);
                }
                _ => {}
            }
        }
    }
}

fn ended(task: TaskId, attempt: Attempt, outcome: Outcome) -> Input {
    Input::AttemptEnded { task, attempt, outcome, change: None, phases: None }
}

fn at(tick: Tick) -> Now {
    Now { at: Timestamp(tick.0 as i64), tick, jitter: 0.5 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::{Command, Dependency, Work};

    fn task(id: &str, minutes: u64, before: &[&str]) -> Task {
        let mut task = Task::new(TaskId::parse(id).unwrap(), Work::Run(Command::Line("true".into())));
        task.estimate = Some(Millis::from_secs(minutes * 60));
        task.dependencies = before.iter().map(|id| Dependency::on(TaskId::parse(id).unwrap())).collect();
        task
    }

    fn minutes(tasks: Vec<Task>, slots: u32) -> (u64, u32) {
        let plan = Plan { tasks, ..Plan::default() };
        let rehearsal = rehearse(plan, Options::with_slots(slots), Task::expected).unwrap();
        (rehearsal.makespan.0 / 60_000, rehearsal.executors)
    }

    /// Five of 30 minutes, five of 10, three slots: a table of fixed rows takes 80.
    #[test]
    fn ten_mixed_tasks_on_three_slots_take_seventy_minutes() {
        let tasks: Vec<Task> =
            (0..10).map(|n| task(&format!("t{n}"), if n % 2 == 0 { 30 } else { 10 }, &[])).collect();
        assert_eq!(minutes(tasks, 3), (70, 3));
    }

    /// Schema, API, front end, components, integration, tests: the graph has use for two slots, so the third never is.
    #[test]
    fn the_todo_app_takes_twenty_units_and_two_of_three_workers() {
        let tasks = vec![
            task("1", 5, &[]),
            task("2", 5, &["1"]),
            task("3", 5, &[]),
            task("4", 5, &["3"]),
            task("5", 5, &["2", "4"]),
            task("6", 5, &["5"]),
        ];
        assert_eq!(minutes(tasks, 3), (20, 2));
    }

    #[test]
    fn the_critical_path_goes_first() {
        let mut tasks: Vec<Task> = (0..4).map(|n| task(&format!("short{n}"), 10, &[])).collect();
        tasks.push(task("head", 10, &[]));
        tasks.push(task("tail", 30, &["head"]));
        assert_eq!(minutes(tasks, 2), (40, 2));
    }
}
