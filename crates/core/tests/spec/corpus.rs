//! Whole files as people write them, and all that is said about each.

use conductor_core::file::{load, schema};
use serde_json::Value;

use crate::{plan, render, said, source, with};

macro_rules! corpus {
    ($($test:ident $file:literal)*) => {$(
        #[test]
        fn $test() {
            insta::assert_snapshot!(said(include_str!(concat!("corpus/", $file))));
        }
    )*};
}

corpus! {
    a_first_try "first-try.yaml"
    a_renamed_task "renamed.yaml"
    delays_in_milliseconds "milliseconds.yaml"
    a_merge_by_hand "merged.yaml"
    a_windows_path_in_double_quotes "windows.yaml"
    a_colon_in_a_prompt "colon.yaml"
    json_with_slips "trailing.json"
    a_sprint_of_system_a "sprint.yaml"
    three_small_tasks_of_system_a "hello.yaml"
    long_prompts_of_system_a "research.yaml"
}

#[test]
fn a_nightly_run_as_it_is_understood() {
    let plan = plan(include_str!("corpus/nightly.yaml"));
    insta::assert_snapshot!(serde_json::to_string_pretty(&plan).unwrap());
}

const ODD_VALUES: [&str; 14] = [
    "[]",
    "{}",
    "{ zz: 1 }",
    "[[x]]",
    "[{ zz: 1 }]",
    "''",
    "' '",
    "true",
    "-1",
    "1e99",
    ".nan",
    "\"\\e\"",
    "[~]",
    "~",
];

/// Whatever stands behind a key, what is said about it points at that key or its value.
#[test]
fn odd_values_are_blamed_where_they_stand() {
    let schema = schema();
    let Value::Object(keys) = &schema["definitions"]["task"]["properties"] else { panic!("no keys") };
    for key in keys.keys().filter(|key| !["id", "prompt", "run"].contains(&key.as_str())) {
        for value in ODD_VALUES {
            let file = source(&with(&format!("{key}: {value}")));
            let found = load(&file).map_or_else(|found| found, |loaded| loaded.warnings);
            for found in &found {
                let (line, column) = file.position(found.span.start);
                assert!(
                    line == 4 && column >= 5,
                    "{key}: {value}\n{}",
                    render(&file, std::slice::from_ref(found))
                );
                assert!(found.span.end > found.span.start, "{key}: {value} has an empty mark");
            }
            assert!(found.len() <= 2, "{key}: {value}\n{}", render(&file, &found));
        }
    }
}

/// An absent value is an absent key: `dependencies:` with nothing behind it is how people leave a list empty.
#[test]
fn keys_left_empty_are_as_good_as_absent() {
    let schema = schema();
    let Value::Object(keys) = &schema["definitions"]["task"]["properties"] else { panic!("no keys") };
    let bare = plan(&with(""));
    for key in keys.keys().filter(|key| !["id", "prompt", "run"].contains(&key.as_str())) {
        assert_eq!(plan(&with(&format!("{key}:"))), bare, "{key}");
    }
    for key in ["config", "groups", "epics", "execution_order", "limits", "notifications", "metadata"] {
        assert_eq!(plan(&format!("{}{key}:\n", with(""))), bare, "{key}");
    }
}

/// A default in `config` reaches a task that says nothing, and yields to one that does.
#[test]
fn every_setting_can_be_a_default() {
    let pairs = [
        ("expected_deliverable", "one", "two"),
        ("priority", "low", "high"),
        ("epic", "one", "two"),
        ("group", "one", "two"),
        ("agent", "one", "two"),
        ("agent_home", "own", "shared"),
        ("fallback_agents", "[one]", "[two]"),
        ("fallback_models", "[one]", "[two]"),
        ("expected_lines", "1", "2"),
        ("model", "one", "two"),
        ("subagent_type", "one", "two"),
        ("applicable_skills", "[one]", "[two]"),
        ("files", "[one]", "[two]"),
        ("setup", "[one]", "[two]"),
        ("keep", "[one]", "[two]"),
        ("conflict_markers", "[one]", "[two]"),
        ("verify", "[one]", "[two]"),
        ("fix_rounds", "1", "3"),
        ("check_base", "false", "true"),
        ("expertise", "false", "true"),
        ("gate_proof", "true", "false"),
        ("review", "true", "{ agent: two }"),
        ("measure", "true", "{ lint: two }"),
        ("merge_strategy", "squash", "rebase"),
        ("on_conflict", "ours", "theirs"),
        ("land", "approve", "auto"),
        ("report", "true", "false"),
        ("preempt", "true", "false"),
        ("speculate", "true", "false"),
        ("timeout", "1", "2"),
        ("retry_policy", "{ max_attempts: 7 }", "{ max_attempts: 8 }"),
        ("recovery", "{ ambiguous: ask }", "{ ambiguous: [retry, skip] }"),
        ("env", "{ A: 1 }", "{ A: 2 }"),
        ("env_pass", "[ONE]", "[TWO]"),
        ("permissions", "{ otherwise: ask }", "{ deny: [WebFetch] }"),
        ("max_cost", "1", "2"),
        ("max_tokens", "1", "2"),
        ("max_subagent_cost", "1", "0"),
        ("max_turns", "1", "2"),
        ("requires", "[gpu]", "[linux]"),
        ("resources", "{ cpu: 1 }", "{ cpu: 2 }"),
        ("isolation", "none", "clone"),
        ("sandbox", "off", "{ mode: require, read: [/data] }"),
        ("network", "off", "{ allow: [one.example] }"),
        ("changes", "optional", "forbidden"),
        ("estimate", "1", "2"),
        ("repository", "a/one", "a/two"),
        ("pr_strategy", "manual", "patient"),
        ("auto_pr_timeout", "1", "2"),
        ("cloud", "{ remote: one }", "{ remote: two }"),
    ];
    let schema = schema();
    let config = schema["definitions"]["file"]["properties"]["config"]["properties"].as_object().unwrap();
    let of_the_file = [
        "isolation_scope",
        "epic_landing",
        "workspace_path",
        "agents",
        "agent_resources",
        "prices",
        "models",
        "subagents",
    ];
    let shared = |key: &&String| !key.starts_with("default_") && !of_the_file.contains(&key.as_str());
    assert_eq!(config.keys().filter(shared).count(), pairs.len());
    for (key, default, own) in pairs {
        let task = |text: &str| plan(text).tasks.remove(0);
        let by_default = task(&format!("config: {{ {key}: {default} }}\n{}", with("")));
        let by_itself = task(&with(&format!("{key}: {default}")));
        assert_eq!(by_default, by_itself, "{key} as a default");
        assert_ne!(by_default, task(&with("")), "{key} as a default");
        let overridden = task(&format!("config: {{ {key}: {default} }}\n{}", with(&format!("{key}: {own}"))));
        assert_eq!(overridden, task(&with(&format!("{key}: {own}"))), "{key} overridden");
    }
}

#[test]
fn the_words_of_a_default_have_two_names() {
    for (long, short, value) in [
        ("default_repository", "repository", "a/b"),
        ("default_priority", "priority", "low"),
        ("default_retry_policy", "retry_policy", "{ max_attempts: 9 }"),
        ("default_pr_strategy", "pr_strategy", "manual"),
        ("default_auto_pr_timeout", "auto_pr_timeout", "7m"),
    ] {
        let file = |key: &str| plan(&format!("config: {{ {key}: {value} }}\n{}", with("")));
        assert_eq!(file(long), file(short));
        assert_ne!(file(long), plan(&with("")));
    }
}
