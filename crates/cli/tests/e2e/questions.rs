//! Agents that ask the user, hand over to another agent, or have to be stopped.

use std::os::unix::fs::PermissionsExt as _;

use crate::harness::{World, wait_for};
use crate::repository::{command, conductor, expect_tidy, git, repository, start};

/// Asks for permission, and writes the answer to a file.
pub(crate) const ASKER: &str = r#"
read -r task
printf '%s\n' "$task" >> HERE/tasks
case "$task" in
  *"It is allowed"*) echo yes > answer.txt ;;
  *"not allowed"*) echo no > answer.txt ;;
  *)
    echo half > half.txt
    echo '{"type":"question","id":1,"tool":"Bash","input":{"command":"terraform apply"}}'
    read -r refused
    read -r interrupt
    echo "$interrupt" > HERE/interrupt
    exit 1 ;;
esac
echo '{"type":"result","ok":true,"text":"done"}'
"#;

/// A repository, and agents of these names on the PATH.
pub(crate) fn world(tasks: &str, agents: &[(&str, &str)]) -> World {
    let mut world = repository(tasks);
    let bin = world.path("bin");
    std::fs::create_dir(&bin).unwrap();
    for (name, script) in agents {
        let path = bin.join(format!("conductor-agent-{name}"));
        let script = script.replace("HERE", &world.path("").display().to_string());
        std::fs::write(&path, format!("#!/bin/sh\n{script}")).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
    }
    let mut path = bin.into_os_string();
    path.push(":");
    path.push(std::env::var_os("PATH").unwrap());
    world.set("PATH", path);
    world
}

pub(crate) const ASKING: &str = "
config: { agent: asker, permissions: { ask: ['Bash(terraform*)'] } }
tasks:
  - { id: deploy, prompt: Deploy it }
  - { id: other, run: 'echo 1 > other.txt' }
";

#[test]
fn a_question_frees_the_slot_and_the_answer_goes_on_with_the_same_conversation() {
    let world = world(ASKING, &[("asker", ASKER)]);
    let live = start(&world, &["-p", "1"]);
    wait_for("the other task", || world.logged("task_completed").contains(&"other".to_owned()).then_some(()));
    assert_eq!(world.read("interrupt").trim(), r#"{"type":"interrupt"}"#, "it was asked to stop, not killed");
    live.wait_for_stderr("conductor task approve deploy");
    conductor(&world, &["task", "approve", "deploy", "-m", "mind the cost"])
        .expect(0)
        .says("deploy: allowed: Bash: terraform apply");
    live.ended().expect(0);
    let branch = format!("conductor/{}", world.run_id());
    assert_eq!(git(&world, &["show", &format!("{branch}:answer.txt")]), "yes");
    assert_eq!(git(&world, &["show", &format!("{branch}:half.txt")]), "half", "its work so far was kept");
    let tasks = world.read("tasks");
    let told: Vec<serde_json::Value> =
        tasks.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(told.len(), 2);
    assert_eq!(told[0]["session"]["id"], told[1]["session"]["id"]);
    assert_eq!(told[1]["session"]["begun"], true);
    assert!(told[1]["words"].as_str().unwrap().contains("mind the cost"), "{}", told[1]["words"]);
    let results = &world.summary()["results"];
    assert_eq!(results[0]["interruptions"], 1, "a question is no failed try: {}", results[0]);
    conductor(&world, &["task", "approve", "deploy"]).expect(4).says("it has asked nothing");
    expect_tidy(&world);
}

#[test]
fn a_run_is_left_with_its_question_answered_meanwhile_and_taken_up() {
    let world = world(ASKING, &[("asker", ASKER)]);
    start(&world, &["-p", "1", "--leave-unanswered"])
        .ended()
        .expect(5)
        .says("waiting for a person")
        .says("asks   deploy: Bash: terraform apply");
    conductor(&world, &["task", "send", "deploy", "use the blue account"]).expect(0).says("recorded");
    conductor(&world, &["task", "deny", "deploy"]).expect(0).says("not allowed").says("--resume");
    conductor(&world, &["run", "--resume"]).expect(0);
    let branch = format!("conductor/{}", world.run_id());
    assert_eq!(git(&world, &["show", &format!("{branch}:answer.txt")]), "no");
    expect_tidy(&world);
}

/// Asks for permission to make, and writes down what it is told.
const MAKER: &str = r#"
read -r task
echo '{"type":"question","id":1,"tool":"Bash","input":{"command":"make deploy"}}'
read -r answer
printf '%s\n' "$answer" > answer.txt
echo '{"type":"result","ok":true,"text":"done"}'
"#;

#[test]
fn a_rule_about_a_command_with_any_arguments_denies_it_and_a_misspelt_tool_starts_nothing() {
    let tasks = "tasks: [{ id: a, prompt: Do it, agent: maker, permissions: { deny: ['Bash(make:*)'] } }]\n";
    let world = world(tasks, &[("maker", MAKER)]);
    start(&world, &[]).ended().expect(0);
    let branch = format!("conductor/{}", world.run_id());
    let answer = git(&world, &["show", &format!("{branch}:answer.txt")]);
    assert!(answer.contains(r#""allow":false"#), "{answer}");
    for rule in ["bash(make*)", "Bahs"] {
        world.write("tasks.yaml", &tasks.replace("Bash(make:*)", rule));
        for verb in ["validate", "run"] {
            let told = conductor(&world, &[verb, "../tasks.yaml"]).expect(3);
            told.says("no tool is named").says("did you mean 'Bash'?");
        }
    }
    assert_eq!(world.runs().len(), 1);
}

/// C11.
#[test]
fn a_question_without_an_answer_is_denied_in_time() {
    let world = world(ASKING, &[("asker", ASKER)]);
    start(&world, &["--answer-within", "300ms"]).ended().expect(0).says("denied: no answer within");
    let branch = format!("conductor/{}", world.run_id());
    assert_eq!(git(&world, &["show", &format!("{branch}:answer.txt")]), "no");
    expect_tidy(&world);
}

/// The coordinator is killed while an agent works: the next one goes on with the same conversation and the same files.
/// An agent that has forgotten the conversation begins a new one, and that is no failed try.
#[test]
fn a_conversation_is_gone_on_with_after_a_crash() {
    let hangs = |again: &str| {
        format!(
            r#"
read -r task
printf '%s\n' "$task" >> HERE/tasks
case "$task" in
  *'"begun":true'*) {again} ;;
esac
[ -f HERE/dead ] && {{ cp half.txt whole.txt; echo '{{"type":"result","ok":true,"text":"done"}}'; exit; }}
echo half > half.txt
echo > HERE/working
sleep 600
"#
        )
    };
    for (again, conversations) in [(":", 2), ("exit 1", 3)] {
        let tasks = "tasks: [{ id: a, prompt: Do it, agent: hangs, retry_policy: { max_attempts: 1 } }]";
        let world = world(tasks, &[("hangs", &hangs(again))]);
        let live = start(&world, &[]);
        world.wait_for_file("working");
        live.signal(rustix::process::Signal::KILL);
        // It could be gone on with otherwise.
        crate::outliving::kill_shims(&world);
        drop(live);
        world.write("dead", "");
        conductor(&world, &["run", "--resume"]).expect(0);
        let branch = format!("conductor/{}", world.run_id());
        assert_eq!(git(&world, &["show", &format!("{branch}:whole.txt")]), "half");
        let tasks = world.read("tasks");
        let told: Vec<serde_json::Value> =
            tasks.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        assert_eq!(told.len(), conversations);
        assert_eq!(told[0]["session"]["id"], told[1]["session"]["id"]);
        assert_eq!(
            (&told[0]["session"]["begun"], &told[1]["session"]["begun"]),
            (&false.into(), &true.into())
        );
        assert_eq!(told.last().unwrap()["session"]["begun"], conversations == 2);
        expect_tidy(&world);
    }
}

/// A2: the coordinator is killed and the run is not resumed; the processes it left do not go on for ever.
#[test]
fn what_a_killed_coordinator_left_is_ended_if_the_run_is_not_resumed() {
    // A command, for an agent that is spoken to cannot go on at all.
    let tasks = "tasks: [{ id: a, run: 'echo > HERE/working; setsid sleep 600 & wait' }]";
    let mut world = world(tasks, &[]);
    world.write("tasks.yaml", &tasks.replace("HERE", world.path("").to_str().unwrap()));
    world.set("CONDUCTOR_ORPHAN_GRACE", "2s");
    let live = start(&world, &[]);
    world.wait_for_file("working");
    wait_for("it to be known", || (!world.logged("process_started").is_empty()).then_some(()));
    drop(live);
    let run = world.run_id();
    assert!(!crate::harness::leftovers(&run).is_empty(), "it goes on for a while");
    let begun = std::time::Instant::now();
    wait_for("the end of what was left", || crate::harness::leftovers(&run).is_empty().then_some(()));
    println!("ended after {:?} of 2 s", begun.elapsed());
    wait_for("the reaper's end", || reapers(&run).is_empty().then_some(()));
    // The processes of a run that is resumed in time belong to its new coordinator.
    std::fs::remove_file(world.path("working")).unwrap();
    let live = world.spawn(&mut command(&world, &["run", "--resume"]));
    world.wait_for_file("working");
    wait_for("its reaper", || (!reapers(&run).is_empty()).then_some(()));
    live.signal(rustix::process::Signal::INT);
    live.wait_for_stderr("again to stop it now");
    live.signal(rustix::process::Signal::INT);
    live.ended().expect(130);
    assert_eq!(reapers(&run), Vec::<String>::new(), "an orderly end needs none");
}

/// Keepers of a run, by their command lines.
fn reapers(run: &str) -> Vec<String> {
    let processes = std::fs::read_dir("/proc").unwrap().flatten();
    let lines = processes.filter_map(|process| std::fs::read(process.path().join("cmdline")).ok());
    let lines = lines.map(|line| String::from_utf8_lossy(&line).replace('\0', " "));
    lines.filter(|line| line.contains(&format!(" reaper {run}"))).collect()
}

/// Waits for a message, and writes it to a file.
const LISTENER: &str = r#"
read -r task
echo ready > HERE/listening
read -r words
echo "$words" > heard.txt
echo '{"type":"result","ok":true,"text":"done"}'
"#;

#[test]
fn words_reach_an_agent_at_work() {
    let world = world("tasks: [{ id: a, prompt: Listen, agent: listener }]", &[("listener", LISTENER)]);
    let live = start(&world, &[]);
    world.wait_for_file("listening");
    conductor(&world, &["task", "send", "a", "use tabs"]).expect(0).says("sent");
    live.ended().expect(0);
    let branch = format!("conductor/{}", world.run_id());
    let heard = git(&world, &["show", &format!("{branch}:heard.txt")]);
    assert_eq!(heard, r#"{"type":"words","text":"use tabs"}"#);
    conductor(&world, &["task", "send", "a", "late"])
        .expect(4)
        .says("only a task that has not ended takes messages");
    conductor(&world, &["task", "retry", "a"])
        .expect(4)
        .says("only a task that has ended badly can be retried");
}

#[test]
fn the_next_agent_takes_over_what_the_first_cannot_do() {
    let fails = |class: &str| {
        format!(
            r#"read -r task; echo begun >> begun-$CONDUCTOR_TASK.txt; echo '{{"type":"result","ok":false,"class":"{class}","text":"no"}}'"#
        )
    };
    let works = r#"read -r task; cat begun-$CONDUCTOR_TASK.txt > seen-$CONDUCTOR_TASK.txt; echo '{"type":"result","ok":true,"text":"done"}'"#;
    let tasks = "
config: { retry_policy: { max_attempts: 1 } }
tasks:
  - { id: a, prompt: Do it, agent: absent, fallback_agents: [locked, works] }
  - { id: b, prompt: Do it, agent: parked, fallback_agents: [works] }
  - { id: c, prompt: Do it, agent: locked, fallback_agents: [absent] }
";
    let parked = r#"read -r task; echo begun >> begun-$CONDUCTOR_TASK.txt; echo '{"type":"result","ok":false,"class":"usage_limit","resets_at":99999999999,"text":"no"}'"#;
    let agents = [("locked", fails("unauthorized")), ("works", works.into()), ("parked", parked.into())];
    let agents: Vec<(&str, &str)> = agents.iter().map(|(name, script)| (*name, script.as_str())).collect();
    let world = world(tasks, &agents);
    start(&world, &["-p", "1"])
        .ended()
        .expect(100)
        .says("to its next agent")
        .says("2 of 3 completed, 1 failed");
    let statuses = world.statuses();
    assert_eq!((statuses["a"].as_str(), statuses["b"].as_str()), ("completed", "completed"));
    let results = &world.summary()["results"];
    assert_eq!(results[2]["error"]["class"], "unauthorized", "no agent was left");
    let branch = format!("conductor/{}", world.run_id());
    for task in ["a", "b"] {
        let seen = git(&world, &["show", &format!("{branch}:seen-{task}.txt")]);
        assert_eq!(seen, "begun", "it goes on with the files as the one before left them");
    }
}

#[test]
fn going_round_in_circles_is_told_and_then_stopped() {
    let circles = r#"
read -r task
for n in 1 2 3; do echo '{"type":"tool","name":"Bash","text":"curl localhost"}'; done
read -r words
echo "$words" > HERE/told
while :; do echo '{"type":"tool","name":"Bash","text":"curl localhost"}'; sleep 0.1; done
"#;
    let tasks = "tasks: [{ id: a, prompt: Do it, agent: circles, retry_policy: { max_attempts: 1 } }]";
    let world = world(tasks, &[("circles", circles)]);
    start(&world, &[]).ended().expect(100).says("Bash curl localhost");
    assert!(world.read("told").contains("Do something else"), "{}", world.read("told"));
    assert_eq!(world.summary()["results"][0]["error"]["class"], "runaway");
    expect_tidy(&world);
}
