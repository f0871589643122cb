//! Which tasks share a node.

use std::collections::HashMap;

use super::{State, TaskGraph, kept};
use crate::values::units::Millis;

/// Up to so many tasks are all drawn.
const ALL_DRAWN: usize = 60;
/// Up to so many, groups are folded; beyond, only what matters is drawn.
const GROUPS_FOLDED: usize = 600;

/// What is folded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Fold {
    /// What goes with the number of tasks.
    #[default]
    Auto,
    /// Epics and groups, except those that are open, need the user or hold the selected task.
    Groups,
    /// All but the critical path, what stands out, and their neighbours.
    All,
    /// Nothing: every task is drawn, however many there are.
    None,
}

impl Fold {
    pub const NAMES: [&'static str; 4] = ["auto", "groups", "all", "none"];

    pub fn named(name: &str) -> Option<Fold> {
        [Fold::Auto, Fold::Groups, Fold::All, Fold::None].into_iter().find(|fold| fold.name() == name)
    }

    pub fn name(self) -> &'static str {
        match self {
            Fold::Auto => "auto",
            Fold::Groups => "groups",
            Fold::All => "all",
            Fold::None => "none",
        }
    }

    fn for_tasks(self, count: usize) -> Fold {
        match self {
            Fold::Auto if count <= ALL_DRAWN => Fold::None,
            Fold::Auto if count <= GROUPS_FOLDED => Fold::Groups,
            Fold::Auto => Fold::All,
            fold => fold,
        }
    }
}

/// What the user wants to see.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Wanted {
    pub fold: Fold,
    /// Groups whose tasks are drawn one by one.
    pub open: Vec<u32>,
    /// The task that is looked at is never folded.
    pub selected: Option<u32>,
}

/// What a node stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Stand {
    Task(u32),
    /// All tasks of a group.
    Group(u32),
    /// All tasks of a state that are not drawn otherwise.
    Rest(State),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Folding {
    /// What was folded, where that was left to the number of tasks.
    pub fold: Fold,
    pub nodes: Vec<Stand>,
    /// For each task, the node that stands for it.
    pub stands: Vec<u32>,
}

/// What is in a node that stands for several tasks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Summary {
    pub node: u32,
    pub tasks: u32,
    /// How many there are of each state, in the order of [`State::ALL`].
    pub counts: [u32; 10],
    /// How long they take, all together.
    pub expected: Millis,
}

impl Summary {
    /// The most urgent state inside.
    pub fn state(&self) -> State {
        let first = State::ALL.into_iter().find(|state| self.counts[*state as usize] > 0);
        first.unwrap_or(State::Pending)
    }
}

impl Folding {
    pub fn of(graph: &TaskGraph, wanted: &Wanted) -> Folding {
        let fold = wanted.fold.for_tasks(graph.tasks.len());
        let stand: Vec<Stand> = match fold {
            Fold::Groups => by_group(graph, wanted),
            Fold::All => by_state(graph, wanted),
            Fold::Auto | Fold::None => (0..graph.tasks.len() as u32).map(Stand::Task).collect(),
        };
        let stand = without_singles(stand);
        let mut numbers: HashMap<Stand, u32> = HashMap::new();
        let mut nodes = Vec::new();
        let stands = stand.into_iter().map(|stand| {
            *numbers.entry(stand).or_insert_with(|| {
                nodes.push(stand);
                (nodes.len() - 1) as u32
            })
        });
        let stands = stands.collect();
        Folding { fold, nodes, stands }
    }

    /// What is in each node that stands for several tasks.
    pub fn summaries(&self, graph: &TaskGraph) -> Vec<Summary> {
        let empty =
            |node: usize| Summary { node: node as u32, tasks: 0, counts: [0; 10], expected: Millis(0) };
        let mut all: Vec<Summary> = (0..self.nodes.len()).map(empty).collect();
        for (task, &node) in graph.tasks.iter().zip(&self.stands) {
            let summary = &mut all[node as usize];
            summary.tasks += 1;
            summary.counts[task.state as usize] += 1;
            summary.expected += task.expected;
        }
        all.retain(|summary| !matches!(self.nodes[summary.node as usize], Stand::Task(_)));
        all
    }
}

fn by_group(graph: &TaskGraph, wanted: &Wanted) -> Vec<Stand> {
    let mut open = vec![false; graph.groups.len()];
    let selected = wanted.selected.and_then(|task| graph.tasks.get(task as usize)?.group);
    for group in wanted.open.iter().copied().chain(selected) {
        open[group as usize] = true;
    }
    for task in graph.tasks.iter().filter(|task| task.state == State::NeedsYou) {
        if let Some(group) = task.group {
            open[group as usize] = true;
        }
    }
    let stand = |(number, group): (u32, Option<u32>)| match group {
        Some(group) if !open[group as usize] => Stand::Group(group),
        _ => Stand::Task(number),
    };
    (0..).zip(graph.tasks.iter().map(|task| task.group)).map(stand).collect()
}

fn by_state(graph: &TaskGraph, wanted: &Wanted) -> Vec<Stand> {
    let kept = kept::kept(graph, wanted);
    let stand = |(number, state): (u32, State)| match kept[number as usize] {
        true => Stand::Task(number),
        false => Stand::Rest(state),
    };
    (0..).zip(graph.tasks.iter().map(|task| task.state)).map(stand).collect()
}

/// A node for many that holds one is that one.
fn without_singles(mut stands: Vec<Stand>) -> Vec<Stand> {
    let mut count: HashMap<Stand, u32> = HashMap::new();
    for stand in &stands {
        *count.entry(*stand).or_default() += 1;
    }
    for (number, stand) in (0..).zip(&mut stands) {
        if count[stand] == 1 {
            *stand = Stand::Task(number);
        }
    }
    stands
}
