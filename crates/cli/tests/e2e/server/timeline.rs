//! A run as a timeline.

use serde_json::{Value, json};

use super::client::Served;
use crate::harness::World;

/// On one slot: `a` fails once, `b` waits for its turn, `c` for both.
const TASKS: &str = "
tasks:
  - { id: a, run: 'test -e again || { touch again; exit 1; }', retry_policy: { max_attempts: 2, initial_delay: 1ms } }
  - { id: b, run: 'true' }
  - { id: c, run: 'true', dependencies: [a, b] }
";

#[test]
fn every_attempt_is_told_with_its_lane_and_what_it_waited_for() {
    let world = World::in_place(TASKS);
    let served = Served::start(&world);
    world.conductor(&["run", "tasks.yaml", "--parallel", "1"]).expect(0);
    let path = format!("/api/runs/{}/timeline", world.run_id());
    let timeline = served.get(&path);
    assert_eq!((&timeline["lanes"], &timeline["ids"]), (&json!(1), &json!(["a", "b", "c"])));
    let word = |list: &str, number: &Value| match number.as_i64() {
        Some(-1) | None => "nothing".to_owned(),
        Some(at) => timeline[list][at as usize].as_str().unwrap().to_owned(),
    };
    let bars = timeline["bars"].as_array().unwrap();
    let mut told: Vec<String> = bars
        .iter()
        .map(|bar| {
            let why = word("waits", &bar[8]);
            format!("{} {} {} after {why}", word("ids", &bar[0]), bar[1], word("ends", &bar[5]))
        })
        .collect();
    told.sort();
    assert_eq!(told[..2], ["a 1 failed after nothing", "a 2 succeeded after retry"]);
    assert!(told[2].starts_with("b 1 succeeded after "), "{told:?}");
    assert!(told[3].starts_with("c 1 succeeded after "), "{told:?}");
    for bar in bars {
        assert!(
            bar[3].as_i64() <= bar[4].as_i64() && bar[4].as_i64() <= timeline["length_ms"].as_i64(),
            "{bar}"
        );
        assert!(bar[9].is_null() || word("phases", &bar[9]) != "nothing");
    }
    let version = served.by(&served.owner(), "GET", &path, &json!({})).header("etag").unwrap();
    let bearer = format!("Bearer {}", served.owner());
    let headers = [("Authorization", bearer.as_str()), ("If-None-Match", version.as_str())];
    served.ask("GET", &path, &headers, "").expect(304);
    served.by(&served.owner(), "GET", "/api/runs/nothing/timeline", &json!({})).expect(404);
}
