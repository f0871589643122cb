//! `conductor agents`: the list of agents, and a test that really starts them.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use conductor_testkit::agents::{Agent, Lodging, or_skip};
use conductor_testkit::{Script, StandIn};
use serde_json::Value;

use crate::harness::World;

/// A world with these programs on its path.
fn world(programs: &[(&str, &str)]) -> World {
    let mut world = World::new();
    for (name, text) in programs {
        world.write(name, text);
        fs::set_permissions(world.path(name), fs::Permissions::from_mode(0o755)).unwrap();
    }
    let path = format!("{}:/usr/bin:/bin", world.path("").display());
    world.set("PATH", path);
    world.set("TMPDIR", world.root().join("user"));
    world
}

fn of<'a>(listing: &'a Value, name: &str) -> &'a Value {
    listing["agents"].as_array().unwrap().iter().find(|agent| agent["name"] == name).unwrap()
}

/// Does the task: the word and the file are in its prompt.
const OBEDIENT: &str = r#"#!/bin/sh
read -r task
word=$(printf '%s' "$task" | sed 's/.*Write the word \([a-z]*\) into.*/\1/')
echo "$word" > conductor-test.txt
echo '{"type":"usage","model":"claude-opus-5-5","input":1000,"output":10,"turns":1}'
echo '{"type":"result","ok":true,"text":"written"}'
"#;

#[test]
fn every_agent_is_listed_with_what_costs_nothing_to_find_out() {
    let mut world = world(&[
        ("claude", "#!/bin/sh\n[ -z \"$ANTHROPIC_API_KEY\" ] && echo '2.1.325 (Claude Code)'\n"),
        ("codex", "#!/bin/sh\nsleep 60\n"),
        ("conductor-agent-mine", OBEDIENT),
        ("tool", "#!/bin/sh\n"),
        (
            "tasks.yaml",
            "config: { agents: { tool: { command: [tool, '{model}'] } } }\ntasks: [{ id: a, run: x }]\n",
        ),
    ]);
    world.set("ANTHROPIC_API_KEY", "a-key-that-is-not-shown");
    fs::create_dir(world.root().join("user/.codex")).unwrap();
    fs::write(world.root().join("user/.codex/auth.json"), "{}").unwrap();
    let begun = std::time::Instant::now();
    let ended = world.conductor(&["agents", "list", "--json", "--file", "tasks.yaml"]).expect(0);
    assert!(begun.elapsed().as_secs() < 30, "one that never answers is not waited for");
    assert!(!ended.stdout.contains("a-key-that-is-not-shown"));
    let listing = ended.json();
    let names: Vec<&str> =
        listing["agents"].as_array().unwrap().iter().map(|agent| agent["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["tool", "claude", "codex", "gemini", "opencode", "mine"]);
    let claude = of(&listing, "claude");
    assert_eq!(claude["version"], "2.1.325 (Claude Code)");
    assert_eq!((&claude["login"], &claude["login_by"]), (&"yes".into(), &"ANTHROPIC_API_KEY".into()));
    assert_eq!(claude["path"].as_str(), world.path("claude").to_str());
    assert_eq!(claude["abilities"]["asks"], true);
    let codex = of(&listing, "codex");
    assert_eq!((&codex["login"], &codex["version"]), (&"yes".into(), &Value::Null));
    assert!(codex["login_by"].as_str().unwrap().ends_with(".codex/auth.json"));
    let gemini = of(&listing, "gemini");
    assert_eq!((&gemini["login"], &gemini["path"]), (&"no".into(), &Value::Null));
    assert_eq!(
        (&of(&listing, "mine")["kind"], &of(&listing, "mine")["login"]),
        (&"plugin".into(), &"unknown".into())
    );
    assert_eq!(of(&listing, "tool")["abilities"]["chooses_model"], true);
    world.conductor(&["agents", "list"]).expect(0).says("gemini is not installed");
}

#[test]
fn a_test_tells_who_works_who_failed_and_who_is_not_there() {
    let world = world(&[
        ("conductor-agent-good", OBEDIENT),
        (
            "conductor-agent-liar",
            "#!/bin/sh\nread -r task\necho x > other\necho '{\"type\":\"result\",\"ok\":true}'\n",
        ),
        (
            "conductor-agent-stranger",
            "#!/bin/sh\nread -r task\necho '{\"type\":\"result\",\"ok\":false,\"class\":\"unauthorized\",\"text\":\"no key\"}'\n",
        ),
    ]);
    let verdicts = |args: &[&str], code: i32| {
        let ended = world.conductor(&[&["agents", "test", "--json"], args].concat()).expect(code);
        let report = ended.json();
        report["results"].as_array().unwrap().clone()
    };
    let good = verdicts(&["good"], 0);
    assert_eq!((&good[0]["verdict"], &good[0]["tokens"]), (&"works".into(), &1010.into()));
    assert_eq!(good[0]["cost_usd"], 0.0042);
    let liar = verdicts(&["good", "liar"], 100);
    assert_eq!((&liar[0]["verdict"], &liar[1]["verdict"]), (&"works".into(), &"failed".into()));
    assert!(liar[1]["message"].as_str().unwrap().contains("conductor-test.txt"), "{liar:?}");
    let missing = verdicts(&["liar", "absent"], 7);
    assert_eq!(missing[1]["verdict"], "missing");
    let all = verdicts(&[], 7);
    let told: Vec<(&str, &str)> =
        all.iter().map(|one| (one["agent"].as_str().unwrap(), one["verdict"].as_str().unwrap())).collect();
    assert_eq!(told, [("good", "works"), ("liar", "failed"), ("stranger", "not_logged_in")]);
    assert_eq!(world.runs(), [""; 0], "nothing of it is kept");
    let left = fs::read_dir(world.root().join("user"))
        .unwrap()
        .flatten()
        .filter(|entry| entry.file_name().to_string_lossy().starts_with("conductor-test"));
    assert_eq!(left.count(), 0);
}

/// The real Claude Code put to the test, with a model that follows a script.
fn claude_tested(script: Script, code: i32) -> Option<Value> {
    let bin = or_skip(Agent::Claude)?;
    let stand_in = StandIn::start_blocking().unwrap();
    let mut world = World::new();
    let home = world.root().join("user");
    let base_url = stand_in.base_url("trial");
    let lodging = Lodging { bin: &bin, home: &home, base_url: &base_url, retries: 1 };
    for (name, value) in lodging.furnish(Agent::Claude).unwrap() {
        world.set(name, value);
    }
    stand_in.script("trial", script);
    let args = ["agents", "test", "claude", "--json", "--model", "claude-opus-5-5"];
    let result = world.conductor(&args).expect(code).json()["results"][0].clone();
    let (tokens, cost) = (result["tokens"].as_u64().unwrap(), result["cost_usd"].as_f64().unwrap());
    assert!(tokens > 0 && cost > 0.0 && result["seconds"].as_f64().unwrap() > 0.0, "{result}");
    Some(result)
}

/// No script can know the word, but it stands in what claude notes of its own conversation.
#[test]
fn the_real_claude_passes_when_it_writes_the_word() {
    let read = r#"grep -rhoE 'Write the word [a-z]+ into' "${CLAUDE_CONFIG_DIR:-$HOME/.claude}/projects" | head -1 | cut -d' ' -f4 > conductor-test.txt"#;
    let Some(result) = claude_tested(Script::new().run(read).finish("Written."), 0) else { return };
    assert_eq!((&result["verdict"], &result["message"]), (&"works".into(), &Value::Null));
}

#[test]
fn the_real_claude_is_found_out_when_it_writes_another_word() {
    let script = Script::new().write_file("conductor-test.txt", "another").finish("Written.");
    let Some(result) = claude_tested(script, 100) else { return };
    assert_eq!(result["verdict"], "failed", "{result}");
    assert!(result["message"].as_str().unwrap().contains("conductor-test.txt"), "{result}");
}
