//! S4 and C8: hogs of memory, processors, processes, disk and open files beside a task that is none: only the hog comes to a
//! bad end. Who keeps the limits is what this machine has; both ways have tests of their own in the engine.

use std::path::PathBuf;

use rustix::process::Signal;
use serde_json::Value;

use crate::harness::{World, agent, expect_no_leftovers, skipped, wait_for};
use crate::questions;
use crate::repository::{conductor, expect_tidy, repository, start};

const INNOCENT: &str = "{ id: innocent, run: 'AGENT make made.txt' }";

/// A repository in which this hog, and a task that is none, are done side by side.
fn beside(hog: &str) -> World {
    let world = repository(&format!("tasks:\n  - {hog}\n  - {INNOCENT}\n").replace("AGENT", &agent()));
    conductor(&world, &["run", "../tasks.yaml", "-p", "2"]).expect(100);
    let statuses = world.statuses();
    assert_eq!((statuses["hog"].as_str(), statuses["innocent"].as_str()), ("failed", "completed"));
    expect_no_leftovers(&world.run_id());
    expect_tidy(&world);
    assert!(groups_of(&world).is_empty(), "nothing is left of its control groups");
    world
}

/// The class and the words of each attempt that failed, in their order.
fn failures(world: &World) -> Vec<(String, String)> {
    let of = |part: &str| format!("json_extract(body, '$.attempt_ended.outcome.failed.{part}')");
    let (class, message) = (of("class"), of("message"));
    let said = world.sql(&format!(
        "SELECT {class} || '|' || {message} FROM events WHERE {class} IS NOT NULL ORDER BY seq"
    ));
    let parts = said.lines().filter_map(|line| line.split_once('|'));
    parts.map(|(class, message)| (class.to_owned(), message.to_owned())).collect()
}

/// What is said of the hog's first attempt in the run's summary.
fn profile_of(world: &World, task: &str) -> Value {
    let results = world.summary()["results"].as_array().unwrap().clone();
    let result = results.into_iter().find(|result| result["task_id"] == task).unwrap();
    result["profile"][0].clone()
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

/// Folders of the kernel's that are named after the run.
fn groups_of(world: &World) -> Vec<PathBuf> {
    let run = world.run_id();
    let found = std::process::Command::new("find")
        .args(["/sys/fs/cgroup", "-type", "d", "-name", &format!("conductor-{run}-*")])
        .output();
    String::from_utf8(found.unwrap().stdout).unwrap().lines().map(PathBuf::from).collect()
}

fn limits_here(world: &World) -> Value {
    let found = world.conductor(&["doctor", "--machine", "--json"]).json();
    found["findings"].as_array().unwrap().iter().find(|one| one["check"] == "limits").unwrap().clone()
}

#[test]
fn a_hog_of_memory_ends_alone_and_is_not_tried_again() {
    let world = beside(
        "{ id: hog, run: 'AGENT hog 1073741824 then touch never then sleep 600', resources: { memory: 64MiB }, \
         retry_policy: { max_attempts: 3, initial_delay: 1ms } }",
    );
    let [(class, message)] = failures(&world).try_into().expect("one attempt");
    assert_eq!(class, "out_of_memory");
    for words in ["64.0 MiB", "`resources: { memory: … }`", "and had"] {
        assert!(message.contains(words), "{message}");
    }
    conductor(&world, &["explain", "out_of_memory"]).expect(0).says("Raise that");
    conductor(&world, &["explain", "hog"]).expect(0).says("64.0 MiB of memory").says("attempt 1 used");
    let attempt = profile_of(&world, "hog");
    assert!(attempt["peak_memory_together_bytes"].as_u64().is_some_and(|peak| peak > 32 << 20), "{attempt}");
}

#[test]
fn what_is_to_be_tried_again_all_the_same_says_so() {
    let world = beside(
        "{ id: hog, run: 'AGENT hog 1073741824 then sleep 600', resources: { memory: 64MiB }, \
         recovery: { permanent: [retry] }, retry_policy: { max_attempts: 2, initial_delay: 1ms } }",
    );
    assert_eq!(failures(&world).len(), 2);
}

#[test]
fn a_hog_of_processes_ends_alone() {
    let world = beside(
        "{ id: hog, run: 'i=0; while [ $i -lt 100 ]; do sleep 600 & i=$((i+1)); done; wait', \
         resources: { processes: 20 } }",
    );
    let [(class, message)] = failures(&world).try_into().expect("one attempt");
    assert_eq!(class, "limit_reached");
    assert!(message.contains("20 processes and threads"), "{message}");
}

#[test]
fn a_hog_of_the_disk_ends_alone() {
    let world =
        beside("{ id: hog, run: 'head -c 67108864 /dev/zero > big; sleep 600', resources: { disk: 8MiB } }");
    let [(class, message)] = failures(&world).try_into().expect("one attempt");
    assert_eq!(class, "limit_reached");
    assert!(message.contains("8.0 MiB") && message.contains("disk"), "{message}");
}

/// The task's temporary folder is on the disk, too.
#[test]
fn what_is_written_to_the_temporary_folder_counts() {
    let world = beside(
        "{ id: hog, run: 'head -c 67108864 /dev/zero > \"$TMPDIR/big\"; sleep 600', resources: { disk: 8MiB } }",
    );
    assert_eq!(failures(&world)[0].0, "limit_reached");
}

#[test]
fn a_hog_of_open_files_ends_alone() {
    let world = beside("{ id: hog, run: AGENT open-files 100, resources: { open_files: 64 } }");
    let [(class, message)] = failures(&world).try_into().expect("one attempt");
    assert_eq!(class, "limit_reached");
    assert!(message.contains("64 open files"), "{message}");
}

/// It is slowed down, and ended by nothing but its timeout.
#[test]
fn a_hog_of_processors_leaves_the_others_theirs() {
    let world = beside(
        "{ id: hog, run: 'for i in 1 2 3 4; do (while :; do :; done) & done; wait', timeout: 3s, \
         resources: { cpu: 1 } }",
    );
    assert_eq!(failures(&world)[0].0, "timed_out");
    let told = limits_here(&world);
    match told["told"].as_str().unwrap().split(':').next() {
        Some("cgroup v1" | "cgroup v2") => {}
        _ => return skipped(&format!("processors are not limited here: {told}")),
    }
    // What the kernel gave it, of three seconds: whatever the machine was busy with, it cannot have been more than its share.
    let hog = profile_of(&world, "hog");
    let (cpu, elapsed) = (hog["cpu_ms"].as_u64().unwrap(), hog["elapsed_ms"].as_u64().unwrap());
    assert!(cpu <= elapsed + elapsed / 5, "{cpu} ms in {elapsed} ms of one processor");
}

/// An agent that outlives its coordinator is held to its limits by what holds it.
#[test]
fn an_agent_under_a_shim_is_limited_too() {
    const HOG: &str = "read -r task\nx=$(head -c 209715200 /dev/zero | tr '\\0' a)\nsleep 600\n";
    let tasks = "{ config: { agent: hog }, tasks: [{ id: a, prompt: work, resources: { memory: 64MiB } }] }";
    let mut world = questions::world(tasks, &[("hog", HOG)]);
    world.set("CONDUCTOR_ORPHAN_GRACE", "1m");
    conductor(&world, &["run", "../tasks.yaml"]).expect(100);
    let [(class, message)] = failures(&world).try_into().expect("one attempt");
    assert_eq!(class, "out_of_memory", "{message}");
    assert!(groups_of(&world).is_empty(), "nothing is left of its control groups");
}

#[test]
fn groups_of_a_coordinator_that_was_killed_are_removed_with_what_is_in_them() {
    let mut world = repository(
        "tasks: [{ id: hog, run: 'sleep 600', resources: { memory: 256MiB, cpu: 1, processes: 9 } }]",
    );
    world.set("CONDUCTOR_ORPHAN_GRACE", "1s");
    let live = start(&world, &[]);
    let run = world.wait_for_run();
    wait_for("the task to be at work", || (!world.logged("process_started").is_empty()).then_some(()));
    let made = !groups_of(&world).is_empty();
    live.signal(Signal::KILL);
    drop(live);
    if !made {
        skipped("there are no control groups here");
    }
    wait_for("its groups to be gone", || groups_of(&world).is_empty().then_some(()));
    expect_no_leftovers(&run);
}

#[test]
fn doctor_says_which_limits_this_machine_keeps() {
    let world = World::with("tasks: [{ id: a, run: 'true' }]");
    let found = limits_here(&world);
    let told = text(&found["told"]);
    match found["level"].as_str() {
        Some("ok") => assert!(told.starts_with("cgroup v") && told.contains("disk is looked at"), "{told}"),
        _ => assert!(told.contains("looked at") && !text(&found["remedy"]).is_empty(), "{found}"),
    }
}

#[test]
fn resources_of_an_agent_that_does_not_exist_are_told() {
    let world =
        World::with("config: { agent_resources: { cladue: { cpu: 1 } } }\ntasks: [{ id: a, run: 'true' }]");
    let ended = world.conductor(&["validate", "tasks.yaml"]);
    let said = ended.stdout + &ended.stderr;
    assert!(said.contains("cladue") && said.contains("claude"), "{said}");
}
