//! Three tasks: one writes, one builds on it, one meets the first and mends the conflict in a second round.

use conductor_testkit::Script;
use conductor_testkit::agents::Agent;

use super::{Bench, for_each_agent};
use crate::harness::wait_for;
use crate::repository::expect_tidy;

for_each_agent!(is_written_built_upon_mended_verified_and_merged);

const TASKS: &str = "
  - { id: write, prompt: '[[script:write]] Write the greeting', verify: [test -s hello.txt] }
  - { id: depend, prompt: '[[script:depend]] Build on it', dependencies: [write], verify: [test -s copy.txt] }
  - { id: clash, prompt: '[[script:clash]] Change the second line', verify: ['! grep -q wrong f.txt'] }
";

fn is_written_built_upon_mended_verified_and_merged(agent: Agent) {
    let Some(bench) = Bench::new(agent, "", TASKS) else { return };
    let go = bench.world.path("go").display().to_string();
    let write = Script::new().write_file("hello.txt", "hello\n").edit("f.txt", "b", "FIRST");
    bench.script("write", write.finish("Written."));
    bench.script("depend", Script::new().run("cp hello.txt copy.txt").finish("Copied."));
    let clash = Script::new()
        .edit("f.txt", "b", "SECOND")
        .run(format!("until test -e {go}; do sleep 0.05; done"))
        .finish("Changed.")
        .run("printf 'a\nFIRST and SECOND\nc\n' > f.txt")
        .finish("Mended.");
    bench.script("clash", clash);
    let live = bench.run(&["-p", "4", "--stats"]);
    wait_for("the first to land", || {
        bench.world.logged("task_completed").contains(&"write".to_owned()).then_some(())
    });
    bench.world.write("go", "");
    live.ended().expect(0).says("3 claimed, 3 verified, 3 landed; 0 lost, 0 leaked");
    assert_eq!(bench.landed("copy.txt"), "hello");
    assert_eq!(bench.landed("f.txt"), "a\nFIRST and SECOND\nc");
    assert_eq!(
        tokens(&bench),
        [3, 2, 5].map(|turns| turns * per_turn(agent)),
        "counted once, also after a resume"
    );
    expect_tidy(&bench.world);
    // How far a conversation has come is told by what it holds: the second round knew the first.
    let turns: Vec<usize> =
        bench.stand_in.requests("clash").iter().filter_map(|request| request.turn).collect();
    assert_eq!(turns.last(), Some(&4), "{turns:?}");
}

fn tokens(bench: &Bench) -> [u64; 3] {
    [0, 1, 2].map(|task| bench.world.summary()["results"][task]["tokens"].as_u64().unwrap())
}

/// What the stand-in says that a turn used; only one API knows of writing to a cache.
fn per_turn(agent: Agent) -> u64 {
    match agent {
        Agent::Claude => 1350,
        _ => 1250,
    }
}
