//! What users read of an agent's work, and what the agent is told about its workspace.

use conductor_testkit::Script;
use conductor_testkit::agents::Agent;

use super::{Bench, SLOW, for_each_agent, prompt};
use crate::repository::{conductor, expect_tidy};

mod a_command_that_fails {
    use super::*;

    for_each_agent!(is_read_in_the_log);

    fn is_read_in_the_log(agent: Agent) {
        let Some(bench) = Bench::new(agent, "", &prompt("a", "")) else { return };
        let fails = "echo so far so good; echo quagga not found >&2; exit 3";
        bench.script("a", Script::new().run(fails).write_file("a.txt", "a\n").finish("Done."));
        bench.run(&[]).ended_within(SLOW).expect(0);
        let log = conductor(&bench.world, &["logs", "a"]).expect(0).stdout;
        let troubles: Vec<&str> = log.lines().filter(|line| line.starts_with("[error]")).collect();
        println!("{log}\n{}", bench.heard("a"));
        assert!(matches!(troubles[..], [trouble] if trouble.contains('3')), "{log}");
    }
}

/// An agent that is told to commit can.
mod a_commit {
    use super::*;

    for_each_agent!(is_made_by_an_agent_that_is_told_to);

    fn is_made_by_an_agent_that_is_told_to(agent: Agent) {
        let Some(bench) = Bench::new(agent, "", &prompt("a", "")) else { return };
        let commit = "git add -A && git commit -q -m 'a step of mine'; git log -1 --format=%s";
        bench.script("a", Script::new().write_file("a.txt", "a\n").run(commit).finish("Done."));
        bench.run(&[]).ended_within(SLOW).expect(0);
        assert_eq!(bench.landed("a.txt"), "a");
        let asked = bench.stand_in.requests("a");
        let told = asked[0].prompt.contains("Commit in small steps");
        let body = asked.iter().rev().find_map(|request| request.body.as_deref()).unwrap();
        println!("{}", bench.heard("a"));
        let after = &body[body.rfind("format=%s").unwrap()..];
        assert_eq!(told, after.contains("a step of mine"), "{after}");
        expect_tidy(&bench.world);
    }
}
