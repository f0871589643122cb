use conductor_core::plan::{Plan, Task, Work};
use conductor_core::run::event::{
    AgentChoice, Event, ModelUsage, Options, Outcome, Phases, Planning, Processes, Record, Usage,
};
use conductor_core::values::ids::{Attempt, TaskId};
use conductor_core::values::units::{Millis, Tick, Timestamp, Usd};
use serde_json::Value;

use super::*;

/// A task by this agent that took seven seconds, with a plan by this model.
fn tally(agent: &str, model: &str) -> Tally {
    let task = TaskId::parse("a").unwrap();
    let plan = Plan { tasks: vec![Task::new(task.clone(), Work::Prompt("do it".into()))], ..Plan::default() };
    let usage = Usage { cost: Usd(1_500_000), tokens: 1_200, output: 200, ..Usage::default() };
    let planning = Box::new(Planning {
        plan: "p".into(),
        agent: agent.into(),
        at: Timestamp(0),
        usage: vec![ModelUsage { model: Some(model.into()), usage }],
        analysed_in: Millis(0),
        planned_in: Millis(0),
    });
    let choice = Some(Box::new(AgentChoice { agent: agent.into(), model: None, why: String::new() }));
    let (attempt, on) = (Attempt(1), Default::default());
    let events = [
        (0, Event::RunCreated { plan: plan.into(), options: None }),
        (0, Event::PlanningAccounted { planning }),
        (0, Event::RunStarted { options: Box::new(Options::with_slots(1)) }),
        (1, Event::AttemptStarted { task: task.clone(), attempt, executor: 1, choice, on }),
        (8, ended(&task)),
        (8, Event::TaskCompleted { task, commit: None }),
    ];
    let record = |(seq, (secs, event)): (usize, (u64, Event))| Record {
        seq: seq as u64 + 1,
        at: Timestamp(0),
        tick: Tick(secs * 1_000),
        event,
    };
    let records: Vec<Record> = events.into_iter().enumerate().map(record).collect();
    Tally::of(&records)
}

fn ended(task: &TaskId) -> Event {
    let processes = Processes {
        cpu: Millis(2_500),
        memory: 100 << 20,
        memory_together: 300 << 20,
        read: 0,
        written: 4_096,
    };
    let phases = Some(Phases { processes: Some(processes), ..Phases::default() });
    let (attempt, outcome, elapsed) = (Attempt(1), Outcome::Succeeded, Millis(7_000));
    Event::AttemptEnded { task: task.clone(), attempt, outcome, elapsed, executor: 1, change: None, phases }
}

fn gauges() -> Gauges {
    Gauges { running: 3, queued: 4, busy: 2, free: 1, worktrees: 3 }
}

fn appends() -> Histogram {
    let mut appends = Histogram::default();
    [400, 1_700, 20_000_000].into_iter().for_each(|micros| appends.observe(micros, &APPEND_BOUNDS));
    appends
}

fn both() -> [String; 2] {
    let (tally, appends) = (tally("claude", "opus"), appends());
    [Format::Prometheus, Format::OpenMetrics].map(|format| {
        let deliveries = Deliveries { delivered: 7, retried: 2, dead: 1, waiting: 3 };
        let fleet = Fleet { here: 2, drained: 1, away: 3, busy: 4, free: 5 };
        let beside = Beside { appends: Some(&appends), deliveries: Some(deliveries), fleet: Some(fleet) };
        let text = text(&tally, &gauges(), beside, format);
        text.replace(env!("CARGO_PKG_VERSION"), "VERSION")
    })
}

#[test]
fn the_text_for_prometheus() {
    insta::assert_snapshot!(both()[0]);
}

#[test]
fn openmetrics_differs_in_names_of_counters_bounds_and_its_end() {
    let [prometheus, open_metrics] = both();
    let as_before = |line: &str| match line.split_once(' ') {
        Some(("#", rest)) => {
            let mut words = rest.splitn(3, ' ');
            let (what, name, more) = (words.next()?, words.next()?, words.next()?);
            let is_counter = prometheus.contains(&format!("# TYPE {name}_total counter"));
            let total = if is_counter { "_total" } else { "" };
            Some(format!("# {what} {name}{total} {more}"))
        }
        _ => Some(line.replace(".0\"}", "\"}")),
    };
    let lines: Vec<String> = open_metrics.lines().filter_map(as_before).collect();
    assert_eq!(lines.join("\n") + "\n", prometheus);
    assert!(open_metrics.ends_with("\n# EOF\n") && open_metrics.contains("{state=\"completed\",le=\"1.0\"}"));
    assert_ne!(Format::Prometheus.content_type(), Format::OpenMetrics.content_type());
}

#[test]
fn every_metric_is_in_the_text_and_told_what_it_is() {
    let [text, _] = both();
    for Metric { name, help, .. } in METRICS {
        assert!(text.contains(&format!("# HELP {name} {help}\n# TYPE {name} ")), "{name}");
        assert!(text.lines().any(|line| line.starts_with(name)), "{name} has no value");
    }
    assert_eq!(text.matches("# TYPE").count(), METRICS.len());
    let without = super::text(&Tally::default(), &Gauges::default(), Beside::default(), Format::Prometheus);
    for Metric { name, .. } in [APPENDS, DELIVERIES, DELIVERY_QUEUE, WORKERS, WORKER_SLOTS] {
        assert!(!without.contains(name), "{name} is known only where it is measured");
    }
}

#[test]
fn a_name_cannot_break_the_text() {
    let tally = tally("a\"} 1\nevil 2", "back\\slash");
    let text = text(&tally, &gauges(), Beside::default(), Format::Prometheus);
    assert!(text.contains(r#"conductor_tasks_total{state="completed",agent="a\"} 1\nevil 2"} 1"#), "{text}");
    assert!(text.contains(r#"conductor_cost_usd_total{model="back\\slash"} 1.5"#), "{text}");
    assert!(text.lines().all(|line| line.starts_with("# ") || line.starts_with("conductor_")), "{text}");
}

/// What a sample is called, for each metric.
fn names() -> Vec<String> {
    let of = |metric: &Metric| match metric.kind {
        Kind::Histogram => ["_bucket", "_sum", "_count"].map(|end| format!("{}{end}", metric.name)).into(),
        Kind::Counter | Kind::Gauge => vec![metric.name.to_owned()],
    };
    METRICS.iter().flat_map(of).collect()
}

/// Everything in a text that looks like a metric of ours.
fn named(text: &str) -> Vec<&str> {
    let words = text.split(|letter: char| !letter.is_ascii_alphanumeric() && letter != '_');
    words.filter(|word| word.starts_with("conductor_")).collect()
}

#[test]
fn the_dashboard_asks_for_what_there_is_and_for_all_of_it() {
    let dashboard: Value =
        serde_json::from_str(include_str!("../../../../../contrib/grafana/conductor.json")).unwrap();
    let panels = dashboard["panels"].as_array().unwrap();
    let targets = panels.iter().filter_map(|panel| panel["targets"].as_array()).flatten();
    let asked: Vec<&str> = targets.map(|target| target["expr"].as_str().unwrap()).collect();
    let (known, asked) = (names(), asked.join("\n"));
    for name in named(&asked) {
        assert!(known.iter().any(|known| known == name), "{name} is not exported");
    }
    for Metric { name, .. } in METRICS {
        assert!(named(&asked).iter().any(|asked| asked.starts_with(name)), "{name} is not shown");
    }
    let mut ids: Vec<u64> = panels.iter().map(|panel| panel["id"].as_u64().unwrap()).collect();
    ids.dedup();
    assert_eq!(ids.len(), panels.len(), "each panel has an id of its own");
    assert!(dashboard["schemaVersion"].as_u64().unwrap() >= 39, "as Grafana 11 and later have it");
}

#[test]
fn the_page_about_metrics_has_all_of_them() {
    let page = include_str!("../../../../../docs/metrics.md");
    let rows: Vec<&str> = page.lines().filter(|line| line.starts_with("| `conductor_")).collect();
    let listed: Vec<&str> = rows.iter().flat_map(|row| named(row).into_iter().next()).collect();
    for Metric { name, .. } in METRICS {
        assert!(listed.contains(&name), "{name} is not in docs/metrics.md");
    }
    assert_eq!(listed.len(), METRICS.len());
}
