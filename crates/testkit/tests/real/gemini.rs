use std::fs;

use conductor_testkit::agents::Agent;
use conductor_testkit::{Fault, Kind, Script, UsageLimit};
use serde_json::{Value, json};

use crate::harness::{HELLO, REPORTED, World, report, then_work, work};

fn world(script: Script) -> Option<World> {
    World::of(Agent::Gemini, script)
}

#[test]
fn it_writes_runs_edits_and_ends() {
    let Some(world) = world(work()) else { return };
    let ended = world.run();
    let result = ended.exited(0).last("result");
    assert_eq!(result["status"], "success");
    assert_eq!((&result["stats"]["input_tokens"], &result["stats"]["cached"]), (&json!(4800), &json!(800)));
    assert_eq!(
        (world.read("hello.txt").as_str(), world.read("copy.txt").as_str()),
        (HELLO, "edited by the agent\n")
    );
}

#[test]
fn it_waits_out_a_rate_limit() {
    let trouble = Script::new().error(Fault::of(Kind::RateLimit).times(1).retry_after(1));
    let Some(world) = world(then_work(trouble)) else { return };
    assert_eq!(world.run().exited(0).last("result")["status"], "success");
    assert_eq!((world.statuses(), world.read("hello.txt").as_str()), (vec![429, 200, 200], HELLO));
}

#[test]
fn it_gives_up_on_a_key_that_is_refused() {
    let Some(world) = world(Script::new().error(Fault::of(Kind::Authentication))) else { return };
    let ended = world.run();
    // Its exit code is the HTTP status, as far as a byte can hold it.
    assert_eq!(ended.exited(401 & 255).last("result")["status"], "error");
    assert_eq!(world.statuses(), [401]);
}

#[test]
fn it_fails_when_a_connection_is_cut() {
    let Some(world) = world(then_work(Script::new().cut(1))) else { return };
    assert_eq!(world.run().exited(1).last("result")["status"], "error");
    assert_eq!(world.requests().len(), 1);
}

#[test]
fn it_tells_when_its_quota_is_used_up() {
    let Some(world) = world(Script::new().usage_limit(UsageLimit::lasting(7200))) else { return };
    let ended = world.run();
    let message = ended.last("result")["error"]["message"].as_str().unwrap();
    assert!(message.contains("daily quota"), "{message}");
    assert_eq!(world.statuses(), [429]);
}

#[test]
fn it_calls_an_mcp_tool() {
    let Some(world) = world(report()) else { return };
    let command = world.command("Do it");
    let settings = world.home().join(".gemini/settings.json");
    let mut json: Value = serde_json::from_str(&fs::read_to_string(&settings).unwrap()).unwrap();
    json["mcpServers"] = json!({"tasks": world.mcp_server()});
    fs::write(settings, json.to_string()).unwrap();
    assert_eq!(world.finish(command).exited(0).last("result")["status"], "success");
    assert_eq!(world.read("mcp.log"), REPORTED);
}
