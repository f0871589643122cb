//! Failures and how they are handled; checkpoints before risky work; warnings before a budget is used up.

use std::time::Duration;

use serde_json::Value;

use crate::harness::World;
use crate::questions::world as with_agents;
use crate::repository::{command, conductor, expect_tidy, git, on_branch, repository, start};

/// Fails with these words until it has been tried so often, then writes `done.txt`.
fn flaky(times: u32, words: &str, code: u32) -> String {
    format!(
        "echo x >> HERE/tries; if [ $(wc -l < HERE/tries) -gt {times} ]; then echo ok > done.txt; \
         else echo \"{words}\" >&2; exit {code}; fi"
    )
}

fn run(world: &World, args: &[&str]) -> crate::harness::Ended {
    conductor(world, &[&["run", "../tasks.yaml"], args].concat())
}

fn tries(world: &World) -> usize {
    world.read("tries").lines().count()
}

/// `strategy nature: reason` of each decision in the summary.
fn decided(world: &World) -> Vec<String> {
    let summary = world.summary();
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let decisions = summary["decisions"].as_array().unwrap().iter();
    decisions
        .map(|one| format!("{} {}: {}", text(&one["strategy"]), text(&one["nature"]), text(&one["reason"])))
        .collect()
}

/// Names of a run's events, in order.
fn events(world: &World) -> Vec<String> {
    let names = world.sql(
        "SELECT CASE WHEN json_type(body) = 'text' THEN body ELSE (SELECT key FROM json_each(body)) END \
         FROM events ORDER BY run, seq",
    );
    names.lines().map(str::to_owned).collect()
}

const POLICY: &str = "retry_policy: { max_attempts: 3, initial_delay: 1ms }";

#[test]
fn what_passes_is_tried_again_and_what_stays_is_not() {
    let passes = repository(&format!(
        "tasks: [{{ id: a, run: '{}', {POLICY} }}]",
        flaky(1, "curl: (56) Recv failure: Connection reset by peer", 56)
    ));
    let ended = run(&passes, &[]).expect(0);
    assert_eq!(tries(&passes), 2);
    assert_eq!(decided(&passes), ["retry transient: it says \"connection reset\"; try 2 of 3"]);
    ended.says("decide  a  transient: it says \"connection reset\"; try 2 of 3").says("retry   a  in ");
    let log = passes.home().join("runs").join(passes.run_id()).join("orchestrator.log");
    assert!(std::fs::read_to_string(log).unwrap().contains("transient: it says \"connection reset\""));

    for (words, code) in [("sh: frob: command not found", 1), ("anything", 127)] {
        let stays = repository(&format!("tasks: [{{ id: a, run: '{}', {POLICY} }}]", flaky(2, words, code)));
        run(&stays, &[]).expect(100).says("permanent");
        assert_eq!(tries(&stays), 1, "{words}");
    }
    let unknown = repository(&format!("tasks: [{{ id: a, run: '{}', {POLICY} }}]", flaky(2, "no", 1)));
    run(&unknown, &[]).expect(0);
    assert_eq!(tries(&unknown), 3, "an ambiguous failure is tried again as before");
}

#[test]
fn a_tasks_own_words_decide_and_everything_is_told() {
    let tasks = format!(
        "
config: {{ {POLICY}, recovery: {{ patterns: [{{ match: 'flux * exhausted', as: permanent }}] }} }}
tasks:
  - {{ id: a, run: '{}' }}
  - {{ id: b, run: 'true', recovery: {{ ambiguous: [retry, ask] }} }}
",
        flaky(1, "the Flux capacitor is EXHAUSTED", 1)
    );
    let world = repository(&tasks);
    run(&world, &[]).expect(100);
    assert_eq!(tries(&world), 1);
    let reason = "permanent: it says \"flux * exhausted\"";
    assert_eq!(decided(&world), [format!("fail {reason}")]);
    conductor(&world, &["explain", "a"])
        .expect(0)
        .says(&format!("attempt 1, fail: {reason}"))
        .says("permanent");
    conductor(&world, &["explain", "b"]).expect(0).says("ambiguous: retry, then ask");
    let explained = conductor(&world, &["explain", "a", "--json"]).expect(0).json();
    assert_eq!(explained["decisions"][0]["nature"], "permanent");
    conductor(&world, &["report", &world.run_id()]).expect(0);
    let files = world.home().join("runs").join(world.run_id());
    let markdown = std::fs::read_to_string(files.join("report.md")).unwrap();
    assert!(
        markdown.contains("## Decisions") && markdown.contains("| a | 1 | permanent | fail |"),
        "{markdown}"
    );
    let html = std::fs::read_to_string(files.join("report.html")).unwrap();
    assert!(html.contains("<section id=\"decisions\">"));
    conductor(&world, &["events", &world.run_id()]).expect(0).says("recovery_decided");
    // What failed of itself says so, and nothing but that line is kept of it.
    assert_eq!(world.summary()["results"][0]["error"]["evidence"], "the Flux capacitor is EXHAUSTED");
}

const ASKS: &str = "tasks: [{ id: a, run: 'echo x >> HERE/tries; test -f HERE/fixed && echo ok > done.txt', \
                    recovery: { ambiguous: WAY } }, { id: b, run: 'echo 1 > b.txt', dependencies: ON }]";

#[test]
fn a_person_is_asked_and_says_once_more() {
    let world = repository(&ASKS.replace("WAY", "ask").replace("ON", "[a]"));
    run(&world, &["--leave-unanswered"]).expect(5).says("a failed and may be tried once more");
    world.write("fixed", "");
    conductor(&world, &["task", "approve", "a"]).expect(0).says("--resume");
    conductor(&world, &["run", "--resume"]).expect(0).says("2 of 2 completed");
    assert_eq!((tries(&world), on_branch(&world, "done.txt")), (2, "ok".into()));
    assert_eq!(decided(&world), ["ask ambiguous: nothing tells whether it would pass; a person is asked"]);
    expect_tidy(&world);
}

#[test]
fn a_person_is_asked_and_says_no() {
    for offline in [true, false] {
        let world = repository(&ASKS.replace("WAY", "ask").replace("ON", "[a]"));
        if offline {
            run(&world, &["--leave-unanswered"]).expect(5);
            conductor(&world, &["task", "deny", "a"]).expect(0);
            conductor(&world, &["run", "--resume"]).expect(100).says("1 failed");
        } else {
            let live = start(&world, &[]);
            live.wait_for_stderr("conductor task approve a");
            conductor(&world, &["task", "deny", "a"]).expect(0);
            live.ended().expect(100).says("1 failed");
        }
        assert_eq!(world.statuses()["b"], "skipped");
        assert_eq!(
            (tries(&world), world.summary()["results"][0]["error"]["class"].clone()),
            (1, "exit".into())
        );
    }
}

#[test]
fn an_escalation_holds_everything_up() {
    let world = repository(&ASKS.replace("WAY", "escalate").replace("ON", "[]"));
    run(&world, &["-p", "1", "--leave-unanswered"])
        .expect(5)
        .says("nothing new starts before a is answered")
        .says("a person is asked, and nothing new starts");
    assert_eq!(world.statuses()["b"], "pending", "though nothing else keeps it");
    let live = world.spawn(&mut command(&world, &["run", "--resume", "-p", "1"]));
    live.wait_for_stderr("nothing new starts before a is answered");
    world.write("fixed", "");
    let status = conductor(&world, &["explain", "b"]).expect(0);
    status.says("until a person answers for a: conductor task approve a");
    conductor(&world, &["task", "approve", "a"]).expect(0);
    live.ended().expect(0).says("2 of 2 completed");
    expect_tidy(&world);
}

#[test]
fn a_task_is_left_out_and_nothing_is_pretended() {
    let world = repository(&ASKS.replace("WAY", "[retry, skip]").replace("ON", "[a]"));
    run(&world, &[]).expect(100).says("the run goes on without it").says("0 of 2 completed");
    let statuses = world.statuses();
    assert_eq!((statuses["a"].as_str(), statuses["b"].as_str()), ("skipped", "skipped"));
    assert_eq!(world.summary()["results"][1]["error"]["culprit"], "a");
}

#[test]
fn bad_work_goes_to_another_agent_where_that_is_wanted() {
    let idle = r#"read -r task; echo x >> HERE/tries; echo '{"type":"result","ok":true,"text":"done"}'"#;
    let works = r#"read -r task; echo ok > done.txt; echo '{"type":"result","ok":true,"text":"done"}'"#;
    let tasks = "tasks: [{ id: a, prompt: Do it, agent: idle, fallback_agents: [works], \
                 recovery: { ambiguous: [alternative, fail] } }]";
    let world = with_agents(tasks, &[("idle", idle), ("works", works)]);
    run(&world, &[]).expect(0).says("the next of its agents does it");
    assert_eq!((tries(&world), on_branch(&world, "done.txt")), (1, "ok".into()));
    let absent = with_agents(&tasks.replace("idle", "nowhere"), &[("works", works)]);
    run(&absent, &[]).expect(0);
    assert_eq!(decided(&absent), ["alternative permanent: nowhere is not installed; works does it"]);
}

#[test]
fn a_rollback_begins_from_a_clean_tree_and_keeps_what_was_done() {
    let agent = r#"
read -r task
printf '%s\n' "$task" >> HERE/tasks
ls > HERE/seen
if [ -f HERE/half ]; then echo ok > done.txt; echo '{"type":"result","ok":true,"text":"done"}'; exit; fi
echo half > half.txt; cp half.txt HERE/half
echo '{"type":"result","ok":false,"class":"other","text":"it went wrong"}'
"#;
    let tasks = "tasks: [{ id: a, prompt: Do it, agent: tries, recovery: { ambiguous: rollback } }]";
    let world = with_agents(tasks, &[("tries", agent)]);
    run(&world, &[]).expect(0).says("from a clean beginning: it went wrong");
    assert_eq!(world.read("seen"), "f.txt\n", "nothing of the first try is there");
    let told: Vec<Value> =
        world.read("tasks").lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!((told.len(), &told[1]["session"]["begun"]), (2, &Value::Bool(false)));
    assert_ne!(told[0]["session"]["id"], told[1]["session"]["id"], "another conversation");
    let rescued = git(&world, &["for-each-ref", "--format=%(refname)", "refs/conductor/rescue"]);
    let kept = rescued.lines().next().unwrap();
    assert_eq!(git(&world, &["show", &format!("{kept}:half.txt")]), "half");
    assert_eq!(
        git(&world, &["ls-tree", "--name-only", &format!("conductor/{}", world.run_id())]),
        "done.txt\nf.txt"
    );
    expect_tidy(&world);
}

/// Whether a checkpoint is there, seen from within a task.
const SAFE: &str = "git -C HERE/repo for-each-ref refs/tags/conductor-checkpoint | grep -q . || echo $CONDUCTOR_TASK >> HERE/unsafe";

fn with_remote(tasks: &str) -> World {
    let world = repository(&tasks.replace("SAFE", SAFE));
    git(&world, &["init", "-q", "--bare", "../remote.git"]);
    world
}

#[test]
fn a_push_has_its_checkpoint_before_it_starts_and_the_branch_can_be_set_back() {
    let world = with_remote(
        "
tasks:
  - { id: first, run: 'echo 1 > first.txt' }
  - { id: push, run: 'SAFE; echo 2 > second.txt; git push -q HERE/remote.git HEAD:refs/heads/out', dependencies: [first] }
  - { id: plain, run: 'echo 3 > third.txt', dependencies: [first] }
",
    );
    run(&world, &["-p", "1"]).expect(0).says("safe    push  checkpoint ").says("before push (git push");
    assert_eq!(world.read("unsafe"), "");
    assert_eq!(world.logged("checkpoint_made"), ["push"]);
    let names = events(&world);
    let made = names.iter().position(|name| name == "checkpoint_made").unwrap();
    assert_eq!(names[made - 1], "attempt_started", "{names:?}");
    let summary = world.summary();
    let made = &summary["checkpoints"][0];
    assert_eq!(made["commit"], summary["results"][0]["commit"], "where the branch was");
    let name = made["name"].as_str().unwrap();
    conductor(&world, &["checkpoint", "list"]).expect(0).says(name).says("before: push: push (git push");
    conductor(&world, &["explain", "push"]).expect(0).says("push: git push -q");
    conductor(&world, &["checkpoint", "rollback", name]).expect(0).says("to be done again: push, plain");
    assert_eq!(
        git(&world, &["ls-tree", "--name-only", &format!("conductor/{}", world.run_id())]),
        "f.txt\nfirst.txt"
    );
    conductor(&world, &["run", "--resume"]).expect(0);
    assert_eq!(world.logged("checkpoint_made"), ["push", "push"], "the branch was elsewhere meanwhile");
}

#[test]
fn one_checkpoint_serves_all_that_begin_at_the_same_commit() {
    let world = with_remote(
        "
tasks:
  - { id: a, run: 'SAFE; mkdir x; rm -rf x' }
  - { id: b, run: 'SAFE; git push -q HERE/remote.git HEAD:refs/heads/out' }
  - { id: c, run: 'echo 1 > c.txt', dependencies: [a, b] }
  - { id: d, run: 'SAFE; mkdir x; rm -rf x', dependencies: [c] }
",
    );
    run(&world, &["-p", "4"]).expect(0);
    assert_eq!((world.logged("checkpoint_made").len(), world.read("unsafe")), (3, String::new()));
    let all = conductor(&world, &["checkpoint", "list", "--json"]).expect(0).json();
    assert_eq!(all["checkpoints"].as_array().unwrap().len(), 2, "{all}");
}

#[test]
fn outside_of_a_repository_there_is_nothing_to_remember_or_to_set_back() {
    let world = World::with(
        "tasks: [{ id: a, run: 'mkdir x; rm -rf x' }, \
         { id: b, run: 'exit 1', recovery: { ambiguous: rollback }, retry_policy: { max_attempts: 2 } }]",
    );
    world.conductor(&["run", "tasks.yaml"]).expect(100);
    let why = "nothing tells whether it would pass; it works in place, where nothing can be set back";
    assert_eq!(decided(&world), [format!("fail ambiguous: {why}")]);
    assert_eq!(world.logged("checkpoint_made"), Vec::<String>::new());
}

/// Without its checkpoint, risky work does not begin.
#[test]
fn without_its_checkpoint_nothing_risky_begins() {
    let world =
        with_remote("tasks: [{ id: push, run: 'echo x >> HERE/tries; git push HERE/remote.git HEAD:x' }]");
    // Refs of these names are in the way of every tag below them.
    git(&world, &["update-ref", "refs/tags/conductor-checkpoint", "HEAD"]);
    git(&world, &["update-ref", "refs/tags/conductor-run-checkpoint", "HEAD"]);
    run(&world, &[]).expect(100).says("no checkpoint could be made before push");
    assert_eq!(tries(&world), 0);
}

#[test]
fn an_agent_that_asks_leave_for_something_risky_gets_it_after_a_checkpoint() {
    let agent = r#"
read -r task
ask() { echo "{\"type\":\"question\",\"id\":$1,\"tool\":\"Bash\",\"input\":{\"command\":\"$2\"}}"; read -r answer; echo "$answer" >> HERE/answers; }
ask 1 "make test"
git -C HERE/repo for-each-ref refs/tags/conductor-checkpoint > HERE/early
ask 2 "rm -rf build"
git -C HERE/repo for-each-ref refs/tags/conductor-checkpoint > HERE/then
ask 3 "rm -rf build/other"
echo ok > done.txt
echo '{"type":"result","ok":true,"text":"done"}'
"#;
    let world = with_agents("tasks: [{ id: a, prompt: Do it, agent: cleans }]", &[("cleans", agent)]);
    run(&world, &[]).expect(0).says("before recursive delete (rm -rf build)");
    assert_eq!(world.read("answers").matches("\"allow\":true").count(), 3, "{}", world.read("answers"));
    assert_eq!(world.read("early"), "", "tests are not risky");
    assert_eq!(world.read("then").lines().count(), 1, "it was there when leave was given");
    assert_eq!(world.logged("checkpoint_made"), ["a"], "once for each risk");
}

/// The coordinator is killed at many moments around the checkpoint: nothing risky ever runs without one.
#[test]
fn a_kill_around_a_checkpoint_leaves_nothing_unsafe() {
    let mut interrupted = 0;
    for at in 0..12 {
        let world = with_remote(
            "
tasks:
  - { id: a, run: 'echo 1 > a.txt' }
  - { id: push, run: 'SAFE; git push -q -f HERE/remote.git HEAD:refs/heads/out', dependencies: [a] }
",
        );
        let live = start(&world, &[]);
        world.wait_for_run();
        // Moments, not conditions, are what is tried out here.
        std::thread::sleep(Duration::from_millis(12 * at));
        drop(live);
        let known = world.try_sql("SELECT id FROM runs").is_ok_and(|runs| !runs.is_empty());
        if !known {
            continue;
        }
        let over = !world.logged("run_finished").is_empty();
        interrupted += u32::from(!over);
        let resumed = conductor(&world, &["run", "--resume"]);
        // A run whose last steps were cut short makes up for them; one that was done altogether is refused.
        let code = if over && resumed.code == Some(4) { 4 } else { 0 };
        resumed.expect(code);
        assert_eq!(world.read("unsafe"), "");
        let names = events(&world);
        let made = names.iter().position(|name| name == "checkpoint_made").unwrap();
        assert!(made < names.iter().rposition(|name| name == "task_completed").unwrap(), "{names:?}");
        assert!(world.logged("checkpoint_made").len() <= 2, "once more at worst");
    }
    assert!(interrupted > 2, "cut short {interrupted} times");
}

#[test]
fn time_that_is_nearly_over_is_told() {
    let world = repository("tasks: [{ id: slow, run: 'AGENT await HERE/go', timeout: 4 }]");
    let live = world.spawn(&mut command(&world, &["run", "../tasks.yaml", "--max-time", "3"]));
    live.wait_for_stderr("the run has used 80 % of its time: 2.4s of 3.0s");
    live.ended().expect(6);
    let world = repository("tasks: [{ id: slow, run: 'AGENT await HERE/go', timeout: 2 }]");
    let live = start(&world, &[]);
    live.wait_for_stderr("slow has used 80 % of its time: 1.6s of 2.0s");
    world.write("go", "");
    live.ended().expect(0);
    assert_eq!(world.logged("budget_neared"), ["slow"]);
}
