//! What a killed coordinator leaves: agents that cannot work without it, and what they have spent.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::time::{Duration, Instant};

use conductor_testkit::Script;
use conductor_testkit::agents::Agent;
use rustix::process::Signal;

use crate::backends::{Bench, prompt};
use crate::harness::{Live, World, carries, leftovers, wait_for};

/// Far below the minute that commands get. What is meant is a second; the tests print what it was.
const BOUND: Duration = Duration::from_secs(10);

/// A world with an agent `talker` that is told its task and then carries out a script.
fn talking(tasks: &str, script: &str) -> World {
    let mut world = World::in_place(tasks);
    let bin = world.path("bin");
    fs::create_dir(&bin).unwrap();
    let program = bin.join("conductor-agent-talker");
    fs::write(&program, format!("#!/bin/sh\nread -r task\n{script}\n")).unwrap();
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    let inherited = std::env::var_os("PATH").unwrap();
    let path = std::iter::once(bin).chain(std::env::split_paths(&inherited));
    world.set("PATH", std::env::join_paths(path).unwrap());
    world
}

fn kill(live: Live) -> Instant {
    live.signal(Signal::KILL);
    drop(live);
    Instant::now()
}

/// Processes of one task, by number.
fn of_task(run: &str, task: &str) -> Vec<u32> {
    let mark = format!("CONDUCTOR_TASK={task}");
    let all = leftovers(run).into_iter().map(|(pid, _)| pid);
    all.filter(|&pid| carries(pid, &mark)).collect()
}

#[test]
fn agents_that_held_the_pipe_of_a_killed_coordinator_are_ended_at_once_and_commands_get_their_grace() {
    let world = talking(
        "
config: { agent: talker }
tasks: [{ id: agent, prompt: 'work' }, { id: command, run: 'echo up > command; exec sleep 600' }]
",
        // A program it starts has left its group and its session.
        "setsid sh -c 'echo up > child; exec sleep 600' & while :; do echo x >> asked; sleep 0.02; done",
    );
    let live = world.start(&["run", "tasks.yaml", "-p", "2"]);
    ["command", "child", "asked"].iter().for_each(|file| world.wait_for_file(file));
    wait_for("both to be noted", || (world.logged("process_started").len() == 2).then_some(()));
    let run = world.run_id();
    assert!(of_task(&run, "agent").len() > 1);
    let died = kill(live);
    wait_for("the agent to go", || of_task(&run, "agent").is_empty().then_some(()));
    let took = died.elapsed();
    eprintln!("the agent was ended {} ms after its coordinator", took.as_millis());
    assert!(took < BOUND, "{took:?}");
    assert_eq!(of_task(&run, "command").len(), 1, "a command needs no coordinator to go on");
}

#[test]
fn an_agent_is_ended_with_a_coordinator_that_dies_before_it_is_noted() {
    let world = talking(
        "{ config: { agent: talker }, tasks: [{ id: agent, prompt: 'work' }] }",
        "echo up > up; while :; do sleep 0.02; done",
    );
    let live = world.start(&["run", "tasks.yaml"]);
    world.wait_for_file("up");
    let run = world.run_id();
    kill(live);
    wait_for("the agent to go", || of_task(&run, "agent").is_empty().then_some(()));
}

#[test]
fn three_claudes_ask_nothing_more_once_their_coordinator_is_killed() {
    let tasks: String = ["one", "two", "three"].map(|name| prompt(name, "")).concat();
    let Some(bench) = Bench::new(Agent::Claude, "", &tasks) else { return };
    for name in ["one", "two", "three"] {
        let script = (0..200).fold(Script::new(), |script, turn| script.run(&format!("echo {turn}")));
        bench.script(name, script.finish("Done."));
    }
    let live = bench.run(&["-p", "3"]);
    ["one", "two", "three"].iter().for_each(|name| bench.await_requests(name, 2));
    let run = bench.world.run_id();
    let died = kill(live);
    wait_for("the agents to go", || leftovers(&run).is_empty().then_some(()));
    let took = died.elapsed();
    eprintln!("three claudes were ended {} ms after their coordinator", took.as_millis());
    assert!(took < BOUND, "{took:?}");
}
