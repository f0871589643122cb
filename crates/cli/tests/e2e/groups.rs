//! `conductor group`: which tasks belong together, and orders for those that have none.

use serde_json::{Value, json};

use crate::harness::World;

/// The seed's own list.
const SEED: &str = r#"[
    {"id": "task-1", "description": "[P:Group-infra] Setup DB"},
    {"id": "task-2", "description": "[P:Group-infra] Setup cache"},
    {"id": "task-3", "description": "Sequential task"}
]"#;

#[test]
fn groups_are_detected_as_the_seed_does() {
    let world = World::new();
    world.write("tasks.json", SEED);
    let told =
        world.conductor(&["group", "detect", "--tasks-file", "tasks.json", "--output", "json"]).expect(0);
    assert_eq!(
        told.stdout,
        r#"{
  "infra": [
    {
      "id": "task-1",
      "description": "[P:Group-infra] Setup DB"
    },
    {
      "id": "task-2",
      "description": "[P:Group-infra] Setup cache"
    }
  ],
  "_sequential": [
    {
      "id": "task-3",
      "description": "Sequential task"
    }
  ]
}
"#
    );
    assert_eq!(told.stderr, "");
    let told = world.conductor(&["group", "detect", "--tasks-file", "tasks.json"]).expect(0);
    assert_eq!(
        told.stdout,
        "infra (2 tasks)\n  task-1  Setup DB\n  task-2  Setup cache\n_sequential (1 task)\n  task-3  Sequential task\n"
    );
}

#[test]
fn what_is_doubtful_is_told_beside_the_answer() {
    let world = World::new();
    world.write(
        "tasks.json",
        r#"[{"id": "a", "description": "Setup database [P:Group-infra]", "anything": 1},
            {"id": "b", "title": "[p:group-infra] B"}, {"id": "proj-auth.1", "prompt": "[P:Group-auth-flow] Login"}]"#,
    );
    let told = world.conductor(&["group", "detect", "--tasks-file", "tasks.json", "--json"]).expect(0);
    let groups = told.json();
    assert_eq!(groups["infra"][0]["anything"], 1);
    assert_eq!(groups["_sequential"][0]["id"], "b");
    assert_eq!(groups["auth-flow"][0]["id"], "proj-auth.1");
    let told = told.says("task 'a': in its description: a group marker belongs at the start of the text");
    told.says("task 'b': in its title: this looks like a group marker, and is none");
}

#[test]
fn a_task_file_is_grouped_as_a_run_would() {
    let world = World::with(
        "tasks:\n  - { id: a, run: x, group: own }\n  - { id: b, run: x }\n  - { id: c, name: '[P:Group-own] C', run: x }\n  - { id: 4, run: x }\n\
         groups: [{ name: late, tasks: [b, 4] }]\n",
    );
    let told = world.conductor(&["group", "detect", "--tasks-file", "tasks.yaml", "--json"]).expect(0).json();
    let ids = |group: &str| -> Vec<Value> {
        told[group].as_array().unwrap().iter().map(|task| task["id"].clone()).collect()
    };
    assert_eq!((ids("own"), ids("late")), (vec![json!("a"), json!("c")], vec![json!("b"), json!(4)]));
}

#[test]
fn a_file_that_holds_no_tasks_is_refused() {
    let world = World::new();
    for (text, why) in [
        ("{\"tasks\": 3}", "it has no list of tasks"),
        ("[3]", "task 1 is no mapping"),
        ("[{\"id\": \"a\"}, {\"description\": \"x\"}]", "task 2 has no id"),
        ("[{", "tasks.json has"),
    ] {
        world.write("tasks.json", text);
        world.conductor(&["group", "detect", "--tasks-file", "tasks.json"]).expect(3).says(why);
    }
    world.conductor(&["group", "detect", "--tasks-file", "nowhere"]).expect(3).says("there is no such file");
}

const SHOP: &str = "# our shop
tasks:
  - { id: docs, prompt: Write the guide }
  - { id: pay, name: Payment by card, prompt: x, files: [src/pay.rs] }
  - { id: schema, name: Database schema, prompt: x, files: [src/db.rs] }
  - { id: api, name: Build the API, prompt: x, files: [src/api.rs] }
  - { id: log, name: Log requests, prompt: x, files: [src/api.rs] }
";

#[test]
fn an_order_is_shown_with_its_reasons() {
    let world = World::with(SHOP);
    let told = world.conductor(&["group", "plan", "tasks.yaml", "--strategy", "risk-first"]).expect(0);
    assert_eq!(
        told.stdout,
        "5 tasks, risk-first
group 1 (1 task)
  pay     high: its name says payment
group 2 (3 tasks)
  docs    low
  schema  low
  api     low
group 3 (1 task)
  log     low
"
    );
    let told = world
        .conductor(&[
            "group",
            "plan",
            "tasks.yaml",
            "--strategy",
            "foundational-first",
            "--max-group-size",
            "2",
            "--json",
        ])
        .expect(0)
        .json();
    assert_eq!(told["schema"], "conductor.group-plan/1");
    assert_eq!((&told["strategy"], &told["max_group_size"]), (&"foundational-first".into(), &2.into()));
    assert_eq!(told["groups"][0]["tasks"][0]["id"], "schema");
    assert_eq!(told["groups"][0]["tasks"][0]["why"][0], "its name says schema");
    assert!(
        told["groups"].as_array().unwrap().iter().all(|group| group["tasks"].as_array().unwrap().len() <= 2)
    );
}

#[test]
fn an_order_is_written_into_the_file() {
    let world = World::with(SHOP);
    world
        .conductor(&["group", "plan", "tasks.yaml", "-o", "ordered.yaml"])
        .expect(0)
        .says("wrote ordered.yaml");
    assert_eq!(
        world.read("ordered.yaml"),
        format!(
            "{SHOP}execution_order:\n  - parallel: [\"docs\", \"pay\", \"schema\", \"api\"]\n  - \"log\"\n"
        )
    );
    world.conductor(&["validate", "ordered.yaml"]).expect(0).says("5 tasks in 2 batches");
    world
        .conductor(&["group", "plan", "tasks.yaml", "-o", "ordered.yaml"])
        .expect(2)
        .says("is there already");
    world
        .conductor(&["group", "plan", "ordered.yaml", "-o", "more.yaml"])
        .expect(2)
        .says("execution_order of its own");

    world.write("list.json", SEED);
    world.conductor(&["group", "plan", "list.json", "--max-group-size", "2", "-o", "list.yaml"]).expect(0);
    world.conductor(&["validate", "list.yaml"]).expect(0).says("3 tasks in 2 batches");
    let whole = world.conductor(&["group", "plan", "list.json", "-o", "-"]).expect(0).json();
    assert_eq!(whole["execution_order"][0]["parallel"][2], "task-3");
}
