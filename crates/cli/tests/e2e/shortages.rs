//! B16: when the machine runs short of something, Conductor waits. No task fails for it.

use std::fs;

use crate::harness::{CONDUCTOR, Live, World, agent, skipped};
use crate::repository::{expect_tidy, repository};

/// Tasks that write, to their workspace and to their transcript, and notice where they cannot.
fn writers(count: usize) -> String {
    let task = |n: usize| {
        format!("  - {{ id: t{n}, run: 'head -c 9000 /dev/urandom | base64 && echo {n} > f{n}.txt' }}\n")
    };
    format!("tasks:\n{}", (1..=count).map(task).collect::<String>())
}

/// A script for which `disk` is one of a few MiB, and `fill` and `empty` are what they say; none where no disk can be
/// mounted.
fn with_small_disk(world: &World, script: &str) -> Option<Live> {
    let disk = world.path("disk").display().to_string();
    fs::create_dir(world.path("disk")).unwrap();
    let mount = format!("mount -t tmpfs -o size=12m tmpfs {disk}");
    let mountable = world.command_of("unshare").args(["-m", "sh", "-c", &mount]).output();
    if !mountable.is_ok_and(|output| output.status.success()) {
        skipped("needs root and `unshare -m` to mount a small disk");
        return None;
    }
    let script = format!(
        "{mount} || exit 9\n\
         fill() {{ head -c 50000000 /dev/zero > {disk}/fill 2> /dev/null; }}\nempty() {{ rm -f {disk}/fill; }}\n{script}"
    );
    let mut shell = world.command_of("unshare");
    shell.args(["-m", "bash", "-c", &script]).current_dir(world.path("repo"));
    Some(world.spawn(&mut shell))
}

#[test]
fn tasks_whose_disk_fills_up_are_done_again_when_there_is_room() {
    // The first of them write when the disk is full for the first time.
    let tasks = writers(12).replace("'head", "'touch HERE/began; AGENT await HERE/full; head");
    let world = repository(&tasks);
    let script = format!(
        "export CONDUCTOR_HOME={here}/disk/state\n\
         (until test -e {here}/began; do sleep 0.02; done\n\
          while ! test -e {here}/done; do fill; touch {here}/full; sleep 0.5; empty; sleep 0.3; done) & filling=$!\n\
         {CONDUCTOR} run ../tasks.yaml -p 4; code=$?; touch {here}/done; wait $filling; exit $code",
        here = world.path("").display(),
    );
    let Some(live) = with_small_disk(&world, &script) else { return };
    let ended = live.ended().expect(0).says("12 tasks landed");
    assert!(ended.stderr.contains("waiting for room on the disk"), "it was never full: {}", ended.stderr);
}

/// It is tried again, for the room may have been taken by others, but not for ever.
#[test]
fn a_task_that_fills_the_disk_by_itself_fails_in_the_end() {
    let world = repository(
        "
config: { workspace_path: 'HERE/disk/{run}-{n}' }
tasks: [{ id: a, run: 'echo x >> HERE/tries; head -c 50000000 /dev/zero > big.bin' }]
",
    );
    let Some(live) = with_small_disk(&world, &format!("{CONDUCTOR} run ../tasks.yaml")) else { return };
    live.ended().expect(100).says("the disk was full each time a was tried");
    assert_eq!(world.read("tries").lines().count(), 3);
}

#[test]
fn nothing_starts_on_a_full_disk() {
    let world = repository(
        "
config: { workspace_path: 'HERE/disk/{run}-{n}' }
tasks: [{ id: a, run: 'AGENT touch HERE/began; echo 1 > a.txt' }]
",
    );
    let script = format!(
        "fill; truncate -s -40K {disk}/fill; (timeout 100 {agent} await {go}; empty) &\n\
         {CONDUCTOR} run ../tasks.yaml",
        disk = world.path("disk").display(),
        agent = agent(),
        go = world.path("go").display(),
    );
    let Some(live) = with_small_disk(&world, &script) else { return };
    live.wait_for_stderr("waiting for room on the disk");
    assert!(!world.path("began").exists());
    world.write("go", "");
    live.ended().expect(0).says("1 task landed");
}

#[test]
fn few_file_descriptors_mean_fewer_at_once_and_no_failure() {
    let world = repository(&writers(40));
    let mut shell = world.command_of("bash");
    let script = format!("ulimit -n 64; exec {CONDUCTOR} run ../tasks.yaml -p 40");
    let ended = world.spawn(shell.args(["-c", &script]).current_dir(world.path("repo"))).ended().expect(0);
    let ended = ended.says("64 file descriptors (ulimit -n) leave room for").says("40 tasks landed");
    assert!(!ended.stderr.contains("Too many open files"), "{}", ended.stderr);
    expect_tidy(&world);
}

#[test]
fn few_processes_mean_fewer_at_once_and_no_failure() {
    let world = repository(&writers(12));
    if !rustix::process::geteuid().is_root() {
        return skipped("the processes of a user who has others cannot be limited to a few; needs root");
    }
    // A user of whom nothing else runs.
    let user = (1_900_000_000 + std::process::id() % 1_000_000).to_string();
    let give = world.command_of("chown").args(["-R", &user]).arg(world.root()).status().unwrap();
    assert!(give.success());
    let script = format!("ulimit -u 24; exec {CONDUCTOR} run ../tasks.yaml -p 12");
    let mut shell = world.command_of("setpriv");
    shell.args(["--reuid", &user, "--clear-groups", "bash", "-c", &script]);
    let ended = world.spawn(shell.current_dir(world.path("repo"))).ended().expect(0);
    ended.says("24 processes (ulimit -u) leave room for").says("12 tasks landed");
}
