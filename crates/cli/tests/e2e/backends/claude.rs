//! What only Claude Code can be asked.

use conductor_testkit::Script;
use conductor_testkit::agents::Agent;

use super::Bench;
use crate::repository::expect_tidy;

/// A call costs about 0.0055 dollars here; the cap of the task ends it while it works.
#[test]
fn a_cap_on_money_holds_while_the_agent_works() {
    let tasks = "  - { id: a, prompt: '[[script:long]] Do a lot', max_cost: 0.012 }";
    let Some(bench) = Bench::new(Agent::Claude, "", tasks) else { return };
    let script = (0..40).fold(Script::new(), |script, n| script.run(format!("echo {n} >> n.txt; sleep 0.1")));
    bench.script("long", script.finish("Done."));
    bench.run(&[]).ended().expect(100).says("reached its own budget");
    let cost = bench.world.summary()["cost_usd"].as_f64().unwrap();
    assert!((0.012..0.025).contains(&cost), "{cost}");
    expect_tidy(&bench.world);
}
