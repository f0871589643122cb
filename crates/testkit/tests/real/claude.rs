use std::thread;

use conductor_testkit::agents::Agent;
use conductor_testkit::{Answered, Fault, Kind, Script, UsageLimit};
use serde_json::json;

use crate::harness::{HELLO, JOB, REPORTED, World, report, then_work, work};

fn world(script: Script) -> Option<World> {
    World::of(Agent::Claude, script)
}

#[test]
fn it_writes_runs_edits_and_ends() {
    let Some(world) = world(work()) else { return };
    let ended = world.run();
    let result = ended.exited(0).last("result");
    assert_eq!((&result["is_error"], &result["result"]), (&json!(false), &json!("Done: hello.txt written.")));
    assert_eq!(
        (world.read("hello.txt").as_str(), world.read("copy.txt").as_str()),
        (HELLO, "edited by the agent\n")
    );
    // Four turns; reading the file before the edit costs nothing.
    assert_eq!(
        (&result["usage"]["input_tokens"], &result["usage"]["output_tokens"]),
        (&json!(4000), &json!(200))
    );
    let called: Vec<Answered> = world.requests().into_iter().map(|request| request.answer).collect();
    let named = |name: &str| Answered::Called(name.to_owned());
    let expected =
        [named("Write"), named("Bash"), Answered::Prepared("Read".into()), named("Edit"), Answered::Text];
    assert_eq!(called, expected);
}

#[test]
fn it_waits_out_a_rate_limit() {
    let trouble = Script::new().error(Fault::of(Kind::RateLimit).times(1).retry_after(1));
    let Some(world) = world(then_work(trouble)) else { return };
    let ended = world.run();
    assert_eq!(ended.exited(0).last("result")["is_error"], false);
    let retry = ended.events.iter().find(|event| event["subtype"] == "api_retry").unwrap();
    assert_eq!((&retry["error_status"], &retry["error"]), (&json!(429), &json!("rate_limit")));
    assert_eq!((world.statuses(), world.read("hello.txt").as_str()), (vec![429, 200, 200], HELLO));
}

#[test]
fn it_gives_up_on_a_key_that_is_refused() {
    let Some(world) = world(Script::new().error(Fault::of(Kind::Authentication))) else { return };
    let ended = world.run();
    let result = ended.exited(1).last("result");
    assert_eq!((&result["is_error"], &result["api_error_status"]), (&json!(true), &json!(401)));
    assert_eq!(ended.last("assistant")["error"], "authentication_failed");
    assert_eq!(world.statuses(), [401, 401, 401]);
}

#[test]
fn it_knows_each_refusal_by_its_kind() {
    let cases = [
        (Kind::Permission, "authentication_failed", 403),
        (Kind::ModelNotFound, "model_not_found", 404),
        (Kind::PromptTooLong, "invalid_request", 400),
        (Kind::CreditTooLow, "billing_error", 400),
    ];
    for (kind, error, status) in cases {
        let Some(world) = world(Script::new().error(Fault::of(kind))) else { return };
        let ended = world.run();
        let result = ended.exited(1).last("result");
        assert_eq!(result["api_error_status"], status, "{kind:?}");
        assert_eq!(ended.last("assistant")["error"], error, "{kind:?}");
    }
}

#[test]
fn it_goes_on_after_a_connection_that_was_cut() {
    let Some(world) = world(then_work(Script::new().cut(1))) else { return };
    let ended = world.run();
    assert_eq!(ended.exited(0).last("result")["result"], "Done.");
    assert_eq!(world.read("hello.txt"), HELLO);
    let answers: Vec<Answered> = world.requests().into_iter().map(|request| request.answer).collect();
    assert_eq!(answers, [Answered::Cut, Answered::Called("Write".into()), Answered::Text]);
}

#[test]
fn it_tells_when_a_subscription_is_used_up() {
    let resets_at = 4_000_000_000_u64;
    let Some(world) = world(Script::new().usage_limit(UsageLimit::at(resets_at))) else { return };
    let mut command = world.command("Do it");
    command.env_remove("ANTHROPIC_API_KEY").env("CLAUDE_CODE_OAUTH_TOKEN", "sk-ant-oat01-dummy");
    let ended = world.finish(command);
    assert_eq!(ended.exited(1).last("result")["api_error"], "usage_limit_reached");
    assert_eq!(ended.last("rate_limit_event")["rate_limit_info"]["resetsAt"], resets_at);
}

#[test]
fn it_finds_and_calls_an_mcp_tool() {
    let Some(world) = world(report()) else { return };
    let servers = json!({"mcpServers": {"tasks": world.mcp_server()}});
    let mut command = world.command("Do it");
    command.args(["--strict-mcp-config", "--mcp-config", &servers.to_string()]);
    let ended = world.finish(command);
    assert_eq!(ended.exited(0).last("result")["result"], "reported");
    assert_eq!(world.read("mcp.log"), REPORTED);
}

#[test]
fn a_resumed_session_goes_on_in_the_script() {
    let script = Script::new().run("echo 1 > one").finish("First.").run("echo 2 > two").finish("Second.");
    let Some(world) = world(script) else { return };
    let session = "11111111-2222-4333-8444-555555555555";
    for (option, said) in [("--session-id", "First."), ("--resume", "Second.")] {
        let mut command = world.command("Do it");
        command.args([option, session]);
        assert_eq!(world.finish(command).exited(0).last("result")["result"], said);
    }
    assert_eq!((world.read("one").as_str(), world.read("two").as_str()), ("1\n", "2\n"));
}

#[test]
fn a_subagent_has_a_script_of_its_own() {
    let prompt = "[[script:below]] Do it";
    let input = json!({"description": "sub", "prompt": prompt, "subagent_type": "general-purpose"});
    let Some(world) = world(Script::new().tool("Agent", input).finish("Above.")) else { return };
    world.stand_in.script("below", Script::new().run("echo below > below").finish("Below."));
    assert_eq!(world.run().exited(0).last("result")["result"], "Above.");
    assert_eq!((world.read("below").as_str(), world.stand_in.requests("below").len()), ("below\n", 2));
}

#[test]
fn many_share_one_script() {
    let worlds: Vec<World> = (0..3).filter_map(|_| world(Script::new())).collect();
    let Some(first) = worlds.first() else { return };
    first.stand_in.script(JOB, then_work(Script::new()));
    thread::scope(|scope| {
        for world in &worlds {
            let mut command = world.command("Do it");
            command.env("ANTHROPIC_BASE_URL", first.stand_in.base_url(JOB));
            scope
                .spawn(move || assert_eq!(world.finish(command).exited(0).last("result")["result"], "Done."));
        }
    });
    assert!(worlds.iter().all(|world| world.read("hello.txt") == HELLO));
    assert_eq!(first.requests().len(), 6);
}
