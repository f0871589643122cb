//! Shims that are killed, stopped or another home's.

use std::process::Command;

use rustix::process::{Pid, Signal, kill_process};

use crate::harness::{Live, World, expect_no_leftovers, is_alive, leftovers, wait_for};
use crate::outliving::{held, kill_shims, pids, pids_of, shims};
use crate::questions;
use crate::repository::{command, conductor, expect_tidy, start};

/// Waits to be let on; when it is begun again, it is done at once.
const WAITER: &str = r#"
read -r task
name=$CONDUCTOR_TASK
echo $$ >> HERE/pids
[ -e HERE/begun-$name ] && { echo "$name" > $name.txt; echo '{"type":"result","ok":true,"text":"x"}'; exit 0; }
setsid sleep 600 &
touch HERE/begun-$name
exec sleep 600
"#;

fn waiters(count: usize) -> World {
    let tasks: Vec<String> = (0..count).map(|number| format!("{{ id: t{number}, prompt: work }}")).collect();
    questions::world(
        &format!("{{ config: {{ agent: worker }}, tasks: [{}] }}", tasks.join(", ")),
        &[("worker", WAITER)],
    )
}

fn begin(world: &World, count: usize) -> Live {
    let live = start(world, &["-p", &count.to_string()]);
    (0..count).for_each(|number| world.wait_for_file(&format!("begun-t{number}")));
    wait_for("all to be noted", || (world.logged("process_started").len() == count).then_some(()));
    live
}

fn kill(live: Live) {
    live.signal(Signal::KILL);
    drop(live);
}

/// It costs something each time, and no cap would ever end that.
#[test]
fn an_agent_that_kills_its_shim_each_time_fails() {
    let tasks =
        "{ config: { agent: worker, retry_policy: { max_attempts: 1 } }, tasks: [{ id: a, prompt: work }] }";
    let world = questions::world(
        tasks,
        &[("worker", "read -r task\necho $$ >> HERE/pids\nkill -9 $PPID\nexec sleep 600\n")],
    );
    let ended = start(&world, &[]).ended().expect(100);
    assert!(
        ended.stderr.contains("the process that held it was ended 3 times while it was at work"),
        "{}",
        ended.stderr
    );
    assert_eq!(pids(&world).len(), 3);
    assert_eq!(world.logged("shim_lost"), ["a", "a", "a"]);
    assert_eq!(world.logged("task_failed"), ["a"]);
    expect_no_leftovers(&world.run_id());
    expect_tidy(&world);
}

/// A3 with the shims killed instead of the coordinator, and with both.
#[test]
fn eight_agents_whose_shims_are_killed_end_and_are_begun_again() {
    const AGENTS: usize = 8;
    for with_coordinator in [false, true] {
        let world = waiters(AGENTS);
        let live = begin(&world, AGENTS);
        let before = held(&world);
        assert_eq!(before.len(), AGENTS);
        if with_coordinator {
            kill_shims(&world);
            live.ended().expect(0);
        } else {
            kill(live);
            kill_shims(&world);
            wait_for("their end", || before.iter().all(|&agent| !is_alive(agent)).then_some(()));
            conductor(&world, &["run", "--resume"]).expect(0);
        }
        assert_eq!(pids_of(&world).len(), 2 * AGENTS);
        assert_eq!(world.logged("task_completed").len(), AGENTS);
        assert_eq!(world.logged("shim_lost").len(), if with_coordinator { AGENTS } else { 0 });
        expect_no_leftovers(&world.run_id());
        expect_tidy(&world);
    }
}

/// A2: a shim that is stopped keeps no time, and answers nothing.
#[test]
fn an_agent_whose_shim_is_stopped_is_ended_though_no_coordinator_comes() {
    let mut world = waiters(1);
    world.set("CONDUCTOR_ORPHAN_GRACE", "300ms");
    let live = begin(&world, 1);
    let (run, agent) = (world.run_id(), held(&world)[0]);
    stop_shims(&world);
    kill(live);
    wait_for("its end", || (!is_alive(agent) && leftovers(&run).is_empty()).then_some(()));
    conductor(&world, &["run", "--resume"]).expect(0);
    assert_eq!(world.logged("attempt_started"), ["t0", "t0"]);
}

/// The next coordinator waits for none of them, and for all of them at once.
#[test]
fn a_run_whose_shims_are_stopped_is_taken_up_all_the_same() {
    const AGENTS: usize = 8;
    let mut world = waiters(AGENTS);
    world.set("CONDUCTOR_ORPHAN_GRACE", "1h");
    let live = begin(&world, AGENTS);
    let before = held(&world);
    stop_shims(&world);
    kill(live);
    let begun = std::time::Instant::now();
    let again = world.spawn(&mut command(&world, &["run", "--resume"]));
    wait_for("what they held to end", || before.iter().all(|&agent| !is_alive(agent)).then_some(()));
    // One after the other they would be waited for two seconds each.
    assert!(begun.elapsed() < std::time::Duration::from_secs(10), "{:?}", begun.elapsed());
    again.ended().expect(0);
    assert_eq!(world.logged("attempt_started").len(), 2 * AGENTS);
    expect_no_leftovers(&world.run_id());
    expect_tidy(&world);
}

fn stop_shims(world: &World) {
    for shim in shims(world) {
        kill_process(Pid::from_raw(shim as i32).unwrap(), Signal::STOP).unwrap();
    }
}

/// A copy of a home holds the same run, and nothing that runs is its.
#[test]
fn what_a_copied_home_ends_is_never_what_another_has_started() {
    let mut world = waiters(1);
    world.set("CONDUCTOR_ORPHAN_GRACE", "1h");
    let live = begin(&world, 1);
    let (agent, shim) = (held(&world)[0], shims(&world)[0]);
    kill(live);
    let (home, copy) = (world.home(), world.path("copy"));
    assert!(Command::new("cp").arg("-a").arg(&home).arg(&copy).status().unwrap().success());
    // The copy's database does not know the run: nothing would take it up there.
    for table in ["events", "runs"] {
        let mut sqlite = Command::new("sqlite3");
        sqlite
            .args(["-cmd", ".timeout 5000"])
            .arg(copy.join("conductor.db"))
            .arg(format!("DELETE FROM {table}"));
        assert!(sqlite.status().unwrap().success());
    }
    for _ in 0..2 {
        let mut doctor = command(&world, &["doctor", "--fix"]);
        world.spawn(doctor.env("CONDUCTOR_HOME", &copy)).ended();
        assert!(is_alive(agent) && is_alive(shim), "they are the first home's");
    }
    let again = world.spawn(&mut command(&world, &["run", "--resume"]));
    wait_for("it to be taken hold of", || (world.logged("attempt_reattached") == ["t0"]).then_some(()));
    assert_eq!(held(&world), [agent]);
    kill_shims(&world);
    again.ended().expect(0);
    expect_no_leftovers(&world.run_id());
}

/// Without those, nothing but that time would ever end what is forgotten.
#[test]
fn agents_are_left_alone_for_days_only_with_a_cap_and_a_deadline() {
    let world = waiters(1);
    let long = ["run", "../tasks.yaml", "--orphan-grace", "1000h"];
    conductor(&world, &long).expect(2).says("needs a cap and a deadline");
    let capped = [&long[..], &["--max-cost", "1"]].concat();
    conductor(&world, &capped).expect(2).says("needs a cap and a deadline");
    let bounded = [&capped[..], &["--max-time", "1h", "--dry-run"]].concat();
    conductor(&world, &bounded).expect(0);
}
