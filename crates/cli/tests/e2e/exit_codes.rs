//! Every exit code, with a case that ends with it.

use crate::harness::{World, wait_for};

#[test]
fn exit_100_when_a_task_failed_and_dependents_name_the_culprit() {
    let world = World::with(
        "
tasks:
  - { id: ok, run: AGENT touch done }
  - { id: bad, run: AGENT say about to fail then exit 3 }
  - { id: child, run: AGENT touch done, dependencies: [bad] }
  - { id: grandchild, run: AGENT touch done, dependencies: [child] }
",
    );
    let ended = world.conductor(&["run", "tasks.yaml", "-p", "2"]).expect(100);
    assert_eq!(world.read("done").lines().count(), 1);
    let ended = ended.says("failed bad: exit code 3").says("| about to fail");
    let ended = ended.says("skipped child: needs bad").says("1 of 4 completed, 1 failed, 2 skipped");
    ended.says(&format!("next   conductor run --resume {} --retry-failed", world.run_id()));
    let summary = world.summary();
    let child = &summary["results"][2];
    assert_eq!((&child["status"], &child["error"]["culprit"]), (&"skipped".into(), &"bad".into()));
    assert_eq!(world.statuses()["grandchild"], "skipped");
    assert_eq!(summary["outcome"], "failed");
}

#[test]
fn exit_2_for_usage() {
    let world = World::with("tasks: [{ id: a, run: 'true' }]");
    for args in [
        &["run", "tasks.yaml", "-p", "0"][..],
        &["run", "tasks.yaml", "--no-such-flag"],
        &["run", "tasks.yaml", "--only", "missing"],
        &["run", "--resume", "nosuchrun"],
        &["no-such-command"],
    ] {
        let ended = world.conductor(args).expect(2);
        assert!(!ended.stderr.is_empty(), "{args:?} says nothing");
    }
    assert_eq!(world.sql_runs(), "0");
}

#[test]
fn exit_3_for_an_invalid_file() {
    let world = World::with("tasks: [{ id: a, run: 'true', dependencies: [b] }]");
    world.conductor(&["run", "tasks.yaml"]).expect(3).says("tasks.yaml:1:46").says("nothing was started");
    assert_eq!(world.runs(), [""; 0]);
}

#[test]
fn exit_4_when_there_is_nothing_to_do() {
    let world = World::with("tasks: [{ id: a, run: AGENT touch done }]");
    world.conductor(&["run", "--resume"]).expect(4).says("no unfinished run");
    world.conductor(&["run", "tasks.yaml"]).expect(0);
    world.conductor(&["run", "--resume"]).expect(4);
    let id = world.run_id();
    world.conductor(&["run", "--resume", &id]).expect(4).says("nothing left to do");
    world.conductor(&["run", "--resume", &id, "--retry-failed"]).expect(4);
    assert_eq!(world.read("done").lines().count(), 1);
}

#[test]
fn exit_6_when_the_attempts_are_spent_and_a_higher_limit_goes_on() {
    let world = World::with(
        "tasks: [{ id: a, run: AGENT touch done }, { id: b, run: AGENT touch done }, { id: c, run: AGENT touch done }]",
    );
    world
        .conductor(&["run", "tasks.yaml", "--max-attempts", "2"])
        .expect(6)
        .says("--max-attempts N   (it was 2)");
    assert_eq!(world.read("done").lines().count(), 2);
    world.conductor(&["run", "--resume", "--max-attempts", "10"]).expect(0);
    assert_eq!(world.read("done").lines().count(), 3);
}

#[test]
fn exit_7_when_no_agent_can_do_a_task() {
    for (task, why) in [
        ("{ id: b, prompt: Build it }", "claude is not installed; install it with"),
        ("{ id: b, run: make, agent: absent }", "there is no agent 'absent'"),
    ] {
        let mut world = World::with(&format!("tasks: [{{ id: a, run: AGENT touch done }}, {task}]"));
        world.set("PATH", "/usr/bin:/bin");
        world.conductor(&["run", "tasks.yaml"]).expect(7).says("task 'b'").says(why);
        assert_eq!(world.read("done"), "", "nothing is started before everything can be");
        assert_eq!(world.runs(), [""; 0]);
    }
}

#[test]
fn exit_8_while_another_process_works_on_the_run() {
    let world = World::with("tasks: [{ id: a, run: AGENT touch done then await go }]");
    let first = world.start(&["run", "tasks.yaml"]);
    world.wait_for_file("done");
    let id = world.run_id();
    world.conductor(&["run", "--resume", &id]).expect(8).says(&id).says("another conductor");
    world.write("go", "");
    first.ended().expect(0);
    assert_eq!(world.read("done").lines().count(), 1);
}

#[test]
fn fail_fast_starts_nothing_after_the_first_failure() {
    let world = World::with(
        "
tasks:
  - { id: a, run: AGENT touch done }
  - { id: b, run: AGENT exit 1 }
  - { id: c, run: AGENT touch done }
",
    );
    world.conductor(&["run", "tasks.yaml", "--fail-fast"]).expect(100).says("starting nothing new");
    assert_eq!(world.read("done").lines().count(), 1);
    assert_eq!(world.statuses()["c"], "pending");
    world.conductor(&["run", "--resume", "--keep-going"]).expect(100);
    assert_eq!(world.statuses()["c"], "completed");
}

#[test]
fn retry_failed_does_again_what_failed_or_was_skipped_and_nothing_else() {
    let world = World::with(
        "
tasks:
  - { id: ok, run: AGENT touch done }
  - { id: mended, run: 'AGENT touch done && test -e mended' }
  - { id: after, run: AGENT touch done, dependencies: [mended] }
",
    );
    world.conductor(&["run", "tasks.yaml"]).expect(100);
    world.write("mended", "");
    world.conductor(&["run", "--retry-failed"]).expect(0).says("3 of 3 completed");
    let done = world.read("done");
    let mut tasks: Vec<&str> = done.lines().map(|line| line.split(' ').next().unwrap()).collect();
    tasks.sort_unstable();
    assert_eq!(tasks, ["after", "mended", "mended", "ok"]);
}

#[test]
fn a_timeout_fails_the_task_and_ends_its_process() {
    let world = World::with(
        "tasks: [{ id: slow, run: AGENT pid slow.pid then sleep 600, timeout: 1 }, { id: next, run: AGENT touch done }]",
    );
    world.conductor(&["run", "tasks.yaml"]).expect(100).says("failed slow: ");
    let summary = world.summary();
    assert_eq!(summary["results"][0]["error"]["class"], "timed_out", "{summary}");
    assert_eq!(world.statuses()["next"], "completed");
    let pid: u32 = world.read("slow.pid").parse().unwrap();
    wait_for("the process to go", || (!crate::harness::is_alive(pid)).then_some(()));
}

#[test]
fn a_missing_command_is_named_and_not_tried_again() {
    let world = World::with(
        "tasks: [{ id: a, run: no-such-program-here --flag, retry_policy: { max_attempts: 5, initial_delay: 10ms } }]",
    );
    world.conductor(&["run", "tasks.yaml"]).expect(100).says("command not found: no-such-program-here");
    assert_eq!(world.logged("attempt_started").len(), 1);
}

impl World {
    /// How many runs the database knows; 0 where there is none.
    fn sql_runs(&self) -> String {
        match self.database().exists() {
            true => self.sql("SELECT count(*) FROM runs").trim().to_owned(),
            false => "0".to_owned(),
        }
    }
}
