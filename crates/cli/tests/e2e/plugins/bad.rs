//! Twelve plugins that break the contract, each in its own way. None of them costs more than what it was asked for.

use std::time::{Duration, Instant};

use super::{hello, script};
use crate::harness::{World, expect_no_leftovers};
use crate::repository::{conductor, repository};

/// What it does, as a shell's script after its first line, and what is said of it. `HELLO` is a good one.
const BAD: [(&str, &str, &str); 12] = [
    ("hangs", "sleep 600", "said no hello"),
    ("says nothing and ends", "exit 0", "ended before it was done"),
    ("crashes", "HELLO read -r line; echo oh no >&2; kill -9 $$", "ended before it was done"),
    ("floods", "HELLO read -r line; yes '{\"type\":\"note\"}'", "within"),
    (
        "writes a line without end",
        "HELLO read -r line; head -c 1000000000 /dev/zero | tr '\\000' x",
        "a line of more than 1048576 bytes",
    ),
    ("writes what is no message", "HELLO read -r line; echo ready", "what is no message: ready"),
    (
        "speaks another protocol",
        "echo '{\"type\":\"hello\",\"protocol\":7,\"version\":\"1.0\",\"capabilities\":[\"verifier\"]}'; cat",
        "speaks protocol 7, and this is 1",
    ),
    (
        "lies about its version",
        "echo '{\"type\":\"hello\",\"protocol\":1,\"version\":\"newest!\",\"capabilities\":[\"verifier\"]}'; cat",
        "a version that is none",
    ),
    (
        "is of another kind",
        "echo '{\"type\":\"hello\",\"protocol\":1,\"version\":\"1.0\",\"capabilities\":[\"notifier\"]}'; cat",
        "can notifier, and not verifier",
    ),
    ("closes its output and stays", "HELLO exec >&-; sleep 600", "ended before it was done"),
    (
        "never says that it is done",
        "HELLO while read -r line; do echo '{\"type\":\"finding\",\"level\":\"note\",\"message\":\"x\"}'; done",
        "did not answer within",
    ),
    (
        "begins a line and stops",
        "HELLO read -r line; printf '{\"type\":\"do'; sleep 600",
        "did not answer within",
    ),
];

fn bad(world: &World, body: &str) {
    let text = format!("#!/bin/sh\n{}\n", body.replace("HELLO", &hello("verifier")));
    script(&world.home().join("plugins/conductor-verifier-bad"), &text);
}

#[test]
fn the_contract_finds_each_of_them() {
    for (what, body, told) in BAD {
        let world = World::new();
        bad(&world, body);
        let begun = Instant::now();
        let args = ["plugin", "test", "bad", "--timeout", "1s", "--json"];
        let tested = world.start(&args).ended_within(Duration::from_secs(80)).expect(100).json();
        assert_eq!(tested["passed"], false, "{what}");
        let whys = tested["cases"].as_array().unwrap().iter().filter_map(|case| case["why"].as_str());
        let whys: Vec<&str> = whys.collect();
        assert!(whys.iter().any(|why| why.contains(told)), "{what}: {whys:#?} after {:?}", begun.elapsed());
    }
}

/// In a run its own task fails, in time, and the others do not notice.
#[test]
fn a_bad_verifier_costs_its_own_task() {
    for (what, body, told) in BAD {
        let world = repository(
            "tasks:\n\
             - { id: checked, run: 'echo x > x.txt', timeout: 8, verify: ['plugin:bad'] }\n\
             - { id: other, run: 'echo y > y.txt' }\n",
        );
        bad(&world, body);
        let ended = conductor(&world, &["run", "../tasks.yaml", "-p", "2"]);
        assert_eq!(ended.code, Some(100), "{what}: {}", ended.stderr);
        let statuses = world.statuses();
        assert_eq!(
            (statuses["checked"].as_str(), statuses["other"].as_str()),
            ("failed", "completed"),
            "{what}"
        );
        let transcript = String::from_utf8_lossy(&world.transcript("checked")).into_owned();
        // One that never comes to an end is ended by its task's own time.
        let in_time = ["floods", "never says that it is done", "begins a line and stops"].contains(&what);
        assert!(in_time || transcript.contains(told), "{what}: {transcript}");
        expect_no_leftovers(&world.run_id());
        assert!(
            std::fs::metadata(world.transcripts("checked")[0].clone()).unwrap().len() < 10_000_000,
            "{what}"
        );
    }
}

/// No agent is paid for work that could never be checked.
#[test]
fn a_verifier_that_cannot_be_used_is_found_out_before_an_agent_starts() {
    for what in ["speaks another protocol", "is of another kind"] {
        let (_, body, told) = BAD.into_iter().find(|(name, ..)| *name == what).unwrap();
        let world = repository("tasks: [{ id: a, prompt: x, agent: new, verify: ['plugin:bad'] }]");
        bad(&world, body);
        let agent = format!("#!/bin/sh\ntouch {}\n", world.path("paid").display());
        script(&world.home().join("plugins/conductor-agent-new"), &agent);
        conductor(&world, &["run", "../tasks.yaml"])
            .expect(100)
            .says("`plugin:bad` cannot be started, and it is what checks the work: conductor-verifier-bad")
            .says(told);
        assert!(!world.path("paid").exists(), "{told}");
    }
}

/// A notifier that is bad is told of once; the run itself is as good as ever.
#[test]
fn a_bad_notifier_costs_its_notifications() {
    for body in
        ["sleep 600", "HELLO read -r line; head -c 1000000000 /dev/zero | tr '\\000' x", "HELLO exit 3"]
    {
        let world = World::in_place(
            "tasks: [{ id: a, run: 'true' }, { id: b, run: 'true' }]\n\
             notifications: { on_complete: { type: plugin, name: bad, message: '{task_id}' } }\n",
        );
        let text = format!("#!/bin/sh\n{}\n", body.replace("HELLO", &hello("notifier")));
        script(&world.home().join("plugins/conductor-notifier-bad"), &text);
        let begun = Instant::now();
        let ended = world.conductor(&["run", "tasks.yaml"]).expect(0);
        assert!(begun.elapsed() < Duration::from_secs(20), "{body}: {:?}", begun.elapsed());
        assert_eq!(ended.stderr.matches("is not asked again").count(), 1, "{body}: {}", ended.stderr);
    }
}

/// An agent of another protocol fails its own attempt, by name.
#[test]
fn an_agent_of_another_protocol_is_refused_by_name() {
    let world = repository("tasks: [{ id: a, prompt: x, agent: new }, { id: b, run: 'echo y > y.txt' }]");
    let text = "#!/bin/sh\necho '{\"type\":\"hello\",\"protocol\":2,\"version\":\"2.0\",\"capabilities\":[\"agent\"]}'\nread -r task\necho x > x.txt\n\
                echo '{\"type\":\"result\",\"ok\":true}'\n";
    script(&world.home().join("plugins/conductor-agent-new"), text);
    conductor(&world, &["run", "../tasks.yaml"])
        .expect(100)
        .says("conductor-agent-new speaks protocol 2, and this is 1");
    assert_eq!(world.statuses()["b"], "completed");
}
