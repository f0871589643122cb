//! What a project has taught, over the API.

use serde_json::json;

use super::client::Served;
use crate::harness::World;

#[test]
fn items_are_listed_changed_and_brought_back_over_the_api() {
    let world = World::in_place("tasks: [{ id: a, run: 'true', verify: ['test -f no.txt'] }]");
    world.conductor(&["project", "add", "--id", "web"]).expect(0);
    let served = Served::start(&world);
    let at = "/api/projects/web/expertise";
    let new = json!({ "claim": "Handlers return Problem.", "domain": "api", "check": "test -f no.txt" });
    let added = served.post(at, new).expect(201).json();
    let id = added["id"].as_str().unwrap().to_owned();
    assert_eq!(served.get(at)["items"][0]["claim"], "Handlers return Problem.");
    let owner = served.owner();
    let put = served.by(&owner, "PUT", &format!("{at}/{id}"), &json!({ "claim": "Handlers return Result." }));
    assert_eq!(put.expect(200).json()["claim"], "Handlers return Result.");
    assert_eq!(served.get(&format!("{at}/{id}/history"))["versions"].as_array().unwrap().len(), 2);
    served.post(&format!("{at}/{id}/restore"), json!({ "version": 1 })).expect(200);
    assert_eq!(served.get(&format!("{at}/{id}"))["claim"], "Handlers return Problem.");
    assert!(
        served.get(&format!("{at}/api"))["page"].as_str().unwrap().contains("Problem"),
        "the page of a domain"
    );
    let validated = served.post("/api/projects/web/expertise-validate", json!({})).expect(200).json();
    assert!(validated["findings"][0]["goes"]["check_fails"].is_object(), "{validated}");
    served.post("/api/projects/web/expertise-improve", json!({})).expect(200);
    assert_eq!(served.get(at)["items"].as_array().unwrap().len(), 0);
    assert_eq!(served.get("/api/projects/web/expertise-stats")["comparison"]["with"]["tasks"], 0);
    served.by(&owner, "PUT", &format!("{at}/{id}"), &json!({ "claim": "" })).expect(422);
    served.by(&owner, "GET", &format!("{at}/enothing00000"), &json!(null)).expect(422);
}

#[test]
fn items_are_exported_and_imported_over_the_api_and_evidence_is_shown() {
    let world = World::in_place("tasks: [{ id: a, run: 'echo done' }]");
    world.conductor(&["run", "tasks.yaml"]).expect(0);
    world.conductor(&["project", "add", "--id", "web"]).expect(0);
    let served = Served::start(&world);
    let whole = |more: &str| format!("/api/projects/web/expertise{more}");
    served.post(&whole(""), json!({ "claim": "Handlers return Problem.", "domain": "api" })).expect(201);
    let owner = served.owner();
    let text = served.by(&owner, "GET", &whole("-export"), &json!(null)).expect(200).body;
    assert!(text.contains("Handlers return Problem."), "{text}");
    let more = text.replace("Problem", "Result");
    let told = served.post(&whole("-import"), json!({ "text": more })).expect(200).json();
    assert_eq!((told["items"].as_u64(), told["changed"].as_u64()), (Some(1), Some(1)), "{told}");
    assert_eq!(served.get(&whole(""))["items"][0]["claim"], "Handlers return Result.");
    served.post(&whole("-import"), json!({ "text": "version: 1\nitems: [{ claim: 7 }]" })).expect(422);
    assert_eq!(served.get(&whole(""))["items"].as_array().unwrap().len(), 1);
    let evidence = served.get(&whole("-evidence"));
    assert_eq!(evidence["times"][0]["command"], "echo done", "{evidence}");
    assert_eq!(evidence["times"][0]["runs"][0], world.run_id().as_str());
    // Who wants a model to read says what it may cost.
    served.post(&whole("-learn"), json!({ "task": "a" })).expect(422);
    let refused = served.post(&whole("-learn"), json!({ "task": "a", "max_cost": 0.01 }));
    assert!(refused.body.contains("no agent has worked on task"), "{}", refused.body);
}
