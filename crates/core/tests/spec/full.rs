//! Every key of the contract, each in its field.

use conductor_core::plan::models::{Choice, Cuts, Tier, Weights};
use conductor_core::plan::recovery::{Nature, Pattern, Recovery, Strategy};
use conductor_core::plan::subagents::Subagent;
use conductor_core::plan::*;
use conductor_core::values::units::{Millis, Usd};

use crate::{plan, said};

pub(crate) const FULL: &str = r##"
# yaml-language-server: $schema=task-file.json
$schema: task-file.json
x-anchors: &common { B: two }
config:
  default_repository: octo/base.rs
  default_priority: low
  default_retry_policy: { max_attempts: 5, initial_delay: 10, jitter: 0.5 }
  default_pr_strategy: patient
  default_auto_pr_timeout: 1800
  agent: claude
  verify: ["cargo test"]
  env: { A: one, B: base }
  timeout: 1h
  keep: [target]
  conflict_markers: [tests/merge.txt]
  isolation_scope: epic
  epic_landing: all
  workspace_path: ../work/{repo}-{run}-{n}
  models:
    choice: auto
    tiers: { codex: { small: gpt-5.4-nano, medium: gpt-5.4-mini, large: gpt-5.4 } }
    by_priority: { critical: large, high: medium, medium: medium, low: small, backlog: small }
    by_type: { fix: medium, feat: medium, docs: small, test: small, refactor: large, perf: large, build: small, chore: small }
    weights: { reasoning: 0.4, code: 0.3, domain: 0.2, context: 0.1 }
    cuts: { medium: 0.25, large: 0.6 }
    escalate: false
  subagents:
    gizmo-expert: { description: Knows gizmos, words: [gizmo], agent: codex, model: large, prompt: Mind the gizmos. }
  agents:
    tool:
      command: [tool, --model, "{model}", "--in={directory}", "{{}}"]
      resume: [tool, --continue, "{session}"]
      env_pass: [TOOL_KEY]
      exit_codes: [0, 3]
      success_text: all done
      failure_text: [gave up, panic]
      rate_limit_text: too many requests
    plain: { command: [plain, "{prompt}"] }
  agent_resources: { spare: { memory: 1GiB } }
  prices:
    house-model: { input: 0.5, output: 2, cache_read: 0.05, cache_write: 0.6 }
    "claude-*": { input: 3, output: 15 }
tasks:
  - id: schema
    run: [make, schema]
    survive: true
  - id: docs
    title: Write the docs
    description: |
      About the API.
      All of it.
    prompt: Write them.
  - id: api
    name: Build the API
    prompt: |
      Build it.
    expected_deliverable: src/api.rs with tests
    priority: high
    dependencies: [schema, { id: docs, when: finished, kind: soft, dependency_type: blocks }]
    epic: backend
    group: infra
    agent: codex
    agent_home: own
    fallback_agents: [claude, gemini]
    fallback_models: [haiku]
    expected_lines: 120
    model: sonnet
    subagent_type: backend-architect
    applicable_skills: [mcp-builder]
    files: ["src/api/**"]
    verify: cargo test -p api
    setup: [npm ci]
    fix_rounds: 4
    check_base: false
    gate_proof: true
    review: { agent: codex, rubric: No panics }
    measure: { coverage: { run: make cover, report: lcov.info }, lint: [make lint, auto], within: 5m }
    merge_strategy: squash
    on_conflict: retry-later
    land: approve
    report: true
    expertise: false
    preempt: true
    speculate: true
    timeout: 1800
    retry_policy: { initial_delay: 500ms, backoff_factor: 3, max_delay: 2m }
    recovery: { transient: [retry, ask], permanent: skip, ambiguous: [retry, rollback], patterns: { match: Lock * timeout, as: transient } }
    env: { <<: *common, PORT: 8080, DEBUG: true, RATIO: 1.50 }
    env_pass: [HOME, "AWS_*"]
    permissions: { deny: WebFetch, ask: ["Bash(git push*)"], allow: [WebSearch], otherwise: ask, blocked_commands: [sudo], answer_within: 30m, repetition: true }
    max_cost: 2.50
    max_tokens: 1e6
    max_turns: 60
    subagents: on
    max_subagent_cost: 0.75
    requires: [gpu, linux]
    resources: { cpu: 2, memory: 4GiB, browser: 1, processes: 500, disk: 10GiB, open_files: 4096 }
    isolation: clone
    sandbox: { mode: require, read: ["~/data"], write: [/srv/out] }
    network: { allow: [crates.io, "*.npmjs.org", "localhost:5432"] }
    changes: optional
    estimate: 20m
    repository: octo/api
    pr_strategy: aggressive
    auto_pr_timeout: 90
    cloud: { transport: managed, push: true, remote: fork, environment: env_1, routine: r_1, agent: a_1, token_variable: CLOUD_KEY, max_sessions: 3, settle: 10m, keep_tabs: true }
  - { id: db, prompt: Set up, depends_on: schema }
  - { id: e2e, run: ./e2e.sh, depends_on: api }
  - { id: search, prompt: Find it, race: [claude, { agent: codex, model: o9 }], race_for: best }
  - { id: index, prompt: Index it, attempts_in_parallel: 3 }
groups:
  - { name: infra, tasks: [db], description: The base, max_parallel: 3 }
  - { name: checks, tasks: [e2e] }
epics:
  - { id: foundation, name: Foundation }
  - { id: backend, dependencies: [foundation], isolation_scope: task }
execution_order: [schema, { parallel: [api, db] }, e2e]
limits:
  max_cost: 40
  on_budget: finish
  max_tokens: 5000000
  max_time: 4h
  max_attempts: 50
  outage_patience: 45m
  orphan_grace: 5m
  follow_ups: 7
  hold_out: 20
  learn_cost: 0.25
  approve_follow_ups: false
  agents: { claude: 2, codex: 1 }
  groups: { checks: 1 }
  resources: { browser: 1, memory: 8GiB, cpu: 4 }
notifications:
  on_complete:
    - { type: terminal, message: "{task_id} done" }
    - { type: sound, file: bell.wav }
    - { type: desktop }
  on_failure: { type: webhook, url: https://example.org/hook }
  on_input: { type: desktop, message: "{task_id}: {question}" }
  on_budget: [{ type: terminal }]
metadata: { author: Ada, version: 1.2, tags: [a, { deep: null }] }
"##;

#[test]
fn it_loads_without_an_error() {
    let said = said(FULL);
    assert!(said.starts_with("6:3 no-effect? ") && !said.contains('\n'), "{said}");
}

#[test]
fn a_task_has_every_field() {
    let plan = plan(FULL);
    let api = plan.tasks.iter().find(|task| task.id.as_str() == "api").unwrap();
    let id = |text| conductor_core::values::ids::TaskId::parse(text).unwrap();
    let list = |words: &[&str]| words.iter().map(|word| word.to_string()).collect::<Vec<_>>();
    let pairs = [("A", "one"), ("B", "two"), ("PORT", "8080"), ("DEBUG", "true"), ("RATIO", "1.50")];
    let expected = Task {
        name: "Build the API".into(),
        expected_deliverable: Some("src/api.rs with tests".into()),
        priority: Priority(1),
        dependencies: vec![
            Dependency::on(id("schema")),
            Dependency { id: id("docs"), when: When::Finished, kind: Kind::Soft },
        ],
        epic: Some("backend".into()),
        group: Some("infra".into()),
        agent: Some("codex".into()),
        fallback_agents: list(&["claude", "gemini"]),
        model: Some("sonnet".into()),
        subagent_type: Some("backend-architect".into()),
        applicable_skills: list(&["mcp-builder"]),
        files: list(&["src/api/**"]),
        preparation: Some(Box::new(Preparation {
            setup: list(&["npm ci"]),
            keep: list(&["target"]),
            conflict_markers: list(&["tests/merge.txt"]),
            own_agent_home: true,
            fallback_models: list(&["haiku"]),
            expected_lines: Some(120),
            leaves_base_unchecked: true,
            subagents: true,
            max_subagent_cost: Some(Usd(750_000)),
            ..Preparation::default()
        })),
        verify: list(&["cargo test -p api"]),
        fix_rounds: 4,
        gate_proof: true,
        review: Some(Box::new(Review {
            agent: Some("codex".into()),
            model: None,
            rubric: Some("No panics".into()),
        })),
        measure: Some(Box::new(Measure {
            coverage: Some(Coverage { run: "make cover".into(), report: Some("lcov.info".into()) }),
            lint: list(&["make lint", "auto"]),
            within: Some(Millis::from_secs(300)),
        })),
        merge_strategy: MergeStrategy::Squash,
        on_conflict: OnConflict::RetryLater,
        land: Land::Approve,
        report: true,
        expertise: false,
        preempt: true,
        speculate: true,
        timeout: Some(Millis::from_secs(1800)),
        retry: RetryPolicy {
            max_attempts: 5,
            initial_delay: Millis(500),
            backoff_factor: 3.0,
            max_delay: Millis::from_secs(120),
            jitter: 0.5,
        },
        recovery: Some(Box::new(Recovery {
            transient: vec![Strategy::Retry, Strategy::Ask],
            permanent: vec![Strategy::Skip],
            ambiguous: vec![Strategy::Retry, Strategy::Rollback],
            patterns: vec![Pattern { words: "Lock * timeout".into(), nature: Nature::Transient }],
        })),
        env: pairs.into_iter().map(|(name, value)| (name.into(), value.into())).collect(),
        env_pass: list(&["HOME", "AWS_*"]),
        permissions: Some(Box::new(Permissions {
            deny: list(&["WebFetch"]),
            ask: list(&["Bash(git push*)"]),
            allow: list(&["WebSearch"]),
            otherwise: Otherwise::Ask,
            blocked_commands: Some(list(&["sudo"])),
            answer_within: Some(Millis::from_secs(1800)),
            repetition: true,
        })),
        max_cost: Some(Usd(2_500_000)),
        max_tokens: Some(1_000_000),
        max_turns: Some(60),
        requires: vec!["gpu".into(), "linux".into()],
        resources: [
            ("cpu", 2),
            ("memory", 4 << 30),
            ("browser", 1),
            ("processes", 500),
            ("disk", 10 << 30),
            ("open_files", 4096),
        ]
        .map(|(k, v)| (k.into(), v))
        .into(),
        isolation: Some(Isolation::Clone),
        sandbox: Some(Box::new(Sandbox {
            mode: SandboxMode::Require,
            read: vec!["~/data".into()],
            write: vec!["/srv/out".into()],
        })),
        network: Some(Box::new(Network::Allow(
            ["crates.io", "*.npmjs.org", "localhost:5432"].map(str::to_owned).into(),
        ))),
        changes: Changes::Optional,
        estimate: Some(Millis::from_secs(1200)),
        repository: Some("octo/api".into()),
        pr_strategy: Some(PrStrategy::Aggressive),
        auto_pr_timeout: Some(Millis::from_secs(90)),
        cloud: Some(Box::new(Cloud {
            transport: Some(Transport::Managed),
            push: Some(true),
            remote: Some("fork".into()),
            environment: Some("env_1".into()),
            routine: Some("r_1".into()),
            agent: Some("a_1".into()),
            token_variable: Some("CLOUD_KEY".into()),
            max_sessions: Some(3),
            settle: Some(Millis::from_secs(600)),
            keep_tabs: Some(true),
        })),
        ..Task::new(id("api"), Work::Prompt("Build it.\n".into()))
    };
    assert_eq!(*api, expected);
}

#[test]
fn defaults_come_from_config_then_from_the_kind_of_work() {
    let plan = plan(FULL);
    let task = |id: &str| plan.tasks.iter().find(|task| task.id.as_str() == id).unwrap();
    let docs = task("docs");
    assert_eq!(docs.name, "Write the docs");
    assert_eq!(docs.work, Work::Prompt("About the API.\nAll of it.\n\nWrite them.".into()));
    assert_eq!((docs.priority, docs.agent.as_deref()), (Priority(3), Some("claude")));
    assert_eq!((docs.retry.max_attempts, docs.retry.max_delay), (5, Millis::from_secs(300)));
    assert_eq!(docs.repository.as_deref(), Some("octo/base.rs"));
    assert_eq!(docs.pr_strategy, Some(PrStrategy::Patient));
    assert_eq!(docs.auto_pr_timeout, Some(Millis::from_secs(1800)));
    assert_eq!((docs.timeout, docs.changes), (Some(Millis::from_secs(3600)), Changes::Required));
    assert_eq!(docs.verify, ["cargo test"]);
    assert_eq!((docs.fix_rounds, docs.merge_strategy), (2, MergeStrategy::Merge));

    let schema = task("schema");
    assert_eq!(schema.work, Work::Run(Command::Argv(vec!["make".into(), "schema".into()])));
    assert_eq!((schema.agent_name(), schema.changes), ("shell", Changes::Optional));
    assert_eq!((schema.fix_rounds, schema.on_conflict), (0, OnConflict::Manual));
    assert_eq!(schema.name, "schema");
    assert!(schema.outlives_its_coordinator() && !task("e2e").outlives_its_coordinator());
}

#[test]
fn without_a_policy_a_command_is_tried_once_and_a_prompt_three_times() {
    let plan =
        plan("tasks: [{id: a, run: ls}, {id: b, prompt: x}, {id: c, run: ls, retry_policy: {jitter: 0}}]");
    let attempts: Vec<u32> = plan.tasks.iter().map(|task| task.retry.max_attempts).collect();
    assert_eq!(attempts, [1, 3, 3]);
}

#[test]
fn the_other_sections() {
    let plan = plan(FULL);
    let group = |name: &str, description: Option<&str>, most| Group {
        description: description.map(str::to_owned),
        max_parallel: most,
        ..Group::named(name)
    };
    assert_eq!(plan.groups, [group("infra", Some("The base"), Some(3)), group("checks", None, Some(1))]);
    let epic = |id: &str, name: Option<&str>, on: &[&str], isolation_scope| Epic {
        id: id.into(),
        name: name.map(str::to_owned),
        dependencies: on.iter().map(|on| on.to_string()).collect(),
        isolation_scope,
        land: None,
        epic_landing: match isolation_scope {
            Scope::Epic => EpicLanding::All,
            Scope::Task => EpicLanding::default(),
        },
    };
    assert_eq!(
        plan.epics,
        [
            epic("foundation", Some("Foundation"), &[], Scope::Epic),
            epic("backend", None, &["foundation"], Scope::Task)
        ]
    );
    let gizmo = Subagent {
        name: "gizmo-expert".into(),
        description: "Knows gizmos".into(),
        words: vec!["gizmo".into()],
        agent: Some("codex".into()),
        model: Some("large".into()),
        prompt: "Mind the gizmos.".into(),
        from: "the file's config".into(),
    };
    assert_eq!(plan.subagents, [gizmo]);
    let models = plan.models.as_deref().unwrap();
    assert_eq!((models.choice, models.escalate), (Choice::Auto, false));
    assert_eq!(models.model("codex", Tier::Medium), Some("gpt-5.4-mini"));
    assert_eq!(models.model("claude", Tier::Large), Some("opus"), "built in");
    assert_eq!((models.by_priority[&0], models.by_type["refactor"]), (Tier::Large, Tier::Large));
    assert_eq!((models.by_priority.len(), models.by_type.len()), (5, 8));
    assert_eq!(models.weights, Weights { reasoning: 0.4, code: 0.3, domain: 0.2, context: 0.1 });
    assert_eq!(models.cuts, Cuts { medium: 0.25, large: 0.6 });
    assert_eq!(plan.workspace_path.as_deref(), Some("../work/{repo}-{run}-{n}"));
    let words = |words: &[&str]| words.iter().map(|word| word.to_string()).collect::<Vec<_>>();
    let tool = Program {
        command: words(&["tool", "--model", "{model}", "--in={directory}", "{{}}"]),
        resume: words(&["tool", "--continue", "{session}"]),
        env_pass: words(&["TOOL_KEY"]),
        exit_codes: vec![0, 3],
        success_text: words(&["all done"]),
        failure_text: words(&["gave up", "panic"]),
        rate_limit_text: words(&["too many requests"]),
    };
    let plain = Program { command: words(&["plain", "{prompt}"]), exit_codes: vec![0], ..Program::default() };
    assert_eq!(Vec::from_iter(&plan.agents), [(&"plain".to_owned(), &plain), (&"tool".to_owned(), &tool)]);
    let price = |input, output, cache_read: Option<Usd>, cache_write: Option<Usd>| Price {
        input: Usd(input),
        output: Usd(output),
        cache_read,
        cache_write,
    };
    let prices = [
        ("claude-*".to_owned(), price(3_000_000, 15_000_000, None, None)),
        ("house-model".to_owned(), price(500_000, 2_000_000, Some(Usd(50_000)), Some(Usd(600_000)))),
    ];
    assert_eq!(plan.prices, prices.into());
    let order: Vec<Vec<&str>> =
        plan.execution_order.iter().map(|step| step.iter().map(|id| id.as_str()).collect()).collect();
    assert_eq!(order, [vec!["schema"], vec!["api", "db"], vec!["e2e"]]);
    let groups: Vec<Option<&str>> = plan.tasks.iter().take(5).map(|task| task.group.as_deref()).collect();
    assert_eq!(groups, [None, None, Some("infra"), Some("infra"), Some("checks")]);
    let limits = Limits {
        max_cost: Some(Usd(40_000_000)),
        on_budget: OnBudget::Finish,
        max_tokens: Some(5_000_000),
        max_time: Some(Millis::from_secs(4 * 3600)),
        max_attempts: Some(50),
        outage_patience: Some(Millis::from_secs(45 * 60)),
        orphan_grace: Some(Millis::from_secs(5 * 60)),
        follow_ups: 7,
        follow_ups_unasked: true,
        hold_out: Some(20),
        learn_cost: Some(Usd(250_000)),
        agents: [("claude".into(), 2), ("codex".into(), 1)].into(),
        resources: [("browser", 1), ("memory", 8 << 30), ("cpu", 4)].map(|(k, v)| (k.into(), v)).into(),
    };
    assert_eq!(plan.limits, limits);
    let notifications = Notifications {
        on_complete: vec![
            Notification::Terminal { message: Some("{task_id} done".into()) },
            Notification::Sound { file: Some("bell.wav".into()) },
            Notification::Desktop { message: None },
        ],
        on_failure: vec![Notification::Webhook { url: "https://example.org/hook".into() }],
        on_input: vec![Notification::Desktop { message: Some("{task_id}: {question}".into()) }],
        on_budget: vec![Notification::Terminal { message: None }],
    };
    assert_eq!(plan.notifications, notifications);
    let metadata = serde_json::json!({ "author": "Ada", "version": 1.2, "tags": ["a", { "deep": null }] });
    assert_eq!(serde_json::Value::Object(plan.metadata), metadata);
}

#[test]
fn a_plan_survives_the_store() {
    let plan = plan(FULL);
    let text = serde_json::to_string(&plan).unwrap();
    assert_eq!(serde_json::from_str::<Plan>(&text).unwrap(), plan);
}
