//! A coordinator is killed in the middle of an agent's conversation: the next one continues the conversation.

use conductor_testkit::Script;
use conductor_testkit::agents::Agent;

use super::table::{Row, measured};
use super::{Bench, SLOW, for_each_agent, prompt};
use crate::harness::wait_for;
use crate::repository::{command, expect_tidy};

for_each_agent!(goes_on_with_its_conversation);

fn goes_on_with_its_conversation(agent: Agent) {
    let Some(mut bench) = Bench::new(agent, "", &prompt("cut", "")) else { return };
    let begun = || Script::new().write_file("first.txt", "1\n");
    bench.script("cut", begun().slow(600_000).finish("Never said."));
    bench.world.without_grace();
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
    measured(agent, Row::Resumed, "goes on where it was");
    expect_tidy(&bench.world);
}

/// The coordinator is killed while the model is asked, and again right after the resume: the very process goes on, and asks
/// nothing twice.
mod of_the_very_process {
    use super::*;

    for_each_agent!(goes_on_with_its_process);

    fn goes_on_with_its_process(agent: Agent) {
        let Some(bench) = Bench::new(agent, "", &prompt("cut", "")) else { return };
        let script =
            Script::new().write_file("first.txt", "1\n").slow(4000).run("sleep 3; echo 2 > second.txt");
        bench.script("cut", script.write_file("third.txt", "3\n").finish("Written."));
        let mut live = bench.run(&[]);
        bench.await_requests("cut", 2);
        wait_for("its process", || (!bench.world.logged("process_started").is_empty()).then_some(()));
        let agents = || crate::outliving::held(&bench.world);
        let before = agents();
        assert_eq!(before.len(), 1);
        for times in [1, 2] {
            live.child.kill().unwrap();
            live.child.wait().unwrap();
            live = bench.world.spawn(&mut command(&bench.world, &["run", "--resume"]));
            wait_for("it to be taken hold of", || {
                (bench.world.logged("attempt_reattached").len() == times).then_some(())
            });
            assert_eq!(agents(), before, "it is the same process");
        }
        live.ended_within(SLOW).expect(0);
        assert_eq!(bench.world.logged("attempt_started"), ["cut"]);
        let landed = ["first.txt", "second.txt", "third.txt"].map(|file| bench.landed(file));
        assert_eq!(landed, ["1", "2", "3"]);
        let asked: Vec<usize> =
            bench.stand_in.requests("cut").iter().filter_map(|asked| asked.turn).collect();
        assert_eq!(asked, [0, 1, 2, 3], "nothing was asked twice");
        expect_tidy(&bench.world);
    }
}

/// It waits for nothing but the end of what is said to it: its shim sees that, and it is done whenever a coordinator comes.
mod of_an_agent_that_gets_done_alone {
    use super::*;

    for_each_agent!(is_taken_as_done);

    fn is_taken_as_done(agent: Agent) {
        let Some(mut bench) = Bench::new(agent, "", &prompt("cut", "")) else { return };
        bench.world.set("CONDUCTOR_ORPHAN_GRACE", "1h");
        bench.script("cut", Script::new().write_file("first.txt", "1\n").slow(3000).finish("Written."));
        let mut live = bench.run(&[]);
        bench.await_requests("cut", 2);
        wait_for("its process", || (!bench.world.logged("process_started").is_empty()).then_some(()));
        live.child.kill().unwrap();
        live.child.wait().unwrap();
        let run = bench.world.run_id();
        wait_for("its end", || crate::harness::leftovers(&run).is_empty().then_some(()));
        let resumed = bench.world.spawn(&mut command(&bench.world, &["run", "--resume"]));
        resumed.ended_within(SLOW).expect(0);
        assert_eq!(bench.world.logged("attempt_started"), ["cut"]);
        assert_eq!(bench.landed("first.txt"), "1");
        let asked: Vec<usize> =
            bench.stand_in.requests("cut").iter().filter_map(|asked| asked.turn).collect();
        assert_eq!(asked, [0, 1], "nothing was asked again");
        expect_tidy(&bench.world);
    }
}

/// Its shim counts what it does, by the same words that the coordinator counts by. The others ask for leave, and wait.
mod of_an_agent_that_is_alone {
    use super::*;

    #[test]
    fn gemini() {
        takes_no_more_turns_than_it_may(Agent::Gemini);
    }

    #[test]
    fn opencode() {
        takes_no_more_turns_than_it_may(Agent::Opencode);
    }

    fn takes_no_more_turns_than_it_may(agent: Agent) {
        const TURNS: usize = 5;
        let settings = format!("max_turns: {TURNS}");
        let Some(mut bench) = Bench::new(agent, "", &prompt("cut", &settings)) else { return };
        bench.world.set("CONDUCTOR_ORPHAN_GRACE", "1h");
        let each = |script: Script, turn: u32| script.slow(500).run(format!("echo {turn}"));
        let script = (0..20).fold(Script::new(), each);
        bench.script("cut", script.finish("Done."));
        let mut live = bench.run(&[]);
        bench.await_requests("cut", 2);
        crate::outliving::wait_for_slices(&bench.world, 1);
        live.child.kill().unwrap();
        live.child.wait().unwrap();
        let run = bench.world.run_id();
        wait_for("its end", || crate::harness::leftovers(&run).is_empty().then_some(()));
        let asked = bench.stand_in.requests("cut").iter().filter(|asked| asked.turn.is_some()).count();
        assert!((TURNS..=TURNS + 2).contains(&asked), "{asked} calls");
        let resumed = bench.world.spawn(&mut command(&bench.world, &["run", "--resume"]));
        resumed.ended_within(SLOW).expect(100).says("max_turns");
        assert_eq!(bench.world.logged("attempt_started"), ["cut"]);
    }
}

/// A conversation goes on in the workspace in which it began, since some agents store it by folder.
mod of_the_second_executor {
    use super::*;

    #[test]
    fn gemini() {
        taken_up_by(Agent::Gemini, "2", &[0, 1, 1, 2]);
    }
}

/// Where that workspace is in use, or there are fewer, those begin anew, and others go on.
mod in_another_workspace {
    use super::*;

    #[test]
    fn codex() {
        taken_up_by(Agent::Codex, "1", &[0, 1, 1, 2]);
    }

    #[test]
    fn opencode() {
        taken_up_by(Agent::Opencode, "1", &[0, 1, 0, 1, 2]);
    }
}

fn taken_up_by(agent: Agent, executor: &str, turns: &[usize]) {
    let first = "  - { id: first, priority: critical, run: 'AGENT await HERE/go; echo 0 > zeroth.txt' }\n";
    let Some(mut bench) = Bench::new(agent, "", &format!("{first}{}", prompt("cut", ""))) else { return };
    let begun = || Script::new().write_file("first.txt", "1\n");
    bench.script("cut", begun().slow(600_000).finish("Never said."));
    bench.world.without_grace();
    let mut live = bench.run(&["-p", "2"]);
    bench.await_requests("cut", 2);
    bench.world.write("go", "");
    wait_for("the first to be done", || (bench.world.logged("task_completed") == ["first"]).then_some(()));
    live.child.kill().unwrap();
    live.child.wait().unwrap();
    bench.script("cut", begun().write_file("second.txt", "2\n").finish("Written."));
    let again = ["run", "--resume", "-p", executor];
    bench.world.spawn(&mut command(&bench.world, &again)).ended_within(SLOW).expect(0);
    let query = "SELECT json_extract(body, '$.attempt_started.executor') FROM events \
                 WHERE json_extract(body, '$.attempt_started.task') = 'cut' ORDER BY seq";
    assert_eq!(bench.world.sql(query).lines().collect::<Vec<_>>(), ["2", executor]);
    assert_eq!((bench.landed("first.txt"), bench.landed("second.txt")), ("1".into(), "2".into()));
    let asked: Vec<usize> = bench.stand_in.requests("cut").iter().filter_map(|asked| asked.turn).collect();
    assert_eq!(asked, turns);
    expect_tidy(&bench.world);
}

/// The agent has forgotten it, or another program has cleaned up.
mod of_a_conversation_that_is_gone {
    use super::*;

    for_each_agent!(the_whole_task_is_told_anew);

    fn the_whole_task_is_told_anew(agent: Agent) {
        let Some(mut bench) = Bench::new(agent, "", &prompt("cut", "")) else { return };
        bench.world.without_grace();
        let begun = || Script::new().write_file("first.txt", "1\n");
        bench.script("cut", begun().slow(600_000).finish("Never said."));
        let mut live = bench.run(&[]);
        bench.await_requests("cut", 2);
        wait_for("its conversation to be recorded", || {
            (!bench.world.logged("session_started").is_empty()).then_some(())
        });
        live.child.kill().unwrap();
        live.child.wait().unwrap();
        let kept = match agent {
            Agent::Claude => ".claude/projects",
            Agent::Codex => ".codex/sessions",
            Agent::Gemini => ".gemini/tmp",
            Agent::Opencode => ".local/share/opencode",
        };
        wait_for("its processes to be gone", || {
            crate::harness::leftovers(&bench.world.run_id()).is_empty().then_some(())
        });
        std::fs::remove_dir_all(bench.world.root().join("user").join(kept)).unwrap();
        bench.script("cut", begun().write_file("second.txt", "2\n").finish("Written."));
        let resumed = bench.world.spawn(&mut command(&bench.world, &["run", "--resume"]));
        resumed.ended_within(SLOW).expect(0);
        assert_eq!((bench.landed("first.txt"), bench.landed("second.txt")), ("1".into(), "2".into()));
        let asked: Vec<usize> =
            bench.stand_in.requests("cut").iter().filter_map(|asked| asked.turn).collect();
        assert_eq!(asked, [0, 1, 0, 1, 2]);
        expect_tidy(&bench.world);
    }
}
