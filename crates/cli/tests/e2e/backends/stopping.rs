//! Ctrl-C twice, while an agent waits for its model and while it runs a command: how long it is until all is quiet.

use std::time::{Duration, Instant};

use conductor_testkit::Script;
use conductor_testkit::agents::Agent;
use rustix::process::Signal;

use super::{Bench, for_each_agent, prompt};
use crate::harness::leftovers;

/// The longest a stop may take on a busy machine. The aim is under two seconds; the tests print the time.
const BOUND: Duration = Duration::from_secs(10);

/// A command that does not end, and that no CLI refuses or rewrites.
const COMMAND: &str = "tail -f /dev/null";

mod in_a_call_of_the_model {
    use super::*;

    for_each_agent!(is_quick);

    fn is_quick(agent: Agent) {
        expect_quiet(
            agent,
            "a call of the model",
            Script::new().run("echo 1 > n.txt").slow(600_000).finish("Done."),
        );
    }
}

mod in_a_command {
    use super::*;

    for_each_agent!(is_quick);

    fn is_quick(agent: Agent) {
        expect_quiet(agent, "a command", Script::new().run("echo 1 > n.txt").run(COMMAND).finish("Done."));
    }
}

fn expect_quiet(agent: Agent, during: &str, script: Script) {
    let Some(bench) = Bench::new(agent, "", &prompt("long", "")) else { return };
    bench.script("long", script);
    let live = bench.run(&[]);
    bench.await_requests("long", 2);
    if during == "a command" {
        bench.wait_for_process(COMMAND);
    }
    let run = bench.world.run_id();
    live.signal(Signal::INT);
    live.wait_for_stderr("starting nothing new");
    let asked = Instant::now();
    live.signal(Signal::INT);
    let ended = live.ended();
    let (ended, took) = (ended.expect(130), asked.elapsed());
    assert!(leftovers(&run).is_empty(), "{:?}", leftovers(&run));
    eprintln!("{} interrupted in {during}: quiet after {} ms", agent.program(), took.as_millis());
    assert!(took < BOUND, "{took:?}");
    ended.says("to be resumed");
}
