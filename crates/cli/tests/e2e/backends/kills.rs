//! A coordinator that is killed while an agent is in the middle of a conversation: that one is gone on with.

use conductor_testkit::Script;
use conductor_testkit::agents::Agent;

use super::{Bench, SLOW, for_each_agent, prompt};
use crate::harness::wait_for;
use crate::repository::{command, expect_tidy};

for_each_agent!(goes_on_with_its_conversation);

fn goes_on_with_its_conversation(agent: Agent) {
    let Some(bench) = Bench::new(agent, "", &prompt("cut", "")) else { return };
    let begun = || Script::new().write_file("first.txt", "1\n");
    bench.script("cut", begun().slow(600_000).finish("Never said."));
    let live = bench.run(&[]);
    bench.await_requests("cut", 2);
    wait_for("its conversation to be recorded", || {
        (!bench.world.logged("session_started").is_empty()).then_some(())
    });
    let mut live = live;
    live.child.kill().unwrap();
    live.child.wait().unwrap();
    bench.script("cut", begun().write_file("second.txt", "2\n").finish("Written."));
    let resumed = bench.world.spawn(&mut command(&bench.world, &["run", "--resume"]));
    resumed.ended_within(SLOW).expect(0);
    assert_eq!((bench.landed("first.txt"), bench.landed("second.txt")), ("1".into(), "2".into()));
    // How far a conversation has come is told by what it holds: one that begins anew begins at 0.
    let turns: Vec<usize> = bench.stand_in.requests("cut").iter().filter_map(|asked| asked.turn).collect();
    assert_eq!(turns, [0, 1, 1, 2], "it went on where it was");
    expect_tidy(&bench.world);
}
