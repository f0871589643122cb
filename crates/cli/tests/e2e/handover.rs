//! `conductor handover`: a run goes on in another process while its agents work, and none of them notices.

use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use crate::harness::{Live, World, children, expect_no_leftovers, is_alive, wait_for};
use crate::outliving::{STEPPER, WORKER, expect_done_once, pids_of};
use crate::questions;
use crate::repository::{command, conductor, expect_tidy, start};
use crate::store::write_sql;

const ONE: &str =
    "{ config: { agent: worker }, tasks: [{ id: a, prompt: 'work', verify: ['test -e work.txt'] }] }";

/// A prompt beside a command, which only its own coordinator can bring to its end, and what comes after that.
const BOTH: &str = "{ config: { agent: worker }, tasks: [
  { id: a, prompt: work },
  { id: b, run: 'touch HERE/b-begun; while [ ! -e HERE/b-over ]; do sleep 0.01; done', changes: optional },
  { id: c, run: 'true', dependencies: [b], changes: optional }] }";

fn world_of(tasks: &str, script: &str) -> World {
    let world = questions::world(tasks, &[("worker", script)]);
    world.write("tasks.yaml", &tasks.replace("HERE", &world.path("").display().to_string()));
    world
}

/// A run of `BOTH`, with the command and the agent at work.
fn held_up() -> (World, Live) {
    let world = world_of(BOTH, WORKER);
    let live = start(&world, &["-p", "3"]);
    world.wait_for_file("b-begun");
    world.wait_for_file("begun");
    wait_for("its shim", || (crate::outliving::held(&world).len() == 1).then_some(()));
    (world, live)
}

/// Takes the run over; the process that has it then.
fn hand_over(world: &World) -> u32 {
    let told = conductor(world, &["handover", "--json"]).expect(0).json();
    assert_eq!((&told["schema"], &told["run"]), (&"conductor.detached/1".into(), &world.run_id().into()));
    told["pid"].as_u64().unwrap() as u32
}

fn count(world: &World, event: &str) -> usize {
    world
        .sql(&format!("SELECT count(*) FROM events WHERE body LIKE '{{\"{event}\"%'"))
        .trim()
        .parse()
        .unwrap()
}

fn state(world: &World) -> String {
    let told: Value = conductor(world, &["status", "--json"]).json();
    told["state"].as_str().unwrap_or_default().to_owned()
}

#[test]
fn an_agent_goes_on_in_another_process_and_notices_nothing() {
    let world = world_of(ONE, WORKER);
    let live = start(&world, &[]);
    world.wait_for_file("begun");
    let before = live.pid();
    let waiting = world.spawn(&mut command(&world, &["wait"]));
    let following = world.spawn(&mut command(&world, &["events", "--follow"]));
    wait_for("both to listen", || (!following.stdout().is_empty()).then_some(()));
    let after = hand_over(&world);
    assert_ne!(before, after);
    live.ended().expect(8).says("goes on in the background; back to it: conductor attach");
    assert!(is_alive(after) && is_alive(crate::outliving::pids(&world)[0]));
    world.write("go", "");
    waiting.ended().expect(0);
    expect_done_once(&world, 3000);
    assert_eq!((count(&world, "run_handed_over"), count(&world, "run_taken_over")), (1, 1));
    let told: Vec<u64> =
        following.ended().expect(0).json_lines().iter().map(|event| event["seq"].as_u64().unwrap()).collect();
    assert!(told.iter().copied().eq(1..=told.len() as u64), "{told:?}");
    assert_eq!(told.len().to_string(), world.sql("SELECT count(*) FROM events").trim());
}

#[test]
fn a_run_that_is_left_is_told_to_be_resumed() {
    let world = world_of(ONE, WORKER);
    let live = start(&world, &[]);
    world.wait_for_file("begun");
    live.signal(Signal::KILL);
    drop(live);
    let run = world.run_id();
    conductor(&world, &["handover", &run]).expect(4).says(&format!("conductor run --resume {run}"));
    world.write("go", "");
    conductor(&world, &["run", "--resume"]).expect(0);
}

#[test]
fn a_log_that_cannot_be_read_is_refused_before_anything_is_taken() {
    let world = world_of(ONE, WORKER);
    let live = start(&world, &[]);
    world.wait_for_file("begun");
    wait_for("what is written first", || (count(&world, "process_started") == 1).then_some(()));
    // As one of a version to come.
    write_sql(&world, "UPDATE events SET body = replace(body, 'attempt_started', 'attempt_conjured')");
    let refused = conductor(&world, &["handover"]).expect(1);
    assert!(
        refused.stderr.contains("cannot take run") && refused.stderr.contains("nothing happened"),
        "{}",
        refused.stderr
    );
    write_sql(&world, "UPDATE events SET body = replace(body, 'attempt_conjured', 'attempt_started')");
    world.write("go", "");
    live.ended().expect(0);
    assert_eq!((count(&world, "run_handed_over"), count(&world, "attempt_reattached")), (0, 0));
    assert_eq!(world.logged("task_completed"), ["a"]);
}

#[test]
fn a_command_holds_a_run_up_for_so_long_and_no_longer() {
    let (world, mut live) = held_up();
    let refused = conductor(&world, &["handover", "--timeout", "300ms"]).expect(8);
    assert!(refused.stderr.contains("waiting for the command of b"), "{}", refused.stderr);
    assert!(refused.stderr.contains("the run stays where it is"), "{}", refused.stderr);
    assert!(live.is_running());
    let asking = world.spawn(&mut command(&world, &["handover"]));
    asking.wait_for_stderr("waiting for the command of b");
    conductor(&world, &["handover"]).expect(8).says("another process waits for run");
    world.write("b-over", "");
    asking.ended().expect(0).says("goes on in the background");
    live.ended().expect(8);
    world.write("go", "");
    conductor(&world, &["wait"]).expect(0);
    let order = world.sql(
        "SELECT group_concat(CASE WHEN body LIKE '{\"run_handed%' THEN 'left' ELSE 'c' END, ' ') FROM events \
         WHERE body LIKE '{\"run_handed_over\"%' OR (body LIKE '{\"attempt_started\"%' AND body LIKE '%\"task\":\"c\"%')",
    );
    assert_eq!(order.trim(), "left c", "nothing new began meanwhile");
    assert_eq!(world.logged("task_completed").len(), 3);
    assert_eq!(world.logged("attempt_started").len(), 3);
    expect_no_leftovers(&world.run_id());
    expect_tidy(&world);
}

#[test]
fn where_the_other_dies_before_it_has_the_run_all_goes_on_as_before() {
    let (world, live) = held_up();
    let asking = world.spawn(&mut command(&world, &["handover"]));
    asking.wait_for_stderr("waiting for the command of b");
    for other in children(asking.pid()) {
        let _ = kill_process(Pid::from_raw(other as i32).unwrap(), Signal::KILL);
    }
    asking.ended();
    world.write("b-over", "");
    wait_for("what waited", || world.logged("task_completed").contains(&"c".to_owned()).then_some(()));
    world.write("go", "");
    live.ended().expect(0);
    assert_eq!((count(&world, "run_handed_over"), count(&world, "attempt_reattached")), (0, 0));
    expect_no_leftovers(&world.run_id());
}

#[test]
fn a_run_that_is_paused_stays_paused() {
    let tasks =
        ONE.replace("tasks: [", "tasks: [{ id: z, run: 'true', changes: optional, dependencies: [a] }, ");
    let world = world_of(&tasks, WORKER);
    let live = start(&world, &[]);
    world.wait_for_file("begun");
    conductor(&world, &["pause"]).expect(0);
    hand_over(&world);
    live.ended().expect(8);
    assert_eq!(state(&world), "paused");
    world.write("go", "");
    wait_for("the agent's end", || (world.logged("task_completed") == ["a"]).then_some(()));
    assert_eq!(world.logged("attempt_started"), ["a"]);
    conductor(&world, &["resume"]).expect(0);
    conductor(&world, &["wait"]).expect(0);
}

fn steppers(agents: usize) -> (World, Live) {
    let tasks: Vec<String> = (0..agents).map(|number| format!("{{ id: t{number}, prompt: work }}")).collect();
    let tasks = format!("{{ config: {{ agent: worker }}, tasks: [{}] }}", tasks.join(", "));
    let world = questions::world(&tasks, &[("worker", STEPPER)]);
    let live = start(&world, &["-p", &agents.to_string()]);
    wait_for("all to be at work", || (pids_of(&world).len() == agents).then_some(()));
    (world, live)
}

/// All of it, in its order.
#[track_caller]
fn expect_each_line_once(world: &World, agents: usize) {
    for name in (0..agents).map(|number| format!("t{number}")) {
        let text = String::from_utf8(world.transcript(&name)).unwrap();
        let start = format!("{name} turn ");
        let said: Vec<&str> = text.lines().filter(|line| line.starts_with(&start)).collect();
        let turns = world.read(&format!("billed-{name}")).lines().count();
        let due: Vec<String> = (1..=turns).map(|turn| format!("{name} turn {turn}")).collect();
        assert_eq!(said, due, "{name}");
    }
    assert_eq!(world.logged("task_completed").len(), agents);
    assert_eq!((pids_of(world).len(), world.logged("attempt_started").len()), (agents, agents));
}

/// With agents that talk all the time: however often it is handed over, what they say is in their transcripts once.
#[test]
fn handed_over_again_and_again_no_line_is_lost_or_doubled() {
    let (agents, times) = (8, crate::soak::amount("CONDUCTOR_HANDOVERS", 4) as usize);
    let (world, live) = steppers(agents);
    let mut rng = crate::soak::seeded();
    for _ in 0..times {
        let moment = Instant::now() + Duration::from_millis(rng.u64(0..200));
        wait_for("the moment", || (Instant::now() >= moment).then_some(()));
        hand_over(&world);
    }
    live.ended().expect(8);
    world.write("over", "");
    conductor(&world, &["wait"]).expect(0);
    assert_eq!((count(&world, "run_handed_over"), count(&world, "run_taken_over")), (times, times));
    assert_eq!(count(&world, "attempt_reattached"), agents * times);
    expect_each_line_once(&world, agents);
    expect_no_leftovers(&world.run_id());
    expect_tidy(&world);
}

/// Whenever it is that the other one dies: either all goes on as before, or the run is left as by a coordinator that was killed.
#[test]
fn one_that_dies_while_it_takes_a_run_over_costs_no_work() {
    let (agents, times) = (4, crate::soak::amount("CONDUCTOR_HANDOVER_KILLS", 3) as usize);
    let (world, live) = steppers(agents);
    let mut rng = crate::soak::seeded();
    let (mut lives, mut resumed) = (vec![live], 0);
    for _ in 0..times {
        let asking = world.spawn(&mut command(&world, &["handover"]));
        let other = wait_for("the other", || children(asking.pid()).first().copied());
        let moment = Instant::now() + Duration::from_millis(rng.u64(0..250));
        wait_for("the moment", || (Instant::now() >= moment).then_some(()));
        let _ = kill_process(Pid::from_raw(other as i32).unwrap(), Signal::KILL);
        asking.ended();
        let mut has_ended = true;
        lives.retain_mut(|live| live.is_running());
        let settled = Instant::now() + Duration::from_secs(1);
        wait_for("the first to know", || {
            has_ended = lives.iter_mut().all(|live| !live.is_running());
            (has_ended || Instant::now() >= settled).then_some(())
        });
        if has_ended {
            resumed += 1;
            let again = ["run", "--resume", "-p", &agents.to_string()];
            lives.push(world.spawn(&mut command(&world, &again)));
            let due = resumed * agents;
            wait_for("them to be taken hold of", || {
                (count(&world, "attempt_reattached") >= due).then_some(())
            });
        }
    }
    println!("{resumed} of {times} left the run");
    world.write("over", "");
    lives.into_iter().for_each(|live| drop(live.ended()));
    expect_each_line_once(&world, agents);
    expect_no_leftovers(&world.run_id());
}
