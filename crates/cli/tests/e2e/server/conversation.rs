//! An agent's conversation over the server: while it is at work and afterwards, as turns, as text and as it comes.

use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt as _;

use serde_json::{Value, json};

use super::client::Served;
use crate::harness::{World, wait_for};

const CANARY: &str = "sk-ant-api03-CanaryCanaryCanaryCanaryCanary-1234567890";

/// Takes the part of Claude Code: one tool, a wait for the file `go`, the tool's answer, a last word.
const CLAUDE: &str = r#"#!/bin/sh
[ "$1" = --version ] && { echo '2.1.325 (Claude Code)'; exit 0; }
read -r hello; read -r prompt
say() { printf '%s\n' "$1"; }
say '{"type":"system","subtype":"init","session_id":"s","model":"claude-opus-5-5"}'
say '{"type":"assistant","message":{"id":"m1","model":"claude-opus-5-5","content":[{"type":"thinking","thinking":"first look"}]},"timestamp":"2026-11-15T19:41:12.000Z"}'
say '{"type":"assistant","message":{"id":"m1","model":"claude-opus-5-5","content":[{"type":"text","text":"I look. CANARY"}]},"timestamp":"2026-11-15T19:41:12.100Z"}'
say '{"type":"assistant","message":{"id":"m1","model":"claude-opus-5-5","content":[{"type":"tool_use","id":"c1","name":"Bash","input":{"command":"make test"}}]},"timestamp":"2026-11-15T19:41:12.300Z"}'
touch "$WORLD/started"
while [ ! -e "$WORLD/go" ]; do sleep 0.05; done
say '{"type":"user","message":{"content":[{"type":"tool_result","tool_use_id":"c1","content":"Exit code 2\nno CANARY","is_error":true}]},"timestamp":"2026-11-15T19:41:14.300Z"}'
say '{"type":"of tomorrow"}'
say '{"type":"result","subtype":"success","is_error":false,"result":"done","session_id":"s","usage":{"input_tokens":1,"output_tokens":1}}'
"#;

fn world(tasks: &str) -> World {
    let mut world = World::in_place(tasks);
    let bin = world.path("bin");
    fs::create_dir(&bin).unwrap();
    let program = bin.join("claude");
    fs::write(&program, CLAUDE.replace("CANARY", CANARY)).unwrap();
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    let inherited = std::env::var_os("PATH").unwrap();
    let path = std::iter::once(bin).chain(std::env::split_paths(&inherited));
    world.set("PATH", std::env::join_paths(path).unwrap());
    world
}

fn tasks(world: &str) -> String {
    format!(
        "config: {{ agent: claude }}\ntasks:\n  - {{ id: a, prompt: 'Say {CANARY} and mend the tests', env: {{ WORLD: '{world}' }}, changes: optional }}\n  - {{ id: b, run: 'echo one; echo two; echo three', dependencies: [a] }}\n"
    )
}

fn begun() -> World {
    let world = world("tasks: []");
    world.write("tasks.yaml", &tasks(world.path("").to_str().unwrap()));
    world
}

fn kinds(conversation: &Value) -> Vec<String> {
    let turn = |turn: &Value| format!("{} {}", turn["who"].as_str().unwrap(), turn["kind"].as_str().unwrap());
    conversation["turns"].as_array().unwrap().iter().map(turn).collect()
}

#[test]
fn a_conversation_is_told_live_and_afterwards() {
    let world = begun();
    let served = Served::start(&world);
    let live = world.start(&["run", "tasks.yaml"]);
    world.wait_for_file("started");
    let run = world.run_id();
    let path = format!("/api/runs/{run}/tasks/a/conversation");
    // What is not yet cleared of secrets is not told: it comes within a moment.
    let first = wait_for("the call", || {
        Some(served.get(&path)).filter(|told| told["turns"].as_array().unwrap().len() >= 4)
    });
    assert_eq!(kinds(&first), ["conductor text", "agent thinking", "agent text", "tool tool"], "{first}");
    assert_eq!(
        (&first["at_work"], &first["agent"], &first["attempt"]),
        (&json!(true), &json!("claude"), &json!(1))
    );
    assert!(first["prompt"].as_str().unwrap().contains("mend the tests"), "{first}");
    assert_eq!(first["turns"][3]["tool"]["result"], Value::Null);
    let since = first["next_since"].as_u64().unwrap();
    world.write("go", "");
    live.ended().expect(0);
    let rest = served.get(&format!("{path}?since={since}"));
    assert_eq!(kinds(&rest), ["tool tool", "agent result"], "{rest}");
    let tool = &rest["turns"][0];
    assert_eq!(
        (&tool["number"], &tool["failed"], &tool["text"]),
        (&json!(4), &json!(true), &json!("make test"))
    );
    assert_eq!((&tool["tool"]["exit_code"], &tool["tool"]["duration_ms"]), (&json!(2), &json!(2000)));
    assert_eq!(
        (&rest["at_work"], &rest["prompt"], &rest["more"]),
        (&json!(false), &Value::Null, &json!(false))
    );
    assert_eq!(rest["skipped_lines"], 1);
    assert_eq!(served.get(&format!("{path}?since={}", rest["next_since"]))["turns"], json!([]));
    let page = served.get(&format!("{path}?limit=2"));
    assert_eq!((kinds(&page).len(), &page["more"]), (2, &json!(true)));
    // One who comes later, also to another server, gets the same.
    let whole = served.get(&path);
    drop(served);
    let served = Served::start(&world);
    assert_eq!(served.get(&path)["turns"], whole["turns"]);
    let command = served.get(&format!("/api/runs/{run}/tasks/b/conversation"));
    assert_eq!(command["turns"][0]["text"], "one\ntwo\nthree\n");
    assert_eq!((&command["agent"], &command["prompt"]), (&Value::Null, &Value::Null));
    for path in ["/tasks/a/conversation", "/tasks/a/log", "/tasks/a/log?stream=true"] {
        let answer =
            served.by(&served.owner(), "GET", &format!("/api/runs/{run}{path}"), &json!({})).expect(200);
        assert!(!answer.body.contains(CANARY) && answer.body.contains("***"), "{path}: {}", answer.body);
    }
    for file in fs::read_dir(world.home().join("runs").join(&run).join("executor_1/a")).unwrap().flatten() {
        assert!(!fs::read_to_string(file.path()).unwrap().contains(CANARY), "{}", file.path().display());
    }
}

#[test]
fn what_cannot_be_told_is_said() {
    let world = begun();
    let served = Served::start(&world);
    world.write("go", "");
    world.conductor(&["run", "tasks.yaml"]).expect(0);
    let run = world.run_id();
    let ask =
        |path: &str| served.by(&served.owner(), "GET", &format!("/api/runs/{run}/tasks/{path}"), &json!({}));
    for path in ["a/conversation", "a/log"] {
        let answer = ask(&format!("{path}?attempt=7")).expect(422).json();
        assert_eq!(answer["field"], "attempt", "{answer}");
        assert!(answer["detail"].as_str().unwrap().contains("newest is 1"), "{answer}");
        ask(&format!("{path}?attempt=0")).expect(422);
    }
    ask("zz/conversation").expect(404);
    ask("a/conversation?since=x").expect(422);
    ask("b/log?stream=true").expect(409);
    ask("b/log?follow=true&tail=1").expect(422);
    assert_eq!(ask("b/log?tail=2").expect(200).body, "two\nthree\n");
    let bearer = format!("Bearer {}", served.owner());
    let headers = [("Authorization", bearer.as_str()), ("Range", "bytes=4-6")];
    let part = served.ask("GET", &format!("/api/runs/{run}/tasks/b/log"), &headers, "").expect(206);
    assert_eq!((part.body.as_str(), part.header("content-range").as_deref()), ("two", Some("bytes 4-6/14")));
    assert_eq!(ask("b/log?follow=true").expect(200).body, "one\ntwo\nthree\n");
}

#[test]
fn a_log_is_followed_to_the_tasks_end() {
    let world = begun();
    let served = Served::start(&world);
    let live = world.start(&["run", "tasks.yaml"]);
    world.wait_for_file("started");
    let run = world.run_id();
    let mut stream = TcpStream::connect(served.address).unwrap();
    stream.set_read_timeout(Some(crate::harness::DEADLINE)).unwrap();
    let (port, owner) = (served.address.port(), served.owner());
    write!(
        stream,
        "GET /api/runs/{run}/tasks/a/log?follow=true HTTP/1.1\r\nHost: localhost:{port}\r\nAuthorization: Bearer {owner}\r\nConnection: close\r\n\r\n"
    )
    .unwrap();
    let mut lines = BufReader::new(stream).lines();
    let mut next = |words: &str| lines.by_ref().map_while(Result::ok).find(|line| line.contains(words));
    assert!(next("I look. ***").is_some());
    world.write("go", "");
    assert!(next("[error] Exit code 2").is_some());
    assert!(lines.map_while(Result::ok).last().is_some(), "it comes to an end");
    live.ended().expect(0);
}

#[test]
fn what_agents_say_is_told_over_a_socket_that_asks_for_it() {
    let world = begun();
    let served = Served::start(&world);
    let live = world.start(&["run", "tasks.yaml"]);
    world.wait_for_file("started");
    let run = world.run_id();
    let mut deaf = served.socket(&format!("/api/runs/{run}/ws?since=0"));
    let mut socket = served.socket(&format!("/api/runs/{run}/ws?since=0&output=true"));
    socket.until("task_start");
    world.write("go", "");
    let (mut said, mut over) = (Vec::new(), false);
    while !over || !said.iter().any(|line: &String| line == "three") {
        let told = socket.next().unwrap_or_else(|| panic!("the socket was closed after {said:?}"));
        over |= told.iter().any(|event| event["type"] == "parallel_complete");
        for event in told.iter().filter(|event| event["type"] == "agent_output") {
            assert_eq!((&event["run"], &event["attempt"]), (&json!(run), &json!(1)));
            assert!(event["seq"].is_null(), "{event}");
            said.extend(
                event["lines"].as_array().unwrap().iter().map(|line| line.as_str().unwrap().to_owned()),
            );
        }
    }
    live.ended().expect(0);
    assert!(said.iter().any(|line| line.starts_with("[error] Exit code 2")), "{said:?}");
    assert!(!said.iter().any(|line| line.contains(CANARY)), "{said:?}");
    let events = deaf.until("parallel_complete");
    assert!(events.iter().all(|event| event["type"] != "agent_output"));
}
