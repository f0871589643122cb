//! What is said about files that are wrong, and where.

use crate::{check, said, with};

#[test]
fn ten_mistakes_are_ten_errors() {
    let file = "\
config:
  default_priority: urgent
tasks:
  - id: api
    promt: Build
    prompt: Build it
    timeout: soon
  - id: API
    run: make
  - id: api
    run: make
    dependencies: [apo, db]
  - id: db
    prompt: '  '
    dependencies: db
  - id: ui
    retry_policy: { max_attempts: 0 }
";
    check(
        file,
        "\
2:21 unknown-value 'default_priority' cannot be 'urgent' (did you mean 'critical'?)
5:5 unknown-key a task has no key 'promt' (did you mean 'prompt'?)
7:14 bad-duration 'timeout' is not a duration: \"soon\" is not a number (write seconds as a plain number, or units: 500ms, 30m, 1h30m)
8:9 case-twin task 'API' differs from task 'api' only in case [4:9 the other one is here] (on some file systems both would share one folder)
10:9 duplicate-id there are two tasks 'api' [4:9 first here]
12:20 unknown-dependency task 'api' waits for 'apo', which does not exist (did you mean 'API'?)
14:13 empty-prompt 'prompt' has no words in it
15:19 self-dependency task 'db' waits for itself
16:9 missing-work task 'ui' has nothing to do (give it a prompt (for an agent) or a run (a command))
17:35 out-of-range 'max_attempts' must be between 1 and 100",
    );
}

#[test]
fn single_values_that_do_not_fit() {
    for (lines, expect) in [
        ("priority: hihg", "4:15 unknown-value 'priority' cannot be 'hihg' (did you mean 'high'?)"),
        (
            "priority: soon",
            "4:15 unknown-value 'priority' cannot be 'soon' (it is one of critical, high, medium, low, backlog)",
        ),
        (
            "recovery: { ambiguous: [retry, eskalate], on_fail: x }",
            "4:36 unknown-value 'ambiguous' cannot be 'eskalate' (did you mean 'escalate'?)\n\
             4:47 unknown-key recovery has no key 'on_fail' (recovery may have transient, permanent, ambiguous, patterns)",
        ),
        (
            "recovery: { patterns: [{ match: '**', as: transient }, { as: sometimes }] }",
            "4:37 bad-pattern '**' is no pattern (write words as they stand in one line, such as \"lock * timeout\"; * stands for anything)\n\
             4:62 missing-key a pattern needs 'match'\n\
             4:66 unknown-value 'as' cannot be 'sometimes' (it is one of transient, permanent, ambiguous)",
        ),
        (
            "recovery: ask",
            "4:15 wrong-type recovery is a mapping, found text (write its keys, such as transient, permanent, ambiguous, patterns)",
        ),
        (
            "isolation: worktre",
            "4:16 unknown-value 'isolation' cannot be 'worktre' (did you mean 'worktree'?)",
        ),
        (
            "changes: [a]",
            "4:14 wrong-type 'changes' wants one of required, optional, forbidden, discarded, found a list",
        ),
        (
            "pr_strategy: Normal",
            "4:18 unknown-value 'pr_strategy' cannot be 'Normal' (did you mean 'normal'?)",
        ),
        ("agent: ''", "4:12 empty-value 'agent' is empty"),
        ("verify: [cargo test, '']", "4:26 empty-value 'verify' is empty"),
        ("verify: { a: b }", "4:15 wrong-type 'verify' wants text or a list of texts, found a mapping"),
        (
            "files: [/etc/passwd]",
            "4:13 bad-path the path '/etc/passwd' is absolute (paths are relative to the root of the repository)",
        ),
        (
            "files: 'C:\\x'",
            "4:12 bad-path the path 'C:\\\\x' is absolute (paths are relative to the root of the repository)",
        ),
        (
            "files: a/../../b",
            "4:12 bad-path the path 'a/../../b' leads out of the repository (paths are relative to the root of the repository)",
        ),
        (
            "repository: https://github.com/a/b",
            "4:17 bad-repository 'https://github.com/a/b' is not a repository (write owner/name, as in github.com/owner/name)",
        ),
        (
            "env: { 1A: x }",
            "4:12 bad-env-name '1A' cannot name a variable (names are letters, digits and '_', not starting with a digit)",
        ),
        ("env: { CONDUCTOR_HOME: x }", "4:12 bad-env-name 'CONDUCTOR_HOME' is set by conductor itself"),
        ("env: { A: [x] }", "4:15 wrong-type 'A' wants a text, number or boolean, found a list"),
        ("env: [A]", "4:10 wrong-type 'env' wants a mapping of names to values, found a list"),
        (
            "permissions: { ask: 'two words', otherwise: maybe }",
            "4:25 bad-rule 'two words' is not a rule (write a tool's name, such as WebFetch, or a tool and a pattern, such as Bash(git push*))\n4:49 unknown-value 'otherwise' cannot be 'maybe' (it is one of deny, ask, allow)",
        ),
        (
            "permissions: { deny: ['bash(make*)', Bahs], ask: 'Webfetch(http*)' }",
            "4:27 unknown-tool no tool is named 'bash' (did you mean 'Bash'?)\n4:42 unknown-tool no tool is named 'Bahs' (did you mean 'Bash'?)\n4:54 unknown-tool no tool is named 'Webfetch' (did you mean 'WebFetch'?)",
        ),
        (
            "permissions: { deny: [Deploy] }",
            "4:27 unknown-tool? no tool is named 'Deploy' (the rule is for an agent with a tool of that name; known are Bash, Edit, Write, MultiEdit, NotebookEdit, Read, NotebookRead, Glob, Grep, LS, WebFetch, WebSearch, Task, TodoWrite, Skill, ToolSearch)",
        ),
        (
            "env_pass: ['A-*']",
            "4:16 bad-env-name 'A-' cannot name a variable (names are letters, digits and '_', not starting with a digit)",
        ),
        (
            "retry_policy: 3",
            "4:19 wrong-type a retry policy is a mapping, found a number (write its keys, such as max_attempts, initial_delay, backoff_factor, max_delay)",
        ),
        ("depends: [b]", "4:5 unknown-key a task has no key 'depends' (did you mean 'depends_on'?)"),
    ] {
        check(&with(lines), expect);
    }
}

#[test]
fn far_off_keys_list_what_there_is() {
    check(
        "tasks: [{ id: a, run: x }]\nlimits: { dollars: 3 }\n",
        "2:11 unknown-key limits has no key 'dollars' (limits may have max_cost, on_budget, max_tokens, max_time, max_attempts, hold_out, learn_cost, outage_patience, orphan_grace, follow_ups, approve_follow_ups, agents, groups, resources)",
    );
}

#[test]
fn keys_at_the_wrong_place_are_told_where_they_belong() {
    check(
        "config: { notifications: {} }\ntasks: [{ id: a, run: x, isolation_scope: epic, on_budget: stop }]\n",
        "1:11 unknown-key the config has no key 'notifications' (write it at the top of the file)\n\
         2:26 unknown-key a task has no key 'isolation_scope' (write it under 'config')\n\
         2:49 unknown-key a task has no key 'on_budget' (write it under 'limits')",
    );
}

#[test]
fn sections_that_do_not_fit() {
    let file = "\
config: { priority: high, default_priority: low, prompt: x }
tasks:
  - { id: a, run: x }
  - just words
groups: { g: [a] }
epics: three
limits: { max_time: 0, agents: { claude: none } }
notifications:
  on_complete: [{ type: webhook, message: x }, { type: termnal }, { message: x }]
  on_failure: { type: webhook, url: example.org }
  on_inpt: { type: sound }
  on_budget: [{ type: terminal, message: '{tsk_id} {x' }]
metadata: [x]
";
    check(
        file,
        "\
1:27 duplicate-key 'default_priority' and 'priority' are the same setting [1:11 also set here]
1:50 unknown-key the config has no key 'prompt' (that is a key of tasks)
4:5 wrong-type a task is a mapping, found text (write its keys, such as id, name, title, description)
5:11 wrong-type 'groups' wants a list, found a mapping
6:8 wrong-type 'epics' wants a list, found text
7:21 out-of-range 'max_time' must be more than 0
7:42 wrong-type 'claude' wants a whole number, found text
9:19 missing-key a notification needs 'url'
9:34 unknown-key a notification of this kind has no key 'message'
9:56 unknown-value 'type' cannot be 'termnal' (did you mean 'terminal'?)
9:69 missing-key a notification needs 'type'
10:37 bad-url 'example.org' is not a web address (it starts with https:// or http://)
11:3 unknown-key notifications has no key 'on_inpt' (did you mean 'on_input'?)
12:42 bad-template? 'message' cannot fill in '{tsk_id}' (did you mean '{task_id}'?)
13:11 wrong-type 'metadata' wants a mapping, found a list",
    );
}

#[test]
fn a_path_template_that_two_workspaces_would_share() {
    let file = |path: &str| {
        format!("config: {{ workspace_path: '{path}', gate_proof: maybe }}\ntasks: [{{ id: a, run: x }}]\n")
    };
    for (path, expect) in [
        ("/w/{run}", "must have {run} and {n} in it, so that no two workspaces are in one place"),
        ("/w/{n}-{ran}", "cannot fill in '{ran}'"),
        ("/w/{run}-{n", "cannot fill in '{n'"),
    ] {
        let gate = 43 + path.len();
        check(
            &file(path),
            &format!(
                "1:27 bad-template 'workspace_path' {expect} (for instance ../workspaces/{{repo}}-{{run}}-{{n}})\n1:{gate} wrong-type 'gate_proof' wants true or false, found text"
            ),
        );
    }
}

#[test]
fn agents_that_could_not_be_called() {
    let file = "\
config:
  agents:
    a b: { command: [x] }
    shell: { command: [x] }
    none: {}
    line: { command: x --model }
    empty: { command: [] }
    names: { command: [x, '{promt}', '{{fine}}', '{'], exit_codes: [0, 300], pattern: x }
tasks: [{ id: a, run: x }]
";
    check(
        file,
        "\
3:5 bad-agent-name 'a b' cannot name an agent (names are letters, digits, '-' and '_'; shell is taken)
4:5 bad-agent-name 'shell' cannot name an agent (names are letters, digits, '-' and '_'; shell is taken)
5:11 missing-key an agent needs 'command'
6:22 wrong-type 'command' wants a list of a program and its arguments, found text
7:23 empty-value 'command' is empty
8:27 bad-template 'command' cannot fill in '{promt}' (there are {prompt}, {prompt_file}, {model}, {session}, {directory}; a brace itself is written twice)
8:72 out-of-range 'exit_codes' must be between 0 and 255
8:78 unknown-key an agent has no key 'pattern' (an agent may have command, resume, env_pass, exit_codes, success_text, failure_text, rate_limit_text)",
    );
}

#[test]
fn keys_of_other_tools_are_translated() {
    for (foreign, ours) in
        [("command", "run"), ("needs", "dependencies"), ("retries", "retry_policy"), ("deps", "dependencies")]
    {
        let expect = format!("4:5 unknown-key a task has no key '{foreign}' (did you mean '{ours}'?)");
        check(&with(&format!("{foreign}: x")), &expect);
    }
}

#[test]
fn models_are_held_to_their_names_and_order() {
    let of = |models: &str| said(&format!("config: {{ models: {models} }}\ntasks: [{{ id: a, prompt: x }}]"));
    assert_eq!(of("{}"), "");
    assert_eq!(
        of("{ by_type: { doc: small } }"),
        "1:32 unknown-key models by type has no key 'doc' (did you mean 'docs'?)"
    );
    assert_eq!(
        of("{ by_priority: { high: larg } }"),
        "1:42 unknown-value 'high' cannot be 'larg' (did you mean 'large'?)"
    );
    assert_eq!(
        of("{ cuts: { medium: 0.8 } }"),
        "1:29 out-of-range the cut of medium, 0.8, is above that of large, 0.7"
    );
    assert_eq!(
        of("{ weights: { reasoning: 0, code: 0, domain: 0, context: 0 } }"),
        "1:32 out-of-range one of the weights must be more than 0"
    );
}

#[test]
fn a_specialist_that_exists_nowhere_is_named_with_its_place() {
    let text = "config: { subagents: { gizmo-expert: { words: gizmo } } }\ntasks:\n  - { id: a, prompt: x, subagent_type: gizmo-expart }\n  - { id: b, prompt: x, subagent_type: zzz }\n  - { id: c, prompt: x, subagent_type: ours }\n";
    assert_eq!(said(text), "", "it is not known yet which specialists there are");
    let source = crate::source(text);
    let ours = conductor_core::plan::subagents::Subagent { name: "ours".into(), ..Default::default() };
    let found = conductor_core::file::load_among(&source, &[ours]).unwrap_err();
    assert_eq!(
        crate::render(&source, &found),
        "3:40 unknown-subagent there is no subagent 'gizmo-expart' (did you mean 'gizmo-expert'?)\n\
         4:40 unknown-subagent there is no subagent 'zzz' (describe it in config: subagents, or in .claude/agents)"
    );
}

#[test]
fn nothing_is_told_to_wait_for_itself() {
    check(
        "tasks:\n  - { id: api, run: make, dependencies: [apo] }\n  - { id: ui, run: make }\n",
        "2:42 unknown-dependency task 'api' waits for 'apo', which does not exist",
    );
    check(
        "tasks:\n  - { id: api, run: make, dependencies: [apo] }\n  - { id: apa, run: make }\n",
        "2:42 unknown-dependency task 'api' waits for 'apo', which does not exist (did you mean 'apa'?)",
    );
    check(
        "epics: [{ id: base, dependencies: [bose] }]\ntasks: [{ id: a, run: make, epic: base }]\n",
        "1:36 unknown-epic there is no epic 'bose'",
    );
}
