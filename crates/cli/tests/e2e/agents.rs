//! What agents do wrong (C of the list of faults): only their own task fails.

use std::fs;
use std::time::{Duration, Instant, SystemTime};

use rustix::process::Signal;

use crate::harness::{CONDUCTOR, World, expect_no_leftovers, is_alive, leftovers, wait_for, zombies_of};
use crate::soak::amount;

/// C1. One second of time, ten of grace, and what it takes to look.
#[test]
fn one_that_ignores_termination_is_gone_in_time() {
    let world = World::with(
        "tasks: [{ id: deaf, run: AGENT ignore-term then pid deaf.pid then touch up then sleep 600, timeout: 1 }]",
    );
    let live = world.start(&["run", "tasks.yaml"]);
    world.wait_for_file("up");
    let start = Instant::now();
    let pid: u32 = world.read("deaf.pid").parse().unwrap();
    wait_for("the deaf one to go", || (!is_alive(pid)).then_some(()));
    let gone = start.elapsed();
    assert!(gone < Duration::from_secs(1 + 11), "gone after {gone:?}");
    assert!(gone > Duration::from_secs(9), "it got its grace, not {gone:?}");
    live.ended().expect(100).says("failed deaf: ");
    assert_eq!(world.summary()["results"][0]["error"]["class"], "timed_out");
}

/// C2: children, their children, and daemons in sessions of their own. The coordinator lives on with another task, so
/// nothing dies just because it does.
#[test]
fn nothing_survives_a_task_and_no_zombie_is_left() {
    let many = amount("CONDUCTOR_GRANDCHILDREN", 300);
    let world = World::with(&format!(
        "
tasks:
  - {{ id: breeder, run: AGENT grandchildren {many} bred then daemon daemon.pid then await end }}
  - {{ id: other, run: AGENT await go }}
"
    ));
    let live = world.start(&["run", "tasks.yaml", "-p", "2"]);
    world.wait_for_file("bred");
    world.wait_for_file("daemon.pid");
    let id = world.run_id();
    assert!(leftovers(&id).len() as u64 > many, "{} of {many}", leftovers(&id).len());
    let daemon: u32 = wait_for("the daemon", || world.read("daemon.pid").parse().ok());
    world.write("end", "");
    live.wait_for_stderr("ok      breeder");
    let ended = Instant::now();
    let of_breeder = || leftovers(&id).into_iter().filter(|(_, words)| !words.contains("await go")).count();
    wait_for("every descendant to go", || (of_breeder() == 0).then_some(()));
    assert!(ended.elapsed() < Duration::from_secs(2), "gone {:?} after the task's end", ended.elapsed());
    assert!(!is_alive(daemon));
    // Until they have been collected is a matter of the next look; there must be one.
    wait_for("zombies to be collected", || zombies_of(live.pid()).is_empty().then_some(()));
    assert!(
        ended.elapsed() < Duration::from_secs(2),
        "zombies for {:?}: {:?}",
        ended.elapsed(),
        zombies_of(live.pid())
    );
    world.write("go", "");
    live.ended().expect(0);
    expect_no_leftovers(&id);
}

/// C2 for tasks that end at once, whose leftovers are looked for together.
#[test]
fn daemons_of_very_short_tasks_are_found_too() {
    let mut text = String::from("tasks:\n  - { id: last, run: AGENT await go }\n");
    for task in 0..10 {
        text.push_str(&format!("  - {{ id: t{task}, run: setsid --fork sleep 600 }}\n"));
    }
    let world = World::with(&text);
    let live = world.start(&["run", "tasks.yaml", "-p", "4"]);
    live.wait_for_stderr("[10/11]");
    let ended = Instant::now();
    let id = world.run_id();
    let daemons = || leftovers(&id).into_iter().filter(|(_, words)| words.contains("sleep 600")).count();
    wait_for("the daemons to go", || (daemons() == 0).then_some(()));
    assert!(ended.elapsed() < Duration::from_secs(2), "gone after {:?}", ended.elapsed());
    wait_for("zombies to be collected", || zombies_of(live.pid()).is_empty().then_some(()));
    assert!(ended.elapsed() < Duration::from_secs(2), "zombies for {:?}", ended.elapsed());
    world.write("go", "");
    live.ended().expect(0);
}

/// C2 for one that wipes its environment, and with it the mark: it is our orphan all the same.
#[test]
fn a_daemon_without_a_mark_does_not_outlive_the_run() {
    let world = World::with(
        "tasks: [{ id: wiped, run: AGENT pid a then touch up }, { id: wipes, run: 'env -i setsid --fork AGENT pid wiped.pid then sleep 600; AGENT await wiped.pid' }]",
    );
    world.conductor(&["run", "tasks.yaml", "-p", "2"]).expect(0);
    let pid: u32 = wait_for("its number", || world.read("wiped.pid").parse().ok());
    wait_for("it to go", || (!is_alive(pid)).then_some(()));
}

/// C3. Not one byte of it passes through us.
#[test]
fn a_flood_of_output_costs_neither_memory_nor_disk() {
    let bytes = amount("CONDUCTOR_FLOOD_BYTES", 1 << 30);
    let world = World::with(&format!("tasks: [{{ id: loud, run: AGENT flood {bytes} then await go }}]"));
    let live = world.start(&["run", "tasks.yaml"]);
    live.wait_for_stderr("start   loud");
    let before = high_water(live.pid());
    let spool = world.home().join("runs").join(world.run_id()).join("executor_1/spool.log");
    wait_for("the whole flood", || (fs::metadata(&spool).ok()?.len() > bytes).then_some(()));
    wait_for("the middle to be given back", || {
        let on_disk = std::os::unix::fs::MetadataExt::blocks(&fs::metadata(&spool).ok()?) * 512;
        (on_disk < 24 << 20).then_some(())
    });
    world.write("go", "");
    let mut live = live;
    let mut after = before;
    while live.is_running() {
        after = high_water(live.pid()).max(after);
        std::thread::sleep(Duration::from_millis(5));
    }
    live.ended().expect(0);
    assert!(after - before < 50 << 20, "grown by {} MiB", (after - before) >> 20);
    let text = fs::read(world.transcripts("loud").pop().unwrap()).unwrap();
    assert!(text.len() <= 17 << 20, "{} bytes kept", text.len());
    let text = String::from_utf8(text).unwrap();
    assert!(text.starts_with("the beginning\n") && text.ends_with("\nthe end\n"));
    assert!(text.contains(" bytes left out]\n"), "the gap is not told");
}

/// The most memory a process has had, in bytes; 0 once it is gone.
fn high_water(pid: u32) -> u64 {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.and_then(|line| line.trim().strip_suffix(" kB")?.parse::<u64>().ok()).map_or(0, |kib| kib << 10)
}

/// C4.
#[test]
fn one_endless_line_is_kept_short_and_shown_shorter() {
    let world = World::with("tasks: [{ id: line, run: AGENT long-line 67108864 then exit 1 }]");
    let ended = world.conductor(&["run", "tasks.yaml"]).expect(100);
    assert!(ended.stdout.len() + ended.stderr.len() < 4096, "{} bytes shown", ended.stdout.len());
    let text = world.transcript("line");
    assert!(text.len() <= 17 << 20, "{} bytes kept", text.len());
}

/// C4: kept to the byte, shown without anything a terminal acts on.
#[test]
fn garbage_is_kept_as_it_is_and_shown_as_text() {
    let world = World::with("tasks: [{ id: odd, run: AGENT garbage then exit 1 }]");
    for ui in ["plain", "json"] {
        let ended = match ui {
            "plain" => world.conductor(&["run", "tasks.yaml"]).expect(100),
            _ => world.conductor(&["run", "--retry-failed", "--json"]).expect(100),
        };
        for text in [&ended.stdout, &ended.stderr] {
            let raw = |c: char| (c.is_control() && c != '\n') || ('\u{202a}'..='\u{202e}').contains(&c);
            assert!(!text.contains(raw), "{ui}: {text:?}");
        }
        if ui == "plain" {
            ended.says("| before link").says("after");
        }
    }
    let bytes = world.transcript("odd");
    let once = b"before \x1b[2J\x1b]0;owned\x07\x1b]8;;http://evil\x1b\\link\x1b]8;;\x1b\\ \0 \xff\xfe\xc3 \xe2\x80\xaetxt.exe \x9b31m after\r\n";
    assert_eq!(bytes, once.repeat(4));
}

/// C5. There is no guess about stalls, so there is none to be wrong.
#[test]
fn a_silent_task_is_left_alone() {
    let world = World::with("tasks: [{ id: silent, run: AGENT sleep 5 }]");
    world.conductor(&["run", "tasks.yaml"]).expect(0);
}

/// C7. The end is when the coordinator took note of it; how long the disk then takes to keep it is another matter.
#[test]
fn a_daemon_that_keeps_the_output_open_does_not_hold_the_task() {
    let world = World::with("tasks: [{ id: host, run: AGENT daemon daemon.pid then make over }]");
    world.conductor(&["run", "tasks.yaml"]).expect(0);
    let over = fs::metadata(world.path("over")).unwrap().modified().unwrap();
    let at = world.sql("SELECT at FROM events WHERE json_extract(body, '$.attempt_ended') IS NOT NULL");
    let ended = SystemTime::UNIX_EPOCH + Duration::from_millis(at.trim().parse().unwrap());
    // The log counts whole milliseconds.
    let took = (ended + Duration::from_millis(1)).duration_since(over).unwrap();
    assert!(took < Duration::from_secs(2), "the task ended {took:?} after its process");
    assert!(!is_alive(world.read("daemon.pid").parse().unwrap()));
}

/// C8.
#[test]
fn only_the_task_that_takes_too_much_memory_fails() {
    let world = World::with(
        "
tasks:
  - { id: hog, run: AGENT hog 1073741824, resources: { memory: 64MiB } }
  - { id: modest, run: AGENT hog 33554432, resources: { memory: 64MiB } }
  - { id: other, run: AGENT touch done }
",
    );
    world.conductor(&["run", "tasks.yaml", "-p", "3"]).expect(100);
    let statuses = world.statuses();
    assert_eq!(
        (statuses["hog"].as_str(), statuses["modest"].as_str(), statuses["other"].as_str()),
        ("failed", "completed", "completed")
    );
}

/// C8 for what a task starts: the limit must be there before its first child is.
#[test]
fn the_children_of_a_task_have_its_memory_limit() {
    let world = World::with(
        "tasks: [{ id: parent, run: ['sh', '-c', 'AGENT hog 1073741824; exit $?'], resources: { memory: 64MiB } }]",
    );
    world.conductor(&["run", "tasks.yaml"]).expect(100);
}

#[test]
fn a_task_has_nothing_to_read() {
    let world = World::with("tasks: [{ id: reader, run: cat }]");
    let ended = world.conductor_with_input(&["run", "tasks.yaml"], b"typed by the user").expect(0);
    assert!(!ended.stdout.contains("typed"), "{}", ended.stdout);
    assert_eq!(world.transcript("reader"), b"");
}

/// An agent may be a conductor itself. Once killed, it cannot end its processes, which carry another run's
/// mark.
#[test]
fn what_an_inner_conductor_started_does_not_outlive_the_outer_run() {
    let mut world = World::with("tasks: [{ id: outer, run: CONDUCTOR run inner.yaml }]");
    world.write("tasks.yaml", &world.read("tasks.yaml").replace("CONDUCTOR", CONDUCTOR));
    world.write(
        "inner.yaml",
        "tasks: [{ id: inner, run: AGENT ignore-term then pid inner.pid then touch up then sleep 600 }]",
    );
    // The inner one finds its state by the home both have.
    world.unset("CONDUCTOR_HOME");
    let live = world.start(&["run", "tasks.yaml"]);
    world.wait_for_file("up");
    let inner: u32 = world.read("inner.pid").parse().unwrap();
    for said in ["starting nothing new", "stopping what runs", "killing what runs"] {
        live.signal(Signal::INT);
        live.wait_for_stderr(said);
    }
    live.ended().expect(130);
    assert!(!is_alive(inner), "the inner task goes on without a coordinator");
}
