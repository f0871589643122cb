//! Deadlines: at most one for each task, and one for the run.

use std::collections::{BTreeSet, HashMap};

use crate::graph::Node;
use crate::units::Tick;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Due {
    Run,
    /// One that was parked may be open again.
    Providers,
    Task(Node),
}

#[derive(Debug, Default)]
pub(super) struct Timers {
    by_time: BTreeSet<(Tick, Node)>,
    armed: HashMap<Node, Tick>,
    run: Option<Tick>,
    providers: Option<Tick>,
}

impl Timers {
    /// Replaces the task's deadline if it has one.
    pub(super) fn arm(&mut self, task: Node, at: Tick) {
        self.disarm(task);
        self.armed.insert(task, at);
        self.by_time.insert((at, task));
    }

    pub(super) fn disarm(&mut self, task: Node) {
        if let Some(at) = self.armed.remove(&task) {
            self.by_time.remove(&(at, task));
        }
    }

    /// When a task's deadline is, if it has one.
    pub(super) fn of(&self, task: Node) -> Option<Tick> {
        self.armed.get(&task).copied()
    }

    pub(super) fn arm_run(&mut self, at: Option<Tick>) {
        self.run = at;
    }

    pub(super) fn arm_providers(&mut self, at: Option<Tick>) {
        self.providers = at;
    }

    /// All deadlines of tasks, which are no longer armed.
    pub(super) fn take_tasks(&mut self) -> HashMap<Node, Tick> {
        self.by_time.clear();
        std::mem::take(&mut self.armed)
    }

    pub(super) fn next(&self) -> Option<Tick> {
        let task = self.by_time.first().map(|&(at, _)| at);
        task.into_iter().chain(self.run).chain(self.providers).min()
    }

    pub(super) fn pop_due(&mut self, now: Tick) -> Option<Due> {
        if self.run.is_some_and(|at| at <= now) {
            self.run = None;
            return Some(Due::Run);
        }
        if self.providers.is_some_and(|at| at <= now) {
            self.providers = None;
            return Some(Due::Providers);
        }
        let &(at, task) = self.by_time.first()?;
        (at <= now).then(|| {
            self.disarm(task);
            Due::Task(task)
        })
    }
}
