//! What is said of confinement, where it is not to be had above all; and that confined work is work.

use std::fs;
use std::os::unix::fs::symlink;

use crate::confinement::{User, can_confine, landed, run, world};
use crate::harness::{World, wait_for};
use crate::repository::{conductor, git, start};

/// All programs that a run needs, and no bubblewrap.
fn without_bubblewrap(world: &mut World) {
    let tools = world.root().join("tools");
    fs::create_dir_all(&tools).unwrap();
    for folder in ["/usr/bin", "/bin"] {
        for file in fs::read_dir(folder).unwrap().flatten().filter(|file| file.file_name() != "bwrap") {
            let _ = symlink(file.path(), tools.join(file.file_name()));
        }
    }
    let programs = world.root().join("programs");
    world.set("PATH", format!("{}:{}", programs.display(), tools.display()));
}

#[test]
fn where_it_cannot_be_had_it_is_said_once_or_refused() {
    let mut world = world("echo x > x.txt\n", "");
    without_bubblewrap(&mut world);
    let ended = run(&world, User::Own).expect(0);
    assert_eq!(ended.stderr.matches("agents are not confined").count(), 1, "{}", ended.stderr);
    assert!(ended.stderr.contains("install bubblewrap"), "{}", ended.stderr);
    world.conductor(&["doctor", "--machine"]).says("bubblewrap is not installed").says("install bubblewrap");
    conductor(&world, &["explain", "t", "--file", "../tasks.yaml"])
        .says("none (prefer)")
        .says("install bubblewrap");
    let refused = conductor(&world, &["run", "../tasks.yaml", "--sandbox", "require"]);
    refused
        .expect(7)
        .says("task 't' must be confined")
        .says("nothing was started")
        .says("install bubblewrap");
    assert_eq!(world.runs().len(), 1, "what is refused leaves nothing behind");
    let limited = conductor(&world, &["run", "../tasks.yaml", "--network", "off"]);
    limited.expect(7).says("must be confined");
    let quiet = conductor(&world, &["run", "../tasks.yaml", "--sandbox", "off"]).expect(0);
    assert!(!quiet.stderr.contains("confined"), "{}", quiet.stderr);
}

#[test]
fn what_must_be_confined_gets_a_clone_and_no_worktree() {
    let world = world(
        "git commit -q --allow-empty -m own; cat .git/config > config.txt; echo x > x.txt\n",
        ", sandbox: require",
    );
    if !can_confine(&world) {
        return;
    }
    run(&world, User::Own).expect(0);
    assert_eq!(landed(&world, "x.txt"), "x\n");
    assert!(landed(&world, "config.txt").contains("[user]"), "a git directory of its own");
    conductor(&world, &["explain", "t", "--file", "../tasks.yaml"])
        .says("a clone of its own")
        .says("bwrap (require)");
    let tasks = world.read("tasks.yaml").replace("sandbox: require", "sandbox: require, isolation: worktree");
    world.write("tasks.yaml", &tasks);
    conductor(&world, &["validate", "../tasks.yaml"])
        .expect(3)
        .says("sandboxed-worktree")
        .says("isolation: clone");
}

#[test]
fn what_the_file_adds_is_reached() {
    let world = world(
        "cat USER/given/x > x.txt; echo y > USER/taken/y; cat USER/other > z.txt; true\n",
        ", sandbox: { mode: prefer, read: ['~/given'], write: ['~/taken'] }",
    );
    if !can_confine(&world) {
        return;
    }
    let user = world.root().join("user");
    for (folder, file, text) in [("given", "given/x", "x\n"), ("taken", "other", "no\n")] {
        fs::create_dir_all(user.join(folder)).unwrap();
        fs::write(user.join(file), text).unwrap();
    }
    run(&world, User::Own).expect(0);
    assert_eq!(landed(&world, "x.txt"), "x\n");
    assert_eq!(fs::read_to_string(user.join("taken/y")).unwrap(), "y\n");
    assert_eq!(landed(&world, "z.txt"), "");
}

#[test]
fn a_confined_agent_commits_as_its_user_and_is_asked_to_end() {
    let script = "trap 'echo asked > asked.txt; git add . ; git commit -q -m asked; exit 0' TERM\n\
                  echo x > x.txt; git add .; git commit -q -m own; touch ready\nwhile :; do sleep 0.1; done\n";
    let world = world(script, ", timeout: 2s");
    if !can_confine(&world) {
        return;
    }
    run(&world, User::Own).expect(100);
    let run = world.run_id();
    let kept = git(&world, &["for-each-ref", "--format=%(refname)", "refs/conductor/rescue"]);
    let kept = kept.lines().next().unwrap_or_else(|| panic!("nothing of {run} was kept")).to_owned();
    assert_eq!(git(&world, &["show", &format!("{kept}:asked.txt")]), "asked", "it had time to save its work");
}

#[test]
fn a_killed_run_leaves_no_confined_process() {
    let world = world("env -i setsid sleep 600 &\ntouch USER/../work/never; sleep 600\n", "");
    if !can_confine(&world) {
        return;
    }
    let mut live = start(&world, &[]);
    let run = world.wait_for_run();
    let marked = || crate::harness::leftovers(&run);
    wait_for("its agent", || marked().iter().any(|(_, name)| name.contains("sleep")).then_some(()));
    live.child.kill().unwrap();
    live.child.wait().unwrap();
    wait_for("the end of its agent", || marked().is_empty().then_some(()));
}
