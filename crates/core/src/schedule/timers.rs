//! Deadlines: at most one for each task, and one for the run, each with a warning ahead of it if that is wanted.

use std::collections::{BTreeSet, HashMap};

use crate::plan::graph::Node;
use crate::values::units::Tick;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Due {
    Run,
    /// One that was parked may be open again.
    Providers,
    Task(Node),
    /// Most of the time until a deadline has passed.
    RunNear,
    TaskNear(Node),
}

#[derive(Debug, Default)]
pub(super) struct Timers {
    by_time: BTreeSet<(Tick, Node)>,
    armed: HashMap<Node, Tick>,
    run: Option<Tick>,
    run_near: Option<Tick>,
    /// Where what is armed is a warning: the deadline itself.
    behind: HashMap<Node, Tick>,
    providers: Option<Tick>,
}

impl Timers {
    /// Replaces the task's deadline if it has one.
    pub(super) fn arm(&mut self, task: Node, at: Tick) {
        self.disarm(task);
        self.armed.insert(task, at);
        self.by_time.insert((at, task));
    }

    /// As `arm`, with a warning before it.
    pub(super) fn arm_warned(&mut self, task: Node, near: Tick, at: Tick) {
        self.arm(task, near);
        self.behind.insert(task, at);
    }

    pub(super) fn disarm(&mut self, task: Node) {
        self.behind.remove(&task);
        if let Some(at) = self.armed.remove(&task) {
            self.by_time.remove(&(at, task));
        }
    }

    /// When a task's deadline is, if it has one.
    pub(super) fn of(&self, task: Node) -> Option<Tick> {
        self.behind.get(&task).or_else(|| self.armed.get(&task)).copied()
    }

    pub(super) fn arm_run(&mut self, near: Option<Tick>, at: Option<Tick>) {
        (self.run_near, self.run) = (near, at);
    }

    pub(super) fn arm_providers(&mut self, at: Option<Tick>) {
        self.providers = at;
    }

    /// All deadlines of tasks, which are no longer armed.
    pub(super) fn take_tasks(&mut self) -> HashMap<Node, Tick> {
        self.by_time.clear();
        let mut all = std::mem::take(&mut self.armed);
        all.extend(self.behind.drain());
        all
    }

    pub(super) fn next(&self) -> Option<Tick> {
        let task = self.by_time.first().map(|&(at, _)| at);
        task.into_iter().chain(self.run).chain(self.run_near).chain(self.providers).min()
    }

    pub(super) fn pop_due(&mut self, now: Tick) -> Option<Due> {
        if self.run_near.is_some_and(|at| at <= now) {
            self.run_near = None;
            return Some(Due::RunNear);
        }
        if self.run.is_some_and(|at| at <= now) {
            self.run = None;
            return Some(Due::Run);
        }
        if self.providers.is_some_and(|at| at <= now) {
            self.providers = None;
            return Some(Due::Providers);
        }
        let &(at, task) = self.by_time.first()?;
        (at <= now).then(|| match self.behind.remove(&task) {
            Some(deadline) => {
                self.arm(task, deadline);
                Due::TaskNear(task)
            }
            None => {
                self.disarm(task);
                Due::Task(task)
            }
        })
    }
}
