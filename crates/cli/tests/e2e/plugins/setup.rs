//! `conductor setup`: what it writes in an agent's configuration, that it can be taken back, and that the real agents read it.

use std::fs;
use std::path::PathBuf;

use conductor_testkit::agents::{Agent, or_skip};
use serde_json::{Value, json};

use crate::harness::World;

/// Below the user's home: the file with the tools, and the skill.
const FILES: [(&str, &str, &str); 4] = [
    ("claude", ".claude.json", ".claude/skills/conductor/SKILL.md"),
    ("codex", ".codex/config.toml", ".codex/skills/conductor/SKILL.md"),
    ("gemini", ".gemini/settings.json", ".gemini/skills/conductor/SKILL.md"),
    ("opencode", ".config/opencode/opencode.json", ".config/opencode/skills/conductor/SKILL.md"),
];

fn in_home(world: &World, file: &str) -> PathBuf {
    world.root().join("user").join(file)
}

#[test]
fn nothing_is_written_unasked_and_everything_is_taken_back() {
    for (agent, tools, skill) in FILES {
        let world = World::new();
        let (tools, skill) = (in_home(&world, tools), in_home(&world, skill));
        let asked = world.conductor(&["setup", agent]).expect(5);
        asked.says("conductor").says("SKILL.md").says("nothing was written");
        assert!(!tools.exists() && !skill.exists());
        world.conductor(&["setup", agent, "--yes"]).expect(0).says("--remove");
        assert!(fs::read_to_string(&tools).unwrap().contains("mcp"), "{agent}");
        assert!(fs::read_to_string(&skill).unwrap().starts_with("---\nname: conductor\n"), "{agent}");
        world.conductor(&["setup", agent]).expect(0).says("already");
        world.conductor(&["setup", agent, "--remove", "--yes"]).expect(0).says("removed");
        assert!(!tools.exists() && !skill.exists(), "{agent}");
        world.conductor(&["setup", agent, "--remove"]).expect(0).says("nothing of conductor");
    }
}

#[test]
fn what_is_there_stays_as_it_is() {
    let world = World::new();
    let file = in_home(&world, ".gemini/settings.json");
    fs::create_dir_all(file.parent().unwrap()).unwrap();
    let before = "{\n    \"theme\": \"dark\",\n    \"mcpServers\": {\n        \"other\": {\n            \"command\": \"x\"\n        }\n    }\n}\n";
    fs::write(&file, before).unwrap();
    world.conductor(&["setup", "gemini", "--yes"]).expect(0);
    let after: Value = serde_json::from_str(&fs::read_to_string(&file).unwrap()).unwrap();
    assert_eq!(
        (&after["theme"], &after["mcpServers"]["other"]),
        (&json!("dark"), &json!({ "command": "x" }))
    );
    assert_eq!(after["mcpServers"]["conductor"]["args"], json!(["mcp"]));
    world.conductor(&["setup", "gemini", "--remove", "--yes"]).expect(0);
    assert_eq!(fs::read_to_string(&file).unwrap(), before);
    // A file that could only be damaged is left alone.
    fs::write(&file, "{ // mine\n}\n").unwrap();
    world
        .conductor(&["setup", "gemini", "--yes"])
        .expect(3)
        .says("is left as it is")
        .says("conductor mcp --help");
    assert!(!in_home(&world, ".gemini/skills/conductor/SKILL.md").exists(), "all or nothing");
}

/// What each agent says of the tools it has, and of its skills where it tells them.
fn questions(agent: Agent) -> &'static [(&'static [&'static str], &'static str)] {
    match agent {
        Agent::Claude => &[(&["mcp", "list"], "conductor:")],
        Agent::Codex => &[(&["mcp", "list"], "conductor")],
        Agent::Gemini => &[(&["mcp", "list"], "conductor:"), (&["skills", "list"], "conductor")],
        Agent::Opencode => {
            &[(&["mcp", "list"], "conductor"), (&["debug", "skill"], "\"name\": \"conductor\"")]
        }
    }
}

#[test]
fn the_real_agents_find_it() {
    for agent in [Agent::Claude, Agent::Codex, Agent::Gemini, Agent::Opencode] {
        let Some(folder) = or_skip(agent) else { continue };
        let mut world = World::new();
        let path = format!("{}:{}", folder.display(), world.variable("PATH").to_str().unwrap());
        world.set("PATH", path);
        for (name, value) in [
            ("ANTHROPIC_API_KEY", "sk-ant-dummy"),
            ("GEMINI_API_KEY", "dummy"),
            ("ANTHROPIC_BASE_URL", "http://127.0.0.1:9"),
            ("GOOGLE_GEMINI_BASE_URL", "http://127.0.0.1:9"),
            ("OPENAI_BASE_URL", "http://127.0.0.1:9"),
            ("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1"),
            ("DISABLE_AUTOUPDATER", "1"),
            ("OPENCODE_DISABLE_MODELS_FETCH", "1"),
            ("OPENCODE_DISABLE_AUTOUPDATE", "1"),
        ] {
            world.set(name, value);
        }
        world.conductor(&["setup", agent.program(), "--yes"]).expect(0);
        for (words, told) in questions(agent) {
            let answer = |world: &World| {
                let mut command = world.command_of(agent.program());
                let output = command.args(*words).output().unwrap();
                String::from_utf8_lossy(&output.stdout).into_owned()
                    + &String::from_utf8_lossy(&output.stderr)
            };
            let said = answer(&world);
            assert!(said.contains(told), "{} {words:?}: {said}", agent.program());
        }
        world.conductor(&["setup", agent.program(), "--remove", "--yes"]).expect(0);
    }
}
