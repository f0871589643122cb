use super::*;
use crate::plan::graph::{Graph, Strategy};
use crate::plan::sketch::plan;
use crate::plan::{Epic, Plan, Scope};
use crate::values::units::Millis;

mod folded;
mod properties;

/// The graph of a plan as `sketch` writes it, every task pending.
fn graph(text: &str) -> TaskGraph {
    of_plan(&plan(text))
}

fn of_plan(plan: &Plan) -> TaskGraph {
    TaskGraph::of(plan, &Graph::new(plan, Strategy::Queue).unwrap(), |_| State::Pending)
}

fn task(number: u32) -> GraphTask {
    let id = crate::plan::sketch::id(&format!("t{number}"));
    GraphTask { id, group: None, state: State::Pending, expected: Millis(1) }
}

fn whole(graph: &TaskGraph) -> Layout {
    let wanted = Wanted { fold: Fold::None, ..Wanted::default() };
    Layout::of(&Outline::of(graph, &Folding::of(graph, &wanted)))
}

/// Every node as `layer: x, y`, then every line by its points.
fn shown(graph: &TaskGraph, layout: &Layout) -> String {
    let name = |node: u32| match graph.tasks.get(node as usize) {
        Some(task) => task.id.to_string(),
        None => format!("gate {node}"),
    };
    let node =
        |(number, at): (u32, &DrawnNode)| format!("{} {}: {}, {}\n", name(number), at.layer, at.x, at.y);
    let line = |drawn: &DrawnLine| {
        let points: Vec<String> = drawn.points.iter().map(|(x, y)| format!("{x},{y}")).collect();
        let mark = if drawn.line.critical { " critical" } else { "" };
        format!("{} to {}{mark}: {}\n", name(drawn.line.from), name(drawn.line.to), points.join(" "))
    };
    let nodes: String = (0..).zip(&layout.nodes).map(node).collect();
    let lines: String = layout.lines.iter().map(line).collect();
    format!("{} x {}\n{nodes}{lines}", layout.width, layout.height)
}

fn middles(layout: &Layout) -> Vec<i32> {
    layout.nodes.iter().map(|node| node.y + node.height / 2).collect()
}

fn layers(layout: &Layout) -> Vec<u32> {
    layout.nodes.iter().map(|node| node.layer).collect()
}

#[test]
fn a_chain_is_straight() {
    let layout = whole(&graph("a; b <- a; c <- b; d <- c"));
    assert_eq!(layers(&layout), [0, 1, 2, 3]);
    assert_eq!(middles(&layout), [35; 4]);
    assert_eq!(layout.nodes.iter().map(|node| node.x).collect::<Vec<_>>(), [16, 184, 352, 520]);
    assert_eq!((layout.width, layout.height), (672, 70));
}

#[test]
fn a_diamond_is_symmetric() {
    let layout = whole(&graph("a; b <- a; c <- a; d <- b c"));
    assert_eq!(layers(&layout), [0, 1, 1, 2]);
    let y = middles(&layout);
    assert_eq!((y[0], y[1] + y[2]), (y[3], 2 * y[0]));
    assert_eq!(layout.lines.len(), 4);
}

#[test]
fn what_follows_from_other_lines_is_not_drawn() {
    let layout = whole(&graph("a; b <- a; c <- a b; d <- a b c"));
    let lines: Vec<(u32, u32)> = layout.lines.iter().map(|drawn| (drawn.line.from, drawn.line.to)).collect();
    assert_eq!(lines, [(0, 1), (1, 2), (2, 3)]);
}

#[test]
fn parts_lie_below_each_other_and_single_tasks_behind_them() {
    let layout = whole(&graph("s; a; b <- a; x; y <- x; z <- y; t"));
    let y = middles(&layout);
    assert!(y[3] == y[4] && y[4] == y[5], "the longer chain first: {y:?}");
    assert!(y[1] == y[2] && y[1] > y[3]);
    assert!(y[0] == y[6] && y[0] > y[1]);
    assert!(layout.nodes[0].x < layout.nodes[6].x, "single tasks share a row");
}

#[test]
fn tasks_without_any_line_fill_a_page() {
    let text: Vec<String> = (0..1_000).map(|number| format!("t{number}")).collect();
    let layout = whole(&graph(&text.join(";")));
    assert!(
        layout.width > layout.height && layout.width < 3 * layout.height,
        "{} {}",
        layout.width,
        layout.height
    );
}

#[test]
fn a_fan_has_its_hub_in_the_middle() {
    let leaves: String = (0..101).map(|number| format!("; l{number} <- hub")).collect();
    let layout = whole(&graph(&format!("hub{leaves}")));
    let y = middles(&layout);
    assert_eq!(y[0], y[51]);
    assert!(y[1..].is_sorted(), "in the order of the plan");
}

#[test]
fn a_long_line_has_a_lane_of_its_own() {
    let layout = whole(&graph("a; b <- a; c <- b; d <- c e; e"));
    let long = layout.lines.iter().find(|drawn| drawn.line.from == 4).unwrap();
    assert!(long.points.len() >= 4 && long.points.len() % 2 == 0, "{:?}", long.points);
    assert_eq!(long.points[1].1, long.points[2].1, "level where it passes nodes");
}

#[test]
fn lines_of_one_node_share_their_lanes() {
    let layout = whole(&graph("s; a; b <- a; c <- b; d <- c; x <- c s; y <- d s"));
    let lanes = |to: u32| {
        let drawn = layout.lines.iter().find(|drawn| (drawn.line.from, drawn.line.to) == (0, to)).unwrap();
        drawn.points[1..3].to_vec()
    };
    assert_eq!(lanes(5)[0], lanes(6)[0]);
}

#[test]
fn the_critical_path_is_marked_through_joins() {
    let mut plan = plan("a; b; c; d");
    plan.tasks[1].estimate = Some(Millis::from_secs(600));
    plan.tasks[2].estimate = Some(Millis::from_secs(600));
    for (task, epic) in [(0, "one"), (1, "one"), (2, "two"), (3, "two")] {
        plan.tasks[task].epic = Some(epic.into());
    }
    let epic = |id: &str, before: &[&str]| Epic {
        id: id.into(),
        name: None,
        dependencies: before.iter().map(|&id| id.to_owned()).collect(),
        isolation_scope: Scope::Task,
        land: None,
        epic_landing: Default::default(),
    };
    plan.epics = vec![epic("one", &[]), epic("two", &["one"])];
    let graph = of_plan(&plan);
    let layout = whole(&graph);
    assert_eq!(layout.nodes.len(), 5, "of four gates one is left");
    let critical: Vec<(u32, u32)> = layout
        .lines
        .iter()
        .filter(|drawn| drawn.line.critical)
        .map(|drawn| (drawn.line.from, drawn.line.to))
        .collect();
    assert_eq!(critical, [(1, 4), (4, 2)]);
    assert_eq!(layout.lines.len(), 4);
}

#[test]
fn nothing_is_drawn_of_nothing() {
    let layout = whole(&TaskGraph::default());
    assert_eq!((layout.nodes.len(), layout.lines.len(), layout.width, layout.height), (0, 0, 32, 32));
}

#[test]
fn a_chain_of_a_hundred_thousand_needs_no_stack() {
    let count = 100_000;
    let graph = TaskGraph {
        tasks: (0..count).map(task).collect(),
        edges: (1..count).map(|to| (to - 1, to)).collect(),
        ..TaskGraph::default()
    };
    let layout = whole(&graph);
    assert!(middles(&layout).iter().all(|y| *y == 35));
    assert_eq!(layout.nodes[count as usize - 1].layer, count - 1);
}

#[test]
fn lines_too_many_for_lanes_go_around() {
    // Each of these waits for the end of a long chain and for one task of its own.
    let (chain, pairs) = (1_000u32, 400u32);
    let mut edges: Vec<(u32, u32)> = (1..chain).map(|to| (to - 1, to)).collect();
    for pair in 0..pairs {
        let (own, last) = (chain + 2 * pair, chain + 2 * pair + 1);
        edges.extend([(chain - 1, last), (own, last)]);
    }
    let tasks = (0..chain + 2 * pairs).map(task).collect();
    let layout = whole(&TaskGraph { tasks, edges, ..TaskGraph::default() });
    properties::check_lines(&layout);
    let lowest = layout.nodes.iter().map(|node| node.y + node.height).max().unwrap();
    let around =
        layout.lines.iter().filter(|drawn| drawn.points.iter().any(|point| point.1 > lowest)).count();
    assert!(around > 0 && around < pairs as usize, "{around}");
}

#[test]
fn a_tangled_graph_is_not_drawn_out() {
    // Each waits for three that are anywhere before it; numbers that look drawn and are the same every time.
    let count = 500u32;
    let mut seed = 42u64;
    let mut below = |bound: u32| {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (seed >> 33) as u32 % bound
    };
    let mut edges: Vec<(u32, u32)> = (1..count).flat_map(|to| [to; 3]).map(|to| (below(to), to)).collect();
    edges.sort_unstable();
    edges.dedup();
    let layout = whole(&TaskGraph { tasks: (0..count).map(task).collect(), edges, ..TaskGraph::default() });
    properties::check_nodes(&layout);
    properties::check_lines(&layout);
    // With straight lines it would be 12,510.
    assert!(layout.height < 5_000, "{}", layout.height);
}

#[test]
fn the_graph_of_a_checkout() {
    let text = "test-db; db-schema; money-type; api-errors; cart-model@cart <- db-schema money-type; \
        psp-client@pay <- money-type api-errors; mail-templates@mail <- money-type; address-form@ui <- api-errors; \
        stock-hold@cart <- cart-model test-db; cart-merge@cart <- cart-model; vouchers@cart <- cart-model; \
        cart-api@cart <- cart-model api-errors; webhooks@pay <- psp-client db-schema; docs-api@docs <- cart-api; \
        cart-drawer@ui <- cart-api; payment-intents@pay <- cart-api psp-client; checkout-steps@ui <- cart-api; \
        order-page@ui <- payment-intents checkout-steps; refunds@pay <- payment-intents; \
        a11y-pass@ui <- checkout-steps address-form; load-test@qa <- order-page stock-hold; \
        e2e-checkout@qa <- refunds order-page; reconcile@pay <- webhooks refunds; \
        changelog@docs <- docs-api load-test e2e-checkout";
    let graph = graph(text);
    insta::assert_snapshot!(shown(&graph, &whole(&graph)));
}
