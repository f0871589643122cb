//! What stays behind after runs that ended, were killed, cancelled or refused: nothing that the documents do not name.

use std::fs;
use std::path::Path;

use rustix::process::Signal;

use crate::harness::{World, expect_no_leftovers, leftovers, wait_for};
use crate::repository::{checkout, command, conductor, conflicted_by, git, repository, start};

/// Everything below a folder, by its path in it.
fn files(folder: &Path) -> Vec<String> {
    let mut found = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(next) = folders.pop() {
        for entry in fs::read_dir(&next).into_iter().flatten().flatten() {
            match entry.file_type().unwrap().is_dir() {
                true => folders.push(entry.path()),
                false => found.push(entry.path().strip_prefix(folder).unwrap().display().to_string()),
            }
        }
    }
    found.sort();
    found
}

fn leased(world: &World) -> Vec<String> {
    files(&world.home().join("ports"))
}

const WAITS: &str = "tasks: [{ id: a, run: 'AGENT touch HERE/up then await HERE/go; echo 1 > a.txt' }]";

#[test]
fn no_lease_of_ports_stays_behind_a_run_that_ended() {
    let world = repository("tasks: [{ id: a, run: 'echo 1 > a.txt' }, { id: b, run: 'exit 1' }]");
    conductor(&world, &["run", "../tasks.yaml", "-p", "2"]).expect(100);
    assert_eq!(leased(&world), [""; 0]);
}

#[test]
fn what_another_coordinator_would_be_told_goes_with_the_end_of_the_run() {
    let world = repository(WAITS);
    let live = start(&world, &[]);
    world.wait_for_file("up");
    let words = world.home().join("runs").join(world.run_id()).join("coordinator.json");
    assert!(words.exists(), "the run could be handed over");
    world.write("go", "");
    live.ended().expect(0);
    assert!(!words.exists());
}

#[test]
fn the_leases_of_a_killed_run_go_with_the_next_and_those_of_a_live_one_stay() {
    let world = repository(WAITS);
    let live = start(&world, &[]);
    world.wait_for_file("up");
    assert_eq!(leased(&world).len(), 1, "it is held while the task is at work");
    world.write("other.yaml", "tasks: [{ id: b, run: 'echo 1 > b.txt' }]");
    conductor(&world, &["run", "../other.yaml"]).expect(0);
    assert_eq!(leased(&world).len(), 1, "that of the live run is left alone");
    live.signal(Signal::KILL);
    live.ended();
    world.write("go", "");
    conductor(&world, &["run", "../tasks.yaml", "--resume"]).expect(0);
    assert_eq!(leased(&world), [""; 0]);
}

/// As `CONFLICT`, with a check that does not end before it is let.
const CHECKED: &str = "
tasks:
  - { id: left, run: 'sed -i s/b/LEFT/ f.txt; AGENT make HERE/left' }
  - { id: right, run: 'AGENT await HERE/left; sed -i s/b/RIGHT/ f.txt; AGENT await HERE/landed',
      verify: ['test ! -e HERE/slow || AGENT touch HERE/checking then await HERE/checked'] }
";

/// A conflict that was solved, and whose check was under way when the command that lands it was killed.
fn killed_in_the_check() -> World {
    let world = conflicted_by(CHECKED);
    let laid = conductor(&world, &["worktree", "resolve", "right"]).expect(0);
    let folder = Path::new(laid.stdout.trim()).to_owned();
    fs::write(folder.join("f.txt"), "a\nBOTH\nc\n").unwrap();
    world.write("slow", "");
    let live = world.spawn(&mut command(&world, &["worktree", "resolve", "right", "--continue"]));
    world.wait_for_file("checking");
    live.signal(Signal::KILL);
    live.ended();
    fs::remove_file(world.path("slow")).unwrap();
    world
}

#[test]
fn a_kill_while_a_solved_conflict_is_checked_leaves_nothing_in_use() {
    let world = killed_in_the_check();
    let ended = conductor(&world, &["worktree", "resolve", "right", "--continue"]).expect(0);
    assert!(!ended.stderr.contains("in use"), "{}", ended.stderr);
    let run = world.run_id();
    expect_no_leftovers(&run);
    assert!(!world.home().join("runs").join(&run).join("workspaces").exists());
    assert_eq!(git(&world, &["worktree", "list"]).lines().count(), 1);
    assert_eq!(leased(&world), [""; 0]);
}

#[test]
fn what_a_killed_check_left_is_cleared_by_worktree_clean() {
    let world = killed_in_the_check();
    let run = world.run_id();
    let ended = conductor(&world, &["worktree", "clean", &run]);
    assert!(!ended.stdout.contains("is in it"), "{ended:?}");
    expect_no_leftovers(&run);
}

#[test]
fn a_check_whose_command_was_killed_does_not_go_on_for_ever() {
    let mut world = conflicted_by(CHECKED);
    world.set("CONDUCTOR_ORPHAN_GRACE", "200ms");
    let laid = conductor(&world, &["worktree", "resolve", "right"]).expect(0);
    fs::write(Path::new(laid.stdout.trim()).join("f.txt"), "a\nBOTH\nc\n").unwrap();
    world.write("slow", "");
    let live = world.spawn(&mut command(&world, &["worktree", "resolve", "right", "--continue"]));
    world.wait_for_file("checking");
    live.signal(Signal::KILL);
    live.ended();
    let run = world.run_id();
    wait_for("the check to be ended", || leftovers(&run).is_empty().then_some(()));
}

#[test]
fn a_state_directory_in_the_repository_that_is_refused_leaves_nothing_there() {
    let mut world = repository("tasks: [{ id: a, run: 'echo 1 > a.txt' }]");
    let (before, refs) = (checkout(&world), git(&world, &["for-each-ref"]));
    let inside = world.path("repo/deep/state").display().to_string();
    for home in ["state", "./deep/state", &inside] {
        world.set("CONDUCTOR_HOME", home);
        let ended = conductor(&world, &["run", "../tasks.yaml"]).expect(1);
        ended.says("would be inside of the repository").says("CONDUCTOR_HOME");
        assert_eq!(files(&world.path("repo")).iter().filter(|file| !file.starts_with(".git/")).count(), 1);
        assert!(!world.path("repo/state").exists() && !world.path("repo/deep").exists());
    }
    assert_eq!((checkout(&world), git(&world, &["for-each-ref"])), (before, refs));
    world.set("CONDUCTOR_HOME", world.home());
    conductor(&world, &["run", "../tasks.yaml"]).expect(0);
}

#[test]
fn a_workspace_path_that_is_refused_leaves_no_run_behind() {
    let world = repository("config: { workspace_path: '.work/{run}-{n}' }\ntasks: [{ id: a, run: 'true' }]");
    conductor(&world, &["run", "../tasks.yaml"]).expect(1).says("would be inside of the repository");
    assert!(world.runs().is_empty(), "{:?}", world.runs());
    conductor(&world, &["runs", "list"]).expect(0);
    assert_eq!(git(&world, &["for-each-ref", "refs/heads/conductor"]), "");
}

/// A process that only has its working directory in a workspace is not the run's: the user's own shell, an editor.
#[test]
fn a_process_of_the_users_in_a_workspace_is_named_and_lives_on() {
    let world = repository(WAITS);
    let live = start(&world, &[]);
    world.wait_for_file("up");
    let folder = conductor(&world, &["worktree", "path", "a"]).expect(0).stdout;
    let mut theirs = world.command_of("sleep").arg("600").current_dir(folder.trim_end()).spawn().unwrap();
    world.write("go", "");
    live.ended().expect(0).says(&format!("stays, for sleep (process {}) is in it", theirs.id()));
    assert!(theirs.try_wait().unwrap().is_none(), "it was ended");
    assert!(Path::new(folder.trim_end()).exists());
    theirs.kill().unwrap();
    theirs.wait().unwrap();
    conductor(&world, &["worktree", "clean"]).expect(0).says("1 workspace cleared");
}
