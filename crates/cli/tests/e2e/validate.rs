//! `conductor validate`: every mistake at once, each with its place.

use crate::harness::World;

const TEN_MISTAKES: &str = "\
config:
  default_priority: urgent
tasks:
  - id: api
    promt: Build
    prompt: Build it
    timeout: soon
  - id: API
    run: make
  - id: api
    run: make
    dependencies: [apo, db]
  - id: db
    prompt: '  '
    dependencies: db
  - id: ui
    retry_policy: { max_attempts: 0 }
";

#[test]
fn ten_mistakes_are_shown_at_once_each_with_its_place() {
    let world = World::with(TEN_MISTAKES);
    let ended = world.conductor(&["validate", "tasks.yaml"]).expect(3);
    let places = ended.stderr.lines().filter(|line| line.trim_start().starts_with("--> tasks.yaml:")).count();
    assert_eq!((ended.stderr.matches("error[").count(), places), (10, 10), "{}", ended.stderr);
    insta::assert_snapshot!(ended.stderr);
}

#[test]
fn the_same_ten_as_json() {
    let world = World::with(TEN_MISTAKES);
    let found = world.conductor(&["validate", "tasks.yaml", "--json"]).expect(3).json();
    assert_eq!((&found["schema"], &found["errors"]), (&"conductor.validation/1".into(), &10.into()));
    let findings = found["findings"].as_array().unwrap();
    assert_eq!(findings.len(), 10);
    for finding in findings {
        assert!(
            finding["at"]["line"].as_u64() > Some(0) && finding["at"]["column"].as_u64() > Some(0),
            "{finding}"
        );
    }
}

#[test]
fn every_example_is_valid() {
    let world = World::new();
    let folder = std::fs::read_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples")).unwrap();
    let files = folder.map(|entry| entry.unwrap().path());
    let files: Vec<_> = files.filter(|path| path.extension().is_some_and(|kind| kind == "yaml")).collect();
    assert!(!files.is_empty());
    for file in files {
        world.conductor(&["validate", file.to_str().unwrap()]).expect(0);
    }
}

#[test]
fn a_good_file_is_said_to_be_good() {
    let world = World::with("tasks: [{ id: a, run: make }, { id: b, run: make, dependencies: a }]");
    let ended = world.conductor(&["validate", "tasks.yaml"]).expect(0);
    assert_eq!(ended.stdout, "tasks.yaml is valid: 2 tasks in 2 batches\n");
    let found = world.conductor(&["validate", "tasks.yaml", "--json"]).expect(0).json();
    assert_eq!(found["errors"], 0);
    assert!(!world.database().exists(), "validating leaves no state");
}

/// Every agent that may do the task must be able to keep its rules: its own, its fallbacks, and those that
/// race.
#[test]
fn a_rule_that_an_agent_cannot_keep_is_refused_before_anything_starts() {
    const TOOL: &str = "agents: { tool: { command: [sh, -c, 'true'] } }";
    for (tasks, told) in [
        ("agent: tool, permissions: { deny: ['Bash(curl*)'] }", "tool cannot keep the rule `Bash(curl*)`"),
        ("agent: tool, permissions: { ask: [WebFetch] }", "tool cannot keep the rule `WebFetch`"),
        ("agent: tool, permissions: { otherwise: ask }", "tool cannot keep the rule `otherwise: ask`"),
        ("agent: tool, permissions: { blocked_commands: [curl] }", "`blocked_commands`"),
        ("fallback_agents: [tool], permissions: { deny: [Bash] }", "tool cannot keep the rule `Bash`"),
        ("race: [claude, tool], permissions: { deny: [Bash] }", "tool cannot keep the rule `Bash`"),
        (
            "agent: codex, permissions: { deny: ['Read(secrets/*)'] }",
            "codex cannot keep the rule `Read(secrets/*)`",
        ),
        ("agent: codex, permissions: { ask: [WebSearch] }", "it does not ask before it uses its WebSearch"),
        ("agent: gemini, permissions: { deny: ['WebFetch(http:*)'] }", "it knows no patterns for WebFetch"),
        ("agent: opencode, permissions: { deny: ['Bash(curl*|*sh)'] }", "one by one; write a rule for each"),
        ("agent: opencode, subagents: on, max_cost: 1", "opencode cannot keep the rule `max_cost`"),
        ("fallback_agents: [opencode], subagents: on, max_tokens: 9", "nothing of what its subagents use"),
    ] {
        let world = World::in_place(&format!(
            "config: {{ {TOOL} }}\ntasks:\n  - {{ id: a, prompt: Do it, {tasks} }}\n"
        ));
        world
            .conductor(&["validate", "tasks.yaml"])
            .expect(3)
            .says(told)
            .says("unkept-rule")
            .says("claude keeps every rule");
        let found = world.conductor(&["validate", "tasks.yaml", "--json"]).expect(3).json();
        assert_eq!(found["findings"][0]["code"], "unkept-rule", "{found}");
        world.conductor(&["run", "tasks.yaml"]).expect(3).says(told).says("nothing was started");
        assert!(world.runs().is_empty(), "{tasks}");
    }
}

/// A cap that is typed is held against the file's agents like one that stands in it.
#[test]
fn a_typed_cap_that_would_not_hold_for_subagents_starts_nothing() {
    let mut world = World::in_place("tasks: [{ id: a, prompt: Do it, agent: opencode, subagents: on }]\n");
    std::fs::create_dir(world.path("bin")).unwrap();
    std::os::unix::fs::symlink("/bin/true", world.path("bin/opencode")).unwrap();
    let inherited = std::env::var_os("PATH").unwrap();
    let path = std::iter::once(world.path("bin")).chain(std::env::split_paths(&inherited));
    world.set("PATH", std::env::join_paths(path).unwrap());
    world.conductor(&["validate", "tasks.yaml"]).expect(0);
    for flag in ["--max-cost", "--max-tokens"] {
        let ended = world.conductor(&["run", "tasks.yaml", flag, "1"]).expect(3);
        ended.says("opencode cannot keep the rule `max_").says("nothing was started");
    }
    assert!(world.runs().is_empty());
}

/// A misspelt agent is found where it stands, in the task file or a config file.
#[test]
fn an_agent_that_does_not_exist_is_told_with_its_place() {
    let tasks = "tasks:\n  - { id: a, prompt: Do it, agent: cluade }\n  - { id: b, prompt: x, agent: codex, fallback_agents: [gemni] }\n";
    let world = World::in_place(tasks);
    for verb in [&["validate", "tasks.yaml"][..], &["run", "tasks.yaml"], &["run", "tasks.yaml", "--dry-run"]]
    {
        let told = world.conductor(verb).expect(3);
        let told = told.says("task 'a': there is no agent 'cluade'").says("did you mean 'claude'?");
        told.says("tasks.yaml:2:36").says("did you mean 'gemini'?").says("unknown-agent");
    }
    assert!(world.runs().is_empty());
    let world = World::with("tasks: [{ id: a, prompt: Do it }]");
    std::fs::create_dir(world.path(".conductor")).unwrap();
    world.write(".conductor/config.yaml", "parallel: 2\nagent: cluade\n");
    let told = world.conductor(&["validate", "tasks.yaml"]).expect(3);
    told.says(".conductor/config.yaml:2:8").says("did you mean 'claude'?");
    let told = world.conductor(&["doctor"]);
    told.says(".conductor/config.yaml:2: there is no agent 'cluade'").says("did you mean 'claude'?");
}

/// The agent may be installed on another machine, so the file is valid; on this machine nothing starts.
#[test]
fn an_agent_that_is_not_installed_is_a_warning_until_something_is_to_run() {
    let mut world = World::in_place(
        "tasks:\n  - { id: a, prompt: Do it, agent: codex }\n  - { id: b, prompt: x, agent: codex }\n  - { id: c, prompt: x, agent: house-tool }\n",
    );
    let bin = world.path("bin");
    std::fs::create_dir(&bin).unwrap();
    for program in ["git", "sh"] {
        let found = std::env::split_paths(&world.variable("PATH"))
            .map(|folder| folder.join(program))
            .find(|file| file.is_file());
        std::os::unix::fs::symlink(found.unwrap(), bin.join(program)).unwrap();
    }
    world.set("PATH", bin);
    let told = world.conductor(&["validate", "tasks.yaml"]).expect(0).says("tasks.yaml is valid");
    let told = told.says("task 'a': codex is not installed").says("tasks.yaml:2:36");
    let told = told.says("task 'c': there is no agent 'house-tool'").says("conductor-agent-house-tool");
    assert_eq!(told.stderr.matches("codex is not installed").count(), 1, "{}", told.stderr);
    let found = world.conductor(&["validate", "tasks.yaml", "--json"]).expect(0).json();
    assert_eq!((&found["errors"], &found["warnings"]), (&0.into(), &2.into()));
    world.conductor(&["run", "tasks.yaml", "--dry-run"]).expect(0).says("task 'a': codex is not installed");
    world.conductor(&["run", "tasks.yaml"]).expect(7).says("nothing was started");
    std::fs::create_dir(world.path(".conductor")).unwrap();
    world.write(".conductor/config.yaml", "agent: gemini\n");
    let doctor = world.conductor(&["doctor"]).says(".conductor/config.yaml:1: gemini is not installed");
    doctor.says("tasks.yaml: task 'a': codex is not installed");
}

/// Known keys without effect are reported with their place, before anything starts and only once.
#[test]
fn keys_without_effect_are_told() {
    let world = World::with(
        "tasks:\n  - { id: a, run: 'true', repository: acme/shop }\n  - { id: b, run: 'true', repository: acme/shop }\n",
    );
    std::fs::create_dir(world.path(".conductor")).unwrap();
    world.write(".conductor/config.yaml", "parallel: 2\nui: { theme: dark }\n");
    for verb in ["validate", "run"] {
        let told = world.conductor(&[verb, "tasks.yaml"]).expect(0);
        let told = told.says("'repository' has no effect").says("tasks.yaml:2:27");
        let told = told.says("'ui' has no effect").says(".conductor/config.yaml:2:1");
        assert_eq!(told.stderr.matches("no-effect").count(), 2, "{}", told.stderr);
    }
    let world = crate::beads::tracker(&serde_json::json!([crate::beads::issue("app-1", &[])]));
    let config = world.read("repo/.conductor/config.yaml");
    world.write("repo/.conductor/config.yaml", &(config + "ui: { theme: dark }\n"));
    world.trust("repo");
    let told = crate::repository::conductor(&world, &["run", "--from", "beads"]).expect(0);
    assert_eq!(told.stderr.matches("no-effect").count(), 1, "{}", told.stderr);
}

#[test]
fn rules_that_hold_for_every_cli_are_fine_with_all_of_them() {
    let rules = "permissions: { deny: ['Bash(terraform*)', 'Edit(secrets/*)', WebFetch], ask: ['Bash(npm publish*)'], allow: [WebSearch] }";
    for agent in ["claude", "codex", "gemini", "opencode", "'acp:x'"] {
        let tasks = format!("tasks: [{{ id: a, prompt: Do it, agent: {agent}, {rules} }}]\n");
        World::with(&tasks).conductor(&["validate", "tasks.yaml"]).expect(0);
    }
}

/// A template of prompts that cannot be used is found before an agent is paid.
#[test]
fn a_template_of_prompts_that_cannot_be_used_is_told_with_its_line() {
    let world = World::in_place("tasks: [{ id: c, run: 'true' }, { id: a, prompt: Do it, agent: claude }]\n");
    std::fs::create_dir(world.path(".conductor")).unwrap();
    for (template, told) in [
        (&b"Do this:\n{{ task.promt }}\n"[..], ".conductor/prompt.md.j2:2"),
        (b"\xff{{ task.prompt }}", "cannot be read"),
        (b"{% if task.promt %}x{% endif %}", "empty prompt"),
    ] {
        std::fs::write(world.path(".conductor/prompt.md.j2"), template).unwrap();
        for verb in ["validate", "run"] {
            world.conductor(&[verb, "tasks.yaml"]).expect(3).says("bad-prompt").says(told);
        }
        let found = world.conductor(&["validate", "tasks.yaml", "--json"]).expect(3).json();
        assert_eq!(found["findings"][0]["file"], ".conductor/prompt.md.j2", "{found}");
    }
    assert!(world.runs().is_empty());
    std::fs::write(world.path(".conductor/prompt.md.j2"), "{{ task.prompt }}").unwrap();
    world.conductor(&["validate", "tasks.yaml"]).expect(0);
}

/// A limit or a tier for an agent that does not exist would do nothing.
#[test]
fn an_agent_that_is_limited_and_does_not_exist_is_told_with_its_place() {
    let tasks = |limits: &str| format!("{limits}\ntasks: [{{ id: a, run: 'true' }}]\n");
    for (limits, at) in [
        ("limits: { agents: { cluade: 1 } }", "tasks.yaml:1:21"),
        ("config: { models: { tiers: { cluade: { small: x } } } }", "tasks.yaml:1:30"),
    ] {
        let world = World::in_place(&tasks(limits));
        let told = world.conductor(&["validate", "tasks.yaml"]).expect(3);
        told.says("there is no agent 'cluade'").says("did you mean 'claude'?").says(at);
        world.conductor(&["run", "tasks.yaml"]).expect(3).says("did you mean 'claude'?");
    }
    let world = World::in_place(&tasks("limits: { agents: { elsewhere: 1, claude: 2, shell: 3 } }"));
    let told = world.conductor(&["validate", "tasks.yaml"]).expect(0).says("there is no agent 'elsewhere'");
    assert_eq!(told.stderr.matches("unknown-agent").count(), 1, "{}", told.stderr);
}
