//! What used to wait for ever is answered or refused within seconds.

use std::fs::{self, File};
use std::time::Duration;

use crate::harness::{CONDUCTOR, Ended, World, skipped};

/// The promise is five seconds, of which a loaded machine may make several.
const SOON: Duration = Duration::from_secs(15);

const LOOKS: [&[&str]; 5] = [&["runs", "list"], &["status"], &["events"], &["logs", "a"], &["runs", "show"]];

/// These look too, and answer or say why not.
const MORE: [&[&str]; 8] = [
    &[],
    &["cost"],
    &["diff", "a"],
    &["report", "-o", "-"],
    &["explain", "a"],
    &["worktree", "list"],
    &["group", "status"],
    &["wait", "--timeout", "1"],
];

/// Neither for ever nor by a fault of its own.
#[track_caller]
fn is_answered(look: &[&str], ended: &Ended) {
    let is_answer = ended.code.is_some_and(|code| (0..10).contains(&code));
    assert!(is_answer, "{look:?}: {:?}: {}", ended.code, ended.stderr);
    assert!(ended.code != Some(1) || ended.stderr.contains("error: "), "{look:?}: {}", ended.stderr);
}

fn used() -> World {
    let world = World::with("tasks: [{ id: a, run: 'echo spoken' }]");
    world.conductor(&["run", "tasks.yaml"]).expect(0);
    world
}

/// Runs the program where its state directory cannot be written.
fn read_only(world: &World, args: &str) -> Ended {
    let home = world.home().display().to_string();
    let script =
        format!("mount --bind {home} {home} && mount -o remount,ro,bind {home} && exec {CONDUCTOR} {args}");
    world.spawn(world.command_of("unshare").args(["-m", "sh", "-c", &script])).ended_within(SOON)
}

#[test]
fn a_state_directory_that_cannot_be_written_can_be_looked_at() {
    let world = used();
    if read_only(&world, "version").code != Some(0) {
        return skipped("needs root and `unshare -m` to mount a folder read-only");
    }
    for look in LOOKS {
        read_only(&world, &look.join(" ")).expect(0);
    }
    MORE.iter().for_each(|look| is_answered(look, &read_only(&world, &look.join(" "))));
    let refused = read_only(&world, "run tasks.yaml").expect(1);
    refused.says("Read-only file system").says("CONDUCTOR_HOME");
    read_only(&world, "doctor").expect(1).says("cannot be written");
}

/// A log that was left by a run that was killed is part of what is read.
#[test]
fn what_a_killed_run_left_is_read_where_nothing_can_be_written() {
    let world = World::with("tasks: [{ id: a, run: AGENT touch up then await go }]");
    let mut live = world.start(&["run", "tasks.yaml"]);
    world.wait_for_file("up");
    live.child.kill().unwrap();
    live.child.wait().unwrap();
    if read_only(&world, "version").code != Some(0) {
        return skipped("needs root and `unshare -m` to mount a folder read-only");
    }
    let id = world.run_id();
    let listed = |world| read_only(world, "runs list").expect(0).says(&id).says("left");
    listed(&world);
    // A program that ends while SQLite closes its files can leave the log without what is shared about it.
    fs::remove_file(world.home().join("conductor.db-shm")).unwrap();
    listed(&world);
    assert!(world.home().join("conductor.db-wal").exists(), "nothing was written");
}

#[test]
fn a_database_that_was_cut_short_is_named_as_damaged() {
    let whole = used();
    crate::store::write_sql(&whole, "PRAGMA wal_checkpoint(TRUNCATE)");
    assert!(!whole.home().join("conductor.db-wal").exists(), "everything is in the file");
    let bytes = fs::read(whole.database()).unwrap();
    for length in [0, 1, 100, 4096, bytes.len() / 2, bytes.len() - 4096] {
        fs::write(whole.database(), &bytes[..length]).unwrap();
        for look in LOOKS {
            let ended = whole.start(look).ended_within(SOON);
            assert_eq!(ended.code, Some(1), "{length} bytes, {look:?}: {}{}", ended.stdout, ended.stderr);
            assert!(
                ended.stderr.contains("conductor.db is damaged"),
                "{length} bytes, {look:?}: {}",
                ended.stderr
            );
        }
        if length == bytes.len() / 2 {
            MORE.iter().for_each(|look| is_answered(look, &whole.start(look).ended_within(SOON)));
        }
        assert_eq!(fs::read(whole.database()).unwrap(), bytes[..length], "it is left as it is");
    }
}

#[test]
fn a_lock_that_is_not_let_go_of_hinders_no_look_and_is_named_by_a_first_run() {
    let world = used();
    let lock = File::open(world.home().join("lock")).unwrap();
    lock.lock().unwrap();
    for look in LOOKS {
        world.start(look).ended_within(SOON).expect(0);
    }
    MORE.iter().for_each(|look| is_answered(look, &world.start(look).ended_within(SOON)));
    world.start(&["run", "tasks.yaml"]).ended_within(SOON).expect(0);
    drop(lock);
    let new = World::with("tasks: [{ id: a, run: 'true' }]");
    let lock = File::create(new.home().join("lock")).unwrap();
    lock.lock().unwrap();
    let refused = new.start(&["run", "tasks.yaml"]).ended_within(SOON).expect(1);
    refused.says("lock is held by another process");
}
