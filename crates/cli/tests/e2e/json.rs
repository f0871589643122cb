//! `--json`: every command that answers does so with the versioned id of its schema.

use serde_json::Value;

use crate::harness::{Ended, World};
use crate::repository::{conductor, conflicted, git, repository};

#[track_caller]
fn has_schema(told: &Value, name: &str) {
    assert_eq!(told["schema"], format!("conductor.{name}/1"), "{told}");
}

#[track_caller]
fn told(ended: Ended, name: &str) -> Value {
    let told = ended.json();
    has_schema(&told, name);
    told
}

const STEERED: &str = "
tasks:
  - { id: first, run: AGENT touch done then await go, group: some }
  - { id: second, run: AGENT touch done, dependencies: [first], group: some }
  - { id: other, run: AGENT touch done }
";

#[test]
fn steering_answers_in_json() {
    let world = World::with(STEERED);
    let live = world.start(&["run", "tasks.yaml"]);
    world.wait_for_file("done");
    let run = world.run_id();
    let json = |args: &[&str]| world.conductor(&[args, &["--json"]].concat());
    assert_eq!(told(json(&["pause"]).expect(0), "pause")["state"], "paused");
    assert_eq!(told(json(&["resume"]).expect(0), "resume")["run"], run);
    assert_eq!(told(json(&["parallel", "1"]).expect(0), "parallel")["slots"], 1);
    assert_eq!(told(json(&["task", "send", "first", "hello"]).expect(0), "task")["action"], "send");
    assert_eq!(told(json(&["wait", "--timeout", "0"]).expect(8), "wait")["ended"], false);
    let group = told(json(&["cancel", "--group", "some"]).expect(0), "cancel");
    assert_eq!(
        (&group["cancelled"], &group["group"], &group["active"]),
        (&2.into(), &"some".into(), &true.into())
    );
    live.ended().expect(9);
    let over = told(json(&["wait", "--timeout", "0"]).expect(9), "wait");
    assert_eq!((&over["ended"], &over["exit_code"]), (&true.into(), &9.into()));
    assert_eq!(told(json(&["task", "retry", "first"]).expect(0), "task")["active"], false);
    for line in json(&["events"]).expect(0).json_lines() {
        has_schema(&line, "event");
    }
}

#[test]
fn cancel_says_how_many_tasks_it_cancelled() {
    for (args, words) in [
        (&["cancel", "--all"][..], "is cancelled: 3 tasks\n"),
        (&["cancel", "--group", "some"], "group some is cancelled: 2 tasks\n"),
        (&["cancel", "second"], "second is cancelled\n"),
    ] {
        let world = World::with(STEERED);
        let live = world.start(&["run", "tasks.yaml"]);
        world.wait_for_file("done");
        world.conductor(args).expect(0).says(words);
        world.write("go", "");
        live.ended();
    }
}

#[test]
fn what_was_done_is_told_in_json() {
    let world = repository("tasks: [{ id: a, run: 'echo spoken; echo x > x.txt' }]");
    conductor(&world, &["run", "../tasks.yaml", "-q"]).expect(0);
    let json = |args: &[&str]| conductor(&world, &[args, &["--json"]].concat()).expect(0);
    let lines = json(&["logs", "a"]).json_lines();
    has_schema(&lines[0], "log");
    assert_eq!((&lines[0]["line"], &lines[0]["attempt"]), (&"spoken".into(), &1.into()));
    let diff = told(json(&["diff", "a"]), "diff");
    assert!(diff["patch"].as_str().unwrap().contains("+x"), "{diff}");
    assert_eq!(diff["status"], "completed");
    assert!(told(json(&["diff", "a", "--stat"]), "diff")["stat"].as_str().unwrap().contains("x.txt"));
    assert_eq!(told(json(&["worktree", "clean"]), "worktree-clean")["cleared"], 0);
    assert_eq!(told(json(&["worktree", "sync"]), "worktree-sync")["outcome"], "already");
    assert_eq!(told(json(&["checkpoint", "create", "here"]), "checkpoint")["branch"], "main");
    git(&world, &["commit", "-q", "--allow-empty", "-m", "more"]);
    let back = told(json(&["checkpoint", "rollback", "here"]), "checkpoint-rollback");
    assert_eq!((&back["outcome"], &back["branch"]), (&"moved".into(), &"main".into()));
    let new = told(
        json(&["template", "new", "refactor", "--var", "target=src", "--var", "goal=tidy", "-o", "new.yaml"]),
        "template-new",
    );
    assert_eq!(new["written"], "new.yaml");
    let init = told(json(&["init"]), "init");
    assert_eq!(init["written"][0], "tasks.yaml");
    assert!(world.path("repo/tasks.yaml").is_file());
}

#[test]
fn conflicts_are_told_in_json() {
    let world = conflicted();
    let json = |args: &[&str], code: i32| conductor(&world, &[args, &["--json"]].concat()).expect(code);
    let again = told(json(&["worktree", "merge", "right"], 101), "landing");
    assert_eq!((&again["outcome"], &again["commit"]), (&"conflict".into(), &Value::Null));
    let laid_out = told(json(&["worktree", "resolve", "right"], 0), "landing");
    assert_eq!(laid_out["files"][0], "f.txt");
    let path = told(json(&["worktree", "path", "right"], 0), "worktree-path");
    assert_eq!(path["path"], laid_out["folder"]);
    assert_eq!(told(json(&["worktree", "resolve", "right", "--abort"], 0), "landing")["outcome"], "aborted");
    let landed = told(json(&["worktree", "resolve", "right", "--ours"], 0), "landing");
    assert_eq!(landed["outcome"], "landed");
}

/// Commands that only read, and with what they answer in a repository with one run.
const READING: &[(&str, &str)] = &[
    ("agents list", ""),
    ("browser list", ""),
    ("checkpoint list", ""),
    ("config show", ""),
    ("config path", ""),
    ("cost", ""),
    ("diff", "a"),
    ("doctor", ""),
    ("events", ""),
    ("expertise evidence", ""),
    ("expertise list", ""),
    ("expertise stats", ""),
    ("expertise validate", ""),
    ("explain", "a"),
    ("graph", "../tasks.yaml"),
    ("group plan", "../tasks.yaml"),
    ("import markdown", "../list.md"),
    ("logs", "a"),
    ("plugin list", ""),
    ("prices", ""),
    ("project list", ""),
    ("rehearse", "../tasks.yaml"),
    ("report", ""),
    ("review", ""),
    ("runs", ""),
    ("runs list", ""),
    ("runs show", ""),
    ("status", ""),
    ("template list", ""),
    ("token list", ""),
    ("trust", "--show"),
    ("user list", ""),
    ("validate", "../tasks.yaml"),
    ("version", ""),
    ("wait", ""),
    ("workers list", ""),
    ("worktree list", ""),
    ("worktree sync", ""),
];

/// Commands that change something, or need more than that: their answers are looked at where that is tested. `group detect` and
/// `group list` answer in the form that other programs know, which has no schema.
const ELSEWHERE: &str = "agents test, browser probe, cancel, cap, checkpoint create, checkpoint rollback, expertise show, \
    expertise add, expertise edit, expertise retire, expertise restore, expertise history, expertise improve, expertise learn, \
    expertise resume, expertise import, group detect, group list, group execute, group status, group wait, group report, handover, import beads, import github, \
    import linear, import task-master, import vibe-kanban, import plugin, init, open, orchestrate, parallel, pause, plan, \
    plugin add, plugin remove, plugin new, plugin test, plugin verify, project add, project show, project remove, resume, \
    review approve, review send-back, review edit, review drop, run, runs prune, serve, setup, store copy, sync push, sync pull, sync status, sync claim, sync release, sync forget, \
    sync key, task approve, task deny, \
    task send, task retry, task skip, task cancel, task priority, template new, token add, token revoke, user add, user grant, \
    user disable, user enable, user passwd, webhook add, webhook list, webhook remove, webhook deliveries, worktree path, \
    worktree clean, worktree merge, worktree resolve, workers token, workers drain, workers revoke";

/// Every command that has `--json`, as the pages made of clap's tree have it.
fn with_json() -> Vec<String> {
    let pages = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/commands");
    let mut found = Vec::new();
    for page in std::fs::read_dir(pages).unwrap() {
        let text = std::fs::read_to_string(page.unwrap().path()).unwrap();
        for part in text.replace("\n## ", "\n# ").split("# conductor ").skip(1) {
            if part.lines().any(|line| line.trim_start().starts_with("--json")) {
                found.push(part.lines().next().unwrap().to_owned());
            }
        }
    }
    found.sort();
    found
}

#[test]
fn every_command_that_only_reads_answers_in_json_and_each_is_known_here() {
    let mut known: Vec<&str> = READING.iter().map(|(command, _)| *command).collect();
    known.extend(ELSEWHERE.split(", ").map(str::trim));
    known.sort_unstable();
    assert_eq!(with_json(), known, "a command is new, or gone");
    let world = repository("tasks: [{ id: a, run: 'echo said; echo x > x.txt' }]");
    world.write("list.md", "- [ ] Write it\n");
    conductor(&world, &["run", "../tasks.yaml", "-q"]).expect(0);
    for (command, more) in READING {
        let words: Vec<&str> = command.split(' ').chain(more.split_whitespace()).chain(["--json"]).collect();
        let ended = conductor(&world, &words);
        let one: Result<Value, _> = serde_json::from_str(&ended.stdout);
        let told = one.map_or_else(|_| ended.json_lines(), |one| vec![one]);
        assert!(!told.is_empty(), "{command}: {}", ended.stderr);
        for value in told {
            let schema = value["schema"].as_str().unwrap_or_else(|| panic!("{command}: {value}"));
            assert!(schema.starts_with("conductor.") && schema.contains('/'), "{command}: {schema}");
        }
    }
}
