//! Which tasks share a node.

use super::*;

fn folded(graph: &TaskGraph, fold: Fold) -> (Folding, Layout) {
    let folding = Folding::of(graph, &Wanted { fold, ..Wanted::default() });
    let layout = Layout::of(&Outline::of(graph, &folding));
    (folding, layout)
}

fn set(graph: &mut TaskGraph, task: &str, state: State) {
    graph.tasks.iter_mut().find(|known| known.id.as_str() == task).unwrap().state = state;
}

const TWO_GROUPS: &str = "a@one; b@one <- a; c@two <- b; d@two <- b; e <- c d";

#[test]
fn a_group_is_one_node_and_the_lines_between_groups_are_counted() {
    let mut graph = graph(TWO_GROUPS);
    set(&mut graph, "a", State::Landed);
    set(&mut graph, "b", State::Running);
    let (folding, layout) = folded(&graph, Fold::Groups);
    assert_eq!(folding.nodes, [Stand::Group(0), Stand::Group(1), Stand::Task(4)]);
    assert_eq!(folding.stands, [0, 0, 1, 1, 2]);
    let counts: Vec<u32> = layout.lines.iter().map(|drawn| drawn.line.count).collect();
    assert_eq!(counts, [2, 2]);
    let summaries = folding.summaries(&graph);
    assert_eq!((summaries[0].state(), summaries[0].tasks), (State::Running, 2));
    assert_eq!(summaries[0].counts[State::Landed as usize], 1);
}

#[test]
fn groups_that_need_the_user_are_open_and_so_are_those_asked_for() {
    let mut graph = graph("a@one; b@one <- a; c@two <- b; d@two <- b; e@three <- c; f@three <- d");
    set(&mut graph, "d", State::NeedsYou);
    let wanted = Wanted { fold: Fold::Groups, ..Wanted::default() };
    let nodes = |wanted: &Wanted| Folding::of(&graph, wanted).nodes.len();
    assert_eq!(nodes(&wanted), 4);
    assert_eq!(nodes(&Wanted { open: vec![0], ..wanted.clone() }), 5);
    assert_eq!(nodes(&Wanted { selected: Some(5), ..wanted }), 5);
}

#[test]
fn groups_that_wait_for_each_other_are_linked_once() {
    let graph = graph("a@one; b@two <- a; c@one <- b; d@two");
    let (_, layout) = folded(&graph, Fold::Groups);
    let line = layout.lines[0].line;
    assert_eq!((layout.lines.len(), line.from, line.count, line.back), (1, 0, 1, 1));
}

#[test]
fn a_folded_join_leaves_one_line_with_all_dependencies() {
    let mut plan = plan("a; b; c; d; e; f");
    for (place, task) in plan.tasks.iter_mut().enumerate() {
        task.group = Some(if place < 3 { "one" } else { "two" }.to_owned());
    }
    let ids: Vec<_> = plan.tasks.iter().map(|task| task.id.clone()).collect();
    plan.execution_order = vec![ids[..3].to_vec(), ids[3..].to_vec()];
    let graph = of_plan(&plan);
    assert_eq!((graph.gates, whole(&graph).nodes.len()), (1, 7));
    let (_, layout) = folded(&graph, Fold::Groups);
    assert_eq!((layout.nodes.len(), layout.lines[0].line.count), (2, 9));
}

/// Chains of ten, the first of them long enough to be critical.
fn big() -> TaskGraph {
    let mut text = String::new();
    for chain in 0..200 {
        for link in 0..10 + u32::from(chain == 0) {
            let before = if link == 0 { String::new() } else { format!(" <- c{chain}x{}", link - 1) };
            text += &format!("c{chain}x{link}{before};");
        }
    }
    graph(text.trim_end_matches(';'))
}

#[test]
fn of_a_big_run_only_what_matters_is_drawn() {
    let mut graph = big();
    for task in &mut graph.tasks {
        task.state = State::Landed;
    }
    set(&mut graph, "c7x4", State::Failed);
    set(&mut graph, "c9x9", State::Pending);
    set(&mut graph, "c8x9", State::Pending);
    let (folding, _) = folded(&graph, Fold::Auto);
    assert_eq!(folding.fold, Fold::All);
    // The critical path of 11, the failed one and its neighbours, one node for what landed and one for what is pending.
    assert_eq!(folding.nodes.len(), 11 + 3 + 2);
    let summaries = folding.summaries(&graph);
    let landed = summaries.iter().find(|summary| summary.state() == State::Landed).unwrap();
    assert_eq!(landed.tasks, 2_001 - 11 - 3 - 2);
}

#[test]
fn a_run_of_which_everything_failed_is_still_drawn() {
    let mut graph = big();
    for task in &mut graph.tasks {
        task.state = State::Failed;
    }
    let (folding, layout) = folded(&graph, Fold::Auto);
    assert!(folding.nodes.len() <= 401, "{}", folding.nodes.len());
    assert_eq!(layout.nodes.len(), folding.nodes.len());
}

#[test]
fn the_number_of_tasks_says_what_is_folded() {
    let of = |count: usize| {
        let text: Vec<String> = (0..count).map(|number| format!("t{number}@g")).collect();
        let folding = Folding::of(&graph(&text.join(";")), &Wanted::default());
        (folding.fold, folding.nodes.len())
    };
    assert_eq!([of(60), of(61), of(600)], [(Fold::None, 60), (Fold::Groups, 1), (Fold::Groups, 1)]);
    assert_eq!(of(601).0, Fold::All);
}
