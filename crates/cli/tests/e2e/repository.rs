//! A world with a repository in it.

use crate::harness::{Ended, Live, World, expect_no_leftovers};

/// A repository with one commit; the task file stands outside of it, and may say `HERE` for the folder around both.
pub(crate) fn repository(tasks: &str) -> World {
    let world = World::new();
    std::fs::create_dir_all(world.path("repo")).unwrap();
    world.write("tasks.yaml", &tasks.replace("HERE", &world.path("").display().to_string()));
    world.write("repo/f.txt", "a\nb\nc\n");
    git(&world, &["init", "-q", "-b", "main", "."]);
    git(&world, &["config", "user.name", "User"]);
    git(&world, &["config", "user.email", "user@localhost"]);
    git(&world, &["add", "."]);
    git(&world, &["commit", "-q", "-m", "start"]);
    world
}

#[track_caller]
pub(crate) fn git(world: &World, args: &[&str]) -> String {
    let output = world.command_of("git").current_dir(world.path("repo")).args(args).output().unwrap();
    assert!(output.status.success(), "git {args:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap().trim_end().to_owned()
}

pub(crate) fn command(world: &World, args: &[&str]) -> std::process::Command {
    let mut command = world.command(args);
    command.current_dir(world.path("repo"));
    command
}

/// What the checkout is like: its branch, its commit, and every difference.
pub(crate) fn checkout(world: &World) -> String {
    git(world, &["status", "--porcelain=v2", "--branch", "--untracked-files=all"]) + &world.read("repo/f.txt")
}

/// Nothing of a run is left in the repository but its branch and what it rescued.
#[track_caller]
pub(crate) fn expect_tidy(world: &World) {
    assert_eq!(git(world, &["worktree", "list"]).lines().count(), 1);
    assert_eq!(git(world, &["for-each-ref", "refs/heads/conductor-task"]), "");
    let workspaces = world.home().join("runs").join(world.run_id()).join("workspaces");
    let left: Vec<_> =
        std::fs::read_dir(&workspaces).into_iter().flatten().flatten().map(|entry| entry.path()).collect();
    assert!(!workspaces.exists(), "{left:?}");
    expect_no_leftovers(&world.run_id());
}

/// Runs the program in the checkout, to its end.
#[track_caller]
pub(crate) fn conductor(world: &World, args: &[&str]) -> Ended {
    world.spawn(&mut command(world, args)).ended()
}

/// Starts a run of the task file.
pub(crate) fn start(world: &World, args: &[&str]) -> Live {
    world.spawn(&mut command(world, &[&["run", "../tasks.yaml"], args].concat()))
}

/// Two tasks that change the same line: `left` lands first, `right` is left with a conflict.
pub(crate) const CONFLICT: &str = "
tasks:
  - { id: left, run: 'sed -i s/b/LEFT/ f.txt; AGENT make HERE/left', verify: ['! grep -q BAD f.txt'] }
  - { id: right, run: 'AGENT await HERE/left; sed -i s/b/RIGHT/ f.txt; echo own > own.txt; AGENT await HERE/landed', verify: ['! grep -q BAD f.txt'] }
";

/// A world in which that has happened.
#[track_caller]
pub(crate) fn conflicted() -> World {
    conflicted_by(CONFLICT)
}

#[track_caller]
pub(crate) fn conflicted_by(tasks: &str) -> World {
    let world = repository(tasks);
    let live = world.spawn(&mut command(&world, &["run", "../tasks.yaml", "-p", "2"]));
    live.wait_for_stderr("ok      left");
    world.write("landed", "");
    live.ended().expect(101).says("conductor worktree resolve right");
    world
}

/// What a file is on the run's branch.
#[track_caller]
pub(crate) fn on_branch(world: &World, file: &str) -> String {
    git(world, &["show", &format!("conductor/{}:{file}", world.run_id())])
}

/// The run's state as the store has it.
#[track_caller]
pub(crate) fn status(world: &World) -> String {
    world.sql("SELECT status FROM runs").trim().to_owned()
}
