//! An agent that is stopped for something more urgent keeps its files and its conversation, and goes on with both.

use conductor_testkit::Script;
use conductor_testkit::agents::Agent;

use super::{Bench, SLOW, for_each_agent, prompt};
use crate::repository::expect_tidy;

for_each_agent!(makes_room_and_goes_on);

fn makes_room_and_goes_on(agent: Agent) {
    let urgent = "priority: critical, preempt: true, dependencies: [gate]";
    let tasks = [
        prompt("slow", "priority: low"),
        "  - { id: gate, run: 'until test -e ../go; do sleep 0.05; done', isolation: none, changes: optional }\n".into(),
        prompt("one", urgent),
        prompt("two", urgent),
    ];
    let Some(bench) = Bench::new(agent, "", &tasks.concat()) else { return };
    let begun = || Script::new().write_file("first.txt", "1\n");
    bench.script("slow", begun().slow(600_000).finish("Never said."));
    for name in ["one", "two"] {
        bench.script(name, Script::new().write_file(format!("{name}.txt"), "now\n").finish("Done."));
    }
    let live = bench.run(&["-p", "2"]);
    bench.await_requests("slow", 2);
    bench.script("slow", begun().write_file("second.txt", "2\n").finish("Written."));
    bench.world.write("go", "");
    let ended = live.ended_within(SLOW).expect(0).says("to something more urgent");
    for (file, text) in [("first.txt", "1"), ("second.txt", "2"), ("one.txt", "now"), ("two.txt", "now")] {
        assert_eq!(bench.landed(file), text, "{}", ended.stderr);
    }
    let turns: Vec<usize> = bench.stand_in.requests("slow").iter().filter_map(|asked| asked.turn).collect();
    // Two of them go on only in the workspace where they began, which may be in use.
    let anew = matches!(agent, Agent::Gemini | Agent::Opencode) && turns == [0, 1, 0, 1, 2];
    assert!(anew || turns == [0, 1, 1, 2], "it went on where it was: {turns:?}");
    let summary = bench.world.summary();
    let slow = summary["results"].as_array().unwrap().iter().find(|one| one["task_id"] == "slow").unwrap();
    // Twice at most, and none of that is a try of its own.
    let figure = |name: &str| slow[name].as_u64().unwrap();
    assert!(matches!(figure("interruptions"), 1 | 2), "{slow}");
    assert_eq!(figure("attempts"), figure("interruptions") + 1, "{slow}");
    expect_tidy(&bench.world);
}
