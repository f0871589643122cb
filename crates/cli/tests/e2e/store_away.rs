//! While the store cannot be written: stops, deadlines and caps act at once and are recorded when it is back; everything
//! else waits for it.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::time::{Duration, Instant};

use rustix::process::Signal;

use crate::harness::{Live, World, expect_no_leftovers, is_alive, wait_for};
use crate::repository::{command, repository, start};
use crate::store::Holder;

/// One that runs until it is ended.
const ONE: &str = "tasks: [{ id: long, run: 'AGENT pid long.pid then touch started then await go' }]";

/// A run at work whose store is quiet, and the process at work.
fn at_work(world: &World, live: &Live) -> u32 {
    wait_for("the number of the process to be noted", || {
        world.logged("process_started").contains(&"long".to_owned()).then_some(())
    });
    assert!(!live.stderr().contains("locked"));
    world.read("long.pid").parse().unwrap()
}

#[track_caller]
fn wait_for_death(pid: u32) {
    wait_for("the process to go", || (!is_alive(pid)).then_some(()));
}

#[test]
fn two_interrupts_stop_what_runs_and_are_recorded_later() {
    let world = World::with(ONE);
    let mut live = world.start(&["run", "tasks.yaml"]);
    let pid = at_work(&world, &live);
    let holder = Holder::lock(&world);
    live.signal(Signal::INT);
    live.wait_for_stderr("starting nothing new");
    live.signal(Signal::INT);
    wait_for_death(pid);
    live.wait_for_stderr("not recorded yet");
    assert!(live.is_running(), "it waits for the store with its last word");
    assert_eq!(world.synced("stop_requested"), [""; 0]);
    holder.release();
    let id = world.run_id();
    live.ended().expect(130).says(&format!("conductor run --resume {id}"));
    assert_eq!(world.logged("stop_requested"), ["long"]);
    world.write("go", "");
    world.conductor(&["run", "--resume", &id]).expect(0).says("1 of 1 completed");
}

#[test]
fn three_interrupts_end_the_program_even_if_the_store_never_comes_back() {
    let world = World::with(
        "tasks: [{ id: long, run: 'AGENT ignore-term then pid long.pid then touch started then await go' }]",
    );
    let live = world.start(&["run", "tasks.yaml"]);
    let pid = at_work(&world, &live);
    let holder = Holder::lock(&world);
    for said in ["starting nothing new", "stopping what runs", "killing what runs"] {
        live.signal(Signal::INT);
        live.wait_for_stderr(said);
    }
    wait_for_death(pid);
    let id = world.run_id();
    let ended = live.ended_within(Duration::from_secs(40)).expect(130);
    ended.says("could not be recorded").says(&format!("conductor run --resume {id}"));
    expect_no_leftovers(&id);
    holder.release();
    assert_eq!(world.synced("stop_requested"), [""; 0], "the log is as it was");
    world.write("go", "");
    world.conductor(&["run", "--resume", &id]).expect(0).says("1 of 1 completed");
}

#[test]
fn a_timeout_fires_and_is_recorded_later() {
    let world = World::with(
        "tasks: [{ id: long, run: 'AGENT pid long.pid then touch started then await go', timeout: 3 }]",
    );
    let live = world.start(&["run", "tasks.yaml"]);
    let pid = at_work(&world, &live);
    let holder = Holder::lock(&world);
    wait_for_death(pid);
    assert_eq!(world.synced("stop_requested"), [""; 0]);
    holder.release();
    live.ended().expect(100).says("timed out after 3.0s");
    assert_eq!(world.logged("stop_requested"), ["long"]);
}

/// An agent that says every 100 ms that it has spent ten cents more, until it is ended.
fn spender() -> World {
    let mut world = repository(
        "
config:
  prices: { 'house-*': { input: 0.1, output: 0 } }
tasks:
  - { id: long, prompt: Spend it., agent: spender }
",
    );
    let bin = world.path("bin");
    fs::create_dir(&bin).unwrap();
    let spent = world.path("spent");
    let usage = r#"{"type":"usage","model":"house-model","input":1000000,"output":0,"turns":1}"#;
    let text = format!(
        "#!/bin/sh\nread -r task\necho $$ > {pid}\nuntil test -e {go}; do sleep 0.1; done\n\
         while :; do echo '{usage}'; echo one >> {spent}; sleep 0.1; done\n",
        pid = world.path("long.pid").display(),
        go = world.path("go").display(),
        spent = spent.display()
    );
    let program = bin.join("conductor-agent-spender");
    fs::write(&program, text).unwrap();
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    let path = std::env::join_paths(
        std::iter::once(bin).chain(std::env::split_paths(&std::env::var_os("PATH").unwrap())),
    );
    world.set("PATH", path.unwrap());
    world
}

#[test]
fn a_cap_on_money_ends_an_agent_and_is_recorded_later() {
    let world = spender();
    let live = world.spawn(&mut command(&world, &["run", "../tasks.yaml", "--max-cost", "0.5"]));
    wait_for("the number of the process to be noted", || {
        world.logged("process_started").contains(&"long".to_owned()).then_some(())
    });
    let pid: u32 = world.read("long.pid").trim().parse().unwrap();
    let holder = Holder::lock(&world);
    world.write("go", "");
    wait_for_death(pid);
    assert_eq!(world.synced("stop_requested"), [""; 0]);
    holder.release();
    live.ended().expect(6);
    let spent = world.read("spent").lines().count();
    assert!(spent >= 5, "it was ended before it reached its cap: {spent}");
    // Two seconds of it, where the cap is to hold at once; without the cap it would have gone on for as long as the store
    // was away.
    assert!(spent <= 25, "it went on after it had reached its cap: {spent}");
    assert_eq!(world.logged("stop_requested"), ["long"]);
}

/// A run of two tasks, of which the second has a workspace: before it begins, that is on the disk.
fn one_after_the_other() -> (World, Live) {
    let world = repository("");
    let done = world.path("done").display().to_string();
    world.write(
        "tasks.yaml",
        &format!(
            "
tasks:
  - {{ id: long, run: 'echo -n $$ > ../long.pid; until test -e ../go; do sleep 0.05; done', isolation: none }}
  - {{ id: next, run: 'echo next >> {done}', dependencies: [long] }}
"
        ),
    );
    let live = start(&world, &[]);
    (world, live)
}

/// What starts a command in place need only be written, and that is possible.
#[test]
fn commands_in_place_go_on_without_it_and_are_recorded_later() {
    let world = World::with(
        "
tasks:
  - { id: long, run: 'AGENT pid long.pid then touch started then await go' }
  - { id: next, run: AGENT touch done, dependencies: [long] }
",
    );
    let live = world.start(&["run", "tasks.yaml"]);
    at_work(&world, &live);
    let holder = Holder::lock(&world);
    world.write("go", "");
    world.wait_for_file("done");
    assert_eq!(world.synced("task_completed"), [""; 0]);
    assert!(!live.stderr().contains("next"), "what is not on the disk is not told: {}", live.stderr());
    holder.release();
    live.ended().expect(0).says("2 of 2 completed");
    assert_eq!(world.synced("task_completed"), ["long", "next"]);
}

#[test]
fn what_was_stopped_before_its_start_was_recorded_never_begins() {
    let (world, live) = one_after_the_other();
    let pid = at_work(&world, &live);
    let holder = Holder::lock(&world);
    world.write("go", "");
    wait_for_death(pid);
    // Long enough for the end to be decided on, with the start that follows from it.
    live.wait_for_stderr("is locked by another process");
    live.signal(Signal::INT);
    live.wait_for_stderr("starting nothing new");
    live.signal(Signal::INT);
    live.wait_for_stderr("not recorded yet");
    holder.release();
    live.ended().expect(130);
    assert_eq!(world.read("done"), "");
    let id = world.run_id();
    let resumed = world.spawn(&mut command(&world, &["run", "--resume", &id]));
    resumed.ended().expect(0).says("2 of 2 completed");
    assert_eq!(world.read("done").lines().count(), 1);
}

#[test]
fn a_run_can_be_looked_at_and_says_what_it_waits_for() {
    let (world, live) = one_after_the_other();
    at_work(&world, &live);
    let holder = Holder::lock(&world);
    world.write("go", "");
    live.wait_for_stderr("is locked by another process");
    let begun = Instant::now();
    let status = world.conductor(&["status", &world.run_id(), "--json"]).expect(0).json();
    assert!(begun.elapsed() < Duration::from_secs(30));
    assert_eq!(status["live"], true, "{status}");
    assert!(status["store_away"].as_str().unwrap().contains("is locked by another process"), "{status}");
    world.conductor(&["status", &world.run_id()]).expect(0).says("is locked by another process");
    assert_eq!(world.read("done"), "", "nothing starts before it is in the store");
    holder.release();
    live.ended().expect(0).says("2 of 2 completed");
}
