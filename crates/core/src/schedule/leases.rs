//! Attempts that are carried out by a worker in another process.
//!
//! Each is held by a *lease*, which its worker renews as long as it lives. A worker that is known to be gone, or that has
//! not been heard of for as long as a lease holds, has lost its attempts: they are reclaimed, count as interrupted, and
//! their tasks are started again. What such a worker reports later is of an attempt that is over, and changes nothing. What
//! the coordinator's own process carries out needs no lease.

use std::collections::{BTreeSet, HashMap};

use super::{Action, Scheduler};
use crate::plan::graph::Node;
use crate::run::TaskState;
use crate::run::event::Event;
use crate::values::ids::{Attempt, TaskId, WorkerId};
use crate::values::units::{Millis, Now, Tick};

/// How long an attempt is taken to be carried out after its worker was last heard of.
pub const LEASE: Millis = Millis::from_secs(30);

#[derive(Debug, Default)]
pub(super) struct Leases {
    until: HashMap<Node, Tick>,
    by_time: BTreeSet<(Tick, Node)>,
}

impl Leases {
    fn hold(&mut self, node: Node, until: Tick) {
        self.drop(node);
        self.until.insert(node, until);
        self.by_time.insert((until, node));
    }

    pub(super) fn drop(&mut self, node: Node) {
        if let Some(until) = self.until.remove(&node) {
            self.by_time.remove(&(until, node));
        }
    }

    pub(super) fn next(&self) -> Option<Tick> {
        self.by_time.first().map(|&(until, _)| until)
    }

    fn pop_due(&mut self, now: Tick) -> Option<Node> {
        let &(_, node) = self.by_time.first().filter(|&&(until, _)| until <= now)?;
        self.drop(node);
        Some(node)
    }
}

impl Scheduler {
    /// The first time this says which worker has the attempt; from then on only that one renews it.
    pub(super) fn on_lease_renewed(&mut self, now: Now, task: TaskId, attempt: Attempt, worker: WorkerId) {
        let Some((place, running)) = self.current(&task, attempt) else { return };
        match &running.worker {
            Some(holder) if *holder != worker || running.lost => return,
            Some(_) => {}
            None => self.emit(now, Event::AttemptLeased { task, attempt, worker }),
        }
        let lease = self.run.options().lease.unwrap_or(LEASE);
        self.leases.hold(place as Node, now.tick + lease);
    }

    pub(super) fn on_worker_lost(&mut self, now: Now, worker: &WorkerId) {
        for place in self.running() {
            let is_its = match &self.run.progress(place).state {
                TaskState::Running(running) => {
                    !running.ended && !running.lost && running.worker.as_ref() == Some(worker)
                }
                _ => false,
            };
            if is_its {
                self.end_lease(now, place);
            }
        }
    }

    pub(super) fn end_leases(&mut self, now: Now) {
        while let Some(node) = self.leases.pop_due(now.tick) {
            self.end_lease(now, node as usize);
        }
    }

    /// The attempt is still to end: what is left of it is taken from its worker, as far as that can be reached.
    fn end_lease(&mut self, now: Now, place: usize) {
        self.leases.drop(place as Node);
        let TaskState::Running(running) = &self.run.progress(place).state else { return };
        let (attempt, Some(worker)) = (running.attempt, running.worker.clone()) else { return };
        let task = self.run.plan().tasks[place].id.clone();
        self.emit(now, Event::LeaseLost { task: task.clone(), attempt, worker: worker.clone() });
        self.act(Action::Reclaim { task, attempt, worker });
    }
}
