//! Ctrl-C once drains, twice stops, three times kills; the run can be resumed in each case.

use std::time::{Duration, Instant};

use rustix::process::Signal;

use crate::harness::{World, expect_no_leftovers, wait_for};

/// One task that ends when told to, one that waits for its turn.
const TWO: &str = "
tasks:
  - { id: running, run: AGENT touch started then await go then touch done }
  - { id: waiting, run: AGENT touch done }
";

#[test]
fn the_first_interrupt_lets_what_runs_finish_and_starts_nothing_new() {
    let world = World::with(TWO);
    let live = world.start(&["run", "tasks.yaml"]);
    world.wait_for_file("started");
    live.signal(Signal::INT);
    live.wait_for_stderr("starting nothing new");
    world.write("go", "");
    let id = world.run_id();
    live.ended().expect(130).says(&format!("next   conductor run --resume {id}")).says("1 not done");
    assert_eq!(world.read("done").lines().count(), 1);
    world.conductor(&["run", "--resume", &id]).expect(0).says("1 done before").says("2 of 2 completed");
    assert_eq!(world.read("done").lines().count(), 2);
    assert_eq!(world.read("started").lines().count(), 1, "what was finished is not done again");
}

#[test]
fn the_second_interrupt_stops_what_runs_and_resume_does_it_again() {
    let world = World::with(TWO);
    let live = world.start(&["run", "tasks.yaml"]);
    world.wait_for_file("started");
    live.signal(Signal::INT);
    live.wait_for_stderr("starting nothing new");
    live.signal(Signal::INT);
    let id = world.run_id();
    live.ended().expect(130).says("to be resumed").says(&format!("conductor run --resume {id}"));
    expect_no_leftovers(&id);
    assert_eq!(world.read("done"), "");
    world.write("go", "");
    world.conductor(&["run", "--resume", &id]).expect(0).says("2 of 2 completed");
    assert_eq!(world.read("started").lines().count(), 2);
    assert_eq!(world.summary()["results"][0]["interruptions"], 1);
}

#[test]
fn the_third_interrupt_kills_what_will_not_end() {
    let world =
        World::with("tasks: [{ id: deaf, run: AGENT ignore-term then touch started then sleep 600 }]");
    let live = world.start(&["run", "tasks.yaml"]);
    world.wait_for_file("started");
    for said in ["starting nothing new", "stopping what runs", "killing what runs"] {
        live.signal(Signal::INT);
        live.wait_for_stderr(said);
    }
    let killed = Instant::now();
    live.ended().expect(130);
    assert!(killed.elapsed() < Duration::from_secs(8), "it was not killed, it ran out of grace");
    expect_no_leftovers(&world.run_id());
}

#[test]
fn termination_stops_what_runs() {
    let world = World::with(TWO);
    let live = world.start(&["run", "tasks.yaml"]);
    world.wait_for_file("started");
    live.signal(Signal::TERM);
    live.ended().expect(143).says("conductor run --resume");
    expect_no_leftovers(&world.run_id());
    world.write("go", "");
    world.conductor(&["run", "--resume"]).expect(0);
}

#[test]
fn a_reader_that_goes_away_does_not_end_the_run() {
    let world = World::with(
        "tasks: [{ id: a, run: AGENT await go then touch done }, { id: b, run: AGENT touch done }]",
    );
    let mut command = world.command(&["run", "tasks.yaml", "--json"]);
    let mut child =
        command.stdout(std::process::Stdio::piped()).stderr(std::process::Stdio::null()).spawn().unwrap();
    drop(child.stdout.take());
    world.write("go", "");
    child.wait().unwrap();
    assert_eq!(world.read("done").lines().count(), 2);
}

/// `conductor run tasks.yaml 2>&1 | head`: a run whose output no process reads still stops on a signal.
#[test]
fn termination_works_without_a_reader() {
    let world = World::with(TWO);
    let mut command = world.command(&["run", "tasks.yaml"]);
    let mut child =
        command.stdout(std::process::Stdio::piped()).stderr(std::process::Stdio::piped()).spawn().unwrap();
    world.wait_for_file("started");
    drop((child.stdout.take(), child.stderr.take()));
    rustix::process::kill_process(rustix::process::Pid::from_child(&child), Signal::TERM).unwrap();
    let ended = wait_for("it to stop", || child.try_wait().unwrap());
    assert_eq!(ended.code(), Some(143));
    expect_no_leftovers(&world.run_id());
}

#[test]
fn the_exit_code_is_the_runs_even_if_no_process_reads_the_output() {
    for (task, code) in [("'true'", 0), ("'false'", 100)] {
        for args in [&["run", "tasks.yaml"][..], &["run", "tasks.yaml", "--json"]] {
            let world = World::with(&format!("tasks: [{{ id: a, run: {task} }}]"));
            let mut child = world.command(args).stdout(std::process::Stdio::piped()).spawn().unwrap();
            drop(child.stdout.take());
            assert_eq!(child.wait().unwrap().code(), Some(code), "{args:?}");
        }
    }
}

#[test]
fn an_interrupt_does_not_wait_for_a_retry() {
    let world = World::with(
        "tasks: [{ id: later, run: 'AGENT touch tries; test -e mended', retry_policy: { max_attempts: 2, initial_delay: 50m } }]",
    );
    let live = world.start(&["run", "tasks.yaml"]);
    live.wait_for_stderr("retry   later");
    live.signal(Signal::INT);
    live.ended_within(Duration::from_secs(10)).expect(130).says("--resume");
    assert_eq!(world.read("tries").lines().count(), 1);
}
