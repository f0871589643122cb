//! Specialists, skills and models: which prompt and which model an agent really gets.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use conductor_testkit::agents::{Agent, Lodging, or_skip};
use conductor_testkit::{Script, StandIn};

use crate::harness::World;
use crate::repository::{conductor, expect_tidy, git, on_branch, repository, start};

/// A repository with these files beside its first.
fn with_files(tasks: &str, files: &[(&str, &str)]) -> World {
    let world = repository(tasks);
    for (name, text) in files {
        let path = world.path("repo").join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    git(&world, &["add", "."]);
    git(&world, &["commit", "-q", "--allow-empty", "-m", "files"]);
    world
}

/// An agent that keeps its prompt for the test to read.
pub(crate) fn with_scribe(mut world: World) -> World {
    let bin = world.root().join("bin");
    fs::create_dir_all(&bin).unwrap();
    let program = bin.join("conductor-agent-scribe");
    let script = "#!/bin/sh\nread -r task\nprintf '%s' \"$task\" > told-$CONDUCTOR_TASK.json\n\
        echo '{\"type\":\"result\",\"ok\":true,\"text\":\"kept\"}'\n";
    fs::write(&program, script).unwrap();
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    let path = std::env::var("PATH").unwrap();
    world.set("PATH", format!("{}:{path}", bin.display()));
    world
}

fn told(world: &World) -> serde_json::Value {
    serde_json::from_str(&on_branch(world, "told-a.json")).unwrap()
}

const GIZMO: (&str, &str) = (
    ".claude/agents/gizmo.md",
    "---\nname: gizmo-expert\ndescription: Knows: gizmos\nmodel: haiku\nwords: [gizmo]\n---\nCount the gizmos twice.\n",
);
const SKILL: (&str, &str) = (
    ".claude/skills/plan-it/SKILL.md",
    "---\nname: plan-it\ndescription: Plans\n---\n[[script:skill]] Plan this: $ARGUMENTS\n",
);

/// The instructions are in the system prompt, the model is the specialist's, the skill runs first in the same
/// workspace, and its answer is in the prompt.
#[test]
fn a_real_agent_hears_its_specialist_and_runs_the_skill_before_the_work() {
    let Some(bin) = or_skip(Agent::Claude) else { return };
    let tasks = "tasks: [{ id: a, prompt: '[[script:work]] Build the gizmo', applicable_skills: [plan-it, no-such] }]";
    let stand_in = StandIn::start_blocking().unwrap();
    let mut world = with_files(tasks, &[GIZMO, SKILL]);
    let home = world.root().join("user");
    let base_url = stand_in.base_url("none");
    let lodging = Lodging { bin: &bin, home: &home, base_url: &base_url, retries: 1 };
    for (name, value) in lodging.furnish(Agent::Claude).unwrap() {
        world.set(name, value);
    }
    stand_in.script("skill", Script::new().write_file("plan.txt", "first\n").finish("Use the blue one."));
    stand_in.script("work", Script::new().write_file("gizmo.txt", "blue\n").finish("Built."));
    let live = start(&world, &[]);
    live.ended().expect(0).says("1 of 1 completed");
    assert_eq!(
        (on_branch(&world, "plan.txt"), on_branch(&world, "gizmo.txt")),
        ("first".into(), "blue".into())
    );
    let (skill, work) = (stand_in.requests("skill"), stand_in.requests("work"));
    assert!(!skill.is_empty() && skill.last().unwrap().number < work[0].number, "the skill goes first");
    let body = work[0].body.as_deref().unwrap();
    for words in ["Count the gizmos twice.", "Use the blue one.", "## plan-it"] {
        assert!(body.contains(words), "{words}: {body}");
    }
    assert!(work[0].model.contains("haiku"), "{}", work[0].model);
    let transcript = String::from_utf8(world.transcript("a")).unwrap();
    assert!(transcript.contains("[conductor: skill plan-it]"), "{transcript}");
    assert!(transcript.contains("there is no skill 'no-such'"), "{transcript}");
    let spent = |job: &str| stand_in.requests(job).len();
    assert!(world.summary()["cost_usd"].as_f64().unwrap() > 0.0 && spent("skill") > 0);
    expect_tidy(&world);
}

#[test]
fn an_agent_without_specialists_and_skills_gets_them_as_text() {
    let tasks = "tasks: [{ id: a, agent: scribe, prompt: Build the gizmo, applicable_skills: [plan-it] }]";
    let world = with_scribe(with_files(tasks, &[GIZMO, SKILL]));
    conductor(&world, &["run", "../tasks.yaml"]).expect(0);
    let told = told(&world);
    let words = told["words"].as_str().unwrap();
    assert!(words.starts_with("You work as gizmo-expert. Count the gizmos twice."), "{words}");
    assert!(words.contains("Plan this: Build the gizmo"), "{words}");
    assert_eq!(told["model"], serde_json::Value::Null, "the agent has no model for the tier small");
}

#[test]
fn a_specialist_that_is_not_there_is_found_out_before_anything_starts() {
    let tasks = "tasks: [{ id: a, prompt: x, subagent_type: gizmo-expart }]";
    let world = with_files(tasks, &[GIZMO]);
    for verb in ["validate", "run"] {
        let ended = conductor(&world, &[verb, "../tasks.yaml"]).expect(3);
        assert!(ended.stderr.contains("did you mean 'gizmo-expert'?"), "{}", ended.stderr);
    }
    assert!(world.runs().is_empty());
}

/// Since the small model failed in the first run, the second run begins with a better one.
#[test]
fn models_are_chosen_where_the_file_asks_and_former_runs_teach() {
    let tasks = r#"
config:
  models: { tiers: { scribe: { small: tiny, medium: middling, large: huge } } }
  agent: scribe
  retry_policy: { max_attempts: 2, initial_delay: 0 }
  verify: ["grep -q '\"model\":\"middling' told-$CONDUCTOR_TASK.json"]
  fix_rounds: 0
tasks:
  - { id: a, prompt: Say hello }
  - { id: b, prompt: Say hello }
  - { id: c, prompt: Say hello }
  - { id: named, prompt: Say hello, model: middling-2 }
"#;
    let world = with_scribe(with_files(tasks, &[]));
    conductor(&world, &["run", "../tasks.yaml"]).expect(0);
    let agent_choice = |run: &str| {
        let query = format!(
            "SELECT json_extract(body, '$.attempt_started.hand.model') FROM events \
             WHERE run = (SELECT key FROM runs WHERE id = '{run}') AND json_extract(body, '$.attempt_started') IS NOT NULL"
        );
        let mut models = world.sql(&query).lines().map(str::to_owned).collect::<Vec<_>>();
        models.sort();
        models
    };
    let first = world.run_id();
    assert_eq!(
        agent_choice(&first),
        ["middling", "middling", "middling", "middling-2", "tiny", "tiny", "tiny"]
    );
    conductor(&world, &["run", "../tasks.yaml"]).expect(0);
    let second = world.runs().into_iter().find(|run| *run != first).unwrap();
    let expect = ["middling", "middling", "middling", "middling-2"];
    assert_eq!(agent_choice(&second), expect, "small never succeeded here");
}
