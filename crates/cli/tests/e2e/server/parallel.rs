//! Seed 003's story: log in, start, watch, cancel, start again what is left.

use serde_json::{Value, json};

use super::client::Served;
use crate::harness::{World, wait_for};

const TASKS: &str = "
tasks:
  - { id: a, run: 'true' }
  - { id: b, run: 'true' }
  - { id: c, run: AGENT touch started then await go, dependencies: [a, b], epic: late }
  - { id: d, run: 'true', dependencies: [c] }
";

fn world() -> World {
    let world = World::in_place(TASKS);
    world.conductor(&["project", "add", "--id", "web"]).expect(0);
    world
}

fn wait_until_over(served: &Served<'_>) -> Value {
    wait_for("the run's end", || {
        let status = served.get("/api/projects/web/parallel/status");
        (status["running"] == false).then_some(status)
    })
}

#[test]
fn a_project_is_started_watched_cancelled_and_gone_on_with() {
    let world = world();
    let served = Served::start(&world);
    let idle = served.get("/api/projects/web/parallel/status");
    assert_eq!((&idle["running"], &idle["active_agents"]), (&json!(false), &json!(0)));
    served.post("/api/projects/web/parallel/cancel", json!({})).expect(409);

    let begun =
        served.post("/api/projects/web/parallel/start", json!({ "max_concurrency": 3 })).expect(202).json();
    let run = begun["run"].as_str().unwrap().to_owned();
    assert_eq!((&begun["max_concurrency"], &begun["strategy"]), (&json!(3), &json!("batch")));
    world.wait_for_file("started");
    let again = served.post("/api/projects/web/parallel/start", json!({})).expect(409).json();
    assert_eq!(again["run"], json!(run));

    let status = served.get("/api/projects/web/parallel/status");
    assert_eq!((&status["running"], &status["active_agents"]), (&json!(true), &json!(1)));
    assert_eq!(
        (&status["agents"][0]["task_id"], &status["agents"][0]["epic_id"]),
        (&json!("c"), &json!("late"))
    );
    assert!(status["agents"][0]["duration"].as_f64().is_some(), "{status}");
    let batches = served.get("/api/projects/web/parallel/batches")["batches"].clone();
    let states: Vec<&str> =
        batches.as_array().unwrap().iter().map(|one| one["status"].as_str().unwrap()).collect();
    assert_eq!(states, ["completed", "running", "pending"]);
    let first = served.get("/api/projects/web/parallel/batches/1")["batch"].clone();
    assert_eq!((&first["batch_number"], &first["task_ids"]), (&json!(1), &json!(["a", "b"])));
    served.by(&served.owner(), "GET", "/api/projects/web/parallel/batches/0", &json!({})).expect(404);

    assert_eq!(
        served.post("/api/projects/web/parallel/cancel", json!({})).expect(200).json()["cancelled"],
        2
    );
    let over = wait_until_over(&served);
    let result = &over["result"];
    assert_eq!((&result["total_batches"], &result["completed_tasks"]), (&json!(3), &json!(2)));
    assert_eq!(result["failed_tasks"], json!([]));

    // Only what is left runs.
    world.write("go", "");
    let next =
        served.post("/api/projects/web/parallel/start", json!({ "max_concurrency": 2 })).expect(202).json();
    assert_ne!(next["run"], json!(run));
    let over = wait_until_over(&served);
    assert_eq!((&over["result"]["total_tasks"], &over["result"]["completed_tasks"]), (&json!(2), &json!(2)));
    let nothing = served.post("/api/projects/web/parallel/start", json!({}));
    assert_eq!(nothing.status, 409, "{}", nothing.body);
}

#[test]
fn of_two_starts_at_once_one_wins() {
    let world = world();
    let served = Served::start(&world);
    let start = || served.post("/api/projects/web/parallel/start", json!({}));
    let statuses: Vec<u16> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..4).map(|_| scope.spawn(|| start().status)).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    let mut sorted = statuses.clone();
    sorted.sort_unstable();
    assert_eq!(sorted, [202, 409, 409, 409]);
    world.write("go", "");
    wait_until_over(&served);
    assert_eq!(world.runs().len(), 1);
}

#[test]
fn a_run_is_steered_over_the_server() {
    let world = world();
    let served = Served::start(&world);
    let live = world.start(&["run", "tasks.yaml"]);
    world.wait_for_file("started");
    let run = world.run_id();
    let post = |what: &str, body: Value| served.post(&format!("/api/runs/{run}/{what}"), body);
    assert_eq!(post("pause", json!({})).expect(200).json()["state"], "paused");
    assert_eq!(post("continue", json!({})).expect(200).json()["state"], "running");
    assert_eq!(post("slots", json!({ "slots": 4 })).expect(200).json()["slots"], 4);
    post("slots", json!({ "slots": 0 })).expect(422);
    post("tasks/d/skip", json!({})).expect(200);
    post("tasks/d/skip", json!({})).expect(409);
    post("tasks/zz/cancel", json!({})).expect(404);
    post("tasks/c/cancel", json!({})).expect(200);
    live.ended().expect(9);
    // One that was left is told so, and can be taken up.
    assert!(post("pause", json!({})).expect(409).json()["help"].as_str().unwrap().contains("resume"));
    world.write("go", "");
    post("resume", json!({ "retry_failed": true })).expect(202);
    wait_for("the end", || (served.get(&format!("/api/runs/{run}"))["state"] == "completed").then_some(()));
}

#[test]
fn a_run_whose_coordinator_was_killed_is_shown_as_left() {
    let world = world();
    let served = Served::start(&world);
    let live = world.start(&["run", "tasks.yaml"]);
    world.wait_for_file("started");
    let run = world.run_id();
    assert_eq!(served.get(&format!("/api/runs/{run}"))["state"], "running");
    live.signal(rustix::process::Signal::KILL);
    live.ended();
    let status = served.get(&format!("/api/runs/{run}"));
    let shown = (&status["live"], &status["state"], &status["can_be_resumed"], &status["running"]);
    assert_eq!(shown, (&json!(false), &json!("stopped"), &json!(true), &json!([])));
    let status = served.get("/api/projects/web/parallel/status");
    assert_eq!((&status["running"], &status["active_agents"]), (&json!(false), &json!(0)));
    world.write("go", "");
    served.post(&format!("/api/runs/{run}/resume"), json!({})).expect(202);
    wait_for("the end", || (served.get(&format!("/api/runs/{run}"))["state"] == "completed").then_some(()));
}
