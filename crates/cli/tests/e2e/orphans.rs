//! What a killed coordinator leaves: agents that cannot work without it, and what they have spent.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use conductor_testkit::agents::Agent;
use conductor_testkit::{Answered, Fault, Kind, Script, Usage};
use rustix::process::Signal;
use serde_json::Value;

use crate::backends::{Bench, prompt};
use crate::harness::{Live, World, carries, children, is_alive, leftovers, wait_for};
use crate::outliving::{kill_shims, shims};
use crate::repository::command;

/// Far below the minute that commands get. The promise is a second, of which a loaded machine may make several.
const BOUND: Duration = Duration::from_secs(4);

/// A world with an agent `talker` that is told its task and then carries out a script.
fn conversation(tasks: &str, script: &str) -> World {
    let mut world = World::in_place(tasks);
    let bin = world.path("bin");
    fs::create_dir(&bin).unwrap();
    let program = bin.join("conductor-agent-talker");
    fs::write(&program, format!("#!/bin/sh\nread -r task\n{script}\n")).unwrap();
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    let inherited = std::env::var_os("PATH").unwrap();
    let path = std::iter::once(bin).chain(std::env::split_paths(&inherited));
    world.set("PATH", std::env::join_paths(path).unwrap());
    // There is no repository here: what an agent does is done in place.
    world.set("CONDUCTOR_ISOLATION", "none");
    world
}

fn kill(live: Live) -> Instant {
    live.signal(Signal::KILL);
    drop(live);
    Instant::now()
}

/// Processes of one task, by number.
fn of_task(run: &str, task: &str) -> Vec<u32> {
    let mark = format!("CONDUCTOR_TASK={task}");
    let all = leftovers(run).into_iter().map(|(pid, _)| pid);
    all.filter(|&pid| carries(pid, &mark)).collect()
}

#[test]
fn without_a_grace_everything_is_ended_with_its_coordinator() {
    let mut world = conversation(
        "
config: { agent: talker }
tasks: [{ id: agent, prompt: 'work' }, { id: command, run: 'echo up > command; exec sleep 600' }]
",
        // A program it starts has left its group and its session.
        "setsid sh -c 'echo up > child; exec sleep 600' & while :; do echo x >> asked; sleep 0.02; done",
    );
    world.without_grace();
    let live = world.start(&["run", "tasks.yaml", "-p", "2"]);
    ["command", "child", "asked"].iter().for_each(|file| world.wait_for_file(file));
    wait_for("both to be noted", || (world.logged("process_started").len() == 2).then_some(()));
    let run = world.run_id();
    assert!(of_task(&run, "agent").len() > 1);
    let died = kill(live);
    wait_for("all to go", || leftovers(&run).is_empty().then_some(()));
    let took = died.elapsed();
    eprintln!("all were ended {} ms after their coordinator", took.as_millis());
    assert!(took < BOUND, "{took:?}");
}

#[test]
fn agents_whose_shims_are_killed_are_ended_at_once_and_commands_get_their_grace() {
    let mut world = conversation(
        "
config: { agent: talker }
tasks: [{ id: agent, prompt: 'work' }, { id: command, run: 'echo up > command; exec sleep 600' }]
",
        // A program it starts has left its group and its session.
        "setsid sh -c 'echo up > child; exec sleep 600' & while :; do echo x >> asked; sleep 0.02; done",
    );
    world.set("CONDUCTOR_ORPHAN_GRACE", "1m");
    let live = world.start(&["run", "tasks.yaml", "-p", "2"]);
    ["command", "child", "asked"].iter().for_each(|file| world.wait_for_file(file));
    wait_for("both to be noted", || (world.logged("process_started").len() == 2).then_some(()));
    let run = world.run_id();
    assert!(of_task(&run, "agent").len() > 2);
    kill(live);
    let before = world.read("asked").len();
    wait_for("the agent to go on", || (world.read("asked").len() > before + 100).then_some(()));
    assert_eq!(shims(&world).len(), 1);
    let died = Instant::now();
    kill_shims(&world);
    wait_for("the agent to go", || of_task(&run, "agent").is_empty().then_some(()));
    let took = died.elapsed();
    eprintln!("the agent was ended {} ms after its shim", took.as_millis());
    assert!(took < BOUND, "{took:?}");
    assert_eq!(of_task(&run, "command").len(), 1, "a command needs no coordinator to go on");
}

#[test]
fn an_agent_is_ended_with_a_coordinator_that_dies_before_it_is_noted() {
    let mut world = conversation(
        "{ config: { agent: talker }, tasks: [{ id: agent, prompt: 'work' }] }",
        "echo up > up; while :; do sleep 0.02; done",
    );
    world.without_grace();
    let live = world.start(&["run", "tasks.yaml"]);
    world.wait_for_file("up");
    let run = world.run_id();
    kill(live);
    wait_for("the agent to go", || of_task(&run, "agent").is_empty().then_some(()));
}

#[test]
fn three_claudes_ask_nothing_more_once_their_coordinator_is_killed() {
    let tasks: String = ["one", "two", "three"].map(|name| prompt(name, "")).concat();
    let Some(mut bench) = Bench::new(Agent::Claude, "", &tasks) else { return };
    for name in ["one", "two", "three"] {
        let script = (0..200).fold(Script::new(), |script, turn| script.run(format!("echo {turn}")));
        bench.script(name, script.finish("Done."));
    }
    bench.world.without_grace();
    let live = bench.run(&["-p", "3"]);
    ["one", "two", "three"].iter().for_each(|name| bench.await_requests(name, 2));
    let run = bench.world.run_id();
    let died = kill(live);
    wait_for("the agents to go", || leftovers(&run).is_empty().then_some(()));
    let took = died.elapsed();
    eprintln!("three claudes were ended {} ms after their coordinator", took.as_millis());
    assert!(took < BOUND, "{took:?}");
}

/// Reports its usage after each request, and counts it in a file.
const SPENDER: &str = r#"
spend() {
  echo '{"type":"usage","model":"claude-opus-5-5","input":1000,"output":0,"turns":1}'
  echo 1000 >> handed-out
}
spend
if [ -e again ]; then echo '{"type":"result","ok":true,"text":"done"}'; exit 0; fi
touch "begun-$(wc -l < handed-out)"
while [ ! -e go ]; do sleep 0.01; done
spend; spend; spend
touch spent
exec sleep 600
"#;

/// Lets the agent spend while the coordinator is stopped, and then kills the coordinator.
fn spend_unheard(world: &World, live: Live) {
    live.signal(Signal::STOP);
    world.write("go", "");
    world.wait_for_file("spent");
    kill(live);
}

fn handed_out(world: &World) -> u64 {
    world.read("handed-out").lines().map(|line| line.parse::<u64>().unwrap()).sum()
}

fn recorded(world: &World) -> u64 {
    let query = "SELECT sum(json_extract(body, '$.usage_reported.usage.tokens')) FROM events";
    world.try_sql(query).ok().and_then(|sum| sum.trim().parse().ok()).unwrap_or(0)
}

#[test]
fn what_agents_spent_unheard_is_counted_when_the_run_is_taken_up() {
    let mut world =
        conversation("{ config: { agent: talker }, tasks: [{ id: agent, prompt: 'work' }] }", SPENDER);
    world.without_grace();
    let live = world.start(&["run", "tasks.yaml"]);
    wait_for("what it said first", || (recorded(&world) == 1000).then_some(()));
    spend_unheard(&world, live);
    assert_eq!(recorded(&world), 1000, "it was not heard");
    world.write("again", "");
    world.conductor(&["run", "--resume"]).expect(0);
    assert_eq!(handed_out(&world), 5000);
    assert_eq!(recorded(&world), 5000);
    assert_eq!(world.summary()["results"][0]["tokens"], 5000, "{}", world.summary());
    // Everything of the attempt that was cut short is in its line, too.
    let lines = fs::read_to_string(world.home().join("sessions.jsonl")).unwrap();
    let lines: Vec<Value> = lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let told: Vec<(&str, u64)> = lines
        .iter()
        .filter(|line| line["status"] != "started")
        .map(|line| (line["status"].as_str().unwrap(), line["tokens"].as_u64().unwrap_or(0)))
        .collect();
    assert_eq!(told, [("interrupted", 4000), ("completed", 1000)]);
}

#[test]
fn what_was_heard_is_not_counted_twice_though_an_attempt_opens_several_streams() {
    let mut world = conversation(
        "
config: { agent: talker, fix_rounds: 1 }
tasks: [{ id: agent, prompt: 'work', verify: ['test -e again'] }]
",
        // The first round ends well and is sent back; the second goes on until it is killed.
        &SPENDER.replacen("spend\n", "spend\n[ -e round ] || { touch round; echo '{\"type\":\"result\",\"ok\":true,\"text\":\"done\"}'; exit 0; }\n", 1),
    );
    world.without_grace();
    let live = world.start(&["run", "tasks.yaml"]);
    world.wait_for_file("begun-2");
    wait_for("both rounds", || (recorded(&world) == 2000).then_some(()));
    spend_unheard(&world, live);
    world.write("again", "");
    world.conductor(&["run", "--resume"]).expect(0);
    assert_eq!(handed_out(&world), 6000);
    assert_eq!(recorded(&world), 6000);
}

#[test]
fn a_run_whose_cap_was_passed_unheard_starts_nothing_more() {
    let world = conversation(
        "{ config: { agent: talker }, tasks: [{ id: agent, prompt: 'work' }, { id: next, prompt: 'work' }] }",
        SPENDER,
    );
    let live = world.start(&["run", "tasks.yaml", "-p", "1", "--max-cost", "0.01"]);
    wait_for("what it said first", || (recorded(&world) == 1000).then_some(()));
    spend_unheard(&world, live);
    world.write("again", "");
    world.conductor(&["run", "--resume"]).expect(6);
    assert_eq!(world.logged("attempt_started"), ["agent"], "nothing more is started");
    assert_eq!((handed_out(&world), recorded(&world)), (4000, 4000));
}

/// The same with the real Claude Code and three at once, whose provider knows what it handed out.
#[test]
fn what_three_claudes_spent_unheard_is_what_their_provider_handed_out() {
    let names = ["one", "two", "three"];
    let tasks: String = names.map(|name| prompt(name, "")).concat();
    let Some(mut bench) = Bench::new(Agent::Claude, "", &tasks) else { return };
    for name in names {
        // Whatever is asked after the first answer, be it before or after the kill, is handed out nothing.
        let refused = Fault::of(Kind::Overloaded);
        let script = Script::new().run(format!("echo {name} > {name}.txt")).slow(600_000).error(refused);
        bench.script(name, script.finish("Done."));
    }
    bench.world.without_grace();
    let live = bench.run(&["-p", "3"]);
    names.iter().for_each(|name| bench.await_requests(name, 1));
    live.signal(Signal::STOP);
    let run = bench.world.run_id();
    // An answer is said once its command is asked leave for.
    wait_for("each to have been answered", || {
        let streams = (1..=3).map(|executor| {
            let spool = format!("runs/{run}/executor_{executor}/spool.jsonl");
            fs::read_to_string(bench.world.home().join(spool)).unwrap_or_default()
        });
        streams.into_iter().all(|stream| stream.contains("control_request")).then_some(())
    });
    kill(live);
    names.iter().for_each(|name| {
        bench.script(name, Script::new().run(format!("echo {name} > {name}.txt")).finish("Done."))
    });
    bench.world.spawn(&mut command(&bench.world, &["run", "--resume"])).ended().expect(0);
    let answers = names.into_iter().flat_map(|name| bench.stand_in.requests(name));
    let paid =
        |answer: &Answered| matches!(answer, Answered::Text | Answered::Called(_) | Answered::Prepared(_));
    let answers = answers.filter(|request| request.turn.is_some() && paid(&request.answer)).count() as u64;
    assert!(answers >= 6, "{answers}");
    let Usage { input, output, cache_read, cache_write } = Usage::default();
    let handed_out = answers * (input + output + cache_read + cache_write);
    // One that asks for leave in the middle of an answer has not said by then how long the answer was.
    let unsaid = names.len() as u64 * (output - 1);
    // One whose command was refused as it died was about to ask again: that counts, as large as the call before with its
    // answer, whether the provider heard it or not.
    let about_to_ask = names.len() as u64 * (input + output + cache_read + cache_write + output);
    let recorded = recorded(&bench.world);
    let expected = handed_out - unsaid..=handed_out + about_to_ask;
    assert!(expected.contains(&recorded), "{recorded} of {handed_out}");
}

/// A command that starts a daemon without an environment, in a session of its own, and waits until that is up.
const WIPES: &str = "env -i setsid AGENT pid daemon.pid then sleep 600 & AGENT await daemon.pid";

fn daemon(world: &World) -> u32 {
    wait_for("the daemon", || world.read("daemon.pid").parse().ok())
}

/// The control group of the run, as it is written down.
fn group(world: &World) -> Option<PathBuf> {
    let entries = fs::read_dir(world.home().join("runs").join(world.wait_for_run())).unwrap();
    let mut files = entries.map(|entry| entry.unwrap().path());
    let note =
        files.find(|file| file.file_name().unwrap().as_encoded_bytes().starts_with(b"control_group."))?;
    fs::read_to_string(note).ok().map(PathBuf::from)
}

/// Whether control groups can be made here, as the program finds out for itself.
fn may_make_groups(world: &World) -> bool {
    let made = group(world).is_some();
    if !made {
        crate::harness::skipped("needs leave to make a control group");
    }
    made
}

/// It is in the coordinator's control group from its first moment, whether or not it was ever seen.
#[test]
fn a_daemon_that_wiped_its_mark_in_the_last_moment_does_not_outlive_a_killed_coordinator() {
    for (resumed, was_let_out) in [(false, true), (false, false), (true, true)] {
        let mut world = World::in_place(&format!("tasks: [{{ id: a, run: '{WIPES}; AGENT await go' }}]"));
        world.set("CONDUCTOR_ORPHAN_GRACE", if resumed { "1h" } else { "100ms" });
        let live = world.start(&["run", "tasks.yaml"]);
        let daemon = daemon(&world);
        let groups = may_make_groups(&world);
        // It is started with the first command that lasts.
        let reaper = |child: &u32| {
            fs::read_to_string(format!("/proc/{child}/cmdline")).is_ok_and(|line| line.contains("reaper"))
        };
        let reaper = wait_for("the reaper", || children(live.pid()).into_iter().find(reaper));
        if !groups {
            return;
        }
        if !was_let_out {
            // As if the coordinator had been killed a moment earlier.
            live.signal(Signal::STOP);
            fs::write(group(&world).unwrap().join("cgroup.procs"), reaper.to_string()).unwrap();
        }
        kill(live);
        if resumed {
            assert!(is_alive(daemon));
            world.write("go", "");
            world.conductor(&["run", "--resume"]).expect(0);
            assert!(!is_alive(daemon), "it outlived the run");
        }
        wait_for("the daemon to be ended", || (!is_alive(daemon)).then_some(()));
        wait_for("the group to be removed", || group(&world).is_none().then_some(()));
    }
}

/// Waits until the coordinator has seen the daemon below its task.
fn wait_until_seen(world: &World, daemon: u32) {
    let file = world.home().join("runs").join(world.wait_for_run()).join("descent.jsonl");
    let pid = format!("\"pid\":{daemon},");
    wait_for("the daemon to be seen", || {
        fs::read_to_string(&file).is_ok_and(|text| text.contains(&pid)).then_some(())
    });
}

#[test]
fn a_daemon_that_wiped_its_mark_goes_with_its_task_although_an_older_one_works_on() {
    let world = World::with(&format!(
        "
tasks:
  - {{ id: other, run: AGENT touch up then await go }}
  - {{ id: wipes, run: 'AGENT await up; {WIPES}; AGENT await end' }}
"
    ));
    let mut live = world.start(&["run", "tasks.yaml", "-p", "2"]);
    let daemon = daemon(&world);
    wait_until_seen(&world, daemon);
    world.write("end", "");
    live.wait_for_stderr("ok      wipes");
    let ended = Instant::now();
    wait_for("the daemon to go", || (!is_alive(daemon)).then_some(()));
    assert!(ended.elapsed() < Duration::from_secs(2), "gone after {:?}", ended.elapsed());
    assert!(live.is_running(), "the other task works on");
    world.write("go", "");
    live.ended().expect(0);
    let file = world.home().join("runs").join(world.run_id()).join("descent.jsonl");
    assert!(!file.exists(), "nothing is left to be found");
}

#[test]
fn a_daemon_that_was_never_seen_below_its_task_goes_as_soon_as_nothing_older_is_at_work() {
    let world = World::with(&format!(
        "
tasks:
  - {{ id: wipes, run: '{WIPES}' }}
  - {{ id: next, run: AGENT touch up then await go, dependencies: [wipes] }}
"
    ));
    let mut live = world.start(&["run", "tasks.yaml", "-p", "2"]);
    world.wait_for_file("up");
    let ended = Instant::now();
    let daemon = daemon(&world);
    wait_for("the daemon to go", || (!is_alive(daemon)).then_some(()));
    assert!(ended.elapsed() < Duration::from_secs(2), "gone after {:?}", ended.elapsed());
    assert!(live.is_running(), "the other task works on");
    world.write("go", "");
    live.ended().expect(0);
}

#[test]
fn a_daemon_that_wiped_its_mark_does_not_outlive_a_killed_coordinator() {
    let mut world = World::with(&format!("tasks: [{{ id: wipes, run: '{WIPES}; AGENT await end' }}]"));
    world.set("CONDUCTOR_ORPHAN_GRACE", "1s");
    let live = world.start(&["run", "tasks.yaml"]);
    let daemon = daemon(&world);
    wait_until_seen(&world, daemon);
    kill(live);
    wait_for("the daemon to go", || (!is_alive(daemon)).then_some(()));
}

#[test]
fn a_daemon_that_wiped_its_mark_is_ended_when_its_run_is_taken_up() {
    let world = World::with(&format!("tasks: [{{ id: wipes, run: '{WIPES}; AGENT await end' }}]"));
    let live = world.start(&["run", "tasks.yaml"]);
    let first = daemon(&world);
    wait_until_seen(&world, first);
    let mut stranger = world.command_of("sleep").arg("600").spawn().unwrap();
    kill(live);
    assert!(is_alive(first));
    world.write("end", "");
    world.conductor(&["run", "--resume"]).expect(0);
    assert!(!is_alive(first));
    assert_eq!(stranger.try_wait().unwrap(), None, "a stranger is never touched");
    stranger.kill().unwrap();
    stranger.wait().unwrap();
}

#[test]
fn a_daemon_of_an_agent_goes_with_it_when_the_coordinator_is_killed() {
    let script = format!("{WIPES}; while :; do sleep 0.1; done").replace("AGENT", &crate::harness::agent());
    let mut world =
        conversation("{ config: { agent: talker }, tasks: [{ id: agent, prompt: 'work' }] }", &script);
    world.without_grace();
    let live = world.start(&["run", "tasks.yaml"]);
    let daemon = daemon(&world);
    wait_until_seen(&world, daemon);
    let died = kill(live);
    wait_for("the daemon to go", || (!is_alive(daemon)).then_some(()));
    assert!(died.elapsed() < BOUND, "{:?}", died.elapsed());
}
