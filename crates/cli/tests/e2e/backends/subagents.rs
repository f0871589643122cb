//! Usage of subagents is counted like that of their agent.

use conductor_testkit::agents::Agent;
use conductor_testkit::{Script, Usage};

use super::table::{Row, measured};
use super::{Bench, SLOW, prompt};

/// A call of a subagent, many times what the agent's own cost.
const DEAR: Usage = Usage { input: 20_000, output: 60, cache_read: 0, cache_write: 0 };

/// Prices under which the agents' own sums and ours are the same.
const PRICES: &str = "prices: { '*': { input: 4, output: 20, cache_read: 0.2, cache_write: 5 } },";

fn delegating(agent: Agent, settings: &str, calls: usize) -> Option<Bench> {
    let bench = Bench::new(agent, PRICES, &prompt("whole", settings))?;
    let whole = Script::new().delegate("part").write_file("a.txt", "a\n");
    bench.script("whole", whole.finish("Done."));
    // A model thinks for a while.
    let call = |part: Script, call| part.slow(400).run(format!("echo call number {call}"));
    let part = (0..calls).fold(Script::new(), call);
    bench.script("part", part.finish("The part that was mine is done.").usage_by_default(DEAR));
    Some(bench)
}

/// In dollars, by the prices above.
fn billed(bench: &Bench) -> f64 {
    let Usage { input, output, cache_read, cache_write } = bench.stand_in.billed();
    let parts = [(input, 4.0), (output, 20.0), (cache_read, 0.2), (cache_write, 5.0)];
    parts.iter().map(|(tokens, price)| *tokens as f64 * price / 1e6).sum()
}

#[track_caller]
fn counts_its_subagents(agent: Agent) {
    let Some(bench) = delegating(agent, "", 7) else { return };
    bench.run(&[]).ended_within(SLOW).expect(0);
    let (shown, billed) = (bench.world.summary()["cost_usd"].as_f64().unwrap(), billed(&bench));
    let asked = bench.stand_in.requests("part").iter().filter(|request| request.turn.is_some()).count();
    // Gemini is asked once more to say that its part is over.
    assert!((8..=9).contains(&asked), "{asked}");
    assert!((shown - billed).abs() < billed / 100.0, "{shown} shown, {billed} billed");
    assert!(billed > 0.4, "{billed}");
    measured(agent, Row::CostWithSubagents, "equal");
}

#[test]
fn claude_counts_its_subagents() {
    counts_its_subagents(Agent::Claude);
}

#[test]
fn gemini_counts_its_subagents() {
    counts_its_subagents(Agent::Gemini);
}

/// The cap is reached by the third call of the subagent; what is in flight then is all that may come on top.
#[track_caller]
fn is_stopped_by(agent: Agent, settings: &str, calls: usize) {
    let Some(bench) = delegating(agent, settings, 60) else { return };
    bench.run(&[]).ended_within(SLOW).expect(100).says("reached max_");
    let asked = bench.stand_in.requests("part").iter().filter(|request| request.turn.is_some()).count();
    assert!((calls..=calls + 2).contains(&asked), "{asked} calls");
    let (shown, billed) = (bench.world.summary()["cost_usd"].as_f64().unwrap(), billed(&bench));
    // An answer that was not waited for is not in the agent's own totals.
    let one_call = (DEAR.input as f64 * 4.0 + DEAR.output as f64 * 20.0) / 1e6;
    assert!(shown >= billed * 0.99 - one_call, "{shown} shown, {billed} billed");
}

#[test]
fn claudes_subagents_are_stopped_by_the_cap_of_their_task() {
    is_stopped_by(Agent::Claude, "max_cost: 0.2", 2);
}

#[test]
fn claudes_subagents_are_stopped_by_their_own_cap() {
    is_stopped_by(Agent::Claude, "max_subagent_cost: 0.2", 2);
}

#[track_caller]
fn is_offered_none(agent: Agent, settings: &str) {
    let Some(bench) = delegating(agent, settings, 1) else { return };
    bench.script("whole", Script::new().write_file("a.txt", "a\n").finish("Done."));
    bench.run(&[]).ended_within(SLOW).expect(0);
    let offered: Vec<String> =
        bench.stand_in.requests("whole").into_iter().flat_map(|request| request.tools).collect();
    assert!(!offered.is_empty());
    let delegates = ["Agent", "Task", "task", "invoke_agent", "spawn_agent"];
    assert!(!offered.iter().any(|tool| delegates.contains(&tool.as_str())), "{offered:?}");
}

#[test]
fn claude_is_offered_no_subagents_where_they_are_off() {
    is_offered_none(Agent::Claude, "subagents: off");
}

#[test]
fn gemini_is_offered_no_subagents_where_they_are_off() {
    is_offered_none(Agent::Gemini, "subagents: off");
}

#[test]
fn geminis_subagents_are_stopped_by_the_cap_of_their_task() {
    is_stopped_by(Agent::Gemini, "max_cost: 0.2", 2);
}

#[test]
fn geminis_subagents_are_stopped_by_their_own_cap() {
    is_stopped_by(Agent::Gemini, "max_subagent_cost: 0.2", 2);
}

#[test]
fn codex_has_none() {
    is_offered_none(Agent::Codex, "");
    measured(Agent::Codex, Row::CostWithSubagents, "off unless asked for");
}

#[test]
fn opencode_which_tells_nothing_of_them_is_offered_no_subagents() {
    is_offered_none(Agent::Opencode, "");
    measured(Agent::Opencode, Row::CostWithSubagents, "off unless asked for");
}
