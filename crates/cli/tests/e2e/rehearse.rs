//! `conductor rehearse`: its estimate, the basis of it, and whether a real run confirms it.

use std::fmt::Write as _;
use std::time::Duration;

use serde_json::Value;

use crate::harness::World;
use crate::soak::asked;

fn rehearsed(world: &World, args: &[&str]) -> Value {
    let args: Vec<&str> = ["rehearse", "tasks.yaml", "--json"].iter().chain(args).copied().collect();
    world.conductor(&args).expect(0).json()
}

fn minutes(value: &Value) -> u64 {
    value.as_u64().unwrap() / 60_000
}

/// Five of 30 minutes, five of 10: a table of fixed rows takes 80 with three slots.
#[test]
fn ten_mixed_tasks_take_seventy_minutes_with_three_slots() {
    let task =
        |n| format!("  - {{ id: t{n}, prompt: x, estimate: {}m }}\n", if n % 2 == 0 { 30 } else { 10 });
    let world = World::with(&format!("tasks:\n{}", (0..10).map(task).collect::<String>()));
    let told = rehearsed(&world, &["-p", "3"]);
    assert_eq!((minutes(&told["makespan_ms"]), &told["executors_used"]), (70, &Value::from(3)));
    assert_eq!(told["best_parallel"], 7);
    assert_eq!(minutes(&told["critical_path_ms"]), 30);
    assert!(world.runs().is_empty());
}

const TODO: &str = "
tasks:
  - { id: schema, run: x, estimate: 5m }
  - { id: api, run: x, estimate: 5m, dependencies: [schema] }
  - { id: frontend, run: x, estimate: 5m }
  - { id: components, run: x, estimate: 5m, dependencies: [frontend] }
  - { id: integration, run: x, estimate: 5m, dependencies: [api, components] }
  - { id: tests, run: x, estimate: 5m, dependencies: [integration] }
";

#[test]
fn the_todo_app_takes_twenty_minutes_and_two_of_three_workers() {
    let world = World::with(TODO);
    let told = rehearsed(&world, &["--parallel", "3"]);
    assert_eq!((minutes(&told["makespan_ms"]), &told["executors_used"]), (20, &Value::from(2)));
    assert_eq!(told["best_parallel"], 2);
    let shown = world.conductor(&["rehearse", "tasks.yaml"]).expect(0).stdout;
    assert!(shown.lines().all(|line| line.chars().count() <= 80), "{shown}");
    insta::assert_snapshot!(shown);
}

#[test]
fn durations_and_their_spread_come_from_former_runs() {
    let world =
        World::with("tasks: [{ id: a, run: sleep 0.2 }, { id: b, run: 'true' }, { id: c, prompt: x }]");
    let before = rehearsed(&world, &[]);
    assert_eq!(before["tasks"][0]["basis"], "default");
    assert_eq!(before["cost_usd"], Value::Null);
    for _ in 0..3 {
        world.conductor(&["run", "tasks.yaml", "--only", "a"]).expect(0);
    }
    let told = rehearsed(&world, &[]);
    let task = &told["tasks"][0];
    assert_eq!((&task["basis"], &task["samples"]), (&Value::from("history"), &Value::from(3)));
    let figure = |key: &str| task[key].as_u64().unwrap();
    assert!(200 <= figure("low_ms") && figure("low_ms") <= figure("expected_ms"), "{task}");
    assert!(figure("expected_ms") <= figure("high_ms") && figure("high_ms") < 60_000, "{task}");
    assert_eq!(told["tasks"][1]["basis"], "default");
    assert_eq!(told["tasks_of_unknown_cost"], 1);
    world.conductor(&["rehearse", "tasks.yaml"]).expect(0).says("3 runs").says("cost: unknown");
}

#[test]
fn a_bad_file_is_told_and_nothing_rehearsed() {
    let world = World::with("tasks: [{ id: a, run: x, dependencies: [b] }]");
    world.conductor(&["rehearse", "tasks.yaml"]).expect(3).says("unknown-dependency");
}

/// A graph of sleeping tasks.
fn graph(draw: &mut fastrand::Rng) -> (String, u32) {
    let tasks = draw.u32(5..=10);
    let mut text = "tasks:\n".to_owned();
    for task in 0..tasks {
        let before: Vec<String> =
            (0..task).filter(|_| draw.u32(..4) == 0).map(|before| format!("t{before}")).collect();
        let length = draw.u32(100..=600);
        let seconds = f64::from(length) / 1000.0;
        let before = before.join(", ");
        let _ = writeln!(
            text,
            "  - {{ id: t{task}, run: [sleep, '{seconds}'], estimate: {length}ms, dependencies: [{before}] }}"
        );
    }
    (text, draw.u32(1..=4))
}

/// Of the two the rehearsal, in milliseconds.
fn both(text: &str, slots: u32) -> (f64, f64) {
    let world = World::with(text);
    let slots = slots.to_string();
    let told = rehearsed(&world, &["-p", &slots])["makespan_ms"].as_f64().unwrap();
    world.conductor(&["run", "tasks.yaml", "-p", &slots]).expect(0);
    (told, world.summary()["elapsed_ms"].as_f64().unwrap())
}

/// How far a run of a busy machine may be from its rehearsal; the soak has the machine for itself.
const BUSY: (f64, Duration) = (0.5, Duration::from_secs(2));
const QUIET: f64 = 0.05;
const TRIES: usize = 3;

#[test]
fn rehearsed_runs_take_as_long_as_real_ones() {
    let seed = asked("CONDUCTOR_REHEARSED_SEED").unwrap_or_else(|| fastrand::u64(..1_000_000));
    let (graphs, soak) = match asked("CONDUCTOR_REHEARSED_GRAPHS") {
        Some(graphs) => (graphs, true),
        None => (3, false),
    };
    for graph_seed in seed..seed + graphs {
        let (text, slots) = graph(&mut fastrand::Rng::with_seed(graph_seed));
        expect_same(&format!("CONDUCTOR_REHEARSED_SEED={graph_seed}"), &text, slots, soak);
    }
}

/// The two examples, a minute being 50 ms.
#[test]
fn rehearsed_examples_take_as_long_as_real_ones() {
    let soak = std::env::var_os("CONDUCTOR_REHEARSED_GRAPHS").is_some();
    let task = |id: &str, minutes: u32, before: &str| {
        let length = minutes * 50;
        let seconds = f64::from(length) / 1000.0;
        format!(
            "  - {{ id: {id}, run: [sleep, '{seconds}'], estimate: {length}ms, dependencies: [{before}] }}\n"
        )
    };
    let mixed: String =
        (0..10).map(|n| task(&format!("t{n}"), if n % 2 == 0 { 30 } else { 10 }, "")).collect();
    let todo = [
        ("schema", ""),
        ("api", "schema"),
        ("frontend", ""),
        ("components", "frontend"),
        ("integration", "api, components"),
        ("tests", "integration"),
    ];
    let todo: String = todo.iter().map(|(id, before)| task(id, 5, before)).collect();
    for (name, tasks, told) in [("ten mixed tasks", mixed, 70.0), ("the todo app", todo, 20.0)] {
        let text = format!("tasks:\n{tasks}");
        assert_eq!(expect_same(name, &text, 3, soak), told * 50.0, "{name}");
    }
}

/// What was rehearsed, which the real run is near to.
#[track_caller]
fn expect_same(name: &str, text: &str, slots: u32, soak: bool) -> f64 {
    let mut tried = (0..TRIES).map(|_| both(text, slots));
    let fits = |(told, real): &(f64, f64)| {
        let off = (real / told - 1.0) * 100.0;
        eprintln!("{name}: {told} ms rehearsed, {real} ms in fact, {off:+.1} %");
        let most = match soak {
            true => told * (1.0 + QUIET),
            false => told * (1.0 + BUSY.0) + BUSY.1.as_millis() as f64,
        };
        // Nothing sleeps less than it was told to.
        *real >= told * (1.0 - QUIET) && *real <= most
    };
    let (told, _) = tried.find(fits).unwrap_or_else(|| panic!("{name}, {slots} at once:\n{text}"));
    told
}
