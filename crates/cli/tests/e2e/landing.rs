//! In a repository: done means landed, the checkout stays as it was, and nothing is lost or left behind.

use std::time::{Duration, Instant};

use fastrand::Rng;

use crate::harness::{World, expect_no_leftovers};
use crate::repository::{checkout, command, expect_tidy, git, repository, start};
use crate::soak::{amount, seeded};

#[test]
fn work_lands_on_the_runs_branch_and_a_dirty_checkout_stays_as_it_was() {
    let world = repository(
        "
tasks:
  - { id: a, run: echo one > a.txt, verify: [test -f a.txt] }
  - { id: b, run: echo two > b.txt, verify: [test -f b.txt] }
  - { id: both, run: cat a.txt b.txt > both.txt, dependencies: [a, b] }
  - { id: nothing, run: 'true' }
",
    );
    world.write("repo/f.txt", "dirty\n");
    world.write("repo/mine.txt", "untracked");
    let before = checkout(&world);
    let ended = world.spawn(&mut command(&world, &["run", "../tasks.yaml", "-p", "3"])).ended().expect(0);
    let branch = format!("conductor/{}", world.run_id());
    ended.says(&format!("3 tasks landed on {branch}")).says(&format!("git merge {branch}"));
    assert_eq!(checkout(&world), before);
    assert_eq!(git(&world, &["show", &format!("{branch}:both.txt")]), "one\ntwo");
    assert_eq!(git(&world, &["show", &format!("{branch}:f.txt")]), "a\nb\nc");
    assert_eq!(world.summary()["results"][3]["commit"], serde_json::Value::Null);
    expect_tidy(&world);
}

#[test]
fn liars_conflicts_and_red_combinations_do_not_land_and_stop_no_other_task() {
    let world = repository(
        "
tasks:
  - { id: liar, run: 'true', changes: required }
  - { id: meddler, run: echo x > x.txt, changes: forbidden }
  - { id: left, run: 'sed -i s/b/LEFT/ f.txt; AGENT make HERE/left; AGENT await HERE/right' }
  - { id: right, run: 'sed -i s/b/RIGHT/ f.txt; AGENT make HERE/right; AGENT await HERE/left' }
  - { id: red, run: echo no > n.txt, verify: ['! grep -q no n.txt'] }
  - { id: good, run: echo fine > good.txt }
  - { id: behind, run: 'true', dependencies: [red] }
",
    );
    let ended = world.spawn(&mut command(&world, &["run", "../tasks.yaml", "-p", "8"])).ended().expect(100);
    ended
        .says("made no changes (changes are required)")
        .says("it changed files, where none were to be changed");
    let statuses = world.statuses();
    let status = |task: &str| statuses[task].as_str();
    assert_eq!((status("liar"), status("meddler"), status("red")), ("failed", "failed", "failed"));
    assert_eq!((status("good"), status("behind")), ("completed", "skipped"));
    let sides = [status("left"), status("right")];
    assert!(sides.contains(&"completed") && sides.contains(&"failed"), "one of two lands: {sides:?}");
    let branch = format!("conductor/{}", world.run_id());
    let landed = git(&world, &["log", "--no-merges", "--format=%s", &format!("main..{branch}")]);
    assert_eq!(landed.lines().count(), 2, "the log agrees: {landed}");
    let rescued = git(&world, &["for-each-ref", "--format=%(refname)", "refs/conductor/rescue"]);
    for task in ["meddler", "red"] {
        assert!(rescued.contains(&format!("/{task}/")), "work of {task} is kept: {rescued}");
    }
    expect_tidy(&world);
}

/// Each passes its checks alone, but not together with the other. The second fails with that reason.
#[test]
fn what_is_green_alone_and_red_together_does_not_land() {
    let world = repository(
        "
tasks:
  - { id: one, run: 'touch only.1; AGENT make HERE/one; AGENT await HERE/two', verify: ['test $(ls only.* | wc -l) = 1'] }
  - { id: two, run: 'touch only.2; AGENT make HERE/two; AGENT await HERE/one', verify: ['test $(ls only.* | wc -l) = 1'] }
",
    );
    let ended = world.spawn(&mut command(&world, &["run", "../tasks.yaml", "-p", "2"])).ended().expect(100);
    ended.says("1 of 2 completed, 1 failed").says("on the combined tree: ");
    expect_tidy(&world);
}

#[test]
fn the_branch_one_is_on_is_brought_forward_when_asked_and_safe() {
    let world = repository("tasks: [{ id: a, run: echo one > a.txt }]");
    let run = ["run", "../tasks.yaml", "--merge", "branch"];
    world.spawn(&mut command(&world, &run)).ended().expect(0).says("and main holds it");
    assert_eq!(world.read("repo/a.txt"), "one\n");
    assert_eq!(git(&world, &["status", "--porcelain"]), "");
}

#[test]
fn a_repository_without_a_commit_is_told_what_to_do() {
    let world = World::new();
    std::fs::create_dir_all(world.path("repo")).unwrap();
    world.write("tasks.yaml", "tasks: [{ id: a, run: AGENT touch done }]");
    git(&world, &["init", "-q", "."]);
    let refused = start(&world, &[]).ended().expect(3);
    refused.says("has no commit yet").says("git commit --allow-empty");
    world.spawn(&mut command(&world, &["run", "../tasks.yaml", "--isolation", "none"])).ended().expect(0);
}

/// How often the coordinator is killed; a soak test asks for more, of more tasks.
fn points() -> usize {
    amount("CONDUCTOR_CRASH_POINTS", 12) as usize
}

/// Every task leaves a file of its own. Some are checked again on the combined tree, some share their epic's workspace.
fn graph(rng: &mut Rng, tasks: usize) -> String {
    let mut text = String::from("epics: [{ id: e, isolation_scope: epic }]\ntasks:\n");
    for task in 0..tasks {
        // No edges lead into the epic or out of it, so that it can land as one.
        let is_epic = task % 11 == 5;
        let on: Vec<String> = (0..rng.usize(0..3))
            .filter(|_| task > 0 && !is_epic)
            .map(|_| rng.usize(task.saturating_sub(8)..task))
            .filter(|on| on % 11 != 5)
            .map(|on| format!("t{on}"))
            .collect();
        let sleep = rng.u32(0..30);
        let verify = if task % 7 == 3 { ", verify: ['true']" } else { "" };
        let epic = if is_epic { ", epic: e" } else { "" };
        text.push_str(&format!(
            "  - {{ id: t{task}, run: 'sleep 0.0{sleep:02}; mkdir -p d{0}; echo {task} > d{0}/{task}.txt', \
             dependencies: [{1}], changes: required{verify}{epic} }}\n",
            task % 5,
            on.join(", ")
        ));
    }
    text
}

/// A1 with merges: killed anywhere, the branch ends up with the very tree of an undisturbed run, everything once.
#[test]
fn killed_at_random_moments_everything_lands_once() {
    let mut rng = seeded();
    let tasks = if points() >= 100 { 200 } else { 40 };
    let mut kills = 0;
    while kills < points() {
        kills += crash_one_graph(&mut rng, tasks, points() - kills);
        println!("{kills} kills");
    }
}

fn crash_one_graph(rng: &mut Rng, tasks: usize, most: usize) -> usize {
    let text = graph(rng, tasks);
    let calm = repository(&text);
    calm.spawn(&mut command(&calm, &["run", "../tasks.yaml", "-p", "4"])).ended().expect(0);
    // One that was killed before it was in the store has left a folder, and nothing else.
    let run = |world: &World| world.sql("SELECT id FROM runs").trim().to_owned();
    let tree = |world: &World| git(world, &["rev-parse", &format!("conductor/{}^{{tree}}", run(world))]);
    let world = repository(&text);
    let before = checkout(&world);
    let kills = kill_again_and_again(&world, rng, most);
    assert_eq!(tree(&world), tree(&calm), "the tree of an undisturbed run");
    let branch = format!("main..conductor/{}", run(&world));
    let format = "--format=%(trailers:key=Conductor-Task,valueonly,separator=%x2C)";
    let own = git(&world, &["log", "--no-merges", format, &branch]);
    let mut landed: Vec<&str> = own.lines().collect();
    landed.sort_unstable();
    let count = landed.len();
    landed.dedup();
    assert_eq!((count, landed.len()), (tasks, tasks), "everything landed, once each");
    assert_eq!(checkout(&world), before);
    assert_eq!(world.sql("PRAGMA integrity_check").trim(), "ok");
    expect_no_leftovers(&run(&world));
    kills
}

/// Until the run is done, or often enough; how often that was.
fn kill_again_and_again(world: &World, rng: &mut Rng, most: usize) -> usize {
    let mut kills = 0;
    loop {
        let known = world.database().exists()
            && world.try_sql("SELECT id FROM runs").is_ok_and(|runs| !runs.is_empty());
        let args: &[&str] =
            if known { &["run", "--resume", "-p", "4"] } else { &["run", "../tasks.yaml", "-p", "4"] };
        let mut live = world.spawn(&mut command(world, args));
        let end = Instant::now() + Duration::from_millis(rng.u64(0..900));
        while kills < most && Instant::now() < end && live.is_running() {
            std::thread::sleep(Duration::from_millis(1));
        }
        if kills == most || !live.is_running() {
            live.ended().expect(0);
            return kills;
        }
        live.child.kill().unwrap();
        live.child.wait().unwrap();
        kills += 1;
        if known && world.sql("SELECT status FROM runs").trim() == "completed" {
            return kills;
        }
    }
}
