//! What is shown is what was billed, and caps end the work.

use conductor_testkit::agents::Agent;
use conductor_testkit::{Script, Usage};

use super::table::{Row, measured, measured_at_most};
use super::{Bench, SLOW, for_each_agent, prompt};
use crate::repository::expect_tidy;

/// What each call of a script uses.
const CALL: Usage = Usage { input: 20_000, output: 60, cache_read: 0, cache_write: 0 };
const DOLLARS: f64 = (20_000.0 * 4.0 + 60.0 * 20.0) / 1e6;

const PRICES: &str = "prices: { '*': { input: 4, output: 20, cache_read: 0.2, cache_write: 5 } },";

/// One that does a piece of work per call. Its model takes its time: one that answers within milliseconds is asked twice before
/// anything can be done about the first answer.
fn diligent(agent: Agent, settings: &str, calls: usize) -> Option<Bench> {
    let bench = Bench::new(agent, PRICES, &prompt("long", settings))?;
    let script =
        (0..calls).fold(Script::new(), |script, n| script.slow(100).run(format!("echo {n} >> n.txt")));
    bench.script("long", script.slow(100).finish("Done.").usage_by_default(CALL));
    Some(bench)
}

/// How many answers its script was asked for.
fn calls(bench: &Bench) -> usize {
    bench.stand_in.requests("long").iter().filter(|request| request.turn.is_some()).count()
}

mod shown {
    use super::*;

    for_each_agent!(is_what_was_billed);
}

fn is_what_was_billed(agent: Agent) {
    let Some(bench) = diligent(agent, "", 5) else { return };
    bench.run(&[]).ended_within(SLOW).expect(0);
    let Usage { input, output, .. } = bench.stand_in.billed();
    let billed = (input as f64 * 4.0 + output as f64 * 20.0) / 1e6;
    let shown = bench.world.summary()["cost_usd"].as_f64().unwrap();
    assert!((shown - billed).abs() < billed / 100.0, "{shown} shown, {billed} billed");
    measured(agent, Row::Cost, "equal");
    expect_tidy(&bench.world);
}

mod over_max_cost {
    use super::*;

    for_each_agent!(by_at_most_a_call);

    fn by_at_most_a_call(agent: Agent) {
        let cap = format!("max_cost: {}", DOLLARS * 2.5);
        stopped(agent, Row::OverMaxCost, &cap, "reached max_cost");
    }
}

mod over_max_tokens {
    use super::*;

    for_each_agent!(by_at_most_a_call);

    fn by_at_most_a_call(agent: Agent) {
        stopped(agent, Row::OverMaxTokens, "max_tokens: 50000", "reached max_tokens");
    }
}

mod over_max_turns {
    use super::*;

    for_each_agent!(by_at_most_a_call);

    fn by_at_most_a_call(agent: Agent) {
        stopped(agent, Row::OverMaxTurns, "max_turns: 3", "reached max_turns");
    }
}

/// The third call reaches the cap; one more may be under way by then.
fn stopped(agent: Agent, row: Row, cap: &str, says: &str) {
    let Some(bench) = diligent(agent, &format!("{cap}, retry_policy: {{ max_attempts: 1 }}"), 8) else {
        return;
    };
    bench.run(&[]).ended_within(SLOW).expect(100).says(says);
    let over = calls(&bench).checked_sub(3).expect("three calls are within the cap");
    println!("{over} calls over");
    measured_at_most(agent, row, over);
    expect_tidy(&bench.world);
}
