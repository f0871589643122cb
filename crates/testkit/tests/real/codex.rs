use conductor_testkit::agents::Agent;
use conductor_testkit::{Fault, Kind, Script, UsageLimit};
use serde_json::json;

use crate::harness::{HELLO, REPORTED, World, report, then_work, work};

fn world(script: Script) -> Option<World> {
    World::of(Agent::Codex, script)
}

#[test]
fn it_writes_runs_edits_and_ends() {
    let Some(world) = world(work()) else { return };
    let ended = world.run();
    let usage = &ended.exited(0).last("turn.completed")["usage"];
    assert_eq!((&usage["input_tokens"], &usage["cached_input_tokens"]), (&json!(4800), &json!(800)));
    assert_eq!(
        (world.read("hello.txt").as_str(), world.read("copy.txt").as_str()),
        (HELLO, "edited by the agent\n")
    );
    assert_eq!(ended.last("item.completed")["item"]["text"], "Done: hello.txt written.");
}

#[test]
fn a_file_without_a_last_newline_is_written_so() {
    let Some(world) = world(Script::new().write_file("bare.txt", "it's bare").finish("Done.")) else {
        return;
    };
    world.run().exited(0);
    assert_eq!(world.read("bare.txt"), "it's bare");
}

#[test]
fn it_waits_out_a_rate_limit() {
    let trouble = Script::new().error(Fault::of(Kind::RateLimit).times(1).retry_after(1));
    let Some(world) = world(then_work(trouble)) else { return };
    let ended = world.run();
    ended.exited(0).last("turn.completed");
    assert!(ended.last("error")["message"].as_str().unwrap().contains("429"));
    assert_eq!((world.statuses(), world.read("hello.txt").as_str()), (vec![429, 200, 200], HELLO));
}

#[test]
fn it_gives_up_on_a_key_that_is_refused() {
    let Some(world) = world(Script::new().error(Fault::of(Kind::Authentication))) else { return };
    let ended = world.run();
    assert!(ended.exited(1).last("turn.failed")["error"]["message"].as_str().unwrap().contains("401"));
    assert_eq!(world.statuses(), [401, 401, 401]);
}

#[test]
fn it_goes_on_after_a_connection_that_was_cut() {
    let Some(world) = world(then_work(Script::new().cut(1))) else { return };
    world.run().exited(0).last("turn.completed");
    assert_eq!(world.read("hello.txt"), HELLO);
    assert_eq!(world.requests().len(), 3);
}

#[test]
fn it_tells_when_its_allowance_is_used_up() {
    let Some(world) = world(Script::new().usage_limit(UsageLimit::lasting(7200))) else { return };
    let ended = world.run();
    let failed = ended.exited(1).last("turn.failed")["error"]["message"].as_str().unwrap().to_owned();
    assert!(failed.contains("usage limit") && failed.contains("try again at"), "{failed}");
    assert_eq!(world.statuses(), [429]);
}

#[test]
fn it_finds_and_calls_an_mcp_tool() {
    let Some(world) = world(report()) else { return };
    let server = world.mcp_server();
    let mut command = world.command("Do it");
    for setting in ["command", "args"] {
        command.args(["-c", &format!("mcp_servers.tasks.{setting}={}", server[setting])]);
    }
    command.args(["-c", "mcp_servers.tasks.default_tools_approval_mode=\"approve\""]);
    world.finish(command).exited(0).last("turn.completed");
    assert_eq!(world.read("mcp.log"), REPORTED);
}
