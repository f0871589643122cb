//! `conductor explain`: a task in a file, a task of a run, a code.

use crate::harness::World;
use crate::repository::{conductor, repository};

const TASKS: &str = "
config:
  agent: scribe
  fallback_agents: [claude-is-elsewhere]
  models: { tiers: { scribe: { small: tiny, large: huge } } }
  verify: ['true']
epics: [{ id: back, name: The backend }]
tasks:
  - { id: schema, run: 'echo 1 > schema.txt', verify: [] }
  - id: api
    name: Build the API
    prompt: Implement src/api.rs with a server
    dependencies: [schema]
    epic: back
    applicable_skills: [plan-it, no-such]
";

fn world() -> World {
    let world = repository(TASKS);
    let skill = world.path("repo/.claude/skills/plan-it");
    std::fs::create_dir_all(&skill).unwrap();
    std::fs::write(skill.join("SKILL.md"), "---\nname: plan-it\n---\nPlan $ARGUMENTS first.\n").unwrap();
    crate::specialists::with_scribe(world)
}

/// Names that differ from run to run are taken out, and what differs from machine to machine: how agents are confined.
fn neutral(world: &World, text: &str) -> String {
    let mut of_sandbox = false;
    let kept = text.lines().filter(|line| {
        of_sandbox = line.starts_with("  sandbox") || of_sandbox && line.starts_with("     ");
        !of_sandbox
    });
    let text = kept.map(|line| format!("{line}\n")).collect::<String>();
    let mut text = text.replace(&world.path("").display().to_string(), "HERE/");
    if let Some(at) = text.find("landed as ").map(|at| at + "landed as ".len()) {
        text.replace_range(at..at + 10, "COMMIT");
    }
    match world.runs().first() {
        Some(run) => text.replace(run.as_str(), "RUN"),
        None => text,
    }
}

#[test]
fn a_task_of_a_file_is_told_with_everything_that_decides() {
    let world = world();
    let ended = conductor(&world, &["explain", "api", "--file", "../tasks.yaml"]).expect(0);
    insta::assert_snapshot!(neutral(&world, &ended.stdout));
    let ended = conductor(&world, &["explain", "api", "--file", "../tasks.yaml", "--json"]).expect(0);
    let told: serde_json::Value = serde_json::from_str(&ended.stdout).unwrap();
    assert_eq!(
        (told["schema"].as_str(), told["agent"].as_str()),
        (Some("conductor.explanation/1"), Some("scribe"))
    );
    assert_eq!(told["model"]["name"], "tiny");
    assert_eq!(told["agents"][1]["present"], false);
    assert_eq!(told["specialist"]["words"], serde_json::json!(["api", "server"]));
    assert_eq!(told["files"]["learned"], serde_json::json!(["src/api.rs"]));
    let ended = conductor(&world, &["explain", "schem", "--file", "../tasks.yaml"]).expect(2);
    assert!(ended.stderr.contains("did you mean 'schema'?"), "{}", ended.stderr);
    assert!(world.runs().is_empty(), "nothing was started");
}

/// What is printed is what the agent then gets, except for the ports: they are not known before the run.
#[test]
fn the_prompt_is_the_one_the_agent_gets() {
    let world = world();
    let shown =
        conductor(&world, &["explain", "api", "--file", "../tasks.yaml", "--prompt"]).expect(0).stdout;
    crate::repository::git(&world, &["add", "."]);
    crate::repository::git(&world, &["commit", "-q", "-m", "skill"]);
    conductor(&world, &["run", "../tasks.yaml"]).expect(0);
    let told = crate::repository::on_branch(&world, "told-api.json");
    let told: serde_json::Value = serde_json::from_str(&told).unwrap();
    let given = told["words"].as_str().unwrap();
    let without = |text: &str| {
        let lines = text.trim_end().lines().filter(|line| !line.contains("use ports"));
        let merged = |line: &str| line.replace(&format!(" into conductor/{}", world.run_id()), "");
        // The commit of what it builds on is not known before either.
        let line = |line: &str| merged(line).split(" (").next().unwrap().to_owned();
        lines.map(line).collect::<Vec<_>>()
    };
    assert_eq!(without(&shown), without(given));
    assert!(given.contains("Plan Implement src/api.rs with a server first."), "{given}");
    // Afterwards the run's own words are known, down to the commit.
    let shown = conductor(&world, &["explain", "api", "--prompt"]).expect(0).stdout;
    let lines = |text: &str| -> Vec<String> {
        text.trim_end().lines().filter(|line| !line.contains("use ports")).map(str::to_owned).collect()
    };
    assert_eq!(lines(&shown), lines(given));
    let told = conductor(&world, &["explain", "api"]).expect(0).stdout;
    insta::assert_snapshot!(neutral(&world, &told));
}

/// The repository's template and skills are those of a run that was started below its root, too.
#[test]
fn a_run_below_the_root_has_the_prompt_of_the_repository() {
    let world = world();
    let below = world.path("repo/packages/api");
    std::fs::create_dir_all(&below).unwrap();
    std::fs::write(below.join("x.txt"), "").unwrap();
    std::fs::create_dir(world.path("repo/.conductor")).unwrap();
    let template =
        "OURS: {{ task.prompt }}\n{% for skill in skills %}{{ skill.name }}: {{ skill.words }}{% endfor %}";
    world.write("repo/.conductor/prompt.md.j2", template);
    crate::repository::git(&world, &["add", "."]);
    crate::repository::git(&world, &["commit", "-q", "-m", "template"]);
    let file = world.path("tasks.yaml").display().to_string();
    let started = |args: &[&str]| {
        let mut command = world.command(args);
        world.spawn(command.current_dir(&below)).ended()
    };
    let shown = started(&["explain", "api", "--file", &file, "--prompt"]).expect(0).stdout;
    assert!(shown.contains("OURS: Implement") && shown.contains("plan-it: Plan Implement"), "{shown}");
    started(&["run", &file]).expect(0);
    let told = crate::repository::on_branch(&world, "packages/api/told-api.json");
    let told: serde_json::Value = serde_json::from_str(&told).unwrap();
    assert_eq!(told["words"].as_str().unwrap().trim_end(), shown.trim_end());
}

#[test]
fn codes_are_explained_and_near_ones_offered() {
    let world = World::new();
    for code in ["0", "7", "100", "143", "unverified", "timed-out", "usage_limit", "unknown-key"] {
        let ended = world.conductor(&["explain", code]).expect(0);
        assert!(ended.stdout.lines().count() >= 2, "{}", ended.stdout);
        let json = world.conductor(&["explain", code, "--json"]).expect(0).stdout;
        let told: serde_json::Value = serde_json::from_str(&json).unwrap();
        assert_eq!(told["schema"], "conductor.code/1");
    }
    let ended = world.conductor(&["explain", "unverifyed"]).expect(2);
    assert!(ended.stderr.contains("did you mean 'unverified'?"), "{}", ended.stderr);
    let ended = world.conductor(&["explain", "zzzzzzzz"]).expect(2);
    assert!(ended.stderr.contains("--file"), "{}", ended.stderr);
}

/// What is explained is what a run would do, by the environment too.
#[test]
fn the_environment_of_a_run_decides_what_is_explained() {
    let mut world =
        repository("tasks: [{ id: a, prompt: Do it, agent: scribe, review: { agent: claude } }]\n");
    let explain = |world: &World| conductor(world, &["explain", "a", "--file", "../tasks.yaml"]).expect(0);
    let told = explain(&world).says("sandbox     off;").says("workspace   a worktree of its own");
    assert!(!told.stdout.contains("unchecked"), "{}", told.stdout);
    told.says("review      by claude, before it lands");
    assert!(conductor(&world, &["doctor"]).stdout.contains("off, by CONDUCTOR_SANDBOX"));
    world.set("CONDUCTOR_SANDBOX", "require");
    world.set("CONDUCTOR_NETWORK", "off");
    world.set("CONDUCTOR_ISOLATION", "clone");
    let told = explain(&world).says("workspace   a clone of its own").says("require");
    assert!(!told.stdout.contains("off;"), "{}", told.stdout);
    assert!(!conductor(&world, &["doctor"]).stdout.contains("off, by"));
    world.unset("CONDUCTOR_SANDBOX");
    std::fs::create_dir_all(world.home()).unwrap();
    std::fs::write(world.home().join("config.yaml"), "sandbox: off\n").unwrap();
    assert!(conductor(&world, &["doctor"]).stdout.contains("off, by the config"));
}
