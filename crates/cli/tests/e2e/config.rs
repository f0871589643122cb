//! Config files, variables and flags: their precedence in runs, and `conductor config`.

use std::fs;

use serde_json::Value;

use crate::harness::World;

fn with(repository: &str, user: &str, tasks: &str) -> World {
    let world = World::with(tasks);
    fs::create_dir(world.path(".conductor")).unwrap();
    fs::write(world.path(".conductor/config.yaml"), repository).unwrap();
    world.trust(".");
    fs::write(world.home().join("config.yaml"), user).unwrap();
    world
}

fn slots(world: &World, args: &[&str]) -> String {
    let args: Vec<&str> = ["run", "tasks.yaml", "--dry-run", "--json"].iter().chain(args).copied().collect();
    world.conductor(&args).expect(0).json()["executor_budget"].to_string()
}

const ONE: &str = "tasks: [{ id: a, run: 'echo $GREETING' }]";

#[test]
fn a_flag_beats_a_variable_beats_the_repository_beats_the_user() {
    let mut world = with("parallel: 3", "parallel: 2", ONE);
    assert_eq!(slots(&world, &[]), "3");
    world.set("CONDUCTOR_PARALLEL", "4");
    assert_eq!(slots(&world, &[]), "4");
    assert_eq!(slots(&world, &["-p", "5"]), "5");
    world.unset("CONDUCTOR_PARALLEL");
    fs::remove_file(world.path(".conductor/config.yaml")).unwrap();
    assert_eq!(slots(&world, &[]), "2");
    fs::remove_file(world.home().join("config.yaml")).unwrap();
    assert_eq!(slots(&world, &[]), "1");
}

#[test]
fn what_a_config_file_says_is_done() {
    let world = with("env: { GREETING: from-the-config }", "limits: { max_time: 1h }", ONE);
    world.conductor(&["run", "tasks.yaml"]).expect(0);
    assert_eq!(String::from_utf8(world.transcript("a")).unwrap().trim(), "from-the-config");
    let plan = world
        .sql("SELECT json_extract(body, '$.run_created.plan.limits.max_time') FROM events WHERE seq = 1");
    assert_eq!(plan.trim(), "3600000");
}

#[test]
fn a_bad_config_file_stops_everything_and_is_shown() {
    let world = with("agnet: codex\n", "paralel: 2\n", ONE);
    let ended = world.conductor(&["run", "tasks.yaml"]).expect(3);
    for text in [
        ".conductor/config.yaml:1:1",
        "did you mean 'agent'?",
        "did you mean 'parallel'?",
        "nothing was started",
    ] {
        assert!(ended.stderr.contains(text), "no {text} in {}", ended.stderr);
    }
    assert!(world.runs().is_empty());
    let json = world.conductor(&["validate", "tasks.yaml", "--json"]).expect(3).json();
    assert_eq!(json["errors"], 2);
    assert_eq!(json["findings"][0]["file"], ".conductor/config.yaml");
    world.conductor(&["config", "show"]).expect(3);
}

fn setting<'j>(json: &'j Value, key: &str) -> &'j Value {
    json["settings"].as_array().unwrap().iter().find(|one| one["key"] == key).unwrap_or(&Value::Null)
}

#[test]
fn every_setting_is_shown_with_who_says_so() {
    let repository = "agent: codex\nretry: { max_attempts: 4 }\nenv: { API_TOKEN: hunter2hunter2 }\n";
    let user = "# mine\nexecution:\n  parallel_mode: true\n  max_parallel_tasks: 6\n";
    let mut world = with(repository, user, "config: { timeout: 5m }\ntasks: [{ id: a, run: x }]");
    world.set("CONDUCTOR_MAX_COST", "7.5");
    let json = world.conductor(&["config", "show", "tasks.yaml", "--json"]).expect(0).json();
    let from = |key: &str| {
        let found = setting(&json, key);
        format!("{} {} {}", found["value"], found["from"]["by"], found["from"]["line"])
    };
    assert_eq!(from("agent"), r#""codex" "repository" 1"#);
    assert_eq!(from("retry_policy.max_attempts"), r#"4 "repository" 2"#);
    assert_eq!(from("env.API_TOKEN"), r#""***" "repository" 3"#);
    assert_eq!(from("parallel"), r#"6 "user" 3"#);
    assert_eq!(from("timeout"), r#""5m" "file" 1"#);
    assert_eq!(from("limits.max_cost"), r#""7.5" "environment" null"#);
    assert_eq!(from("priority"), r#""medium" "built_in" null"#);
    let shown = world.conductor(&["config", "show", "--origin"]).expect(0).stdout;
    let line = shown.lines().find(|line| line.starts_with("agent ")).unwrap();
    assert_eq!(line.split_whitespace().collect::<Vec<_>>(), ["agent", "codex", ".conductor/config.yaml:1"]);
    assert!(!shown.contains("hunter2"), "{shown}");
}

#[test]
fn the_places_are_shown() {
    let world = World::with(ONE);
    let json = world.conductor(&["config", "path", "--json"]).expect(0).json();
    assert_eq!(json["files"][0]["of"], "repository");
    assert_eq!(json["files"][1]["path"], world.home().join("config.yaml").display().to_string());
    assert_eq!(json["files"][1]["exists"], false);
    world.conductor(&["config", "path"]).expect(0).says("(not there)");
}

#[test]
fn explain_names_the_config_file() {
    let world = with("priority: low", "", ONE);
    let told = world.conductor(&["explain", "a", "--file", "tasks.yaml"]).expect(0);
    told.says("priority (.conductor/config.yaml:1)");
}

#[test]
fn agents_of_config_files_are_listed() {
    let world = with("agents: { mine: { command: [cat] } }", "", ONE);
    world.conductor(&["agents", "list"]).expect(0).says("mine");
}

#[test]
fn a_variable_beats_the_task_and_is_shown_as_what_it_is() {
    let mut world = with(
        "agent: gemini\n",
        "",
        "
config: { timeout: 1m }
tasks:
  - { id: p, prompt: Do it, agent: codex, timeout: 2m }
  - { id: c, run: 'true' }
",
    );
    assert_eq!(world.conductor(&["graph", "tasks.yaml"]).expect(0).stderr, "");
    world.set("CONDUCTOR_AGENT", "opencode");
    world.set("CONDUCTOR_TIMEOUT", "30s");
    world.set("CONDUCTOR_RETRY_MAX_ATTEMPTS", "7");
    world.set("CONDUCTOR_VERIFY", "[\"make\", \"make test\"]");
    let show = world.conductor(&["config", "show", "tasks.yaml", "--json"]).expect(0).json();
    for (key, value, variable) in [
        ("agent", Value::from("opencode"), "CONDUCTOR_AGENT"),
        ("timeout", "30s".into(), "CONDUCTOR_TIMEOUT"),
        ("retry_policy.max_attempts", 7.into(), "CONDUCTOR_RETRY_MAX_ATTEMPTS"),
        ("verify", vec!["make", "make test"].into(), "CONDUCTOR_VERIFY"),
    ] {
        let found = setting(&show, key);
        assert_eq!(
            (&found["value"], &found["from"]["by"]),
            (&value, &"environment".into()),
            "{key}: {found}"
        );
        assert_eq!(found["from"]["name"], variable);
    }
    world.conductor(&["config", "show", "--origin"]).expect(0).says("CONDUCTOR_AGENT");
    world
        .conductor(&["explain", "p", "--file", "tasks.yaml"])
        .says("opencode")
        .says("agent (CONDUCTOR_AGENT)");
    world.unset("CONDUCTOR_VERIFY");
    // A command stays a command.
    world.conductor(&["run", "tasks.yaml", "--only", "c", "--isolation", "none"]).expect(0);
    world.set("CONDUCTOR_TIMEOUT", "soon");
    let ended = world.conductor(&["validate", "tasks.yaml"]).expect(3);
    ended.says("'timeout' is not a duration").says("# CONDUCTOR_TIMEOUT").says("the environment has 1 error");
}

#[test]
fn a_variable_that_means_nothing_is_told_with_the_nearest_that_does() {
    let mut world = World::with("tasks: [{ id: a, run: 'true' }]");
    world.set("CONDUCTOR_PARALEL", "3");
    world.set("CONDUCTOR_NONSENSE_OF_ANY_KIND", "1");
    for args in [&["validate", "tasks.yaml"][..], &["run", "tasks.yaml"], &["config", "show"]] {
        let ended = world.conductor(args).expect(0);
        let ended = ended.says(
            "the variable CONDUCTOR_PARALEL is set and has no effect; did you mean CONDUCTOR_PARALLEL?",
        );
        ended.says("CONDUCTOR_NONSENSE_OF_ANY_KIND is set and has no effect\n");
    }
}
