//! What a task's end means for the tasks behind it: one blocker fewer, or no point in running any more.

use super::Scheduler;
use super::epics::Through;
use crate::plan::graph::{Edge, Graph, Node};
use crate::plan::{Kind, When};
use crate::run::TaskState;
use crate::run::event::Event;
use crate::values::ids::TaskId;
use crate::values::units::Now;

/// How a node ended, as those behind it see it.
#[derive(Debug, Clone)]
enum End {
    Landed,
    /// It ran and failed.
    Failed(TaskId),
    /// It never came to run, because of this one.
    NeverRan(TaskId),
}

enum Passage {
    Open,
    Shut(TaskId),
}

impl End {
    fn through(&self, edge: &Edge) -> Passage {
        match (self, edge.kind, edge.when) {
            (End::Landed, _, _) | (_, Kind::Soft, _) | (End::Failed(_), Kind::Hard, When::Finished) => {
                Passage::Open
            }
            (End::Failed(culprit) | End::NeverRan(culprit), Kind::Hard, _) => Passage::Shut(culprit.clone()),
        }
    }
}

/// For every node, how many it still waits for; for every gate, whether it is behind us.
pub(super) struct Blockers {
    left: Vec<u32>,
    gate_passed: Vec<bool>,
}

impl Blockers {
    pub(super) fn none(graph: &Graph) -> Blockers {
        let left = (0..graph.nodes() as Node).map(|node| graph.blocker_count(node)).collect();
        Blockers { left, gate_passed: vec![false; graph.nodes() - graph.len()] }
    }

    pub(super) fn is_free(&self, node: Node) -> bool {
        self.left[node as usize] == 0
    }
}

impl Scheduler {
    pub(super) fn release_dependents(&mut self, now: Now, ended: Node, through: Through) {
        let Some(end) = self.end_of(ended) else { return };
        self.spread(now, vec![(ended, end, through)], true);
    }

    /// Lets those go on who need not wait for its landing.
    pub(super) fn release_early(&mut self, now: Now, aboard: Node) {
        self.spread(now, vec![(aboard, End::Landed, Through::Early)], true);
    }

    /// Counts every blocker anew from the ends the run knows, and skips what turns out to be pointless.
    pub(super) fn rebuild_blockers(&mut self, now: Now) {
        self.blockers = Blockers::none(&self.graph);
        self.rebuild_early();
        let ended: Vec<(Node, End, Through)> =
            (0..self.graph.len() as Node).filter_map(|node| self.reach_of(node)).collect();
        let free_gates: Vec<(Node, End, Through)> = (self.graph.len() as Node..self.graph.nodes() as Node)
            .filter(|&gate| self.blockers.is_free(gate))
            .map(|gate| (gate, End::Landed, Through::All))
            .collect();
        for (gate, _, _) in &free_gates {
            self.pass_gate(*gate);
        }
        self.spread(now, ended, false);
        self.spread(now, free_gates, false);
    }

    /// Follows ends along the edges. `open` says whether tasks that become free join the ready ones at once.
    fn spread(&mut self, now: Now, mut ends: Vec<(Node, End, Through)>, open: bool) {
        while let Some((node, end, through)) = ends.pop() {
            for at in 0..self.graph.dependents(node).len() {
                let edge = self.graph.dependents(node)[at];
                if self.goes(through, node, &edge)
                    && let Some(next) = self.pass(now, edge, &end, open)
                {
                    ends.push((edge.to, next, Through::All));
                }
            }
        }
    }

    /// How a task ended and for whom that counts; one that is aboard, or waits for a review, counts for those who need
    /// not wait.
    fn reach_of(&self, task: Node) -> Option<(Node, End, Through)> {
        let aboard = || {
            self.run.progress(task as usize).state.landing()?;
            self.epics.of(task as usize).map(|_| (End::Landed, Through::Early))
        };
        let unlanded = || self.is_unlanded(task).then_some((End::Landed, Through::Early));
        let ended = self.end_of(task).map(|end| (end, Through::All));
        let (end, through) = ended.or_else(aboard).or_else(unlanded)?;
        Some((task, end, through))
    }

    /// Lets one end through one edge; the end of the node behind it, if that ends by this. Every edge is passed once, so
    /// the count needs no look at the node; only where it comes to something is it asked whether it still cares.
    fn pass(&mut self, now: Now, edge: Edge, end: &End, open: bool) -> Option<End> {
        let gate = self.graph.is_gate(edge.to);
        match end.through(&edge) {
            Passage::Shut(_) if self.is_behind_us(edge.to) => None,
            Passage::Shut(culprit) => {
                match gate {
                    true => self.pass_gate(edge.to),
                    false => self.skip(now, edge.to, &culprit),
                }
                Some(End::NeverRan(culprit))
            }
            Passage::Open => {
                self.blockers.left[edge.to as usize] -= 1;
                if !self.blockers.is_free(edge.to) || self.is_behind_us(edge.to) {
                    return None;
                }
                if gate {
                    self.pass_gate(edge.to);
                } else if open {
                    self.enqueue(now, edge.to);
                }
                gate.then_some(End::Landed)
            }
        }
    }

    fn skip(&mut self, now: Now, node: Node, culprit: &TaskId) {
        // It may have been let go on by work that had not landed, and has no point now that this is gone.
        self.ready.remove(node);
        let task = self.graph.id(node).clone();
        self.emit(now, Event::TaskSkipped { task, culprit: Some(culprit.clone()) });
    }

    fn pass_gate(&mut self, gate: Node) {
        self.blockers.gate_passed[gate as usize - self.graph.len()] = true;
    }

    /// Tasks that have started or ended and passed gates no longer care who ends before them.
    fn is_behind_us(&self, node: Node) -> bool {
        match self.graph.is_gate(node) {
            true => self.blockers.gate_passed[node as usize - self.graph.len()],
            false => self.run.progress(node as usize).state != TaskState::Pending,
        }
    }

    fn end_of(&self, task: Node) -> Option<End> {
        let id = || self.graph.id(task).clone();
        match &self.run.progress(task as usize).state {
            TaskState::Completed => Some(End::Landed),
            TaskState::Failed(_) => Some(End::Failed(id())),
            TaskState::Skipped { culprit } => Some(End::NeverRan(culprit.clone().unwrap_or_else(id))),
            TaskState::Cancelled => Some(End::NeverRan(id())),
            TaskState::Pending
            | TaskState::Running(_)
            | TaskState::Racing
            | TaskState::Waiting { .. }
            | TaskState::Asking { .. }
            | TaskState::InReview { .. } => None,
        }
    }
}
