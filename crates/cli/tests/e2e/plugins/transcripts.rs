//! The transcripts of docs/plugins.md, replayed: what it says goes over the wire is what does.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use serde_json::Value;

use super::{has, script};
use crate::harness::{World, skipped};
use crate::repository::{conductor, repository};

/// Stands for what is different each time.
const ANY: &str = "…";

/// Each transcript by its kind: lines, and whether the plugin says them.
fn transcripts() -> BTreeMap<String, Vec<(bool, Value)>> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/plugins.md");
    let text = fs::read_to_string(path).unwrap();
    let mut found: BTreeMap<String, Vec<(bool, Value)>> = BTreeMap::new();
    let mut kind = None;
    for line in text.lines() {
        if let Some(named) = line.strip_prefix("```transcript ") {
            kind = Some(named.to_owned());
        } else if line.starts_with("```") {
            kind = None;
        } else if let Some(kind) = &kind {
            let (who, said) = line.split_at(2);
            let said = serde_json::from_str(said).unwrap_or_else(|error| panic!("{error}: {line}"));
            found.entry(kind.clone()).or_default().push((who == "< ", said));
        }
    }
    found
}

/// A plugin that says its lines when those before them are over, and writes down what it was told.
fn player(world: &World, kind: &str, lines: &[(bool, Value)]) {
    let mut text = "#!/bin/sh\n".to_owned();
    if kind == "agent" {
        text += "echo x > api.txt\n";
    }
    for (own, said) in lines {
        text += &match own {
            true => format!("cat <<'LINE'\n{said}\nLINE\n"),
            false => format!("read -r line; printf '%s\\n' \"$line\" >> {}\n", world.path("told").display()),
        };
    }
    script(&world.home().join(format!("plugins/conductor-{kind}-played")), &text);
}

/// Whether what was told is what the transcript says, with the same keys in the same order.
#[track_caller]
fn same(told: &Value, said: &Value) {
    match (told, said) {
        (_, Value::String(any)) if any == ANY => {}
        (Value::Object(told), Value::Object(said)) => {
            assert_eq!(told.keys().collect::<Vec<_>>(), said.keys().collect::<Vec<_>>());
            told.iter().zip(said).for_each(|((_, told), (_, said))| same(told, said));
        }
        _ => assert_eq!(told, said),
    }
}

#[track_caller]
fn told_as_written(world: &World, lines: &[(bool, Value)]) {
    let told: Vec<Value> =
        world.read("told").lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let said: Vec<&Value> = lines.iter().filter(|(own, _)| !own).map(|(_, said)| said).collect();
    assert_eq!(told.len(), said.len());
    told.iter().zip(said).for_each(|(told, said)| same(told, said));
}

#[test]
fn the_transcripts_of_the_document_are_true() {
    let all = transcripts();
    assert_eq!(all.keys().collect::<Vec<_>>(), ["agent", "importer", "notifier", "verifier"]);

    let world = repository(
        "tasks: [{ id: api, run: 'mkdir src; touch src/a.py', verify: ['plugin:played --strict'] }]",
    );
    player(&world, "verifier", &all["verifier"]);
    conductor(&world, &["run", "../tasks.yaml"]).expect(0);
    told_as_written(&world, &all["verifier"]);
    let found = &world.summary()["results"][0]["findings"];
    assert_eq!(
        (found[0]["file"].as_str(), found[0]["line"].as_u64(), found.as_array().unwrap().len()),
        (Some("src/a.py"), Some(3), 2),
        "{found}"
    );

    let world = World::in_place(
        "tasks: [{ id: api, run: exit 3, retry_policy: { max_attempts: 1 } }]\n\
         notifications: { on_failure: { type: plugin, name: played, message: '{task_id} failed' } }\n",
    );
    player(&world, "notifier", &all["notifier"]);
    world.conductor(&["run", "tasks.yaml"]).expect(100);
    told_as_written(&world, &all["notifier"]);

    let world = World::new();
    player(&world, "importer", &all["importer"]);
    let told = world.conductor(&["import", "plugin", "played", "--", "--sprint", "7"]).expect(0);
    told.says("1 of 2 is done").says("1 issue");
    told_as_written(&world, &all["importer"]);
    assert!(world.read("tasks.yaml").contains("With tests."));

    let world = repository("tasks: [{ id: api, prompt: Write it, agent: played }]");
    player(&world, "agent", &all["agent"]);
    conductor(&world, &["run", "../tasks.yaml"]).expect(0);
    told_as_written(&world, &all["agent"]);
}

/// The same lines, told to a plugin as `plugin new` writes it: it answers as the document has it.
#[test]
fn a_new_plugin_answers_the_requests_of_the_document() {
    if !has("python3") {
        return skipped("python3 is not here");
    }
    for (kind, lines) in transcripts() {
        let world = World::new();
        let plugin = super::made(&world, &kind, "python");
        let here = world.path("").display().to_string();
        let requests: String = lines
            .iter()
            .filter(|(own, _)| !own)
            .map(|(_, said)| said.to_string().replace(ANY, &here) + "\n")
            .collect();
        fs::write(world.path("requests"), requests).unwrap();
        let output = world
            .command_of(plugin.to_str().unwrap())
            .stdin(fs::File::open(world.path("requests")).unwrap())
            .output()
            .unwrap();
        let said: Vec<Value> = String::from_utf8(output.stdout)
            .unwrap()
            .lines()
            .map(|line| serde_json::from_str(line).unwrap())
            .collect();
        assert_eq!(said[0]["type"], "hello", "{kind}");
        let last = if kind == "agent" { "result" } else { "done" };
        assert_eq!(said.last().unwrap()["type"], last, "{kind}: {said:?}");
        assert!(output.status.success());
    }
}
