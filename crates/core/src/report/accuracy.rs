//! What was expected of tasks, against what they took.

use crate::forecast::{Basis, foretold};
use crate::plan::graph::Node;
use crate::run::{Run, TaskState};
use crate::values::units::Millis;

/// How far off an estimate may be to be called a good one, in percent.
const GOOD: f64 = 25.0;

/// A completed task that was estimated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Held {
    pub task: Node,
    pub expected: Millis,
    pub basis: Basis,
    /// All its attempts together, as in the runs that estimates are learned from.
    pub took: Millis,
}

impl Held {
    pub(super) fn of(run: &Run, place: usize) -> Option<Held> {
        let (task, progress) = run.task(place);
        let begun = run.progress(run.doer(place)).last_attempt > 0;
        let done = progress.state == TaskState::Completed && begun && !task.is_entrant();
        let (expected, basis) = foretold(task).filter(|_| done)?;
        Some(Held { task: place as Node, expected, basis, took: run.took(place) })
    }

    /// What it took, as a multiple of what was expected; nothing where that was no time at all.
    pub fn ratio(&self) -> Option<f64> {
        (self.expected.0 > 0).then(|| self.took.0 as f64 / self.expected.0 as f64)
    }

    /// In percent of what was expected, whichever way.
    pub fn error(&self) -> Option<f64> {
        self.ratio().map(|ratio| (ratio - 1.0).abs() * 100.0)
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Accuracy {
    /// In the order of the plan.
    pub held: Vec<Held>,
    /// Tasks that were estimated, completed or not.
    pub estimated: u32,
}

impl Accuracy {
    pub fn of(run: &Run) -> Accuracy {
        let places = 0..run.plan().tasks.len();
        Accuracy {
            held: places.filter_map(|place| Held::of(run, place)).collect(),
            estimated: run.asked().filter(|(_, task, _)| foretold(task).is_some()).count() as u32,
        }
    }

    pub fn median_error(&self) -> Option<f64> {
        let mut errors: Vec<f64> = self.held.iter().filter_map(Held::error).collect();
        errors.sort_by(f64::total_cmp);
        let middle = errors.len() / 2;
        match errors.len() {
            0 => None,
            odd if odd % 2 == 1 => Some(errors[middle]),
            _ => Some((errors[middle - 1] + errors[middle]) / 2.0),
        }
    }

    /// How many were no further off than a quarter.
    pub fn within(&self) -> u32 {
        self.held.iter().filter_map(Held::error).filter(|error| *error <= GOOD).count() as u32
    }

    /// In a sentence without its full stop.
    pub fn words(&self) -> String {
        let held = match self.held.len() {
            1 => "1 task against its estimate".to_owned(),
            count => format!("{count} tasks against their estimates"),
        };
        match (self.estimated, self.median_error()) {
            (0, _) => "no task was estimated".to_owned(),
            (_, None) => "no task that was estimated is completed".to_owned(),
            (_, Some(error)) => {
                format!("{held}: median error {error:.0} %, {} within ±{GOOD:.0} %", self.within())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn accuracy(pairs: &[(u64, u64)]) -> Accuracy {
        let held = pairs.iter().map(|&(expected, took)| Held {
            task: 0,
            expected: Millis(expected),
            basis: Basis::Given,
            took: Millis(took),
        });
        Accuracy { held: held.collect(), estimated: pairs.len() as u32 }
    }

    #[test]
    fn errors_count_both_ways_and_a_quarter_off_is_good() {
        let told = accuracy(&[(100, 75), (100, 125), (100, 300), (100, 10)]);
        assert_eq!((told.median_error(), told.within()), (Some(57.5), 2));
        assert_eq!(told.held[2].ratio(), Some(3.0));
        assert_eq!(told.words(), "4 tasks against their estimates: median error 58 %, 2 within ±25 %");
        let one = accuracy(&[(100, 110)]);
        assert_eq!(one.words(), "1 task against its estimate: median error 10 %, 1 within ±25 %");
    }

    #[test]
    fn what_cannot_be_told_is_not() {
        assert_eq!(accuracy(&[]).words(), "no task was estimated");
        let none = Accuracy { held: Vec::new(), estimated: 2 };
        assert_eq!(none.words(), "no task that was estimated is completed");
        assert_eq!(accuracy(&[(0, 5)]).median_error(), None, "nothing is a multiple of nothing");
    }
}
