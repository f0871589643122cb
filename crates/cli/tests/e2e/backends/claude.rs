//! What only Claude Code supports.

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
    bench.run(&[]).ended().expect(100).says("reached max_cost $0.0120, after");
    let cost = bench.world.summary()["cost_usd"].as_f64().unwrap();
    assert!((0.012..0.025).contains(&cost), "{cost}");
    expect_tidy(&bench.world);
}

/// A command that only a person can allow: it stops, waits without a process, and the same conversation goes on.
#[test]
fn a_person_is_asked_and_the_same_conversation_goes_on() {
    let tasks =
        "  - { id: a, prompt: '[[script:asks]] Deploy it', permissions: { ask: ['Bash(touch deployed*)'] } }";
    let Some(bench) = Bench::new(Agent::Claude, "", tasks) else { return };
    let script = Script::new()
        .write_file("half.txt", "half\n")
        .run("touch deployed.txt")
        .finish("I was stopped.")
        .run("touch deployed.txt")
        .finish("Deployed.");
    bench.script("asks", script);
    let live = bench.run(&[]);
    live.wait_for_stderr("asks    a  Bash: touch deployed.txt");
    crate::harness::expect_no_leftovers(&bench.world.run_id());
    crate::repository::conductor(&bench.world, &["task", "approve", "a"]).expect(0);
    live.ended().expect(0);
    assert_eq!(bench.landed("deployed.txt"), "");
    assert_eq!(bench.landed("half.txt"), "half");
    assert_eq!(bench.world.logged("session_started").len(), 1, "one conversation");
    expect_tidy(&bench.world);
}

#[test]
fn what_a_person_says_reaches_it_while_it_works() {
    let tasks = "  - { id: a, prompt: '[[script:told]] Write it' }";
    let Some(bench) = Bench::new(Agent::Claude, "", tasks) else { return };
    let go = bench.world.path("go").display().to_string();
    let script = Script::new()
        .run(format!("while [ ! -e {go} ]; do sleep 0.05; done; echo one > a.txt"))
        .finish("Written.");
    bench.script("told", script);
    let live = bench.run(&[]);
    crate::harness::wait_for("a start", || bench.world.logged("attempt_started").first().map(drop));
    bench.wait_for_process("sleep 0.05");
    crate::repository::conductor(&bench.world, &["task", "send", "a", "Use the word quagga."])
        .expect(0)
        .says("sent");
    crate::harness::wait_for("it to be said", || {
        let run = bench.world.home().join("runs").join(bench.world.run_id());
        let log = std::fs::read(run.join("executor_1/spool.log")).unwrap_or_default();
        String::from_utf8_lossy(&log).contains("[told: Use the word quagga.]").then_some(())
    });
    bench.world.write("go", "");
    live.ended().expect(0);
    let asked = bench.stand_in.requests("told");
    let heard =
        asked.iter().filter_map(|request| request.body.as_deref()).any(|body| body.contains("quagga"));
    assert!(heard, "its model was told");
    assert_eq!(bench.landed("a.txt"), "one");
    expect_tidy(&bench.world);
}

#[test]
fn a_home_of_its_own_keeps_its_conversations_from_the_users() {
    let tasks = "  - { id: a, prompt: '[[script:home]] Write it', agent_home: own, verify: [test -f b.txt] }";
    let Some(bench) = Bench::new(Agent::Claude, "", tasks) else { return };
    let script = Script::new()
        .write_file("a.txt", "a\n")
        .finish("Written.")
        .write_file("b.txt", "b\n")
        .finish("Mended, for I remember.");
    bench.script("home", script);
    bench.run(&[]).ended().expect(0);
    assert_eq!(bench.landed("b.txt"), "b");
    let home = bench.world.home().join("runs").join(bench.world.run_id()).join("agent_homes/a");
    assert!(home.join("projects").is_dir(), "its conversations are there");
    assert!(!bench.world.root().join("user/.claude/projects").exists(), "and not with the user's");
    expect_tidy(&bench.world);
}

/// It asks for permission to run commands, and gets it for a risky one when the checkpoint is made.
#[test]
fn a_risky_command_is_allowed_after_a_checkpoint() {
    let tasks = "  - { id: a, prompt: '[[script:cleans]] Write it' }";
    let Some(bench) = Bench::new(Agent::Claude, "", tasks) else { return };
    let repository = bench.world.path("repo").display().to_string();
    let seen = format!("git -C {repository} for-each-ref refs/tags/conductor-checkpoint");
    let script = Script::new()
        .run(format!("{seen} > early.txt"))
        .run(format!("rm -rf build; {seen} > then.txt"))
        .finish("Cleaned.");
    bench.script("cleans", script);
    bench.run(&[]).ended().expect(0).says("before recursive delete (rm -rf build)");
    assert_eq!(bench.landed("early.txt"), "");
    assert!(bench.landed("then.txt").contains("conductor-checkpoint/"), "{}", bench.landed("then.txt"));
    assert_eq!(bench.world.logged("checkpoint_made"), ["a"]);
    expect_tidy(&bench.world);
}
