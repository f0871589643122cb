//! A run as a timeline: a lane for each slot, a bar for each attempt, what it did from when to when, and what it had waited
//! for. Times count from the run's beginning, and only while a coordinator was awake.
//!
//! How wide a bar is and which ones can still be told apart is for those who draw it.

use std::collections::{HashMap, HashSet};

use crate::plan::graph::{Graph, Node};
use crate::run::{End, Run, Span};
use crate::values::ids::Attempt;
use crate::values::units::{Millis, Timestamp};

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Timeline {
    pub length: Millis,
    /// How many slots the run has had use for at once; each attempt is in the lane of the lowest that was free.
    pub lanes: u32,
    /// By their beginning.
    pub bars: Vec<Bar>,
}

/// One attempt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Bar {
    pub task: Node,
    pub attempt: Attempt,
    /// From 1.
    pub lane: u32,
    pub from: Millis,
    /// Nothing while it is under way.
    pub to: Option<Millis>,
    pub end: Option<End>,
    /// One behind the other; empty where they were not measured.
    pub pieces: Vec<Piece>,
    /// Since when it was waited for, and for what; nothing where it began at once, or where that was not measured.
    pub wait: Option<(Millis, WaitedFor)>,
    /// Whether its task is on the critical path, by the times that tasks took or are expected to take.
    pub critical: bool,
}

/// By their numbers in [`Piece`].
pub const PHASES: [&str; 4] = ["preparing", "working", "verifying", "merging"];

/// What an attempt did for a while. Phases may take turns: each is as long as all of it was together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Piece {
    /// Its number in [`PHASES`].
    pub phase: usize,
    pub from: Millis,
    pub to: Millis,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WaitedFor {
    /// A free slot.
    Turn,
    /// The next try after a failure.
    Retry,
    /// The user's answer.
    Answer,
    /// A coordinator that takes the run up again.
    Resumption,
    /// Work that was good and did not land: a conflict, or a review that sent it back.
    Landing,
}

impl WaitedFor {
    pub const ALL: [WaitedFor; 5] =
        [WaitedFor::Turn, WaitedFor::Retry, WaitedFor::Answer, WaitedFor::Resumption, WaitedFor::Landing];

    pub fn name(self) -> &'static str {
        match self {
            WaitedFor::Turn => "turn",
            WaitedFor::Retry => "retry",
            WaitedFor::Answer => "answer",
            WaitedFor::Resumption => "resumption",
            WaitedFor::Landing => "landing",
        }
    }

    /// What comes after an attempt that ended like this.
    fn after(end: Option<End>) -> WaitedFor {
        match end {
            Some(End::Asked) => WaitedFor::Answer,
            Some(End::Succeeded) => WaitedFor::Landing,
            Some(End::Failed | End::Cancelled) => WaitedFor::Retry,
            Some(End::Interrupted) | None => WaitedFor::Resumption,
        }
    }
}

impl Timeline {
    pub fn of(run: &Run, graph: &Graph) -> Timeline {
        let path = graph.critical_path(|task| length(run, task as usize));
        let critical: HashSet<Node> = path.tasks.into_iter().collect();
        // Of a run that was taken up again it is not known since when tasks were ready.
        let ready = (run.times().starts == 1).then(|| ready(run, graph));
        let waited =
            |task: Node| Some(run.progress(task as usize).first_started? - ready.as_ref()?[task as usize]);
        let mut before: HashMap<Node, &Span> = HashMap::new();
        let bars = run.spans().iter().map(|span| {
            let wait = match before.insert(span.task, span) {
                Some(last) => Some((left(last), WaitedFor::after(last.end))),
                None => waited(span.task).map(|waited| (minus(span.from, waited), WaitedFor::Turn)),
            };
            Bar {
                task: span.task,
                attempt: span.attempt,
                lane: span.executor,
                from: span.from,
                to: span.to,
                end: span.end,
                pieces: pieces(span),
                wait: wait.filter(|(since, _)| *since < span.from),
                critical: critical.contains(&span.task),
            }
        });
        Timeline { length: run.active(), lanes: run.executors(), bars: bars.collect() }
    }
}

/// What has not ended may still take as long as was expected of it.
fn length(run: &Run, place: usize) -> Millis {
    let (task, progress) = run.task(place);
    match progress.state.status().is_end() || task.is_entrant() {
        true => run.took(place),
        false => run.took(place).max(task.expected()),
    }
}

/// When each task could begin: all that it waits for, looked at through gates, had ended.
fn ready(run: &Run, graph: &Graph) -> Vec<Timestamp> {
    let mut ready = vec![run.created(); graph.nodes()];
    for &node in graph.order() {
        let ended = match graph.is_gate(node) {
            true => Some(ready[node as usize]),
            false => run.progress(node as usize).ended,
        };
        for edge in graph.dependents(node) {
            ready[edge.to as usize] = ready[edge.to as usize].max(ended.unwrap_or_default());
        }
    }
    ready
}

/// When all that an attempt led to was over.
fn left(span: &Span) -> Millis {
    span.merged.or(span.to).unwrap_or(span.from)
}

fn minus(at: Millis, by: Millis) -> Millis {
    Millis(at.0.saturating_sub(by.0))
}

fn pieces(span: &Span) -> Vec<Piece> {
    let mut pieces = Vec::new();
    let mut at = span.from;
    if let Some(phases) = span.phases {
        let parts = [phases.preparing, phases.working, phases.verifying];
        for (phase, length) in parts.into_iter().enumerate().filter(|(_, length)| length.0 > 0) {
            // Measured by two clocks, the parts can come to a little more than the whole.
            let to = (at + length).min(span.to.unwrap_or(Millis(u64::MAX)));
            pieces.push(Piece { phase, from: at, to });
            at = to;
        }
    }
    if let (Some(to), Some(merged)) = (span.to, span.merged) {
        pieces.push(Piece { phase: 3, from: to, to: merged });
    }
    pieces
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::sketch::{id, plan};
    use crate::run::event::{Change, Options, Outcome, Phases};
    use crate::schedule::{Input, Scheduler, Stacked};
    use crate::values::units::{Now, Tick};

    fn at(secs: u64) -> Now {
        Now { at: Timestamp(secs as i64 * 1000), tick: Tick(secs * 1000), jitter: 0.5 }
    }

    fn end(scheduler: &mut Scheduler, secs: u64, task: &str, change: Option<Change>, phases: Option<Phases>) {
        let (task, attempt, outcome) = (id(task), Attempt(1), Outcome::Succeeded);
        let change = change.map(Box::new);
        scheduler.handle(at(secs), Input::AttemptEnded { task, attempt, outcome, change, phases });
    }

    /// `a` and `b` at once in two slots, `d` when `a` has ended, `c` when the work of `a` has landed.
    #[test]
    fn every_attempt_has_its_lane_its_pieces_and_its_wait() {
        let (run, _) = Run::create(plan("a; b; c <- a; d"), at(0));
        let (mut scheduler, _) = Scheduler::start(run, Options::with_slots(2), at(0)).unwrap();
        let phases = Phases { preparing: Millis(500), working: Millis(1_000), ..Phases::default() };
        end(&mut scheduler, 2, "a", Some(Change::new("base", "work")), Some(phases));
        end(&mut scheduler, 4, "b", None, None);
        let stacked = vec![Stacked { task: id("a"), attempt: Attempt(1), to: "tip".into() }];
        scheduler.handle(at(5), Input::MergesPrepared { from: "base".into(), stacked, failed: Vec::new() });
        scheduler.handle(at(6), Input::BranchMoved { to: "tip".into(), moved: true });
        end(&mut scheduler, 7, "d", None, None);
        let timeline = Timeline::of(scheduler.run(), scheduler.graph());
        assert_eq!((timeline.length, timeline.lanes, timeline.bars.len()), (Millis(7_000), 2, 4));
        let bar = |name: &str| {
            timeline.bars.iter().find(|bar| scheduler.graph().id(bar.task).as_str() == name).unwrap()
        };
        let piece = |phase, from, to| Piece { phase, from: Millis(from), to: Millis(to) };
        assert_eq!(bar("a").pieces, [piece(0, 0, 500), piece(1, 500, 1_500), piece(3, 2_000, 6_000)]);
        assert_eq!((bar("a").lane, bar("b").lane, bar("d").lane), (1, 2, 1));
        assert_eq!(bar("d").wait, Some((Millis(0), WaitedFor::Turn)));
        assert_eq!((bar("a").wait, bar("c").wait), (None, None), "c waited for a, not for its turn");
        assert_eq!((bar("c").from, bar("c").to, bar("c").end), (Millis(6_000), None, None));
        assert!(bar("a").critical && bar("c").critical && !bar("d").critical);
    }

    #[test]
    fn no_two_attempts_are_in_one_lane_at_once() {
        let (run, _) = Run::create(plan("a; b; c; d; e <- a; f <- b"), at(0));
        let (mut scheduler, _) = Scheduler::start(run, Options::with_slots(3), at(0)).unwrap();
        for (secs, task) in [(2, "b"), (3, "a"), (5, "c"), (5, "d"), (8, "e"), (9, "f")] {
            end(&mut scheduler, secs, task, None, None);
        }
        let timeline = Timeline::of(scheduler.run(), scheduler.graph());
        assert_eq!(timeline.bars.len(), 6);
        for (number, bar) in timeline.bars.iter().enumerate() {
            let ends = |bar: &Bar| bar.to.unwrap();
            let other =
                |other: &&Bar| other.lane == bar.lane && other.from < ends(bar) && bar.from < ends(other);
            assert_eq!(timeline.bars[..number].iter().find(other), None);
        }
    }
}
