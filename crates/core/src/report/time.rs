//! Where a run's time went, and how long it would have taken at best.

use crate::plan::graph::Graph;
use crate::run::{Progress, Run, Span, TaskState, Times};
use crate::values::units::{Millis, Timestamp};

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TimeSpent {
    /// Of all tasks together.
    pub times: Times,
    /// Between being able to start and starting, of all tasks together; nothing where the run was left in between, for
    /// then it is unknown what they waited for.
    pub waited: Option<Millis>,
    /// No run of the same work, each attempt as long as it was, with so many at a time could have taken less than this.
    pub at_best: Millis,
    /// How many at a time that is: as many as there may be, or as there were where that was changed on the way.
    pub slots: u32,
    /// How many tasks were done last in each slot, from the first slot on.
    pub per_slot: Vec<u32>,
}

impl TimeSpent {
    pub fn of(run: &Run, graph: &Graph) -> TimeSpent {
        let path = graph.critical_path(|task| run.took(task as usize)).length;
        let slots = run.options().tasks_at_once().max(run.executors()).max(1);
        let length = |span: &Span| Some(Millis(span.to?.0.saturating_sub(span.from.0)));
        let attempts = run.spans().iter().filter_map(length).collect();
        TimeSpent {
            times: *run.times(),
            waited: (run.times().starts == 1).then(|| waited(run, graph)),
            // The run itself is the proof that it can be done in the time it took.
            at_best: path.max(shared_out(attempts, slots)).min(run.active()),
            slots,
            per_slot: per_slot(run),
        }
    }
}

/// No less than this is needed for pieces of such lengths on so many slots, each piece in one go.
///
/// Of the k·m + 1 longest on m slots, some slot has k + 1: it takes at least as long as the k + 1 shortest of them.
fn shared_out(mut lengths: Vec<Millis>, slots: u32) -> Millis {
    lengths.sort_unstable_by_key(|length| std::cmp::Reverse(*length));
    let all = lengths.iter().map(|length| length.0).sum::<u64>().div_ceil(u64::from(slots));
    let slots = slots as usize;
    let deep = (0..lengths.len()).step_by(slots).map(|last| {
        let from = last - last / slots;
        lengths[from..=last].iter().map(|length| length.0).sum::<u64>()
    });
    Millis(deep.chain([all]).max().unwrap_or(0))
}

impl TimeSpent {
    /// What was measured and took any time, in words.
    pub fn parts(&self) -> Vec<(&'static str, Millis)> {
        let Times { preparing, working, verifying, merging, retrying, asking, .. } = self.times;
        let all = [
            ("waiting for their turn", self.waited.unwrap_or_default()),
            ("waiting to try again", retrying),
            ("waiting for a person", asking),
            ("preparing", preparing),
            ("working", working),
            ("verifying", verifying),
            ("merging", merging),
        ];
        all.into_iter().filter(|(_, length)| *length > Millis(0)).collect()
    }
}

fn waited(run: &Run, graph: &Graph) -> Millis {
    waits(run, graph).into_iter().flatten().fold(Millis(0), |sum, one| sum + one)
}

/// How long each task was able to start and did not; nothing of those that never began. Only of a run that was never
/// left.
pub(super) fn waits(run: &Run, graph: &Graph) -> Vec<Option<Millis>> {
    let before = graph.dependencies();
    let each = run.tasks().enumerate().map(|(place, (_, progress))| {
        let ends = before[run.raced_by(place).unwrap_or(place)]
            .iter()
            .filter_map(|&task| run.progress(task as usize).ended);
        let ready: Timestamp = ends.max().unwrap_or_default().max(run.created());
        Some(progress.first_started? - ready)
    });
    each.collect()
}

fn per_slot(run: &Run) -> Vec<u32> {
    let mut done = vec![0; run.executors() as usize];
    for (task, Progress { executor, state, .. }) in run.tasks() {
        let beaten = task.is_entrant() && *state != TaskState::Completed;
        let number =
            executor.filter(|_| state.status().is_end() && !beaten).and_then(|number| number.checked_sub(1));
        if let Some(done) = number.and_then(|number| done.get_mut(number as usize)) {
            *done += 1;
        }
    }
    done
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::sketch::{id, plan};
    use crate::run::event::{Change, Options, Outcome, Phases};
    use crate::schedule::{Input, Scheduler, Stacked};
    use crate::values::ids::Attempt;
    use crate::values::units::{Now, Tick};

    fn at(secs: u64) -> Now {
        Now { at: Timestamp(secs as i64 * 1000), tick: Tick(secs * 1000), jitter: 0.5 }
    }

    /// `a` and `b` at once in two slots, `c` after `a` when a slot is free, `d` beside it.
    #[test]
    fn every_part_is_measured() {
        let (run, _) = Run::create(plan("a; b; c <- a; d"), at(0));
        let (mut scheduler, _) = Scheduler::start(run, Options::with_slots(2), at(0)).unwrap();
        let mut end = |secs, task: &str, working, change: Option<Change>| {
            let phases =
                Phases { preparing: Millis(500), working: Millis::from_secs(working), ..Phases::default() };
            let (task, attempt, outcome) = (id(task), Attempt(1), Outcome::Succeeded);
            let (change, phases) = (change.map(Box::new), Some(phases));
            scheduler.handle(at(secs), Input::AttemptEnded { task, attempt, outcome, change, phases });
        };
        end(2, "a", 1, Some(Change::new("base", "work")));
        end(4, "b", 3, None);
        let stacked = vec![Stacked { task: id("a"), attempt: Attempt(1), to: "tip".into() }];
        let from = "base".to_owned();
        scheduler.handle(at(5), Input::MergesPrepared { from, stacked, failed: Vec::new() });
        scheduler.handle(at(6), Input::BranchMoved { to: "tip".into(), moved: true });
        let mut end = |secs, task: &str| {
            let (task, attempt, outcome) = (id(task), Attempt(1), Outcome::Succeeded);
            scheduler
                .handle(at(secs), Input::AttemptEnded { task, attempt, outcome, change: None, phases: None });
        };
        end(7, "d");
        end(9, "c");
        let spent = TimeSpent::of(scheduler.run(), scheduler.graph());
        let seconds = |secs| Millis::from_secs(secs);
        let parts = [
            ("waiting for their turn", seconds(2)),
            ("preparing", seconds(1)),
            ("working", seconds(4)),
            ("merging", seconds(4)),
        ];
        assert_eq!(spent.parts(), parts, "d waited for a slot; c only for a");
        assert_eq!(spent.times.attempts, 2, "what was not reported is not counted");
        assert_eq!(spent.at_best, seconds(7), "{:?}", spent);
        assert_eq!(spent.per_slot.iter().sum::<u32>(), 4);
    }

    /// Three of a second each on two slots take two seconds, not one and a half.
    #[test]
    fn a8_whole_pieces_are_shared_out() {
        let of = |lengths: &[u64], slots| shared_out(lengths.iter().copied().map(Millis).collect(), slots).0;
        assert_eq!(of(&[1000, 1000, 1000], 2), 2000);
        assert_eq!(of(&[1000, 1000, 1000], 3), 1000);
        assert_eq!(of(&[1000, 1000, 1000], 1), 3000);
        assert_eq!(of(&[1000; 7], 3), 3000);
        assert_eq!(of(&[5000, 100, 100], 2), 5000);
        assert_eq!(of(&[600, 500, 400, 300, 200], 2), 1000, "as the work is, for that is more than any pair");
        assert_eq!(of(&[], 2), 0);
    }

    proptest::proptest! {
        /// No order of the pieces, each on the slot that is free first, comes below it.
        #[test]
        fn a8_no_schedule_is_better_than_the_best(
            lengths in proptest::collection::vec(0u64..50, 0..12), slots in 1u32..5,
        ) {
            let best = shared_out(lengths.iter().copied().map(Millis).collect(), slots).0;
            let mut longest_first = lengths.clone();
            longest_first.sort_unstable_by(|a, b| b.cmp(a));
            for order in [&lengths, &longest_first] {
                let mut busy = vec![0; slots as usize];
                for length in order {
                    *busy.iter_mut().min().unwrap() += length;
                }
                proptest::prop_assert!(busy.into_iter().max().unwrap() >= best);
            }
        }
    }

    #[test]
    fn a_run_that_was_left_in_between_does_not_say_how_long_its_tasks_waited() {
        let (run, _) = Run::create(plan("a"), at(0));
        let (scheduler, _) = Scheduler::start(run, Options::with_slots(1), at(0)).unwrap();
        let (scheduler, _) = Scheduler::start(scheduler.into_run(), Options::with_slots(1), at(9)).unwrap();
        assert_eq!(TimeSpent::of(scheduler.run(), scheduler.graph()).waited, None);
    }
}
