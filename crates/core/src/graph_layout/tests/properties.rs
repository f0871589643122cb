//! What holds for every graph and every folding.

use std::collections::HashSet;

use proptest::prelude::*;
use proptest::strategy::Strategy;

use super::*;

prop_compose! {
    /// Tasks and gates in any order, each linked to others behind it in that order.
    fn any_graph()(count in 1usize..40)(
        gates in 0..=count / 4,
        order in Just((0..count as u32).collect::<Vec<u32>>()).prop_shuffle(),
        links in prop::collection::vec((0..count, 0..count), 0..80),
        tasks in prop::collection::vec((prop::option::of(0u32..5), 0usize..10), count),
        path in prop::collection::vec(0..count, 0..6),
    ) -> TaskGraph {
        let edges: HashSet<(usize, usize)> = links.into_iter().filter(|(a, b)| a < b).collect();
        let mut edges: Vec<(u32, u32)> = edges.into_iter().map(|(a, b)| (order[a], order[b])).collect();
        edges.sort_unstable();
        let tasks = (0..).zip(tasks).take(order.len() - gates).map(|(number, (group, state))| GraphTask {
            id: crate::plan::sketch::id(&format!("t{number}")),
            group,
            state: State::ALL[state],
            expected: Millis(number),
        });
        let mut path = path;
        path.sort_unstable();
        path.dedup();
        TaskGraph {
            tasks: tasks.collect(),
            groups: (0..5).map(|number| format!("g{number}")).collect(),
            gates,
            edges,
            critical: path.into_iter().map(|place| order[place]).collect(),
        }
    }
}

fn any_fold() -> impl Strategy<Value = Wanted> {
    let fold = prop::sample::select(vec![Fold::Auto, Fold::Groups, Fold::All, Fold::None]);
    (fold, prop::collection::vec(0u32..5, 0..3)).prop_map(|(fold, open)| Wanted {
        fold,
        open,
        selected: Some(0),
    })
}

fn overlap(one: (i32, i32), other: (i32, i32)) -> bool {
    one.0 < other.1 && other.0 < one.1
}

fn across(node: &DrawnNode) -> (i32, i32) {
    (node.x, node.x + node.width)
}

fn down(node: &DrawnNode) -> (i32, i32) {
    (node.y, node.y + node.height)
}

/// No line runs under a node: bends are where no node is at all, level pieces have their row for themselves.
pub(super) fn check_lines(layout: &Layout) {
    for drawn in &layout.lines {
        let Line { from, to, .. } = drawn.line;
        let (from, to) = (&layout.nodes[from as usize], &layout.nodes[to as usize]);
        assert!(from.layer < to.layer);
        assert_eq!(drawn.points.first(), Some(&(from.x + from.width, from.y + from.height / 2)));
        assert_eq!(drawn.points.last(), Some(&(to.x, to.y + to.height / 2)));
        assert_eq!(drawn.points.len() % 2, 0);
        for (number, piece) in drawn.points.windows(2).enumerate() {
            let ((left, y), (right, end)) = (piece[0], piece[1]);
            assert!(left < right, "{:?}", drawn.points);
            let meets = |node: &&DrawnNode| overlap(across(node), (left, right));
            match number % 2 {
                0 => assert_eq!(layout.nodes.iter().find(meets), None, "a bend of {:?}", drawn.points),
                _ => {
                    assert_eq!(y, end, "level");
                    let under = layout
                        .nodes
                        .iter()
                        .filter(meets)
                        .find(|node| node.y <= y && y <= node.y + node.height);
                    assert_eq!(under, None, "{:?}", drawn.points);
                }
            }
        }
    }
}

/// No two nodes are in one place, and all are in the picture.
pub(super) fn check_nodes(layout: &Layout) {
    for (number, node) in layout.nodes.iter().enumerate() {
        assert!(node.x >= 0 && node.y >= 0 && node.width > 0 && node.height > 0);
        assert!(node.x + node.width <= layout.width && node.y + node.height <= layout.height);
        let over = layout.nodes[..number]
            .iter()
            .find(|other| overlap(across(node), across(other)) && overlap(down(node), down(other)));
        assert_eq!(over, None, "{node:?}");
    }
}

/// For each of the first nodes which of them can be reached.
fn reached(first: usize, count: usize, edges: &[(u32, u32)]) -> Vec<HashSet<u32>> {
    let from = |start: u32| {
        let mut seen = HashSet::new();
        let mut open = vec![start];
        while let Some(node) = open.pop() {
            let next = edges.iter().filter(|(from, _)| *from == node).map(|(_, to)| *to);
            open.extend(next.filter(|to| seen.insert(*to)));
        }
        seen.retain(|node| (*node as usize) < first);
        seen
    };
    assert!(edges.iter().all(|(from, to)| (*from as usize) < count && (*to as usize) < count));
    (0..first as u32).map(from).collect()
}

proptest! {
    #[test]
    fn nodes_keep_apart_and_lines_run_between_them(graph in any_graph(), wanted in any_fold()) {
        let folding = Folding::of(&graph, &wanted);
        let outline = Outline::of(&graph, &folding);
        let layout = Layout::of(&outline);
        prop_assert_eq!(layout.nodes.len(), outline.nodes.len());
        check_nodes(&layout);
        check_lines(&layout);
        prop_assert_eq!(layout, Layout::of(&Outline::of(&graph.clone(), &Folding::of(&graph, &wanted))));
    }

    #[test]
    fn every_task_has_a_node_and_every_node_its_tasks(graph in any_graph(), wanted in any_fold()) {
        let folding = Folding::of(&graph, &wanted);
        prop_assert_eq!(folding.stands.len(), graph.tasks.len());
        for (number, (task, &stand)) in (0..).zip(graph.tasks.iter().zip(&folding.stands)) {
            match folding.nodes[stand as usize] {
                Stand::Task(own) => prop_assert_eq!(own, number),
                Stand::Group(group) => prop_assert_eq!(Some(group), task.group),
                Stand::Rest(state) => prop_assert_eq!(state, task.state),
            }
        }
        let summaries = folding.summaries(&graph);
        let single = folding.nodes.iter().filter(|stand| matches!(stand, Stand::Task(_))).count();
        prop_assert_eq!(summaries.iter().map(|one| one.tasks as usize).sum::<usize>() + single, graph.tasks.len());
        for summary in summaries {
            prop_assert_eq!(summary.counts.iter().sum::<u32>(), summary.tasks);
            let inside = || graph.tasks.iter().zip(&folding.stands).filter(|(_, stand)| **stand == summary.node);
            prop_assert_eq!(Some(summary.state()), inside().map(|(task, _)| task.state).min());
        }
    }

    #[test]
    fn lines_that_are_left_out_follow_from_the_others(graph in any_graph()) {
        let layout = whole(&graph);
        let drawn: Vec<(u32, u32)> = layout.lines.iter().map(|drawn| (drawn.line.from, drawn.line.to)).collect();
        let tasks = graph.tasks.len();
        prop_assert_eq!(reached(tasks, layout.nodes.len(), &drawn), reached(tasks, graph.nodes(), &graph.edges));
        for skipped in 0..drawn.len() {
            let mut others = drawn.clone();
            let (from, to) = others.remove(skipped);
            prop_assert!(!reached(layout.nodes.len(), layout.nodes.len(), &others)[from as usize].contains(&to));
        }
    }

    #[test]
    fn a_change_of_states_moves_nothing(graph in any_graph(), states in prop::collection::vec(2usize..10, 40)) {
        let calm = |graph: &TaskGraph, shift: usize| {
            let mut graph = graph.clone();
            for (task, state) in graph.tasks.iter_mut().zip(&states) {
                task.state = State::ALL[2 + (state + shift) % 8];
            }
            graph
        };
        for fold in [Fold::Groups, Fold::None] {
            let wanted = Wanted { fold, ..Wanted::default() };
            let outline = |graph: TaskGraph| Outline::of(&graph, &Folding::of(&graph, &wanted));
            prop_assert_eq!(outline(calm(&graph, 0)), outline(calm(&graph, 3)));
        }
    }
}
