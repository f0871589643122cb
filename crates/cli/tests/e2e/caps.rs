//! What a run may use and how urgent its tasks are, changed while it goes on and after it was left.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use crate::harness::{World, wait_for};

/// `paid` costs $1.50 and the run may cost $1; `slow` keeps it from being left for that.
pub(crate) const CAPPED: &str = "
limits: { max_cost: 1, on_budget: finish }
config: { prices: { 'house-*': { input: 0.5, output: 2 } } }
tasks:
  - { id: paid, prompt: do it, agent: teller }
  - { id: slow, run: AGENT touch began then await go }
  - { id: after, run: AGENT touch after-done, dependencies: [paid] }
";

/// One slot, `first` at work, and two that wait.
pub(crate) const IN_LINE: &str = "
tasks:
  - { id: first, run: AGENT touch began then await go, priority: high }
  - { id: second, run: AGENT exit 0 }
  - { id: third, run: AGENT exit 0 }
";

/// A place with an agent that works, and tells that it used a million tokens in and half a million out.
pub(crate) fn world(tasks: &str) -> World {
    let mut world = World::in_place(tasks);
    let bin = world.root().join("bin");
    fs::create_dir(&bin).unwrap();
    let usage = r#"{"type":"usage","model":"house-model","input":1000000,"output":500000,"turns":2}"#;
    let text = format!(
        "#!/bin/sh\nread -r task\necho work > $CONDUCTOR_TASK.txt\necho '{usage}'\n\
         echo '{{\"type\":\"result\",\"ok\":true,\"text\":\"done\"}}'\n"
    );
    let program = bin.join("conductor-agent-teller");
    fs::write(&program, text).unwrap();
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    let path = std::env::split_paths(&world.variable("PATH")).collect::<Vec<_>>();
    world.set("PATH", std::env::join_paths(std::iter::once(bin).chain(path)).unwrap());
    world
}

#[test]
fn a_run_that_starts_nothing_more_for_its_cost_goes_on_when_the_cap_is_raised() {
    let world = world(CAPPED);
    let live = world.start(&["run", "tasks.yaml", "-p", "2"]);
    world.wait_for_file("began");
    live.wait_for_stderr("budget reached, starting nothing new");
    assert!(!world.path("after-done").exists());
    let run = world.run_id();
    let said =
        world.conductor(&["cap", "--max-cost", "5", "--max-attempts", "20", "--json"]).expect(0).json();
    assert_eq!((&said["run"], &said["active"]), (&run.as_str().into(), &true.into()));
    assert_eq!((said["max_cost_usd"].as_f64(), said["max_attempts"].as_u64()), (Some(5.0), Some(20)));
    world.wait_for_file("after-done");
    live.wait_for_stderr("the run may use $5.00 from now on");
    live.wait_for_stderr("no cap is reached any more, the run goes on");
    world.write("go", "");
    live.ended().expect(0).says("3 of 3 completed");
    assert_eq!(world.logged("drain_lifted").len(), 1);
    world.conductor(&["cap", &run, "--max-cost", "9"]).expect(4).says("the run is over");
}

#[test]
fn a_cap_below_what_is_spent_leaves_the_run_and_a_higher_one_counts_for_the_next_coordinator() {
    let world = world(&CAPPED.replace("max_cost: 1", "max_cost: 3"));
    let live = world.start(&["run", "tasks.yaml", "-p", "1"]);
    world.wait_for_file("began");
    world.conductor(&["cap", "--max-cost", "0.5"]).expect(0).says("may use at most $0.50");
    live.wait_for_stderr("budget reached, starting nothing new");
    world.write("go", "");
    live.ended().expect(6);
    let run = world.run_id();
    assert!(!world.path("after-done").exists());
    let unnamed = world.conductor(&["cap", "--max-cost", "3"]).expect(4);
    unnamed.says("not active").says(&format!("name it: `conductor cap {run}"));
    let said = world.conductor(&["cap", &run, "--max-cost", "4.5"]).expect(0);
    said.says("may use at most $4.50").says(&format!("conductor run --resume {run}"));
    world.conductor(&["run", "--resume", &run]).expect(0).says("$1.50 of $4.50");
}

#[test]
fn a_cap_needs_a_number_and_something_to_count() {
    let world = World::new();
    world.conductor(&["cap"]).expect(2).says("--max-cost");
    world.conductor(&["cap", "--max-cost", "0"]).expect(2).says("an amount above 0");
    world.conductor(&["cap", "--max-tokens", "0"]).expect(2);
    world.conductor(&["cap", "--max-cost", "1"]).expect(4);
}

#[test]
fn the_priority_of_a_task_that_waits_decides_what_starts_next() {
    let world = World::in_place(IN_LINE);
    let live = world.start(&["run", "tasks.yaml", "-p", "1"]);
    world.wait_for_file("began");
    world.conductor(&["task", "priority", "third", "critical"]).expect(0).says("third has priority critical");
    live.wait_for_stderr("third has priority critical from now on");
    world.write("go", "");
    live.ended().expect(0);
    assert_eq!(world.logged("attempt_started"), ["first", "third", "second"]);
    world.conductor(&["task", "priority", "third", "low"]).expect(4).says("third' is completed");
}

#[test]
fn a_priority_is_recorded_for_a_run_that_is_not_active_and_outlives_its_coordinator() {
    let world = World::in_place(IN_LINE);
    let live = world.start(&["run", "tasks.yaml", "-p", "1"]);
    world.wait_for_file("began");
    live.signal(rustix::process::Signal::KILL);
    live.ended();
    let run = world.run_id();
    world.conductor(&["task", "priority", "second", "4"]).expect(0).says(&format!("run --resume {run}"));
    world.conductor(&["task", "priority", "third", "middling"]).expect(2).says("critical, high, medium");
    world.write("go", "");
    let resumed = world.conductor(&["run", "--resume", &run, "-p", "1"]).expect(0);
    assert!(!resumed.stderr.contains("was edited"), "its file says what it said: {}", resumed.stderr);
    let started = wait_for("four attempts", || {
        let started = world.logged("attempt_started");
        (started.len() == 4).then_some(started)
    });
    assert_eq!(started, ["first", "first", "third", "second"]);
}

#[test]
fn no_time_at_all_is_no_cap() {
    let world = World::with("tasks:\n  - { id: a, run: 'true' }\n");
    world.conductor(&["run", "tasks.yaml", "--max-time", "0s"]).expect(2).says("expected a time above 0");
    world.conductor(&["cap", "--max-time", "0"]).expect(2).says("expected a time above 0");
    assert_eq!(world.runs(), Vec::<String>::new(), "nothing was started");
}
