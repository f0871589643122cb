//! How many tasks of a graph can be at work at once, however long each of them takes.

use crate::plan::graph::{Graph, Node};

/// The largest number of tasks of which none waits for another. After Dilworth, that is how many chains it takes to hold
/// all tasks, which is their number less the largest matching of tasks with later ones.
pub fn width(graph: &Graph) -> usize {
    let tasks = graph.len();
    let later = |task: usize| -> Vec<usize> {
        graph.all_dependents(task as Node).into_iter().map(|node| node as usize).collect()
    };
    let mut chains =
        Chains { later: (0..tasks).map(later).collect(), next: vec![None; tasks], before: vec![None; tasks] };
    tasks - (0..tasks).filter(|task| chains.lengthen(*task)).count()
}

struct Chains {
    later: Vec<Vec<usize>>,
    /// Who follows each task in its chain, and whom it follows.
    next: Vec<Option<usize>>,
    before: Vec<Option<usize>>,
}

impl Chains {
    /// Finds a follower for a task, others changing theirs if need be; whether there is one.
    fn lengthen(&mut self, start: usize) -> bool {
        let mut from: Vec<Option<usize>> = vec![None; self.later.len()];
        let mut open = vec![start];
        while let Some(task) = open.pop() {
            for &follower in &self.later[task] {
                if from[follower].is_some() {
                    continue;
                }
                from[follower] = Some(task);
                match self.before[follower] {
                    Some(other) => open.push(other),
                    None => {
                        self.link(follower, start, &from);
                        return true;
                    }
                }
            }
        }
        false
    }

    /// Back along the way it was found.
    fn link(&mut self, follower: usize, start: usize, from: &[Option<usize>]) {
        let mut follower = Some(follower);
        while let Some(current) = follower
            && let Some(task) = from[current]
        {
            follower = self.next[task].filter(|_| task != start);
            self.next[task] = Some(current);
            self.before[current] = Some(task);
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::plan::graph::Strategy as Order;
    use crate::plan::{Dependency, Plan, Task, Work};
    use crate::values::ids::TaskId;

    fn graph(tasks: usize, edges: &[(usize, usize)]) -> Graph {
        let id = |number: usize| TaskId::parse(&format!("t{number}")).unwrap();
        let task = |number| {
            let before = edges.iter().filter(|(_, later)| *later == number);
            let dependencies = before.map(|(first, _)| Dependency::on(id(*first))).collect();
            Task { dependencies, ..Task::new(id(number), Work::Prompt("x".into())) }
        };
        Graph::new(&Plan { tasks: (0..tasks).map(task).collect(), ..Plan::default() }, Order::Queue).unwrap()
    }

    #[test]
    fn known_graphs_are_as_wide_as_they_look() {
        assert_eq!(width(&graph(6, &[(0, 1), (2, 3), (1, 4), (3, 4), (4, 5)])), 2, "two halves that meet");
        assert_eq!(width(&graph(4, &[])), 4);
        assert_eq!(width(&graph(4, &[(0, 1), (1, 2), (2, 3)])), 1);
        assert_eq!(width(&graph(5, &[(0, 1), (0, 2), (0, 3), (0, 4)])), 4);
        let chain: Vec<(usize, usize)> = (1..1000).map(|n| (n - 1, n)).collect();
        assert_eq!(width(&graph(1000, &chain)), 1);
    }

    proptest! {
        #[test]
        fn no_set_of_independent_tasks_is_larger(edges in prop::collection::vec((0usize..8, 0usize..8), 0..16)) {
            let edges: std::collections::BTreeSet<_> = edges.into_iter().filter(|(a, b)| a < b).collect();
            let graph = graph(8, &edges.into_iter().collect::<Vec<_>>());
            let later: Vec<Vec<Node>> = (0..8).map(|task| graph.all_dependents(task)).collect();
            let apart = |set: u32| {
                let within = |node: usize| set >> node & 1 == 1;
                (0..8).all(|task| !within(task) || !later[task].iter().any(|other| within(*other as usize)))
            };
            let largest = (0u32..256).filter(|set| apart(*set)).map(u32::count_ones).max();
            prop_assert_eq!(Some(width(&graph) as u32), largest);
        }
    }
}
