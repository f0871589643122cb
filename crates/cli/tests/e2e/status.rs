//! Watching a run from outside: `status`, `logs`, `events`, `wait`; and steering it.

use std::time::{Duration, Instant};

use rustix::process::Signal;

use crate::harness::{World, expect_no_leftovers, is_alive, wait_for};
use crate::questions;
use crate::repository::{command, conductor, start};
use crate::tmux::{Terminal, masked};

const TWO: &str = "
tasks:
  - { id: first, group: g, run: AGENT say hello then touch started then await go then say bye }
  - { id: second, group: g, run: 'true', dependencies: [first] }
  - { id: third, run: 'true', dependencies: [first] }
";

#[test]
fn a_live_run_tells_what_it_does_and_one_that_is_over_what_it_came_to() {
    let world = World::with(TWO);
    world.conductor(&["status"]).expect(4).says("nothing has been run here yet");
    let live = world.start(&["run", "tasks.yaml", "-p", "3"]);
    world.wait_for_file("started");
    let id = world.run_id();
    wait_for("the process's number", || {
        let json = world.conductor(&["status", "--json"]).expect(0).json();
        json["running"][0]["pid"].is_u64().then_some(json)
    });
    let json = world.conductor(&["status", &id[..4], "--json"]).expect(0).json();
    assert_eq!((&json["schema"], &json["run"]), (&"conductor.status/1".into(), &id.as_str().into()));
    assert_eq!((&json["live"], &json["state"]), (&true.into(), &"running".into()));
    assert_eq!(json["pid"], live.pid());
    assert_eq!((&json["counts"]["running"], &json["counts"]["pending"]), (&1.into(), &2.into()));
    assert_eq!(
        (&json["running"][0]["task"], &json["running"][0]["phase"]),
        (&"first".into(), &"working".into())
    );
    let text = world.conductor(&["status"]).expect(0).stdout;
    assert!(
        text.contains(&format!("run {id}: running, 0 of 3 done, 1 at work, 2 to do; 3 at a time")),
        "{text}"
    );
    assert!(text.contains("\nat work\n  first  "), "{text}");
    world.conductor(&["runs", "list"]).expect(0).says(&id).says("running");
    world.conductor(&["runs", "show"]).expect(0).says("at work\n  first");
    world.write("go", "");
    live.ended().expect(0);
    let json = world.conductor(&["status", "--json"]).expect(0).json();
    assert_eq!((&json["live"], &json["state"]), (&false.into(), &"completed".into()));
    let text = world.conductor(&["status"]).expect(0).stdout;
    assert!(text.contains("completed, 3 of 3 done") && !text.contains("not active"), "{text}");
    world.conductor(&["runs", "show"]).expect(0).says(&format!("run {id} completed: 3 of 3 completed"));
    let listed = world.conductor(&["runs", "list", "--json"]).expect(0).json();
    assert_eq!(listed["schema"], "conductor.runs/1");
    assert_eq!(
        (&listed["runs"][0]["run"], &listed["runs"][0]["counts"]["completed"]),
        (&id.into(), &3.into())
    );
}

/// Each phase is shown as long as it lasts: by `status`, and at the run's own terminal.
#[test]
fn it_tells_who_is_being_prepared_checked_and_merged() {
    let world = questions::world(
        "
tasks:
  - id: a
    run: AGENT touch HERE/working then await HERE/work then touch made
    setup: [AGENT touch HERE/preparing then await HERE/prepare]
    verify:
      - AGENT touch HERE/verifying then await HERE/verify
      - test ! -f b.txt || AGENT touch HERE/merging then await HERE/merge
  - { id: b, run: AGENT await HERE/working then touch b.txt }
",
        &[],
    );
    let live = start(&world, &["-p", "2"]);
    for (phase, go) in
        [("preparing", "prepare"), ("working", "work"), ("verifying", "verify"), ("merging", "merge")]
    {
        world.wait_for_file(phase);
        wait_for(phase, || {
            let json = conductor(&world, &["status", "--json"]).expect(0).json();
            (json["running"][0]["phase"] == phase).then_some(())
        });
        live.signal(Signal::USR1);
        live.wait_for_stderr(&format!("s  {phase}"));
        if phase == "working" {
            wait_for("the other to land", || world.logged("task_completed").pop());
        }
        world.write(go, "");
    }
    live.ended().expect(0);
}

#[test]
fn the_socket_of_a_dead_coordinator_is_not_taken_for_an_active_run() {
    let world = World::with(TWO);
    let live = world.start(&["run", "tasks.yaml"]);
    world.wait_for_file("started");
    let id = world.run_id();
    live.signal(Signal::KILL);
    live.ended();
    assert!(world.home().join("runs").join(&id).join("control").exists(), "the socket is still there");
    let text = world.conductor(&["status"]).expect(0).stdout;
    assert!(text.contains("left in the middle"), "{text}");
    assert!(text.contains(&format!("to go on with it: conductor run --resume {id}")), "{text}");
    for verb in [&["pause"][..], &["resume"], &["parallel", "3"], &["cancel", "first"], &["cancel", "--all"]]
    {
        world
            .conductor(verb)
            .expect(4)
            .says(&format!("run {id} is not active"))
            .says(&format!("conductor run --resume {id}"));
    }
    world.conductor(&["explain", "second"]).expect(0).says("the run is not active");
    world.conductor(&["wait"]).expect(1).says("was left in the middle");
    world.conductor(&["logs", "first"]).expect(0).says("hello");
    world.conductor(&["runs", "list"]).expect(0).says("left");
}

#[test]
fn a_name_that_is_not_there_is_met_with_the_nearest_one() {
    let world = World::with(TWO);
    let live = world.start(&["run", "tasks.yaml"]);
    world.wait_for_file("started");
    let mut wrong = world.run_id();
    wrong.pop();
    wrong.push('0');
    for verb in ["status", "pause", "resume", "wait", "events"] {
        world.conductor(&[verb, &wrong]).expect(2).says("there is no run").says("did you mean");
    }
    world.conductor(&["runs", "show", &wrong]).expect(2).says("did you mean");
    world.conductor(&["logs", "frist"]).expect(2).says("did you mean 'first'?");
    world.conductor(&["cancel", "frist"]).expect(2).says("did you mean 'first'?");
    world.conductor(&["cancel", "--group", "gg"]).expect(2).says("there is no group 'gg'");
    world.conductor(&["cancel"]).expect(2);
    world.conductor(&["cancel", "first", "--all"]).expect(2);
    world.conductor(&["parallel", "0"]).expect(2);
    world.conductor(&["logs", "second"]).expect(4).says("has not begun");
    world.conductor(&["logs", "first", "--attempt", "7"]).expect(2).says("the newest is 1");
    world.conductor(&["logs", "first", "--stream"]).expect(4).says("is a command");
    world.write("go", "");
    live.ended().expect(0);
}

#[test]
fn a_group_is_cancelled_and_then_everything() {
    let world = World::with(TWO);
    let live = world.start(&["run", "tasks.yaml"]);
    world.wait_for_file("started");
    world.conductor(&["cancel", "--group", "g"]).expect(0).says("group g is cancelled");
    live.ended().expect(9);
    let statuses = world.statuses();
    assert_eq!((statuses["first"].as_str(), statuses["second"].as_str()), ("cancelled", "cancelled"));
    expect_no_leftovers(&world.run_id());
}

#[test]
fn more_at_once_begin_at_once() {
    let world = World::with(
        "tasks: [{ id: a, run: AGENT touch started then await go }, { id: b, run: AGENT touch both then await go }]",
    );
    let live = world.start(&["run", "tasks.yaml"]);
    world.wait_for_file("started");
    assert!(!world.path("both").exists());
    world.conductor(&["parallel", "2"]).expect(0).says("2 at a time");
    world.wait_for_file("both");
    world.write("go", "");
    live.ended().expect(0);
}

#[test]
fn words_are_followed_through_attempts_until_the_task_ends() {
    let world = World::with(
        "tasks: [{ id: a, run: 'echo try; AGENT touch tries; printf \"\\033[31mred\\007\\n\"; AGENT await go; test -e good', \
         retry_policy: { max_attempts: 3, initial_delay: 10ms } }]",
    );
    let live = world.start(&["run", "tasks.yaml"]);
    world.wait_for_file("tries");
    let follower = world.start(&["logs", "a", "-f"]);
    wait_for("its words while it speaks", || follower.stdout().contains("try\nred\n").then_some(()));
    assert!(!follower.stdout().contains('\x1b') && !follower.stdout().contains('\x07'));
    world.write("go", "");
    live.ended().expect(100);
    let followed = follower.ended().expect(0);
    assert_eq!(followed.stdout, "try\nred\n".repeat(3), "each word once: {}", followed.stderr);
    let told = world.conductor(&["logs", "a"]).expect(0).says("attempt 3 of 3");
    assert_eq!(told.stdout, "try\nred\n");
    world.conductor(&["logs", "a", "--attempt", "1"]).expect(0).says("try");
}

/// What is secret is not shown while it is still in the spool either.
#[test]
fn secrets_are_not_shown_while_they_are_said() {
    let mut world = World::with(
        "tasks: [{ id: a, run: 'echo key $MY_API_KEY; AGENT touch started then await go', env_pass: [MY_API_KEY] }]",
    );
    world.set("MY_API_KEY", "hunter2-hunter2-hunter2");
    let live = world.start(&["run", "tasks.yaml"]);
    world.wait_for_file("started");
    world.unset("MY_API_KEY");
    let follower = world.start(&["logs", "a", "-f"]);
    wait_for("its words", || follower.stdout().contains("key ***").then_some(()));
    world.write("go", "");
    live.ended().expect(0);
    assert!(!follower.ended().expect(0).stdout.contains("hunter2"));
}

/// An agent's text for users, its protocol, and its cost so far.
#[test]
fn an_agent_is_followed_in_its_own_words_too() {
    let agent = r#"
read -r task
echo '{"type":"text","text":"reading on"}'
echo '{"type":"usage","model":"own","input":900,"output":50,"turns":1,"cost":0.25}'
echo > HERE/started
while [ ! -e HERE/go ]; do sleep 0.02; done
echo 1 > done.txt
echo '{"type":"result","ok":true,"text":"done"}'
"#;
    let world = questions::world("tasks: [{ id: a, prompt: Do it, agent: speaks }]", &[("speaks", agent)]);
    let live = start(&world, &[]);
    world.wait_for_file("started");
    let words = world.spawn(&mut command(&world, &["logs", "a", "-f"]));
    let stream = world.spawn(&mut command(&world, &["logs", "a", "-f", "--stream"]));
    wait_for("its words", || words.stdout().contains("reading on").then_some(()));
    wait_for("its lines", || stream.stdout().contains(r#""type":"usage""#).then_some(()));
    wait_for("its cost", || {
        let json = conductor(&world, &["status", "--json"]).expect(0).json();
        (json["cost_usd"] == 0.25 && json["running"][0]["agent"] == "speaks").then_some(())
    });
    conductor(&world, &["runs", "list"]).expect(0).says("$0.2500");
    world.write("go", "");
    live.ended().expect(0);
    let words = words.ended().expect(0).stdout;
    assert_eq!(words, conductor(&world, &["logs", "a"]).expect(0).stdout, "each word once");
    let lines = stream.ended().expect(0).json_lines();
    let kinds: Vec<&str> = lines.iter().map(|line| line["type"].as_str().unwrap()).collect();
    assert_eq!(kinds, ["text", "usage", "result"], "each line once");
    assert_eq!(conductor(&world, &["logs", "a", "--stream"]).expect(0).json_lines(), lines);
}

#[test]
fn events_are_the_log_from_any_place_on_and_as_it_grows() {
    let world = World::with(TWO);
    let live = world.start(&["run", "tasks.yaml", "--json"]);
    world.wait_for_file("started");
    let follower = world.start(&["events", "--follow"]);
    wait_for("the first events", || follower.stdout().contains("attempt_started").then_some(()));
    world.write("go", "");
    let told = live.ended().expect(0).json_lines();
    let followed = follower.ended().expect(0).json_lines();
    let seqs: Vec<u64> = followed.iter().map(|line| line["seq"].as_u64().unwrap()).collect();
    assert_eq!(seqs, (1..=seqs.len() as u64).collect::<Vec<_>>(), "each once, in order, from the first");
    assert_eq!(followed.last().unwrap()["type"], "run_finished");
    let finished = told.iter().find(|line| line["type"] == "run_finished").unwrap();
    assert_eq!(followed.last().unwrap(), finished, "as `run --json` writes them");
    let since = world.conductor(&["events", "--since", "3"]).expect(0).json_lines();
    assert_eq!((since[0]["seq"].as_u64(), since.len()), (Some(4), seqs.len() - 3));
}

#[test]
fn waiting_ends_with_the_runs_own_exit_code_or_when_the_time_is_over() {
    for (task, code) in [("'true'", 0), ("'false'", 100)] {
        let world = World::with(&format!(
            "tasks: [{{ id: a, run: AGENT touch started then await go }}, {{ id: b, run: {task}, dependencies: [a] }}]"
        ));
        let live = world.start(&["run", "tasks.yaml"]);
        world.wait_for_file("started");
        let begun = Instant::now();
        world.conductor(&["wait", "--timeout", "200ms"]).expect(8).says("still being worked on");
        assert!(begun.elapsed() >= Duration::from_millis(200));
        world.conductor(&["wait", "--for", "any", "--timeout", "100ms"]).expect(8);
        let any = world.start(&["wait", "--for", "any"]);
        let done = world.start(&["wait"]);
        // Both have to listen before anything ends.
        wait_for("both to listen", || (sockets(any.pid()) > 0 && threads(done.pid()) > 1).then_some(()));
        world.write("go", "");
        any.ended().expect(0).says("a completed");
        live.ended().expect(code);
        done.ended().expect(code);
        world.conductor(&["wait"]).expect(code);
    }
}

fn sockets(pid: u32) -> usize {
    let entries = std::fs::read_dir(format!("/proc/{pid}/fd")).into_iter().flatten().flatten();
    let links = entries.filter_map(|entry| std::fs::read_link(entry.path()).ok());
    links.filter(|link| link.to_string_lossy().starts_with("socket:")).count()
}

fn threads(pid: u32) -> usize {
    std::fs::read_dir(format!("/proc/{pid}/task")).map_or(0, |tasks| tasks.count())
}

#[test]
fn a_run_in_the_background_goes_on_without_us_and_can_be_found() {
    let world = World::with(TWO);
    let ended = world.conductor(&["run", "tasks.yaml", "--detach", "--json"]).expect(0);
    let begun = ended.json();
    assert_eq!(begun["schema"], "conductor.detached/1");
    let (id, pid) = (world.run_id(), begun["pid"].as_u64().unwrap() as u32);
    assert_eq!(begun["run"], id.as_str());
    world.wait_for_file("started");
    assert!(is_alive(pid));
    let session = |pid: u32| {
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
        stat.rsplit_once(')').unwrap().1.split_whitespace().nth(3).unwrap().parse::<u32>().unwrap()
    };
    assert_eq!(session(pid), pid, "a session of its own");
    let json = world.conductor(&["status", "--json"]).expect(0).json();
    assert_eq!((&json["run"], &json["pid"]), (&begun["run"], &begun["pid"]));
    world.write("go", "");
    world.conductor(&["wait"]).expect(0);
    let log = std::fs::read_to_string(begun["log"].as_str().unwrap()).unwrap();
    assert!(log.contains("run_finished"), "{log}");
    wait_for("its end", || (!is_alive(pid)).then_some(()));
}

#[test]
fn a_run_in_the_background_is_stopped_by_a_signal_and_cancelled_from_outside() {
    let world = World::with(TWO);
    let told = world.conductor(&["run", "tasks.yaml", "--detach"]).expect(0).stdout;
    let id = world.run_id();
    for words in [format!("conductor status {id}"), format!("conductor wait {id}"), "run.log".to_owned()] {
        assert!(told.contains(&words), "{told}");
    }
    world.wait_for_file("started");
    let json = world.conductor(&["status", "--json"]).expect(0).json();
    let pid = rustix::process::Pid::from_raw(json["pid"].as_i64().unwrap() as i32).unwrap();
    rustix::process::kill_process(pid, Signal::TERM).unwrap();
    world.conductor(&["wait"]).expect(143);
    expect_no_leftovers(&id);
    std::fs::remove_file(world.path("started")).unwrap();
    world.conductor(&["run", "--resume", "--detach"]).expect(0);
    world.wait_for_file("started");
    world.conductor(&["cancel", "--all"]).expect(0);
    world.conductor(&["wait"]).expect(9);
    expect_no_leftovers(&id);
}

#[test]
fn what_goes_wrong_before_a_run_is_there_is_said_at_once() {
    let world = World::with("tasks: [{ id: a }]");
    world.conductor(&["run", "tasks.yaml", "--detach"]).expect(3);
    world.conductor(&["run", "missing.yaml", "--detach"]).expect(3);
    world.conductor(&["run", "--resume", "--detach"]).expect(4);
    world.conductor(&["run", "tasks.yaml", "--detach", "--dry-run"]).expect(2);
    assert!(world.runs().is_empty());
}

#[test]
fn a_signal_has_a_run_tell_what_it_does() {
    let world = World::with(TWO);
    let live = world.start(&["run", "tasks.yaml"]);
    world.wait_for_file("started");
    live.signal(Signal::USR1);
    live.wait_for_stderr("\nat work\n  first  ");
    world.write("go", "");
    live.ended().expect(0);
}

/// On a terminal it has a screen of its own: what was there before is there after, and no frame is left in what scrolled by.
#[test]
fn a5_watching_leaves_no_frames_and_exits_as_the_run_does() {
    let mut world = World::in_place(
        "tasks: [{ id: asks, run: AGENT touch started then await go then exit 3 }, { id: after, run: 'true', dependencies: [asks] }]",
    );
    let live = world.start(&["run", "tasks.yaml"]);
    world.wait_for_file("started");
    let before = "for n in $(seq 30); do echo before: $n.; done";
    let program = format!("{} status --watch", crate::harness::CONDUCTOR);
    let Some(terminal) = Terminal::with(&mut world, (50, 14), before, &program) else { return };
    let frame = || terminal.tmux(&["capture-pane", "-p"]);
    let shown = |frame: &String| {
        frame.contains("at work\n  asks ") && frame.contains("working") && !frame.contains("before: ")
    };
    for size in [(50, 14), (40, 12), (100, 30), (50, 14)] {
        terminal.resize(size.0, size.1);
        wait_for("a frame that fits", || {
            let frame = frame();
            let at_top = frame.starts_with(&format!("run {}: running", terminal.world.run_id()));
            (shown(&frame) && at_top).then_some(())
        });
    }
    let during = terminal.tmux(&["capture-pane", "-p", "-J"]).trim_end().to_owned();
    terminal.world.write("go", "");
    live.ended().expect(100);
    let text = terminal.ended(100);
    let id = terminal.world.run_id();
    assert_eq!(text.matches(&format!("run {id}: ")).count(), 1, "{text}");
    assert!(
        text.contains(&format!("conductor run --resume {id} --retry-failed\n")),
        "whole, to be copied:\n{text}"
    );
    let all = format!("{during}\n--- after\n{}", &text[text.find("before: 30.").unwrap()..]);
    let process = all.lines().find_map(|line| line.split_once(", by process ")).unwrap().1.to_owned();
    insta::assert_snapshot!(masked(terminal.world, &all.replace(&process, "PID")));
}

#[test]
fn a5_watching_that_is_interrupted_gives_the_screen_back() {
    let mut world = World::in_place(TWO);
    let live = world.start(&["run", "tasks.yaml"]);
    world.wait_for_file("started");
    let Some(terminal) = Terminal::open(&mut world, (80, 24), "status --watch") else { return };
    let frame = || terminal.tmux(&["capture-pane", "-p"]);
    wait_for("a frame", || frame().contains("at work").then_some(()));
    terminal.press(&["C-c"]);
    let text = terminal.ended(130);
    assert!(!text.contains("at work"), "{text}");
    terminal.world.write("go", "");
    live.ended().expect(0);
}

#[test]
fn watching_ends_with_the_run() {
    let world = World::with(TWO);
    let live = world.start(&["run", "tasks.yaml"]);
    world.wait_for_file("started");
    let watcher = world.start(&["status", "--watch"]);
    wait_for("a first look", || watcher.stdout().contains("at work").then_some(()));
    world.write("go", "");
    live.ended().expect(0);
    let watched = watcher.ended().expect(0).stdout;
    assert!(watched.contains("completed, 3 of 3 done"), "{watched}");
    assert!(!watched.contains('\x1b'), "nothing is drawn over where there is no terminal");
}
