//! What an earlier version wrote is read as that version read it, and its runs go on. The fixture is a state directory
//! with a completed, a failed and a killed run, and what that version said of them.

use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::harness::World;
use crate::store::write_sql;

const FIXTURE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/version-before");
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
    world.write("go", "");
    world.conductor(&["run", "--resume", KILLED]).expect(0).says("3 of 3 completed");
    world.conductor(&["logs", "last", "--run", KILLED]).expect(0).says("last");
    world.write("failed.yaml", &world.read("failed.yaml").replace("exit 3", "exit 0"));
    world.conductor(&["run", "--resume", FAILED, "--retry-failed"]).expect(0).says("3 of 3 completed");
}

fn read(world: &World) {
    for run in [COMPLETED, FAILED, KILLED] {
        let events = world.conductor(&["events", run]).expect(0).stdout;
        assert_eq!(events, expected(&format!("{run}.events.jsonl")), "{run}");
        let summary = world.conductor(&["report", run, "--format", "json"]).expect(0).json();
        let before: Value = serde_json::from_str(&expected(&format!("{run}.summary.json"))).unwrap();
        assert_eq!(summary, before, "{run}");
    }
    let listed = world.conductor(&["runs", "list"]).expect(0);
    listed.says("completed  3/3").says("failed     1/3, 2 not").says("left       1/3");
    world.conductor(&["logs", "docs", "--run", COMPLETED]).expect(0).says("written");
}
