//! Which tasks of a big run are drawn one by one: those that matter, and what is next to them.

use super::{State, TaskGraph, Wanted};

/// With more nodes than this there is nothing to be seen any more.
const MOST: usize = 400;

/// For each task whether it is drawn by itself. Those that matter most come first, until there are enough.
pub(super) fn kept(graph: &TaskGraph, wanted: &Wanted) -> Vec<bool> {
    let mut kept = Kept { is: vec![false; graph.tasks.len()], all: Vec::new() };
    wanted.selected.into_iter().for_each(|task| kept.add(task));
    let numbered = || (0..).zip(&graph.tasks);
    for (number, _) in numbered().filter(|(_, task)| task.group.is_some_and(|of| wanted.open.contains(&of))) {
        kept.add(number);
    }
    for state in State::ALL.into_iter().filter(|state| state.stands_out()) {
        numbered().filter(|(_, task)| task.state == state).for_each(|(number, _)| kept.add(number));
    }
    let path = || graph.critical.iter().copied().filter(|&node| !graph.is_gate(node));
    let is_open = |task: &u32| graph.tasks[*task as usize].state <= State::Pending;
    path().filter(is_open).for_each(|task| kept.add(task));
    path().for_each(|task| kept.add(task));
    kept.add_neighbours(graph);
    kept.is
}

struct Kept {
    is: Vec<bool>,
    /// In the order in which they were added.
    all: Vec<u32>,
}

impl Kept {
    fn add(&mut self, task: u32) {
        if self.all.len() < MOST && !std::mem::replace(&mut self.is[task as usize], true) {
            self.all.push(task);
        }
    }

    /// Only those that are linked directly: behind a gate there may be thousands.
    fn add_neighbours(&mut self, graph: &TaskGraph) {
        let mut before: Vec<Vec<u32>> = vec![Vec::new(); graph.tasks.len()];
        let mut after = before.clone();
        for &(from, to) in
            graph.edges.iter().filter(|(from, to)| !graph.is_gate(*from) && !graph.is_gate(*to))
        {
            before[to as usize].push(from);
            after[from as usize].push(to);
        }
        for task in self.all.clone() {
            let next_to = before[task as usize].iter().chain(&after[task as usize]);
            next_to.for_each(|&other| self.add(other));
        }
    }
}
