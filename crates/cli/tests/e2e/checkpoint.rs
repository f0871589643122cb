//! `conductor checkpoint`: branches are saved and rolled back, and a run goes on from there.

use crate::harness::World;
use crate::repository::{conductor, expect_tidy, git, on_branch, repository, start, status};

#[test]
fn the_branch_one_is_on_is_remembered_and_set_back() {
    let world = repository("tasks: []");
    let made = conductor(&world, &["checkpoint", "create", "start", "-m", "before I try"]).expect(0);
    assert_eq!(made.stdout, "start\n");
    made.says("main at ").says("conductor checkpoint rollback start");
    let named = conductor(&world, &["checkpoint", "create"]).expect(0).stdout;
    assert!(named.starts_with("main-2"), "{named}");
    world.write("repo/f.txt", "changed\n");
    git(&world, &["commit", "-q", "-a", "-m", "changed"]);

    let listed = conductor(&world, &["checkpoint", "list", "--json"]).expect(0).json();
    assert_eq!(listed["schema"], "conductor.checkpoints/1");
    let all = listed["checkpoints"].as_array().unwrap();
    let start = all.iter().find(|known| known["name"] == "start").unwrap();
    assert_eq!((all.len(), &start["branch"], &start["about"]), (2, &"main".into(), &"before I try".into()));
    conductor(&world, &["checkpoint", "list"]).expect(0).says("NAME").says("before I try");

    world.write("repo/f.txt", "dirty\n");
    let refused = conductor(&world, &["checkpoint", "rollback", "start"]).expect(1);
    refused.says("with uncommitted changes").says("commit or stash");
    assert_eq!(world.read("repo/f.txt"), "dirty\n");
    git(&world, &["checkout", "-q", "f.txt"]);
    let back = conductor(&world, &["checkpoint", "rollback", "start"]).expect(0).says("main is at ");
    assert_eq!(world.read("repo/f.txt"), "a\nb\nc\n");
    conductor(&world, &["checkpoint", "rollback", "start"]).expect(0).says("already");
    let before = back.stderr.trim_end().rsplit(' ').next().unwrap().to_owned();
    conductor(&world, &["checkpoint", "rollback", &before]).expect(0);
    assert_eq!(world.read("repo/f.txt"), "changed\n", "a rollback can be rolled back");
}

/// A run of two, with a checkpoint between them.
fn run_of_two() -> World {
    let world = repository(
        "
tasks:
  - { id: first, run: echo 1 > first.txt }
  - { id: second, run: 'echo 2 > second.txt; AGENT make HERE/started; AGENT await HERE/go', dependencies: [first] }
  - { id: third, run: cat first.txt second.txt > third.txt, dependencies: [second] }
",
    );
    let live = start(&world, &[]);
    world.wait_for_file("started");
    let run = world.run_id();
    conductor(&world, &["checkpoint", "create", "between", "--run", &run[..5]]).expect(0);
    conductor(&world, &["checkpoint", "rollback", "between"]).expect(8).says("another conductor");
    world.write("go", "");
    live.ended().expect(0);
    world
}

#[test]
fn what_had_landed_since_is_done_again_on_resume() {
    let world = run_of_two();
    let run = world.run_id();
    let branch = format!("conductor/{run}");
    let (before, tree) = (git(&world, &["rev-parse", &branch]), format!("{branch}^{{tree}}"));
    let whole = git(&world, &["rev-parse", &tree]);
    let back = conductor(&world, &["checkpoint", "rollback", "between"]).expect(0);
    back.says("to be done again: second, third").says(&format!("next: conductor run --resume {run}"));
    assert_eq!(git(&world, &["ls-tree", "--name-only", &branch]), "f.txt\nfirst.txt");
    let statuses = world.statuses();
    assert_eq!((statuses["first"].as_str(), statuses["second"].as_str()), ("completed", "pending"));
    assert_eq!(status(&world), "stopped");
    assert_eq!(world.summary()["ledger"]["lost"], serde_json::json!([]));
    conductor(&world, &["checkpoint", "rollback", "between"]).expect(0).says("already");
    assert_eq!(world.logged("task_reopened"), ["second", "third"], "said once");

    conductor(&world, &["run", "--resume"]).expect(0).says("1 done before").says("3 of 3 completed");
    assert_eq!(on_branch(&world, "third.txt"), "1\n2");
    assert_eq!(git(&world, &["rev-parse", &tree]), whole);
    assert_eq!(status(&world), "completed");
    git(&world, &["cat-file", "-e", &before]);
    expect_tidy(&world);
}

#[test]
fn what_was_rolled_back_is_not_done() {
    let world = run_of_two();
    let branch = format!("conductor/{}", world.run_id());
    let skip = ["run", "../tasks.yaml", "--skip-done"];
    conductor(&world, &skip).expect(4).says("3 tasks are done already");
    conductor(&world, &["checkpoint", "rollback", "between"]).expect(0);
    conductor(&world, &skip)
        .expect(0)
        .says("1 task is done already (first")
        .says(&format!("begins on {branch}"))
        .says("2 of 2 completed");
}

/// Log and branch are written one after the other: what a kill in between leaves, the next call puts right.
#[test]
fn a_branch_set_back_by_other_hands_is_put_right_by_a_rollback() {
    let world = run_of_two();
    let branch = format!("conductor/{}", world.run_id());
    git(&world, &["branch", "-f", &branch, "conductor-checkpoint/between"]);
    conductor(&world, &["checkpoint", "rollback", "between"]).expect(0).says("already").says("second, third");
    conductor(&world, &["run", "--resume"]).expect(0).says("3 of 3 completed");
    git(&world, &["branch", "-D", &branch]);
    conductor(&world, &["checkpoint", "rollback", "between"]).expect(0).says("was gone and is at ");
    assert_eq!(world.statuses()["third"], "pending");
}

#[test]
fn mistakes_are_told_apart() {
    let mut world = repository("tasks: [{ id: a, run: 'true' }]");
    conductor(&world, &["checkpoint", "list"]).expect(0).says("there is no checkpoint");
    conductor(&world, &["checkpoint", "create", "start"]).expect(0);
    conductor(&world, &["checkpoint", "create", "start"])
        .expect(2)
        .says("there is a checkpoint 'start' already");
    conductor(&world, &["checkpoint", "rollback", "strat"]).expect(2).says("did you mean 'start'?");
    conductor(&world, &["checkpoint", "rollback", "../../x\u{1b}[2J"])
        .expect(2)
        .says("no checkpoint '../../x'");
    conductor(&world, &["checkpoint", "create", "--run", "nope"]).expect(2).says("there is no run 'nope'");
    conductor(&world, &["run", "../tasks.yaml"]).expect(0);
    let run = world.run_id();
    conductor(&world, &["checkpoint", "create", "--run", &run]).expect(4).says("nothing has landed");
    let odd = conductor(&world, &["checkpoint", "create", "odd name; rm -rf /"]).expect(0).stdout;
    conductor(&world, &["checkpoint", "rollback", "odd name; rm -rf /"]).expect(0);
    conductor(&world, &["checkpoint", "rollback", odd.trim_end()]).expect(0);
    git(&world, &["checkout", "-q", "--detach"]);
    conductor(&world, &["checkpoint", "create", "x"]).expect(1).says("no branch is checked out here");
    for args in [&["checkpoint", "list"][..], &["checkpoint", "create"], &["checkpoint", "rollback", "start"]]
    {
        world.conductor(args).expect(3).says("is not in a git repository").says("go to a checkout");
    }
    world.set("PATH", world.path("nowhere"));
    conductor(&world, &["checkpoint", "list"]).expect(3).says("git cannot be started");
}
