//! A push or a pull that was ended half-way, and one that brings more of what is known already: nothing is lost, and the next
//! one brings what is missing.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use crate::harness::{World, wait_for};
use crate::repository::{command, conductor, git};
use crate::sync::{Machines, QUICK, events};

/// A machine without a repository that reads what another one may read.
fn machine_like(other: &World) -> World {
    let world = World::new();
    fs::create_dir(world.path("repo")).unwrap();
    fs::copy(other.home().join("sync.key"), world.home().join("sync.key")).unwrap();
    world
}

/// Runs a command that is killed when so many of its calls of git are done. Whether it came that far.
#[track_caller]
fn killed_after(world: &World, calls: usize, args: &[&str]) -> bool {
    let here = world.path("").display().to_string();
    let path = world.variable("PATH");
    let found = std::env::split_paths(&path).map(|folder| folder.join("git")).find(|git| git.is_file());
    let script = format!(
        "#!/bin/sh\n{} \"$@\"\ncode=$?\nn=$(($(cat {here}/calls) + 1))\necho $n > {here}/calls\n\
         if [ $n = {calls} ]; then touch {here}/reached; while [ ! -e {here}/gone ]; do sleep 0.01; done; fi\nexit $code\n",
        found.unwrap().display()
    );
    fs::create_dir_all(world.path("stalled")).unwrap();
    fs::write(world.path("stalled/git"), script).unwrap();
    fs::set_permissions(world.path("stalled/git"), fs::Permissions::from_mode(0o755)).unwrap();
    let _ = [fs::remove_file(world.path("reached")), fs::remove_file(world.path("gone"))];
    world.write("calls", "0");
    let all = std::env::join_paths([world.path("stalled")].into_iter().chain(std::env::split_paths(&path)));
    let mut live = world.spawn(command(world, args).env("PATH", all.unwrap()));
    let is_reached = wait_for("a call of git, or the end", || match world.path("reached").exists() {
        true => Some(true),
        false => (!live.is_running()).then_some(false),
    });
    drop(live);
    world.write("gone", "");
    is_reached
}

#[track_caller]
fn expect_whole(world: &World, from: &World, run: &str) {
    assert_eq!(events(world, run), events(from, run));
    conductor(world, &["logs", "a", "--run", run]).expect(0).says("said");
    let summary = |world: &World| -> serde_json::Value {
        let path = world.home().join("runs").join(run).join("execution_summary.json");
        serde_json::from_slice(&fs::read(path).unwrap()).unwrap()
    };
    assert_eq!(summary(world)["results"], summary(from)["results"]);
}

/// Fewer than this, and they would not be the points they are meant to be.
const FEWEST_POINTS: usize = 3;

#[test]
fn a_push_that_was_killed_anywhere_is_made_good_by_the_next() {
    let machines = Machines::with(QUICK);
    let a = &machines.a;
    conductor(a, &["run", "../tasks.yaml", "-q"]).expect(0);
    conductor(a, &["sync", "key"]).expect(0);
    let run = a.run_id();
    let mut points = 0;
    for calls in (1..).step_by(3) {
        let remote = a.root().join(format!("runs-{calls}.git")).display().to_string();
        git(a, &["init", "-q", "--bare", &remote]);
        let push = ["sync", "push", "--to", &remote, "--transcripts", "--yes"];
        if !killed_after(a, calls, &push) {
            break;
        }
        points += 1;
        conductor(a, &push).expect(0);
        let other = machine_like(a);
        conductor(&other, &["sync", "pull", "--from", &remote, "--yes"]).expect(0).says("pulled 1 run");
        expect_whole(&other, a, &run);
        conductor(a, &push).expect(0).says("everything is at the remote already");
    }
    assert!(points >= FEWEST_POINTS, "{points}");
}

#[test]
fn a_pull_that_was_killed_anywhere_is_made_good_by_the_next() {
    let machines = Machines::with(QUICK);
    let (a, remote) = (&machines.a, machines.remote());
    for _ in 0..2 {
        conductor(a, &["run", "../tasks.yaml", "-q"]).expect(0);
    }
    conductor(a, &["sync", "key"]).expect(0);
    conductor(a, &["sync", "push", "--to", &remote, "--transcripts", "--yes"]).expect(0).says("2 runs");
    let pull = ["sync", "pull", "--from", &remote, "--yes"];
    let mut points = 0;
    for calls in (1..).step_by(3) {
        let other = machine_like(a);
        if !killed_after(&other, calls, &pull) {
            break;
        }
        points += 1;
        conductor(&other, &pull).expect(0);
        for run in a.runs() {
            expect_whole(&other, a, &run);
        }
        conductor(&other, &pull).expect(0).says("everything is here already");
    }
    assert!(points >= FEWEST_POINTS, "{points}");
}

/// Ended between the log and the rest, the note alone knows that something is missing.
#[test]
fn what_belongs_to_a_log_comes_with_the_next_pull_where_only_the_log_came() {
    let machines = Machines::with(QUICK);
    let Machines { a, b } = &machines;
    machines.share(&machines.remote());
    conductor(a, &["run", "../tasks.yaml", "-q"]).expect(0);
    let run = a.run_id();
    conductor(a, &["sync", "push", "--transcripts", "--yes"]).expect(0);
    let in_the_way = b.home().join("runs").join(&run).join("execution_summary.json");
    fs::create_dir_all(in_the_way.join("x")).unwrap();
    conductor(b, &["sync", "pull", "--yes"]).expect(1).says("nothing was pulled");
    assert_eq!(events(b, &run), events(a, &run), "the log is here");
    conductor(b, &["run", "--resume", &run, "--retry-failed"])
        .expect(1)
        .says("was ended before all of it was here")
        .says(&format!("conductor sync pull {run}"));
    fs::remove_dir_all(in_the_way).unwrap();
    conductor(b, &["sync", "status"]).expect(0).says("the same, files not pulled");
    conductor(b, &["sync", "pull", "--dry-run"]).expect(0).says("its files, with transcripts");
    conductor(b, &["sync", "pull"]).expect(0).says("pulled 1 run");
    expect_whole(b, a, &run);
    conductor(b, &["sync", "pull"]).expect(0).says("everything is here already");
    conductor(b, &["sync", "status"]).expect(0).says("the same  -");
}

#[test]
fn transcripts_that_are_pushed_later_arrive_where_the_run_is_known() {
    let machines = Machines::with(QUICK);
    let Machines { a, b } = &machines;
    machines.share(&machines.remote());
    conductor(a, &["run", "../tasks.yaml", "-q"]).expect(0);
    let run = a.run_id();
    conductor(a, &["sync", "push", "--yes"]).expect(0);
    conductor(b, &["sync", "pull", "--yes"]).expect(0).says("pulled 1 run");
    let known =
        |world: &World| Path::new(&world.home()).join("runs").join(&run).join("executor_1/a").exists();
    assert!(!known(b));
    conductor(a, &["sync", "push", "--transcripts"]).expect(0).says("with transcripts");
    conductor(b, &["sync", "push"]).expect(0).says("everything is at the remote already");
    let pulled = conductor(b, &["sync", "pull", "--json"]).expect(0);
    assert_eq!(pulled.json()["runs"][0]["what"], "renewed");
    expect_whole(b, a, &run);
    // A claim changes the ref and brings nothing.
    conductor(a, &["sync", "claim", &run]).expect(0);
    for world in [a, b] {
        conductor(world, &["sync", "pull", "--yes"]).expect(0).says("everything is here already");
    }
}
