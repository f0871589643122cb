//! Issues of beads: read, run, and closed where they landed. `bd` is played by `examples/fake-bd.rs`.

use std::collections::BTreeSet;
use std::path::PathBuf;

use rustix::process::{Pid, Signal};
use serde_json::{Value, json};

use crate::harness::{Ended, World, agent, skipped, wait_for};
use crate::repository::{command, conductor, repository};

/// An agent that does what the task is called: `bad-*` fails, `slow-*` waits for a file, all others write one.
const CONFIG: &str = "
agent: scripted
agents:
  scripted:
    command: [sh, -c, 'case $CONDUCTOR_TASK in bad-*) exit 3;; slow-*) AGENT await HERE/go;; esac; echo done > $CONDUCTOR_TASK.txt']
retry_policy: { max_attempts: 1 }
";

fn stand_in() -> PathBuf {
    let path = PathBuf::from(agent()).with_file_name("fake-bd");
    assert!(path.is_file(), "{} is missing: run `cargo build -p conductor --examples`", path.display());
    path
}

/// A repository with these issues, and `bd` on the path.
pub(crate) fn tracker(issues: &Value) -> World {
    let mut world = repository("");
    let bin = world.path("bin");
    std::fs::create_dir(&bin).unwrap();
    std::os::unix::fs::symlink(stand_in(), bin.join("bd")).unwrap();
    let path = std::env::join_paths(
        std::iter::once(bin).chain(std::env::split_paths(&world.variable("PATH")).collect::<Vec<_>>()),
    );
    world.set("PATH", path.unwrap());
    std::fs::create_dir_all(world.path("repo/.beads")).unwrap();
    std::fs::create_dir_all(world.path("repo/.conductor")).unwrap();
    let here = world.path("").display().to_string();
    world.write("repo/.conductor/config.yaml", &CONFIG.replace("HERE", &here));
    world.trust("repo");
    world.write("repo/.beads/fake.json", &issues.to_string());
    world
}

pub(crate) fn issue(id: &str, on: &[(&str, &str)]) -> Value {
    let links: Vec<Value> =
        on.iter().map(|(on, kind)| json!({ "issue_id": id, "depends_on_id": on, "type": kind })).collect();
    json!({
        "id": id, "title": format!("Do {id}"), "description": format!("Write {id}.txt"), "status": "open",
        "priority": 1, "issue_type": "task", "created_at": "2026-05-01T10:00:00Z",
        "updated_at": "2026-05-01T10:00:00Z", "dependencies": links,
    })
}

fn issues(world: &World) -> Vec<Value> {
    serde_json::from_str(&world.read("repo/.beads/fake.json")).unwrap()
}

pub(crate) fn closed(world: &World) -> BTreeSet<String> {
    let closed = issues(world).into_iter().filter(|issue| issue["status"] == "closed");
    closed.map(|issue| issue["id"].as_str().unwrap().to_owned()).collect()
}

/// Every task that landed, of all runs.
fn landed(world: &World) -> BTreeSet<String> {
    world.logged("task_completed").into_iter().collect()
}

pub(crate) fn set(ids: &[&str]) -> BTreeSet<String> {
    ids.iter().map(|id| (*id).to_owned()).collect()
}

fn calls(world: &World, verb: &str) -> Vec<String> {
    let log = world.read("repo/.beads/calls.log");
    log.lines().filter(|line| line.starts_with(verb)).map(str::to_owned).collect()
}

#[track_caller]
fn run(world: &World, more: &[&str]) -> Ended {
    let args: Vec<&str> = ["run", "--from", "beads"].into_iter().chain(more.iter().copied()).collect();
    conductor(world, &args)
}

#[test]
fn open_issues_become_a_task_file() {
    let mut held = issue("app-4", &[]);
    held["status"] = json!("in_progress");
    let mut rich = issue("app-1", &[]);
    rich["metadata"] = json!({
        "subagent_type": "backend-architect", "fallback_agents": ["database-architect"],
        "applicable_skills": ["mcp-builder"], "execution_parallel_group": "auth-flow",
    });
    rich["acceptance_criteria"] = json!("tests pass");
    let world = tracker(&json!([
        rich,
        issue("app-2", &[("app-1", "blocks"), ("app-4", "related")]),
        issue("app-3", &[("app-4", "blocks")]),
        held,
    ]));
    let told = conductor(&world, &["import", "beads", "-o", "-"]).expect(0);
    assert_eq!(
        told.stdout,
        "# The open issues of beads, read from bd.
tasks:
  - id: \"app-1\"
    name: \"Do app-1\"
    prompt: |-
      Write app-1.txt

      Acceptance criteria:
      tests pass
    priority: 1
    fallback_agents: [\"database-architect\"]
    applicable_skills: [\"mcp-builder\"]
    group: \"auth-flow\"
    subagent_type: \"backend-architect\"
  - id: \"app-2\"
    name: \"Do app-2\"
    prompt: \"Write app-2.txt\"
    priority: 1
    dependencies: [\"app-1\"]
# Left out:
#   app-3: waits for app-4, which is left out
#   app-4: is in_progress
"
    );
    told.says("left out: app-3 waits for app-4, which is left out");
    conductor(&world, &["import", "beads"]).expect(0).says("wrote tasks.yaml with 2 issues");
    conductor(&world, &["validate", "tasks.yaml"]).expect(0).says("2 tasks in 2 batches");
    conductor(&world, &["import", "beads"]).expect(2).says("is there already");
    assert!(calls(&world, "close").is_empty() && calls(&world, "update").is_empty());
}

#[test]
fn answers_in_an_envelope_are_read_too() {
    let mut world = tracker(&json!([issue("app-1", &[]), issue("app-2", &[("app-1", "blocks")])]));
    world.set("BD_JSON_ENVELOPE", "1");
    run(&world, &[]).expect(0).says("closed in beads: app-1, app-2");
}

#[test]
fn what_landed_is_closed_and_nothing_else() {
    let world = tracker(&json!([
        issue("app-1", &[]),
        issue("app-2", &[("app-1", "blocks")]),
        issue("bad-1", &[]),
        issue("app-3", &[("bad-1", "blocks")]),
    ]));
    run(&world, &["-p", "2"]).expect(100).says("closed in beads: app-1, app-2");
    assert_eq!(closed(&world), set(&["app-1", "app-2"]));
    assert_eq!(landed(&world), closed(&world));
    let first = &issues(&world)[0];
    assert_eq!(first["close_reason"], format!("landed by conductor, run {}", world.run_id()));
    let sessions = std::fs::read_to_string(world.home().join("sessions.jsonl")).unwrap();
    let session = first["closed_by_session"].as_str().unwrap();
    assert!(sessions.lines().any(|line| line.contains(session) && line.contains("\"app-1\"")), "{sessions}");
    let writes = calls(&world, "")
        .into_iter()
        .filter(|call| !["list", "ready", "show"].iter().any(|verb| call.starts_with(verb)));
    assert!(writes.clone().all(|call| call.starts_with("close app-")), "{:?}", writes.collect::<Vec<_>>());
    assert_eq!(world.read("repo/.beads/overlaps.log"), "");
}

#[test]
fn a_locked_database_is_never_no_tasks() {
    let mut world = tracker(&json!([issue("app-1", &[])]));
    world.set("FAKE_BD_FAULTS", "lock=100");
    run(&world, &[]).expect(1).says("gave up after 8 tries: Error 1105: database is locked");
    assert!(world.runs().is_empty());
    world.set("FAKE_BD_FAULTS", "garbage=100");
    run(&world, &[]).expect(1).says("gave an answer that cannot be read");
}

#[test]
fn nothing_open_is_nothing_to_do() {
    let world = tracker(&json!([issue("app-2", &[("nowhere", "blocks")])]));
    run(&world, &[]).expect(4).says("beads has no open issue that can be done now");
    run(&world, &["tasks.yaml"]).expect(2).says("cannot be used with");
}

#[test]
fn without_bd_the_export_is_read_and_nothing_closed() {
    let world = repository("");
    conductor(&world, &["import", "beads"])
        .expect(2)
        .says("there is no bd on PATH, and no .beads/issues.jsonl here");
    let world = tracker(&json!([]));
    std::fs::remove_file(world.path("bin/bd")).unwrap();
    let lines = [issue("app-1", &[]), issue("app-2", &[("app-1", "blocks")])];
    let text = lines.iter().map(|line| format!("{line}\n")).collect::<String>();
    world.write("repo/.beads/issues.jsonl", &text);
    run(&world, &[]).expect(0).says("nothing will be closed there");
    assert_eq!((world.read("repo/.beads/issues.jsonl"), landed(&world)), (text, set(&["app-1", "app-2"])));
    run(&world, &[]).expect(4).says("left out: app-1 landed in run");
}

#[test]
fn what_could_not_be_closed_is_closed_when_the_run_is_taken_up() {
    for again in ["--resume", "--from"] {
        let world = tracker(&json!([issue("slow-1", &[]), issue("slow-2", &[("slow-1", "blocks")])]));
        let live = world.spawn(&mut command(&world, &["run", "--from", "beads"]));
        world.wait_for_run();
        // From here on bd is not what it was.
        std::fs::rename(world.path("repo/.beads"), world.path("repo/.away")).unwrap();
        world.write("go", "");
        live.ended()
            .expect(1)
            .says("slow-1 landed and is still open in beads: `bd show slow-1` failed: no active");
        std::fs::rename(world.path("repo/.away"), world.path("repo/.beads")).unwrap();
        assert_eq!((closed(&world), landed(&world)), (set(&[]), set(&["slow-1", "slow-2"])));
        let ended = match again {
            "--resume" => conductor(&world, &["run", "--resume", &world.run_id()]),
            _ => run(&world, &[]),
        };
        ended.expect(4).says("closed in beads: slow-1, slow-2");
        assert_eq!(closed(&world), landed(&world));
    }
}

#[test]
fn what_a_killed_run_had_landed_is_closed_when_it_is_taken_up() {
    let mut world = tracker(&json!([issue("app-1", &[]), issue("slow-2", &[("app-1", "blocks")])]));
    // Nothing can be closed before the end.
    world.set("FAKE_BD_FAULTS", "lost=100");
    let mut live = world.spawn(&mut command(&world, &["run", "--from", "beads"]));
    live.wait_for_stderr("ok      app-1");
    let pid = Pid::from_raw(i32::try_from(live.pid()).unwrap()).unwrap();
    rustix::process::kill_process(pid, Signal::KILL).unwrap();
    live.child.wait().unwrap();
    assert_eq!(closed(&world), set(&[]));
    world.unset("FAKE_BD_FAULTS");
    world.write("go", "");
    conductor(&world, &["run", "--resume"]).expect(0).says("closed in beads: app-1, slow-2");
    assert_eq!(closed(&world), landed(&world));
}

#[test]
fn an_issue_is_done_by_one_run_at_a_time() {
    let world = tracker(&json!([issue("slow-1", &[])]));
    let live = world.spawn(&mut command(&world, &["run", "--from", "beads"]));
    let id = world.wait_for_run();
    wait_for("the run in the store", || {
        (world.try_sql("SELECT id FROM runs").unwrap_or_default().trim() == id).then_some(())
    });
    run(&world, &[]).expect(4).says(&format!("left out: slow-1 is being done in run {id}"));
    assert!(calls(&world, "update").is_empty(), "claims are ours");
    world.write("go", "");
    live.ended().expect(0).says("closed in beads: slow-1");
    run(&world, &[]).expect(4);

    // An issue that the user opens again is done again.
    let mut all = issues(&world);
    all[0]["status"] = json!("open");
    world.write("repo/.beads/fake.json", &Value::from(all).to_string());
    run(&world, &["--dry-run"]).expect(0).says("would run 1 task,");
}

#[test]
fn two_that_begin_at_once_share_nothing() {
    let ids: Vec<String> = (0..6).map(|n| format!("app-{n}")).collect();
    let world = tracker(&ids.iter().map(|id| issue(id, &[])).collect());
    let both = [(); 2].map(|()| world.spawn(&mut command(&world, &["run", "--from", "beads", "-p", "2"])));
    let codes: BTreeSet<Option<i32>> = both.into_iter().map(|live| live.ended().code).collect();
    assert_eq!(codes, BTreeSet::from([Some(0), Some(4)]));
    let mut done = world.logged("task_completed");
    done.sort();
    assert_eq!(done, ids);
    assert_eq!(closed(&world), landed(&world));
    assert_eq!(world.read("repo/.beads/overlaps.log"), "", "bd is asked by one at a time");
}

#[test]
fn under_faults_closed_is_what_landed() {
    under_faults(0..4);
}

#[test]
fn under_many_faults_closed_is_what_landed_slowly() {
    under_faults(4..60);
}

/// Whatever bd does: nothing is closed that did not land, and when it behaves again nothing that landed stays open.
fn under_faults(seeds: std::ops::Range<u32>) {
    for seed in seeds {
        let mut world = tracker(&json!([
            issue("app-1", &[]),
            issue("app-2", &[("app-1", "blocks")]),
            issue("bad-1", &[]),
            issue("app-3", &[("bad-1", "blocks")]),
            issue("app-4", &[]),
        ]));
        world.set("FAKE_BD_FAULTS", format!("seed={seed},lock=15,lost=20,mute=15,garbage=8"));
        let faulty = run(&world, &["-p", "2"]);
        assert!(closed(&world).is_subset(&landed(&world)), "seed {seed}: {}", faulty.stderr);
        assert!(
            faulty.code == Some(100) || (faulty.code == Some(1) && world.runs().is_empty()),
            "{}",
            faulty.stderr
        );
        let told_open: Vec<&str> =
            faulty.stderr.lines().filter(|line| line.contains("still open in beads")).collect();
        let open: BTreeSet<String> = landed(&world).difference(&closed(&world)).cloned().collect();
        assert!(
            open.iter().all(|id| told_open.iter().any(|line| line.contains(id.as_str()))),
            "{}",
            faulty.stderr
        );
        world.unset("FAKE_BD_FAULTS");
        run(&world, &[]).expect(100);
        assert_eq!(closed(&world), set(&["app-1", "app-2", "app-4"]), "seed {seed}");
        assert_eq!(closed(&world), landed(&world));
        assert_eq!(landed(&world).len(), world.logged("task_completed").len(), "nothing is done twice");
    }
}

/// The beads project's own client is content with the stand-in, so that it is one.
#[test]
fn beads_own_client_is_content_with_the_stand_in_slowly() {
    const SCRIPT: &str = "
import asyncio, json, os
from beads_mcp.bd_client import BdCliClient
from beads_mcp.models import *

async def main():
    bd = BdCliClient(working_dir=os.getcwd())
    await bd._check_version()
    a = await bd.create(CreateIssueParams(title='Parser', description='d', priority=1, issue_type='feature', id='app-1'))
    b = await bd.create(CreateIssueParams(title='Tests', id='app-2'))
    assert (a.id, a.priority, a.issue_type, b.status) == ('app-1', 1, 'feature', 'open')
    await bd.add_dependency(AddDependencyParams(issue_id='app-2', depends_on_id='app-1'))
    assert [i.id for i in await bd.ready()] == ['app-1']
    assert [(i.id, i.blocked_by) for i in await bd.blocked()] == [('app-2', ['app-1'])]
    shown = await bd.show(ShowIssueParams(issue_id='app-2'))
    assert [(d.id, d.dependency_type) for d in shown.dependencies] == [('app-1', 'blocks')]
    assert (await bd.claim(ClaimIssueParams(issue_id='app-1'))).status == 'in_progress'
    try:
        await bd.close(CloseIssueParams(issue_id='app-2'))
        assert False, 'a blocked issue was closed'
    except Exception as e:
        assert 'blocked by open issues' in str(e), e
    closed = await bd.close(CloseIssueParams(issue_id='app-1', reason='done'))
    assert closed[0].status == 'closed' and closed[0].closed_at
    assert [i.id for i in await bd.ready()] == ['app-2']
    assert [i.id for i in await bd.list_issues(ListIssuesParams(status='closed'))] == ['app-1']
    assert (await bd.reopen(ReopenIssueParams(issue_ids=['app-1'])))[0].status == 'open'
    print('content')

asyncio.run(main())
";
    let world = tracker(&json!([]));
    let venv = world.path("venv");
    let mut make = std::process::Command::new("python3");
    let made = make.args(["-m", "venv"]).arg(&venv).output().is_ok_and(|output| output.status.success());
    let mut pip = std::process::Command::new(venv.join("bin/pip"));
    let installed = made
        && pip
            .args(["install", "-q", "beads-mcp==1.3.2"])
            .output()
            .is_ok_and(|output| output.status.success());
    if !installed {
        return skipped("beads-mcp cannot be installed here: no python3, no pip, or no network");
    }
    world.write("check.py", SCRIPT);
    let mut python = world.command_of(&venv.join("bin/python").display().to_string());
    python.arg(world.path("check.py")).current_dir(world.path("repo"));
    python.env("BEADS_PATH", world.path("bin/bd"));
    let output = python.output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(said.ends_with("content\n"), "{said}\n{}", String::from_utf8_lossy(&output.stderr));
}
