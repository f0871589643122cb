//! Several agents race for one task, and one lands.

use std::os::unix::fs::PermissionsExt as _;

use crate::harness::{World, wait_for};
use crate::repository::{command, conductor, expect_tidy, git, on_branch, repository};

/// A repository with two agents of its own, which are these scripts, and these tasks.
fn world(one: &str, other: &str, tasks: &str) -> World {
    let world = repository(&format!(
        "config: {{ retry_policy: {{ max_attempts: 1 }}, agents: {{ one: {{ command: [HERE/one] }}, other: {{ command: [HERE/other] }} }} }}\n\
         tasks:\n{tasks}"
    ));
    let here = world.path("").display().to_string();
    for (name, script) in [("one", one), ("other", other)] {
        world.write(name, &format!("#!/bin/sh\ncat > /dev/null\n{}\n", script.replace("HERE", &here)));
        std::fs::set_permissions(world.path(name), std::fs::Permissions::from_mode(0o755)).unwrap();
    }
    world
}

const AWAIT: &str = "await() { until test -e HERE/$1; do sleep 0.02; done; }";

fn rescued(world: &World, path: &str) -> String {
    git(world, &["show", &format!("refs/conductor/rescue/{}/{path}", world.run_id())])
}

fn report(world: &World) -> String {
    let path = world.home().join("runs").join(world.run_id()).join("report.md");
    std::fs::read_to_string(path).unwrap()
}

#[test]
fn the_first_lands_and_the_work_of_the_other_is_kept() {
    let world = world(
        &format!("{AWAIT}; await half; echo one > out.txt"),
        &format!("{AWAIT}; echo half > half.txt; touch HERE/half; echo at it; await never"),
        "  - { id: t, prompt: Write it, race: [one, other] }\n  - { id: next, run: cat out.txt, dependencies: t }\n",
    );
    let ended = conductor(&world, &["run", "../tasks.yaml", "-p", "4", "--stats"])
        .expect(0)
        .says("run ")
        .says("wins    t.one  the first of 2 to land")
        .says("[1/2] ok      t   ")
        .says("2 of 2 completed")
        .says("2 claimed, 0 verified, 1 landed; 0 lost, 0 leaked");
    assert!(!ended.stderr.contains("/4]"), "those who race are not counted: {}", ended.stderr);
    assert_eq!(on_branch(&world, "out.txt"), "one");
    assert_eq!(rescued(&world, "t.other/1:half.txt"), "half");
    let summary = world.summary();
    assert_eq!((&summary["total_tasks"], &summary["completed"]), (&2.into(), &2.into()));
    assert_eq!(summary["success_rate"], 100.0);
    let race = &summary["results"][0]["race"];
    assert_eq!(
        (race["winner"].as_str(), race["why"].as_str()),
        (Some("t.one"), Some("the first of 2 to land"))
    );
    let results: Vec<&str> =
        race["entrants"].as_array().unwrap().iter().filter_map(|one| one["result"].as_str()).collect();
    assert_eq!(results, ["won", "beaten"]);
    assert_eq!(summary["results"][0]["agent"], "one");
    assert_eq!(summary["results"][0]["lines_added"], 1);
    let report = report(&world);
    assert!(report.contains("t: t.one won, the first of 2 to land."), "{report}");
    assert!(report.contains(&format!("refs/conductor/rescue/{}/t.other/1", world.run_id())), "{report}");
    assert!(
        report.contains("| ↳ t.other | cancelled |") && report.contains("t.one landed instead"),
        "{report}"
    );
    conductor(&world, &["diff", "t.other"]).expect(0).says("half.txt");
    conductor(&world, &["diff", "t"]).expect(0).says("out.txt");
    conductor(&world, &["logs", "t.other"]).expect(0).says("at it");
    expect_tidy(&world);
}

#[test]
fn the_best_by_score_lands_although_it_was_later() {
    let world = world(
        "mkdir src; echo a > src/a; echo b > other.txt",
        &format!("{AWAIT}; touch HERE/at-it; await go; mkdir src; echo good > src/a"),
        "  - { id: t, prompt: Write it, files: src/**, race: [one, other], race_for: best }\n",
    );
    let live = world.spawn(&mut command(&world, &["run", "../tasks.yaml", "-p", "4"]));
    world.wait_for_file("at-it");
    wait_for("one to be done", || (!world.logged("attempt_ended").is_empty()).then_some(()));
    let shown = conductor(&world, &["status"]).expect(0);
    for words in ["0 of 1", "t.one", "done, stands by", "t.other"] {
        assert!(shown.stdout.contains(words), "{words}: {}", shown.stdout);
    }
    conductor(&world, &["explain", "t"]).expect(0).says("race for it: t.one (stands by), t.other (running)");
    world.write("go", "");
    live.ended().expect(0).says("wins    t.other  100 of 100, before t.one with 75 of 100");
    assert_eq!(on_branch(&world, "src/a"), "good");
    assert_eq!(rescued(&world, "t.one/unmerged:other.txt"), "b");
    let entrants = &world.summary()["results"][0]["race"]["entrants"];
    assert_eq!((&entrants[0]["score"], &entrants[1]["score"]), (&75.0.into(), &100.0.into()));
    assert!(entrants[0]["about"].as_str().unwrap().contains("1 of 2 files it touched are its own"));
    conductor(&world, &["diff", "t.one"]).expect(0).says("other.txt");
    expect_tidy(&world);
}

#[test]
fn where_all_fail_the_task_has_failed_and_says_why_of_each() {
    let world = world(
        "echo no luck; exit 3",
        "exit 4",
        "  - { id: t, prompt: Write it, race: [one, other] }\n  - { id: next, run: 'true', dependencies: t }\n",
    );
    let ended = conductor(&world, &["run", "../tasks.yaml"]).expect(100);
    let words = ended.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains("t: none of those who raced for it landed: t.one: "), "{}", ended.stderr);
    assert!(words.contains("; t.other: "), "{}", ended.stderr);
    let summary = world.summary();
    assert_eq!((&summary["failed"], &summary["skipped"]), (&1.into(), &1.into()));
    expect_tidy(&world);
}

#[test]
fn one_that_fails_does_not_hold_up_the_other_nor_change_the_exit_code() {
    let world = world("exit 3", "echo x > out.txt", "  - { id: t, prompt: Write it, race: [one, other] }\n");
    conductor(&world, &["run", "../tasks.yaml", "--fail-fast"]).expect(0).says("1 of 1 completed");
    assert_eq!(on_branch(&world, "out.txt"), "x");
    assert_eq!(world.logged("task_failed"), ["t.one"]);
}

#[test]
fn killed_in_the_middle_it_is_decided_once() {
    let mut world = world(
        &format!("{AWAIT}; echo begun > one.txt; touch HERE/one-at-work; await go; echo one > out.txt"),
        &format!("{AWAIT}; touch HERE/other-at-work; echo half > half.txt; await never"),
        "  - { id: t, prompt: Write it, race: [one, other] }\n",
    );
    // Each of them begins anew.
    world.without_grace();
    let mut live = world.spawn(&mut command(&world, &["run", "../tasks.yaml", "-p", "2"]));
    for _ in 0..3 {
        world.wait_for_file("one-at-work");
        world.wait_for_file("other-at-work");
        live.child.kill().unwrap();
        live.child.wait().unwrap();
        for name in ["one-at-work", "other-at-work"] {
            std::fs::remove_file(world.path(name)).unwrap();
        }
        live = world.spawn(&mut command(&world, &["run", "--resume", "-p", "2", "--stats"]));
    }
    world.wait_for_file("one-at-work");
    world.wait_for_file("other-at-work");
    world.write("go", "");
    live.ended().expect(0).says("1 of 1 completed").says("0 lost, 0 leaked");
    assert_eq!(on_branch(&world, "out.txt"), "one");
    assert_eq!(world.logged("race_decided"), ["t"]);
    assert_eq!(world.logged("merge_intended"), ["t.one"]);
    let files = git(&world, &["ls-tree", "--name-only", &format!("conductor/{}", world.run_id())]);
    assert!(files.contains("out.txt") && !files.contains("half.txt"), "{files}");
    conductor(&world, &["run", "--resume"]).says("there is no unfinished run here to resume");
    assert_eq!(world.logged("attempt_started").iter().filter(|task| *task == "t.other").count(), 4);
    expect_tidy(&world);
}

/// Killed right where one has won, whatever was written last.
#[test]
fn killed_as_it_is_decided_losers_stay_losers() {
    for _ in 0..4 {
        let world = world(
            "echo one > out.txt",
            &format!("{AWAIT}; await never"),
            "  - { id: t, prompt: Write it, race: [one, other] }\n",
        );
        let mut live = world.spawn(&mut command(&world, &["run", "../tasks.yaml", "-p", "2"]));
        wait_for("it to be about to land", || (!world.logged("merge_intended").is_empty()).then_some(()));
        live.child.kill().unwrap();
        live.child.wait().unwrap();
        let ended = conductor(&world, &["run", "--resume", "-p", "2", "--stats"]);
        // It may have been quicker than the blow.
        let over = ended.stderr.contains("there is no unfinished run here to resume");
        assert!(over || ended.code == Some(0), "{}", ended.stderr);
        assert_eq!(on_branch(&world, "out.txt"), "one");
        assert_eq!(world.logged("race_decided"), ["t"]);
        assert_eq!(world.logged("task_completed"), ["t.one", "t"]);
        expect_tidy(&world);
    }
}

#[test]
fn a_race_needs_workspaces() {
    let tasks = "  - { id: t, prompt: Write it, attempts_in_parallel: 2, agent: one }\n";
    let world = world("true", "true", tasks);
    conductor(&world, &["run", "../tasks.yaml", "--isolation", "none"])
        .expect(2)
        .says("several race for task 't', and each needs a workspace of its own");
}

#[test]
fn it_counts_as_one_task_before_it_is_run_too() {
    let tasks = "  - { id: t, prompt: Write it, race: [one, other], estimate: 5m }\n  - { id: u, run: 'true', dependencies: t, estimate: 1m }\n";
    let world = world("true", "true", tasks);
    conductor(&world, &["validate", "../tasks.yaml"]).expect(0).says("2 tasks in 2 batches");
    conductor(&world, &["rehearse", "../tasks.yaml"])
        .expect(0)
        .says("2 tasks")
        .says("critical path: t → u, 6m00s");
    let graph = conductor(&world, &["graph", "../tasks.yaml"]).expect(0);
    assert!(!graph.stdout.contains("t.one"), "{}", graph.stdout);
}
