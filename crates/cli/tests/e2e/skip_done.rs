//! `run --skip-done`: what earlier runs of the file have done is left out, also when these runs are removed.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use serde_json::json;

use crate::harness::World;
use crate::repository::{command, conductor, git, repository, start};

/// `HERE/fail` makes the last one fail.
const TASKS: &str = "
tasks:
  - { id: one, run: 'echo one > one.txt' }
  - { id: two, run: 'echo two > two.txt', dependencies: [one] }
  - { id: alone, run: 'echo alone > alone.txt' }
  - { id: last, run: 'cat one.txt two.txt > last.txt; test ! -e HERE/fail', dependencies: [two] }
";

const SKIP: [&str; 3] = ["run", "../tasks.yaml", "--skip-done"];

/// A run of the file; its name.
fn carried_out(world: &World, args: &[&str], code: i32) -> String {
    let before = world.runs();
    conductor(world, &[&["run", "../tasks.yaml"], args].concat()).expect(code);
    world.runs().into_iter().find(|run| !before.contains(run)).unwrap()
}

fn merge(world: &World, run: &str) {
    git(world, &["merge", "-q", "--no-ff", "-m", "merge", &format!("conductor/{run}")]);
}

/// A world in which all but the last task has landed, and is merged.
fn half_done() -> World {
    let world = repository(TASKS);
    world.write("fail", "");
    let run = carried_out(&world, &[], 100);
    merge(&world, &run);
    fs::remove_file(world.path("fail")).unwrap();
    world
}

/// A world in which everything has landed and is merged.
fn all_done() -> World {
    let world = repository(TASKS);
    let run = carried_out(&world, &[], 0);
    merge(&world, &run);
    world
}

fn edit(world: &World, from: &str, to: &str) {
    let text = world.read("tasks.yaml");
    assert!(text.contains(from));
    world.write("tasks.yaml", &text.replace(from, to));
}

#[test]
fn only_what_is_not_done_runs() {
    let world = half_done();
    let shown = conductor(&world, &[&SKIP[..], &["--dry-run"]].concat()).expect(0);
    let shown = shown.says("left out: 3 tasks are done already (one, two and alone)");
    assert!(shown.stdout.contains("would run 1 task") && world.runs().len() == 1, "{}", shown.stdout);
    let before = world.runs();
    let ended = conductor(&world, &SKIP).expect(0).says("1 of 1 completed");
    ended.says("left out: 3 tasks are done already (one, two and alone)");
    let run = world.runs().into_iter().find(|run| !before.contains(run)).unwrap();
    assert_eq!(git(&world, &["show", &format!("conductor/{run}:last.txt")]), "one\ntwo");
    let summary = fs::read(world.home().join("runs").join(&run).join("execution_summary.json")).unwrap();
    let summary: serde_json::Value = serde_json::from_slice(&summary).unwrap();
    assert_eq!(
        (&summary["done_before"], &summary["total_tasks"]),
        (&json!(["alone", "one", "two"]), &json!(1))
    );
    let told = "nothing is left to do: 4 tasks are done already (one, two, alone and last, not merged yet: \
                conductor/";
    conductor(&world, &SKIP).expect(4).says(told).says("leave --skip-done out");
    merge(&world, &run);
    conductor(&world, &SKIP).expect(4).says("4 tasks are done already (one, two, alone and last)");
    assert_eq!(world.runs().len(), 2, "nothing was made");
}

#[test]
fn an_edited_task_runs_again_and_one_that_only_changed_its_place_does_not() {
    let world = all_done();
    edit(&world, "echo two > two.txt", "echo 2 > two.txt");
    edit(&world, "dependencies: [one]", "dependencies: [one, alone], priority: high, timeout: 5m");
    conductor(&world, &[&SKIP[..], &["--dry-run"]].concat()).expect(0).says("(one, alone and last)");
    edit(&world, "echo alone > alone.txt'", "echo alone > alone.txt', verify: ['test -e alone.txt']");
    let told = conductor(&world, &[&SKIP[..], &["--dry-run"]].concat()).expect(0).says("(one and last)");
    assert!(told.stdout.contains("would run 2 tasks"), "a check is a part of it: {}", told.stdout);
    conductor(&world, &[&SKIP[..], &["--only", "one,two"]].concat()).expect(0).says("1 of 1 completed");
    conductor(&world, &[&SKIP[..], &["--only", "one"]].concat())
        .expect(4)
        .says("1 task is done already (one)");
}

/// It was paid for, and two reviews of the same work would be one too many.
#[test]
fn work_that_waits_for_a_review_is_not_done_a_second_time() {
    let world = repository(
        "
tasks:
  - { id: looked-at, run: 'echo 1 > looked-at.txt', land: approve }
  - { id: after, run: 'cat looked-at.txt > after.txt', dependencies: [looked-at] }
  - { id: beside, run: 'echo 1 > beside.txt' }
",
    );
    let run = carried_out(&world, &["--only", "looked-at"], 5);
    let waits = format!("1 task waits for your review (looked-at, in run {run})");
    let to_review = format!("conductor review {run}");
    let skip = |only: &'static str| [&SKIP[..], &["--only", only]].concat();
    conductor(&world, &skip("looked-at")).expect(4).says(&waits).says(&to_review);
    let refused = format!("task 'after' needs 'looked-at', whose work waits for your review in run {run}");
    conductor(&world, &SKIP).expect(3).says(&refused).says(&to_review);
    assert_eq!(world.runs().len(), 1, "nothing was made");
    conductor(&world, &skip("looked-at,beside")).expect(0).says(&waits).says("1 of 1 completed");
    // Approved and not landed yet: it is there all the same.
    conductor(&world, &["review", "approve", "looked-at", "--run", &run]).expect(0);
    conductor(&world, &skip("looked-at")).expect(4).says(&waits);
    // Another text is another task.
    edit(&world, "echo 1 > looked-at.txt", "echo 2 > looked-at.txt");
    let shown = conductor(&world, &[&skip("looked-at")[..], &["--dry-run"]].concat()).expect(0);
    assert!(shown.stdout.contains("would run 1 task"), "{}", shown.stdout);
}

/// A world in which all but the last task has landed on the branch of a run, which is not merged; that run.
fn half_landed() -> (World, String) {
    let world = repository(TASKS);
    world.write("fail", "");
    let run = carried_out(&world, &[], 100);
    fs::remove_file(world.path("fail")).unwrap();
    (world, run)
}

fn to_merge(run: &str) -> String {
    format!("task 'last' needs 'one', whose work is on conductor/{run} and not in what is checked out")
}

#[test]
fn a_run_begins_on_the_branch_that_has_the_work_it_needs() {
    let (world, first) = half_landed();
    let before = git(&world, &["rev-parse", "main"]);
    let begins = format!("begins on conductor/{first}, ");
    let skip = [&SKIP[..], &["--dry-run"]].concat();
    conductor(&world, &skip).expect(0).says(&begins).says("would run 1 task");
    // It fails once more: its own branch is gone, and nothing of the work that was there.
    world.write("fail", "");
    conductor(&world, &SKIP).expect(100).says(&begins);
    fs::remove_file(world.path("fail")).unwrap();
    let known = world.runs();
    conductor(&world, &SKIP).expect(0).says(&begins).says("1 of 1 completed");
    let last = world.runs().into_iter().find(|run| !known.contains(run)).unwrap();
    let on_it = |file: &str| git(&world, &["show", &format!("conductor/{last}:{file}")]);
    assert_eq!((on_it("last.txt"), on_it("alone.txt")), ("one\ntwo".to_owned(), "alone".to_owned()));
    // What comes next needs work of both runs: the later branch has it all.
    let text = world.read("tasks.yaml");
    world.write(
        "tasks.yaml",
        &format!(
            "{text}  - {{ id: more, run: cat last.txt one.txt > more.txt, dependencies: [last, one] }}\n"
        ),
    );
    conductor(&world, &SKIP).expect(0).says(&format!("begins on conductor/{last}, "));
    assert_eq!(git(&world, &["rev-parse", "main"]), before);
    conductor(&world, &SKIP).expect(4).says("nothing is left to do: 5 tasks");
}

#[test]
fn what_was_begun_on_a_branch_is_brought_home_with_it() {
    let (world, _) = half_landed();
    conductor(&world, &[&SKIP[..], &["--merge", "branch"]].concat()).expect(0);
    assert_eq!(git(&world, &["show", "main:last.txt"]), "one\ntwo");
    assert_eq!(git(&world, &["show", "main:alone.txt"]), "alone");
    conductor(&world, &SKIP).expect(4).says("4 tasks are done already (one, two, alone and last)");
}

#[test]
fn a_run_that_began_on_a_branch_is_resumed_there_even_if_its_own_was_removed() {
    let (world, first) = half_landed();
    edit(&world, "test ! -e", "AGENT make HERE/at then await HERE/go; test ! -e");
    edit(&world, "HERE", &world.path("").display().to_string());
    let live = start(&world, &["--skip-done"]);
    world.wait_for_file("at");
    let run = world.runs().into_iter().find(|run| *run != first).unwrap();
    live.signal(rustix::process::Signal::INT);
    live.wait_for_stderr("again to stop it now");
    live.signal(rustix::process::Signal::INT);
    live.ended();
    world.write("go", "");
    git(&world, &["branch", "-D", &format!("conductor/{run}")]);
    conductor(&world, &["run", "--resume", &run]).expect(0).says("1 of 1 completed");
    assert_eq!(git(&world, &["show", &format!("conductor/{run}:last.txt")]), "one\ntwo");
}

#[test]
fn work_that_is_not_merged_is_not_silently_missing() {
    let (world, run) = half_landed();
    let refused = |args: &[&str]| {
        let refused = conductor(&world, &[&SKIP[..], args].concat()).expect(3);
        refused
            .says(&to_merge(&run))
            .says(&format!("git merge conductor/{run}; "))
            .says("nothing was started");
    };
    // Where tasks work on the user's own files, it is not there.
    refused(&["--isolation", "none"]);
    refused(&["--isolation", "none", "--dry-run"]);
    world.write("repo/own.txt", "mine");
    refused(&["--include-uncommitted"]);
    // The user has gone on meanwhile: only the user can say what comes of both.
    git(&world, &["add", "."]);
    git(&world, &["commit", "-q", "-m", "go on"]);
    for only in [&[][..], &["--only", "last"], &["--dry-run"]] {
        refused(only);
    }
    assert_eq!(world.run_id(), run);
    // What nothing needs may stay where it is.
    edit(&world, "dependencies: [two]", "dependencies: []");
    edit(&world, "cat one.txt two.txt", "echo free");
    let ended = conductor(&world, &SKIP).expect(0).says("1 of 1 completed");
    ended.says(&format!("(one, two and alone, not merged yet: conductor/{run})"));
}

#[test]
fn work_whose_commit_is_gone_is_done_again() {
    let world = all_done();
    git(&world, &["reset", "-q", "--hard", "HEAD~1"]);
    conductor(&world, &SKIP).expect(4).says("not merged yet");
    git(&world, &["branch", "-D", &format!("conductor/{}", world.run_id())]);
    conductor(&world, &SKIP).expect(0).says("4 of 4 completed");
}

#[test]
fn what_is_done_stays_done_when_its_run_is_removed() {
    let world = all_done();
    let prune = ["runs", "prune", "--keep", "0", "--yes", "--branches"];
    conductor(&world, &prune).expect(0).says("1 gone");
    assert!(world.runs().is_empty());
    let kept = world.home().join("landed.jsonl");
    assert_eq!(fs::metadata(&kept).unwrap().permissions().mode() & 0o777, 0o600);
    conductor(&world, &SKIP).expect(4).says("4 tasks are done already (one, two, alone and last)");
    // As a power cut would leave it.
    let text = fs::read_to_string(&kept).unwrap();
    fs::write(&kept, &text[..text.len() - 10]).unwrap();
    conductor(&world, &SKIP).expect(0).says("1 of 1 completed").says("3 tasks are done already");
    fs::write(&kept, &text).unwrap();
    edit(&world, "echo one > one.txt", "echo 1 > one.txt");
    conductor(&world, &SKIP).expect(0).says("(two, alone and last").says("1 of 1 completed");
    // Each task once, however often it is done and removed.
    conductor(&world, &prune).expect(0).says("2 gone");
    let lines =
        |world: &World| fs::read_to_string(world.home().join("landed.jsonl")).unwrap().lines().count();
    let before = lines(&world);
    carried_out(&world, &[], 0);
    conductor(&world, &[&prune[..], &["--unreachable"]].concat()).expect(0).says("1 gone");
    assert!(before <= 6 && lines(&world) <= before + 4, "{before}, {}", lines(&world));
}

#[test]
fn runs_of_another_file_or_repository_do_not_count() {
    let world = all_done();
    fs::copy(world.path("tasks.yaml"), world.path("other.yaml")).unwrap();
    let shown = conductor(&world, &["run", "../other.yaml", "--skip-done", "--dry-run"]).expect(0);
    assert!(shown.stdout.contains("would run 4 tasks"), "{}", shown.stdout);
    let other = world.path("other").display().to_string();
    git(&world, &["clone", "-q", ".", &other]);
    for prunes in [false, true] {
        if prunes {
            conductor(&world, &["runs", "prune", "--keep", "0", "--yes"]).expect(0).says("1 gone");
        }
        let mut elsewhere = command(&world, &[&SKIP[..], &["--dry-run"]].concat());
        let shown = world.spawn(elsewhere.current_dir(&other)).ended().expect(0);
        assert!(shown.stdout.contains("would run 4 tasks"), "{}", shown.stdout);
        conductor(&world, &SKIP).expect(4);
    }
}

/// A task that works in place leaves no commit: the log says whether it is done.
#[test]
fn in_place_the_newest_run_decides() {
    let tasks =
        "tasks: [{ id: a, run: 'echo a >> a.txt; test ! -e fail' }, { id: b, run: 'echo b >> b.txt' }]";
    for prunes in [false, true] {
        let world = World::in_place(tasks);
        let skip = ["run", "tasks.yaml", "--skip-done"];
        let prune = || {
            if prunes {
                world.conductor(&["runs", "prune", "--keep", "0", "--yes"]).expect(0).says("1 gone");
            }
        };
        world.conductor(&skip).expect(0).says("2 of 2 completed");
        prune();
        world.conductor(&skip).expect(4).says("2 tasks are done already (a and b)");
        world.write("fail", "");
        world.conductor(&["run", "tasks.yaml", "--only", "a"]).expect(100);
        prune();
        fs::remove_file(world.path("fail")).unwrap();
        world.conductor(&skip).expect(0).says("1 of 1 completed").says("(b)");
        prune();
        world.conductor(&skip).expect(4);
        assert_eq!((world.read("a.txt").as_str(), world.read("b.txt").as_str()), ("a\na\na\n", "b\n"));
    }
}

#[test]
fn what_was_left_out_does_not_come_back_by_a_retry_or_a_watched_file() {
    let world = half_done();
    world.write("fail", "");
    conductor(&world, &SKIP).expect(100).says("left out: 3 tasks");
    fs::remove_file(world.path("fail")).unwrap();
    let ended = conductor(&world, &["run", "--retry-failed"]).expect(0).says("1 of 1 completed");
    assert!(!ended.stderr.contains("joins"), "{}", ended.stderr);
    edit(&world, "cat one.txt", "AGENT make HERE/at then await HERE/go; cat one.txt");
    edit(&world, "HERE", &world.path("").display().to_string());
    let live = start(&world, &["--skip-done", "--watch"]);
    world.wait_for_file("at");
    let more = "\n  - { id: more, run: 'echo more > more.txt', dependencies: [one] }\n";
    world.write("tasks.yaml", &(world.read("tasks.yaml").trim_end().to_owned() + more));
    live.wait_for_stderr("more");
    world.write("go", "");
    let ended = live.ended().expect(0).says("2 of 2 completed");
    assert!(!ended.stderr.contains("keeps its text"), "{}", ended.stderr);
}

#[test]
fn it_is_for_new_runs_of_a_file() {
    let world = all_done();
    for args in [&["--resume"][..], &["--retry-failed"]] {
        conductor(&world, &[&SKIP[..], args].concat()).expect(2).says("cannot be used with");
    }
    conductor(&world, &["run", "--from", "beads", "--skip-done"]).expect(2).says("cannot be used with");
    let groups = ["group", "execute", "--tasks-file", "../tasks.yaml", "--", "--skip-done"];
    conductor(&world, &groups).expect(2).says("do not go with groups");
}
