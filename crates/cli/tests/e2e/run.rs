//! `conductor run`, when all goes as it should.

use std::collections::BTreeSet;

use crate::harness::{World, expect_no_leftovers};

/// The shape of `examples/graph.yaml`, leaving a line for each task.
const DIAMOND: &str = "
tasks:
  - { id: schema, run: AGENT touch done }
  - { id: api, run: AGENT touch done, dependencies: [schema] }
  - { id: ui, run: AGENT touch done, dependencies: [schema] }
  - { id: e2e, run: AGENT touch done, dependencies: [api, ui] }
";

/// The tasks that left a line in a file, in order.
fn order(world: &World, file: &str) -> Vec<String> {
    world.read(file).lines().map(|line| line.split(' ').next().unwrap().to_owned()).collect()
}

#[test]
fn a_graph_completes_in_order() {
    let world = World::with(DIAMOND);
    let ended = world.conductor(&["run", "tasks.yaml", "-p", "4"]).expect(0);
    let order = order(&world, "done");
    assert_eq!(order.len(), 4, "{order:?}");
    assert_eq!((order[0].as_str(), order[3].as_str()), ("schema", "e2e"));
    ended.says("4 of 4 completed");
    expect_no_leftovers(&world.run_id());
}

#[test]
fn the_example_of_a_graph_runs() {
    let world = World::new();
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/graph.yaml");
    world.conductor(&["run", file, "--parallel", "3"]).expect(0).says("6 of 6 completed");
}

/// Where all tasks share one directory, a change cannot be assigned to a task. Only an attempt during which
/// nothing changed at all is known to have made no changes.
#[test]
fn in_place_only_the_absence_of_any_change_is_judged() {
    let world = World::with(
        "
tasks:
  - { id: a, run: touch new, changes: required }
  - { id: b, run: touch other, changes: forbidden }
  - { id: liar, run: 'true', changes: required }
",
    );
    let ended = world.conductor(&["run", "tasks.yaml"]).expect(100).says("2 of 3 completed, 1 failed");
    ended.says("failed liar: it succeeded but made no changes (changes are required)");
}

#[test]
fn tasks_run_side_by_side() {
    let world = World::with(
        "
tasks:
  - { id: a, run: AGENT make a-is-here then await b-is-here, timeout: 60 }
  - { id: b, run: AGENT make b-is-here then await a-is-here, timeout: 60 }
",
    );
    world.conductor(&["run", "tasks.yaml", "-p", "2"]).expect(0);
}

#[test]
fn one_at_a_time_is_the_default() {
    let world = World::with(
        "
tasks:
  - { id: a, run: 'mkdir busy && sleep 0.1 && rmdir busy' }
  - { id: b, run: 'mkdir busy && sleep 0.1 && rmdir busy' }
  - { id: c, run: 'mkdir busy && sleep 0.1 && rmdir busy' }
",
    );
    world.conductor(&["run", "tasks.yaml"]).expect(0);
}

#[test]
fn only_runs_what_was_asked_for() {
    let world = World::with(DIAMOND);
    world.conductor(&["run", "tasks.yaml", "--only", "+api"]).expect(0).says("2 of 2 completed");
    assert_eq!(order(&world, "done"), ["schema", "api"]);
}

#[test]
fn a_dry_run_starts_nothing_and_leaves_nothing() {
    let world = World::with(DIAMOND);
    world.conductor(&["run", "tasks.yaml", "--dry-run"]).expect(0).says("nothing was started");
    assert_eq!(order(&world, "done"), [""; 0]);
    assert_eq!(world.runs(), [""; 0]);
    assert!(!world.database().exists());
    let plan = world.conductor(&["run", "tasks.yaml", "--dry-run", "--json"]).expect(0).json();
    assert_eq!(plan["num_tasks"], 4);
}

#[test]
fn json_lines_are_numbered_without_a_gap_and_end_with_the_summary() {
    let world = World::with(DIAMOND);
    let ended = world.conductor(&["run", "tasks.yaml", "-p", "2", "--json"]).expect(0);
    let mut lines = ended.json_lines();
    let summary = lines.pop().unwrap();
    assert_eq!((&summary["type"], &summary["completed"]), (&"summary".into(), &4.into()));
    assert_eq!(summary["schema"], "conductor.summary/1");
    assert!(lines.iter().all(|line| line["schema"] == "conductor.event/1"), "{}", ended.stdout);
    let seqs: Vec<u64> = lines.iter().map(|line| line["seq"].as_u64().unwrap()).collect();
    let expected: Vec<u64> = (seqs[0]..seqs[0] + seqs.len() as u64).collect();
    assert_eq!(seqs, expected);
    let kinds: BTreeSet<&str> = lines.iter().map(|line| line["type"].as_str().unwrap()).collect();
    assert!(
        kinds.is_superset(&["run_started", "attempt_started", "task_completed", "run_finished"].into()),
        "{kinds:?}"
    );
    let last = world.sql("SELECT max(seq) FROM events");
    assert_eq!(last.trim(), seqs.last().unwrap().to_string(), "the last event shown is the last one stored");
}

#[test]
fn the_output_directory_gets_every_file() {
    let world = World::with("tasks: [{ id: good, run: echo hello }, { id: bad, run: 'echo sorry; exit 3' }]");
    world.conductor(&["run", "tasks.yaml", "-o", "out"]).expect(100);
    let json = |name: &str| -> serde_json::Value { serde_json::from_str(&world.read(name)).unwrap() };
    let plan = json("out/execution_plan.json");
    for key in [
        "num_tasks",
        "executor_budget",
        "execution_model",
        "tasks",
        "dependencies",
        "execution_strategy",
        "notes",
    ] {
        assert!(plan.get(key).is_some(), "{key}");
    }
    let summary = json("out/execution_summary.json");
    assert_eq!(
        (&summary["total_tasks"], &summary["completed"], &summary["failed"]),
        (&2.into(), &1.into(), &1.into())
    );
    assert_eq!(summary["success_rate"], 50.0);
    assert!(world.read("out/report.md").contains("| bad | failed |"));
    let log = world.read("out/orchestrator.log");
    for line in ["Z run ", "Z       start   good", "FAILED  bad", "Z run "] {
        assert!(log.contains(line), "{line} in\n{log}");
    }
    assert!(log.ends_with(" failed\n"), "{log}");
    assert_eq!(world.read("out/executor_1/good/transcript.log"), "hello\n");
    assert_eq!(json("out/executor_1/good/result.json")["status"], "completed");
    assert_eq!(json("out/executor_1/bad/result.json")["error"]["message"], "exit code 3");
}

#[test]
fn a_failed_attempt_is_tried_again_after_a_while() {
    let world = World::with(
        "
tasks:
  - id: flaky
    run: 'AGENT touch tries; wc -l < tries; test $(wc -l < tries) -ge 2'
    retry_policy: { max_attempts: 2, initial_delay: 100ms, jitter: 0 }
",
    );
    let ended = world.conductor(&["run", "tasks.yaml"]).expect(0);
    assert_eq!(order(&world, "tries").len(), 2);
    ended.says("retry   flaky  in 100ms: exit code 1").says("start   flaky  attempt 2");
    assert_eq!(world.summary()["results"][0]["attempts"], 2);
    assert_eq!(world.transcripts("flaky").len(), 2);
}

#[test]
fn attempts_end_with_the_policy() {
    let world = World::with(
        "
tasks:
  - { id: hopeless, run: 'AGENT touch tries then exit 1', retry_policy: { max_attempts: 3, initial_delay: 10ms } }
",
    );
    world.conductor(&["run", "tasks.yaml"]).expect(100);
    assert_eq!(order(&world, "tries").len(), 3);
}

#[test]
fn a_task_file_can_come_from_standard_input_as_json() {
    let world = World::new();
    let file = br#"{"tasks": [{"id": "a", "run": ["echo", "$(id) as it is"]}]}"#;
    world.conductor_with_input(&["run", "-"], file).expect(0);
    assert_eq!(world.transcript("a"), b"$(id) as it is\n", "a list of words is never read by a shell");
}

#[test]
fn only_named_variables_reach_a_task() {
    let mut world = World::with(
        "
tasks:
  - { id: plain, run: env, env: { MINE: 'yes' } }
  - { id: asks, run: 'env; test $DATABASE_URL = canary-5a17', env_pass: [DATABASE_URL] }
",
    );
    for name in ["ANTHROPIC_API_KEY", "GITHUB_TOKEN", "DATABASE_URL", "SSH_AUTH_SOCK"] {
        world.set(name, "canary-5a17");
    }
    world.set("LANG", "C.UTF-8");
    world.conductor(&["run", "tasks.yaml"]).expect(0);
    let text = String::from_utf8(world.transcript("plain")).unwrap();
    let names: BTreeSet<&str> = text.lines().filter_map(|line| Some(line.split_once('=')?.0)).collect();
    let ours = [
        "CONDUCTOR_ATTEMPT",
        "CONDUCTOR_COORDINATOR",
        "CONDUCTOR_RUN",
        "CONDUCTOR_RUN_FOLDER",
        "CONDUCTOR_TASK",
    ];
    let expected = [&ours[..], &["HOME", "LANG", "MINE", "PATH"]].concat();
    assert_eq!(names, BTreeSet::from_iter(expected), "{text}");
    assert!(
        text.contains(&format!("CONDUCTOR_RUN={}\n", world.run_id()))
            && text.contains("CONDUCTOR_TASK=plain\n")
    );
    let asked = String::from_utf8(world.transcript("asks")).unwrap();
    assert!(asked.contains("DATABASE_URL=***********\n"), "given to the task, but hidden here: {asked}");
}

/// E10 for what there is so far: secrets of the caller are nowhere on disk unless a task printed them.
#[test]
fn a_secret_of_the_caller_is_nowhere_in_the_state() {
    let mut world = World::with(DIAMOND);
    world.set("GITHUB_TOKEN", "canary-77e1");
    world.conductor(&["run", "tasks.yaml", "--json"]).expect(0);
    let found = world.command_of("grep").args(["-rlF", "canary-77e1"]).arg(world.root()).output().unwrap();
    assert_eq!(String::from_utf8_lossy(&found.stdout), "");
}

#[test]
fn output_that_is_no_terminal_has_no_escapes() {
    for no_color in [false, true] {
        let mut world = World::with("tasks: [{ id: a, run: 'true' }, { id: b, run: 'false' }]");
        world.set("TERM", "xterm-256color");
        if no_color {
            world.set("NO_COLOR", "1");
        }
        let ended = world.conductor(&["run", "tasks.yaml"]).expect(100);
        assert!(!ended.stdout.contains('\x1b') && !ended.stderr.contains('\x1b'), "{ended:?}");
    }
}

#[test]
fn answers_are_on_stdout_and_progress_on_stderr() {
    let world = World::with(DIAMOND);
    let ended = world.conductor(&["run", "tasks.yaml"]).expect(0);
    assert!(ended.stderr.contains("[4/4] ok") && !ended.stdout.contains("[4/4]"), "{ended:?}");
    assert!(
        ended.stdout.contains("4 of 4 completed") && !ended.stderr.contains("of 4 completed"),
        "{ended:?}"
    );
}

#[test]
fn a_second_run_into_the_same_directory_does_not_mix_with_the_first() {
    let world = World::with("tasks: [{ id: a, run: echo hello }]");
    for _ in 0..2 {
        world.conductor(&["run", "tasks.yaml", "-o", "out"]).expect(0);
        assert_eq!(world.read("out/executor_1/a/transcript.log"), "hello\n");
    }
}

/// Each task ends before its processes were looked at, while leftovers of other tasks are being looked for.
#[test]
fn a_thousand_tasks_that_end_at_once_all_complete() {
    let tasks: String = (0..1000).map(|task| format!("  - {{ id: t{task}, run: 'true' }}\n")).collect();
    let world = World::with(&format!("tasks:\n{tasks}"));
    world.conductor(&["run", "tasks.yaml", "-p", "8"]).expect(0).says("1000 of 1000 completed");
}
