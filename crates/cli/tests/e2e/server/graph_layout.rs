//! Graphs as pictures.

use serde_json::{Value, json};

use super::client::{Answer, Served};
use crate::harness::World;

const TASKS: &str = "
tasks:
  - { id: a, run: 'true' }
  - { id: b, run: 'exit 3', epic: late, dependencies: [a] }
  - { id: c, run: 'true', epic: late, dependencies: [a, b] }
  - { id: d, run: 'true', dependencies: [a] }
";

fn world() -> World {
    let world = World::in_place(TASKS);
    world.conductor(&["project", "add", "--id", "web"]).expect(0);
    world
}

fn ask(served: &Served<'_>, path: &str) -> Answer {
    served.by(&served.owner(), "GET", path, &json!({}))
}

/// Columns of a row of numbers.
fn column(rows: &Value, column: usize) -> Vec<i64> {
    rows.as_array().unwrap().iter().map(|row| row[column].as_i64().unwrap()).collect()
}

#[test]
fn a_run_and_a_file_are_drawn_alike_whatever_the_states() {
    let world = world();
    let served = Served::start(&world);
    let of_file = "/api/projects/web/dependencies/graph/layout";
    let before = served.get(of_file);
    assert_eq!((&before["project"], &before["fold"]), (&json!("web"), &json!("none")));
    assert_eq!((&before["ids"], &before["stands"]), (&json!(["a", "b", "c", "d"]), &json!([0, 1, 2, 3])));
    assert_eq!(column(&before["nodes"], 5), [0, 1, 2, 1], "layers");
    assert_eq!(column(&before["nodes"], 6), [1, 1, 1, 0], "the critical path");
    let ends = |layout: &Value| {
        column(&layout["edges"], 0).into_iter().zip(column(&layout["edges"], 1)).collect::<Vec<_>>()
    };
    assert_eq!(ends(&before), [(0, 1), (0, 3), (1, 2)], "that c waits for a follows");

    world.conductor(&["run", "tasks.yaml"]).expect(100);
    let after = served.get(&format!("/api/runs/{}/graph/layout", world.run_id()));
    for part in ["nodes", "edges", "width", "height", "stands"] {
        assert_eq!(before[part], after[part], "{part}");
    }
    assert_eq!((&after["run"], &after["project"]), (&json!(world.run_id()), &Value::Null));
    let folded = |path: &str| served.get(path)["folded"][0].clone();
    for path in
        [format!("{of_file}?fold=groups"), format!("/api/runs/{}/graph/layout?fold=groups", world.run_id())]
    {
        let late = folded(&path);
        assert_eq!(
            (&late["kind"], &late["name"], &late["state"]),
            (&json!("group"), &json!("late"), &json!("failed"))
        );
        assert_eq!((&late["tasks"], &late["counts"]), (&json!(2), &json!({ "failed": 1, "skipped": 1 })));
    }
}

#[test]
fn groups_are_folded_unless_they_are_open_or_looked_at() {
    let world = world();
    let served = Served::start(&world);
    let nodes = |query: &str| {
        let layout = served.get(&format!("/api/projects/web/dependencies/graph/layout?{query}"));
        layout["nodes"].as_array().unwrap().len()
    };
    assert_eq!(nodes("fold=groups"), 3);
    assert_eq!(nodes("fold=groups&open=late"), 4);
    assert_eq!(nodes("fold=groups&selected=c"), 4);
    assert_eq!(nodes("fold=groups&selected=d"), 3);
    assert_eq!(nodes("fold=all"), 4, "all of it is critical or next to that");
}

#[test]
fn an_answer_that_is_still_good_is_not_sent_again() {
    let world = world();
    let served = Served::start(&world);
    let path = "/api/projects/web/dependencies/graph/layout";
    let first = ask(&served, path).expect(200);
    let version = first.header("etag").unwrap();
    let bearer = format!("Bearer {}", served.owner());
    let again = |path: &str, version: &str| {
        served.ask("GET", path, &[("Authorization", &bearer), ("If-None-Match", version)], "")
    };
    let seen = again(path, &version).expect(304);
    assert_eq!((seen.body.as_str(), seen.header("etag")), ("", Some(version.clone())));
    again(path, &format!("\"other\", W/{version}")).expect(304);
    again(path, "\"other\"").expect(200);
    again(&format!("{path}?fold=groups"), &version).expect(200);
    world.write("tasks.yaml", "tasks: [{ id: a, run: 'true' }]");
    again(path, &version).expect(200);
}

#[test]
fn what_cannot_be_drawn_is_refused_by_name() {
    let world = world();
    let served = Served::start(&world);
    world.conductor(&["run", "tasks.yaml"]).expect(100);
    let run = format!("/api/runs/{}/graph/layout", world.run_id());
    for path in [run.as_str(), "/api/projects/web/dependencies/graph/layout"] {
        let refused = |query: &str| ask(&served, &format!("{path}?{query}")).expect(422).json();
        assert_eq!(refused("fold=some")["field"], "fold");
        assert_eq!(refused("opened=late")["field"], "opened");
        let group = refused("fold=groups&open=late,lat");
        assert_eq!((&group["field"], &group["did_you_mean"]), (&json!("open"), &json!("late")));
        assert_eq!(refused("selected=zz")["field"], "selected");
    }
    ask(&served, "/api/runs/nothing/graph/layout").expect(404);
    ask(&served, "/api/projects/wbe/dependencies/graph/layout").expect(404);
    served.ask("GET", &run, &[], "").expect(401);
    world.write(
        "tasks.yaml",
        "tasks: [{ id: a, run: x, dependencies: [b] }, { id: b, run: x, dependencies: [a] }]",
    );
    ask(&served, "/api/projects/web/dependencies/graph/layout").expect(422);
}
