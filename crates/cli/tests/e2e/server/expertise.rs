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
