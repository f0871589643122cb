use std::fs;

use conductor_testkit::agents::Agent;
use conductor_testkit::{Answered, Fault, Kind, Script};
use serde_json::{Value, json};

use crate::harness::{HELLO, REPORTED, World, report, then_work, work};

fn world(script: Script) -> Option<World> {
    World::of(Agent::Opencode, script)
}

#[test]
fn it_writes_runs_edits_and_ends() {
    let Some(world) = world(work()) else { return };
    let ended = world.run();
    let part = &ended.exited(0).last("step_finish")["part"];
    assert_eq!((&part["reason"], &part["tokens"]["input"]), (&json!("stop"), &json!(1000)));
    assert_eq!(ended.last("text")["part"]["text"], "Done: hello.txt written.");
    assert_eq!(
        (world.read("hello.txt").as_str(), world.read("copy.txt").as_str()),
        (HELLO, "edited by the agent\n")
    );
    assert!(
        world.requests().iter().any(|request| request.answer == Answered::Aside),
        "a title was asked for"
    );
}

#[test]
fn it_waits_out_a_rate_limit() {
    let trouble = Script::new().error(Fault::of(Kind::RateLimit).times(1).retry_after(1));
    let Some(world) = world(then_work(trouble)) else { return };
    assert_eq!(world.run().exited(0).last("step_finish")["part"]["reason"], "stop");
    assert_eq!((world.statuses(), world.read("hello.txt").as_str()), (vec![429, 200, 200], HELLO));
}

#[test]
fn it_gives_up_on_a_key_that_is_refused() {
    let Some(world) = world(Script::new().error(Fault::of(Kind::Authentication))) else { return };
    let ended = world.run();
    assert_eq!(ended.exited(1).last("error")["error"]["data"]["statusCode"], 401);
    assert_eq!(world.statuses(), [401]);
}

#[test]
fn it_goes_on_after_a_connection_that_was_cut() {
    let Some(world) = world(then_work(Script::new().cut(1))) else { return };
    world.run().exited(0).last("step_finish");
    assert_eq!(world.read("hello.txt"), HELLO);
}

#[test]
fn it_calls_an_mcp_tool() {
    let Some(world) = world(report()) else { return };
    let command = world.command("Do it");
    let settings = world.home().join(".config/opencode/opencode.json");
    let mut json: Value = serde_json::from_str(&fs::read_to_string(&settings).unwrap()).unwrap();
    let server = world.mcp_server();
    let words = [&server["command"], &server["args"][0], &server["args"][1]];
    json["mcp"] = json!({"tasks": {"type": "local", "command": words, "enabled": true}});
    fs::write(settings, json.to_string()).unwrap();
    world.finish(command).exited(0).last("step_finish");
    assert_eq!(world.read("mcp.log"), REPORTED);
}
