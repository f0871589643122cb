//! Agents that outlive their coordinator: held by their shims, and taken hold of again when the run is resumed.

use std::fs;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

use crate::harness::{Live, World, expect_no_leftovers, is_alive, leftovers, wait_for};
use crate::questions;
use crate::repository::{command, conductor, expect_tidy, git, start};

/// Tells what it uses before and after its coordinator is killed, and asks for leave while there is none.
const WORKER: &str = r#"
read -r task
echo $$ >> HERE/pids
echo '{"type":"usage","model":"claude-opus-5-5","input":1000,"output":0,"turns":1}'
echo '{"type":"text","text":"the first words"}'
touch HERE/begun
while [ ! -e HERE/go ]; do sleep 0.01; done
echo '{"type":"usage","model":"claude-opus-5-5","input":2000,"output":0,"turns":1}'
echo '{"type":"text","text":"the second words"}'
echo '{"type":"question","id":7,"tool":"Bash","input":{"command":"make"}}'
touch HERE/asked
read -r answer
printf '%s\n' "$answer" >> HERE/answers
echo done > work.txt
echo '{"type":"result","ok":true,"text":"done"}'
"#;

const TASKS: &str =
    "{ config: { agent: worker }, tasks: [{ id: a, prompt: 'work', verify: ['test -e work.txt'] }] }";

fn world(script: &str) -> World {
    let mut world = questions::world(TASKS, &[("worker", script)]);
    world.set("CONDUCTOR_ORPHAN_GRACE", "1m");
    world
}

fn kill(live: Live) {
    live.signal(Signal::KILL);
    drop(live);
}

fn recorded(world: &World) -> u64 {
    let query = "SELECT sum(json_extract(body, '$.usage_reported.usage.tokens')) FROM events";
    world.try_sql(query).ok().and_then(|sum| sum.trim().parse().ok()).unwrap_or(0)
}

fn pids(world: &World) -> Vec<u32> {
    world.read("pids").lines().map(|line| line.parse().unwrap()).collect()
}

/// The shims of the run, by number.
pub(crate) fn shims(world: &World) -> Vec<u32> {
    let folder = world.home().join("runs").join(world.run_id()).join("shims");
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let read = |path: PathBuf| -> Option<u32> {
        let record: serde_json::Value = serde_json::from_str(&fs::read_to_string(path).ok()?).ok()?;
        record["shim"]["pid"].as_u64().map(|pid| pid as u32)
    };
    let all = entries.filter_map(|entry| read(entry.path().join("shim.json")));
    all.filter(|&pid| is_alive(pid)).collect()
}

pub(crate) fn kill_shims(world: &World) {
    for shim in shims(world) {
        let _ = kill_process(Pid::from_raw(shim as i32).unwrap(), Signal::KILL);
    }
}

/// What a person reads of what the agent said.
fn words(world: &World) -> Vec<String> {
    let text = String::from_utf8(world.transcript("a")).unwrap();
    text.lines().filter(|line| line.ends_with("words")).map(str::to_owned).collect()
}

fn expect_done_once(world: &World, tokens: u64) {
    assert_eq!(world.logged("attempt_started"), ["a"], "it was started once");
    assert_eq!(world.logged("task_completed"), ["a"]);
    assert_eq!(world.logged("attempt_reattached"), ["a"]);
    assert_eq!(pids(world).len(), 1, "one process did all of it");
    assert_eq!(world.read("answers").lines().count(), 1, "it was answered once: {}", world.read("answers"));
    assert_eq!(recorded(world), tokens);
    assert_eq!(words(world), ["the first words", "the second words"]);
    let branch = format!("conductor/{}", world.run_id());
    let landed = git(world, &["log", "--format=%s", &format!("main..{branch}")]);
    assert_eq!(landed.lines().count(), 1, "it landed once: {landed}");
    expect_no_leftovers(&world.run_id());
    expect_tidy(world);
}

#[test]
fn an_agent_goes_on_and_waits_with_its_question_until_the_run_is_resumed() {
    let world = world(WORKER);
    let live = start(&world, &[]);
    world.wait_for_file("begun");
    wait_for("what it used first", || (recorded(&world) == 1000).then_some(()));
    kill(live);
    world.write("go", "");
    world.wait_for_file("asked");
    let agent = pids(&world)[0];
    assert!(is_alive(agent), "it goes on without a coordinator");
    conductor(&world, &["run", "--resume"]).expect(0).says("its agent has gone on");
    expect_done_once(&world, 3000);
}

#[test]
fn an_agent_that_is_killed_from_twice_in_a_row_is_answered_once() {
    let world = world(WORKER);
    let live = start(&world, &[]);
    world.wait_for_file("begun");
    kill(live);
    let again = world.spawn(&mut command(&world, &["run", "--resume"]));
    wait_for("it to be taken hold of", || (world.logged("attempt_reattached").len() == 1).then_some(()));
    kill(again);
    world.write("go", "");
    world.wait_for_file("asked");
    conductor(&world, &["run", "--resume"]).expect(0);
    assert_eq!(world.logged("attempt_reattached").len(), 2);
    assert_eq!((pids(&world).len(), world.logged("attempt_started").len()), (1, 1));
    assert_eq!((recorded(&world), world.read("answers").lines().count()), (3000, 1));
    expect_no_leftovers(&world.run_id());
}

#[test]
fn an_agent_that_is_done_meanwhile_goes_on_to_its_checks() {
    let world = world(
        &WORKER
            .replace("read -r answer", "answer=none")
            .replace(r#"echo '{"type":"question","id":7,"tool":"Bash","input":{"command":"make"}}'"#, ""),
    );
    let live = start(&world, &[]);
    world.wait_for_file("begun");
    wait_for("what it used first", || (recorded(&world) == 1000).then_some(()));
    kill(live);
    world.write("go", "");
    let run = world.run_id();
    wait_for("the agent and its shim to end", || {
        let of_agent = leftovers(&run).into_iter().filter(|(_, line)| !line.contains("reaper"));
        (of_agent.count() == 0).then_some(())
    });
    conductor(&world, &["run", "--resume"]).expect(0);
    expect_done_once(&world, 3000);
}

/// A2: no coordinator comes. What was spent counts when one comes at last, and the work is done anew.
#[test]
fn an_agent_is_ended_when_no_coordinator_comes_in_time() {
    let mut world = world(&format!("trap '' TERM\n{WORKER}").replace(
        "touch HERE/begun",
        "[ -e HERE/begun ] && { touch HERE/go work.txt; echo '{\"type\":\"result\",\"ok\":true,\"text\":\"x\"}'; exit 0; }\n\
         setsid sleep 600 & touch HERE/begun",
    ));
    world.set("CONDUCTOR_ORPHAN_GRACE", "300ms");
    let live = start(&world, &[]);
    world.wait_for_file("begun");
    let run = world.run_id();
    let killed = Instant::now();
    kill(live);
    wait_for("the agent's end", || leftovers(&run).is_empty().then_some(()));
    // It does not mind being asked: it is made to, ten seconds later.
    assert!(killed.elapsed() < Duration::from_secs(15), "{:?}", killed.elapsed());
    conductor(&world, &["run", "--resume"]).expect(0);
    assert_eq!(world.logged("attempt_started"), ["a", "a"]);
    assert_eq!(world.logged("attempt_reattached"), Vec::<String>::new());
    assert_eq!(recorded(&world), 2000, "what each of them used");
    expect_no_leftovers(&run);
}

#[test]
fn an_agent_whose_shim_is_killed_ends_and_its_task_is_done_again() {
    for with_coordinator in [false, true] {
        let world = world(&WORKER.replace(
            "touch HERE/begun",
            "[ -e HERE/begun ] && { touch work.txt; echo '{\"type\":\"result\",\"ok\":true,\"text\":\"x\"}'; exit 0; }\n\
             setsid sleep 600 & touch HERE/begun",
        ));
        let live = start(&world, &[]);
        world.wait_for_file("begun");
        let (run, agent) = (world.run_id(), pids(&world)[0]);
        if with_coordinator {
            kill_shims(&world);
            live.ended().expect(0);
        } else {
            kill(live);
            kill_shims(&world);
            wait_for("the agent's end", || (!is_alive(agent)).then_some(()));
            conductor(&world, &["run", "--resume"]).expect(0);
        }
        assert_eq!(world.logged("attempt_started"), ["a", "a"], "{with_coordinator}");
        assert_eq!(world.logged("task_completed"), ["a"]);
        assert_eq!(recorded(&world), 2000);
        expect_no_leftovers(&run);
    }
}

#[test]
fn what_an_agent_leaves_running_ends_with_it_however_it_hides() {
    let script = WORKER
        .replace("touch HERE/begun", "env -i setsid sleep 600 & echo $! > HERE/daemon; touch HERE/begun");
    let world = world(&script);
    world.write("go", "");
    let live = start(&world, &[]);
    let daemon: u32 = wait_for("the daemon", || world.read("daemon").trim().parse().ok());
    live.ended().expect(0);
    assert!(!is_alive(daemon));
    expect_no_leftovers(&world.run_id());
}

#[test]
fn agents_that_are_alone_are_told_of_and_ended_where_nothing_will_resume_their_run() {
    let mut world = world(WORKER);
    world.set("CONDUCTOR_ORPHAN_GRACE", "1h");
    let live = start(&world, &[]);
    world.wait_for_file("begun");
    let (run, agent) = (world.run_id(), pids(&world)[0]);
    assert!(!conductor(&world, &["doctor"]).stdout.contains("without a coordinator"));
    kill(live);
    // Nothing while the coordinator is about to be gone.
    let status = |world: &World| -> serde_json::Value {
        serde_json::from_str(&conductor(world, &["status", "--json", &run]).stdout).unwrap_or_default()
    };
    wait_for("its shim to be alone", || (status(&world)["alone"][0]["pid"] == agent).then_some(()));
    conductor(&world, &["status", &run]).says("the agent of a works on without a coordinator");
    conductor(&world, &["doctor", "--fix"]).says("1 agent of run").says("conductor run --resume");
    assert!(is_alive(agent), "the run can be resumed");
    // A run that the store does not know any more.
    for table in ["events", "runs"] {
        let mut sqlite = std::process::Command::new("sqlite3");
        sqlite.arg("-cmd").arg(".timeout 5000").arg(world.database()).arg(format!("DELETE FROM {table}"));
        assert!(sqlite.status().unwrap().success());
    }
    conductor(&world, &["doctor", "--fix"]).says("✓ ended");
    wait_for("the agent's end", || (!is_alive(agent) && shims(&world).is_empty()).then_some(()));
}
