//! What an earlier version wrote is read as that version read it, and its runs go on. One fixture is a state directory
//! with a completed, a failed and a killed run, and what that version said of them; the other one is of a run in a repository, which
//! is there as a bundle with the refs that version made: work that landed, and work that it kept of a conflict.

use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::harness::World;
use crate::repository::{conductor, expect_tidy, git, on_branch};
use crate::server::client::Served;
use crate::store::write_sql;

const FIXTURE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/version-before");
const LANDING: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/version-before-landing");
const IN_REPOSITORY: &str = "pjb2sv58";
const COMPLETED: &str = "fnyd73hz";
const FAILED: &str = "t46cfs8r";
const KILLED: &str = "ffys5y59";

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let to = to.join(entry.file_name());
        match entry.file_type().unwrap().is_dir() {
            true => copy(&entry.path(), &to),
            false => drop(fs::copy(entry.path(), to).unwrap()),
        }
    }
}

fn expected(name: &str) -> String {
    fs::read_to_string(Path::new(FIXTURE).join("expected").join(name)).unwrap()
}

/// One after the other: processes are known by their run's name, and the three runs have theirs from the fixture.
#[test]
fn its_runs_are_read_as_it_read_them_resumed_and_tried_again() {
    let world = World::new();
    copy(&Path::new(FIXTURE).join("home"), &world.home());
    copy(&Path::new(FIXTURE).join("work"), &world.path("."));
    let here = world.path("finished.yaml").parent().unwrap().display().to_string();
    let moved = format!("directory = '{here}', source = replace(source, 'WORK', '{here}')");
    write_sql(&world, &format!("UPDATE runs SET {moved}"));
    read(&world);
    look(&world);
    carry(&world);
    read_over_http(&world);
    read(&world);
    world.write("go", "");
    world.conductor(&["run", "--resume", KILLED]).expect(0).says("3 of 3 completed");
    world.conductor(&["logs", "last", "--run", KILLED]).expect(0).says("last");
    world.write("failed.yaml", &world.read("failed.yaml").replace("exit 3", "exit 0"));
    world.conductor(&["run", "--resume", FAILED, "--retry-failed"]).expect(0).says("3 of 3 completed");
}

/// Fields may have come since, at any depth; what there was is as it was.
fn contains(now: &Value, before: &Value, place: &str) {
    match (now, before) {
        (Value::Object(now), Value::Object(before)) => {
            for (key, value) in before {
                let place = format!("{place}.{key}");
                contains(now.get(key).unwrap_or_else(|| panic!("{place} is gone")), value, &place);
            }
        }
        (Value::Array(now), Value::Array(before)) if now.len() == before.len() => {
            for (at, (now, before)) in now.iter().zip(before).enumerate() {
                contains(now, before, &format!("{place}[{at}]"));
            }
        }
        _ => assert_eq!(now, before, "{place}"),
    }
}

fn read_one(world: &World, run: &str, events: &str, summary: &str) {
    assert_eq!(world.conductor(&["events", run]).expect(0).stdout, events, "{run}");
    let now = world.conductor(&["report", run, "--format", "json"]).expect(0).json();
    contains(&now, &serde_json::from_str(summary).unwrap(), run);
}

fn read(world: &World) {
    for run in [COMPLETED, FAILED, KILLED] {
        read_one(
            world,
            run,
            &expected(&format!("{run}.events.jsonl")),
            &expected(&format!("{run}.summary.json")),
        );
    }
    let listed = world.conductor(&["runs", "list"]).expect(0);
    listed.says("completed  3/3").says("failed     1/3, 2 not").says("left       1/3");
    world.conductor(&["logs", "docs", "--run", COMPLETED]).expect(0).says("written");
}

/// What tells of runs tells of these.
fn look(world: &World) {
    let said = |args: &[&str], words: &[&str]| {
        let ended = world.conductor(args).expect(0);
        words.iter().fold(ended, |ended, words| ended.says(words));
    };
    said(&["status", COMPLETED], &["3 of 3 done"]);
    said(&["status", KILLED], &["1 of 3 done"]);
    said(&["runs", "show", FAILED], &["lint", "ship"]);
    said(&["cost", COMPLETED], &["docs"]);
    said(&["cost", "--all", "--by", "run"], &[COMPLETED]);
    said(&["explain", "lint", "--run", FAILED], &["lint"]);
    said(&["explain", "slow", "--run", KILLED], &["slow"]);
    said(&["graph", "finished.yaml"], &["build", "docs"]);
    said(&["validate", "killed.yaml"], &[]);
    said(&["report", FAILED, "--format", "md"], &["lint"]);
    said(&["config", "show"], &[]);
    let status = world.conductor(&["status", FAILED, "--json"]).expect(0).json();
    assert_eq!(status["run"], FAILED, "{status}");
    let before = world.runs().len();
    world.conductor(&["runs", "prune", "--keep", "0"]).expect(0).says(COMPLETED).says(FAILED);
    assert_eq!(world.runs().len(), before, "only shown");
}

/// Another machine has them as this one.
fn carry(world: &World) {
    let folder = world.root().join("stick").display().to_string();
    fs::create_dir(&folder).unwrap();
    world.conductor(&["sync", "push", "--to", &folder, "--all", "--plain", "--yes"]).expect(0).says("3 runs");
    let other = World::new();
    other.conductor(&["sync", "pull", "--from", &folder, "--yes"]).expect(0).says("pulled 3 runs");
    for run in [COMPLETED, FAILED, KILLED] {
        assert_eq!(
            other.conductor(&["events", run]).expect(0).stdout,
            expected(&format!("{run}.events.jsonl")),
            "{run}"
        );
    }
    for run in [COMPLETED, FAILED, KILLED] {
        world.conductor(&["sync", "forget", run]).expect(0);
    }
}

fn read_over_http(world: &World) {
    let served = Served::start(world);
    let listed = served.get("/api/runs");
    let names: Vec<&str> =
        listed["runs"].as_array().unwrap().iter().filter_map(|run| run["run"].as_str()).collect();
    for run in [COMPLETED, FAILED, KILLED] {
        assert!(names.contains(&run), "{listed}");
        assert_eq!(served.get(&format!("/api/runs/{run}"))["run"], run);
    }
    served.stop().expect(0);
}

/// As that version left them: its repository, with all of its refs, and its state.
fn repository_before() -> World {
    let world = World::new();
    let fixture = Path::new(LANDING);
    copy(&fixture.join("home"), &world.home());
    fs::copy(fixture.join("landing.yaml"), world.path("landing.yaml")).unwrap();
    fs::create_dir(world.path("repo")).unwrap();
    git(&world, &["init", "-q", "-b", "main", "."]);
    git(&world, &["config", "user.name", "User"]);
    git(&world, &["config", "user.email", "user@localhost"]);
    let bundle = fixture.join("repo.bundle").display().to_string();
    git(&world, &["fetch", "-q", "--update-head-ok", &bundle, "refs/*:refs/*"]);
    git(&world, &["reset", "-q", "--hard"]);
    let here = world.path("landing.yaml").parent().unwrap().display().to_string();
    let moved = |column: &str| format!("{column} = replace({column}, 'WORK', '{here}')");
    write_sql(&world, &format!("UPDATE runs SET {}, {}", moved("directory"), moved("source")));
    world
}

#[test]
fn what_it_landed_and_what_it_kept_is_found_in_the_repository_and_lands() {
    let world = repository_before();
    let expected = |name: &str| fs::read_to_string(Path::new(LANDING).join("expected").join(name)).unwrap();
    read_one(&world, IN_REPOSITORY, &expected("events.jsonl"), &expected("summary.json"));
    conductor(&world, &["diff", "left"]).expect(0).says("+LEFT");
    conductor(&world, &["diff", "right"]).expect(0).says("+RIGHT");
    assert_eq!(on_branch(&world, "f.txt"), "a\nLEFT\nc");
    conductor(&world, &["status", IN_REPOSITORY]).expect(0).says("of 5 done");
    conductor(&world, &["explain", "right"]).expect(0).says("conflict");
    conductor(&world, &["worktree", "list"]).expect(0).says("right");
    conductor(&world, &["checkpoint", "list"]).expect(0);
    conductor(&world, &["worktree", "resolve", "right", "--theirs"]).expect(0);
    assert_eq!(
        (on_branch(&world, "f.txt"), on_branch(&world, "good.txt")),
        ("a\nRIGHT\nc".into(), "good".into())
    );
    conductor(&world, &["run", "--resume", IN_REPOSITORY, "--retry-failed"])
        .expect(0)
        .says("5 of 5 completed");
    conductor(&world, &["logs", "after"]).expect(0).says("RIGHT");
    expect_tidy(&world);
}
