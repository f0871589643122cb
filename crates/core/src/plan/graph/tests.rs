use super::*;
use crate::plan::sketch::{id, plan};
use crate::plan::{Epic, Scope};
use crate::values::units::Millis;

fn graph(text: &str) -> Graph {
    Graph::new(&plan(text), Strategy::Queue).unwrap()
}

fn named(graph: &Graph, tasks: &[Node]) -> String {
    tasks.iter().map(|&task| graph.id(task).as_str()).collect::<Vec<_>>().join(" ")
}

fn batches(graph: &Graph) -> String {
    graph.batches().iter().map(|batch| named(graph, batch)).collect::<Vec<_>>().join(" | ")
}

#[test]
fn batches_are_the_levels_of_the_graph() {
    let graph = graph("a; b <- a; c <- a; d <- b c; e");
    assert_eq!(batches(&graph), "a e | b c | d");
}

#[test]
fn the_critical_path_is_the_longest_by_time_not_by_count() {
    let graph = graph("a; b <- a; c <- b; long; end <- c long");
    let minutes = [1, 1, 1, 30, 2];
    let path = graph.critical_path(|task| Millis::from_secs(minutes[task as usize] * 60));
    assert_eq!(named(&graph, &path.tasks), "long end");
    assert_eq!(path.length, Millis::from_secs(32 * 60));
}

#[test]
fn what_lies_before_and_behind_a_task() {
    let graph = graph("a; b <- a; c <- b; d <- a; e");
    assert_eq!(named(&graph, &graph.all_dependents(0)), "b c d");
    assert_eq!(named(&graph, &graph.all_dependencies(2)), "a b");
}

#[test]
fn a_cycle_is_named_whole_and_in_order() {
    let error = Graph::new(&plan("x; a <- c x; b <- a; c <- b; d <- c"), Strategy::Queue).unwrap_err();
    assert_eq!(error, GraphError::Cycle(vec![1, 2, 3]));
}

#[test]
fn a_cycle_of_ten_thousand_needs_no_stack() {
    let count = 10_000;
    let text: Vec<String> = (0..count).map(|n| format!("t{n} <- t{}", (n + 1) % count)).collect();
    match Graph::new(&plan(&text.join(";")), Strategy::Queue) {
        Err(GraphError::Cycle(tasks)) => assert_eq!(tasks.len(), count),
        other => panic!("{other:?}"),
    }
}

#[test]
fn an_epic_waits_for_the_whole_of_the_one_before() {
    let mut plan = plan("a; b; c; d");
    for (task, epic) in [(0, "one"), (1, "one"), (2, "two"), (3, "two")] {
        plan.tasks[task].epic = Some(epic.into());
    }
    let epic = |id: &str, before: &[&str]| Epic {
        id: id.into(),
        name: None,
        dependencies: before.iter().map(|&s| s.to_owned()).collect(),
        isolation_scope: Scope::Task,
        land: None,
        epic_landing: Default::default(),
    };
    plan.epics = vec![epic("two", &["one"]), epic("one", &[])];
    let graph = Graph::new(&plan, Strategy::Queue).unwrap();
    assert_eq!(batches(&graph), "a b | c d");
    assert_eq!(named(&graph, &graph.dependencies()[2]), "a b");
}

#[test]
fn epics_that_wait_for_each_other_are_a_cycle_of_their_tasks() {
    let mut plan = plan("a; b");
    plan.tasks[0].epic = Some("one".into());
    plan.tasks[1].epic = Some("two".into());
    let epic = |id: &str, before: &str| Epic {
        id: id.into(),
        name: None,
        dependencies: vec![before.into()],
        isolation_scope: Scope::Task,
        land: None,
        epic_landing: Default::default(),
    };
    plan.epics = vec![epic("one", "two"), epic("two", "one")];
    assert!(matches!(Graph::new(&plan, Strategy::Queue), Err(GraphError::Cycle(_))));
}

#[test]
fn an_execution_order_replaces_dependencies_between_the_tasks_it_names() {
    let mut plan = plan("schema <- api; api; ui <- docs; e2e; docs");
    plan.execution_order = vec![vec![id("schema")], vec![id("api"), id("ui")], vec![id("e2e")]];
    let graph = Graph::new(&plan, Strategy::Queue).unwrap();
    assert_eq!(batches(&graph), "schema docs | api ui | e2e");
    assert_eq!(named(&graph, &graph.dependencies()[2]), "schema docs");
}

#[test]
fn batch_puts_a_barrier_between_levels_with_linear_edges() {
    let text: Vec<String> =
        (0..200).map(|n| if n < 100 { format!("a{n}") } else { format!("b{n} <- a0") }).collect();
    let graph = Graph::new(&plan(&text.join(";")), Strategy::Batch).unwrap();
    assert_eq!(graph.dependencies()[150].len(), 100);
    let edges: usize = (0..graph.nodes()).map(|node| graph.dependents(node as Node).len()).sum();
    assert!(edges <= 300, "{edges} edges");
}

#[test]
fn sequential_is_one_line_in_file_order() {
    let graph = Graph::new(&plan("c <- b; b; a"), Strategy::Sequential).unwrap();
    assert_eq!(batches(&graph), "b | c | a");
}

#[test]
fn every_format_of_a_small_graph() {
    let mut plan = plan("schema; api <- schema; ui");
    plan.tasks[2].name = "The \"UI\" <b>#1</b>".into();
    let graph = Graph::new(&plan, Strategy::Queue).unwrap();
    let shown: Vec<String> = [Format::Text, Format::Mermaid, Format::Dot, Format::Json]
        .map(|format| graph.export(&plan, format, |_| Millis::from_secs(60)))
        .to_vec();
    insta::assert_snapshot!(shown.join("----\n"));
}
