//! `conductor validate`: every mistake at once, each with its place.

use crate::harness::World;

const TEN_MISTAKES: &str = "\
config:
  default_priority: urgent
tasks:
  - id: api
    promt: Build
    prompt: Build it
    timeout: soon
  - id: API
    run: make
  - id: api
    run: make
    dependencies: [apo, db]
  - id: db
    prompt: '  '
    dependencies: db
  - id: ui
    retry_policy: { max_attempts: 0 }
";

#[test]
fn ten_mistakes_are_shown_at_once_each_with_its_place() {
    let world = World::with(TEN_MISTAKES);
    let ended = world.conductor(&["validate", "tasks.yaml"]).expect(3);
    let places = ended.stderr.lines().filter(|line| line.trim_start().starts_with("--> tasks.yaml:")).count();
    assert_eq!((ended.stderr.matches("error[").count(), places), (10, 10), "{}", ended.stderr);
    insta::assert_snapshot!(ended.stderr);
}

#[test]
fn the_same_ten_as_json() {
    let world = World::with(TEN_MISTAKES);
    let found = world.conductor(&["validate", "tasks.yaml", "--json"]).expect(3).json();
    assert_eq!((&found["schema"], &found["errors"]), (&"conductor.validation/1".into(), &10.into()));
    let findings = found["findings"].as_array().unwrap();
    assert_eq!(findings.len(), 10);
    for finding in findings {
        assert!(
            finding["at"]["line"].as_u64() > Some(0) && finding["at"]["column"].as_u64() > Some(0),
            "{finding}"
        );
    }
}

#[test]
fn every_example_is_valid() {
    let world = World::new();
    let folder = std::fs::read_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples")).unwrap();
    let files = folder.map(|entry| entry.unwrap().path());
    let files: Vec<_> = files.filter(|path| path.extension().is_some_and(|kind| kind == "yaml")).collect();
    assert!(!files.is_empty());
    for file in files {
        world.conductor(&["validate", file.to_str().unwrap()]).expect(0);
    }
}

#[test]
fn a_good_file_is_said_to_be_good() {
    let world = World::with("tasks: [{ id: a, run: make }, { id: b, run: make, dependencies: a }]");
    let ended = world.conductor(&["validate", "tasks.yaml"]).expect(0);
    assert_eq!(ended.stdout, "tasks.yaml is valid: 2 tasks in 2 batches\n");
    let found = world.conductor(&["validate", "tasks.yaml", "--json"]).expect(0).json();
    assert_eq!(found["errors"], 0);
    assert!(!world.database().exists(), "validating leaves no state");
}
