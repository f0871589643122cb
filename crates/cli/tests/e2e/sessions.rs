//! `sessions.jsonl`: a line for each session of an agent, also while several runs write. It stops no run.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use rustix::process::Signal;
use serde_json::Value;

use crate::harness::{World, wait_for};

/// A world with an agent that tells what it used, and does what its prompt says after `do:`. It remembers that, for when
/// the same conversation goes on.
fn world(tasks: &str) -> World {
    let mut world = World::in_place(tasks);
    let bin = world.path("bin");
    fs::create_dir(&bin).unwrap();
    let text = r#"#!/bin/sh
read -r task
echo '{"type":"usage","model":"claude-opus-5-5","input":1000,"output":0,"turns":1}'
session=$(printf '%s' "$task" | sed 's/.*"session":{"id":"\([^"]*\)".*/\1/')
case "$task" in
  *'do: '*) printf '%s' "$task" | sed 's/.*do: \([^"\\]*\).*/\1/' > "memory-$session" ;;
esac
sh -c "$(cat "memory-$session")" >&2 || exit 3
echo '{"type":"result","ok":true,"text":"done"}'
"#;
    let program = bin.join("conductor-agent-doer");
    fs::write(&program, text).unwrap();
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    let inherited = std::env::var_os("PATH").unwrap();
    let path = std::iter::once(bin).chain(std::env::split_paths(&inherited));
    world.set("PATH", std::env::join_paths(path).unwrap());
    world
}

fn lines(world: &World) -> Vec<Value> {
    let text = fs::read_to_string(world.home().join("sessions.jsonl")).unwrap_or_default();
    assert!(text.is_empty() || text.ends_with('\n'));
    text.lines()
        .map(|line| serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}")))
        .collect()
}

/// Of sessions that have ended; each has a line from its start, too.
fn ends(lines: Vec<Value>) -> Vec<Value> {
    lines.into_iter().filter(|line| line["status"] != "started").collect()
}

#[test]
fn every_session_has_its_lines() {
    let world = world(
        "
config: { agent: doer, retry_policy: { max_attempts: 2, initial_delay: 0 } }
tasks:
  - { id: good, prompt: 'do: echo 1 > a.txt' }
  - { id: bad, prompt: 'do: false' }
  - { id: command, run: 'true' }
",
    );
    world.conductor(&["run", "tasks.yaml"]).expect(100);
    let told = |line: &Value| format!("{} {} {}", line["task_id"], line["attempt"], line["status"]);
    let all: Vec<String> = lines(&world).iter().map(told).collect();
    let expected = [("good", 1, "completed"), ("bad", 1, "failed"), ("bad", 2, "failed")]
        .map(|(task, attempt, end)| ["started", end].map(|status| format!("{task:?} {attempt} {status:?}")));
    assert_eq!(all, expected.concat());
    let lines = ends(lines(&world));
    let first = &lines[0];
    assert_eq!(first["schema"], "conductor.session/1");
    assert_eq!((&first["agent"], &first["model"]), (&"doer".into(), &"claude-opus-5-5".into()));
    assert_eq!(
        (&first["tokens"], &first["turns"], &first["cost_usd"]),
        (&1000.into(), &1.into(), &0.004.into())
    );
    assert_eq!((&first["run"], &first["error"]), (&world.run_id().into(), &Value::Null));
    assert_eq!(
        first["directory"].as_str().unwrap(),
        world.path("").display().to_string().trim_end_matches('/')
    );
    assert!(first["started_at"].as_str().unwrap() < first["ended_at"].as_str().unwrap());
    assert_eq!(lines[1]["error"]["class"], "unfinished");
    let sessions: Vec<&Value> = lines.iter().map(|line| &line["session_id"]).collect();
    assert!(
        sessions.iter().all(|session| session.as_str().is_some_and(|session| session.len() == 36)),
        "{sessions:?}"
    );
    assert_ne!(sessions[1], sessions[2], "a new try is a new conversation");
}

#[test]
fn two_conductors_at_once_do_not_mix_their_lines() {
    let tasks: String =
        (0..12).map(|n| format!("  - {{ id: t{n}, prompt: 'do: true', changes: optional }}\n")).collect();
    let world = world(&format!("config: {{ agent: doer, isolation: none }}\ntasks:\n{tasks}"));
    let live: Vec<_> = (0..2).map(|_| world.start(&["run", "tasks.yaml", "-p", "6"])).collect();
    live.into_iter().for_each(|live| drop(live.ended().expect(0)));
    let lines = lines(&world);
    assert_eq!(lines.len(), 48);
    for run in world.runs() {
        assert_eq!(lines.iter().filter(|line| line["run"] == run.as_str()).count(), 24);
    }
}

#[test]
fn a_session_cut_off_by_a_killed_coordinator_gets_a_line_too() {
    let world = world(
        "
config: { agent: doer }
tasks:
  - { id: command, run: 'true' }
  - { id: slow, prompt: 'do: test -e again || { touch up; sleep 600; }; echo 1 > a.txt', dependencies: [command] }
",
    );
    let live = world.start(&["run", "tasks.yaml"]);
    world.wait_for_file("up");
    wait_for("its session", || (!world.logged("session_started").is_empty()).then_some(()));
    live.signal(Signal::KILL);
    // It could be gone on with otherwise.
    crate::outliving::kill_shims(&world);
    drop(live);
    let before = lines(&world);
    assert_eq!(before.iter().map(|line| line["status"].as_str().unwrap()).collect::<Vec<_>>(), ["started"]);
    world.write("again", "");
    world.conductor(&["run", "--resume"]).expect(0);
    let lines = ends(lines(&world));
    let told: Vec<(&str, &Value)> =
        lines.iter().map(|line| (line["status"].as_str().unwrap(), &line["session_number"])).collect();
    // The command is no session, neither before the coordinator was killed nor after.
    assert_eq!(told, [("interrupted", &1.into()), ("completed", &2.into())]);
    let began = |line: &Value| line["started_at"].as_str().unwrap_or_default().to_owned();
    assert_eq!(began(&lines[0]), began(&before[0]), "the time at which it began is known from the log");
    assert!(began(&lines[0]) < began(&lines[1]), "{lines:?}");
    assert!(lines[0]["session_id"].is_string() && lines[0]["tokens"] == 1000, "{}", lines[0]);
}

#[test]
fn a_file_that_cannot_be_written_stops_no_run() {
    let world = world("tasks: [{ id: a, prompt: 'do: echo 1 > a.txt', agent: doer }]");
    fs::create_dir(world.home().join("sessions.jsonl")).unwrap();
    world.conductor(&["run", "tasks.yaml"]).expect(0).says("1 of 1 completed");
}
