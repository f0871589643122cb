//! Config files under a task file: who wins, and what is said about a bad one.

use conductor_core::file::{Layer, Source, effective, layer, load_over, plan_without_tasks, written_in_file};
use conductor_core::plan::{Isolation, Plan};
use conductor_core::values::units::{Millis, Usd};

use crate::{render, source};

fn config(text: &str) -> Layer {
    let source = Source::new("config.yaml", text.into()).expect("readable text");
    match layer(&source) {
        Ok((layer, found)) if found.is_empty() => layer,
        Ok((_, found)) | Err(found) => panic!("{}", render(&source, &found)),
    }
}

fn said(text: &str) -> String {
    let source = Source::new("config.yaml", text.into()).expect("readable text");
    match layer(&source) {
        Ok((_, found)) | Err(found) => render(&source, &found),
    }
}

fn plan(tasks: &str, layers: &[&str]) -> Plan {
    let layers: Vec<Layer> = layers.iter().map(|text| config(text)).collect();
    let source = source(tasks);
    load_over(&source, &layers, &[]).unwrap_or_else(|found| panic!("{}", render(&source, &found))).plan
}

const ONE: &str = "tasks: [{ id: a, prompt: x }]";

#[test]
fn the_nearest_word_counts() {
    let user = "agent: codex\nmodel: m\ntimeout: 1h\nverify: [one]\n";
    let repository = "agent: gemini\ndefault_priority: low\nverify: [two]\n";
    let file = "config: { agent: claude }\ntasks: [{ id: a, prompt: x }, { id: b, prompt: y, priority: high, verify: [three] }]";
    let plan = plan(file, &[repository, user]);
    let [a, b] = &plan.tasks[..] else { panic!() };
    assert_eq!(a.agent.as_deref(), Some("claude"));
    assert_eq!(a.model.as_deref(), Some("m"));
    assert_eq!((a.priority.name(), b.priority.name()), ("low", "high"));
    assert_eq!((&a.verify[..], &b.verify[..]), (&["two".to_owned()][..], &["three".to_owned()][..]));
    assert_eq!(a.timeout, Some(Millis::from_secs(3600)));
}

#[test]
fn variables_and_retries_go_piece_by_piece() {
    let user = "env: { A: user, B: user, C: user }\nretry: { max_attempts: 9, jitter: 0.5 }\n";
    let repository = "env: { B: repo, C: repo }\nretry_policy: { max_attempts: 7 }\n";
    let file = "config: { env: { C: file } }\ntasks: [{ id: a, run: x }]";
    let task = &plan(file, &[repository, user]).tasks[0];
    let env: Vec<String> = task.env.iter().map(|(name, value)| format!("{name}={value}")).collect();
    assert_eq!(env, ["A=user", "B=repo", "C=file"]);
    assert_eq!((task.retry.max_attempts, task.retry.jitter), (7, 0.5));
}

#[test]
fn a_default_for_agents_is_none_for_commands() {
    let task = &plan("tasks: [{ id: a, run: x }]", &["agent: codex\nmax_turns: 3\n"]).tasks[0];
    assert_eq!((task.agent_name(), task.max_turns), ("shell", None));
}

#[test]
fn limits_notifications_and_isolation_of_runs() {
    let user = "limits: { max_cost: 5, max_time: 1h, agents: { claude: 2 }, groups: { g: 1, nowhere: 2 } }\n\
                notifications: { on_failure: { type: terminal }, on_complete: { type: terminal } }\n\
                isolation: clone\n";
    let file = "limits: { max_cost: 2, agents: { codex: 1 } }\nnotifications: { on_complete: [] }\n\
                tasks: [{ id: a, run: x, group: g }]";
    let plan = plan(file, &[user]);
    assert_eq!(plan.limits.max_cost, Some(Usd::from_dollars(2.0)));
    assert_eq!(plan.limits.max_time, Some(Millis::from_secs(3600)));
    assert_eq!(plan.limits.agents.len(), 2);
    assert_eq!(plan.groups[0].max_parallel, Some(1));
    assert!(plan.notifications.on_complete.is_empty());
    assert_eq!(plan.notifications.on_failure.len(), 1);
    // Not the task's own, so that a flag still counts.
    assert_eq!((plan.tasks[0].isolation, plan.isolation), (None, Some(Isolation::Clone)));
}

#[test]
fn how_many_at_once() {
    let slots = |layers: &[&str]| plan(ONE, layers).parallel;
    assert_eq!(slots(&[]), None);
    assert_eq!(slots(&["parallel: 3"]), Some(3));
    assert_eq!(slots(&["execution: { parallel_mode: true, max_parallel_tasks: 5 }"]), Some(5));
    assert_eq!(slots(&["execution: { max_parallel_tasks: 5 }"]), Some(1));
    assert_eq!(slots(&["execution: { parallel_mode: false }", "parallel: 4"]), Some(1));
    assert_eq!(
        slots(&[
            "execution: { max_parallel_tasks: 2 }",
            "execution: { parallel_mode: true, max_parallel_tasks: 5 }"
        ]),
        Some(2)
    );
    assert_eq!(slots(&["parallel: 2", "execution: { parallel_mode: true, max_parallel_tasks: 5 }"]), Some(2));
}

#[test]
fn agents_and_prices_of_config_files_need_no_task_file() {
    let layers = [
        config("agents: { mine: { command: [a] } }"),
        config(
            "agents: { mine: { command: [b] }, other: { command: [c] } }\nprices: { m: { input: 1, output: 2 } }",
        ),
    ];
    let plan = plan_without_tasks(&layers);
    assert_eq!(plan.agents["mine"].command, ["a"]);
    assert_eq!(plan.agents["other"].command, ["c"]);
    assert!(plan.prices.contains_key("m"));
}

#[test]
fn an_epic_of_a_config_file_counts_where_the_task_file_has_it() {
    let with = |file: &str| plan(file, &["epic: e"]).tasks[0].epic.clone();
    assert_eq!(with(ONE).as_deref(), Some("e"));
    assert_eq!(with("epics: [{ id: other }]\ntasks: [{ id: a, prompt: x }]"), None);
}

#[test]
fn bad_config_files_are_told_like_bad_task_files() {
    for (text, expected) in [
        ("agnet: codex", "1:1 unknown-key a config file has no key 'agnet' (did you mean 'agent'?)"),
        ("a: b: c", "1:5"),
        ("- 1", "1:1 wrong-type a config file is a mapping, found a list"),
        ("limits:\n  max_cots: 1", "2:3 unknown-key limits has no key 'max_cots' (did you mean 'max_cost'?)"),
        ("parallel: 0", "1:11 out-of-range"),
        ("execution: { parallel_mode: 3 }", "1:29 wrong-type"),
        (
            "retry: { jitter: 0.1 }\nretry_policy: { jitter: 0.2 }",
            "2:1 duplicate-key 'retry' and 'retry_policy'",
        ),
        ("tasks: []", "1:1 unknown-key a config file has no key 'tasks'"),
        ("prompt: x", "1:1 unknown-key"),
    ] {
        let said = said(text);
        assert!(said.starts_with(expected), "{text}: {said}");
    }
    for fine in ["", "# nothing but words\n\n", "x-mine: 1\nagent: codex"] {
        assert_eq!(said(fine), "", "{fine}");
    }
}

#[test]
fn what_has_no_effect_is_known() {
    let file = source(
        "mcp: { timeout: 5 }\nauth: { timeout: 9 }\nui: dark\nretry: { jitter: 0 }\ndefault_repository: a/b\n",
    );
    let (layer, _) = layer(&file).expect("a good file");
    let idle: Vec<&str> = layer.idle().map(|written| written.key.as_str()).collect();
    assert_eq!(idle, ["ui"]);
    assert_eq!(
        said("retry: { jitter: 0 }\nui: { a: 1 }\ndefault_repository: a/b\n"),
        "2:1 no-effect? 'ui' has no effect (nothing here reads it; leave it, or take it out)"
    );
    assert!(
        said("mcp: { server: x }").starts_with("1:8 unknown-key mcp has no key 'server'"),
        "{}",
        said("mcp: { server: x }")
    );
    assert!(said("auth: { timeout: soon }").starts_with("1:18 "), "{}", said("auth: { timeout: soon }"));
    for effective in ["execution: { parallel_mode: true }", "retry: { jitter: 0 }", "default_repository: ~"] {
        assert_eq!(said(effective), "");
    }
}

#[test]
fn every_setting_is_known_by_key_value_and_line() {
    let file = source(
        "config:\n  agent: claude\n  env: { A: 1 }\nlimits:\n  max_cost: 2\ntasks: [{ id: a, run: x }]",
    );
    let file = written_in_file(&file);
    let layer =
        config("agent: codex\ndefault_priority: low\nlimits: { max_cost: 3, agents: { claude: 1 } }\n");
    let told: Vec<String> = effective(&[&file, layer.written()])
        .into_iter()
        .map(|(key, found)| format!("{key} {} {}:{}", found.written.value, found.layer, found.written.line))
        .collect();
    assert_eq!(
        told,
        [
            "agent \"claude\" 0:2",
            "env.A 1 0:3",
            "limits.agents.claude 1 1:3",
            "limits.max_cost 2 0:5",
            "priority \"low\" 1:2",
        ]
    );
}

#[test]
fn a_layer_over_tasks_counts_before_their_own_words_and_makes_no_prompt_of_a_command() {
    let environment = config(
        "agent: codex\ntimeout: 30s\nfix_rounds: 5\nretry: { max_attempts: 7 }\nlimits: { on_budget: finish }\n",
    );
    let layers = [environment.over_tasks(), config("agent: gemini\nmodel: m\n")];
    let file = source(
        "config: { agent: claude, timeout: 1m }\nlimits: { on_budget: stop, max_tokens: 9 }\n\
         tasks: [{ id: p, prompt: x, agent: opencode, retry_policy: { max_attempts: 2, jitter: 0 } }, { id: c, run: y, timeout: 2m }]",
    );
    let plan =
        load_over(&file, &layers, &[]).unwrap_or_else(|found| panic!("{}", render(&file, &found))).plan;
    let [prompt, command] = &plan.tasks[..] else { panic!() };
    assert_eq!((prompt.agent.as_deref(), prompt.model.as_deref()), (Some("codex"), Some("m")));
    assert_eq!((prompt.retry.max_attempts, prompt.retry.jitter, prompt.fix_rounds), (7, 0.0, 5));
    assert_eq!((prompt.timeout, command.timeout), (Some(Millis::from_secs(30)), Some(Millis::from_secs(30))));
    assert_eq!((command.agent.as_deref(), command.fix_rounds), (None, 0));
    assert_eq!(format!("{:?}", plan.limits.on_budget), "Finish");
    assert_eq!(plan.limits.max_tokens, Some(9));
}

#[test]
fn what_is_said_of_the_browser_is_read_and_the_stronger_counts() {
    let of = |text: &str| layer(&source(text)).expect("a good file").0.browser().clone();
    let strong = of(
        "mcp: { server_url: 'http://h/mcp', timeout: 2m }\nbrowser: { headless: true, site: 'http://s' }\n",
    );
    let weak = of("mcp: { timeout: 9, max_retries: 0 }\nauth: { timeout: 10, check_interval: 500ms }\n");
    let both = strong.over(&weak);
    assert_eq!(both.server_url.as_deref(), Some("http://h/mcp"));
    assert_eq!((both.timeout.map(|time| time.0), both.max_retries), (Some(120_000), Some(0)));
    assert_eq!(both.auth_check_interval.map(|time| time.0), Some(500));
    assert_eq!((both.headless, both.isolated, both.site.as_deref()), (Some(true), None, Some("http://s")));
}

/// What is said of one task counts first, then what is said of its agent, then what is said of all.
#[test]
fn resources_of_an_agent_lie_between_those_of_all_and_those_of_the_task() {
    let text = "config:\n  resources: { memory: 1GiB, cpu: 1, disk: 1GiB }\n  \
                agent_resources: { codex: { memory: 2GiB, cpu: 2 }, shell: { cpu: 8 } }\n\
                tasks:\n  - { id: a, prompt: x, agent: codex, resources: { cpu: 3 } }\n  \
                - { id: b, prompt: x, agent: claude }\n  - { id: c, run: x }\n";
    let plan = plan(text, &[]);
    let of = |place: usize| plan.tasks[place].limits().to_string();
    assert_eq!(of(0), "3 CPU, 2.0 GiB of memory, 1.0 GiB of disk");
    assert_eq!(of(1), "1 CPU, 1.0 GiB of memory, 1.0 GiB of disk");
    assert_eq!(of(2), "8 CPU, 1.0 GiB of memory, 1.0 GiB of disk");
}
