//! What a task finds in its workspace, and which tasks share one.

use std::fs;

use crate::harness::{World, wait_for};
use crate::repository::{checkout, command, expect_tidy, git, on_branch, repository, start};

fn said(world: &World, task: &str) -> String {
    String::from_utf8(world.transcript(task)).unwrap()
}

/// A flag counts for this run, over the settings of its tasks.
#[test]
fn typed_isolation_wins_over_the_tasks_own() {
    let place = "if [ \"$(pwd -P)\" = HERErepo ]; then echo none; elif [ -f .git ]; then echo worktree; else echo clone; fi";
    let tasks = ["clone", "none", "worktree"];
    let task = |own: &str| format!("  - {{ id: {own}, run: '{place}', isolation: {own} }}\n");
    let places = |args: &[&str]| {
        let world = repository(&format!("tasks:\n{}", tasks.map(task).concat()));
        start(&world, args).ended().expect(0);
        tasks.map(|task| said(&world, task).lines().last().unwrap().to_owned())
    };
    assert_eq!(places(&[]), tasks);
    for typed in tasks {
        assert_eq!(places(&["--isolation", typed]), [typed; 3]);
    }
}

/// A long run does not end with a long wait for its workspaces to be cleared.
#[test]
fn a_workspace_that_nothing_needs_goes_while_others_work_and_comes_back_for_a_retry() {
    let world = repository(
        "
tasks:
  - { id: quick, run: 'pwd > HEREplace; test -e HEREmended && echo 1 > quick.txt' }
  - { id: long, run: 'AGENT await HEREgo; echo 1 > long.txt' }
",
    );
    let live = start(&world, &["-p", "2"]);
    live.wait_for_stderr("FAILED  quick");
    let place = world.read("place").trim().to_owned();
    wait_for("its workspace to go", || (!fs::exists(&place).unwrap()).then_some(()));
    world.write("mended", "");
    world.spawn(&mut command(&world, &["task", "retry", "quick"])).ended().expect(0);
    live.wait_for_stderr("ok      quick");
    assert_eq!(world.read("place").trim(), place, "made again where it was");
    world.write("go", "");
    live.ended().expect(0);
    assert_eq!((on_branch(&world, "quick.txt"), on_branch(&world, "long.txt")), ("1".into(), "1".into()));
    expect_tidy(&world);
}

#[test]
fn a_workspace_has_setup_kept_and_included_files_ports_and_a_temporary_folder_of_its_own() {
    let world = repository(
        "
config: { keep: [target], setup: ['mkdir -p target; echo once >> target/cache; echo set up'] }
tasks:
  - { id: a, run: 'cat .env; wc -l < target/cache; echo $CONDUCTOR_PORTS; echo $TMPDIR; touch $TMPDIR/x; touch other.o' }
  - { id: b, run: 'wc -l < target/cache; ls $TMPDIR | wc -l; ls other.o', dependencies: [a] }
  - { id: c, run: 'true', changes: required, dependencies: [a] }
",
    );
    world.write("repo/.gitignore", "target\n.env\n*.o\n");
    world.write("repo/.worktreeinclude", ".env\n");
    world.write("repo/.env", "SECRET=1\n");
    git(&world, &["add", "."]);
    git(&world, &["commit", "-q", "-m", "ignore"]);
    start(&world, &[]).ended().expect(100);
    let (first, second) = (said(&world, "a"), said(&world, "b"));
    let lines: Vec<&str> = first.lines().collect();
    assert_eq!(lines[1..4], ["set up", "SECRET=1", "1"], "{first}");
    let (from, to) = lines[4].split_once('-').unwrap();
    assert_eq!(to.parse::<u16>().unwrap() - from.parse::<u16>().unwrap(), 9);
    assert!(lines[5].starts_with(&world.home().display().to_string()), "{first}");
    let lines: Vec<&str> = second.lines().collect();
    assert_eq!(lines[2..4], ["2", "0"], "kept is kept, temporary files are not: {second}");
    assert!(second.contains("No such file"), "other ignored files are not: {second}");
    let statuses = world.statuses();
    assert_eq!(statuses["c"], "failed", "what setting up does is not the task's change");
    expect_tidy(&world);
}

#[test]
fn a_setup_that_fails_fails_the_task_before_it_begins() {
    let world = repository("tasks: [{ id: a, setup: [echo preparing, exit 4], run: AGENT touch HERE/done }]");
    start(&world, &[]).ended().expect(100).says("setup `exit 4` failed: exit code 4");
    assert!(!world.path("done").exists());
}

#[test]
fn workspaces_can_be_put_elsewhere_but_not_into_the_repository() {
    let world = repository(
        "
config: { workspace_path: 'HERE/elsewhere/{repo}/{run}/{n}' }
tasks: [{ id: a, run: 'pwd; echo 1 > a.txt' }, { id: b, run: 'echo 1 > b.txt' }]
",
    );
    start(&world, &["-p", "2"]).ended().expect(0);
    assert!(said(&world, "a").contains("/elsewhere/repo/"), "{}", said(&world, "a"));
    expect_tidy(&world);
    let left = fs::read_dir(world.path("elsewhere/repo")).unwrap().flatten().count();
    assert!(left <= 1, "nothing is left but empty folders");
    let world = repository("config: { workspace_path: '.work/{run}-{n}' }\ntasks: [{ id: a, run: 'true' }]");
    start(&world, &[]).ended().expect(1).says("would be inside of the repository");
}

/// A private clone: what it does to its own git stays there, what it did to the files lands.
#[test]
fn a_clone_shares_objects_and_nothing_else() {
    let world = repository(
        "
config: { isolation: clone }
tasks:
  - { id: a, run: 'echo 1 > a.txt; git add a.txt; git commit -qm own; git branch mine; git config core.editor evil; echo 2 > b.txt' }
  - { id: b, run: 'git log --oneline | wc -l; git branch; git config core.editor || echo clean; cat a.txt b.txt > c.txt', dependencies: [a] }
",
    );
    let (before, config) = (checkout(&world), world.read("repo/.git/config"));
    start(&world, &["-p", "2"]).ended().expect(0);
    assert_eq!(on_branch(&world, "c.txt"), "1\n2");
    assert!(
        said(&world, "b").contains("clean") && !said(&world, "b").contains("mine"),
        "{}",
        said(&world, "b")
    );
    let subjects = git(&world, &["log", "--format=%s", &format!("conductor/{}", world.run_id())]);
    assert!(subjects.contains("own"), "its own commit is there: {subjects}");
    assert_eq!(git(&world, &["branch", "--list", "mine"]), "");
    assert_eq!((checkout(&world), world.read("repo/.git/config")), (before, config));
    expect_tidy(&world);
}

/// The tasks of an epic build on each other in one workspace; other tasks see it once all of it has landed.
#[test]
fn an_epic_that_shares_a_workspace_lands_as_one() {
    let world = repository(
        "
epics: [{ id: shop, isolation_scope: epic, epic_landing: what_succeeded }]
config: { keep: [out] }
tasks:
  - { id: one, epic: shop, run: 'pwd; echo 1 > shop.txt', verify: [test -s shop.txt] }
  - { id: two, epic: shop, run: 'pwd; echo 2 >> shop.txt; AGENT await HERE/go', dependencies: [one], verify: [grep 2 shop.txt] }
  - { id: bad, epic: shop, run: 'echo bad >> shop.txt; exit 1', dependencies: [two] }
  - { id: three, epic: shop, run: 'pwd; echo 3 >> shop.txt', dependencies: [{ id: bad, when: finished }] }
  - { id: other, run: 'echo x > other.txt' }
  - { id: after, run: 'cat shop.txt other.txt', dependencies: [one, other] }
",
    );
    let live = start(&world, &["-p", "4"]);
    wait_for("the other one to land", || {
        world.logged("task_completed").contains(&"other".to_owned()).then_some(())
    });
    let tip = git(&world, &["for-each-ref", "--format=%(refname)", "refs/heads/conductor/"]);
    let files = git(&world, &["ls-tree", "--name-only", &tip]);
    assert!(!files.contains("shop.txt"), "nothing of the epic is on the branch yet: {files}");
    world.write("go", "");
    live.ended().expect(100);
    assert_eq!(on_branch(&world, "shop.txt"), "1\n2\n3");
    assert!(said(&world, "after").starts_with("1\n2\n3\nx\n"), "{}", said(&world, "after"));
    let place = |task: &str| said(&world, task).lines().next().unwrap().to_owned();
    assert_eq!(place("one"), place("two"));
    assert_eq!(place("two"), place("three"));
    expect_tidy(&world);
}

/// If one of its tasks fails, nothing of an epic lands; all of it lands when that task is done.
#[test]
fn an_epic_lands_as_a_whole_or_not_at_all() {
    let world = repository(
        "
epics: [{ id: shop, isolation_scope: epic }]
tasks:
  - { id: one, epic: shop, run: 'echo 1 > one.txt' }
  - { id: two, epic: shop, run: 'test -e HERE/mended && echo 2 > two.txt', dependencies: [one] }
  - { id: after, run: 'cat one.txt', dependencies: [one] }
",
    );
    start(&world, &[]).ended().expect(100).says("its epic does not land, for 'two' failed");
    let statuses = world.statuses();
    assert_eq!((&*statuses["one"], &*statuses["two"], &*statuses["after"]), ("failed", "failed", "skipped"));
    assert_eq!(git(&world, &["for-each-ref", "refs/heads/conductor/"]), "", "nothing has landed");
    world.spawn(&mut command(&world, &["task", "retry", "one"])).ended().expect(4).says("retry 'two'");
    world.write("mended", "");
    world.spawn(&mut command(&world, &["task", "retry", "two"])).ended().expect(0);
    world.spawn(&mut command(&world, &["run", "--resume"])).ended().expect(0).says("3 of 3 completed");
    assert_eq!((on_branch(&world, "one.txt"), on_branch(&world, "two.txt")), ("1".into(), "2".into()));
    expect_tidy(&world);
}

/// A workspace is not removed while a process has its working directory in it.
#[test]
fn a_workspace_with_a_process_in_it_stays_and_is_named() {
    let world =
        repository("tasks: [{ id: a, run: 'pwd > HERE/where; echo 1 > a.txt; AGENT await HERE/go' }]");
    let live = start(&world, &[]);
    wait_for("the task", || (!world.read("where").is_empty()).then_some(()));
    let mut request =
        world.command_of("sleep").arg("600").current_dir(world.read("where").trim()).spawn().unwrap();
    world.write("go", "");
    let ended = live.ended().expect(0).says("in use:");
    assert!(fs::exists(world.read("where").trim()).unwrap(), "{}", ended.stdout);
    request.kill().unwrap();
    request.wait().unwrap();
}
