//! Ids, names, work, groups, epics, orders, dependencies: what points at what.

use conductor_core::plan::{Command, Work};

use crate::{check, plan, said, task, with};

/// Tasks with these dependencies, as `a:b,c d` for "a waits for b and c; d waits for nothing".
fn graph(spec: &str) -> String {
    let task = |text: &str| {
        let (id, on) = text.split_once(':').unwrap_or((text, ""));
        format!("  - {{ id: {id}, run: x, dependencies: [{on}] }}\n")
    };
    format!("tasks:\n{}", spec.split(' ').map(task).collect::<String>())
}

#[test]
fn ids_that_may_name_files() {
    for id in ["1", "1.10", "proj-auth.1", "A_b", "true", "'null'", "007"] {
        let plain = id.trim_matches('\'');
        assert_eq!(task(&format!("tasks: [{{ id: {id}, run: x }}]")).id.as_str(), plain);
    }
}

#[test]
fn ids_that_may_not() {
    for (id, why) in [
        ("../../etc", "a task id is made of letters, digits, '.', '_' and '-'; '/' is none of them"),
        ("-rf", "a task id starts with a letter, a digit or '_', not with '-'"),
        (".git", "a task id starts with a letter, a digit or '_', not with '.'"),
        ("a..b", "a task id cannot contain '..'"),
        ("a b", "a task id is made of letters, digits, '.', '_' and '-'; ' ' is none of them"),
    ] {
        check(&format!("tasks: [{{ id: {id}, run: x }}]"), &format!("1:15 bad-id bad task id '{id}': {why}"));
    }
    assert!(
        said(&format!("tasks: [{{ id: {}, run: x }}]", "a".repeat(51))).contains("at most 50 characters")
    );
    check("tasks: [{ run: x }]", "1:11 missing-key a task needs 'id'");
    check("tasks: [{ id: , run: x }]", "1:11 missing-key a task needs 'id'");
    check("tasks: [{ id: [a], run: x }]", "1:15 wrong-type 'id' wants text, found a list");
    check(
        "tasks: [{ id: \"a\\0\", run: x }]",
        "1:15 nul-byte a NUL character cannot be part of a text\n1:15 bad-id bad task id 'a\\0': a task id is made of letters, digits, '.', '_' and '-'; '\\0' is none of them",
    );
}

#[test]
fn a_bad_id_is_said_once_not_again_where_it_is_used() {
    check(
        "tasks: [{ id: a b, run: x }, { id: c, run: x, dependencies: [a b] }]\nexecution_order: [a b, c]",
        "1:15 bad-id bad task id 'a b': a task id is made of letters, digits, '.', '_' and '-'; ' ' is none of them",
    );
}

#[test]
fn where_a_name_comes_from() {
    for (keys, name, prompt) in [
        ("prompt: p", "a", "p"),
        ("prompt: p, name: N, title: T", "N", "p"),
        ("prompt: p, title: T", "T", "p"),
        ("prompt: p, description: D", "D", "p"),
        ("prompt: p, name: N, description: D", "N", "D\n\np"),
        ("prompt: p, description: \"one\\ntwo\"", "a", "one\ntwo\n\np"),
        ("description: \"one\\ntwo\"", "one", "one\ntwo"),
        ("description: D, title: T", "T", "D"),
        ("description: D, name: N", "N", "D"),
        ("description: '[P:Group-g] D'", "D", "[P:Group-g] D"),
        ("description: '[P:Group-g]'", "a", "[P:Group-g]"),
    ] {
        let task = task(&format!("[{{ id: a, {keys} }}]"));
        assert_eq!((task.name.as_str(), &task.work), (name, &Work::Prompt(prompt.into())), "{keys}");
    }
    let long = "x".repeat(150);
    assert_eq!(task(&format!("[{{ id: a, description: {long} }}]")).name.len(), 100);
    check(
        &with(&format!("name: {long}")),
        "4:11 out-of-range a name has at most 100 characters, this one has 150",
    );
    check(&with("name: ''"), "4:11 empty-value 'name' is empty");
    check(&with(r#"name: "a\nb""#), "4:11 bad-name a name is one line without control characters");
}

#[test]
fn a_task_has_one_work() {
    for (keys, expect) in [
        (
            "name: n",
            "1:14 missing-work task 'a' has nothing to do (give it a prompt (for an agent) or a run (a command))",
        ),
        (
            "prompt: x, run: y",
            "1:28 two-works a task has a prompt or a run, not both [1:17 the prompt is here]",
        ),
        ("prompt: ", "1:17 empty-prompt 'prompt' has no words in it"),
        ("prompt: ' '", "1:25 empty-prompt 'prompt' has no words in it"),
        ("prompt: [x]", "1:25 wrong-type 'prompt' wants text, found a list"),
        ("run: ''", "1:22 empty-prompt 'run' has no words in it"),
        ("run: []", "1:22 empty-prompt 'run' has no words in it"),
        ("run: ['']", "1:22 empty-prompt 'run' has no words in it"),
        ("run: [ls, [x]]", "1:27 wrong-type 'run' wants texts: a program and its arguments, found a list"),
        ("run: { a: b }", "1:24 wrong-type 'run' wants text, found a mapping"),
    ] {
        check(&format!("tasks: [{{id: a, {keys}}}]"), expect);
    }
    let argv = task("tasks: [{ id: a, run: [echo, '', 2, true] }]").work;
    assert_eq!(argv, Work::Run(Command::Argv(["echo", "", "2", "true"].map(str::to_owned).into())));
}

#[test]
fn dependencies_point_at_tasks() {
    check(&graph("a:b b"), "");
    check(&graph("a:a"), "2:37 self-dependency task 'a' waits for itself");
    check(
        &graph("deploy:buidl,zzz build"),
        "\
2:42 unknown-dependency task 'deploy' waits for 'buidl', which does not exist (did you mean 'build'?)
2:48 unknown-dependency task 'deploy' waits for 'zzz', which does not exist",
    );
    check(&graph("a:b,b b"), "2:39 duplicate-dependency? 'b' is listed twice");
    check(
        "tasks: [{ id: a, run: x }, { id: b, run: x, depends_on: { id: a, when: landd, kind: sof, x: 1 } }]",
        "\
1:72 unknown-value 'when' cannot be 'landd' (did you mean 'landed'?)
1:85 unknown-value 'kind' cannot be 'sof' (did you mean 'soft'?)
1:90 unknown-key a dependency has no key 'x' (a dependency may have id, when, kind, dependency_type)",
    );
    check(&with("dependencies: [[b]]"), "4:20 wrong-type 'dependencies' wants task ids, found a list");
}

#[test]
fn circles_are_named_whole_beside_other_mistakes() {
    check(
        &graph("a:c b:a c:b,nope d:e e:d"),
        "\
2:37 dependency-cycle tasks wait for each other in a circle: a → c → b → a [4:37 'c' waits for 'b'] [3:37 'b' waits for 'a']
4:39 unknown-dependency task 'c' waits for 'nope', which does not exist
5:37 dependency-cycle tasks wait for each other in a circle: d → e → d [6:37 'e' waits for 'd']",
    );
}

#[test]
fn a_long_circle_shows_its_ends() {
    let tasks: Vec<String> = (0..20).map(|i| format!("t{i}:t{}", (i + 1) % 20)).collect();
    let said = said(&graph(&tasks.join(" ")));
    let message = "t0 → t1 → t2 → t3 → t4 → t5 → … → t17 → t18 → t19 → t0 (20 in all)";
    assert!(said.contains(message), "{said}");
    assert_eq!(said.matches(" waits for ").count(), 11);
}

#[test]
fn a_circle_through_an_epic_is_a_circle() {
    let file = "\
tasks:
  - { id: base, run: x, epic: one, dependencies: [late] }
  - { id: late, run: x, epic: two }
epics: [{ id: one }, { id: two, dependencies: [one] }]
";
    check(
        file,
        "2:51 dependency-cycle tasks wait for each other in a circle: base → late → base [3:11 'late' waits for 'base' through its epic or the execution order]",
    );
}

#[test]
fn groups_are_named_in_three_ways() {
    let file = "\
tasks:
  - { id: a, run: x, group: infra }
  - { id: b, prompt: '[P:Group-auth-flow] log in' }
  - { id: c, name: '[P:Group-infra] Set up', run: x }
  - { id: d, run: x }
  - { id: e, run: x }
groups:
  - { name: late, tasks: d }
";
    let plan = plan(file);
    let groups: Vec<Option<&str>> = plan.tasks.iter().map(|task| task.group.as_deref()).collect();
    assert_eq!(groups, [Some("infra"), Some("auth-flow"), Some("infra"), Some("late"), None]);
    let names: Vec<&str> = plan.groups.iter().map(|group| group.name.as_str()).collect();
    assert_eq!(names, ["late", "infra", "auth-flow"]);
    assert_eq!(plan.tasks[2].name, "Set up");
    let config = "config: { group: all }\ntasks: [{ id: a, run: x }, { id: b, prompt: '[P:Group-own] x' }]";
    let groups: Vec<_> = crate::plan(config).tasks.into_iter().map(|task| task.group).collect();
    assert_eq!(groups, [Some("all".to_owned()), Some("own".to_owned())]);
}

#[test]
fn groups_that_do_not_fit() {
    let file = "\
tasks:
  - { id: a, prompt: 'Set up [P:Group-infra]', group: other }
  - { id: b, prompt: '[P:Group-] x' }
  - { id: c, run: x, group: ../up }
  - { id: api, run: x }
groups:
  - { name: g, tasks: [a, ap] }
  - { name: g, tasks: [a, b] }
  - { name: h, tasks: [b], max_parallel: 2 }
limits: { groups: { h: 3, gg: 1 } }
";
    check(
        file,
        "\
2:30 conflicting-group the task is put in group 'infra' here [2:55 and in group 'other' here] (a task is in one group only)
2:30 bad-marker? a group marker belongs at the start of the text (start the text with [P:Group-NAME], NAME being letters, digits, '-', '_' and '.')
3:23 bad-marker? this group marker names no group (start the text with [P:Group-NAME], NAME being letters, digits, '-', '_' and '.')
7:24 conflicting-group the task is put in group 'g' here [2:55 and in group 'other' here] (a task is in one group only)
7:27 unknown-task 'groups' names task 'ap', which does not exist (did you mean 'a'?)
8:13 duplicate-id there are two groups 'g' [7:13 first here]
8:24 conflicting-group the task is put in group 'g' here [2:55 and in group 'other' here] (a task is in one group only)
9:24 conflicting-group the task is put in group 'h' here [8:27 and in group 'g' here] (a task is in one group only)
10:21 conflicting-group group 'h' has another limit in 'groups' [9:13 the group is here]
10:27 unknown-group there is no group 'gg' (did you mean 'g'?)",
    );
}

/// A name is a person's; what stands in paths is safe, and no two are alike.
#[test]
fn any_name_is_a_groups_and_has_an_id_of_its_own() {
    let file = "\
tasks:
  - { id: a, run: x }
  - { id: b, run: x, group: authentication sprint }
  - { id: c, prompt: '[P:Group-Authentication-Sprint] x' }
  - { id: d, run: x, group: 認証 }
  - { id: e, run: x, group: ../up }
  - { id: f, run: x, group: plain }
groups:
  - { name: Authentication Sprint, tasks: [a], max_parallel: 2 }
  - { name: 'Q3: \"all\" & more…', tasks: [] }
limits: { groups: { Authentication-Sprint: 2, plain: 1 } }
";
    assert_eq!(said(file), "");
    let plan = plan(file);
    let groups: Vec<(&str, &str)> =
        plan.groups.iter().map(|group| (group.name.as_str(), group.id())).collect();
    assert_eq!(
        groups,
        [
            ("Authentication Sprint", "Authentication-Sprint"),
            ("Q3: \"all\" & more…", "Q3-all-more"),
            ("authentication sprint", "authentication-sprint-2"),
            ("認証", "group"),
            ("../up", "up"),
            ("plain", "plain"),
        ]
    );
    assert_eq!(plan.tasks[2].group.as_deref(), Some("Authentication Sprint"), "a marker names its id");
    assert_eq!(plan.groups[5].max_parallel, Some(1));
    let twins = "tasks: [{ id: a, run: x, group: a-b }]\ngroups: [{ name: A B, tasks: [] }]";
    assert_eq!(said(twins), "");
    assert_eq!(crate::plan(twins).groups[0].id(), "A-B-2", "the other one has an id by its own name");
    check(
        &format!("tasks: [{{ id: a, run: x, group: {} }}]", "g".repeat(81)),
        "1:33 out-of-range a group's name has at most 80 characters, this one has 81",
    );
    check(
        "tasks: [{ id: a, run: x, group: \"a\\nb\" }]",
        "1:33 bad-name a group's name is one line without control characters",
    );
}

#[test]
fn epics_exist_by_name_or_by_declaration() {
    let plan = plan(
        "tasks: [{ id: a, run: x, epic: one }, { id: b, run: x, epic: one }, { id: c, run: x, epic: 2 }]",
    );
    assert_eq!(plan.epics.iter().map(|epic| epic.id.as_str()).collect::<Vec<_>>(), ["one", "2"]);
    let file = "\
tasks: [{ id: a, run: x, epic: backnd }]
epics:
  - { id: backend, dependencies: [base, backend] }
  - { id: front, dependencies: [side] }
  - { id: side, dependencies: front }
  - { id: side }
";
    check(
        file,
        "\
1:32 unknown-epic there is no epic 'backnd' (did you mean 'backend'?)
3:35 unknown-epic there is no epic 'base'
3:41 self-dependency epic 'backend' waits for itself
4:33 dependency-cycle epics wait for each other in a circle: front → side → front
6:11 duplicate-id there are two epics 'side' [5:11 first here]",
    );
}

#[test]
fn orders_in_all_their_forms() {
    let order = |text: &str| -> Vec<String> {
        let plan = plan(&format!("{}execution_order: {text}\n", graph("a b c d")));
        plan.execution_order
            .iter()
            .map(|step| step.iter().map(|id| id.as_str()).collect::<Vec<_>>().join("+"))
            .collect()
    };
    assert_eq!(order("[a, { parallel: [b, c] }, d]"), ["a", "b+c", "d"]);
    assert_eq!(order("[a, [b, c], d]"), ["a", "b+c", "d"]);
    assert_eq!(order("{ parallel: [a, b] }"), ["a+b"]);
    assert_eq!(order("{ sequential: [a, b], parallel: [c, d] }"), ["a", "b", "c+d"]);
    assert_eq!(order("[{ sequential: [d, c] }, { parallel: a }, { parallel: [] }]"), ["d", "c", "a"]);
    assert_eq!(order("\n  parallel:\n    - a\n    - b\n"), ["a+b"]);
    check(
        &format!("{}execution_order: [a, apx, a, {{ paralel: [b] }}, {{ parallel: [[b]] }}]", graph("a api")),
        "\
4:22 unknown-task 'execution_order' names task 'apx', which does not exist (did you mean 'api'?)
4:27 duplicate-id task 'a' stands twice in 'execution_order' [4:19 first here]
4:32 unknown-key a step has no key 'paralel' (did you mean 'parallel'?)
4:61 wrong-type 'parallel' wants text, found a list",
    );
    check(
        &format!("{}execution_order: parallel", graph("a")),
        "3:18 wrong-type 'execution_order' wants a list of task ids and of { parallel: [ids] }, found text",
    );
}

#[test]
fn groups_that_a_file_system_would_take_for_one() {
    check(
        "tasks: [{ id: a, run: x, group: Infra }, { id: b, run: x, group: infra }]",
        "1:66 case-twin group 'infra' differs from group 'Infra' only in case [1:33 the other one is here]",
    );
}

#[test]
fn a_marker_that_is_only_talked_about_is_said_once() {
    let file = with("description: |\n  Explain\n  [P:Group-a] and [P:Group-a], then [P:Group-]\n");
    let help = "(start the text with [P:Group-NAME], NAME being letters, digits, '-', '_' and '.')";
    check(&file, &format!("6:7 bad-marker? a group marker belongs at the start of the text {help}"));
    assert_eq!(task(&file).group.as_deref(), Some("a"));
}

#[test]
fn each_setting_is_known_by_who_wrote_it() {
    let text = "config:\n  agent: codex\n  default_priority: low\n  timeout: 1h\ntasks:\n  - id: a\n    prompt: x\n    agent: claude\n  - { id: b, prompt: y }\n";
    let told = |task: &str| {
        let found = conductor_core::file::origins(&crate::source(text), task);
        let word = |of_config| if of_config { "config" } else { "task" };
        let told = found.iter().map(|one| format!("{} {} {}", one.key, word(one.of_config), one.line));
        told.collect::<Vec<_>>().join(", ")
    };
    assert_eq!(told("a"), "id task 6, prompt task 7, agent task 8, priority config 3, timeout config 4");
    assert_eq!(told("b"), "id task 9, prompt task 9, agent config 2, priority config 3, timeout config 4");
    assert_eq!(told("missing"), "agent config 2, priority config 3, timeout config 4");
}
