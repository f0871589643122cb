//! A coordinator is killed in the middle of an agent's conversation: the next one continues the conversation.

use conductor_testkit::Script;
use conductor_testkit::agents::Agent;

use super::table::{Row, measured};
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
    measured(agent, Row::Resumed, "goes on where it was");
    expect_tidy(&bench.world);
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
    let Some(bench) = Bench::new(agent, "", &format!("{first}{}", prompt("cut", ""))) else { return };
    let begun = || Script::new().write_file("first.txt", "1\n");
    bench.script("cut", begun().slow(600_000).finish("Never said."));
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
        let Some(bench) = Bench::new(agent, "", &prompt("cut", "")) else { return };
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
