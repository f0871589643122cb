//! Clocks that jump and coordinators that are stopped (A9, A10): idle time times out no task.

use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use rustix::process::Signal;

use crate::harness::{World, expect_no_leftovers, skipped, wait_for};

/// Where Debian's `faketime` puts the library, or `CONDUCTOR_FAKETIME`.
fn faketime() -> Option<PathBuf> {
    if let Some(named) = std::env::var_os("CONDUCTOR_FAKETIME") {
        return Some(PathBuf::from(named));
    }
    let machines = fs::read_dir("/usr/lib").ok()?.flatten();
    machines.map(|entry| entry.path().join("faketime/libfaketimeMT.so.1")).find(|path| path.is_file())
}

/// A9.
#[test]
fn a_clock_that_jumps_times_nothing_out() {
    let Some(library) = faketime() else {
        return skipped("needs libfaketime (Debian package faketime), or CONDUCTOR_FAKETIME");
    };
    let mut text = String::from(
        "tasks:\n  - { id: whole, run: AGENT touch through then await end, timeout: 60, priority: critical }\n",
    );
    for task in 0..6 {
        text.push_str(&format!(
            "  - {{ id: t{task}, run: AGENT touch up then await go{task} then touch done, timeout: 60 }}\n"
        ));
    }
    let mut world = World::with(&text);
    let stamp = world.path("stamp");
    world.set("LD_PRELOAD", &library);
    world.set("FAKETIME_TIMESTAMP_FILE", &stamp);
    world.set("FAKETIME_DONT_FAKE_MONOTONIC", "1");
    world.set("FAKETIME_NO_CACHE", "1");
    fs::write(&stamp, "+0").unwrap();
    let live = world.start(&["run", "tasks.yaml", "-p", "3", "--json"]);
    world.wait_for_file("through");
    for (task, jump) in ["+1h", "-1h", "+3650d", "-3650d", "+0", "+1h"].into_iter().enumerate() {
        wait_for("the task", || (world.read("up").lines().count() > task).then_some(()));
        fs::write(&stamp, jump).unwrap();
        world.write(&format!("go{task}"), "");
        wait_for("the task's end", || (world.logged("task_completed").len() > task).then_some(()));
    }
    world.write("end", "");
    let ended = live.ended().expect(0);
    let times: Vec<String> = ended
        .json_lines()
        .iter()
        .filter_map(|line| line["at"].as_str().map(|at| at[..4].to_owned()))
        .collect();
    let years: std::collections::BTreeSet<&String> = times.iter().collect();
    assert!(years.len() >= 3, "the clock was meant to jump by ten years both ways: {years:?}");
    assert_eq!(world.summary()["attempts"], 7);
    expect_no_leftovers(&world.run_id());
}

/// A10: stopped for longer than any of its tasks may take.
#[test]
fn a_stopped_coordinator_times_nothing_out() {
    let world = World::with(
        "
tasks:
  - { id: ends-meanwhile, run: AGENT touch up then sleep 2, timeout: 6 }
  - { id: ends-after, run: AGENT touch up then await go, timeout: 6 }
",
    );
    let live = world.start(&["run", "tasks.yaml", "-p", "2"]);
    wait_for("both tasks", || (world.read("up").lines().count() == 2).then_some(()));
    live.signal(Signal::STOP);
    // The one thing here that is a length of time: how long it is stopped.
    std::thread::sleep(Duration::from_secs(8));
    live.signal(Signal::CONT);
    live.wait_for_stderr("ok      ends-meanwhile");
    // It still has most of its time, for the coordinator has been awake for a few seconds only.
    std::thread::sleep(Duration::from_secs(1));
    world.write("go", "");
    live.ended().expect(0).says("2 of 2 completed");
    assert_eq!(world.summary()["attempts"], 2);
}
