//! `run --watch`: a task file that is edited while its run goes on.

use rustix::process::Signal;

use crate::harness::World;

const FIRST: &str = "
tasks:
  - { id: first, run: AGENT touch started then await go }
  - { id: second, run: 'echo as it was > second.txt', dependencies: [first] }
";

#[test]
fn tasks_join_and_change_while_the_run_goes_on() {
    let tasks = |more: &str| format!("{}\n{more}", FIRST.trim_end());
    let world = World::with(FIRST);
    let live = world.start(&["run", "tasks.yaml", "--watch", "-p", "1"]);
    world.wait_for_file("started");
    world.write(
        "tasks.yaml",
        &tasks("  - { id: third, run: 'echo 3 > third.txt', dependencies: [second, firts] }"),
    );
    live.wait_for_stderr("is not valid; the run goes on as before");
    live.wait_for_stderr("tasks.yaml:5:");
    world.write("tasks.yaml", &tasks("  - { id: third, run: 'echo 3 > third.txt', dependencies: [second] }"));
    live.wait_for_stderr("1 task joined: third");
    let changed = tasks("  - { id: third, run: 'echo 3 > third.txt', dependencies: [second] }")
        .replace("as it was", "otherwise")
        .replace("await go }", "await gone }");
    world.write("tasks.yaml", &changed);
    live.wait_for_stderr("task 'first' has begun and keeps its text");
    live.wait_for_stderr("1 task updated: second");
    world.write("tasks.yaml", &changed.replace("id: third", "id: fourth").replace("[second]", "[first]"));
    live.wait_for_stderr("task 'third' is not in");
    live.wait_for_stderr("1 task joined: fourth");
    world.write("go", "");
    let ended = live.ended().expect(0);
    assert!(ended.stderr.contains("[4/4]"), "{}", ended.stderr);
    assert_eq!((world.read("second.txt").trim(), world.read("third.txt").trim()), ("otherwise", "3"));
    let summary = world.summary();
    assert_eq!(summary["total_tasks"], 4, "{summary}");
}

#[test]
fn what_joined_is_there_after_a_crash_and_what_came_meanwhile_joins_on_resume() {
    let world = World::with(FIRST);
    let live = world.start(&["run", "tasks.yaml", "--watch"]);
    world.wait_for_file("started");
    let third = format!("{}\n  - {{ id: third, run: 'true', dependencies: [second] }}", FIRST.trim_end());
    world.write("tasks.yaml", &third);
    live.wait_for_stderr("1 task joined: third");
    live.signal(Signal::KILL);
    live.ended();
    world.write("tasks.yaml", &format!("{third}\n  - {{ id: fourth, run: 'true', dependencies: [third] }}"));
    let live = world.start(&["run", "--resume", "--watch"]);
    live.wait_for_stderr("1 task joined: fourth");
    world.write("go", "");
    live.ended().expect(0);
    assert_eq!(world.statuses().len(), 4);
    assert!(world.statuses().values().all(|status| status == "completed"), "{:?}", world.statuses());
}

#[test]
fn there_must_be_a_file_to_look_at() {
    let world = World::with(FIRST);
    world
        .conductor_with_input(&["run", "-", "--watch"], b"tasks: [{ id: a, run: 'true' }]")
        .expect(2)
        .says("--watch needs a task file");
    assert!(world.runs().is_empty(), "nothing was begun");
}
