//! `conductor group execute` and related commands: groups are run, reported, and closed in beads.

use std::collections::BTreeSet;

use conductor_testkit::agents::{Agent, Lodging, or_skip};
use conductor_testkit::{Script, StandIn};
use rustix::process::Signal;
use serde_json::{Value, json};

use crate::beads::{closed, issue, set, tracker};
use crate::harness::{Ended, World, wait_for};
use crate::repository::{command, conductor, expect_tidy, git, on_branch, repository};
use crate::specialists::with_scribe;

/// A repository with a task file of this content, as `group` verbs read it.
fn with_tasks(tasks: &str) -> World {
    let world = repository("");
    write_tasks(&world, tasks);
    world
}

fn write_tasks(world: &World, tasks: &str) {
    world.write("tasks.json", &tasks.replace("HERE", &world.path("").display().to_string()));
}

fn execute<'a>(group: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    let mut args = vec!["group", "execute", "--tasks-file", "../tasks.json"];
    if !group.is_empty() {
        args.extend(["--group-id", group]);
    }
    args.extend(more);
    args
}

#[track_caller]
fn group(world: &World, verb: &str, group: &str) -> Ended {
    conductor(world, &["group", verb, "--group-id", group])
}

/// The file as it is now.
#[track_caller]
fn metadata(world: &World, group: &str) -> Value {
    let text = world.read(&format!("repo/.flow/maestro/parallel_groups/{group}/metadata.json"));
    serde_json::from_str(&text).unwrap()
}

fn results(metadata: &Value) -> Vec<(String, String)> {
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let results = metadata["results"].as_array().unwrap();
    results.iter().map(|result| (text(&result["task_id"]), text(&result["status"]))).collect()
}

fn pairs(results: &[(&str, &str)]) -> Vec<(String, String)> {
    results.iter().map(|(task, status)| ((*task).to_owned(), (*status).to_owned())).collect()
}

const AUTH_FLOW: &str = r#"[
    {"id": "proj-auth.1", "description": "[P:Group-auth-flow] Login API", "run": "echo in > login.txt"},
    {"id": "proj-auth.2", "description": "[P:Group-auth-flow] Logout API", "run": "AGENT await HERE/go; echo out > logout.txt"},
    {"id": "other", "description": "[P:Group-other] Something else", "run": "echo no > other.txt"}
]"#;

/// From detection to the report, watched from another process all the while.
#[test]
fn a_group_with_a_hyphen_works_end_to_end() {
    let world = with_tasks(AUTH_FLOW);
    let found =
        conductor(&world, &["group", "detect", "--tasks-file", "../tasks.json", "--json"]).expect(0).json();
    assert_eq!(found["auth-flow"].as_array().map(Vec::len), Some(2));
    let args = execute(
        "auth-flow",
        &["--refresh", "echo all is well", "--tests", "test -f login.txt -a -f logout.txt"],
    );
    let live = world.spawn(&mut command(&world, &args));
    live.wait_for_stderr("ok      proj-auth.1");
    let told = wait_for("a file that tells it", || {
        let metadata = metadata(&world, "auth-flow");
        (results(&metadata) == pairs(&[("proj-auth.1", "completed"), ("proj-auth.2", "in_progress")]))
            .then_some(metadata)
    });
    assert_eq!((&told["phase"], &told["status"]), (&json!("coordination"), &json!("in_progress")));
    assert_eq!(told["completed_at"], Value::Null);
    group(&world, "status", "auth-flow").expect(0).says("in_progress (coordination), 1 of 2 tasks landed");
    conductor(&world, &["group", "list", "--status", "in_progress"]).expect(0).says("auth-flow");
    conductor(&world, &["group", "list", "--status", "pending"]).expect(0).says("no such group");
    conductor(&world, &["group", "wait", "--group-id", "auth-flow", "--timeout", "100ms"]).expect(8);
    conductor(&world, &execute("auth-flow", &[])).expect(8).says("is being carried out in run");
    let waiting = world.spawn(&mut command(&world, &["group", "wait", "--group-id", "auth-flow"]));
    world.write("go", "");
    live.ended().expect(0).says("4 of 4 completed");
    waiting.ended().expect(0).says("auth-flow completed: 2 of 2 tasks landed");
    let told = metadata(&world, "auth-flow");
    assert_eq!((&told["phase"], &told["status"]), (&json!("post_execution"), &json!("completed")));
    assert_eq!(told["pre_group_refresh_completed"], true);
    assert_eq!(told["group_name"], "Parallel Group auth-flow");
    assert_eq!(told["errors"], json!([]));
    let json =
        conductor(&world, &["group", "status", "--group-id", "auth-flow", "--output", "json"]).expect(0);
    assert_eq!(json.stdout, world.read("repo/.flow/maestro/parallel_groups/auth-flow/metadata.json"));
    assert_eq!(on_branch(&world, "logout.txt"), "out");
    group(&world, "wait", "auth-flow").expect(0);
    group(&world, "wait", "auth-flwo").expect(2).says("did you mean 'auth-flow'?");
    group(&world, "report", "auth-flow").expect(0).says("# Group auth-flow: completed");
    let report = world.home().join("runs").join(world.run_id()).join("groups/auth-flow/report.json");
    let report: Value = serde_json::from_slice(&std::fs::read(report).unwrap()).unwrap();
    assert_eq!(
        (&report["group"]["status"], &report["schema"]),
        (&json!("completed"), &json!("conductor.group-report/1"))
    );
    let landed = |decided: &&Value| {
        decided["task"] == "proj-auth.2" && decided["decision"].as_str().unwrap().starts_with("landed as")
    };
    assert_eq!(report["decisions"].as_array().unwrap().iter().filter(landed).count(), 1);
    expect_tidy(&world);
}

/// The user's name of a group is shown; paths and ids use a safe form of it, and commands take either.
#[test]
fn a_group_with_a_persons_name_works_end_to_end() {
    let world = with_tasks(
        r#"{"tasks": [{"id": "db", "run": "echo db > db.txt"}, {"id": "ui", "run": "echo ui > ui.txt"},
                      {"id": "x", "run": "true", "group": "authentication sprint"}],
            "groups": [{"name": "Authentication Sprint", "tasks": ["db", "ui"]}]}"#,
    );
    let args = execute("Authentication Sprint", &["--refresh", "echo fine", "--tests", "test -f db.txt"]);
    conductor(&world, &args).expect(0).says("4 of 4 completed");
    let told = metadata(&world, "Authentication-Sprint");
    assert_eq!(
        (&told["group_id"], &told["group_name"]),
        (&json!("Authentication-Sprint"), &json!("Authentication Sprint"))
    );
    assert_eq!(told["status"], "completed");
    assert!(world.logged("task_completed").contains(&"Authentication-Sprint.tests".to_owned()));
    for name in ["Authentication Sprint", "Authentication-Sprint"] {
        group(&world, "status", name).expect(0).says("Authentication-Sprint: completed");
        group(&world, "wait", name).expect(0).says("2 of 2 tasks landed");
        group(&world, "report", name).expect(0).says("# Group Authentication-Sprint: completed");
    }
    let report =
        world.home().join("runs").join(world.run_id()).join("groups/Authentication-Sprint/report.md");
    assert!(report.is_file());
    conductor(&world, &execute("authentication-sprint-2", &["--tests", "none"])).expect(0);
    let list = conductor(&world, &["group", "list"]).expect(0).stdout;
    assert!(list.contains("Authentication-Sprint ") && list.contains("authentication-sprint-2 "), "{list}");
    group(&world, "wait", "Authentication Sprin").expect(2).says("did you mean 'Authentication-Sprint'?");
}

#[test]
fn a_group_is_cancelled_by_either_spelling() {
    for name in ["Slow ones", "Slow-ones"] {
        let world = with_tasks(
            r#"{"tasks": [{"id": "a", "run": "AGENT await HERE/go"}, {"id": "b", "run": "echo b > b.txt"}],
                "groups": [{"name": "Slow ones", "tasks": ["a"]}]}"#,
        );
        let live = world.spawn(&mut command(&world, &["run", "../tasks.json", "-p", "2"]));
        live.wait_for_stderr("ok      b");
        conductor(&world, &["cancel", "--group", name]).expect(0);
        live.ended().expect(9);
        assert_eq!(world.logged("task_cancelled"), ["a"], "{name}");
    }
}

/// One that changed nothing is completed, and nothing of it is on a branch; nor is an issue that was closed elsewhere.
#[test]
fn only_what_landed_is_counted_as_landed() {
    let world = with_tasks(
        r#"[{"id": "a", "description": "[P:Group-g] A", "run": "echo a > a.txt"},
            {"id": "b", "description": "[P:Group-g] B", "run": "true"}]"#,
    );
    conductor(&world, &execute("g", &["--tests", "none"])).expect(0);
    let words = "1 of 2 tasks landed, 1 completed without a change of their own";
    group(&world, "status", "g").expect(0).says(words);
    group(&world, "wait", "g").expect(0).says(words);
    group(&world, "report", "g").expect(0).says(words);
    conductor(&world, &["group", "list"]).expect(0).says("   1 of 2 ");

    let mut shut = issue("app-1", &[]);
    shut["status"] = json!("closed");
    let world = tracker(&json!([shut, issue("app-2", &[])]));
    let task = |id: &str| json!({"id": id, "description": format!("[P:Group-g] Do {id}")});
    world.write("tasks.json", &json!([task("app-1"), task("app-2")]).to_string());
    conductor(&world, &execute("g", &["--tests", "none"])).expect(0);
    group(&world, "status", "g").expect(0).says(words);
}

/// While the first group is at work, an issue of the second is blocked by a new one, and another is freed.
#[test]
fn what_blocks_a_group_is_looked_up_before_it_begins() {
    let world = tracker(&json!([
        issue("slow-1", &[]),
        issue("app-2", &[]),
        issue("app-3", &[("gate-1", "blocks")]),
        issue("app-4", &[("slow-1", "blocks")]),
        issue("app-5", &[]),
        issue("gate-1", &[]),
        issue("gate-2", &[]),
    ]));
    let task = |id: &str, group: &str| json!({"id": id, "description": format!("[P:Group-{group}] Do {id}")});
    let later = ["app-2", "app-3", "app-4", "app-5"].map(|id| task(id, "second"));
    let tasks: Vec<Value> = std::iter::once(task("slow-1", "first")).chain(later).collect();
    world.write("tasks.json", &json!(tasks).to_string());
    let live = world.spawn(&mut command(&world, &execute("", &["--tests", "true"])));
    live.wait_for_stderr("app-3 is blocked: gate-1 is open in beads");
    wait_for("the first task to be at work", || world.logged("attempt_started").first().cloned());
    let mut issues: Vec<Value> = serde_json::from_str(&world.read("repo/.beads/fake.json")).unwrap();
    issues[1]["dependencies"] = json!([{ "issue_id": "app-2", "depends_on_id": "gate-2", "type": "blocks" }]);
    issues[4]["status"] = json!("closed");
    issues[5]["status"] = json!("closed");
    world.write("repo/.beads/fake.json", &json!(issues).to_string());
    world.write("go", "");
    live.ended().expect(4);
    let told = metadata(&world, "second");
    let expected =
        [("app-2", "blocked"), ("app-3", "completed"), ("app-4", "completed"), ("app-5", "blocked")];
    assert_eq!(results(&told), pairs(&expected));
    let errors: Vec<&str> = told["errors"].as_array().unwrap().iter().filter_map(Value::as_str).collect();
    assert_eq!(
        errors,
        ["Task app-2 is blocked: gate-2 is open in beads", "Task app-5 is blocked: it is closed in beads"]
    );
    assert_eq!(closed(&world), set(&["slow-1", "app-3", "app-4", "app-5", "gate-1"]));
}

/// If beads no longer answers, the state at the start of the run counts, and a line says so.
#[test]
fn without_an_answer_of_beads_what_was_known_counts() {
    let world = tracker(&json!([
        issue("slow-1", &[]),
        issue("app-2", &[]),
        issue("app-3", &[("gate-1", "blocks")]),
        issue("gate-1", &[]),
    ]));
    let task = |id: &str, group: &str| json!({"id": id, "description": format!("[P:Group-{group}] Do {id}")});
    let tasks = json!([task("slow-1", "first"), task("app-2", "second"), task("app-3", "second")]);
    world.write("tasks.json", &tasks.to_string());
    let live = world.spawn(&mut command(&world, &execute("", &["--tests", "true"])));
    wait_for("the first task to be at work", || world.logged("attempt_started").first().cloned());
    let issues = world.read("repo/.beads/fake.json");
    world.write("repo/.beads/fake.json", "no json");
    world.write("go", "");
    live.wait_for_stderr("what blocks group second could not be looked up again");
    world.write("repo/.beads/fake.json", &issues);
    live.ended();
    let told = metadata(&world, "second");
    assert_eq!(results(&told), pairs(&[("app-2", "completed"), ("app-3", "blocked")]));
}

/// What tests leave behind is not work of a task: it neither lands nor is kept under a rescue ref.
#[test]
fn droppings_of_tests_are_gone() {
    let world = with_tasks(r#"[{"id": "a", "description": "[P:Group-g] A", "run": "echo a > a.txt"}]"#);
    let args = execute("g", &["--tests", "echo junk > junk.txt; echo more >> a.txt", "--again"]);
    let told = conductor(&world, &args).expect(0);
    assert!(!told.stdout.contains("kept"), "{}", told.stdout);
    assert_eq!(git(&world, &["for-each-ref", "refs/conductor"]), "");
    assert_eq!(
        git(&world, &["ls-tree", "--name-only", &format!("conductor/{}", world.run_id())]),
        "a.txt\nf.txt"
    );
    assert_eq!(on_branch(&world, "a.txt"), "a");
    expect_tidy(&world);
}

/// Four issues as tasks of one group: one fails, one names a missing specialist, one waits for an open issue.
fn four() -> World {
    let mut missing = issue("app-2", &[]);
    missing["metadata"] =
        json!({"subagent_type": "no-such-architect", "fallback_agents": ["database-architect"]});
    let world = tracker(&json!([
        issue("bad-1", &[]),
        missing,
        issue("app-3", &[("app-0", "blocks")]),
        issue("app-4", &[("app-0", "related")]),
        issue("app-0", &[]),
    ]));
    let task = |id: &str| json!({"id": id, "description": format!("[P:Group-four] Do {id}")});
    let tasks = json!([task("bad-1"), task("app-2"), task("app-3"), task("app-4")]);
    world.write("tasks.json", &tasks.to_string());
    world
}

#[test]
fn one_fails_one_falls_back_one_is_blocked_and_the_others_land() {
    let world = four();
    let told = conductor(&world, &execute("four", &["--tests", "true"])).expect(100);
    told.says("closed in beads: app-");
    let told = metadata(&world, "four");
    assert_eq!((&told["status"], &told["phase"]), (&json!("failed"), &json!("post_execution")));
    let expected =
        [("bad-1", "failed"), ("app-2", "completed"), ("app-3", "blocked"), ("app-4", "completed")];
    assert_eq!(results(&told), pairs(&expected));
    assert_eq!(told["results"][1]["subagent"], "database-architect");
    assert_eq!(told["results"][2]["started_at"], Value::Null);
    let errors: Vec<&str> = told["errors"].as_array().unwrap().iter().filter_map(Value::as_str).collect();
    assert!(errors[0].starts_with("Task bad-1 failed: "), "{errors:?}");
    assert_eq!(errors[1..], ["Task app-3 is blocked: app-0 is open in beads"]);
    assert_eq!(closed(&world), set(&["app-2", "app-4"]));
    group(&world, "wait", "four").expect(100).says("four failed: 2 of 4 tasks landed");
    // Once what blocks it is closed, only what is left is done.
    let mut issues: Vec<Value> = serde_json::from_str(&world.read("repo/.beads/fake.json")).unwrap();
    issues.last_mut().unwrap()["status"] = json!("closed");
    world.write("repo/.beads/fake.json", &json!(issues).to_string());
    let told = conductor(&world, &execute("four", &["--tests", "true"])).expect(100);
    told.says("done before, and not done again: app-2, app-4").says("closed in beads: app-3");
    let told = metadata(&world, "four");
    let expected =
        [("app-2", "completed"), ("app-4", "completed"), ("bad-1", "failed"), ("app-3", "completed")];
    assert_eq!(results(&told), pairs(&expected));
}

/// Whatever bd does: nothing is closed that did not land, and when it behaves again nothing that landed stays open.
#[test]
fn under_faults_of_beads_closed_is_what_landed() {
    for seed in 0..4 {
        let mut world = tracker(&json!([
            issue("app-1", &[]),
            issue("app-2", &[("app-1", "blocks")]),
            issue("bad-1", &[])
        ]));
        let task = |id: &str| json!({"id": id, "description": format!("[P:Group-g] Do {id}")});
        world.write("tasks.json", &json!([task("app-1"), task("app-2"), task("bad-1")]).to_string());
        let landed = |world: &World| -> BTreeSet<String> {
            world.logged("task_completed").into_iter().filter(|task| task != "g.tests").collect()
        };
        world.set("FAKE_BD_FAULTS", format!("seed={seed},lock=15,lost=20,mute=15,garbage=8"));
        let faulty = conductor(&world, &execute("g", &["--tests", "true"]));
        assert!(closed(&world).is_subset(&landed(&world)), "seed {seed}: {}", faulty.stderr);
        world.unset("FAKE_BD_FAULTS");
        conductor(&world, &execute("g", &["--tests", "true"])).expect(100);
        assert_eq!(closed(&world), set(&["app-1", "app-2"]), "seed {seed}");
        assert_eq!(closed(&world), landed(&world));
    }
}

/// For programs, the answer is the file and nothing else.
#[test]
fn as_json_the_answer_is_how_it_stands() {
    let world = with_tasks(WHOLE);
    let told = conductor(&world, &execute("a", &["--tests", "none", "--output", "json"])).expect(0);
    assert_eq!(told.stdout, world.read("repo/.flow/maestro/parallel_groups/a/metadata.json"));
    git(&world, &["merge", "-q", "--ff-only", &format!("conductor/{}", world.run_id())]);
    let told = conductor(&world, &execute("", &["--tests", "none", "--json"])).expect(0).json();
    let groups: Vec<&Value> = told.as_array().unwrap().iter().map(|group| &group["group_id"]).collect();
    assert_eq!(groups, ["_sequential", "b"]);
}

/// A specialist that does not exist and has no fallback is an error before anything starts.
#[test]
fn a_specialist_that_does_not_exist_is_reported_before_anything_starts() {
    let mut missing = issue("app-1", &[]);
    missing["metadata"] = json!({"subagent_type": "no-such-architect"});
    let world = tracker(&json!([missing]));
    world.write("tasks.json", r#"[{"id": "app-1", "description": "[P:Group-g] Do it"}]"#);
    conductor(&world, &execute("g", &[])).expect(3).says("issue app-1 is for no-such-architect");
    assert!(world.logged("attempt_started").is_empty());
}

#[test]
fn red_tests_keep_everything_open_until_they_are_green() {
    let world = tracker(&json!([issue("app-1", &[]), issue("app-2", &[])]));
    let tasks = r#"[{"id": "app-1", "description": "[P:Group-g] One"}, {"id": "app-2", "description": "[P:Group-g] Two"}]"#;
    world.write("tasks.json", tasks);
    let green = format!("test -f {}", world.path("green").display());
    let told = conductor(&world, &execute("g", &["--tests", &green])).expect(100);
    told.says("app-1 landed and is still open in beads: the tests of its group are not green");
    assert_eq!(closed(&world), set(&[]));
    let red = metadata(&world, "g");
    assert_eq!((&red["status"], results(&red).len()), (&json!("failed"), 2));
    assert!(red["errors"][0].as_str().unwrap().starts_with("Tests failed: "), "{red}");
    world.write("green", "");
    let run = world.run_id();
    conductor(&world, &["run", "--resume", &run, "--retry-failed"]).expect(0).says("closed in beads: app-");
    assert_eq!(closed(&world), set(&["app-1", "app-2"]));
    assert_eq!(metadata(&world, "g")["status"], "completed");
}

#[test]
fn where_all_are_blocked_nothing_starts_and_the_group_is_blocked() {
    let world = with_tasks(
        r#"[{"id": "a", "description": "[P:Group-g] A", "run": "true", "dependencies": [{"id": "proj.0", "dependency_type": "blocks"}]},
            {"id": "b", "description": "[P:Group-g] B", "run": "true", "dependencies": ["a"]},
            {"id": "c", "description": "[P:Group-g] C", "run": "true", "dependencies": [{"id": "proj.1", "dependency_type": "waits-for"}]}]"#,
    );
    let told = conductor(&world, &execute("g", &["--tests", "true"])).expect(4);
    told.says("a is blocked: proj.0 has not landed").says("conductor group execute once more");
    assert!(world.logged("attempt_started").is_empty());
    let told = metadata(&world, "g");
    assert_eq!((&told["status"], &told["started_at"]), (&json!("blocked"), &Value::Null));
    assert_eq!(results(&told), pairs(&[("a", "blocked"), ("b", "blocked"), ("c", "blocked")]));
    group(&world, "wait", "g").expect(4).says("g blocked: 0 of 3 tasks landed");
    group(&world, "status", "g").expect(0).says("Task b is blocked: a did not land");
}

/// A dependency that only relates two things holds nothing back.
#[test]
fn relations_do_not_block() {
    let world = with_tasks(
        r#"[{"id": "a", "description": "[P:Group-g] A", "run": "echo a > a.txt", "dependencies": [{"id": "proj.0", "dependency_type": "related"}]}]"#,
    );
    conductor(&world, &execute("g", &["--tests", "none"])).expect(0);
}

const WHOLE: &str = r#"[
    {"id": "a1", "description": "[P:Group-a] A1", "run": "echo a1 >> HERE/order; echo a > a1.txt"},
    {"id": "a2", "description": "[P:Group-a] A2", "run": "echo a2 >> HERE/order; echo a > a2.txt"},
    {"id": "s1", "description": "In between", "run": "test -f a1.txt -a -f a2.txt; echo s1 >> HERE/order; echo s > s1.txt"},
    {"id": "b1", "description": "[P:Group-b] B1", "run": "test -f s1.txt; echo b1 >> HERE/order; echo b > b1.txt"},
    {"id": "s2", "description": "At last", "run": "echo s2 >> HERE/order; echo s > s2.txt"}
]"#;

#[test]
fn a_whole_file_is_carried_out_group_by_group_with_green_tests_between() {
    let world = with_tasks(WHOLE);
    let tests = format!("echo tests >> {}", world.path("order").display());
    conductor(&world, &execute("", &["--tests", &tests])).expect(0).says("9 of 9 completed");
    let order = world.read("order");
    let order: Vec<&str> = order.lines().collect();
    assert_eq!(order[..2].iter().collect::<BTreeSet<_>>(), BTreeSet::from([&"a1", &"a2"]));
    assert_eq!(order[2..], ["tests", "s1", "tests", "b1", "tests", "s2", "tests"]);
    for group in ["a", "b", "_sequential"] {
        assert_eq!(metadata(&world, group)["status"], "completed", "{group}");
    }
    assert_eq!(metadata(&world, "_sequential")["tasks"], json!(["s1", "s2"]));
    let list = conductor(&world, &["group", "list", "--output", "json"]).expect(0).json();
    assert_eq!(list.as_array().map(Vec::len), Some(3));
}

#[test]
fn red_tests_stop_what_follows() {
    let world = with_tasks(WHOLE);
    conductor(&world, &execute("", &["--tests", "test ! -f s1.txt"])).expect(100);
    let statuses: Vec<Value> =
        ["a", "_sequential", "b"].iter().map(|group| metadata(&world, group)["status"].clone()).collect();
    assert_eq!(statuses, ["completed", "failed", "blocked"]);
    assert!(!world.read("order").contains("b1"));
}

/// Tasks that landed on a branch which is not merged yet do not count as done for the rest of the file.
#[test]
fn what_is_not_merged_is_not_built_on() {
    let world = with_tasks(WHOLE);
    conductor(&world, &execute("a", &["--tests", "none"])).expect(0);
    let run = world.run_id();
    let refused = conductor(&world, &execute("", &["--tests", "none"])).expect(4);
    refused.says(&format!("git merge conductor/{run}"));
    git(&world, &["merge", "-q", "--ff-only", &format!("conductor/{run}")]);
    conductor(&world, &execute("", &["--tests", "none"])).expect(0).says("3 of 3 completed");
    conductor(&world, &execute("a", &[])).expect(4).says("all of it has been done before: a1, a2");
    conductor(&world, &execute("missing", &[])).expect(2).says("its groups are: _sequential, a, b");
}

#[test]
fn a_context_that_fails_or_takes_too_long_does_not_stop_the_group() {
    for (refresh, more) in [("exit 7", "5m"), ("sleep 60", "200ms")] {
        let world = with_tasks(r#"[{"id": "a", "description": "[P:Group-g] A", "run": "echo a > a.txt"}]"#);
        let args = execute("g", &["--tests", "none", "--refresh", refresh, "--refresh-timeout", more]);
        conductor(&world, &args).expect(0).says("g.refresh");
        let told = metadata(&world, "g");
        assert_eq!(
            (&told["status"], &told["pre_group_refresh_completed"]),
            (&json!("completed"), &json!(false))
        );
    }
}

/// The output of the refresh is in the prompts of the group.
#[test]
fn agents_of_a_group_are_told_how_the_project_stands() {
    let world = with_scribe(with_tasks(
        r#"[{"id": "a", "description": "[P:Group-g] Say hello", "agent": "scribe"}]"#,
    ));
    let args = execute("g", &["--tests", "none", "--refresh", "echo Nine issues are open."]);
    conductor(&world, &args).expect(0);
    let told: Value = serde_json::from_str(&on_branch(&world, "told-a.json")).unwrap();
    let told = told.to_string();
    assert!(told.contains("How the project stands") && told.contains("Nine issues are open."), "{told}");
}

/// With a real agent: its slash command refreshes the context, and the answer is in the prompt of the task.
#[test]
fn a_real_agent_sums_up_before_its_group() {
    let Some(bin) = or_skip(Agent::Claude) else { return };
    let stand_in = StandIn::start_blocking().unwrap();
    let mut world =
        with_tasks(r#"[{"id": "a", "description": "[P:Group-g] [[script:work]] Build the gizmo"}]"#);
    let folder = world.path("repo/.claude/commands/flow");
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("summary.md"), "[[script:summary]] Sum up what is open.\n").unwrap();
    git(&world, &["add", "."]);
    git(&world, &["commit", "-q", "-m", "summary"]);
    let (home, base_url) = (world.root().join("user"), stand_in.base_url("none"));
    let lodging = Lodging { bin: &bin, home: &home, base_url: &base_url, retries: 1 };
    for (name, value) in lodging.furnish(Agent::Claude).unwrap() {
        world.set(name, value);
    }
    stand_in.script("summary", Script::new().finish("Three things are open and the build is green."));
    stand_in.script("work", Script::new().write_file("gizmo.txt", "blue\n").finish("Built."));
    conductor(&world, &execute("g", &["--tests", "none"])).expect(0).says("2 of 2 completed");
    assert_eq!(metadata(&world, "g")["pre_group_refresh_completed"], true);
    assert_eq!(on_branch(&world, "gizmo.txt"), "blue");
    let work = stand_in.requests("work");
    let body = work[0].body.as_deref().unwrap();
    assert!(body.contains("Three things are open and the build is green."), "{body}");
    assert!(!stand_in.requests("summary").is_empty());
}

/// A run that was killed in the middle is resumed, and the files show its end.
#[test]
fn a_group_survives_its_coordinator() {
    let world = with_tasks(AUTH_FLOW);
    let live = world.spawn(&mut command(&world, &execute("auth-flow", &["--tests", "true"])));
    live.wait_for_stderr("ok      proj-auth.1");
    live.signal(Signal::KILL);
    live.ended();
    let run = world.run_id();
    group(&world, "status", "auth-flow").expect(0).says(&format!("conductor run --resume {run}"));
    group(&world, "wait", "auth-flow").expect(1).says("was left in the middle");
    conductor(&world, &execute("auth-flow", &[])).expect(8).says("or was left in it");
    world.write("go", "");
    conductor(&world, &["run", "--resume", &run]).expect(0);
    let told = metadata(&world, "auth-flow");
    assert_eq!(results(&told), pairs(&[("proj-auth.1", "completed"), ("proj-auth.2", "completed")]));
    assert_eq!(told["status"], "completed");
    expect_tidy(&world);
}

/// Without a repository the files are where one works, and are not taken for work.
#[test]
fn without_a_repository_the_files_are_no_change() {
    let world = World::new();
    world.write(
        "tasks.json",
        r#"[{"id": "a", "description": "[P:Group-g] A", "run": "true", "changes": "required"}]"#,
    );
    let args = ["group", "execute", "--group-id", "g", "--tasks-file", "tasks.json", "--tests", "none"];
    world.conductor(&args).expect(100).says("made no changes");
    assert!(world.path(".flow/maestro/parallel_groups/g/metadata.json").is_file());
}

/// Entrants of a race are not counted as tasks of the group; what waits for the group waits for the race.
#[test]
fn a_task_of_a_group_may_be_raced_for() {
    let world = with_scribe(with_tasks(
        r#"{"config": {"agents": {"one": {"command": ["sh", "-c", "echo one > a.txt"]}, "two": {"command": ["sh", "-c", "sleep 60"]}}},
            "tasks": [{"id": "a", "prompt": "[P:Group-g] Race", "race": ["one", "two"]},
                      {"id": "b", "prompt": "[P:Group-h] Later", "agent": "one", "changes": "optional"}]}"#,
    ));
    conductor(&world, &execute("", &["--tests", "test -f a.txt"])).expect(0).says("4 of 4 completed");
    let told = metadata(&world, "g");
    assert_eq!((results(&told), &told["tasks"]), (pairs(&[("a", "completed")]), &json!(["a"])));
    assert!(told["results"][0]["started_at"].is_string(), "{told}");
    group(&world, "report", "g").expect(0).says("is won by a.one");
    assert!(git(&world, &["log", "--format=%s", &format!("conductor/{}", world.run_id())]).contains("(a): "));
    expect_tidy(&world);
}

/// Its files are no work of the user's: git status does not show them, in a linked worktree neither, and no file of the
/// project says so.
#[test]
fn a5_the_files_of_groups_are_not_in_the_status_of_the_checkout() {
    let world = with_tasks(
        r#"[{"id": "a", "description": "[P:Group-g] A", "run": "echo a > a.txt"}, {"id": "b", "description": "[P:Group-h] B", "run": "echo b > b.txt"}]"#,
    );
    git(&world, &["worktree", "add", "-q", "../linked"]);
    let linked = |args: &[&str]| {
        let mut command = world.command(args);
        world.spawn(command.current_dir(world.path("linked"))).ended().expect(0)
    };
    conductor(&world, &execute("g", &["--tests", "none"])).expect(0);
    assert!(world.path("repo/.flow/maestro/parallel_groups/g/metadata.json").is_file());
    linked(&execute("h", &["--tests", "none"]));
    assert!(world.path("linked/.flow/maestro/parallel_groups/h/metadata.json").is_file());
    for folder in ["repo", "linked"] {
        let status = world.path(folder).display().to_string();
        assert_eq!(git(&world, &["-C", &status, "status", "--porcelain"]), "", "{folder}");
    }
    let excluded = world.read("repo/.git/info/exclude");
    assert_eq!(excluded.matches("/.flow/maestro/parallel_groups/\n").count(), 1, "{excluded}");
}
