//! The task file is edited over the API: its comments stay, and a client overwrites only what it has seen.

use serde_json::json;

use super::client::{Answer, Served};
use crate::harness::World;

const TASKS: &str = "\
# What the shop needs.
tasks:
  # First of all.
  - id: a
    run: 'true'   # quick
  - id: b
    run: 'true'
    dependencies: [a]
";

fn served(world: &World) -> Served<'_> {
    world.conductor(&["project", "add", "--id", "web"]).expect(0);
    Served::start(world)
}

fn version(served: &Served<'_>) -> String {
    served.get("/api/projects/web/tasks")["version"].as_str().unwrap().to_owned()
}

fn change(served: &Served<'_>, method: &str, task: &str, version: Option<&str>, body: &str) -> Answer {
    change_at(served, method, &format!("tasks/{task}"), version, body)
}

fn change_at(served: &Served<'_>, method: &str, path: &str, version: Option<&str>, body: &str) -> Answer {
    let bearer = format!("Bearer {}", served.owner());
    let mut headers = vec![("Authorization", bearer.as_str()), ("Content-Type", "application/json")];
    headers.extend(version.map(|version| ("If-Match", version)));
    served.ask(method, &format!("/api/projects/web/{path}"), &headers, body)
}

#[test]
fn tasks_are_added_changed_moved_and_removed_in_the_file() {
    let world = World::in_place(TASKS);
    let served = served(&world);
    let added = json!({ "fields": { "id": "c", "run": "echo c", "dependencies": ["b"] }, "after": "b" });
    let answer = served.post("/api/projects/web/tasks", added).expect(201);
    assert_eq!(answer.header("etag").unwrap(), answer.json()["version"].as_str().unwrap());
    let body = json!({ "fields": { "run": "echo a", "name": "The first" } }).to_string();
    change(&served, "PATCH", "a", Some(&version(&served)), &body).expect(200);
    change(&served, "PATCH", "c", Some(&version(&served)), &json!({ "id": "last" }).to_string()).expect(200);
    let text = world.read("tasks.yaml");
    for kept in ["# What the shop needs.", "# First of all.", "# quick", "echo a", "The first", "id: last"] {
        assert!(text.contains(kept), "{kept} in\n{text}");
    }
    change(&served, "DELETE", "b", Some(&version(&served)), "").expect(409);
    change(&served, "DELETE", "last", Some(&version(&served)), "").expect(200);
    let moved =
        change(&served, "POST", "b/move", Some(&version(&served)), &json!({ "first": true }).to_string());
    moved.expect(200);
    let tasks = served.get("/api/projects/web/tasks")["tasks"].clone();
    let ids: Vec<&str> = tasks.as_array().unwrap().iter().map(|task| task["id"].as_str().unwrap()).collect();
    assert_eq!(ids, ["b", "a"]);
    world.conductor(&["validate", "tasks.yaml"]).expect(0);
}

#[test]
fn a_stale_version_overwrites_nothing() {
    let world = World::in_place(TASKS);
    let served = served(&world);
    let seen = version(&served);
    let body = json!({ "fields": { "run": "echo mine" } }).to_string();
    change(&served, "PATCH", "a", None, &body).expect(428);
    // The user edits the file in an editor meanwhile.
    world.write("tasks.yaml", &TASKS.replace("quick", "edited by hand"));
    let stale = change(&served, "PATCH", "a", Some(&seen), &body).expect(412);
    assert_eq!(stale.json()["version"].as_str().unwrap(), version(&served));
    assert!(
        world.read("tasks.yaml").contains("edited by hand") && !world.read("tasks.yaml").contains("mine")
    );
}

#[test]
fn an_edit_that_would_break_the_file_is_refused() {
    let world = World::in_place(TASKS);
    let served = served(&world);
    let before = world.read("tasks.yaml");
    let post =
        |fields: serde_json::Value| served.post("/api/projects/web/tasks", json!({ "fields": fields }));
    post(json!({ "id": "a", "run": "true" })).expect(409);
    post(json!({ "run": "true" })).expect(422);
    post(json!({ "id": "c", "run": "true", "dependencies": ["missing"] })).expect(422);
    post(json!({ "id": "c", "rum": "true" })).expect(422);
    change(&served, "PATCH", "zz", Some("*"), "{\"fields\":{\"run\":\"x\"}}").expect(404);
    assert_eq!(world.read("tasks.yaml"), before);
}

#[test]
fn epics_are_added_renamed_and_removed_in_the_file() {
    let world = World::in_place(TASKS);
    let served = served(&world);
    let added = json!({ "fields": { "id": "late", "name": "What comes last" } });
    served.post("/api/projects/web/epics", added.clone()).expect(201);
    served.post("/api/projects/web/epics", added).expect(409);
    let body = json!({ "fields": { "epic": "late" } }).to_string();
    change(&served, "PATCH", "b", Some(&version(&served)), &body).expect(200);
    let body = json!({ "id": "end", "fields": { "name": "The end" } }).to_string();
    change_at(&served, "PATCH", "epics/late", Some(&version(&served)), &body).expect(200);
    let text = world.read("tasks.yaml");
    for kept in ["# What the shop needs.", "# First of all.", "The end", "epic: end"] {
        assert!(text.contains(kept), "{kept} in\n{text}");
    }
    assert!(!text.contains("late"), "it is renamed wherever it is named:\n{text}");
    let epics = served.get("/api/projects/web/epics").to_string();
    assert!(epics.contains("The end"), "{epics}");
    change_at(&served, "DELETE", "epics/end", Some(&version(&served)), "").expect(409);
    let body = json!({ "fields": { "epic": null } }).to_string();
    change(&served, "PATCH", "b", Some(&version(&served)), &body).expect(200);
    change_at(&served, "DELETE", "epics/end", Some(&version(&served)), "").expect(200);
    assert!(!world.read("tasks.yaml").contains("The end"), "{}", world.read("tasks.yaml"));
    world.conductor(&["validate", "tasks.yaml"]).expect(0);
}
