//! `--strategy batch`: each batch is reported, recorded and summed up.

use crate::harness::{World, wait_for};

const LEVELS: &str = "
config: { epic: shop }
tasks:
  - { id: a, run: AGENT touch done }
  - { id: b, run: 'false' }
  - { id: c, run: AGENT await go, dependencies: [a] }
  - { id: d, run: AGENT touch done, dependencies: [b] }
";

#[test]
fn b13_batches_are_told_as_they_begin_and_end_and_summed_up() {
    let world = World::in_place(LEVELS);
    let live = world.start(&["run", "tasks.yaml", "--strategy", "batch", "-p", "2"]);
    wait_for("the second batch", || world.logged("attempt_started").contains(&"c".to_owned()).then_some(()));
    let status = world.conductor(&["status", "--json"]).expect(0).json();
    assert_eq!(status["running"][0]["epic_id"], "shop", "{status}");
    world.write("go", "");
    let ended = live.ended().expect(100);
    let ended = ended.says("batch 1, 2 tasks").says("batch 1 is over: 1 completed, 1 failed in");
    let ended = ended.says("batch 2, 2 tasks").says("batch 2 is over: 1 completed, 1 left out in");
    let order = |text: &str| ended.stderr.find(text).unwrap_or_else(|| panic!("{text}: {}", ended.stderr));
    assert!(order("batch 1 is over") < order("batch 2, 2 tasks"));
    let summary = world.summary();
    assert_eq!((&summary["total_batches"], &summary["completed_batches"]), (&2.into(), &2.into()));
    let first = &summary["batch_results"][0];
    assert_eq!((&first["batch_number"], &first["completed"]), (&1.into(), &1.into()), "{first}");
    let failed = serde_json::json!([{ "task_id": "b", "error": "exit code 1" }]);
    assert_eq!((&first["failed"], &first["failed_ids"][0]), (&failed, &"b".into()));
    assert_eq!(first["duration"].as_f64().unwrap() * 1000.0, first["duration_ms"].as_f64().unwrap());
    assert_eq!((&first["cost"], &first["cost_usd"]), (&0.0.into(), &0.0.into()));
    assert_eq!((&summary["total_tasks"], &summary["completed_tasks"]), (&4.into(), &2.into()));
    assert_eq!((&summary["failed_tasks"], &summary["total_cost"]), (&failed, &0.0.into()));
    let seconds = summary["total_duration"].as_f64().unwrap();
    assert_eq!(seconds * 1000.0, summary["elapsed_ms"].as_f64().unwrap(), "in seconds");
    assert_eq!(summary["batch_results"][1]["left_out"][0], "d");
    let run = world.run_id();
    let events = world.conductor(&["events", &run, "--json"]).expect(0);
    for kind in ["batch_started", "batch_completed"] {
        let count = events.stdout.matches(&format!("\"type\":\"{kind}\"")).count();
        assert_eq!(count, 2, "{kind}: {}", events.stdout);
    }
}

/// Another strategy has none.
#[test]
fn b13_a_queue_has_no_batches() {
    let world = World::in_place("tasks: [{ id: a, run: 'true' }]");
    let ended = world.conductor(&["run", "tasks.yaml"]).expect(0);
    assert!(!ended.stderr.contains("batch"), "{}", ended.stderr);
    let summary = world.summary();
    assert!(summary["total_batches"].is_null() && summary["batch_results"].as_array().unwrap().is_empty());
    assert_eq!((&summary["completed_tasks"], &summary["failed_tasks"]), (&1.into(), &serde_json::json!([])));
}

#[test]
fn b15_attempts_tell_their_phases_processor_time_and_memory() {
    let burn = "python3 -c \"b = bytearray(80 << 20)\nfor i in range(6000000): pass\"";
    let world = World::in_place("");
    let text = format!(
        "tasks:\n  - id: burn\n    run: |\n      {}\n    verify: ['sleep 0.2']\n",
        burn.replace('\n', "\n      ")
    );
    world.write("tasks.yaml", &text);
    let ended = world.conductor(&["run", "tasks.yaml", "--stats"]).expect(0).says("of processor time");
    assert!(ended.stdout.contains("at most in one process"), "{}", ended.stdout);
    let summary = world.summary();
    let profile = &summary["results"][0]["profile"][0];
    let figure = |name: &str| profile[name].as_u64().unwrap_or_else(|| panic!("{name}: {profile}"));
    assert!(figure("cpu_ms") >= 50, "{profile}");
    assert!(figure("peak_memory_bytes") >= 80 << 20, "{profile}");
    assert!(figure("verifying_ms") >= 200 && figure("working_ms") >= 50, "{profile}");
    assert!(summary["time"]["cpu_ms"].as_u64().unwrap() >= figure("cpu_ms"));
    let shares = &summary["time_shares"];
    assert!(shares["execution_ms"].as_u64().unwrap() >= 200 && shares["aggregation_ms"].is_u64(), "{shares}");
    assert!(shares["analysis_ms"].is_null(), "no planner was asked: {shares}");
    let report = world.conductor(&["report", "--format", "md"]).expect(0);
    assert!(report.stdout.contains("| processor time of all processes |"), "{}", report.stdout);
}
