//! What only a live run's coordinator can tell: phases, since when, and what waits for what.

use std::collections::HashMap;

use conductor_core::schedule::{AtWork, Phase, Wait};
use conductor_core::values::ids::TaskId;
use conductor_core::values::units::Millis;
use conductor_engine::dispatch::LiveView;

/// A live run as its coordinator told it last; empty where no coordinator drives it.
#[derive(Debug, Clone, Default)]
pub(crate) struct Live {
    view: Option<LiveView>,
    running: HashMap<TaskId, usize>,
    /// Since it was told.
    pub(crate) ago: Millis,
}

impl Live {
    pub(crate) fn of(view: LiveView) -> Live {
        let at_work = view.snapshot.running.iter().enumerate();
        let running = at_work.map(|(at, work)| (work.task.clone(), at)).collect();
        Live { view: Some(view), running, ago: Millis(0) }
    }

    pub(crate) fn view(&self) -> Option<&LiveView> {
        self.view.as_ref()
    }

    pub(crate) fn is_live(&self) -> bool {
        self.view.is_some()
    }

    pub(crate) fn at_work(&self, task: &TaskId) -> Option<&AtWork> {
        self.view.as_ref()?.snapshot.running.get(*self.running.get(task)?)
    }

    /// How long a task has been at work.
    pub(crate) fn since(&self, task: &TaskId) -> Option<Millis> {
        Some(self.at_work(task)?.since? + self.ago)
    }

    pub(crate) fn elapsed(&self) -> Option<Millis> {
        Some(self.view.as_ref()?.snapshot.elapsed + self.ago)
    }

    /// What a task waits for, as far as the coordinator has told it of its own accord.
    pub(crate) fn waits(&self, task: &TaskId) -> Option<&[Wait]> {
        let snapshot = &self.view.as_ref()?.snapshot;
        let all = snapshot.waiting.iter().chain(&snapshot.next);
        all.into_iter().find(|waiting| waiting.task == *task).map(|waiting| waiting.why.as_slice())
    }
}

pub(crate) fn phase_word(phase: Phase) -> &'static str {
    match phase {
        Phase::Preparing => "preparing",
        Phase::Working => "working",
        Phase::Verifying => "verifying",
        Phase::Stopping(_) => "stopping",
        Phase::Landing => "landing",
        Phase::Merging => "merging",
        Phase::Aboard => "epic",
        Phase::StandingBy => "standing by",
        Phase::Stacked => "stacked",
    }
}
