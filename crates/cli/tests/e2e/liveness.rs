//! A run whose coordinator lives is live, whether it answers or not (A13).

use std::time::Duration;

use rustix::process::Signal;

use crate::harness::{World, wait_for};

const TASKS: &str = "tasks: [{ id: a, run: AGENT touch up then await go }]";

const SOON: Duration = Duration::from_secs(30);

/// Ends the coordinator in the background, whatever becomes of the test.
struct Background(i32);

impl Drop for Background {
    fn drop(&mut self) {
        let _ = rustix::process::Pid::from_raw(self.0)
            .map(|pid| rustix::process::kill_process(pid, Signal::KILL));
    }
}

fn detach(world: &World) -> (String, Background) {
    let begun = world.conductor(&["run", "tasks.yaml", "--detach", "--json"]).expect(0).json();
    (begun["run"].as_str().unwrap().to_owned(), Background(begun["pid"].as_i64().unwrap() as i32))
}

/// Commands right after it mean that run, though an older one is live too.
#[test]
fn a_detached_run_is_the_one_that_every_command_right_after_it_means() {
    let world = World::with(TASKS);
    let (first, _first) = detach(&world);
    for _ in 0..5 {
        let (run, _background) = detach(&world);
        let seen = world.conductor(&["status", "--json"]).expect(0).json();
        assert_eq!((seen["run"].as_str(), seen["live"].as_bool()), (Some(run.as_str()), Some(true)));
        world
            .conductor(&["cancel", "--all"])
            .expect(0)
            .says(&format!("everything in run {run} is cancelled"));
        world.conductor(&["wait", &run]).expect(9);
    }
    let seen = world.conductor(&["status", &first, "--json"]).expect(0).json();
    assert_eq!((seen["live"].as_bool(), seen["state"].as_str()), (Some(true), Some("running")));
    world.write("go", "");
    world.conductor(&["wait", &first]).expect(0);
}

#[test]
fn a_coordinator_that_was_stopped_is_said_to_be_there() {
    let world = World::with(TASKS);
    let (older, _older) = detach(&world);
    // Longer ago by the clock of files.
    wait_for("the older run", || world.path("up").exists().then_some(()));
    std::thread::sleep(Duration::from_millis(1_100));
    let mut live = world.start(&["run", "tasks.yaml"]);
    let run = wait_for("the newer run", || {
        let newer = world.runs().into_iter().find(|run| *run != older)?;
        world.home().join("runs").join(&newer).join("control").exists().then_some(newer)
    });
    world.conductor(&["status", &run]).expect(0);
    live.signal(Signal::STOP);
    let silent = format!("run {run} is running but does not answer (process {})", live.pid());
    // Each gives the coordinator its time to answer: they wait side by side.
    let listing = world.start(&["runs", "list"]);
    let commands = [
        ["status"].as_slice(),
        &["status", &run],
        // What is asked of a coordinator that was stopped may be done when it goes on; these change nothing then.
        &["cancel", "never"],
        &["parallel", "3"],
        &["runs", "show"],
    ];
    for (command, live) in commands.map(|command| (command, world.start(command))) {
        let ended = live.ended_within(SOON).expect(8).says(&silent);
        assert!(!ended.stderr.contains("--resume"), "{command:?}: {}", ended.stderr);
    }
    let listed = listing.ended_within(SOON).expect(0);
    assert!(!listed.stdout.contains("left"), "{}", listed.stdout);
    let pruned = world.start(&["runs", "prune", "--keep", "0", "--force", "--yes"]).ended_within(SOON);
    assert!(pruned.expect(0).stdout.contains(&format!("{run}  stays")));
    world.start(&["wait", "--timeout", "1s"]).ended_within(SOON).expect(8);
    live.signal(Signal::CONT);
    assert!(live.is_running());
    world.write("go", "");
    live.ended().expect(0);
    world.conductor(&["wait", &older]).expect(0);
}
