//! E10: what is secret comes out nowhere.

use serde_json::json;

use super::client::Served;
use crate::harness::World;

const CANARY: &str = "sk-ant-api03-CanaryCanaryCanaryCanaryCanary-1234567890";

#[test]
fn no_secret_leaves_by_the_server() {
    let mut world = World::in_place("tasks: [{ id: a, run: 'echo the key is $(cat key); exit 1' }]");
    world.write("key", CANARY);
    world.set("ANTHROPIC_API_KEY", CANARY);
    world.conductor(&["project", "add", "--id", "web"]).expect(0);
    let served = Served::with(&world, &["-vv"]);
    let mut socket = served.socket("/api/ws/web");
    world.conductor(&["run", "tasks.yaml"]).expect(100);
    let run = world.run_id();
    let told = format!("{:?}", socket.until("parallel_complete"));
    let mut all = vec![("the socket".to_owned(), told)];
    let paths = [
        "",
        "/tasks",
        "/tasks/a",
        "/tasks/a/attempts",
        "/events",
        "/tasks/a/log",
        "/tasks/a/conversation",
        "/log",
        "/summary",
        "/report",
        "/graph",
    ];
    for path in paths {
        let path = format!("/api/runs/{run}{path}");
        let answer = served.by(&served.owner(), "GET", &path, &json!({})).expect(200);
        all.push((path, answer.body));
    }
    for path in
        ["/metrics", "/api/audit", "/api/projects/web/tasks", "/api/projects/web/config", "/api/inbox"]
    {
        all.push((path.to_owned(), served.by(&served.owner(), "GET", path, &json!({})).body));
    }
    let database = std::fs::read(world.home().join("server/server.db")).unwrap();
    all.push(("server.db".to_owned(), String::from_utf8_lossy(&database).into_owned()));
    let log = served.by(&served.owner(), "GET", &format!("/api/runs/{run}/tasks/a/log"), &json!({})).body;
    assert!(log.contains("the key is *"), "{log}");
    served.post(&format!("/api/runs/{run}/pause"), json!({})).expect(409);
    let owner = served.owner();
    // What it logged itself: the request was recorded there.
    let logged = served.stop().stderr;
    assert!(logged.contains("/pause"), "{logged}");
    all.push(("the server's log".to_owned(), logged));
    for (place, text) in all {
        assert!(!text.contains(CANARY), "{place}: {text}");
        assert!(!text.contains(&owner), "{place} has the owner's token");
    }
}
