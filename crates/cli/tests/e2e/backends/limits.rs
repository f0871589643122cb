//! A used-up allowance fails no task: the agent is parked until its provider's reset.

use conductor_testkit::agents::Agent;
use conductor_testkit::{Fault, Kind, Script, UsageLimit};
use rustix::process::Signal;

use super::{Bench, prompt};
use crate::repository::expect_tidy;

#[test]
fn claude() {
    parks_the_agent_and_goes_on_at_its_reset(Agent::Claude);
}

#[test]
fn codex() {
    parks_the_agent_and_goes_on_at_its_reset(Agent::Codex);
}

fn tasks() -> String {
    prompt("limit", "retry_policy: { max_attempts: 1 }") + "  - { id: other, run: 'echo 1 > other.txt' }\n"
}

/// The slot is free for others meanwhile, and the same conversation goes on.
fn parks_the_agent_and_goes_on_at_its_reset(agent: Agent) {
    let Some(mut bench) = Bench::new(agent, "", &tasks()) else { return };
    if agent == Agent::Claude {
        bench.world.unset("ANTHROPIC_API_KEY");
        bench.world.set("CLAUDE_CODE_OAUTH_TOKEN", "sk-ant-oat01-dummy");
    }
    let script = Script::new()
        .write_file("first.txt", "1\n")
        .usage_limit(UsageLimit::lasting(4))
        .write_file("second.txt", "2\n")
        .finish("Written.");
    bench.script("limit", script);
    bench.run(&[]).ended().expect(0).says("2 of 2 completed");
    assert_eq!(bench.world.logged("provider_parked").len(), 1, "one probe, not a stampede");
    let started = bench.world.logged("attempt_started");
    assert_eq!(started, ["limit", "other", "limit"], "the slot was free meanwhile");
    assert_eq!((bench.landed("first.txt"), bench.landed("second.txt")), ("1".into(), "2".into()));
    assert_eq!(bench.world.summary()["results"][0]["interruptions"], 1, "not an attempt");
    let late: i64 = bench
        .world
        .sql(
            "SELECT max(at) - (SELECT max(json_extract(body, '$.provider_parked.until')) FROM events) \
             FROM events WHERE json_extract(body, '$.attempt_started') IS NOT NULL",
        )
        .trim()
        .parse()
        .unwrap();
    println!("asked again {late} ms after the reset");
    assert!((0..10_000).contains(&late), "{late}");
    // How far a conversation has come is told by what it holds.
    let turns: Vec<usize> = bench.stand_in.requests("limit").iter().filter_map(|asked| asked.turn).collect();
    assert_eq!(turns, [0, 1, 1, 2], "it went on where it was");
    expect_tidy(&bench.world);
}

/// It says that its quota is used up, but not until when: it is asked again in ten minutes.
#[test]
fn gemini_is_put_aside_for_ten_minutes() {
    let Some(bench) = Bench::new(Agent::Gemini, "", &tasks()) else { return };
    bench.script("limit", Script::new().usage_limit(UsageLimit::lasting(7200)));
    let live = bench.run(&[]);
    live.wait_for_stderr("ok      other");
    let parked = || bench.world.sql("SELECT json_extract(body, '$.provider_parked.until') - at FROM events");
    let spans: Vec<i64> = parked().lines().filter_map(|span| span.parse().ok()).collect();
    assert!(matches!(spans[..], [span] if (590_000..=600_000).contains(&span)), "{spans:?}");
    live.signal(Signal::INT);
    live.ended().expect(130).says("--resume");
    let result = &bench.world.summary()["results"][0];
    assert_eq!((&result["status"], &result["interruptions"]), (&"pending".into(), &1.into()));
}

#[test]
fn claude_does_not_wait_for_hours() {
    wait_of_hours(Agent::Claude, "rate_limited");
}

#[test]
fn gemini_does_not_wait_for_hours() {
    wait_of_hours(Agent::Gemini, "rate_limited");
}

#[test]
fn codex_waits_for_hours_and_times_out_slowly() {
    let Some(bench) = wait_of_hours(Agent::Codex, "timed_out") else { return };
    let said = bench.said("busy");
    assert!(said.contains("[waiting]") && said.contains("429"), "{said}");
}

#[test]
fn opencode_waits_for_hours_and_times_out_slowly() {
    wait_of_hours(Agent::Opencode, "timed_out");
}

/// A provider that is busy says when it wants to be asked again, and that is not soon.
fn wait_of_hours(agent: Agent, class: &str) -> Option<Bench> {
    let tasks = prompt("busy", "timeout: 25, retry_policy: { max_attempts: 1 }");
    let bench = Bench::new(agent, "", &tasks)?;
    bench.script("busy", Script::new().error(Fault::of(Kind::RateLimit).retry_after(7200)));
    bench.run(&["--outage-patience", "0"]).ended().expect(100);
    assert_eq!(bench.world.summary()["results"][0]["error"]["class"], class);
    expect_tidy(&bench.world);
    Some(bench)
}
