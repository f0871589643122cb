//! Epics that land as one: whether their tasks can be ordered at all.
//!
//! What waits for one of their tasks waits for the whole epic. Two such epics that need something of each other, or an epic
//! and a task between two of its own, would wait for ever, although no tasks are in a circle.

use std::collections::HashMap;

use super::{Draft, Edge, GraphError, Node};
use crate::plan::{Kind, Plan, When};

impl Draft {
    /// Each shared epic gets a node for its landing: it waits for all its tasks, and tasks outside wait for
    /// it instead of them. What is left when all free nodes have been taken away is the knot.
    pub(super) fn check_shared_epics(&self, plan: &Plan) -> Result<(), GraphError> {
        let shared = plan.shared_epics();
        if shared.is_empty() {
            return Ok(());
        }
        let landings: HashMap<&str, usize> =
            shared.iter().enumerate().map(|(at, epic)| (*epic, self.nodes + at)).collect();
        let landing = |node: Node| {
            let epic = plan.tasks.get(node as usize).and_then(|task| task.epic.as_deref());
            epic.and_then(|epic| landings.get(epic).copied())
        };
        let waits = self.edges.iter().map(|(from, edge)| {
            let outside = landing(*from) != landing(edge.to) && waits_for_landing(edge);
            let from = landing(*from).filter(|_| outside).unwrap_or(*from as usize);
            (from, edge.to as usize)
        });
        let members = (0..plan.tasks.len()).filter_map(|task| Some((task, landing(task as Node)?)));
        let left = knotted(self.nodes + shared.len(), waits.chain(members));
        let knot = shared.iter().enumerate().filter(|(at, _)| left[self.nodes + at]);
        let names: Vec<String> = knot.map(|(_, epic)| (*epic).to_owned()).collect();
        match names.is_empty() {
            true => Ok(()),
            false => Err(GraphError::SharedEpics(names)),
        }
    }
}

/// What only orders lets go as soon as the task itself is over.
fn waits_for_landing(edge: &Edge) -> bool {
    edge.kind == Kind::Hard && edge.when == When::Landed
}

/// Which nodes are in a circle or behind one.
fn knotted(nodes: usize, edges: impl Iterator<Item = (usize, usize)>) -> Vec<bool> {
    let mut after = vec![Vec::new(); nodes];
    let mut waiting = vec![0u32; nodes];
    for (from, to) in edges {
        after[from].push(to);
        waiting[to] += 1;
    }
    let mut free: Vec<usize> = (0..nodes).filter(|&node| waiting[node] == 0).collect();
    while let Some(node) = free.pop() {
        for &next in &after[node] {
            waiting[next] -= 1;
            if waiting[next] == 0 {
                free.push(next);
            }
        }
    }
    waiting.into_iter().map(|left| left > 0).collect()
}
