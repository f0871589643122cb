//! Repositories that are not as most are: another object format, another ref format, and names of ours that are taken.

use rustix::process::Signal;

use crate::harness::{World, wait_for};
use crate::repository::{conductor, git, repository, start};

const TASKS: &str = "
tasks:
  - { id: one, run: 'echo 1 > one.txt; git add one.txt; git commit -qm own; echo 2 > two.txt' }
  - { id: clone, isolation: clone, run: 'echo 3 > three.txt; git add .; git commit -qm cloned', dependencies: [one] }
  - { id: sees, run: 'git status --porcelain > HERE/status; git branch --show-current > HERE/branch; cat one.txt three.txt > four.txt', dependencies: [clone] }
  - { id: bad, run: 'echo half > half.txt; exit 1', retry_policy: { max_attempts: 1 } }
";

type Odd = (&'static str, fn() -> World);

const ODD: [Odd; 7] = [
    ("sha256", || made_anew(&["--object-format=sha256"])),
    ("reftable", || made_anew(&["--ref-format=reftable"])),
    ("a branch named conductor", || with(&[&["branch", "conductor"]])),
    ("a branch named conductor-task", || with(&[&["branch", "conductor-task"]])),
    ("names of ours and their second choices taken", || {
        with(&[
            &["branch", "conductor"],
            &["branch", "conductor-run"],
            &["branch", "conductor-task"],
            &["branch", "conductor-run-task"],
            &["tag", "conductor-checkpoint"],
        ])
    }),
    ("branches and tags below conductor/", || {
        with(&[&["branch", "conductor/mine"], &["tag", "conductor/mine"]])
    }),
    ("packed refs", || with(&[&["branch", "conductor"], &["pack-refs", "--all", "--prune"]])),
];

fn with(deeds: &[&[&str]]) -> World {
    let world = repository(TASKS);
    for deed in deeds {
        git(&world, deed);
    }
    world
}

/// A repository of another format; this git may not know it.
fn made_anew(how: &[&str]) -> World {
    let world = repository(TASKS);
    std::fs::remove_dir_all(world.path("repo/.git")).unwrap();
    git(&world, &[&["init", "-q", "-b", "main"], how, &["."]].concat());
    for deed in [
        &["config", "user.name", "User"][..],
        &["config", "user.email", "user@localhost"],
        &["add", "."],
        &["commit", "-q", "-m", "start"],
    ] {
        git(&world, deed);
    }
    world
}

fn refs(world: &World) -> Vec<String> {
    let refs = git(world, &["for-each-ref", "--format=%(refname)", "refs/heads", "refs/tags"]);
    refs.lines().filter(|name| !name.contains("checkpoint/")).map(str::to_owned).collect()
}

fn branch(world: &World) -> String {
    let id = world.run_id();
    let found = git(world, &["for-each-ref", "--format=%(refname:short)", "refs/heads"]);
    let mut of_run = found.lines().filter(|name| name.ends_with(&format!("/{id}")));
    let found = of_run.next().unwrap_or_else(|| panic!("no branch of the run in {found}")).to_owned();
    found.trim_start_matches("heads/").to_owned()
}

#[test]
fn every_kind_of_repository_is_worked_in_from_start_to_end() {
    for (kind, make) in ODD {
        let world = make();
        let before = refs(&world);
        let ended = conductor(&world, &["run", "../tasks.yaml", "-p", "2", "--stats"]);
        assert_eq!(ended.code, Some(100), "{kind}: {}\n{}", ended.stdout, ended.stderr);
        assert!(ended.stdout.contains("3 tasks landed"), "{kind}: {}", ended.stdout);
        assert!(ended.stdout.contains("0 lost, 0 leaked") || !ended.stdout.contains("lost"), "{kind}");
        let branch = branch(&world);
        assert!(ended.stdout.contains(&branch), "{kind}: {branch} is named: {}", ended.stdout);
        for file in ["one.txt", "two.txt", "three.txt", "four.txt"] {
            git(&world, &["cat-file", "-e", &format!("refs/heads/{branch}:{file}")]);
        }
        let own = git(&world, &["log", "--format=%s", &format!("refs/heads/{branch}")]);
        assert!(own.contains("own") && own.contains("cloned"), "{kind}: {own}");
        assert_eq!(world.read("status"), "", "{kind}: the workspace was clean");
        assert!(world.read("branch").contains(&world.run_id()), "{kind}: {}", world.read("branch"));
        let mut expected = [before, vec![format!("refs/heads/{branch}")]].concat();
        expected.sort();
        let mut found = refs(&world);
        found.sort();
        assert_eq!(found, expected, "{kind}");
        assert_eq!(git(&world, &["worktree", "list"]).lines().count(), 1, "{kind}");
        later(kind, &world, &branch);
    }
}

/// Every command that comes later finds what the run made.
#[track_caller]
fn later(kind: &str, world: &World, branch: &str) {
    let id = world.run_id();
    let said = |args: &[&str], text: &str| {
        let ended = conductor(world, args);
        let all = format!("{}{}", ended.stdout, ended.stderr);
        assert!(all.contains(text), "{kind}: {args:?} does not say {text:?}: {all}");
    };
    said(&["diff", "one"], branch);
    said(&["diff", "one"], "one.txt");
    said(&["diff", "bad"], "half.txt");
    said(&["runs", "show", &id], branch);
    said(&["worktree", "list"], "refs/conductor/rescue/");
    said(&["checkpoint", "create", "here", "--run", &id], "checkpoint rollback here");
    said(&["worktree", "sync"], "holds main already");
    said(&["worktree", "merge", "bad"], branch);
    git(world, &["cat-file", "-e", &format!("refs/heads/{branch}:half.txt")]);
    said(&["checkpoint", "rollback", "here"], "is at");
    said(&["run", "--resume", &id, "--retry-failed"], "failed bad");
    git(world, &["merge", "-q", "--ff-only", &format!("refs/heads/{branch}")]);
    said(&["runs", "prune", "--keep", "0", "--refs", "--unreachable", "--yes"], "gone");
    assert_eq!(git(world, &["for-each-ref", "refs/conductor"]), "", "{kind}");
}

/// One that is killed goes on with the names it began with, whatever became free since.
#[test]
fn a_run_keeps_the_names_it_began_with() {
    let tasks = "tasks: [{ id: a, run: 'echo 1 > a.txt' }, { id: b, run: 'AGENT make HERE/at; AGENT await HERE/go; echo 1 > b.txt', dependencies: [a] }]";
    let world = repository(tasks);
    git(&world, &["branch", "conductor"]);
    let live = start(&world, &[]);
    world.wait_for_file("at");
    live.signal(Signal::KILL);
    drop(live);
    let branch = branch(&world);
    git(&world, &["branch", "-D", "conductor"]);
    world.write("go", "");
    let id = world.run_id();
    wait_for("the dead to let go", || {
        let ended = conductor(&world, &["run", "--resume", &id, "--merge", "branch"]);
        (ended.code != Some(8)).then(|| ended.expect(0).says("2 tasks landed"))
    });
    assert_eq!(git(&world, &["show", &format!("{branch}:b.txt")]), "1");
    assert_eq!(git(&world, &["show", "main:b.txt"]), "1");
    assert_eq!(git(&world, &["for-each-ref", "refs/heads/conductor"]), "");
}

/// There the file `HEAD` names no branch.
#[test]
fn where_a_task_works_is_told_in_a_repository_with_a_reftable() {
    let world = made_anew(&["--ref-format=reftable"]);
    world.write(
        "tasks.yaml",
        &"tasks: [{ id: a, run: 'AGENT touch HERE/up then await HERE/go; echo 1 > a.txt' }]"
            .replace("AGENT", &crate::harness::agent())
            .replace("HERE", &world.path("").display().to_string()),
    );
    let live = start(&world, &[]);
    world.wait_for_file("up");
    let folder = conductor(&world, &["worktree", "path", "a"]).expect(0).stdout;
    assert!(std::path::Path::new(folder.trim_end()).join("f.txt").exists(), "{folder}");
    git(&world, &["switch", "-q", "-c", "other"]);
    world.write("go", "");
    live.ended().expect(0);
}

/// It is not git that is missing then.
#[test]
fn a_repository_that_is_moved_away_during_a_run_is_named() {
    let world = repository("tasks:\n  - { id: a, run: 'echo a > a.txt; mv HERE/repo HERE/elsewhere' }\n");
    let ended = start(&world, &[]).ended();
    std::fs::rename(world.path("elsewhere"), world.path("repo")).unwrap();
    assert!(ended.stderr.contains("/repo is gone: it was moved, renamed or deleted"), "{}", ended.stderr);
    assert!(ended.stderr.contains("conductor run --resume"), "{}", ended.stderr);
    assert!(!ended.stderr.contains("git cannot be started"), "{}", ended.stderr);
    // Where it is back, the run's last steps can be done.
    conductor(&world, &["run", "--resume"]).expect(100).says("1 failed");
    assert_eq!(git(&world, &["status", "--porcelain"]), "");
}

#[test]
fn nothing_is_written_into_gits_own_directory() {
    let world = repository("tasks:\n  - { id: a, run: 'true' }\n");
    for folder in [".git", ".git/reports"] {
        conductor(&world, &["run", "../tasks.yaml", "-o", folder]).expect(2).says("is git's own");
    }
    assert!(!world.path("repo/.git/reports").exists());
}

#[test]
fn in_gits_own_directory_the_checkout_is_named() {
    let world = repository("tasks:\n  - { id: a, run: 'true' }\n");
    let ended =
        world.spawn(world.command(&["run", "../../tasks.yaml"]).current_dir(world.path("repo/.git"))).ended();
    let ended = ended.expect(3).says("go to the checkout: cd '");
    assert!(!ended.stderr.contains("remove"), "{}", ended.stderr);
}
