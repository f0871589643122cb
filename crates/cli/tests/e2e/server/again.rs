//! One thing after the other, at once: a run that was only just started is there, an edit counts for the next start, and two
//! servers of the same home say the same.

use serde_json::{Value, json};

use super::client::Served;
use crate::harness::{World, wait_for};

const TASKS: &str = "
tasks:
  - { id: a, run: echo a >> HERE/calls }
  - { id: b, run: echo b >> HERE/calls }
  - { id: bad, run: 'echo bad >> HERE/calls; test -e HERE/fine', retry_policy: { max_attempts: 1 } }
";

fn world() -> World {
    let world = World::in_place("tasks: []");
    world.write("tasks.yaml", &TASKS.replace("HERE", &world.path("").display().to_string()));
    world.conductor(&["project", "add", "--id", "web"]).expect(0);
    world
}

fn over(served: &Served<'_>) -> Value {
    wait_for("the run's end", || {
        let status = served.get("/api/projects/web/parallel/status");
        (status["running"] == false && !status["run"].is_null()).then_some(status)
    })
}

/// What was called since it was last looked.
fn calls(world: &World) -> Vec<String> {
    let mut calls: Vec<String> = world.read("calls").lines().map(str::to_owned).collect();
    calls.sort();
    world.write("calls", "");
    calls
}

#[test]
fn a_run_in_the_background_is_there_for_the_next_call() {
    let world = World::in_place("tasks: [{ id: a, run: AGENT await go }]");
    world.conductor(&["project", "add", "--id", "web"]).expect(0);
    let served = Served::start(&world);
    // The list of runs is looked at before, so that an old one would be remembered.
    assert_eq!(served.get("/api/runs")["runs"], json!([]));
    for _ in 0..5 {
        let _ = std::fs::remove_file(world.path("go"));
        let run =
            world.conductor(&["run", "tasks.yaml", "--detach", "--json"]).expect(0).json()["run"].clone();
        let name = run.as_str().unwrap();
        let status = served.get("/api/projects/web/parallel/status");
        assert_eq!((&status["run"], &status["running"]), (&run, &json!(true)), "{status}");
        assert_eq!(served.get("/api/runs")["runs"][0]["run"], run);
        assert_eq!(served.get(&format!("/api/runs/{name}"))["live"], true);
        served.post("/api/projects/web/parallel/start", json!({})).expect(409);
        assert_eq!(
            served.post(&format!("/api/runs/{name}/pause"), json!({})).expect(200).json()["state"],
            "paused"
        );
        served.post(&format!("/api/runs/{name}/continue"), json!({})).expect(200);
        world.write("go", "");
        over(&served);
    }
}

#[test]
fn between_two_starts_only_what_was_edited_or_is_unfinished_runs() {
    let world = world();
    let served = Served::start(&world);
    let start = || served.post("/api/projects/web/parallel/start", json!({ "max_concurrency": 1 }));
    start().expect(202);
    assert_eq!(over(&served)["result"]["failed_tasks"][0]["task_id"], "bad");
    assert_eq!(calls(&world), ["a", "b", "bad"]);
    let tasks = served.get("/api/projects/web/tasks");
    let done: Vec<&Value> = tasks["tasks"].as_array().unwrap().iter().map(|task| &task["done"]).collect();
    assert_eq!(json!(done), json!([true, true, false]));
    let edit = |task: &str, body: Value| {
        let bearer = format!("Bearer {}", served.owner());
        let version = served.get("/api/projects/web/tasks")["version"].as_str().unwrap().to_owned();
        let headers = [
            ("Authorization", bearer.as_str()),
            ("Content-Type", "application/json"),
            ("If-Match", &version),
        ];
        served
            .ask("PATCH", &format!("/api/projects/web/tasks/{task}"), &headers, &body.to_string())
            .expect(200);
    };
    let calls_file = world.path("calls").display().to_string();
    edit("a", json!({ "fields": { "run": format!("echo again >> {calls_file}") } }));
    // What is not part of what is asked for changes nothing.
    edit("b", json!({ "fields": { "priority": "high" } }));
    let added = json!({ "fields": { "id": "new", "run": format!("echo new >> {calls_file}"), "dependencies": ["b"] } });
    served.post("/api/projects/web/tasks", added).expect(201);
    world.write("fine", "");
    start().expect(202);
    let result = over(&served)["result"].clone();
    assert_eq!((&result["total_tasks"], &result["completed_tasks"]), (&json!(3), &json!(3)));
    assert_eq!(calls(&world), ["again", "bad", "new"]);
    start().expect(409);
    assert_eq!(calls(&world), [""; 0]);
}

#[test]
fn a_second_server_of_the_same_home_says_the_same() {
    let world = world();
    let first = Served::start(&world);
    let taken = first.address.to_string();
    world
        .conductor(&["serve", "--bind", &taken])
        .expect(1)
        .says(&format!("port {} of 127.0.0.1 is in use by", first.address.port()))
        .says(&format!("(process {})", first.pid()))
        .says("use another port");
    let second = Served::start(&world);
    assert_eq!(first.owner(), second.owner());
    // Begun at one, seen and refused at the other.
    let run = first.post("/api/projects/web/parallel/start", json!({})).expect(202).json()["run"].clone();
    wait_for("the same run", || {
        (second.get("/api/projects/web/parallel/status")["run"] == run).then_some(())
    });
    over(&second);
    let path = format!("/api/runs/{}/events", run.as_str().unwrap());
    assert_eq!(first.get(&path), second.get(&path));
    // Users, tokens and projects are made at one and count at the other.
    let token = first.post("/api/tokens", json!({ "name": "ci", "role": "viewer" })).expect(201).json();
    let name = token["token"].as_str().unwrap().to_owned();
    second.by(&name, "GET", "/api/me", &json!({})).expect(200);
    second
        .by(&second.owner(), "DELETE", &format!("/api/tokens/{}", token["id"].as_str().unwrap()), &json!({}))
        .expect(200);
    first.by(&name, "GET", "/api/me", &json!({})).expect(401);
    // The one that ends leaves the other's note alone.
    let noted = || std::fs::read_to_string(world.home().join("server/address")).unwrap_or_default();
    assert!(noted().contains(&second.address.port().to_string()), "{}", noted());
    let kept = noted();
    first.stop().expect(0);
    assert_eq!(noted(), kept);
    second.get("/api/projects");
    second.stop().expect(0);
    assert_eq!(noted(), "");
}

#[test]
fn of_two_servers_that_start_at_once_one_wins() {
    let world = World::in_place("tasks: [{ id: a, run: AGENT await go }]");
    world.conductor(&["project", "add", "--id", "web"]).expect(0);
    let servers = [Served::start(&world), Served::start(&world)];
    let start = |served: &Served<'_>| served.post("/api/projects/web/parallel/start", json!({})).status;
    let mut statuses: Vec<u16> = std::thread::scope(|scope| {
        let start = &start;
        let threads: Vec<_> = servers.iter().map(|served| scope.spawn(move || start(served))).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    statuses.sort_unstable();
    world.write("go", "");
    over(&servers[0]);
    assert_eq!((statuses, world.runs().len()), (vec![202, 409], 1));
}
