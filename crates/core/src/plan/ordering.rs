//! Orders for plans that say little or nothing of their own: groups of tasks, one after the other.
//!
//! Whatever the strategy, a task comes after everything it waits for, no two tasks of a group touch the same files, and
//! the same plan always gives the same groups. Dependencies and epics count; an `execution_order` does not, for that is
//! what is made here.

mod colouring;
mod weight;

use std::collections::BTreeSet;
use std::fmt;

use crate::plan::Plan;
use crate::plan::graph::{Graph, GraphError, Node, Strategy as Following};

pub use weight::{Level, Weight};

/// What comes first, where dependencies leave a choice.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Strategy {
    /// Everything as soon as what it waits for is done, in the order of the file.
    Topological,
    /// What can go wrong badly, so that it does so early.
    RiskFirst,
    /// What others build on.
    FoundationalFirst,
    /// What has the longest way behind it, and with it whatever fits, in as few groups as that gives.
    ParallelMaximising,
}

impl Strategy {
    pub const ALL: [Strategy; 4] = [
        Strategy::Topological,
        Strategy::RiskFirst,
        Strategy::FoundationalFirst,
        Strategy::ParallelMaximising,
    ];

    pub fn name(self) -> &'static str {
        match self {
            Strategy::Topological => "topological",
            Strategy::RiskFirst => "risk-first",
            Strategy::FoundationalFirst => "foundational-first",
            Strategy::ParallelMaximising => "parallel-maximising",
        }
    }
}

impl fmt::Display for Strategy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// Groups in their order, each with its tasks in the order of the plan.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ordering {
    pub groups: Vec<Vec<Node>>,
    /// Why each task of the plan is where it is; nothing where the strategy weighs nothing.
    pub weights: Vec<Weight>,
}

/// Groups of at most `most` tasks, where that is given.
pub fn order(plan: &Plan, strategy: Strategy, most: Option<usize>) -> Result<Ordering, GraphError> {
    let plan = &Plan { execution_order: Vec::new(), ..plan.clone() };
    let graph = Graph::new(plan, Following::Queue)?;
    let files = colouring::Files::of(plan);
    let weights = match strategy {
        Strategy::RiskFirst => weight::risks(plan),
        Strategy::FoundationalFirst => weight::foundations(plan, &graph, &files),
        Strategy::Topological | Strategy::ParallelMaximising => Vec::new(),
    };
    let urgency = urgencies(plan, &graph, strategy, &weights);
    let most = most.unwrap_or(usize::MAX).max(1);
    let mut course = Course::new(&graph);
    let mut groups = Vec::new();
    while !course.ready.is_empty() {
        let next = course.most_urgent(strategy, &urgency);
        let mut coloured = files.coloured(&next, most);
        if strategy == Strategy::ParallelMaximising {
            // What is set free by the first of them may fill the second.
            coloured.truncate(1);
        }
        for mut group in coloured {
            group.iter().for_each(|&task| course.done(&graph, task));
            group.sort_unstable();
            groups.push(group);
        }
    }
    Ok(Ordering { groups, weights })
}

/// How much each node presses: as much as itself, or as whatever waits for it.
fn urgencies(plan: &Plan, graph: &Graph, strategy: Strategy, weights: &[Weight]) -> Vec<u64> {
    match strategy {
        Strategy::Topological => Vec::new(),
        Strategy::ParallelMaximising => {
            let left = graph.remaining(|task| plan.tasks[task as usize].expected());
            left.into_iter().map(|left| left.0).collect()
        }
        Strategy::RiskFirst | Strategy::FoundationalFirst => {
            let mut urgency = vec![0; graph.nodes()];
            for &node in graph.order().iter().rev() {
                let own = weights.get(node as usize).map_or(0, |weight| weight.level() as u64);
                let behind = graph.dependents(node).iter().map(|edge| urgency[edge.to as usize]).max();
                urgency[node as usize] = own.max(behind.unwrap_or_default());
            }
            urgency
        }
    }
}

/// The graph while it is walked: who is free to go.
struct Course {
    blockers: Vec<u32>,
    ready: BTreeSet<Node>,
}

impl Course {
    fn new(graph: &Graph) -> Course {
        let nodes = 0..graph.nodes() as Node;
        let blockers = nodes.clone().map(|node| graph.blocker_count(node)).collect();
        let mut course = Course { blockers, ready: BTreeSet::new() };
        for node in nodes.filter(|&node| graph.blocker_count(node) == 0) {
            course.free(graph, node);
        }
        course
    }

    fn done(&mut self, graph: &Graph, task: Node) {
        self.ready.remove(&task);
        self.pass(graph, task);
    }

    /// A task becomes ready; a gate lets the tasks behind it become ready.
    fn free(&mut self, graph: &Graph, node: Node) {
        match graph.is_gate(node) {
            true => self.pass(graph, node),
            false => self.join(graph, node),
        }
    }

    /// An entrant of a race runs with its task, and no task waits for it.
    fn join(&mut self, graph: &Graph, task: Node) {
        if !graph.is_entrant(task) {
            self.ready.insert(task);
        }
    }

    fn pass(&mut self, graph: &Graph, node: Node) {
        let mut open = vec![node];
        while let Some(node) = open.pop() {
            for edge in graph.dependents(node) {
                let left = &mut self.blockers[edge.to as usize];
                *left -= 1;
                match (*left, graph.is_gate(edge.to)) {
                    (0, true) => open.push(edge.to),
                    (0, false) => self.join(graph, edge.to),
                    _ => {}
                }
            }
        }
    }

    /// The tasks that may come next, in the order in which they are considered.
    fn most_urgent(&self, strategy: Strategy, urgency: &[u64]) -> Vec<Node> {
        let mut ready: Vec<Node> = self.ready.iter().copied().collect();
        let of = |task: Node| urgency.get(task as usize).copied().unwrap_or_default();
        match strategy {
            Strategy::Topological => {}
            Strategy::ParallelMaximising => ready.sort_by_key(|&task| std::cmp::Reverse(of(task))),
            Strategy::RiskFirst | Strategy::FoundationalFirst => {
                let highest = ready.iter().map(|&task| of(task)).max();
                ready.retain(|&task| Some(of(task)) == highest);
            }
        }
        ready
    }
}

#[cfg(test)]
mod tests;
