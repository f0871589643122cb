//! Whatever a provider says no to is no success. Each has its class, and only what may pass by itself is tried again.

use conductor_testkit::agents::Agent;
use conductor_testkit::{Fault, Kind, Script};

use super::{Bench, for_each_agent};
use crate::repository::expect_tidy;

for_each_agent!(are_no_success);

/// What the provider does, what it is called, and how often it is tried.
fn cases() -> [(&'static str, Script, &'static str, u64); 9] {
    let refused = |fault: Fault| Script::new().error(fault);
    let soon = |kind: Kind| Fault::of(kind).retry_after(1);
    [
        ("key", refused(Fault::of(Kind::Authentication)), "unauthorized", 1),
        ("right", refused(Fault::of(Kind::Permission)), "unauthorized", 1),
        ("model", refused(Fault::of(Kind::ModelNotFound)), "unknown_model", 1),
        ("rate", refused(soon(Kind::RateLimit)), "rate_limited", 2),
        ("server", refused(soon(Kind::Server)), "provider", 2),
        ("overload", refused(soon(Kind::Overloaded)), "overloaded", 2),
        ("cut", Script::new().cut(1000).write_file("a.txt", "a\n"), "provider", 2),
        ("long", refused(Fault::of(Kind::PromptTooLong)), "too_long", 1),
        ("credit", refused(Fault::of(Kind::CreditTooLow)), "billing", 1),
    ]
}

fn are_no_success(agent: Agent) {
    let tasks =
        cases().map(|(name, ..)| format!("  - {{ id: {name}, prompt: '[[script:{name}]] Do it' }}\n"));
    let config = "retry_policy: { max_attempts: 2, initial_delay: 0 }";
    let Some(bench) = Bench::new(agent, config, &tasks.concat()) else { return };
    for (name, script, ..) in cases() {
        bench.script(name, script);
    }
    bench.run(&["-p", "3"]).ended().expect(100);
    let summary = bench.world.summary();
    let mut wrong = Vec::new();
    for (n, (name, _, class, attempts)) in cases().into_iter().enumerate() {
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
