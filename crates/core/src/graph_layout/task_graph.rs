//! What could be drawn: the tasks of a plan, and what waits for what.

use std::collections::HashMap;

use crate::plan::Plan;
use crate::plan::graph::{Graph, Node};
use crate::values::ids::TaskId;
use crate::values::units::Millis;

use super::State;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GraphTask {
    pub id: TaskId,
    /// The number of its epic or group.
    pub group: Option<u32>,
    pub state: State,
    pub expected: Millis,
}

/// Tasks in the order of the plan, by number; behind them the *gates*, which stand where many wait for many.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct TaskGraph {
    pub tasks: Vec<GraphTask>,
    pub groups: Vec<String>,
    pub gates: usize,
    /// What comes before, and what waits for it.
    pub edges: Vec<(u32, u32)>,
    /// The tasks and gates of the critical path, in order.
    pub critical: Vec<u32>,
}

impl TaskGraph {
    /// Those that race for a task are not shown beside it. The state of a task is asked for by its place in the plan.
    pub fn of(plan: &Plan, graph: &Graph, state: impl Fn(usize) -> State) -> TaskGraph {
        let mut groups = Groups::default();
        let mut numbers = vec![None; graph.nodes()];
        let mut tasks = Vec::new();
        for (place, task) in plan.tasks.iter().enumerate().filter(|(_, task)| !task.is_entrant()) {
            numbers[place] = Some(tasks.len() as u32);
            let group = task.epic.as_deref().or(task.group.as_deref()).map(|name| groups.number(name));
            let (state, expected) = (state(place), task.expected());
            tasks.push(GraphTask { id: task.id.clone(), group, state, expected });
        }
        for (gate, number) in numbers[graph.len()..].iter_mut().enumerate() {
            *number = Some((tasks.len() + gate) as u32);
        }
        let number = |node: Node| numbers[node as usize];
        let edges = (0..graph.nodes() as Node)
            .flat_map(|from| graph.dependents(from).iter().map(move |edge| (from, edge.to)))
            .filter_map(|(from, to)| Some((number(from)?, number(to)?)));
        let walk = graph.critical_walk(|task| plan.tasks[task as usize].expected());
        TaskGraph {
            edges: edges.collect(),
            critical: walk.into_iter().filter_map(number).collect(),
            gates: graph.nodes() - graph.len(),
            groups: groups.names,
            tasks,
        }
    }

    /// Tasks and gates.
    pub fn nodes(&self) -> usize {
        self.tasks.len() + self.gates
    }

    pub fn is_gate(&self, node: u32) -> bool {
        node as usize >= self.tasks.len()
    }
}

#[derive(Default)]
struct Groups<'a> {
    names: Vec<String>,
    known: HashMap<&'a str, u32>,
}

impl<'a> Groups<'a> {
    fn number(&mut self, name: &'a str) -> u32 {
        *self.known.entry(name).or_insert_with(|| {
            self.names.push(name.to_owned());
            (self.names.len() - 1) as u32
        })
    }
}
