//! The course of a run as it can be drawn: who did what when, and how many tasks waited meanwhile.

use std::collections::HashMap;

use super::time::waits;
use crate::plan::graph::{Graph, Node};
use crate::run::{Run, Span};
use crate::values::units::Millis;

/// More than these cannot be told apart; the longest are drawn.
const DRAWN: usize = 3000;
const LANES: u32 = 100;

#[derive(Debug)]
pub(super) struct Course<'a> {
    pub(super) length: Millis,
    /// Slots that are drawn, from the first on.
    pub(super) lanes: u32,
    /// By their beginning.
    pub(super) spans: Vec<&'a Span>,
    /// Attempts and slots that are not drawn.
    pub(super) left_out: usize,
    pub(super) lanes_left_out: u32,
    /// When tasks waited for their turn, for another try or for a person; nothing where that was not measured.
    pub(super) waiting: Option<Vec<(Millis, Millis)>>,
    /// How long each task waited for its first attempt.
    pub(super) waits: Vec<Option<Millis>>,
}

impl<'a> Course<'a> {
    pub(super) fn of(run: &'a Run, graph: &Graph) -> Course<'a> {
        let lanes = run.executors().min(LANES);
        let all = run.spans();
        let mut spans: Vec<&Span> = all.iter().filter(|span| (1..=lanes).contains(&span.executor)).collect();
        if spans.len() > DRAWN {
            spans.sort_by_key(|span| std::cmp::Reverse(length(span, run.active())));
            spans.truncate(DRAWN);
            spans.sort_by_key(|span| (span.from, span.executor));
        }
        let measured = run.times().starts == 1;
        let waits = if measured { waits(run, graph) } else { vec![None; graph.len()] };
        Course {
            length: run.active(),
            lanes,
            left_out: all.len() - spans.len(),
            spans,
            lanes_left_out: run.executors() - lanes,
            waiting: measured.then(|| waiting(all, &waits)),
            waits,
        }
    }
}

/// Up to now where it is under way.
pub(super) fn length(span: &Span, now: Millis) -> Millis {
    Millis(span.to.unwrap_or(now).0.saturating_sub(span.from.0))
}

/// How long each slot was in use, from the first on.
pub(super) fn busy(run: &Run) -> Vec<Millis> {
    let mut busy = vec![Millis(0); run.executors() as usize];
    for span in run.spans() {
        if let Some(busy) = span.executor.checked_sub(1).and_then(|lane| busy.get_mut(lane as usize)) {
            *busy += length(span, run.active());
        }
    }
    busy
}

/// Before its first attempt each task as long as it was told to have waited, then from one attempt to the next.
fn waiting(spans: &[Span], waits: &[Option<Millis>]) -> Vec<(Millis, Millis)> {
    let mut left: HashMap<Node, Millis> = HashMap::new();
    let mut waiting = Vec::new();
    for span in spans {
        let since = match left.get(&span.task) {
            Some(left) => Some(*left),
            None => waits[span.task as usize].map(|waited| Millis(span.from.0.saturating_sub(waited.0))),
        };
        waiting.extend(since.filter(|since| *since < span.from).map(|since| (since, span.from)));
        left.insert(span.task, span.merged.or(span.to).unwrap_or(span.from));
    }
    waiting
}

/// How many waited at most in each of so many equal parts of the run.
pub(super) fn depth(waiting: &[(Millis, Millis)], length: Millis, parts: usize) -> Vec<u32> {
    let mut changes: Vec<(u64, i64)> =
        waiting.iter().flat_map(|(from, to)| [(from.0, 1), (to.0, -1)]).collect();
    // Where one ends as another begins, they did not wait together.
    changes.sort_unstable();
    let part = |at: u64| ((at as u128 * parts as u128 / u128::from(length.0.max(1))) as usize).min(parts - 1);
    let mut most = vec![0u32; parts];
    let (mut now, mut done) = (0i64, 0);
    for (at, change) in changes {
        let here = part(at);
        for most in &mut most[done..here] {
            *most = (*most).max(now.max(0) as u32);
        }
        done = here;
        most[here] = most[here].max(now.max(0) as u32);
        now += change;
        most[here] = most[here].max(now.max(0) as u32);
    }
    most
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_depth_is_how_many_waited_at_once() {
        let waiting = [(0, 50), (0, 20), (60, 80)].map(|(from, to)| (Millis(from), Millis(to)));
        assert_eq!(depth(&waiting, Millis(100), 10), [2, 2, 2, 1, 1, 1, 1, 1, 1, 0]);
        assert_eq!(depth(&[], Millis(0), 3), [0, 0, 0]);
    }
}
