//! Agents that outlive their coordinator: held by their shims, and taken hold of again when the run is resumed.

use std::fs;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

use crate::harness::{Live, World, expect_no_leftovers, is_alive, leftovers, wait_for};
use crate::questions;
use crate::repository::{command, conductor, expect_tidy, git, start};

/// Tells what it uses before and after its coordinator is killed, and asks for leave while there is none.
pub(crate) const WORKER: &str = r#"
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

/// Nothing is said of how long agents go on: that is what comes without a word.
fn world(script: &str) -> World {
    questions::world(TASKS, &[("worker", script)])
}

fn kill(live: Live) {
    live.signal(Signal::KILL);
    drop(live);
}

fn recorded(world: &World) -> u64 {
    let query = "SELECT sum(json_extract(body, '$.usage_reported.usage.tokens')) FROM events";
    world.try_sql(query).ok().and_then(|sum| sum.trim().parse().ok()).unwrap_or(0)
}

pub(crate) fn pids(world: &World) -> Vec<u32> {
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

/// The agents that shims of the run hold, by number.
pub(crate) fn held(world: &World) -> Vec<u32> {
    let folder = world.home().join("runs").join(world.run_id()).join("shims");
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let read = |path: PathBuf| -> Option<u32> {
        let record: serde_json::Value = serde_json::from_str(&fs::read_to_string(path).ok()?).ok()?;
        record["agent"]["pid"].as_u64().map(|pid| pid as u32)
    };
    let mut all: Vec<u32> = entries.filter_map(|entry| read(entry.path().join("shim.json"))).collect();
    all.retain(|&pid| is_alive(pid));
    all.sort_unstable();
    all
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

pub(crate) fn expect_done_once(world: &World, tokens: u64) {
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

/// Uses 1,000 tokens ($0.004), and 1,000 more each time once it is let on. It ends when it is asked to, as a real one does.
const SPENDER: &str = r#"
name=$CONDUCTOR_TASK
read -r task
spend() { echo '{"type":"usage","model":"claude-opus-5-5","input":1000,"output":0,"turns":1}'; echo 4000 >> HERE/spent-$name; }
[ -e HERE/again ] && { echo "$name" > $name.txt; echo '{"type":"result","ok":true,"text":"x"}'; exit 0; }
trap 'echo asked > HERE/asked-$name; exit 0' TERM
exec 3<&0
( read -r words <&3 && kill -TERM $$ ) &
spend
touch HERE/begun-$name
while [ ! -e HERE/go ]; do sleep 0.01; done
for turn in 1 2 3 4 5 6 7 8 9 10; do spend; sleep 0.5; done
echo "$name" > $name.txt
echo '{"type":"result","ok":true,"text":"done"}'
"#;

/// What an agent told that it used, in millionths of a dollar.
fn spent(world: &World, names: &[&str]) -> u64 {
    let of = |name: &&str| world.read(&format!("spent-{name}")).lines().count() as u64 * 4000;
    names.iter().map(of).sum()
}

fn recorded_cost(world: &World) -> u64 {
    let query = "SELECT sum(json_extract(body, '$.usage_reported.usage.cost')) FROM events";
    world.try_sql(query).ok().and_then(|sum| sum.trim().parse().ok()).unwrap_or(0)
}

/// Three at once may use what the run has left, each its part, and no more: counted by each shim for itself.
#[test]
fn agents_that_are_alone_use_no_more_than_the_run_has_left() {
    let names = ["a", "b", "c"];
    let tasks = "{ config: { agent: worker }, limits: { max_cost: 0.05 },
        tasks: [{ id: a, prompt: work }, { id: b, prompt: work }, { id: c, prompt: work }] }";
    let mut world = questions::world(tasks, &[("worker", SPENDER)]);
    world.set("CONDUCTOR_ORPHAN_GRACE", "1h");
    let live = start(&world, &["-p", "3"]);
    names.iter().for_each(|name| world.wait_for_file(&format!("begun-{name}")));
    wait_for("what they used first", || (recorded_cost(&world) == 12_000).then_some(()));
    wait_for_slices(&world, 3);
    kill(live);
    world.write("go", "");
    let run = world.run_id();
    names.iter().for_each(|name| world.wait_for_file(&format!("asked-{name}")));
    wait_for("their end", || leftovers(&run).is_empty().then_some(()));
    let all = spent(&world, &names);
    // The call that passes a slice is made, as with a coordinator, and one may have begun by the time it is heard of.
    assert!(all <= 50_000 + 3 * 2 * 4000, "{all}");
    assert!(names.iter().all(|name| spent(&world, &[name]) > 4000), "each had a part to go on with");
    world.write("again", "");
    conductor(&world, &["run", "--resume", "--max-cost", "1"]).expect(0);
    assert_eq!(recorded_cost(&world), all, "what they used alone is recorded");
    assert_eq!((world.logged("attempt_started").len(), world.logged("task_completed").len()), (6, 3));
    expect_no_leftovers(&run);
}

/// A task's own cap holds as well; where there is none, nothing but time limits an agent that is alone.
#[test]
fn a_cap_of_a_task_holds_while_no_coordinator_is_there() {
    let tasks = "{ config: { agent: worker },
        tasks: [{ id: a, prompt: work, max_cost: 0.02 }, { id: b, prompt: work }] }";
    let mut world = questions::world(tasks, &[("worker", SPENDER)]);
    world.set("CONDUCTOR_ORPHAN_GRACE", "1h");
    let live = start(&world, &["-p", "2"]);
    ["a", "b"].iter().for_each(|name| world.wait_for_file(&format!("begun-{name}")));
    wait_for("what they used first", || (recorded_cost(&world) == 8000).then_some(()));
    wait_for_slices(&world, 2);
    kill(live);
    world.write("go", "");
    world.wait_for_file("asked-a");
    wait_for("all that the other does", || (spent(&world, &["b"]) == 11 * 4000).then_some(()));
    let of_a = spent(&world, &["a"]);
    assert!((20_000..=28_000).contains(&of_a), "{of_a}");
    conductor(&world, &["run", "--resume"]).expect(100);
    assert_eq!(world.logged("task_completed"), ["b"]);
    assert_eq!(recorded_cost(&world), spent(&world, &["a", "b"]));
    expect_no_leftovers(&world.run_id());
}

/// The time of the run is held to by shims, too, and one that is told less of it by then holds to that.
#[test]
fn an_agent_that_is_alone_has_no_more_time_than_its_run() {
    let mut world = world(&WORKER.replace(
        "touch HERE/begun",
        "[ -e HERE/begun ] && { echo done > work.txt; echo '{\"type\":\"result\",\"ok\":true,\"text\":\"x\"}'; exit 0; }\n\
         touch HERE/begun",
    ));
    world.set("CONDUCTOR_ORPHAN_GRACE", "1h");
    let live = start(&world, &["--max-time", "1h"]);
    world.wait_for_file("begun");
    wait_for("its shim", || (held(&world).len() == 1).then_some(()));
    let run = world.run_id();
    conductor(&world, &["cap", &run, "--max-time", "6s"]).expect(0);
    wait_for("all to be told", || (recorded(&world) == 1000).then_some(()));
    kill(live);
    let killed = Instant::now();
    wait_for("its end", || leftovers(&run).is_empty().then_some(()));
    assert!(killed.elapsed() < Duration::from_secs(20), "{:?}", killed.elapsed());
    let resumed = conductor(&world, &["run", "--resume", "--max-time", "1h"]).expect(0);
    assert!(resumed.stderr.contains("the time of the run was up"), "{}", resumed.stderr);
    assert_eq!(world.logged("attempt_started"), ["a", "a"]);
    expect_no_leftovers(&run);
}

/// What none can count is not left alone where a cap holds.
#[test]
fn an_agent_that_tells_no_usage_is_ended_at_once_where_a_cap_holds() {
    let tasks = "limits: { max_cost: 1 }
config: { agents: { mute: { command: [sh, HERE/mute.sh] } } }
tasks: [{ id: a, prompt: work, agent: mute }]";
    let mut world = questions::world(tasks, &[]);
    world.write("tasks.yaml", &tasks.replace("HERE", world.path("").to_str().unwrap()));
    let script = "[ -e HERE/begun ] && { echo x > x.txt; exit 0; }\ntouch HERE/begun; exec sleep 600";
    world.write("mute.sh", &script.replace("HERE", world.path("").to_str().unwrap()));
    world.set("CONDUCTOR_ORPHAN_GRACE", "1h");
    let live = start(&world, &[]);
    world.wait_for_file("begun");
    wait_for("its shim", || (held(&world).len() == 1).then_some(()));
    kill(live);
    let run = world.run_id();
    wait_for("its end", || leftovers(&run).is_empty().then_some(()));
    conductor(&world, &["run", "--resume"]).expect(0);
    assert_eq!(world.logged("attempt_started"), ["a", "a"]);
}

/// Until the shims of so many agents let these go on alone.
pub(crate) fn wait_for_slices(world: &World, count: usize) {
    let log = world.home().join("runs").join(world.run_id()).join("conductor.log");
    wait_for("the slices", || {
        let text = fs::read_to_string(&log).unwrap_or_default();
        (text.matches("its shim holds a slice").count() >= count).then_some(())
    });
}

/// How many agents the coordinator of each round is killed from, and how often.
fn sizes() -> (usize, usize) {
    (8, crate::soak::amount("CONDUCTOR_OUTLIVING_KILLS", 3) as usize)
}

pub(crate) const STEPPER: &str = r#"
read -r task
name=$CONDUCTOR_TASK
echo $$ >> HERE/pids
turn=0
while [ ! -e HERE/over ]; do
  turn=$((turn + 1))
  echo '{"type":"usage","model":"claude-opus-5-5","input":1000,"output":0,"turns":1}'
  echo 1000 >> HERE/billed-$name
  echo "{\"type\":\"text\",\"text\":\"$name turn $turn\"}"
  sleep 0.0$(( (turn * 7) % 9 + 1 ))
done
echo "$name" > $name.txt
echo '{"type":"result","ok":true,"text":"done"}'
"#;

/// A3: however often and whenever a coordinator is killed, its agents are taken hold of again where they are. What they were
/// billed is recorded, each line they said is there once, and each task is done and landed once.
#[test]
fn killed_again_and_again_agents_go_on_and_are_paid_once() {
    let (agents, kills) = sizes();
    let mut rng = crate::soak::seeded();
    let tasks: Vec<String> = (0..agents).map(|number| format!("{{ id: t{number}, prompt: work }}")).collect();
    let tasks = format!("{{ config: {{ agent: worker }}, tasks: [{}] }}", tasks.join(", "));
    let world = questions::world(&tasks, &[("worker", STEPPER)]);
    let parallel = agents.to_string();
    let mut live = start(&world, &["-p", &parallel]);
    wait_for("all to be at work", || (pids_of(&world).len() == agents).then_some(()));
    wait_for("all to be noted", || (world.logged("process_started").len() == agents).then_some(()));
    let mut reattached = 0;
    for round in 0..kills {
        let moment = Instant::now() + Duration::from_millis(rng.u64(0..400));
        // Whatever it is at: that is what is to be hit.
        wait_for("the moment", || (Instant::now() >= moment).then_some(()));
        kill(live);
        live = world.spawn(&mut command(&world, &["run", "--resume", "-p", &parallel]));
        wait_for("them to be taken hold of", || {
            let (begun, taken) = (world.logged("attempt_started"), world.logged("attempt_reattached"));
            (taken.len() + begun.len() >= agents * (round + 2)).then_some(())
        });
        reattached = world.logged("attempt_reattached").len();
    }
    world.write("over", "");
    live.ended().expect(0);
    let due = agents * kills;
    println!("{reattached} of {due} were taken hold of again");
    assert!(reattached * 100 >= due * 99, "{reattached} of {due}");
    assert_eq!(world.logged("task_completed").len(), agents);
    let billed: u64 = (0..agents)
        .map(|number| world.read(&format!("billed-t{number}")).lines().count() as u64 * 1000)
        .sum();
    assert_eq!(recorded(&world), billed, "what was billed is recorded once");
    for name in (0..agents).map(|number| format!("t{number}")).filter(|_| reattached == due) {
        let text = String::from_utf8(world.transcript(&name)).unwrap();
        let said: std::collections::BTreeSet<&str> = text.lines().collect();
        let turns = world.read(&format!("billed-{name}")).lines().count();
        let lost: Vec<usize> =
            (1..=turns).filter(|turn| !said.contains(format!("{name} turn {turn}").as_str())).collect();
        assert!(lost.is_empty(), "{name} said these, and they are not in its transcript: {lost:?}");
    }
    expect_no_leftovers(&world.run_id());
    expect_tidy(&world);
}

pub(crate) fn pids_of(world: &World) -> Vec<String> {
    std::fs::read_to_string(world.path("pids")).unwrap_or_default().lines().map(str::to_owned).collect()
}

const COMMANDS: &str = "tasks:
  - { id: a, run: \"HERE/command.sh a\", survive: true, verify: ['test -e a.txt'] }
  - { id: b, run: \"HERE/command.sh b\" }
limits: { max_cost: 1 }";

const COMMAND: &str = "#!/bin/sh
echo $$ >> HERE/pids-$1
echo the first words
touch HERE/begun-$1
while [ ! -e HERE/go ]; do sleep 0.01; done
echo the second words
echo $1 > $1.txt
";

/// A command that says so goes on as agents do, and one that does not is done again.
#[test]
fn a_command_that_is_to_survive_goes_on_without_a_coordinator() {
    for (during, handed_over) in [(false, false), (true, false), (false, true)] {
        let world = questions::world("", &[]);
        let here = world.path("").display().to_string();
        world.write("tasks.yaml", &COMMANDS.replace("HERE", &here));
        world.write("command.sh", &COMMAND.replace("HERE", &here));
        let executable = std::os::unix::fs::PermissionsExt::from_mode(0o755);
        fs::set_permissions(world.path("command.sh"), executable).unwrap();
        let live = start(&world, &["-p", "2", "--only", if handed_over { "a" } else { "a,b" }]);
        world.wait_for_file("begun-a");
        wait_for("its shim", || (held(&world).len() == 1).then_some(()));
        let agent = held(&world)[0];
        if handed_over {
            conductor(&world, &["handover"]).expect(0);
            live.ended().expect(8);
            world.write("go", "");
            conductor(&world, &["wait"]).expect(0);
        } else {
            world.wait_for_file("begun-b");
            kill(live);
            if during {
                world.write("go", "");
                wait_for("its end", || (!is_alive(agent)).then_some(()));
            }
            assert!(during || is_alive(agent));
            let again = world.spawn(&mut command(&world, &["run", "--resume"]));
            wait_for("it to be taken hold of", || {
                (world.logged("attempt_reattached") == ["a"]).then_some(())
            });
            world.write("go", "");
            again.ended().expect(0);
            assert_eq!(world.read("pids-b").lines().count(), 2, "that one was begun anew");
        }
        assert_eq!(world.logged("attempt_reattached"), ["a"], "{during}");
        assert_eq!(world.read("pids-a").lines().count(), 1);
        assert_eq!(words(&world), ["the first words", "the second words"]);
        let branch = format!("conductor/{}", world.run_id());
        assert_eq!(git(&world, &["show", &format!("{branch}:a.txt")]), "a");
        expect_no_leftovers(&world.run_id());
        expect_tidy(&world);
    }
}

/// A coordinator that stands still is no dead one: nothing is ended, and it goes on where it was.
#[test]
fn a_coordinator_that_stands_still_is_not_taken_for_dead() {
    let mut world = world(WORKER);
    world.set("CONDUCTOR_ORPHAN_GRACE", "300ms");
    let live = start(&world, &[]);
    world.wait_for_file("begun");
    live.signal(Signal::STOP);
    world.write("go", "");
    world.wait_for_file("asked");
    let until = Instant::now() + Duration::from_secs(1);
    wait_for("more than its grace", || (Instant::now() > until).then_some(()));
    assert!(is_alive(pids(&world)[0]));
    live.signal(Signal::CONT);
    live.ended().expect(0);
    assert_eq!(world.logged("attempt_started"), ["a"]);
    assert_eq!(recorded(&world), 3000);
    expect_no_leftovers(&world.run_id());
}
