//! `conductor graph`, `schema` and `version`: what is printed and nothing done.

use crate::harness::World;

const GRAPH: &str = "
tasks:
  - { id: schema, name: 'The \"schema\"', run: make, estimate: 2m }
  - { id: api, run: make, dependencies: [schema], estimate: 5m }
  - { id: ui, run: make, dependencies: [schema] }
  - { id: e2e, run: make, dependencies: [api, { id: ui, kind: soft }] }
";

#[test]
fn every_format_of_a_graph() {
    let world = World::with(GRAPH);
    for format in ["text", "mermaid", "dot"] {
        let ended = world.conductor(&["graph", "tasks.yaml", "--format", format]).expect(0);
        insta::assert_snapshot!(format!("graph_{format}"), ended.stdout);
    }
    let json = world.conductor(&["graph", "tasks.yaml", "--format", "json"]).expect(0).json();
    assert_eq!(json, world.conductor(&["graph", "tasks.yaml", "--json"]).expect(0).json());
    insta::assert_snapshot!("graph_json", serde_json::to_string_pretty(&json).unwrap());
    assert!(!world.database().exists());
}

#[test]
fn a_part_of_a_graph() {
    let world = World::with(GRAPH);
    let ended = world.conductor(&["graph", "tasks.yaml", "--format", "dot", "--only", "+api"]).expect(0);
    assert!(ended.stdout.contains("api") && !ended.stdout.contains("e2e"), "{}", ended.stdout);
}

#[test]
fn a_graph_of_an_invalid_file_is_refused() {
    World::with("tasks: []").conductor(&["graph", "tasks.yaml"]).expect(3);
}

#[test]
fn the_schema_is_draft_07_and_knows_the_keys() {
    let schema = World::new().conductor(&["schema"]).expect(0).json();
    assert_eq!(schema["$schema"], "http://json-schema.org/draft-07/schema#");
    let text = schema.to_string();
    for key in ["retry_policy", "execution_order", "env_pass", "dependencies"] {
        assert!(text.contains(&format!("\"{key}\"")), "{key}");
    }
}

#[test]
fn the_version_for_people_and_programs() {
    let world = World::new();
    let version = env!("CARGO_PKG_VERSION");
    let line = format!("conductor {version}\n");
    assert_eq!(world.conductor(&["version"]).expect(0).stdout, line);
    assert_eq!(world.conductor(&["--version"]).expect(0).stdout, line);
    let json = world.conductor(&["version", "--json"]).expect(0).json();
    assert_eq!((&json["schema"], &json["version"]), (&"conductor.version/1".into(), &version.into()));
}
