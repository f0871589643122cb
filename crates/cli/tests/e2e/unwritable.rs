//! Standard error and standard output that cannot be written: a terminal that was closed, a log on a full disk, closed
//! descriptors. The run goes on; only an answer that cannot be given is an error.

use std::fs::File;
use std::io::Read as _;
use std::os::fd::OwnedFd;
use std::process::{Child, Stdio};

use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};

use crate::harness::{CONDUCTOR, World, expect_no_leftovers, wait_for};
use crate::tmux::Terminal;

/// Says something at its start, while it runs and at its end.
const TASKS: &str = "
tasks:
  - { id: first, run: AGENT touch started then await go }
  - { id: broken, run: AGENT exit 3, retry_policy: { max_attempts: 2, initial_delay: 10ms } }
  - { id: last, run: AGENT touch done, dependencies: [first] }
";

#[track_caller]
fn code(mut child: Child) -> Option<i32> {
    wait_for("the end", || child.try_wait().unwrap()).code()
}

/// To be written to, and never with success.
fn full() -> File {
    File::options().write(true).open("/dev/full").unwrap()
}

#[test]
fn a_log_on_a_full_disk_does_not_end_the_run() {
    let world = World::with(TASKS);
    world.write("go", "");
    let mut command = world.command(&["run", "tasks.yaml", "-p", "2", "--heartbeat", "50ms"]);
    let child = command.stdout(Stdio::null()).stderr(full()).spawn().unwrap();
    assert_eq!(code(child), Some(100), "the code is the run's: one task failed");
    assert_eq!(world.read("done").lines().count(), 1);
    expect_no_leftovers(&world.run_id());
}

/// The run is done, and who reads its events is told that they are not whole.
#[test]
fn events_that_cannot_be_written_are_told() {
    let world = World::in_place("tasks: [{ id: a, run: 'touch done' }]");
    let run = || world.command(&["run", "tasks.yaml", "--json"]);
    let out = run().stdout(full()).stderr(Stdio::piped()).output().unwrap();
    assert_eq!(out.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&out.stderr).contains("cannot be written: No space left"), "{out:?}");
    assert!(world.path("done").exists());
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    assert_eq!(code(run().stdout(writer).spawn().unwrap()), Some(0), "a reader may have seen enough");
}

#[test]
fn closed_descriptors_do_not_end_the_run() {
    let world = World::with(TASKS);
    world.write("go", "");
    let script = format!("exec {CONDUCTOR} run tasks.yaml -p 2 >&- 2>&- <&-");
    let child = world.command_of("sh").args(["-c", &script]).spawn().unwrap();
    assert_eq!(code(child), Some(100));
    assert_eq!(world.read("done").lines().count(), 1);
    // What was opened first must not have been taken for standard error and written over.
    assert_eq!(world.sql("PRAGMA integrity_check").trim(), "ok");
}

/// A terminal of which only the program holds the other side.
fn terminal() -> (File, File) {
    let ours: OwnedFd = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
    grantpt(&ours).unwrap();
    unlockpt(&ours).unwrap();
    let name = ptsname(&ours, Vec::new()).unwrap();
    let theirs = File::options().read(true).write(true).open(name.to_str().unwrap()).unwrap();
    (File::from(ours), theirs)
}

/// `conductor run tasks.yaml & disown`, then the window is closed: no signal comes, but every write fails.
#[test]
fn a_terminal_that_is_closed_after_disown_does_not_end_the_run() {
    let world = World::with(TASKS);
    let (mut ours, theirs) = terminal();
    let mut command = world.command(&["run", "tasks.yaml", "--heartbeat", "50ms"]);
    command.stdin(theirs.try_clone().unwrap()).stdout(theirs.try_clone().unwrap()).stderr(theirs);
    let child = command.spawn().unwrap();
    drop(command);
    let mut first = [0; 64];
    assert!(ours.read(&mut first).unwrap() > 0, "it says something while there is a terminal");
    world.wait_for_file("started");
    drop(ours);
    world.write("go", "");
    assert_eq!(code(child), Some(100));
    assert_eq!(world.read("done").lines().count(), 1);
    expect_no_leftovers(&world.run_id());
}

/// The same in front, with the block that is drawn anew, where the user said (nohup) that the terminal may go.
#[test]
fn a_terminal_that_is_closed_while_it_is_drawn_on_does_not_end_the_run() {
    let mut world = World::with(TASKS);
    let code = {
        let program = format!("sh -c 'trap \"\" HUP; exec {CONDUCTOR} run tasks.yaml'");
        let Some(terminal) = Terminal::with(&mut world, (80, 24), ":", &program) else { return };
        terminal.wait_for(&["running"]);
        terminal.world.wait_for_file("started");
        terminal.tmux(&["kill-server"]);
        terminal.world.write("go", "");
        let noted = terminal.world.home().join("runs").join(terminal.world.run_id()).join("exit_code");
        wait_for("its exit code", || std::fs::read_to_string(&noted).ok().filter(|code| !code.is_empty()))
    };
    assert_eq!(code.trim(), "100");
    assert_eq!(world.read("done").lines().count(), 1);
    expect_no_leftovers(&world.run_id());
}

/// The message cannot be written, but the exit code is right.
#[test]
fn an_error_that_cannot_be_told_keeps_its_exit_code() {
    let world = World::with("tasks: [{ id: a, run: 'true', dependencies: [b] }]");
    for (args, expected) in [
        (&["run", "tasks.yaml"][..], 3),
        (&["validate", "tasks.yaml"], 3),
        (&["run", "--resume", "nosuchrun"], 2),
        (&["no-such-command"], 2),
    ] {
        let child = world.command(args).stdout(Stdio::null()).stderr(full()).spawn().unwrap();
        assert_eq!(code(child), Some(expected), "{args:?}");
    }
}

#[test]
fn an_answer_that_cannot_be_written_is_an_error_and_no_panic() {
    let world = World::with("tasks: [{ id: a, run: 'true' }]");
    world.conductor(&["run", "tasks.yaml"]).expect(0);
    for args in [
        &["graph", "tasks.yaml"][..],
        &["status"],
        &["events"],
        &["runs", "list"],
        &["schema"],
        &["version"],
        &["completions", "bash"],
        &["man"],
        &["--help"],
        &["run", "--help"],
    ] {
        let output = world.command(args).stdout(full()).stderr(Stdio::piped()).spawn().unwrap();
        let output = output.wait_with_output().unwrap();
        let told = String::from_utf8_lossy(&output.stderr);
        assert!(!told.contains("panicked"), "{args:?}: {told}");
        assert_eq!(output.status.code(), Some(1), "{args:?}: {told}");
        assert!(told.contains("No space left on device"), "{args:?}: {told}");
    }
}

/// `conductor graph tasks.yaml | head -1`.
#[test]
fn a_reader_that_has_read_enough_is_told_nothing() {
    let world = World::with("tasks: [{ id: a, run: 'true' }]");
    for args in [&["graph", "tasks.yaml"][..], &["schema"], &["--help"]] {
        let mut command = world.command(args);
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        drop(child.stdout.take());
        let output = child.wait_with_output().unwrap();
        assert_eq!(String::from_utf8_lossy(&output.stderr), "", "{args:?}");
        assert_ne!(output.status.code(), Some(101), "{args:?}");
    }
}
