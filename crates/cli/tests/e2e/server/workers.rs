//! Workers on other machines: who was let in is told to those who see all projects; admins drain them and shut them out.

use serde_json::{Value, json};

use super::client::Served;
use crate::harness::World;

/// A world with a worker that was let in, and an invitation.
fn world() -> World {
    let world = World::in_place("tasks: [{ id: a, run: 'true' }]");
    for name in ["w1", "w2"] {
        world.conductor(&["workers", "token", name]).expect(0);
    }
    // As a worker is taken in: the key is any that is one.
    let path = world.home().join("workers/workers.json");
    let mut entries: Value = serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
    let key = entries["invitations"]["w1"]["key"].clone();
    entries["invitations"].as_object_mut().unwrap().remove("w1");
    entries["workers"]["w1"] = json!({ "key": key, "invitation": key, "since": 0 });
    std::fs::write(&path, entries.to_string()).unwrap();
    world
}

fn token(world: &World, name: &str, role: &str) -> String {
    world.conductor_with_input(&["user", "add", name, "--role", role], b"a long password\n").expect(0);
    world
        .conductor(&["token", "add", "t", "--user", name, "--role", "admin"])
        .expect(0)
        .stdout
        .trim()
        .to_owned()
}

#[test]
fn who_was_let_in_is_told_and_admins_change_it() {
    let world = world();
    let served = Served::start(&world);
    let (viewer, operator) = (token(&world, "bea", "viewer"), token(&world, "olga", "operator"));
    let listed = served.by(&viewer, "GET", "/api/workers", &json!({})).expect(200).json();
    let states: Vec<(&str, &str)> = listed["workers"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| (one["name"].as_str().unwrap(), one["state"].as_str().unwrap()))
        .collect();
    assert_eq!(states, [("w1", "enrolled"), ("w2", "invited")]);
    assert_eq!(listed["workers"][0]["here"], json!(false), "no run is active");
    for token in [&viewer, &operator] {
        served.by(token, "POST", "/api/workers/w1/drain", &json!({})).expect(403);
        served.by(token, "DELETE", "/api/workers/w1", &json!({})).expect(403);
    }
    let drained = served.post("/api/workers/w1/drain", json!({})).expect(200).json();
    assert_eq!(drained["state"], "drained");
    world.conductor(&["workers", "list"]).expect(0).says("drained");
    assert!(metrics(&served).contains("conductor_workers{state=\"drained\"} 1"));
    served.post("/api/workers/w1/drain", json!({ "undo": true })).expect(200);
    assert!(metrics(&served).contains("conductor_workers{state=\"away\"} 1"));
    served.by(&served.owner(), "DELETE", "/api/workers/w1", &json!({})).expect(200);
    served.by(&served.owner(), "DELETE", "/api/workers/w1", &json!({})).expect(404);
    served.post("/api/workers/w9/drain", json!({})).expect(404);
    let audit = served.get("/api/audit");
    let done: Vec<(&str, &str, u64)> = audit["entries"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|entry| entry["path"].as_str().unwrap().starts_with("/api/workers"))
        .map(|entry| {
            let text = |name: &str| entry[name].as_str().unwrap();
            (text("method"), text("who"), entry["status"].as_u64().unwrap())
        })
        .collect();
    assert!(done.contains(&("DELETE", "owner", 200)) && done.contains(&("POST", "bea", 403)), "{done:?}");
}

fn metrics(served: &Served<'_>) -> String {
    served.by(&served.owner(), "GET", "/metrics", &json!({})).expect(200).body
}
