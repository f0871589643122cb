//! A coordinator that dies when its run is in the store and before it has begun.

use std::os::unix::fs::PermissionsExt;

use crate::harness::World;
use crate::repository::{command, conductor, git, on_branch, repository, status};

/// Kills the program that called it instead of making the branch of a run, once.
const GIT: &str = r#"#!/bin/sh
case " $* " in
  *" update-ref "*" refs/heads/conductor/"*)
    if [ ! -e HERE/killed ]; then : > HERE/killed; kill -9 "$PPID"; exit 1; fi ;;
esac
exec REAL "$@"
"#;

fn with_a_deadly_git(tasks: &str) -> World {
    let mut world = repository(tasks);
    let path = world.variable("PATH");
    let real =
        std::env::split_paths(&path).map(|folder| folder.join("git")).find(|file| file.is_file()).unwrap();
    let here = world.path("").display().to_string();
    let script = GIT.replace("HERE", here.trim_end_matches('/')).replace("REAL", &real.display().to_string());
    std::fs::create_dir_all(world.path("bin")).unwrap();
    world.write("bin/git", &script);
    std::fs::set_permissions(world.path("bin/git"), std::fs::Permissions::from_mode(0o755)).unwrap();
    let folders = std::iter::once(world.path("bin")).chain(std::env::split_paths(&path));
    world.set("PATH", std::env::join_paths(folders).unwrap());
    world
}

#[test]
fn a_run_that_had_not_begun_is_resumed_as_it_was_asked_for() {
    let world = with_a_deadly_git(
        "tasks:\n  - { id: a, run: cp new.txt copy.txt }\n  - { id: b, run: echo b > b.txt }\n",
    );
    world.write("repo/new.txt", "not committed\n");
    let asked =
        ["--land", "approve", "--max-time", "50m", "--max-cost", "7", "-p", "2", "--include-uncommitted"];
    let mut killed = command(&world, &[&["run", "../tasks.yaml"][..], &asked].concat());
    let killed = world.spawn(&mut killed).ended();
    assert_eq!(killed.code, None, "it was killed: {killed:?}");
    assert_eq!(world.logged("run_started"), Vec::<String>::new());

    // The resumed run starts from what was uncommitted then, wherever the checkout is by now.
    std::fs::remove_file(world.path("repo/new.txt")).unwrap();
    git(&world, &["commit", "-q", "--allow-empty", "-m", "more"]);
    conductor(&world, &["run", "--resume"])
        .expect(5)
        .says("a waits for your review")
        .says("b waits for your review");
    let options = "SELECT json_extract(body, '$.run_started.options') FROM events";
    let started = world.sql(&format!("{options} WHERE json_extract(body, '$.run_started') IS NOT NULL"));
    assert!(started.contains("\"max_cost\":7000000"), "{started}");
    assert!(started.contains("\"max_time\":3000000"), "{started}");
    assert!(started.contains("\"slots\":2"), "{started}");
    for task in ["a", "b"] {
        conductor(&world, &["review", "approve", task]).expect(0);
    }
    conductor(&world, &["run", "--resume"]).expect(0);
    assert_eq!(on_branch(&world, "copy.txt"), "not committed");
    assert_eq!(status(&world), "completed");
}

#[test]
fn caps_of_its_file_hold_for_a_run_that_had_not_begun() {
    let world = with_a_deadly_git(
        "limits: { max_attempts: 1 }\ntasks:\n  - { id: a, run: 'true' }\n  - { id: b, run: 'true' }\n",
    );
    let killed = conductor(&world, &["run", "../tasks.yaml"]);
    assert_eq!(killed.code, None, "it was killed: {killed:?}");
    conductor(&world, &["run", "--resume"]).expect(6).says("stopped at its budget: 1 of 2 completed");
}
