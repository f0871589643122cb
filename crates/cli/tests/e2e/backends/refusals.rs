//! A provider's refusal is never a success. Each has its class, and only what may pass by itself is tried
//! again.

use conductor_testkit::agents::Agent;
use conductor_testkit::{Fault, Kind, Script};

use super::{Bench, SLOW, for_each_agent, prompt};
use crate::repository::expect_tidy;

for_each_agent!(are_no_success);

/// A task, what its provider does, what that is called, and how often it is tried.
type Case = (&'static str, Script, &'static str, u64);

fn cases(agent: Agent) -> Vec<Case> {
    let refused = |fault: Fault| Script::new().error(fault);
    let soon = |kind: Kind| Fault::of(kind).retry_after(1);
    let mut cases = vec![
        ("model", refused(Fault::of(Kind::ModelNotFound)), "unknown_model", 1),
        ("rate", refused(soon(Kind::RateLimit)), "rate_limited", 2),
        ("server", refused(soon(Kind::Server)), "provider", 2),
        ("overload", refused(soon(Kind::Overloaded)), "overloaded", 2),
        ("long", refused(Fault::of(Kind::PromptTooLong)), "too_long", 1),
        ("credit", refused(Fault::of(Kind::CreditTooLow)), "billing", 1),
    ];
    // OpenCode asks again after a cut for a minute, and after a short answer for ever.
    if agent != Agent::Opencode {
        let deed = |trouble: Script| trouble.text("I will write it down.").write_file("a.txt", "a\n");
        cases.push(("cut", deed(Script::new().cut(1000)), "provider", 2));
        cases.push(("short", deed(Script::new().short(1000)), "provider", 2));
    }
    cases
}

fn are_no_success(agent: Agent) {
    let tasks: String = cases(agent).iter().map(|(name, ..)| prompt(name, "")).collect();
    let config = "retry_policy: { max_attempts: 2, initial_delay: 0 }";
    let Some(bench) = Bench::new(agent, config, &tasks) else { return };
    for (name, script, ..) in cases(agent) {
        bench.script(name, script);
    }
    bench.run(&["-p", "3", "--outage-patience", "0"]).ended_within(SLOW).expect(100);
    let summary = bench.world.summary();
    let mut wrong = Vec::new();
    for (n, (name, _, class, attempts)) in cases(agent).into_iter().enumerate() {
        let result = &summary["results"][n];
        let told = (&result["status"], &result["error"]["class"], &result["attempts"]);
        println!("{name:<10} {told:?} {} {}", result["error"]["message"], result["worked_ms"]);
        if told != (&"failed".into(), &class.into(), &attempts.into()) {
            wrong.push(name);
        }
    }
    assert!(wrong.is_empty(), "{wrong:?}");
    assert_eq!(summary["ledger"]["landed"], 0);
    expect_tidy(&bench.world);
}

/// Every agent that asks is refused: one task finds out, and the others stay as they are.
mod of_the_key {
    use super::*;

    for_each_agent!(stop_all_at_once);

    fn stop_all_at_once(agent: Agent) {
        let names = ["one", "two", "three"];
        let tasks: String = names.map(|name| prompt(name, "retry_policy: { max_attempts: 3 }")).concat();
        let Some(bench) = Bench::new(agent, "", &tasks) else { return };
        for name in names {
            bench.script(name, Script::new().error(Fault::of(Kind::Authentication)));
        }
        let ended = bench.run(&[]).ended_within(SLOW).expect(7);
        assert_eq!(ended.stderr.matches("FAILED").count(), 1, "{}", ended.stderr);
        let summary = bench.world.summary();
        assert_eq!(summary["results"][0]["error"]["class"], "unauthorized");
        assert_eq!(bench.world.logged("attempt_started"), ["one"]);
    }
}

/// Two that are refused at first: they wait, one asks again, and both are done without a failed try.
mod for_a_while {
    use super::*;

    #[test]
    fn claude() {
        fail_nothing(Agent::Claude);
    }

    #[test]
    fn codex() {
        fail_nothing(Agent::Codex);
    }

    /// They ask again themselves, and take their time for it.
    #[test]
    fn gemini_slowly() {
        fail_nothing(Agent::Gemini);
    }

    #[test]
    fn opencode_slowly() {
        fail_nothing(Agent::Opencode);
    }

    fn fail_nothing(agent: Agent) {
        let names = ["one", "two"];
        let tasks: String =
            names.map(|name| prompt(name, "retry_policy: { max_attempts: 1, initial_delay: 1 }")).concat();
        let Some(bench) = Bench::new(agent, "", &tasks) else { return };
        for name in names {
            let refused = Script::new().error(Fault::of(Kind::RateLimit).retry_after(1).times(4));
            bench.script(name, refused.write_file(format!("{name}.txt"), "x\n").finish("Written."));
        }
        bench.run(&["-p", "2"]).ended_within(SLOW).expect(0);
        for name in names {
            assert_eq!(bench.landed(&format!("{name}.txt")), "x");
        }
        expect_tidy(&bench.world);
    }
}

/// It would ask again for ever: after five in a row it is stopped, and nothing of it counts.
#[test]
fn opencode_is_stopped_where_every_answer_is_short() {
    let config = "retry_policy: { max_attempts: 1 }";
    let Some(bench) = Bench::new(Agent::Opencode, config, &prompt("short", "")) else { return };
    let answer = |script: Script, _| script.short(1000).finish("It is written, and checked with care.");
    bench.script("short", (0..20).fold(Script::new(), answer));
    bench.run(&["--outage-patience", "0"]).ended_within(SLOW).expect(100).says("break off");
    let result = &bench.world.summary()["results"][0];
    assert_eq!((&result["error"]["class"], &result["attempts"]), (&"provider".into(), &1.into()));
    expect_tidy(&bench.world);
}

/// It tries five times more by itself, which takes a minute.
#[test]
fn opencode_gives_up_on_cuts_slowly() {
    let config = "retry_policy: { max_attempts: 1 }";
    let Some(bench) = Bench::new(Agent::Opencode, config, &prompt("cut", "")) else { return };
    bench.script("cut", Script::new().cut(1000).write_file("a.txt", "a\n"));
    bench.run(&["--outage-patience", "0"]).ended_within(SLOW).expect(100).says("Connection reset");
    assert_eq!(bench.world.summary()["results"][0]["error"]["class"], "provider");
    expect_tidy(&bench.world);
}

/// A model that is not there gives way to the next one of the same agent, and that is no attempt of the task.
#[test]
fn another_model_takes_over() {
    let tasks = prompt("gone", "model: opus, fallback_models: [haiku], retry_policy: { max_attempts: 1 }");
    let Some(bench) = Bench::new(Agent::Claude, "", &tasks) else { return };
    let script = Script::new().error(Fault::of(Kind::ModelNotFound).times(2));
    bench.script("gone", script.write_file("a.txt", "a\n").finish("Written."));
    bench.run(&[]).ended_within(SLOW).expect(0).says("to its next model");
    let asked: Vec<bool> =
        bench.stand_in.requests("gone").iter().map(|request| request.model.contains("haiku")).collect();
    assert!(!asked[0] && *asked.last().unwrap(), "{asked:?}");
    assert_eq!(bench.landed("a.txt"), "a");
    let decisions = &bench.world.summary()["decisions"];
    assert_eq!(decisions[0]["strategy"], "alternative_model", "{decisions}");
    expect_tidy(&bench.world);
}
