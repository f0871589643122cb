//! Keys that have no effect are told, and only those.

use crate::{check, said, with};

#[test]
fn keys_of_the_cloud_are_told_once_each_with_their_places() {
    let help =
        "(it is for agents in the cloud, and the agents here work on this machine; leave it, or take it out)";
    check(&with("repository: a/b"), &format!("4:5 no-effect? 'repository' has no effect {help}"));
    check(
        "config: { default_pr_strategy: manual }\ntasks:\n  - { id: a, run: x, repository: a/b, auto_pr_timeout: 5 }\n  - { id: b, run: x, repository: c/d }\n",
        &format!(
            "1:11 no-effect? 'default_pr_strategy', 'repository', 'auto_pr_timeout' have no effect [3:22 nor has this] [3:39 nor has this] {help}"
        ),
    );
    check(&with("repository:\npr_strategy: ~"), "");
}

#[test]
fn keys_with_an_effect_are_not_told() {
    let settings = "agent: claude\nmodel: opus\nfallback_models: [haiku]\nexpected_deliverable: x\nexpected_lines: 3\n\
                    estimate: 5m\ntimeout: 1h\nagent_home: own\napplicable_skills: [x]\npermissions: { deny: [WebFetch] }";
    assert_eq!(said(&with(settings)), "");
    let cloud =
        "agent: cloud\nrepository: a/b\npr_strategy: manual\ncloud: { transport: routine, push: true }";
    assert_eq!(said(&with(cloud)), "");
}

#[test]
fn keys_that_the_transport_of_a_task_does_not_read_are_told() {
    let idle = |cloud: &str| said(&with(&format!("agent: cloud\ncloud: {{ push: true, {cloud} }}")));
    for (cloud, key) in [
        ("transport: browser, environment: e", "environment"),
        ("transport: managed, agent: a, environment: e, routine: r", "routine"),
        ("transport: routine, routine: r, agent: a", "agent"),
        ("transport: runner, environment: e, token_variable: T", "token_variable"),
        ("transport: routine, routine: r, keep_tabs: false", "keep_tabs"),
    ] {
        let told = idle(cloud);
        assert!(told.contains(&format!("'{key}' of 'cloud' has no effect")), "{cloud}: {told}");
    }
    assert_eq!(idle("transport: managed, agent: a, environment: e, token_variable: T"), "");
    // One of the tasks reads it.
    let shared = "config: { agent: cloud, cloud: { push: true, transport: routine, routine: r } }\ntasks:\n  \
                  - { id: a, prompt: x }\n  - { id: b, prompt: x, cloud: { transport: browser } }\n";
    assert_eq!(said(shared), "");
}

#[test]
fn a_model_is_told_to_have_no_effect_in_the_cloud() {
    let cloud = "agent: cloud\ncloud: { transport: browser, push: true }\nmodel: opus";
    let told = said(&with(cloud));
    assert!(told.contains("'model' has no effect on agents in the cloud"), "{told}");
    assert_eq!(said(&with(&format!("{cloud}\nfallback_agents: [claude]"))), "");
}

#[test]
fn settings_of_the_cloud_are_checked_where_they_stand() {
    let told = said(&with(
        "agent: cloud\ncloud: { transport: pigeon, max_sessions: 0, token_variable: sk-ant-1, rutine: x }",
    ));
    for part in
        ["unknown-value", "out-of-range", "is the name of a variable, not a token", "did you mean 'routine'"]
    {
        assert!(told.contains(part), "{part}: {told}");
    }
    assert!(!told.contains("sk-ant-1"), "{told}");
}

#[test]
fn each_task_is_judged_by_its_own_agent() {
    let mixed = "tasks:\n  - { id: far, agent: cloud, prompt: x, repository: a/b }\n  - { id: near, prompt: x, repository: a/b, pr_strategy: manual }\n";
    let help = "(it is for agents in the cloud, and the agent of this task works on this machine; leave it, or take it out)";
    check(
        mixed,
        &format!("3:28 no-effect? 'repository', 'pr_strategy' have no effect [3:45 nor has this] {help}"),
    );
    let for_all = "config: { repository: a/b }\ntasks:\n  - { id: far, agent: cloud, prompt: x }\n  - { id: near, prompt: x }\n";
    check(for_all, "");
    let race = "tasks:\n  - { id: a, prompt: x, repository: a/b, race: [claude, cloud] }\n";
    check(race, "");
}

#[test]
fn an_approval_of_what_does_not_land_is_told() {
    let help = "(with `isolation: none` nothing lands; let it have a workspace (isolation: worktree), or say land: auto)";
    check(
        &with("land: approve\nisolation: none"),
        &format!("4:5 no-effect? 'land: approve' has no effect on what works in place: 'a' {help}"),
    );
    check(
        "config: { land: approve, isolation: none }\ntasks:\n  - { id: a, run: x }\n  - { id: b, run: x, isolation: worktree }\n  - { id: c, run: x, land: auto }\n",
        &format!("1:11 no-effect? 'land: approve' has no effect on what works in place: 'a' {help}"),
    );
    check(&with("land: approve"), "");
    check(&with("land: approve\nisolation: worktree"), "");
}

#[test]
fn doing_anew_what_lands_as_one_is_told() {
    let told = "(its work lands as one, and is not done anew as one; fix_rounds lets its last task mend it)";
    let file = |scope: &str| {
        format!(
            "epics: [{{ id: e, isolation_scope: {scope} }}]\ntasks:\n  - {{ id: a, epic: e, run: x, on_conflict: retry-later }}\n"
        )
    };
    check(
        &file("epic"),
        &format!(
            "3:31 no-effect? 'on_conflict: retry-later' has no effect in an epic with one workspace: 'a' {told}"
        ),
    );
    check(&file("task"), "");
}
