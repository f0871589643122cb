//! Files as the seed systems' users have them.

use conductor_core::plan::{Notification, PrStrategy, Priority, Work};
use conductor_core::values::units::Millis;

use crate::{check, plan, said};

const BROWSER_TASKS: &str = r#"
# Sprint 14
config:
  default_repository: acme/shop.web
  default_priority: medium
  default_retry_policy:
    max_attempts: 3
    initial_delay: 5
    backoff_factor: 2.0
    max_delay: 300
  default_pr_strategy: normal
  default_auto_pr_timeout: 1800

tasks:
  - id: "SETUP-001"
    name: "Set up project structure"
    prompt: |
      Create the basic structure:
      - src/: source
      - tests/: tests
    expected_deliverable: "Project skeleton"
    priority: critical
    dependencies: []
    timeout: 900
  - id: "AUTH-002"
    name: "Authentication"
    prompt: >-
      Implement JWT authentication
      with refresh tokens: keep it simple.
    repository: "acme/auth"
    priority: high
    dependencies: ["SETUP-001"]
    retry_policy:
      max_attempts: 5
    pr_strategy: manual
  - id: DOCS-003
    name: Docs
    prompt: Write the README
    priority: low
    dependencies:
      - "SETUP-001"

groups:
  - name: foundation
    description: Base work
    tasks: ["SETUP-001"]
  - name: features
    tasks:
      - "AUTH-002"
      - DOCS-003

execution_order:
  - "SETUP-001"
  - parallel:
      - "AUTH-002"
      - DOCS-003

notifications:
  on_complete:
    - type: terminal
      message: "Task {task_id} completed"
    - type: sound
  on_failure:
    - type: desktop
      message: "Task {task_id} failed"

metadata:
  author: "Development Team"
  version: "1.0.0"
  created: 2024-11-15
  tags: [backend, api]
"#;

#[test]
fn a_browser_task_file_of_system_a() {
    let said = said(BROWSER_TASKS);
    assert!(said.starts_with("4:3 no-effect? 'default_repository', ") && !said.contains('\n'), "{said}");
    let plan = plan(BROWSER_TASKS);
    let auth = &plan.tasks[1];
    assert_eq!(
        auth.work,
        Work::Prompt("Implement JWT authentication with refresh tokens: keep it simple.".into())
    );
    assert_eq!((auth.retry.max_attempts, auth.retry.initial_delay), (5, Millis::from_secs(5)));
    assert_eq!((auth.repository.as_deref(), auth.pr_strategy), (Some("acme/auth"), Some(PrStrategy::Manual)));
    assert_eq!(plan.tasks[0].repository.as_deref(), Some("acme/shop.web"));
    assert_eq!(plan.tasks[2].group.as_deref(), Some("features"));
    assert_eq!(plan.execution_order.iter().map(Vec::len).collect::<Vec<_>>(), [1, 2]);
    assert_eq!(plan.notifications.on_complete[1], Notification::Sound { file: None });
    assert_eq!(plan.metadata["created"], "2024-11-15");
}

#[test]
fn the_execution_order_of_system_a_may_be_a_mapping() {
    let file = BROWSER_TASKS.replace(
        "execution_order:\n  - \"SETUP-001\"\n  - parallel:\n      - \"AUTH-002\"\n      - DOCS-003\n",
        "execution_order:\n  sequential: [SETUP-001]\n  parallel:\n    - AUTH-002\n    - DOCS-003\n",
    );
    assert!(file.contains("sequential"));
    assert_eq!(plan(&file), plan(BROWSER_TASKS));
}

#[test]
fn the_list_of_system_b() {
    let json = r#"[
        {"id": "proj-auth.1", "description": "[P:Group-auth] Login API"},
        {"id": "proj-auth.2", "title": "Logout", "description": "[P:Group-auth] Logout API\nwith tests", "priority": 1},
        {"id": "task-3", "description": "Sequential task"}
    ]"#;
    let plan = plan(json);
    let seen: Vec<_> = plan.tasks.iter().map(|task| (task.name.as_str(), task.group.as_deref())).collect();
    assert_eq!(seen, [("Login API", Some("auth")), ("Logout", Some("auth")), ("Sequential task", None)]);
    assert_eq!(plan.tasks[0].work, Work::Prompt("[P:Group-auth] Login API".into()));
    assert_eq!(plan.tasks[1].priority, Priority(1));
    check(
        r#"[{"id": "a", "description": "Setup database [P:Group-infra]"}]"#,
        "1:45 bad-marker? a group marker belongs at the start of the text (start the text with [P:Group-NAME], NAME being letters, digits, '-', '_' and '.')",
    );
}

const PLAN: &str = r#"{
  "num_tasks": 3,
  "executor_budget": 2,
  "execution_model": "task_queue",
  "tasks": [
    {"id": 1, "name": "Data model", "description": "Define the schema.", "priority": 1, "dependencies": [],
     "estimated_effort": "medium", "estimated_duration": "30 minutes", "files_to_create": ["src/model.py"], "complexity": "low"},
    {"id": 2, "name": "API", "description": "Build the API.", "priority": 5, "dependencies": [1],
     "estimated_effort": "2h", "required_skills": ["python"]},
    {"id": "ui", "name": "UI", "description": "Build the UI.", "priority": 3}
  ],
  "dependencies": {"2": ["1"], "ui": [2]},
  "execution_strategy": "Models first",
  "notes": ["made by hand"],
  "risk": {"level": "low"}
}"#;

#[test]
fn the_plan_of_system_d() {
    assert_eq!(said(PLAN), "");
    let plan = plan(PLAN);
    let priorities: Vec<u8> = plan.tasks.iter().map(|task| task.priority.0).collect();
    assert_eq!(priorities, [0, 4, 2]);
    let waits: Vec<Vec<&str>> =
        plan.tasks.iter().map(|task| task.dependencies.iter().map(|on| on.id.as_str()).collect()).collect();
    assert_eq!(waits, [vec![], vec!["1"], vec!["2"]]);
    assert_eq!(plan.tasks[0].estimate, Some(Millis::from_secs(1800)));
    assert_eq!(plan.tasks[1].estimate, Some(Millis::from_secs(7200)));
    assert_eq!(plan.tasks[0].files, ["src/model.py"]);
    assert_eq!(plan.tasks[0].work, Work::Prompt("Define the schema.".into()));
    assert_eq!(plan.tasks[0].name, "Data model");
    assert_eq!(plan.metadata["executor_budget"], 2);
    assert_eq!(plan.metadata["notes"][0], "made by hand");
}

/// A planner that says who waits for whom beside the tasks, and nothing else of an `execution_plan.json`.
#[test]
fn dependencies_beside_the_tasks() {
    let file = r#"{"tasks": [{"id": "a", "description": "x"}, {"id": "b", "description": "y", "priority": 5}],
        "dependencies": {"b": ["a"]}, "notes": "n"}"#;
    assert_eq!(said(file), "");
    let plan = plan(file);
    assert_eq!(plan.tasks[1].dependencies[0].id.as_str(), "a");
    assert_eq!(plan.tasks[1].priority, Priority(4));
}

#[test]
fn mistakes_in_a_plan_of_system_d() {
    let file = PLAN
        .replace("\"num_tasks\": 3", "\"num_tasks\": 4")
        .replace("\"priority\": 5", "\"priority\": 0")
        .replace("\"ui\": [2]", "\"iu\": [2]");
    check(
        &file,
        "\
2:16 count-mismatch? the plan says 4 and has 3 tasks
8:75 out-of-range 'priority' must be between 1 and 5 (1 is critical, 5 is backlog)
12:32 unknown-task 'dependencies' names task 'iu', which does not exist (did you mean 'ui'?)",
    );
    check(
        &PLAN.replace("{\"2\": [\"1\"], \"ui\": [2]}", "[[1, 2]]"),
        "12:19 wrong-type 'dependencies' wants a mapping of task ids to lists of them, found a list",
    );
}
