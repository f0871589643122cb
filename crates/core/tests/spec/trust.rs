//! What of a repository's config counts only where the user trusts it.

use std::collections::BTreeSet;

use conductor_core::file::{Layer, Source, config_schema, layer, load, plan_without_tasks};
use conductor_core::plan::Demand;

use crate::render;

/// Keys that start nothing, hand nothing out and allow nothing, whatever they say.
const HARMLESS: [&str; 55] = [
    "$schema",
    "agent_home",
    "applicable_skills",
    "auto_pr_timeout",
    "changes",
    "check_base",
    "conflict_markers",
    "default_auto_pr_timeout",
    "default_pr_strategy",
    "default_priority",
    "default_repository",
    "default_retry_policy",
    "epic",
    "epic_landing",
    "estimate",
    "execution",
    "expertise",
    "expected_deliverable",
    "expected_lines",
    "fallback_models",
    "files",
    "fix_rounds",
    "gate_proof",
    "group",
    "isolation_scope",
    "keep",
    "land",
    "max_cost",
    "max_subagent_cost",
    "max_tokens",
    "max_turns",
    "merge_strategy",
    "model",
    "models",
    "on_conflict",
    "parallel",
    "pr_strategy",
    "preempt",
    "priority",
    "recovery",
    "report",
    "repository",
    "requires",
    "resources",
    "agent_resources",
    "retry",
    "retry_policy",
    "speculate",
    "subagent_type",
    "timeout",
    "ui",
    // The following only in some of their forms; see below.
    "agent",
    "fallback_agents",
    "limits",
    "review",
];

/// A value for each key that needs trust.
const NEEDS_TRUST: [(&str, &str); 26] = [
    ("setup", "[make]"),
    ("verify", "[make test]"),
    ("measure", "{ lint: [make lint] }"),
    ("env", "{ LD_PRELOAD: ./x.so }"),
    ("env_pass", "[AWS_SECRET_ACCESS_KEY]"),
    ("permissions", "{ allow: [WebFetch] }"),
    ("workspace_path", "\"/srv/{run}-{n}\""),
    ("agents", "{ mine: { command: [./x] } }"),
    ("agent", "\"acp:./x --acp\""),
    ("fallback_agents", "[codex, \"acp:./x\"]"),
    ("review", "{ agent: \"acp:./x\" }"),
    ("subagents", "{ s: { agent: \"acp:./x\" } }"),
    ("isolation", "none"),
    ("sandbox", "prefer"),
    ("sandbox", "{ mode: require, read: [/home] }"),
    ("network", "full"),
    ("network", "{ allow: [evil.example] }"),
    ("limits", "{ learn_cost: 1 }"),
    ("cloud", "{ push: true }"),
    ("prices", "{ \"claude-*\": { input: 0, output: 0 } }"),
    ("mcp", "{ server_url: \"stdio://./x\" }"),
    ("auth", "{ timeout: 5s }"),
    ("browser", "{ executable: ./x }"),
    ("sync", "{ remote: \"https://x.example/y.git\" }"),
    ("notifications", "{ on_failure: { type: webhook, url: \"https://x.example/y\" } }"),
    ("notifications", "{ on_complete: [{ type: terminal }, { type: sound, file: ./x.wav }] }"),
];

fn config(text: &str) -> Layer {
    let source = Source::new("config.yaml", text.into()).expect("readable text");
    layer(&source).unwrap_or_else(|found| panic!("{}", render(&source, &found))).0
}

fn keys(layer: &Layer) -> Vec<&str> {
    layer.needing_trust().map(|written| written.key.as_str()).collect()
}

#[test]
fn what_needs_trust_is_left_out_without_it_and_nothing_else_is() {
    let nothing = plan_without_tasks(&[config("parallel: 2\nmodel: m\n")]);
    for (key, value) in NEEDS_TRUST {
        let layer = config(&format!("parallel: 2\nmodel: m\n{key}: {value}\n"));
        let found = keys(&layer);
        assert!(found.len() == 1 && found[0].starts_with(key), "{key}: {found:?}");
        let left = layer.untrusted();
        assert_eq!(keys(&left), [""; 0], "{key}");
        let written: Vec<&str> = left.written().iter().map(|written| written.key.as_str()).collect();
        assert_eq!(written, ["parallel", "model"], "{key}");
        assert_eq!(plan_without_tasks(&[left]), nothing, "{key}");
    }
}

#[test]
fn what_does_nothing_needs_no_trust() {
    let text = "agent: codex\nfallback_agents: [gemini]\nreview: { rubric: good }\nisolation: clone\nsandbox: require\nnetwork: off\nverify: []\nsetup: []\n\
                measure: false\nenv_pass: []\nsubagents: { s: { prompt: \"acp:x\" } }\n\
                notifications: { on_failure: { type: terminal }, on_complete: [{ type: desktop }] }\n";
    let layer = config(text);
    assert_eq!(keys(&layer), [""; 0]);
    let before = plan_without_tasks(std::slice::from_ref(&layer));
    assert_eq!(plan_without_tasks(&[layer.untrusted()]), before);
}

/// Who adds a key decides whether it needs trust.
#[test]
fn every_key_is_judged() {
    let schema = config_schema();
    let known = schema["properties"].as_object().expect("properties").keys();
    let judged = |key: &str| HARMLESS.contains(&key) || NEEDS_TRUST.iter().any(|(needs, _)| *needs == key);
    let missing: Vec<&String> = known.filter(|key| !judged(key)).collect();
    assert_eq!(missing, [""; 0]);
}

/// What a config needs trust for, a plan of a model's needs a person's leave for: the two lists are one.
#[test]
fn whatever_needs_trust_is_a_demand_of_the_plan_that_says_it() {
    let load_text = |text: &str| load(&Source::new("tasks.yaml", text.into()).expect("readable text"));
    let load =
        |config: &str| load_text(&format!("config: {{ {config} }}\ntasks: [{{ id: a, prompt: x }}]\n"));
    assert_eq!(load("model: m").expect("a good file").plan.demands(), BTreeSet::new());
    for (key, value) in NEEDS_TRUST.iter().filter(|(key, _)| *key != "notifications") {
        let said = match *key {
            // It stands beside the config.
            "limits" => load_text(&format!("{key}: {value}\ntasks: [{{ id: a, prompt: x }}]\n")),
            key => load(&format!("model: m, {key}: {value}")),
        };
        match said {
            Ok(loaded) => assert_ne!(loaded.plan.demands(), BTreeSet::new(), "{key}"),
            // The browser, its server and where runs are pushed to are not a task file's to set.
            Err(_) => assert!(["mcp", "auth", "browser", "sync"].contains(key), "{key}"),
        }
    }
}

#[test]
fn commands_and_programs_of_a_plan_are_demands_wherever_they_stand() {
    let text = "
config: { agents: { mine: { command: [./mine], resume: [./mine, again] } } }
notifications: { on_failure: { type: webhook, url: \"https://x.example/y\" }, on_complete: { type: desktop } }
tasks:
  - { id: a, run: ./run, setup: [./setup], verify: [./verify], measure: { lint: [./lint], coverage: { run: ./coverage } } }
  - { id: b, prompt: x, fallback_agents: [codex, 'acp:./fallback'], review: { agent: 'acp:./review' } }
  - { id: c, prompt: x, race: [{ agent: 'acp:./entrant' }, { agent: codex }], permissions: { deny: [Bash] } }
";
    let source = Source::new("tasks.yaml", text.into()).expect("readable text");
    let loaded = load(&source).unwrap_or_else(|found| panic!("{}", render(&source, &found)));
    let told: Vec<String> = loaded.plan.demands().iter().map(Demand::to_string).collect();
    let expected = [
        "./coverage",
        "./lint",
        "./mine",
        "./mine again",
        "./run",
        "./setup",
        "./verify",
        "agent: \"acp:./entrant\"",
        "agent: \"acp:./fallback\"",
        "agent: \"acp:./review\"",
        "notifications: {\"type\":\"webhook\",\"url\":\"https://x.example/y\"}",
    ];
    assert_eq!(told, expected);
}
