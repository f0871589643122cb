//! Secrets of every kind, in every way they can be written, and none readable in what is carried to another machine: logs,
//! transcripts, sessions, what a project has taught. The value is one that nothing knew as a secret while the run went on.

use crate::canaries::{LEAKY, PASSED, canary, disguised, encoded, found, install, read};
use crate::harness::World;
use crate::repository::conductor;
use crate::sync::{Machines, contents};

const TASKS: &str = "
config: { retry_policy: { max_attempts: 1 } }
tasks:
  - { id: says, name: 'with VALUE', run: 'cat HERE/said; cat HERE/said >&2' }
  - { id: fails, run: 'cat HERE/said >&2; exit 3' }
  - { id: checked, run: 'echo 1 > c.txt', verify: ['cat HERE/said; false'], fix_rounds: 1 }
  - { id: agent, prompt: 'Do it with VALUE', agent: leaky }
";

const ALL: [&str; 4] = ["says", "fails", "checked", "agent"];

/// What nothing on the way may show.
fn secrets() -> Vec<(&'static str, String)> {
    let mut all: Vec<(&str, String)> = (0..12).map(|place| ("said", canary(place))).collect();
    all.push(("a value", PASSED.to_owned()));
    all.extend(encoded(PASSED).into_iter().map(|value| ("an encoded value", value[4..28].to_owned())));
    all
}

/// Has all of it said by tasks and by an agent, and taught.
fn leak(world: &mut World) {
    install(world, &[("leaky", LEAKY)]);
    let said: Vec<String> = (0..12).flat_map(|place| disguised(&canary(place))).collect();
    let known = disguised(PASSED).into_iter().chain(encoded(PASSED));
    let said = said.into_iter().chain(known).collect::<Vec<_>>().join("\n") + "\n";
    world.write("said", &said);
    let line = |text: &str| serde_json::json!({ "type": "text", "text": text }).to_string();
    let mut lines: Vec<String> = said.lines().map(line).collect();
    lines.insert(0, serde_json::json!({ "type": "session", "id": format!("talk-{PASSED}") }).to_string());
    lines.push(
        serde_json::json!({ "type": "result", "ok": false, "class": "rejected", "text": PASSED }).to_string(),
    );
    world.write("lines", &(lines.join("\n") + "\n"));
    conductor(world, &["run", "../tasks.yaml", "-q"]).expect(100);
    for claim in ["Run the tests with --locked.".to_owned(), format!("The password is {PASSED}.")] {
        conductor(world, &["expertise", "add", &claim]).expect(0);
    }
    conductor(world, &["expertise", "add", &format!("The token is {}.", canary(0))]);
}

#[test]
fn no_canary_can_be_read_in_what_is_carried() {
    let mut machines = Machines::with(&TASKS.replace("VALUE", PASSED));
    leak(&mut machines.a);
    machines.a.set("DATABASE_PASSWORD", PASSED);
    let Machines { a, b } = &machines;
    let remote = machines.remote();
    let plain = ["sync", "push", "--to", &remote, "--plain", "--transcripts", "--yes"];
    conductor(a, &plain).expect(0).says("secrets removed");
    let there = contents(&remote);
    let texts = read(&there);
    for words in
        ["transcript.log", "sessions.jsonl", "run_finished", "Run the tests with --locked", "KEY=****"]
    {
        assert!(texts.iter().any(|text| text.contains(words)), "{words} is there");
    }
    let seen: Vec<String> = secrets()
        .into_iter()
        .filter(|(_, secret)| texts.iter().any(|text| text.contains(secret.as_str())))
        .map(|(name, secret)| format!("{name} ({secret})"))
        .collect();
    assert_eq!(seen, [""; 0], "at the remote");

    machines.share(&remote);
    conductor(a, &["sync", "push", "--transcripts", "--yes"]).expect(0);
    let pulled = conductor(b, &["sync", "pull", "--yes"]).expect(0);
    assert_eq!(found(b, &ALL, &pulled, &secrets()), [""; 0], "on the other machine");
    conductor(b, &["expertise", "list"]).expect(0).says("--locked");
}
