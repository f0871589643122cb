//! Thirty tasks that lie, collide, break each other and are killed: the ledger says what git and the process table say.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::harness::{World, leftovers};
use crate::repository::{checkout, command, expect_tidy, git, repository};

/// Each line of a group is one task; `HERE` is where they meet.
fn thirty() -> String {
    let mut tasks: Vec<String> = Vec::new();
    for n in 0..8 {
        tasks.push(format!("id: good{n}, run: 'echo {n} > good{n}.txt', verify: ['test -s good{n}.txt']"));
    }
    for n in 0..3 {
        tasks.push(format!("id: liar{n}, run: 'true', changes: required"));
    }
    for pair in 0..4 {
        for (side, other) in [("l", "r"), ("r", "l")] {
            tasks.push(format!(
                "id: clash{pair}{side}, run: 'echo {side} > clash{pair}.txt; AGENT make HERE/{pair}{side}; AGENT await HERE/{pair}{other}'"
            ));
        }
    }
    for (side, other) in [("l", "r"), ("r", "l")] {
        tasks.push(format!(
            "id: red{side}, run: 'touch only.{side}; AGENT make HERE/only{side}; AGENT await HERE/only{other}', verify: ['test $(ls only.* | wc -l) = 1']"
        ));
    }
    for n in 0..2 {
        tasks.push(format!("id: killed{n}, run: 'echo half > killed{n}.txt; kill -9 $$'"));
        tasks.push(format!("id: broken{n}, run: 'echo half > broken{n}.txt; exit 3'"));
        tasks.push(format!("id: meddler{n}, run: 'echo no > meddler{n}.txt', changes: forbidden"));
        tasks.push(format!("id: behind{n}, run: 'true', dependencies: [broken{n}]"));
    }
    tasks.push("id: unsound, run: 'echo no > n.txt', verify: ['! grep -q no n.txt']".to_owned());
    assert_eq!(tasks.len(), 30);
    let lines: String = tasks.iter().map(|task| format!("  - {{ {task} }}\n")).collect();
    format!("tasks:\n{lines}")
}

fn strings(value: &Value) -> BTreeSet<String> {
    value.as_array().unwrap().iter().map(|entry| entry.as_str().unwrap().to_owned()).collect()
}

/// What git itself says: whose work is on the branch, and what is kept beside it.
fn by_git(world: &World) -> (BTreeSet<String>, BTreeSet<String>) {
    let range = format!("main..conductor/{}", world.run_id());
    let format = "--format=%(trailers:key=Conductor-Task,valueonly)";
    let landed = git(world, &["log", format, &range]);
    let rescued = git(world, &["for-each-ref", "--format=%(refname)", "refs/conductor/rescue"]);
    let lines = |text: &str| text.lines().filter(|line| !line.is_empty()).map(str::to_owned).collect();
    (lines(&landed), lines(&rescued))
}

fn expect_truth(world: &World) {
    let summary = world.summary();
    let ledger = &summary["ledger"];
    let (landed, rescued) = by_git(world);
    let by_log: BTreeSet<String> = summary["results"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|result| !result["commit"].is_null())
        .map(|result| result["task_id"].as_str().unwrap().to_owned())
        .collect();
    assert_eq!(landed, by_log, "done means landed");
    assert_eq!(ledger["landed"], landed.len());
    assert_eq!(strings(&ledger["rescued"]), rescued);
    assert_eq!((&ledger["lost"], &ledger["leaked"]), (&Value::Array(vec![]), &Value::Array(vec![])));
    assert_eq!(leftovers(&world.run_id()), []);
    let statuses = world.statuses();
    for (task, status) in &statuses {
        let lands = task.starts_with("good");
        let fails =
            ["liar", "killed", "broken", "meddler", "unsound"].iter().any(|kind| task.starts_with(kind));
        assert!(!lands || status == "completed", "{task} is {status}");
        assert!(!fails || status == "failed", "{task} is {status}");
        assert!(!task.starts_with("behind") || status == "skipped", "{task} is {status}");
        let left_work = ["killed", "broken", "meddler", "unsound"].iter().any(|kind| task.starts_with(kind));
        let kept = rescued.iter().any(|name| name.contains(&format!("/{task}/")));
        assert!(!left_work || kept, "what {task} did is kept: {rescued:?}");
    }
    for pair in ["clash0", "clash1", "clash2", "clash3", "red"] {
        let side = |side: &str| statuses[&format!("{pair}{side}")].as_str();
        assert!(["l", "r"].iter().any(|name| side(name) == "completed"), "one of {pair} lands");
    }
}

#[test]
fn the_ledger_of_thirty_tasks_says_what_git_and_the_process_table_say() {
    let world = repository(&thirty());
    let before = checkout(&world);
    let ended = world
        .spawn(&mut command(&world, &["run", "../tasks.yaml", "-p", "30", "--stats"]))
        .ended()
        .expect(100);
    expect_truth(&world);
    let ledger = &world.summary()["ledger"];
    let figure = |name: &str| ledger[name].as_u64().unwrap();
    assert_eq!((figure("claimed"), figure("verified"), figure("landed")), (24, 9, 13));
    ended.says("ledger 24 claimed, 9 verified, 13 landed; 0 lost, 0 leaked");
    assert_eq!(checkout(&world), before);
    expect_tidy(&world);
}

/// A task that ran when the coordinator was killed is done again, so it is chance which tasks collide.
/// The ledger must be true in each case.
#[test]
fn the_ledger_is_true_after_kills_too() {
    let world = repository(&thirty());
    let before = checkout(&world);
    let mut live = world.spawn(&mut command(&world, &["run", "../tasks.yaml", "-p", "30"]));
    for kills in 0..3 {
        let landed = || world.logged("task_completed").len();
        crate::harness::wait_for("something to land", || {
            (landed() > kills * 3 || !live.is_running()).then_some(())
        });
        if !live.is_running() {
            break;
        }
        live.child.kill().unwrap();
        live.child.wait().unwrap();
        live = world.spawn(&mut command(&world, &["run", "--resume", "-p", "30"]));
    }
    let ended = live.ended().expect(100);
    // Shown where what follows fails.
    println!("{}", ended.stderr);
    expect_truth(&world);
    assert_eq!(checkout(&world), before);
    expect_tidy(&world);
}
