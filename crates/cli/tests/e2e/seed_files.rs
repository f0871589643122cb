//! Files in the shape that users of the seed systems have them, and plans that runs have written: valid, run, run again.

use std::path::PathBuf;

use serde_json::{Value, json};

use crate::harness::World;
use crate::repository::{conductor, git, repository};

/// An agent that leaves a file for each task, named in a config file, so that task files need not know it.
const CONFIG: &str = "
agent: scripted
agents: { scripted: { command: [sh, -c, 'echo done > $CONDUCTOR_TASK.txt'] } }
";

fn corpus(file: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../core/tests/spec/corpus").join(file)
}

fn with_agent(tasks: &str) -> World {
    let world = repository(tasks);
    std::fs::create_dir_all(world.path("repo/.conductor")).unwrap();
    world.write("repo/.conductor/config.yaml", CONFIG);
    world.trust("repo");
    world
}

#[test]
fn files_of_system_a_validate_and_run() {
    for (file, tasks, batches) in [("sprint.yaml", 10, 6), ("hello.yaml", 3, 3), ("research.yaml", 3, 2)] {
        let world = with_agent(&std::fs::read_to_string(corpus(file)).unwrap());
        let valid = conductor(&world, &["validate", "../tasks.yaml"]).expect(0);
        valid.says(&format!("is valid: {tasks} tasks in {batches} batches"));
        let ended = conductor(&world, &["run", "../tasks.yaml", "--parallel", "3"]).expect(0);
        ended.says(&format!("{tasks} of {tasks} completed"));
        let landed = git(&world, &["ls-tree", "--name-only", &format!("conductor/{}", world.run_id())]);
        assert_eq!(landed.lines().filter(|name| name.contains("-00")).count(), tasks, "{landed}");
    }
}

#[test]
fn a_group_of_such_a_file_is_chosen_by_either_spelling() {
    let world = with_agent(&std::fs::read_to_string(corpus("sprint.yaml")).unwrap());
    for name in ["group:Performance Sprint", "group:Performance-Sprint", "group:Perf*"] {
        let told = conductor(&world, &["run", "../tasks.yaml", "--only", name, "--dry-run"]).expect(0);
        told.says("would run 2 tasks");
    }
}

/// Everything a plan can say, as far as a run can be made of it here.
const BROAD: &str = "
config:
  agents: { tool: { command: [sh, -c, 'cat > prompt-$CONDUCTOR_TASK.txt'] } }
  verify: ['test -f f.txt']
  env: { GREETING: good morning }
epics: [{ id: one }, { id: two, dependencies: [one] }]
groups: [{ name: Early birds, max_parallel: 1 }]
tasks:
  - { id: list, run: [sh, -c, 'echo \"$GREETING\" > list.txt'], priority: critical, group: Early birds, epic: one }
  - { id: words, prompt: 'Say \"hello\"', agent: tool, dependencies: [{ id: list, kind: soft }], epic: two,
      files: ['prompt-*.txt'], retry_policy: { max_attempts: 2, initial_delay: 1ms }, timeout: 5m }
  - { id: last, run: 'test -f list.txt && echo last > last.txt', dependencies: [words], changes: required, verify: [] }
";

/// What a run writes with `-o`, and what `--dry-run --ui json` tells, is the plan: run again, it does the same.
#[test]
fn a_plan_that_a_run_wrote_is_run_as_what_it_was() {
    let world = repository(BROAD);
    let out = world.path("out").display().to_string();
    conductor(&world, &["run", "../tasks.yaml", "-o", &out]).expect(0).says("3 of 3 completed");
    let first: Value = serde_json::from_str(&world.read("out/execution_plan.json")).unwrap();
    assert_eq!(first["schema"], "conductor.plan/2");
    assert_eq!(first["tasks"][0]["priority"], 0);
    assert_eq!(first["tasks"][0]["run"][2], "echo \"$GREETING\" > list.txt");
    let told =
        conductor(&world, &["run", "../out/execution_plan.json", "--dry-run", "--ui", "json"]).expect(0);
    let again = told.json();
    assert_eq!(again["tasks"], first["tasks"]);
    assert_eq!(again["dependencies"], json!({ "words": ["list"], "last": ["words"] }));
    for section in ["config", "groups", "epics"] {
        assert_eq!(again[section], first[section], "{section}");
    }
    world.write("again.json", &told.stdout);
    let first_run = world.run_id();
    conductor(&world, &["validate", "../again.json"]).expect(0).says("3 tasks in 3 batches");
    conductor(&world, &["run", "../again.json"]).expect(0).says("3 of 3 completed");
    let second = world.runs().into_iter().find(|run| *run != first_run).unwrap();
    let landed = |file: &str| git(&world, &["show", &format!("conductor/{second}:{file}")]);
    assert_eq!(landed("list.txt"), "good morning");
    assert!(landed("prompt-words.txt").contains("Say \"hello\""));
}

/// The seed's own form: priorities from 1 to 5, and who waits for whom beside the tasks.
#[test]
fn a_plan_of_system_d_runs_in_its_order() {
    let task = |id: &str, priority: u8| json!({ "id": id, "name": id, "description": "Do it", "priority": priority });
    let plan = json!({
        "num_tasks": 3, "executor_budget": 2, "execution_model": "task_queue",
        "tasks": [task("api", 1), task("schema", 5), task("ui", 3)],
        "dependencies": { "api": ["schema"], "ui": ["api"] },
        "execution_strategy": "schema first",
    });
    for plan in [plan.clone(), json!({ "tasks": plan["tasks"], "dependencies": plan["dependencies"] })] {
        let world = with_agent(&plan.to_string());
        conductor(&world, &["run", "../tasks.yaml", "-p", "3"]).expect(0);
        assert_eq!(world.logged("task_completed"), ["schema", "api", "ui"]);
    }
}
