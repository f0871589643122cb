//! Real agents that race for one task.

use conductor_testkit::Script;
use conductor_testkit::agents::Agent;

use super::Bench;
use crate::repository::{conductor, expect_tidy, git};

/// Both agents follow one script. The one that makes the folder `first` goes on when both have done half;
/// the other is held at its command. They share files outside of their workspaces, which a rule has to allow.
fn contested(bench: &Bench) -> Script {
    let [both, first, never] = ["both", "first", "never"].map(|name| bench.world.path(name));
    let until = |what: String| format!("until {what}; do sleep 0.05; done");
    let (together, held) = (
        until(format!("test $(wc -l < {}) = 2", both.display())),
        until(format!("test -e {}", never.display())),
    );
    let (both, first) = (both.display(), first.display());
    let race = format!(
        "echo here >> {both}; if mkdir {first}; then {together}; else {held}; fi; echo done > out.txt"
    );
    Script::new().write_file("half.txt", "half\n").run(race).finish("Written.")
}

#[test]
fn claude_and_codex_race_and_one_lands() {
    let tasks = "  - { id: a, prompt: '[[script:race]] Write it', race: [claude, { agent: codex, model: gpt-5.5-codex }], permissions: { allow: ['Edit(HERE*)'] } }";
    let Some(bench) = Bench::new(Agent::Claude, "", tasks).and_then(|bench| bench.also(Agent::Codex)) else {
        return;
    };
    bench.script("race", contested(&bench));
    let live = bench.run(&["-p", "2", "--stats"]);
    live.ended_within(super::SLOW).expect(0).says("1 of 1 completed").says("1 landed; 0 lost, 0 leaked");
    assert_eq!(bench.landed("out.txt"), "done");
    let race = bench.world.summary()["results"][0]["race"].clone();
    let winner = race["winner"].as_str().unwrap();
    let loser = ["a.claude", "a.codex"].into_iter().find(|name| *name != winner).unwrap();
    assert_eq!(bench.world.logged("task_completed"), [winner, "a"]);
    assert_eq!(bench.world.logged("task_cancelled"), [loser]);
    let kept = format!("refs/conductor/rescue/{}/{loser}/1:half.txt", bench.world.run_id());
    assert_eq!(git(&bench.world, &["show", &kept]), "half");
    let sessions = std::fs::read_to_string(bench.world.home().join("sessions.jsonl")).unwrap_or_default();
    let told =
        |what: &str| sessions.lines().filter(|line| line.contains("\"a.") && line.contains(what)).count();
    assert_eq!((told("\"started\""), told("\"")), (2, 4), "two lines for each: {sessions}");
    let costs = conductor(&bench.world, &["cost", "--by", "task"]).expect(0).stdout;
    assert!(costs.contains("a ") && !costs.contains("a.claude"), "{costs}");
    expect_tidy(&bench.world);
}

/// A call costs about 0.0055 dollars here; two that race reach the cap of their task together.
#[test]
fn a_cap_on_money_holds_for_all_who_race() {
    let tasks = "  - { id: a, prompt: '[[script:long]] Do a lot', max_cost: 0.03, attempts_in_parallel: 2 }";
    let Some(bench) = Bench::new(Agent::Claude, "", tasks) else { return };
    let script = (0..40).fold(Script::new(), |script, n| script.run(format!("echo {n} >> n.txt; sleep 0.1")));
    bench.script("long", script.finish("Done."));
    let ended =
        bench.run(&["-p", "2"]).ended_within(super::SLOW).expect(100).says("reached max_cost $0.0300,");
    let summary = bench.world.summary();
    let (cost, task) =
        (summary["cost_usd"].as_f64().unwrap(), summary["results"][0]["cost_usd"].as_f64().unwrap());
    // Calls under way count as large as the last ones were: both may be stopped before theirs are billed.
    let least = if ended.stderr.contains("by an estimate from above") { 0.03 - 2.0 * 0.0056 } else { 0.03 };
    assert!((least..0.06).contains(&cost), "{cost}");
    assert!((cost - task).abs() < 1e-9, "the task's cost is that of both: {cost} {task}");
    let of = |at: usize| summary["results"][0]["race"]["entrants"][at]["cost_usd"].as_f64().unwrap();
    assert!(of(0) > 0.0 && of(1) > 0.0 && (of(0) + of(1) - cost).abs() < 1e-9, "{} {}", of(0), of(1));
    expect_tidy(&bench.world);
}
