//! The graph of a plan: who waits for whom, and why.
//!
//! Tasks are numbered by their place in the plan. Where many wait for many (epics, steps of an `execution_order`,
//! batches) a *gate* stands between them, so that the number of edges stays linear. Nothing here recurses: a chain of
//! 100,000 tasks must not end the stack.

mod export;
mod paths;
mod shared;

use std::collections::{BTreeMap, HashMap, HashSet};

use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::plan::{Kind, Plan, When};
use crate::values::ids::{Places, TaskId};

pub use export::Format;
pub use paths::CriticalPath;

/// A task by its place in the plan, or a gate behind the last of them.
pub type Node = u32;

/// How the tasks of one plan follow each other beyond their dependencies.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Strategy {
    /// A task starts the moment its own dependencies are done.
    #[default]
    Queue,
    /// A level starts when the whole level before it has ended.
    Batch,
    /// One after the other, in file order as far as dependencies allow.
    Sequential,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Edge {
    pub to: Node,
    pub when: When,
    pub kind: Kind,
}

#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum GraphError {
    /// The tasks in order: each waits for the one before it, the first for the last.
    #[error("{} tasks wait for each other in a circle", .0.len())]
    Cycle(Vec<Node>),
    #[error(
        "epic {} cannot land as one: others wait for some of its tasks, and some of its tasks for those; \
         give it isolation_scope: task",
        .0.join(", ")
    )]
    SharedEpics(Vec<String>),
    #[error("task {task} depends on '{on}', which does not exist")]
    UnknownDependency { task: Node, on: TaskId },
}

#[derive(Debug, Clone)]
pub struct Graph {
    ids: Vec<TaskId>,
    edges: Adjacency,
    /// All nodes, dependencies first, ties by number.
    order: Vec<Node>,
    /// Those who race for a task: they wait as it does, and are not shown beside it.
    entrants: HashSet<Node>,
}

impl Graph {
    pub fn new(plan: &Plan, strategy: Strategy) -> Result<Graph, GraphError> {
        let places = plan.tasks.iter().enumerate().map(|(place, task)| (task.id.clone(), place as Node));
        Graph::with_places(plan, strategy, &places.collect())
    }

    /// As `new`, for a caller that knows already where each task stands.
    pub(crate) fn with_places(
        plan: &Plan,
        strategy: Strategy,
        places: &Places<Node>,
    ) -> Result<Graph, GraphError> {
        let mut draft = Draft::of(plan, places)?;
        draft.epics(plan);
        draft.execution_order(plan, places);
        draft.stages(plan, places);
        if strategy == Strategy::Queue {
            draft.entrants(plan, places);
        }
        let (adjacency, order) = draft.sorted()?;
        draft.check_shared_epics(plan)?;
        match strategy {
            Strategy::Queue => return Ok(draft.finished(adjacency, order)),
            Strategy::Batch => draft.barriers(&adjacency, &order),
            Strategy::Sequential => draft.line(&order),
        }
        draft.entrants(plan, places);
        let (adjacency, order) = draft.sorted()?;
        draft.check_shared_epics(plan)?;
        Ok(draft.finished(adjacency, order))
    }

    /// How many tasks, gates not counted.
    pub fn len(&self) -> usize {
        self.ids.len()
    }

    pub fn is_empty(&self) -> bool {
        self.ids.is_empty()
    }

    /// Tasks and gates.
    pub fn nodes(&self) -> usize {
        self.edges.blockers.len()
    }

    pub fn is_gate(&self, node: Node) -> bool {
        node as usize >= self.ids.len()
    }

    pub fn id(&self, task: Node) -> &TaskId {
        &self.ids[task as usize]
    }

    pub fn dependents(&self, node: Node) -> &[Edge] {
        self.edges.dependents(node)
    }

    pub fn blocker_count(&self, node: Node) -> u32 {
        self.edges.blockers[node as usize]
    }

    /// Every node, dependencies before dependents.
    pub fn order(&self) -> &[Node] {
        &self.order
    }

    pub fn is_entrant(&self, task: Node) -> bool {
        self.entrants.contains(&task)
    }

    /// The tasks that each task waits for, looked at through gates; nothing for those who race for one.
    pub fn dependencies(&self) -> Vec<Vec<Node>> {
        let direct = self.reversed();
        let of = |task: Node| match self.is_entrant(task) {
            true => Vec::new(),
            false => self.through_gates(&direct, task),
        };
        (0..self.len() as Node).map(of).collect()
    }

    /// The tasks that one task waits for, looked at through gates.
    pub fn dependencies_of(&self, task: Node) -> Vec<Node> {
        self.through_gates(&self.reversed(), task)
    }

    fn reversed(&self) -> Vec<Vec<Node>> {
        let mut direct: Vec<Vec<Node>> = vec![Vec::new(); self.nodes()];
        for from in 0..self.nodes() as Node {
            for edge in self.dependents(from) {
                direct[edge.to as usize].push(from);
            }
        }
        direct
    }

    fn through_gates(&self, direct: &[Vec<Node>], task: Node) -> Vec<Node> {
        let mut found = Vec::new();
        let mut seen = HashSet::new();
        let mut open = direct[task as usize].clone();
        while let Some(node) = open.pop() {
            if !seen.insert(node) {
                continue;
            }
            match self.is_gate(node) {
                true => open.extend(&direct[node as usize]),
                false => found.push(node),
            }
        }
        found.sort_unstable();
        found
    }
}

/// A graph in the making: edges as a list, cheap to add to and to take from.
struct Draft {
    ids: Vec<TaskId>,
    nodes: usize,
    edges: Vec<(Node, Edge)>,
    entrants: HashSet<Node>,
}

const HARD: (When, Kind) = (When::Landed, Kind::Hard);
const ORDER_ONLY: (When, Kind) = (When::Finished, Kind::Soft);

impl Draft {
    fn of(plan: &Plan, place: &Places<Node>) -> Result<Draft, GraphError> {
        let mut edges = Vec::new();
        for (to, task) in plan.tasks.iter().enumerate().filter(|(_, task)| !task.is_entrant()) {
            for dependency in &task.dependencies {
                let from = *place.get(&dependency.id).ok_or_else(|| GraphError::UnknownDependency {
                    task: to as Node,
                    on: dependency.id.clone(),
                })?;
                edges.push((from, Edge { to: to as Node, when: dependency.when, kind: dependency.kind }));
            }
        }
        let ids = plan.tasks.iter().map(|task| task.id.clone()).collect::<Vec<_>>();
        let entrants = (0..).zip(&plan.tasks).filter(|(_, task)| task.is_entrant()).map(|(node, _)| node);
        Ok(Draft { nodes: ids.len(), ids, edges, entrants: entrants.collect() })
    }

    fn gate(&mut self) -> Node {
        self.nodes += 1;
        (self.nodes - 1) as Node
    }

    fn edge(&mut self, from: Node, to: Node, (when, kind): (When, Kind)) {
        self.edges.push((from, Edge { to, when, kind }));
    }

    /// One gate per epic that others wait for.
    fn epics(&mut self, plan: &Plan) {
        let mut members: BTreeMap<&str, Vec<Node>> = BTreeMap::new();
        for (node, task) in plan.tasks.iter().enumerate().filter(|(_, task)| !task.is_entrant()) {
            if let Some(epic) = &task.epic {
                members.entry(epic).or_default().push(node as Node);
            }
        }
        let mut entrances: HashMap<&str, Node> = HashMap::new();
        let mut exits: HashMap<&str, Node> = HashMap::new();
        for epic in &plan.epics {
            let (entrance, exit) = (self.gate(), self.gate());
            entrances.insert(&epic.id, entrance);
            exits.insert(&epic.id, exit);
            self.edge(entrance, exit, HARD);
            for &task in members.get(epic.id.as_str()).into_iter().flatten() {
                self.edge(entrance, task, HARD);
                self.edge(task, exit, HARD);
            }
        }
        for epic in &plan.epics {
            for before in &epic.dependencies {
                if let (Some(&exit), Some(&entrance)) =
                    (exits.get(before.as_str()), entrances.get(epic.id.as_str()))
                {
                    self.edge(exit, entrance, HARD);
                }
            }
        }
    }

    fn execution_order(&mut self, plan: &Plan, place: &Places<Node>) {
        if plan.execution_order.is_empty() {
            return;
        }
        let steps: Vec<Vec<Node>> = plan
            .execution_order
            .iter()
            .map(|step| step.iter().filter_map(|id| place.get(id).copied()).collect())
            .collect();
        let named: HashSet<Node> = steps.iter().flatten().copied().collect();
        self.edges.retain(|(from, edge)| !(named.contains(from) && named.contains(&edge.to)));
        for pair in steps.windows(2) {
            self.join(&pair[0], &pair[1], HARD);
        }
    }

    /// A stage begins when the one before it has landed, tests and all; within one, our own steps come first and last,
    /// whatever becomes of them or of the tasks.
    fn stages(&mut self, plan: &Plan, place: &Places<Node>) {
        let Some(execution) = &plan.execution else { return };
        let mut before: Option<Vec<Node>> = None;
        for stage in &execution.stages {
            let tasks: Vec<Node> = stage.tasks.iter().filter_map(|id| place.get(id).copied()).collect();
            let step = |id: &Option<TaskId>| -> Vec<Node> {
                id.iter().filter_map(|id| place.get(id).copied()).collect()
            };
            let (refresh, tests) = (step(&stage.refresh), step(&stage.tests));
            self.join(&refresh, &tasks, ORDER_ONLY);
            self.join(&tasks, &tests, ORDER_ONLY);
            if let Some(before) = before {
                self.join(&before, &[&refresh[..], &tasks, &tests].concat(), HARD);
            }
            before = Some([tasks, tests].concat());
        }
    }

    /// Every node in `after` waits for every node in `before`.
    fn join(&mut self, before: &[Node], after: &[Node], how: (When, Kind)) {
        if before.len() <= 1 || after.len() <= 1 {
            for &from in before {
                for &to in after {
                    self.edge(from, to, how);
                }
            }
            return;
        }
        let gate = self.gate();
        for &from in before {
            self.edge(from, gate, how);
        }
        for &to in after {
            self.edge(gate, to, how);
        }
    }

    fn barriers(&mut self, adjacency: &Adjacency, order: &[Node]) {
        let levels = levels(order, self.ids.len(), adjacency);
        let mut batches: BTreeMap<u32, Vec<Node>> = BTreeMap::new();
        let entrants = self.entrants.clone();
        let asked = |(task, _): &(usize, &u32)| !entrants.contains(&(*task as Node));
        for (task, &level) in levels[..self.ids.len()].iter().enumerate().filter(asked) {
            batches.entry(level).or_default().push(task as Node);
        }
        let batches: Vec<Vec<Node>> = batches.into_values().collect();
        for pair in batches.windows(2) {
            self.join(&pair[0], &pair[1], ORDER_ONLY);
        }
    }

    fn line(&mut self, order: &[Node]) {
        let asked = |node: &Node| (*node as usize) < self.ids.len() && !self.entrants.contains(node);
        let tasks: Vec<Node> = order.iter().copied().filter(asked).collect();
        for pair in tasks.windows(2) {
            self.edge(pair[0], pair[1], ORDER_ONLY);
        }
    }

    /// Entrants wait for what their task waits for. No task waits for them: what follows waits for the task.
    fn entrants(&mut self, plan: &Plan, place: &Places<Node>) {
        let races: HashMap<Node, Vec<Node>> = (0..)
            .zip(&plan.tasks)
            .filter_map(|(node, task)| Some((node, task.race()?)))
            .map(|(node, race)| {
                (node, race.entrants.iter().filter_map(|id| place.get(id).copied()).collect())
            })
            .collect();
        if races.is_empty() {
            return;
        }
        let into = self.edges.iter().filter_map(|(from, edge)| Some((*from, *edge, races.get(&edge.to)?)));
        let more: Vec<(Node, Edge)> = into
            .flat_map(|(from, edge, entrants)| entrants.iter().map(move |&to| (from, Edge { to, ..edge })))
            .collect();
        self.edges.extend(more);
    }

    /// Kahn's algorithm with the lowest number first, so that the order is the file's where it may be.
    fn sorted(&self) -> Result<(Adjacency, Vec<Node>), GraphError> {
        let adjacency = self.adjacency();
        let mut waiting = adjacency.blockers.clone();
        let mut ready: std::collections::BinaryHeap<std::cmp::Reverse<Node>> =
            (0..self.nodes as Node).filter(|&n| waiting[n as usize] == 0).map(std::cmp::Reverse).collect();
        let mut order = Vec::with_capacity(self.nodes);
        while let Some(std::cmp::Reverse(node)) = ready.pop() {
            order.push(node);
            for edge in adjacency.dependents(node) {
                waiting[edge.to as usize] -= 1;
                if waiting[edge.to as usize] == 0 {
                    ready.push(std::cmp::Reverse(edge.to));
                }
            }
        }
        match order.len() == self.nodes {
            true => Ok((adjacency, order)),
            false => Err(GraphError::Cycle(self.cycle(&waiting))),
        }
    }

    /// Every node Kahn left over has a blocker that was left over too: walking back along those must close a circle.
    fn cycle(&self, waiting: &[u32]) -> Vec<Node> {
        let mut blocker: HashMap<Node, Node> = HashMap::new();
        for (from, edge) in &self.edges {
            if waiting[*from as usize] > 0 && waiting[edge.to as usize] > 0 {
                blocker.entry(edge.to).or_insert(*from);
            }
        }
        let mut walked: HashMap<Node, usize> = HashMap::new();
        let mut path = Vec::new();
        let mut node = (0..self.nodes as Node).find(|&n| waiting[n as usize] > 0).unwrap_or_default();
        while !walked.contains_key(&node) {
            walked.insert(node, path.len());
            path.push(node);
            match blocker.get(&node) {
                Some(&before) => node = before,
                None => break,
            }
        }
        let mut circle = path.split_off(walked.get(&node).copied().unwrap_or(0));
        circle.retain(|&node| (node as usize) < self.ids.len());
        circle.reverse();
        let smallest = (0..circle.len()).min_by_key(|&i| circle[i]).unwrap_or(0);
        circle.rotate_left(smallest);
        circle
    }

    fn adjacency(&self) -> Adjacency {
        let mut starts = vec![0; self.nodes + 1];
        let mut blockers = vec![0; self.nodes];
        for (from, edge) in &self.edges {
            starts[*from as usize + 1] += 1;
            blockers[edge.to as usize] += 1;
        }
        for node in 0..self.nodes {
            starts[node + 1] += starts[node];
        }
        let mut next = starts.clone();
        let mut edges = vec![Edge { to: 0, when: When::Landed, kind: Kind::Hard }; self.edges.len()];
        for (from, edge) in &self.edges {
            edges[next[*from as usize] as usize] = *edge;
            next[*from as usize] += 1;
        }
        Adjacency { starts, edges, blockers }
    }

    fn finished(self, edges: Adjacency, order: Vec<Node>) -> Graph {
        Graph { ids: self.ids, edges, order, entrants: self.entrants }
    }
}

/// Edges in one piece, sorted by where they leave, and how many arrive at each node. Tasks first, then gates.
#[derive(Debug, Clone)]
struct Adjacency {
    /// Where each node's edges begin; the next one's beginning is their end.
    starts: Vec<u32>,
    edges: Vec<Edge>,
    blockers: Vec<u32>,
}

impl Adjacency {
    fn dependents(&self, node: Node) -> &[Edge] {
        &self.edges[self.starts[node as usize] as usize..self.starts[node as usize + 1] as usize]
    }
}

/// The longest way to each node, counted in tasks; gates take no level of their own.
fn levels(order: &[Node], tasks: usize, adjacency: &Adjacency) -> Vec<u32> {
    let mut levels = vec![0; adjacency.blockers.len()];
    for &node in order {
        let next = levels[node as usize] + u32::from((node as usize) < tasks);
        for edge in adjacency.dependents(node) {
            levels[edge.to as usize] = levels[edge.to as usize].max(next);
        }
    }
    levels
}

#[cfg(test)]
mod tests;
