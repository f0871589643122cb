//! Agents that add tasks to the run, report, and ask the user.

use conductor_testkit::Script;
use conductor_testkit::agents::Agent;
use serde_json::json;

use super::{Bench, SLOW, prompt};
use crate::harness::wait_for;
use crate::repository::{conductor, expect_tidy};

#[test]
fn claude() {
    add_two_tasks_and_are_refused_a_third(Agent::Claude);
}

#[test]
fn codex() {
    add_two_tasks_and_are_refused_a_third(Agent::Codex);
}

#[test]
fn opencode() {
    add_two_tasks_and_are_refused_a_third(Agent::Opencode);
}

const UNASKED: &str = "limits: { follow_ups: 3, approve_follow_ups: false }\n";

/// Its text after a call shows the answer it got.
fn add_two_tasks_and_are_refused_a_third(agent: Agent) {
    let Some(bench) = Bench::new(agent, "", &(prompt("first", "") + UNASKED)) else { return };
    let add = |script: Script, task: serde_json::Value| script.mcp("conductor", "add_task", task);
    let script = Script::new().mcp("conductor", "update_status", json!({ "status": "halfway there" }));
    let script = add(script, json!({ "id": "second", "prompt": "[[script:second]] Go on" }));
    let third = json!({ "id": "third", "prompt": "[[script:third]] And on", "dependencies": ["second"] });
    let script = add(script, third);
    let circle = json!({ "id": "fourth", "prompt": "Never ends", "dependencies": ["fourth"] });
    let script = add(script, circle)
        .mcp("conductor", "log_issue", json!({ "description": "the tests are flaky", "severity": "high" }))
        .write_file("first.txt", "1\n")
        .finish("It is written.");
    bench.script("first", script);
    for name in ["second", "third"] {
        let file = format!("{name}.txt");
        bench.script(name, Script::new().write_file(file, "x\n").finish("It is written."));
    }
    let ended = bench.run(&["-p", "2"]).ended_within(SLOW).expect(0);
    let told = bench.heard("first");
    assert!(told.contains("waits for itself"), "it reads why: {told}");
    assert!(told.contains("it has joined the run"), "{told}");
    for file in ["first.txt", "second.txt", "third.txt"] {
        bench.landed(file);
    }
    let statuses = bench.world.statuses();
    assert_eq!(statuses.len(), 3, "{statuses:?}");
    assert!(statuses.values().all(|status| status == "completed"), "{statuses:?}");
    assert!(ended.stderr.contains("1 task joined: second, as first proposed"), "{}", ended.stderr);
    assert!(ended.stderr.contains("high: the tests are flaky"), "{}", ended.stderr);
    expect_tidy(&bench.world);
}

/// A person is asked about what it adds, and about what it wants to know.
#[test]
fn claude_asks_a_person() {
    let limits = "limits: { follow_ups: 3 }\n";
    let Some(bench) = Bench::new(Agent::Claude, "", &(prompt("first", "") + limits)) else { return };
    let second = json!({ "id": "second", "prompt": "[[script:second]] Go on" });
    let third = json!({ "id": "third", "prompt": "[[script:third]] Not this" });
    let script = Script::new()
        .mcp("conductor", "add_task", second)
        .mcp("conductor", "add_task", third)
        .mcp("conductor", "ask_human", json!({ "question": "Which database?" }))
        .write_file("first.txt", "1\n")
        .finish("It is written.");
    bench.script("first", script);
    bench.script("second", Script::new().write_file("second.txt", "x\n").finish("Done."));
    let live = bench.run(&["--answer-within", "10m"]);
    let asks = |task: &str| {
        wait_for(task, || {
            let status = conductor(&bench.world, &["status", "--json"]);
            let status = (status.code == Some(0)).then(|| status.json())?;
            let waiting = status["waiting"].as_array().cloned().unwrap_or_default();
            waiting.iter().any(|waits| waits["task"] == task).then_some(())
        });
    };
    asks("first");
    conductor(&bench.world, &["task", "approve", "first", "-m", "Postgres"])
        .expect(0)
        .says("Which database?");
    conductor(&bench.world, &["task", "deny", "third"]).expect(0);
    conductor(&bench.world, &["task", "approve", "second"]).expect(0);
    live.ended_within(SLOW).expect(9);
    bench.landed("second.txt");
    let asked = bench.stand_in.requests("first");
    let told = |body: &String| body.contains("Which database? — a person answers: Postgres");
    assert!(asked.iter().filter_map(|request| request.body.as_ref()).any(told), "it goes on with the answer");
    assert_eq!(bench.world.statuses()["third"], "cancelled");
    expect_tidy(&bench.world);
}
