//! The figures of a run as a whole.

use conductor_core::forecast::{Pace, TimeLeft, time_left};
use conductor_core::plan::graph::Graph;
use conductor_core::run::event::Usage;
use conductor_core::run::{Run, Stage, TaskState, costs};
use conductor_core::values::units::{Millis, Tick, Timestamp};

use super::live::Live;
use super::state::State;

#[derive(Debug, Clone)]
pub(crate) struct Figures {
    pub(crate) total: usize,
    /// How many tasks are in each state, in the order of `State::ALL`.
    pub(crate) counts: [usize; State::ALL.len()],
    pub(crate) spent: String,
    pub(crate) cap: Option<String>,
    pub(crate) busy: u32,
    pub(crate) slots: u32,
    pub(crate) left: Option<TimeLeft>,
}

impl Figures {
    /// `tick`: what time it is for the run's coordinator.
    pub(crate) fn of(run: &Run, graph: Option<&Graph>, live: &Live, tick: Tick) -> Figures {
        let mut counts = [0; State::ALL.len()];
        for (_, _, progress) in run.asked() {
            counts[number(State::of(progress))] += 1;
        }
        let busy = match live.view() {
            Some(view) => view.snapshot.busy(),
            None => run.asked().filter(|(_, _, progress)| is_at_work(&progress.state)).count() as u32,
        };
        let graph = graph.filter(|graph| graph.len() == run.plan().tasks.len() && !run.all_ended());
        Figures {
            total: counts.iter().sum(),
            counts,
            spent: costs::words(run.spent()),
            cap: run.options().limits.max_cost.map(|cap| cap.to_string()),
            busy,
            slots: run.options().tasks_at_once(),
            left: graph.map(|graph| time_left(run, graph, &pace(run), tick)).filter(is_some),
        }
    }

    pub(crate) fn count(&self, state: State) -> usize {
        self.counts[number(state)]
    }

    pub(crate) fn done(&self) -> usize {
        self.count(State::Landed) + self.count(State::Completed)
    }

    /// When it is over, if nothing but the longest chain takes time.
    pub(crate) fn over_at(&self, now: Timestamp) -> Option<Timestamp> {
        let Millis(left) = self.left?.time?;
        Some(Timestamp(now.0.saturating_add(left as i64)))
    }
}

fn is_some(left: &TimeLeft) -> bool {
    left.tasks > 0
}

fn number(state: State) -> usize {
    State::ALL.iter().position(|one| *one == state).unwrap_or(0)
}

fn is_at_work(state: &TaskState) -> bool {
    matches!(state, TaskState::Running(running) if !running.ended)
}

fn pace(run: &Run) -> Pace {
    let mut pace = Pace::default();
    for (task, progress) in run.tasks().filter(|(_, progress)| progress.state == TaskState::Completed) {
        pace.learn(task, progress.worked);
    }
    pace
}

/// What the run as a whole is doing, and how that looks.
pub(crate) fn stage(run: &Run, is_live: bool) -> (State, &'static str) {
    use conductor_core::run::event::RunOutcome;
    match run.stage() {
        Stage::Finished(RunOutcome::Completed) => (State::Landed, "completed"),
        Stage::Finished(RunOutcome::Failed) => (State::Failed, "failed"),
        Stage::Finished(RunOutcome::Cancelled) => (State::Cancelled, "cancelled"),
        Stage::Stopped(_) => (State::Waiting, "stopped"),
        Stage::Created => (State::Pending, "created"),
        _ if !is_live => (State::NeedsYou, "left"),
        Stage::Active if run.is_paused() => (State::Waiting, "paused"),
        Stage::Active => (State::Running, "running"),
        Stage::Draining(_) => (State::Waiting, "finishing"),
    }
}

/// Money and tokens of an attempt or a task.
pub(crate) fn usage_words(usage: Usage) -> String {
    match (usage.tokens, usage.cost.0) {
        (0, 0) => "no model used".to_owned(),
        (tokens, _) => format!("{}, {tokens} tokens", costs::words(usage)),
    }
}
