//! `conductor mcp`: a run from its start to its end by tools alone.

use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Child, ChildStdin, ChildStdout, Stdio};

use serde_json::{Value, json};

use crate::harness::{World, wait_for};
use crate::repository;

const TASKS: &str = "
tasks:
  - { id: first, run: AGENT say hello then await go }
  - { id: second, run: 'true', dependencies: [first] }
";

struct Client {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    number: u64,
}

impl Client {
    fn start(world: &World) -> Client {
        Client::start_in(world, "")
    }

    fn start_in(world: &World, folder: &str) -> Client {
        let mut command = world.command(&["mcp"]);
        command.current_dir(world.path(folder));
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let (input, output) = (child.stdin.take().unwrap(), BufReader::new(child.stdout.take().unwrap()));
        let mut client = Client { child, input, output, number: 0 };
        let us = json!({ "name": "test", "version": "1" });
        let told = client.request(
            "initialize",
            json!({ "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": us }),
        );
        assert_eq!(told["result"]["serverInfo"]["name"], "conductor", "{told}");
        client.send(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }));
        client
    }

    fn send(&mut self, message: &Value) {
        writeln!(self.input, "{message}").unwrap();
    }

    fn request(&mut self, method: &str, params: Value) -> Value {
        self.number += 1;
        self.send(&json!({ "jsonrpc": "2.0", "id": self.number, "method": method, "params": params }));
        loop {
            let mut line = String::new();
            assert_ne!(self.output.read_line(&mut line).unwrap(), 0, "it has gone");
            let message: Value = serde_json::from_str(&line).unwrap();
            if message["id"] == self.number {
                return message;
            }
        }
    }

    /// What a tool answers, and whether that is an error.
    fn call(&mut self, tool: &str, given: Value) -> (String, bool) {
        let told = self.request("tools/call", json!({ "name": tool, "arguments": given }));
        let text = told["result"]["content"][0]["text"].as_str().unwrap_or_default().to_owned();
        (text, told["result"]["isError"] == true)
    }

    fn leave(mut self) {
        drop(self.input);
        assert!(self.child.wait().unwrap().success());
    }
}

#[test]
fn a_run_is_started_looked_at_and_cancelled_by_tools() {
    let world = World::with(TASKS);
    let mut client = Client::start(&world);
    let tools = client.request("tools/list", json!({}));
    let names: Vec<&str> = tools["result"]["tools"]
        .as_array()
        .unwrap()
        .iter()
        .map(|tool| tool["name"].as_str().unwrap())
        .collect();
    let known = [
        "plan", "validate", "start", "status", "logs", "answer", "cancel", "wait", "diff", "retry", "resume",
        "report",
    ];
    assert_eq!(names, known);
    let (told, bad) = client.call("start", json!({ "file": "tasks.yaml", "parallel": 2 }));
    assert!(bad && told.contains("that this project does not use yet") && told.contains("hello"), "{told}");
    assert!(world.runs().is_empty(), "nothing is run that no person has seen");
    let allowed = json!({ "file": "tasks.yaml", "parallel": 2, "allow_commands": true });
    let (told, bad) = client.call("start", allowed);
    assert!(!bad, "{told}");
    let run = serde_json::from_str::<Value>(&told).unwrap()["run"].as_str().unwrap().to_owned();
    let status = wait_for("it to be at work", || {
        let (told, bad) = client.call("status", json!({ "run": run }));
        let status: Value = serde_json::from_str(&told).unwrap();
        (!bad && status["running"][0]["task"] == "first").then_some(status)
    });
    assert_eq!(status["counts"]["pending"], 1);
    wait_for("its words", || {
        client.call("logs", json!({ "task": "first" })).0.contains("hello").then_some(())
    });
    let (told, bad) = client.call("cancel", json!({}));
    assert!(!bad, "{told}");
    wait_for("its end", || {
        let (told, _) = client.call("status", json!({ "run": run }));
        told.contains("\"live\": false").then_some(())
    });
    client.leave();
    assert!(world.statuses().values().all(|status| status == "cancelled"), "{:?}", world.statuses());
}

#[test]
fn mistakes_are_told_and_end_nothing() {
    let world = World::with("tasks: [{ id: a, run: 'true', dependencies: [b] }]\n");
    let mut client = Client::start(&world);
    for (tool, given, word) in [
        ("start", json!({ "file": "tasks.yaml" }), "'b', which does not exist"),
        ("validate", json!({ "file": "tasks.yaml" }), "unknown-dependency"),
        ("validate", json!({ "file": "--help" }), "cannot read --help"),
        ("validate", json!({}), "'file' is missing"),
        ("validate", json!({ "file": "tasks.yaml", "mode": 1 }), "takes no 'mode'"),
        ("status", json!({}), "nothing has been run here yet"),
        ("answer", json!({ "task": "a", "allow": "yes" }), "true or false"),
        ("reboot", json!({}), "no tool 'reboot'"),
    ] {
        let (told, bad) = client.call(tool, given);
        assert!(bad && told.contains(word), "{tool}: {told}");
    }
    client.leave();
    assert!(world.runs().is_empty());
}

#[test]
fn a_request_that_is_too_large_is_answered_with_an_error_and_the_next_is_served() {
    let world = World::with(TASKS);
    let mut client = Client::start(&world);
    let large = "x".repeat(50 << 20);
    // Where the number stands in the message is the client's to choose: ours comes first, this one last.
    for last in [false, true] {
        client.number += 1;
        let number = client.number;
        let params = format!(r#"{{"name":"plan","arguments":{{"requirements":"{large}"}}}}"#);
        let line = match last {
            false => format!(r#"{{"id":{number},"jsonrpc":"2.0","method":"tools/call","params":{params}}}"#),
            true => format!(r#"{{"jsonrpc":"2.0","method":"tools/call","params":{params},"id":{number}}}"#),
        };
        writeln!(client.input, "{line}").unwrap();
        let mut told = String::new();
        client.output.read_line(&mut told).unwrap();
        let told: Value = serde_json::from_str(&told).unwrap();
        assert_eq!((&told["id"], &told["error"]["code"]), (&json!(number), &json!(-32600)), "{told}");
        assert!(told["error"]["message"].as_str().unwrap().contains("larger than"), "{told}");
    }
    let status = fs::read_to_string(format!("/proc/{}/status", client.child.id())).unwrap();
    let peak = status.lines().find(|line| line.starts_with("VmHWM")).unwrap().to_owned();
    let peak: u64 = peak.split_whitespace().nth(1).unwrap().parse().unwrap();
    assert!(peak < 120 << 10, "the whole request was held: {peak} KiB");
    let (told, bad) = client.call("validate", json!({ "file": "tasks.yaml" }));
    assert!(!bad, "{told}");
    client.leave();
}

#[test]
fn a_run_is_waited_for_looked_into_and_taken_up_again_by_tools() {
    let world = repository::repository(
        "
tasks:
  - { id: made, run: 'echo new > made.txt' }
  - { id: slow, run: 'AGENT touch HERE/begun then await HERE/go' }
  - { id: broken, run: 'test -e HERE/mended' }
",
    );
    let mut client = Client::start_in(&world, "repo");
    let start = json!({ "file": "../tasks.yaml", "parallel": 3, "allow_commands": true });
    let (told, bad) = client.call("start", start);
    assert!(!bad, "{told}");
    let object =
        |told: &str| serde_json::from_str::<Value>(told).unwrap_or_else(|error| panic!("{error}: {told}"));
    let run = object(&told)["run"].as_str().unwrap().to_owned();
    world.wait_for_file("begun");
    let (told, bad) = client.call("wait", json!({ "run": run, "seconds": 0 }));
    assert!(!bad && object(&told)["ended"] == false && object(&told)["exit_code"] == 8, "{told}");
    let (told, bad) = client.call("resume", json!({ "run": run }));
    assert!(bad && told.contains("is not paused"), "{told}");
    world.write("go", "");
    let (told, bad) = client.call("wait", json!({ "run": run }));
    assert!(!bad && object(&told)["ended"] == true && object(&told)["exit_code"] == 100, "{told}");
    let (told, bad) = client.call("diff", json!({ "task": "made" }));
    assert!(!bad && object(&told)["patch"].as_str().unwrap().contains("+new"), "{told}");
    let (told, bad) = client.call("report", json!({ "run": run }));
    assert!(!bad && told.contains("broken") && told.starts_with('#'), "{told}");
    world.write("mended", "");
    let (told, bad) = client.call("retry", json!({ "task": "broken", "run": run }));
    assert!(!bad && object(&told)["action"] == "retry", "{told}");
    let (told, bad) = client.call("resume", json!({ "run": run }));
    assert!(!bad && object(&told)["run"] == run.as_str(), "{told}");
    let (told, bad) = client.call("wait", json!({ "run": run }));
    assert!(!bad && object(&told)["exit_code"] == 0, "{told}");
    client.leave();
}

#[test]
fn the_help_shows_how_each_agent_adds_it() {
    let help = World::new().conductor(&["mcp", "--help"]).expect(0).stdout;
    for line in [
        "claude mcp add conductor -- conductor mcp",
        "codex mcp add conductor -- conductor mcp",
        "gemini mcp add conductor conductor mcp",
        "opencode mcp add conductor -- conductor mcp",
    ] {
        assert!(help.contains(line), "no {line:?} in\n{help}");
    }
}

/// What a model's file would start, hand out or allow is for a person to allow, wherever in the file it stands.
#[test]
fn a_file_that_starts_something_unseen_is_refused_whatever_key_says_so() {
    let world = World::with("");
    let mut client = Client::start(&world);
    for (settings, word) in [
        ("setup: ['touch ran'], prompt: x", "touch"),
        ("measure: { lint: ['touch ran'] }, prompt: x", "touch"),
        ("agent: 'acp:./ran', prompt: x", "acp:"),
        ("fallback_agents: ['acp:./ran'], prompt: x", "acp:"),
        ("review: { agent: 'acp:./ran' }, prompt: x", "acp:"),
        ("env: { LD_PRELOAD: ran }, prompt: x", "LD_PRELOAD"),
        ("permissions: { allow: [WebFetch] }, prompt: x", "WebFetch"),
    ] {
        world.write("tasks.yaml", &format!("tasks: [{{ id: a, {settings} }}]\n"));
        let (told, bad) = client.call("start", json!({ "file": "tasks.yaml" }));
        assert!(
            bad && told.contains("a person has to allow that") && told.contains(word),
            "{settings}: {told}"
        );
    }
    world.write(
        "tasks.yaml",
        "notifications: { on_failure: { type: webhook, url: 'http://127.0.0.1:9/x' } }\ntasks: [{ id: a, prompt: x }]\n",
    );
    let (told, bad) = client.call("start", json!({ "file": "tasks.yaml" }));
    assert!(bad && told.contains("webhook"), "{told}");
    client.leave();
    assert!(world.runs().is_empty() && !world.path("ran").exists());
}

#[test]
fn a_retry_does_not_take_over_a_command_that_no_person_has_seen() {
    let world = World::with("tasks: [{ id: a, run: 'false' }]\n");
    let mut client = Client::start(&world);
    let (told, bad) = client.call("start", json!({ "file": "tasks.yaml", "allow_commands": true }));
    assert!(!bad, "{told}");
    let (told, bad) = client.call("wait", json!({}));
    assert!(!bad && told.contains("100"), "{told}");
    world.write("tasks.yaml", "tasks: [{ id: a, run: 'touch ran' }]\n");
    let (told, bad) = client.call("resume", json!({ "retry_failed": true }));
    assert!(bad && told.contains("a person has to allow that") && told.contains("touch ran"), "{told}");
    assert!(!world.path("ran").exists());
    let (told, bad) = client.call("resume", json!({ "retry_failed": true, "allow_commands": true }));
    assert!(!bad, "{told}");
    let (told, bad) = client.call("wait", json!({}));
    assert!(!bad && told.contains("\"exit_code\": 0"), "{told}");
    assert!(world.path("ran").exists(), "with leave it is done as it is written now");
    client.leave();
}
