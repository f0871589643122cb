//! A plan that a run wrote, read as what it was.

use conductor_core::file::{Layer, Source, layer, load, load_over};
use conductor_core::plan::graph::{Graph, Strategy};
use conductor_core::plan::groups::{Circumstances, Refresh, Steps, arrange};
use conductor_core::plan::{Plan, Preparation, Work};
use conductor_core::report::PlanFile;
use conductor_core::values::units::Millis;

use crate::full::FULL;
use crate::{render, said, source};

/// What a run writes of a plan.
fn written(plan: &Plan) -> String {
    let graph = Graph::new(plan, Strategy::Queue).expect("no circles");
    serde_json::to_string_pretty(&PlanFile::new(plan, &graph, 3)).expect("plain values")
}

fn read_over(text: &str, layers: &[Layer]) -> Plan {
    let source = Source::new("execution_plan.json", text.into()).expect("readable text");
    load_over(&source, layers, &[]).unwrap_or_else(|found| panic!("{}\n{text}", render(&source, &found))).plan
}

fn read(text: &str) -> Plan {
    read_over(text, &[])
}

/// All of a plan that decides what is done: what is learned from words and former runs is learned again.
fn essence(mut plan: Plan) -> Plan {
    for task in &mut plan.tasks {
        if let Some(known) = &mut task.preparation {
            known.learned_files.clear();
            known.subagent_words.clear();
            known.missing_subagent = None;
            known.learned_time = None;
        }
        task.preparation = task.preparation.take().filter(|known| **known != Preparation::default());
    }
    plan.subagents.iter_mut().for_each(|known| known.from.clear());
    plan
}

#[track_caller]
fn check(plan: &Plan) {
    let text = written(plan);
    let again = read(&text);
    assert_eq!(essence(again.clone()), essence(plan.clone()), "{text}");
    assert_eq!(written(&again), text, "what is written of it is the same, too");
}

#[test]
fn every_key_of_a_file_survives() {
    check(&read(FULL));
    for file in ["sprint", "hello", "research", "nightly"] {
        let path = format!("{}/tests/spec/corpus/{file}.yaml", env!("CARGO_MANIFEST_DIR"));
        check(&read(&std::fs::read_to_string(path).expect("a file of ours")));
    }
}

#[test]
fn tasks_of_every_kind_survive() {
    check(&read(
        r#"
tasks:
  - { id: urgent, run: [echo, "a b", ""], priority: critical }
  - { id: late, run: "echo '[P:Group-x]'", priority: backlog, dependencies: [{ id: urgent, when: finished }] }
  - { id: marked, prompt: "[P:Group-Release-1.0] Ship [P:Group-other]", dependencies: [{ id: late, kind: soft }] }
  - { id: raced, prompt: Race, race: [claude, { agent: codex, model: large }, claude], race_for: best, model: opus }
  - { id: copies, prompt: Race, attempts_in_parallel: 3, subagents: on, max_subagent_cost: 0.5 }
  - { id: alone, prompt: Build the API for the UI, subagent_type: none, subagents: off, check_base: false }
  - { id: ui, prompt: Build a React component, group: "Über alles: 100 %" }
groups: [{ name: Release 1.0, description: d, max_parallel: 1 }, { name: empty }]
"#,
    ));
}

#[test]
fn groups_that_are_carried_out_survive() {
    let plan = read(
        "tasks:\n  - { id: a, prompt: x, group: First one }\n  - { id: b, run: y }\n  - { id: c, run: z, group: last }\n",
    );
    let steps = Steps {
        refresh: Some(Refresh { work: Work::Prompt("/flow:summary".into()), timeout: Millis(1500) }),
        tests: vec!["make test".into()],
    };
    let mut circumstances = Circumstances { may_change: true, ..Circumstances::default() };
    let id = plan.tasks[0].id.clone();
    circumstances.blocked.insert(id.clone(), "it waits".into());
    circumstances.outside.insert(id, ["other".to_owned()].into());
    check(&arrange(plan, &steps, circumstances).expect("no knot"));
}

/// All is settled in it: what config files say where it is read changes nothing.
#[test]
fn config_files_are_not_laid_under_it() {
    let config = "agent: codex\nverify: [make test]\nparallel: 9\nisolation: none\nlimits: { max_cost: 3 }\ntimeout: 5m\n";
    let (layer, _) = layer(&source(config)).expect("a good file");
    let made = "tasks: [{ id: a, prompt: x }, { id: b, prompt: x, verify: [], agent: claude }]";
    let plan = read_over(made, std::slice::from_ref(&layer));
    assert_eq!((plan.parallel, plan.tasks[1].timeout), (Some(9), Some(Millis::from_secs(300))));
    check(&plan);
    let bare = read(made);
    assert_eq!(essence(read_over(&written(&bare), &[layer])), essence(bare));
}

/// A secret was left out when the plan was written; asterisks are none.
#[test]
fn a_secret_that_is_not_in_it_is_missed() {
    let plan = read("tasks: [{ id: a, run: x, env: { API_KEY: '**********', STARS: '***', B: '*****a' } }]");
    let said = said(&written(&plan));
    assert_eq!(said.lines().count(), 1, "{said}");
    assert!(said.contains("secret-left-out the value of 'API_KEY' was a secret"), "{said}");
}

/// What only repeats something else says so where it is changed.
#[test]
fn changes_without_effect_are_told() {
    let text = written(&read("tasks: [{ id: a, run: [x, y] }, { id: b, prompt: z, dependencies: [a] }]"));
    assert_eq!(said(&text), "");
    let told = |from: &str, to: &str| {
        assert!(text.contains(from), "{from}: {text}");
        said(&text.replacen(from, to, 1))
    };
    assert!(told("\"description\": \"z\"", "\"description\": \"w\"").contains("no-effect? 'description'"));
    assert!(
        told("\"b\": [\n      \"a\"", "\"a\": [\n      \"b\"")
            .contains("no-effect? what is said of 'a' here")
    );
    assert!(told("\"num_tasks\": 2", "\"num_tasks\": 3").contains("count-mismatch"));
    assert!(told("\"prompt\"", "\"promt\"").contains("unknown-key"));
}

#[test]
fn stages_of_tasks_that_are_not_there_are_refused() {
    let plan = read("tasks: [{ id: a, run: x, group: g }]");
    let plan = arrange(plan, &Steps::default(), Circumstances::default()).expect("no knot");
    let text = written(&plan).replace("\"tasks\": [\n          \"a\"", "\"tasks\": [\n          \"zz\"");
    let found = load(&Source::new("p", text.clone().into()).expect("text")).expect_err(&text);
    assert!(found.iter().any(|found| found.code == "unknown-stage"), "{found:?}");
}
