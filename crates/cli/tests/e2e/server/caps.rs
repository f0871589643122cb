//! Caps and priorities over the API, of runs that go on and of runs that were left.

use serde_json::json;

use super::client::Served;
use crate::caps::{CAPPED, IN_LINE, world};
use crate::harness::World;

#[test]
fn a_cap_is_raised_over_the_api_and_the_run_goes_on() {
    let world = world(CAPPED);
    let served = Served::start(&world);
    let live = world.start(&["run", "tasks.yaml", "-p", "2"]);
    world.wait_for_file("began");
    live.wait_for_stderr("budget reached, starting nothing new");
    let run = world.run_id();
    let caps = format!("/api/runs/{run}/caps");
    assert_eq!(served.get(&format!("/api/runs/{run}"))["state"], "finishing");
    served.post(&caps, json!({})).expect(422);
    served.post(&caps, json!({ "max_cost": 0 })).expect(422);
    let said = served.post(&caps, json!({ "max_cost": 5, "max_time": 3600 })).expect(200).json();
    assert_eq!((&said["max_cost_usd"], &said["max_time_ms"]), (&json!(5.0), &json!(3_600_000)));
    world.wait_for_file("after-done");
    let status = served.get(&format!("/api/runs/{run}"));
    assert_eq!((&status["state"], &status["max_cost_usd"]), (&json!("running"), &json!(5.0)));
    world.write("go", "");
    live.ended().expect(0);
    served.post(&caps, json!({ "max_cost": 6 })).expect(409);
}

#[test]
fn a_priority_is_changed_over_the_api_whether_the_run_is_active_or_not() {
    let world = World::in_place(IN_LINE);
    let served = Served::start(&world);
    let live = world.start(&["run", "tasks.yaml", "-p", "1"]);
    world.wait_for_file("began");
    let run = world.run_id();
    let tasks = format!("/api/runs/{run}/tasks");
    let set =
        |task: &str, to: u64| served.post(&format!("{tasks}/{task}/priority"), json!({ "priority": to }));
    set("third", 0).expect(200);
    assert_eq!(served.get(&format!("{tasks}/third"))["task"]["priority"], 0);
    set("third", 7).expect(422);
    set("fourth", 1).expect(404);
    live.signal(rustix::process::Signal::KILL);
    live.ended();
    set("second", 0).expect(200);
    set("third", 3).expect(200);
    served.post(&format!("/api/runs/{run}/caps"), json!({ "max_attempts": 9 })).expect(200);
    world.write("go", "");
    world.conductor(&["run", "--resume", &run, "-p", "1"]).expect(0);
    assert_eq!(world.logged("attempt_started"), ["first", "second", "first", "third"]);
}
