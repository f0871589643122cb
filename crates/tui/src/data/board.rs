//! A project without a run to look at: the tasks of its file, how far earlier runs have come with them, and those runs.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use conductor_core::plan::{Plan, Task};
use conductor_core::values::ids::TaskId;
use conductor_engine::runs::done::DoneTask;
use conductor_engine::stores::StoredRun;

use super::state::State;

/// The task file of the directory, read by the command line.
#[derive(Debug, Clone, Default)]
pub struct Project {
    pub file: Option<PathBuf>,
    pub plan: Option<Plan>,
    /// What is wrong with the file, or that there is none, and what to do.
    pub problem: Option<String>,
}

#[derive(Debug, Clone, Default)]
pub(crate) struct Board {
    pub(crate) project: Project,
    pub(crate) done: BTreeMap<TaskId, DoneTask>,
    pub(crate) runs: Vec<StoredRun>,
    /// Which of the runs a coordinator drives.
    pub(crate) live: BTreeSet<String>,
    pub(crate) marked: BTreeSet<TaskId>,
    pub(crate) task: usize,
    pub(crate) run: usize,
    /// Whether the runs are what keys are about, rather than the tasks.
    pub(crate) in_runs: bool,
}

impl Board {
    pub(crate) fn tasks(&self) -> &[Task] {
        self.project.plan.as_ref().map_or(&[], |plan| plan.tasks.as_slice())
    }

    /// Whether a run has done it, it could begin, or what it still needs.
    pub(crate) fn stand(&self, task: &Task) -> (State, String) {
        if let Some(done) = self.done.get(&task.id) {
            return (State::Landed, format!("by run {}", done.run));
        }
        let open: Vec<&str> = task
            .dependencies
            .iter()
            .filter(|on| !self.done.contains_key(&on.id))
            .map(|on| on.id.as_str())
            .collect();
        match open.as_slice() {
            [] => (State::Pending, "ready".to_owned()),
            open => (State::Waiting, format!("after {}", open.join(", "))),
        }
    }

    pub(crate) fn move_by(&mut self, by: isize) {
        let (at, count) = match self.in_runs {
            true => (&mut self.run, self.runs.len()),
            false => (&mut self.task, self.project.plan.as_ref().map_or(0, |plan| plan.tasks.len())),
        };
        *at = at.saturating_add_signed(by).min(count.saturating_sub(1));
    }

    pub(crate) fn mark(&mut self) {
        let Some(task) = self.tasks().get(self.task).map(|task| task.id.clone()) else { return };
        if !self.marked.remove(&task) {
            self.marked.insert(task);
        }
        self.move_by(1);
    }

    pub(crate) fn is_live(&self, run: &StoredRun) -> bool {
        self.live.contains(run.id.as_str())
    }
}
