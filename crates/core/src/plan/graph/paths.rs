//! Levels, the critical path, and what lies before and behind a task.

use super::{Graph, Node};
use crate::values::units::Millis;

/// The chain of tasks that no number of workers can shorten.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CriticalPath {
    pub tasks: Vec<Node>,
    pub length: Millis,
}

impl Graph {
    /// The tasks in batches: each holds what can start once the batches before it are done.
    pub fn batches(&self) -> Vec<Vec<Node>> {
        let levels = super::levels(&self.order, self.len(), &self.edges);
        let mut batches: Vec<Vec<Node>> = Vec::new();
        for (task, &level) in levels[..self.len()].iter().enumerate() {
            if self.is_entrant(task as Node) {
                continue;
            }
            let level = level as usize;
            if batches.len() <= level {
                batches.resize_with(level + 1, Vec::new);
            }
            batches[level].push(task as Node);
        }
        batches
    }

    /// For every node, how long the work from its start to the end of the graph takes at best.
    pub fn remaining(&self, length: impl Fn(Node) -> Millis) -> Vec<Millis> {
        let mut remaining = vec![Millis(0); self.nodes()];
        for &node in self.order.iter().rev() {
            let behind = self.dependents(node).iter().map(|edge| remaining[edge.to as usize]).max();
            let own = if self.is_gate(node) { Millis(0) } else { length(node) };
            remaining[node as usize] = own + behind.unwrap_or_default();
        }
        remaining
    }

    pub fn critical_path(&self, length: impl Fn(Node) -> Millis) -> CriticalPath {
        let (nodes, length) = self.longest_walk(length);
        CriticalPath { tasks: nodes.into_iter().filter(|&node| !self.is_gate(node)).collect(), length }
    }

    /// The critical path with the gates on it.
    pub fn critical_walk(&self, length: impl Fn(Node) -> Millis) -> Vec<Node> {
        self.longest_walk(length).0
    }

    fn longest_walk(&self, length: impl Fn(Node) -> Millis) -> (Vec<Node>, Millis) {
        let remaining = self.remaining(length);
        let longest = |nodes: &mut dyn Iterator<Item = Node>| {
            nodes.max_by_key(|&n| (remaining[n as usize], std::cmp::Reverse(n)))
        };
        let mut at = longest(&mut (0..self.nodes() as Node));
        let total = at.map(|node| remaining[node as usize]).unwrap_or_default();
        let mut walk = Vec::new();
        while let Some(node) = at {
            walk.push(node);
            at = longest(&mut self.dependents(node).iter().map(|edge| edge.to));
        }
        (walk, total)
    }

    /// Every task that waits for this one, directly or not, by number.
    pub fn all_dependents(&self, task: Node) -> Vec<Node> {
        let mut seen = vec![false; self.nodes()];
        let mut open = vec![task];
        while let Some(node) = open.pop() {
            for edge in self.dependents(node) {
                if !std::mem::replace(&mut seen[edge.to as usize], true) {
                    open.push(edge.to);
                }
            }
        }
        (0..self.len() as Node).filter(|&node| seen[node as usize]).collect()
    }

    /// Every task that this one waits for, directly or not, by number.
    pub fn all_dependencies(&self, task: Node) -> Vec<Node> {
        let direct = self.dependencies();
        let mut seen = vec![false; self.len()];
        let mut open = direct[task as usize].clone();
        while let Some(node) = open.pop() {
            if !std::mem::replace(&mut seen[node as usize], true) {
                open.extend(&direct[node as usize]);
            }
        }
        (0..self.len() as Node).filter(|&node| seen[node as usize]).collect()
    }
}
