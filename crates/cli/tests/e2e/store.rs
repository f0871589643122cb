//! The disk is full, the database is locked, damaged or too new (A6 to A8).

use std::fs;
use std::io::Write as _;
use std::path::PathBuf;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use crate::harness::{CONDUCTOR, Ended, World, expect_no_leftovers, skipped, wait_for};

/// A6. One task fills the disk under the state directory; another, at the test's word, frees it again.
#[test]
fn a_full_disk_is_waited_for() {
    let world = World::new();
    let home = world.home();
    let mountable = world
        .command_of("unshare")
        .args(["-m", "mount", "-t", "tmpfs", "-o", "size=4m", "tmpfs"])
        .arg(&home)
        .output()
        .is_ok_and(|output| output.status.success());
    if !mountable {
        return skipped("needs root and `unshare -m` to mount a small disk");
    }
    let fill = home.join("fill").display().to_string();
    world.write(
        "tasks.yaml",
        &format!(
            "
tasks:
  - {{ id: fill, run: 'AGENT await up; AGENT fill {fill} then make full' }}
  - {{ id: free, run: 'AGENT touch up then await go; rm {fill}' }}
  - {{ id: after, run: AGENT touch done, dependencies: [fill, free] }}
"
        ),
    );
    let script = format!(
        "mount -t tmpfs -o size=4m tmpfs {home} && {CONDUCTOR} run tasks.yaml -p 2; code=$?; \
         sqlite3 {home}/conductor.db 'PRAGMA integrity_check' \"SELECT status FROM runs\"; exit $code",
        home = home.display()
    );
    let live = world.spawn(world.command_of("unshare").args(["-m", "sh", "-c", &script]));
    live.wait_for_stderr("the disk is full");
    assert!(world.path("full").exists());
    world.write("go", "");
    let ended = live.ended().expect(0).says("the store can be written again").says("3 of 3 completed");
    assert!(ended.stdout.ends_with("ok\ncompleted\n"), "{}", ended.stdout);
    assert_eq!(world.read("done").lines().count(), 1);
}

/// Another process that has the database for itself.
pub(crate) struct Holder {
    shell: Child,
}

impl Holder {
    pub(crate) fn lock(world: &World) -> Holder {
        let mut command = world.command_of("sqlite3");
        command.args(["-cmd", ".timeout 20000"]).arg(world.database());
        let mut shell = command.stdin(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap();
        let held = world.path("held").display().to_string();
        let stdin = shell.stdin.as_mut().unwrap();
        writeln!(stdin, "BEGIN IMMEDIATE;\n.shell touch {held}").unwrap();
        stdin.flush().unwrap();
        world.wait_for_file("held");
        Holder { shell }
    }

    pub(crate) fn release(mut self) {
        let stdin = self.shell.stdin.as_mut().unwrap();
        writeln!(stdin, "COMMIT;\n.quit").unwrap();
        self.shell.wait().unwrap();
    }
}

/// A7.
#[test]
fn a_lock_held_for_half_a_minute_fails_nothing() {
    let world = World::with(
        "
tasks:
  - { id: a, run: AGENT touch up then await go }
  - { id: b, run: AGENT touch up then await go }
  - { id: c, run: AGENT touch done, dependencies: [a, b] }
",
    );
    let live = world.start(&["run", "tasks.yaml", "-p", "2"]);
    wait_for("both tasks", || (world.read("up").lines().count() == 2).then_some(()));
    // The lock is taken once nothing is being written, and everything that follows meets it.
    let holder = Holder::lock(&world);
    let start = Instant::now();
    world.write("go", "");
    live.wait_for_stderr("is locked by another process");
    while start.elapsed() < Duration::from_secs(30) {
        std::thread::sleep(Duration::from_millis(100));
    }
    assert!(
        live.stderr().contains("start   a") && !live.stderr().contains("ok      a"),
        "nothing is told before it is in the store"
    );
    assert_eq!(world.synced("task_completed"), [""; 0]);
    holder.release();
    live.ended().expect(0).says("the store can be written again").says("3 of 3 completed");
    assert_eq!(world.synced("task_completed").len(), 3);
    assert_eq!(world.read("done").lines().count(), 1);
}

/// A7 at the very start, where there is no run yet that could be lost.
#[test]
fn a_run_started_while_the_database_is_locked_waits_for_it() {
    let world = World::with("tasks: [{ id: a, run: AGENT touch done }]");
    world.conductor(&["run", "tasks.yaml"]).expect(0);
    let holder = Holder::lock(&world);
    let start = Instant::now();
    let mut live = world.start(&["run", "tasks.yaml"]);
    while start.elapsed() < Duration::from_secs(8) && live.is_running() {
        std::thread::sleep(Duration::from_millis(20));
    }
    holder.release();
    live.ended().expect(0);
    assert_eq!(world.read("done").lines().count(), 2);
}

/// A run that was killed in the middle, with everything it wrote still in the write-ahead log.
fn killed_run() -> (World, String) {
    let world = World::with(
        "tasks: [{ id: first, run: AGENT touch done }, { id: second, run: AGENT touch up then await go, dependencies: [first] }]",
    );
    let mut live = world.start(&["run", "tasks.yaml"]);
    world.wait_for_file("up");
    wait_for("the number of the process to be noted", || {
        world.logged("process_started").contains(&"second".to_owned()).then_some(())
    });
    // Only what was acknowledged has to be missed when it is gone, and the witness of that is written last.
    let head = world.home().join("runs").join(world.run_id()).join("head");
    wait_for("the witness", || {
        let seen = u64::from_le_bytes(fs::read(&head).ok()?.try_into().ok()?);
        (seen.to_string() == world.sql("SELECT max(seq) FROM events").trim()).then_some(())
    });
    live.child.kill().unwrap();
    live.child.wait().unwrap();
    let id = world.run_id();
    (world, id)
}

fn files(world: &World) -> Vec<(PathBuf, Vec<u8>)> {
    // The index beside the log (-shm) is memory the system shares; it is made anew on every opening.
    ["conductor.db", "conductor.db-wal"]
        .map(|name| world.home().join(name))
        .into_iter()
        .map(|path| (path.clone(), fs::read(path).unwrap_or_default()))
        .collect()
}

/// Resumes; that must be refused and leave the database as it was, to the byte.
#[track_caller]
fn refused(world: &World, id: &str) -> Ended {
    let before = files(world);
    let done = world.read("done");
    let ended = world.conductor(&["run", "--resume", id]).expect(1);
    for ((path, before), (_, after)) in before.iter().zip(files(world)) {
        assert!(
            *before == after,
            "{} was changed: {} bytes, now {}",
            path.display(),
            before.len(),
            after.len()
        );
    }
    assert_eq!(world.read("done"), done, "nothing is started");
    ended
}

/// SQLite's own shell, which may write.
pub(crate) fn write_sql(world: &World, statement: &str) {
    let status =
        world.command_of("sqlite3").arg(world.database()).arg(statement).stdout(Stdio::null()).status();
    assert!(status.unwrap().success(), "{statement}");
}

/// A8.
#[test]
fn a_flipped_byte_is_found_and_the_file_left_alone() {
    let (world, id) = killed_run();
    write_sql(&world, "PRAGMA wal_checkpoint(TRUNCATE)");
    let mut bytes = fs::read(world.database()).unwrap();
    let body = b"{\"attempt_started\":{\"task\":\"first\"";
    let at = bytes.windows(body.len()).position(|window| window == body).unwrap();
    bytes[at + body.len() - 2] ^= 1;
    fs::write(world.database(), bytes).unwrap();
    refused(&world, &id).says("damaged").says("does not match its checksum").says("conductor.db");
}

/// A8, where SQLite itself sees the damage.
#[test]
fn a_torn_page_is_found_and_the_file_left_alone() {
    let (world, id) = killed_run();
    write_sql(&world, "PRAGMA wal_checkpoint(TRUNCATE)");
    let mut bytes = fs::read(world.database()).unwrap();
    for byte in &mut bytes[4096..] {
        *byte = 0x5a;
    }
    fs::write(world.database(), bytes).unwrap();
    refused(&world, &id).says("damaged").says("conductor.db");
}

#[test]
fn what_is_no_database_is_left_alone() {
    let world = World::with("tasks: [{ id: a, run: AGENT touch done }]");
    fs::write(world.database(), "my diary\n".repeat(1000)).unwrap();
    let before = files(&world);
    world.conductor(&["run", "tasks.yaml"]).expect(1).says("conductor.db");
    assert!(before == files(&world));
    assert_eq!(world.read("done"), "");
}

/// A8.
#[test]
fn a_newer_database_is_named_as_such_and_left_alone() {
    let (world, id) = killed_run();
    write_sql(
        &world,
        "INSERT INTO _sqlx_migrations (version, description, success, checksum, execution_time)
         VALUES (99990101000000, 'from the future', 1, x'00', 0)",
    );
    refused(&world, &id).says("newer conductor").says("99990101000000");
}

/// A8: a log cut short, at every place a file can be cut.
#[test]
fn a_truncated_log_is_found_and_the_file_left_alone() {
    for part in [0, 1, 10, 50, 90, 99] {
        let (world, id) = killed_run();
        // What is only written too is in the run's journal as well, and nothing is lost then.
        let _ = fs::remove_file(world.home().join("runs").join(&id).join("journal"));
        let wal = world.home().join("conductor.db-wal");
        let mut bytes = fs::read(&wal).unwrap();
        // Behind the last frame the log is filled up with zeros; losing those loses no event.
        bytes.truncate(bytes.iter().rposition(|&byte| byte != 0).unwrap() + 1);
        fs::write(&wal, &bytes[..bytes.len() * part / 100]).unwrap();
        println!("{part} % of {} bytes left", bytes.len());
        refused(&world, &id).says("damaged").says("conductor.db");
    }
}

/// A2: processes that a dead coordinator left running are ended on resume.
#[test]
fn what_a_dead_coordinator_left_is_ended_before_it_runs_again() {
    let (world, id) = killed_run();
    let left = crate::harness::leftovers(&id);
    assert!(!left.is_empty());
    world.write("go", "");
    world.conductor(&["run", "--resume", &id]).expect(0).says("2 of 2 completed");
    expect_no_leftovers(&id);
}

/// The same for what hid in sessions of its own.
#[test]
fn daemons_of_a_dead_coordinator_are_found_on_resume() {
    let world = World::with(
        "tasks: [{ id: breeder, run: AGENT touch up then grandchildren 30 bred then daemon daemon.pid then await go }]",
    );
    let mut live = world.start(&["run", "tasks.yaml"]);
    wait_for("the daemon", || world.read("daemon.pid").parse::<u32>().ok());
    live.child.kill().unwrap();
    live.child.wait().unwrap();
    let id = world.run_id();
    let old = crate::harness::leftovers(&id);
    assert!(old.len() > 30, "{old:?}");
    fs::remove_file(world.path("up")).unwrap();
    let live = world.start(&["run", "--resume"]);
    world.wait_for_file("up");
    let left = crate::harness::leftovers(&id);
    let survivors: Vec<_> = old.iter().filter(|process| left.contains(process)).collect();
    assert!(survivors.is_empty(), "still there when the task runs again: {survivors:?}");
    world.write("go", "");
    live.ended().expect(0);
    expect_no_leftovers(&id);
}

/// Many first runs at once, all of them making the same database.
#[test]
fn runs_started_at_the_same_moment_share_a_new_database() {
    let world = World::with("tasks: [{ id: a, run: AGENT touch done }, { id: b, run: AGENT touch done }]");
    let all: Vec<_> = (0..8).map(|_| world.start(&["run", "tasks.yaml"])).collect();
    for live in all {
        live.ended().expect(0);
    }
    assert_eq!(world.read("done").lines().count(), 16);
    assert_eq!(world.sql("SELECT count(*) FROM runs WHERE status = 'completed'").trim(), "8");
}

impl Drop for Holder {
    fn drop(&mut self) {
        let _ = self.shell.kill();
        let _ = self.shell.wait();
    }
}
