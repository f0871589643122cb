//! Runs in a state directory that other runs have used before: none of them disturbs another (A12), and what is wrong
//! with an old one stops no new one.

use std::fs;

use serde_json::Value;

use crate::harness::{World, expect_no_leftovers, wait_for};

const WATCHED: &str = "
tasks:
  - { id: first, run: AGENT touch started then await go }
  - { id: second, run: 'echo 2 > second.txt', dependencies: [first] }
";

fn head(world: &World, run: &str) -> std::path::PathBuf {
    world.home().join("runs").join(run).join("head")
}

fn witness(world: &World, run: &str) -> u64 {
    u64::from_le_bytes(fs::read(head(world, run)).unwrap().try_into().unwrap())
}

fn last_event(world: &World, run: &str) -> u64 {
    let query = format!("SELECT max(seq) FROM events JOIN runs ON key = run WHERE id = '{run}'");
    world.sql(&query).trim().parse().unwrap()
}

/// `run --watch` reads the earlier runs of its file while it writes its own.
#[test]
fn a_watched_run_learns_from_earlier_runs_and_disturbs_none() {
    let world = World::with(WATCHED);
    world.write("go", "");
    world.conductor(&["run", "tasks.yaml"]).expect(0);
    let earlier = world.run_id();
    let before = last_event(&world, &earlier);
    fs::remove_file(world.path("go")).unwrap();
    fs::remove_file(world.path("started")).unwrap();
    let live = world.start(&["run", "tasks.yaml", "--watch"]);
    world.wait_for_file("started");
    let join = |many: usize| {
        let more: String =
            (0..many).map(|n| format!("  - {{ id: t{n}, run: 'true', dependencies: [first] }}\n")).collect();
        world.write("tasks.yaml", &format!("{}\n{more}", WATCHED.trim_end()));
    };
    for many in 1..=5 {
        join(many);
        live.wait_for_stderr(&format!("1 task joined: t{}", many - 1));
    }
    world.write("go", "");
    live.ended().expect(0).says("7 of 7 completed");
    for run in world.runs() {
        assert_eq!(witness(&world, &run), last_event(&world, &run), "the witness of {run}");
        expect_no_leftovers(&run);
    }
    assert_eq!(last_event(&world, &earlier), before, "an earlier run is only read");
    world.conductor(&["run", "tasks.yaml"]).expect(0);
}

/// An earlier run of the same file, whose witness says more than its log holds.
fn with_a_wrong_witness() -> (World, String) {
    let world = World::with("tasks: [{ id: a, run: 'true' }]");
    world.conductor(&["run", "tasks.yaml"]).expect(0);
    let run = world.run_id();
    fs::write(head(&world, &run), 99u64.to_le_bytes()).unwrap();
    (world, run)
}

#[test]
fn a_damaged_history_stops_no_new_run_and_is_told_once() {
    let (world, broken) = with_a_wrong_witness();
    std::process::Command::new("git").args(["init", "-q"]).current_dir(world.path("")).status().unwrap();
    let ended = world.conductor(&["run", "tasks.yaml", "--isolation", "none"]).expect(0);
    let told = format!("earlier run {broken} cannot be read and is left out");
    assert_eq!(ended.stderr.matches(&told).count(), 1, "{}", ended.stderr);
    world.conductor(&["rehearse", "tasks.yaml"]).expect(0).says(&told);
    world.conductor(&["run", "--resume", &broken]).expect(1).says("but 99 had been written");
    let left_out = format!("run {broken} cannot be read and is left out");
    world.conductor(&["cost", "--all"]).expect(0).says(&left_out);
    // The newest run that can be read is the one that is meant.
    let newest = world.runs().into_iter().find(|run| *run != broken).unwrap();
    world.conductor(&["logs", "a"]).expect(0);
    world.conductor(&["runs", "show", &newest]).expect(0);
}

#[test]
fn doctor_finds_a_wrong_witness_and_puts_it_right() {
    let (world, broken) = with_a_wrong_witness();
    let held = last_event(&world, &broken);
    let found = world.conductor(&["doctor"]).expect(1);
    let counts = format!("run {broken}: its log ends at event {held}, its witness says 99");
    found.says(&counts).says("nothing on the disk tells which").says("doctor --fix");
    assert_eq!(witness(&world, &broken), 99, "doctor only looks");
    let fixed = world.conductor(&["doctor", "--fix"]).expect(0);
    fixed.says(&format!("the witness says {held} now")).says("head.said-99");
    assert_eq!(witness(&world, &broken), held);
    let kept = fs::read(head(&world, &broken).with_file_name("head.said-99")).unwrap();
    assert_eq!(kept, 99u64.to_le_bytes());
    world.conductor(&["runs", "show", &broken]).expect(0);
}

/// The number of another run, noted for the wrong one.
#[test]
fn doctor_knows_the_number_of_another_run() {
    let world = World::with("tasks: [{ id: a, run: 'true' }]");
    world.conductor(&["run", "tasks.yaml"]).expect(0);
    let short = world.run_id();
    world.write(
        "more.yaml",
        "tasks: [{ id: a, run: 'true' }, { id: b, run: 'true' }, { id: c, run: 'true' }]",
    );
    world.conductor(&["run", "more.yaml"]).expect(0);
    let long = world.runs().into_iter().find(|run| *run != short).unwrap();
    fs::copy(head(&world, &long), head(&world, &short)).unwrap();
    world.conductor(&["doctor"]).expect(1).says(&format!("of run {long} was written in that moment"));
}

/// A log that was cut off in the middle of a run is not declared whole.
#[test]
fn doctor_does_not_declare_a_log_whole_that_lost_its_end() {
    let world = World::with("tasks: [{ id: a, run: AGENT touch up then await go }]");
    let mut live = world.start(&["run", "tasks.yaml"]);
    world.wait_for_file("up");
    let run = world.run_id();
    wait_for("the number of the process", || (world.logged("process_started").len() == 1).then_some(()));
    live.child.kill().unwrap();
    live.child.wait().unwrap();
    fs::write(head(&world, &run), 99u64.to_le_bytes()).unwrap();
    let fixed = world.conductor(&["doctor", "--fix", "--json"]).expect(1);
    let findings = fixed.json();
    let of_witness = |finding: &&Value| finding["check"] == "witnesses";
    let finding = findings["findings"].as_array().unwrap().iter().find(of_witness).unwrap();
    assert!(finding["told"].as_str().unwrap().contains("its last events are lost"), "{finding}");
    assert_eq!(witness(&world, &run), 99);
}

/// What is there without the database is named, and nothing pretends that there never was anything.
#[test]
fn a_deleted_database_is_missed() {
    let world = World::with("tasks: [{ id: a, run: 'true' }]");
    world.conductor(&["run", "tasks.yaml"]).expect(0);
    let run = world.run_id();
    for name in ["conductor.db", "conductor.db-wal", "conductor.db-shm"] {
        let _ = fs::remove_file(world.home().join(name));
    }
    for command in
        [["runs", "list"].as_slice(), &["status"], &["events"], &["logs", "a"], &["run", "tasks.yaml"]]
    {
        let ended = world.conductor(command).expect(1);
        ended.says("conductor.db is missing").says(&run);
    }
    world.conductor(&["doctor"]).expect(1).says("conductor.db is missing").says(&run);
    assert!(!world.database().exists(), "none is made in its place");
}
