//! Steering a run that is not active, and cancelling by hand: what is recorded, what it is called, and what comes next.

use rustix::process::Signal;

use crate::harness::{Live, World, expect_no_leftovers, wait_for};

const CHAIN: &str = "
tasks:
  - { id: first, run: AGENT touch done then await go }
  - { id: second, run: AGENT touch done, dependencies: [first] }
  - { id: other, run: AGENT touch done }
";

/// A run whose coordinator was killed while `first` was at work.
fn killed(tasks: &str) -> (World, String) {
    let (world, live) = at_work(tasks);
    live.signal(Signal::KILL);
    live.ended();
    let run = world.run_id();
    (world, run)
}

/// A run that was left by two Ctrl-C while `first` was at work.
fn interrupted(tasks: &str) -> (World, String) {
    let (world, live) = at_work(tasks);
    live.signal(Signal::INT);
    wait_for("the run to be drained", || (world.sql(DRAINED).trim() == "1").then_some(()));
    live.signal(Signal::INT);
    live.ended().expect(130);
    let run = world.run_id();
    (world, run)
}

const DRAINED: &str = "SELECT count(*) FROM events WHERE json_extract(body, '$.run_drained') IS NOT NULL";

fn at_work(tasks: &str) -> (World, Live) {
    let world = World::with(tasks);
    let live = world.start(&["run", "tasks.yaml"]);
    world.wait_for_file("done");
    (world, live)
}

fn status_of(world: &World, task: &str) -> String {
    let status = world.conductor(&["runs", "show", "--json"]).json();
    let results = status["results"].as_array().unwrap().clone();
    let found = results.into_iter().find(|result| result["task_id"] == task);
    found.unwrap_or_else(|| panic!("no {task} in {status}"))["status"].as_str().unwrap().to_owned()
}

#[test]
fn a_run_that_the_user_cancelled_is_cancelled_with_exit_9_and_not_failed() {
    let world = World::with(CHAIN);
    let live = world.start(&["run", "tasks.yaml"]);
    world.wait_for_file("done");
    world.conductor(&["cancel", "first"]).expect(0).says("first is cancelled");
    let run = world.run_id();
    let ended = live
        .ended()
        .expect(9)
        .says(&format!("run {run} cancelled: 1 of 3 completed, 1 skipped, 1 cancelled"));
    ended
        .says("skipped second: needs first")
        .says(&format!("next   conductor run --resume {run} --retry-failed"));
    let statuses = world.statuses();
    assert_eq!(
        (&*statuses["first"], &*statuses["second"], &*statuses["other"]),
        ("cancelled", "skipped", "completed")
    );
    assert_eq!(world.summary()["outcome"], "cancelled");
    assert_eq!(world.sql("SELECT status FROM runs").trim(), "cancelled");
    world.conductor(&["wait", &run]).expect(9);
    world.conductor(&["explain", "9"]).expect(0).says("cancelled");
    world.conductor(&["runs", "list"]).expect(0).says("cancelled");
    world.conductor(&["run", "--resume", &run]).expect(4).says("nothing left to do");
    world.write("go", "");
    world.conductor(&["run", "--resume", &run, "--retry-failed"]).expect(0).says("3 of 3 completed");
}

#[test]
fn a_run_with_a_failed_and_a_cancelled_task_has_failed() {
    let world = World::with(
        "
tasks:
  - { id: bad, run: AGENT exit 1 }
  - { id: slow, run: AGENT touch done then await go }
",
    );
    let live = world.start(&["run", "tasks.yaml"]);
    world.wait_for_file("done");
    world.conductor(&["cancel", "slow"]).expect(0);
    live.ended().expect(100).says("failed: 0 of 2 completed, 1 failed, 1 cancelled");
    assert_eq!(world.summary()["outcome"], "failed");
}

#[test]
fn everything_cancelled_is_cancelled_and_none_is_called_skipped() {
    let world = World::with(CHAIN);
    let live = world.start(&["run", "tasks.yaml", "-p", "1"]);
    world.wait_for_file("done");
    world.conductor(&["cancel", "--all"]).expect(0);
    live.ended().expect(9).says("0 of 3 completed, 3 cancelled");
}

#[test]
fn a_cancelled_run_that_is_over_is_pruned_like_any_other() {
    let world = World::with(CHAIN);
    let live = world.start(&["run", "tasks.yaml"]);
    world.wait_for_file("done");
    world.conductor(&["cancel", "--all"]).expect(0);
    live.ended().expect(9);
    world.conductor(&["runs", "prune", "--keep", "0", "--yes"]).expect(0);
    assert!(world.runs().is_empty(), "{:?}", world.runs());
}

#[test]
fn a_task_of_a_run_that_was_left_is_cancelled_and_the_next_command_is_named() {
    let (world, run) = interrupted(CHAIN);
    world
        .conductor(&["task", "cancel", "other", "--run", &run])
        .expect(0)
        .says("other is cancelled")
        .says(&format!("conductor run --resume {run}"));
    assert_eq!(status_of(&world, "other"), "cancelled");
    world.write("go", "");
    world.conductor(&["run", "--resume", &run]).expect(9).says("2 of 3 completed, 1 cancelled");
}

#[test]
fn a_task_that_was_at_work_when_the_coordinator_was_killed_can_be_cancelled() {
    let (world, run) = killed(CHAIN);
    world.conductor(&["task", "cancel", "first", "--run", &run]).expect(0).says("first is cancelled");
    wait_for("its process to end", || crate::harness::leftovers(&run).is_empty().then_some(()));
    world.conductor(&["run", "--resume", &run]).expect(9).says("1 of 3 completed, 1 skipped, 1 cancelled");
    assert_eq!(world.logged("attempt_started"), ["first", "other"], "a cancelled task is not begun again");
    assert_eq!(status_of(&world, "second"), "skipped");
}

#[test]
fn cancelling_all_of_a_run_that_was_left_ends_it() {
    for made in [killed, interrupted] {
        let (world, run) = made(CHAIN);
        world
            .conductor(&["cancel", "--all", "--run", &run])
            .expect(0)
            .says(&format!("everything in run {run} is cancelled"));
        assert_eq!(world.sql("SELECT status FROM runs").trim(), "cancelled");
        assert_eq!(world.summary()["outcome"], "cancelled");
        expect_no_leftovers(&run);
        world.conductor(&["wait", &run]).expect(9);
        world.conductor(&["cancel", "--all", "--run", &run]).expect(4).says("the run is over");
    }
}

#[test]
fn a_group_and_a_single_task_of_a_run_that_was_left_are_cancelled_by_the_verb_too() {
    let tasks = "
tasks:
  - { id: first, run: AGENT touch done then await go }
  - { id: docs, run: AGENT touch done, group: g }
  - { id: more, run: AGENT touch done, group: g }
";
    let (world, run) = interrupted(tasks);
    world.conductor(&["cancel", "--group", "h", "--run", &run]).expect(2).says("there is no group 'h'");
    world.conductor(&["cancel", "--group", "g", "--run", &run]).expect(0).says("group g is cancelled");
    world.conductor(&["cancel", "frist", "--run", &run]).expect(2).says("did you mean 'first'?");
    world.conductor(&["cancel", "first", "--run", &run]).expect(0).says("first is cancelled");
    assert_eq!(world.sql("SELECT status FROM runs").trim(), "cancelled", "nothing was left to do");
}

#[test]
fn a_task_of_a_run_that_was_left_is_skipped_and_what_needs_it_too() {
    let (world, run) = interrupted(CHAIN);
    world.conductor(&["task", "skip", "other", "--run", &run]).expect(0).says("other is skipped");
    assert_eq!(status_of(&world, "other"), "skipped");
    world.write("go", "");
    world.conductor(&["run", "--resume", &run]).expect(100);
    assert_eq!(world.logged("attempt_started"), ["first", "first", "second"]);
}

#[test]
fn one_failed_task_of_a_run_that_is_over_is_retried_and_the_others_are_not() {
    let world = World::with(
        "
tasks:
  - { id: a, run: 'AGENT touch done && test -e mended' }
  - { id: after, run: AGENT touch done, dependencies: [a] }
  - { id: b, run: 'AGENT touch done && test -e never' }
",
    );
    world.conductor(&["run", "tasks.yaml"]).expect(100);
    let run = world.run_id();
    world.write("mended", "");
    world.conductor(&["task", "retry", "after", "--run", &run]).expect(4).says("retry 'a'");
    world
        .conductor(&["task", "retry", "a", "--run", &run])
        .expect(0)
        .says("a is done again")
        .says(&format!("conductor run --resume {run}"));
    world.conductor(&["status", &run]).expect(0).says("conductor run --resume");
    world.conductor(&["wait", &run]).expect(130);
    world.conductor(&["run", "--resume"]).expect(100).says("2 of 3 completed, 1 failed");
    assert_eq!(world.logged("attempt_started"), ["a", "b", "a", "after"]);
}

#[test]
fn what_a_left_run_does_not_allow_is_refused_and_nothing_is_written() {
    let (world, run) = interrupted(CHAIN);
    let before = world.sql("SELECT count(*) FROM events");
    world
        .conductor(&["task", "retry", "second", "--run", &run])
        .expect(4)
        .says("only a task that has ended badly can be retried");
    world.conductor(&["task", "skip", "missing", "--run", &run]).expect(2);
    assert_eq!(world.sql("SELECT count(*) FROM events"), before);
}
