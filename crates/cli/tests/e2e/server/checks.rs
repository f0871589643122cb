//! How each check of a task went, and what its agent does, over the API; and all rounds of an agent's raw messages.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use serde_json::{Value, json};

use super::client::Served;
use crate::harness::{World, wait_for};
use crate::repository::{conductor, repository, start};

/// Takes the part of Claude Code: a line more in `n.txt` each round; in the first, a tool that waits for the file `go`.
const CLAUDE: &str = r#"#!/bin/sh
[ "$1" = --version ] && { echo '2.1.325 (Claude Code)'; exit 0; }
read -r hello; read -r prompt
say() { printf '%s\n' "$1"; }
echo line >> n.txt
round=$(wc -l < n.txt)
say '{"type":"system","subtype":"init","session_id":"s","model":"claude-opus-5-5"}'
say '{"type":"assistant","message":{"id":"m1","model":"claude-opus-5-5","content":[{"type":"text","text":"round '$round'"},{"type":"tool_use","id":"c1","name":"Bash","input":{"command":"make '$round'"}}]}}'
touch "$WORLD/started"
while [ ! -e "$WORLD/go" ]; do sleep 0.05; done
say '{"type":"user","message":{"content":[{"type":"tool_result","tool_use_id":"c1","content":"made"}]}}'
say '{"type":"result","subtype":"success","is_error":false,"result":"done","session_id":"s","usage":{"input_tokens":1,"output_tokens":1}}'
"#;

const TASKS: &str = "
config: { agent: claude, check_base: true }
tasks:
  - id: mends
    prompt: mend it
    env: { WORLD: HERE }
    verify: ['echo first', 'echo only $(cat n.txt 2>/dev/null | wc -l); test $(cat n.txt 2>/dev/null | wc -l) = 2']
    fix_rounds: 1
";

fn world() -> World {
    let mut world = repository(TASKS);
    let bin = world.root().join("bin");
    fs::create_dir(&bin).unwrap();
    let program = bin.join("claude");
    fs::write(&program, CLAUDE).unwrap();
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    let path = std::env::split_paths(&world.variable("PATH")).collect::<Vec<_>>();
    world.set("PATH", std::env::join_paths(std::iter::once(bin).chain(path)).unwrap());
    world
}

#[test]
fn each_check_is_told_with_what_it_looked_at_and_how_it_went() {
    let world = world();
    let served = Served::start(&world);
    let live = start(&world, &[]);
    world.wait_for_file("started");
    let run = world.run_id();
    let status = wait_for("the tool", || {
        Some(served.get(&format!("/api/runs/{run}")))
            .filter(|told| told["running"][0]["last_tool"].is_string())
    });
    assert_eq!(status["running"][0]["last_tool"], "Bash make 1");
    world.write("go", "");
    live.ended().expect(0);
    let path = format!("/api/runs/{run}/tasks/mends");
    let task = &served.get(&path)["task"];
    assert_eq!((&task["last_tool"]["tool"], &task["last_tool"]["what"]), (&json!("Bash"), &json!("make 2")));
    let told = |check: &Value| {
        let command = check["command"].as_str().unwrap().split(['$', ';']).next().unwrap().trim().to_owned();
        let lines = check["lines"].as_array().unwrap();
        let last = lines.last().and_then(Value::as_str).unwrap_or_default();
        assert!(check["took_ms"].is_u64() && check["at"].is_string(), "{check}");
        format!("{} {command}: {} {last}", check["on"].as_str().unwrap(), check["passed"])
    };
    let checks: Vec<String> = task["checks"].as_array().unwrap().iter().map(told).collect();
    assert_eq!(
        checks,
        [
            "base echo first: true first",
            "base echo only: false only 0",
            "work echo first: true first",
            "work echo only: false only 1",
            "work echo first: true first",
            "work echo only: true only 2",
        ]
    );
    assert_eq!(task["checks"][3]["why"], "exit code 1");
    assert_eq!(served.get(&format!("{path}/checks?attempt=1"))["checks"], task["checks"]);
    served.by(&served.owner(), "GET", &format!("{path}/checks?attempt=7"), &json!({})).expect(422);
    // Both rounds, each a stream of its own, in one: at the command line and over the API.
    let rounds = |text: &str| text.matches("\"text\":\"round ").count();
    let stream = conductor(&world, &["logs", "mends", "--stream"]).expect(0).stdout;
    assert_eq!(rounds(&stream), 2, "{stream}");
    assert!(stream.find("round 1") < stream.find("round 2"));
    let log =
        served.by(&served.owner(), "GET", &format!("{path}/log?stream=true"), &json!({})).expect(200).body;
    assert_eq!(rounds(&log), 2, "{log}");
}

#[test]
fn a_part_of_a_log_that_has_not_begun_is_nothing_and_no_mistake() {
    let world = World::in_place("tasks: [{ id: quiet, run: 'true' }]");
    world.conductor(&["run", "tasks.yaml"]).expect(0);
    let served = Served::start(&world);
    let bearer = format!("Bearer {}", served.owner());
    let path = format!("/api/runs/{}/tasks/quiet/log", world.run_id());
    for range in ["bytes=0-", "bytes=-4000"] {
        let answer =
            served.ask("GET", &path, &[("Authorization", &bearer), ("Range", range)], "").expect(200);
        assert_eq!(answer.body, "", "{range}");
    }
}
