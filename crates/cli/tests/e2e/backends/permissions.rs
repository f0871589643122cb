//! The same rules for each of the real CLIs: what is denied is not done, what needs permission waits for the
//! user.

use std::os::unix::fs::PermissionsExt as _;

use conductor_testkit::Script;
use conductor_testkit::agents::Agent;

use super::table::{Row, measured};
use super::{Bench, SLOW, for_each_agent};
use crate::harness::wait_for;
use crate::repository::{conductor, expect_tidy, git};

/// A program that leaves a mark where it is run.
const TERRAFORM: &str = "#!/bin/sh\necho ran \"$@\" >> mark.txt\n";

const DENIED: &str = "  - id: a
    prompt: '[[script:a]] Deploy it'
    permissions: { deny: ['Bash(terraform apply*)', 'Edit(secrets/*)'] }
";

const ASKED: &str = "  - id: a
    prompt: '[[script:a]] Deploy it'
    permissions: { ask: ['Bash(terraform apply*)'] }
";

/// A repository that has the program, and a CLI that follows a script.
fn bench(agent: Agent, tasks: &str, script: Script) -> Option<Bench> {
    let bench = Bench::new(agent, "", tasks)?;
    let path = bench.world.path("repo/terraform");
    std::fs::write(&path, TERRAFORM).unwrap();
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
    git(&bench.world, &["add", "."]);
    git(&bench.world, &["commit", "-q", "-m", "terraform"]);
    bench.script("a", script);
    Some(bench)
}

/// The files on the run's branch; none where nothing has landed.
fn files(bench: &Bench) -> String {
    let branch = format!("conductor/{}", bench.world.run_id());
    match git(&bench.world, &["for-each-ref", &format!("refs/heads/{branch}")]).is_empty() {
        true => String::new(),
        false => git(&bench.world, &["ls-tree", "-r", "--name-only", &branch]),
    }
}

mod denied {
    use super::*;

    for_each_agent!(what_is_denied_is_not_done_and_the_agent_is_told);
}

fn what_is_denied_is_not_done_and_the_agent_is_told(agent: Agent) {
    let script = Script::new()
        .run("./terraform apply")
        .run("true && ./terraform apply -auto-approve")
        .run("sh -c './terraform apply'")
        .write_file("secrets/key.txt", "key\n")
        .run("./terraform plan")
        .write_file("done.txt", "done\n")
        .finish("Done.");
    let Some(bench) = bench(agent, DENIED, script) else { return };
    bench.run(&[]).ended_within(SLOW).expect(0);
    assert_eq!(bench.landed("mark.txt"), "ran plan", "{}", bench.said("a"));
    assert!(!files(&bench).contains("secrets"), "{}", files(&bench));
    assert_eq!(bench.landed("done.txt"), "done");
    let said = bench.said("a");
    assert!(said.matches("[denied]").count() >= 4, "{said}");
    assert!(said.contains("by the rule Bash(terraform apply*)"), "{said}");
    assert!(said.contains("by the rule Edit(secrets/*)"), "{said}");
    measured(agent, Row::Deny, "is not done");
    expect_tidy(&bench.world);
}

mod allowed {
    use super::*;

    for_each_agent!(what_a_person_allows_is_done);
}

fn what_a_person_allows_is_done(agent: Agent) {
    let Some(bench) = bench(agent, ASKED, asking()) else { return };
    let live = bench.run(&[]);
    wait_for_question(&bench, &live);
    conductor(&bench.world, &["task", "approve", "a"]).expect(0);
    live.ended_within(SLOW).expect(0);
    assert_eq!(bench.landed("mark.txt"), "ran apply", "once");
    measured(agent, Row::Ask, "waits for the user");
    expect_tidy(&bench.world);
}

mod refused {
    use super::*;

    for_each_agent!(what_a_person_denies_is_not_done);
}

fn what_a_person_denies_is_not_done(agent: Agent) {
    let tasks = ASKED.replace("    permissions", "    changes: optional\n    permissions");
    let Some(bench) = bench(agent, &tasks, asking()) else { return };
    let live = bench.run(&[]);
    wait_for_question(&bench, &live);
    conductor(&bench.world, &["task", "deny", "a", "-m", "not on a Friday"]).expect(0);
    live.ended_within(SLOW).expect(0);
    assert!(!files(&bench).contains("mark.txt"), "{}", bench.said("a"));
    let asked = bench.stand_in.requests("a");
    let mut bodies = asked.iter().filter_map(|request| request.body.as_deref());
    assert!(bodies.any(|body| body.contains("not on a Friday")), "its model was told");
    expect_tidy(&bench.world);
}

/// Wants to apply and is stopped. Once it was answered it wants that again: some of the CLIs at once, others when they have
/// ended without a change and are asked once more.
fn asking() -> Script {
    Script::new().run("./terraform apply").finish("I was stopped.").run("./terraform apply").finish("Done.")
}

#[track_caller]
fn wait_for_question(bench: &Bench, live: &crate::harness::Live) {
    wait_for("a question", || live.stderr().contains("asks    a  Bash: ./terraform apply").then_some(()));
    crate::harness::expect_no_leftovers(&bench.world.run_id());
}

mod after_a_fallback {
    use super::*;

    for_each_agent!(rules_hold_for_the_agent_that_takes_over);
}

fn rules_hold_for_the_agent_that_takes_over(agent: Agent) {
    let tasks = DENIED.replace(
        "    permissions",
        &format!("    agent: absent\n    fallback_agents: [{}]\n    permissions", agent.program()),
    );
    let script = Script::new().run("./terraform apply").write_file("done.txt", "done\n").finish("Done.");
    let Some(bench) = bench(agent, &tasks, script) else { return };
    bench.run(&[]).ended_within(SLOW).expect(0);
    assert_eq!(bench.landed("done.txt"), "done");
    assert!(!files(&bench).contains("mark.txt"), "{}", bench.said("a"));
}

/// Claude runs commands that it takes for harmless without asking, unless it is told to ask.
#[test]
fn claude_asks_about_commands_that_only_look_and_about_files_it_reads() {
    let tasks = "  - id: a
    prompt: '[[script:a]] Look around'
    permissions: { deny: ['Bash(cat f.txt)', 'Read(f.txt)'] }
";
    let script = Script::new().run("cat f.txt").write_file("done.txt", "done\n").finish("Done.");
    let Some(bench) = bench(Agent::Claude, tasks, script) else { return };
    bench.run(&[]).ended().expect(0);
    assert!(bench.said("a").contains("by the rule Bash(cat f.txt)"), "{}", bench.said("a"));
}

#[test]
fn claude_does_not_write_outside_of_its_workspace_by_a_command() {
    let tasks = "  - { id: a, prompt: '[[script:a]] Write it' }\n";
    let Some(bench) = bench(Agent::Claude, tasks, Script::new()) else { return };
    let evil = bench.world.path("repo/evil.txt").display().to_string();
    let script = Script::new()
        .run(format!("echo x > {evil}"))
        .run(format!("echo x | tee -a {evil} > /dev/null 2>&1"))
        .run("echo done > done.txt; echo x > $TMPDIR/x; ls > /dev/null 2>&1")
        .finish("Done.");
    bench.script("a", script);
    bench.run(&[]).ended().expect(0);
    assert_eq!(bench.landed("done.txt"), "done");
    assert!(!std::path::Path::new(&evil).exists());
    let said = bench.said("a");
    let denied = said.lines().filter(|line| line.starts_with("[denied]"));
    assert_eq!(denied.filter(|line| line.contains("is outside of the workspace")).count(), 2, "{said}");
}

/// The user's own rules for codex let it run a command unasked: that cannot be taken back, and does not land.
#[test]
fn what_codex_does_unasked_against_a_rule_does_not_land() {
    let tasks = DENIED.replace("    permissions", "    retry_policy: { max_attempts: 1 }\n    permissions");
    let script = Script::new().run("./terraform apply").write_file("done.txt", "x\n").finish("Done.");
    let Some(bench) = bench(Agent::Codex, &tasks, script) else { return };
    let rules = bench.world.root().join("user/.codex/rules");
    std::fs::create_dir_all(&rules).unwrap();
    let allowed = "prefix_rule(pattern=[\"./terraform\"], decision=\"allow\")\n";
    std::fs::write(rules.join("default.rules"), allowed).unwrap();
    bench.run(&[]).ended_within(SLOW).expect(100).says("it did what a rule is against");
    assert!(!files(&bench).contains("mark.txt"));
}

/// A project's own settings for opencode do not undo rules.
#[test]
fn what_a_project_allows_opencode_is_denied_all_the_same() {
    let script = Script::new().run("./terraform apply").write_file("done.txt", "done\n").finish("Done.");
    let Some(bench) = bench(Agent::Opencode, DENIED, script) else { return };
    let settings = r#"{"permission": {"bash": {"terraform apply*": "allow", "./terraform apply*": "allow"}},
        "agent": {"build": {"permission": {"bash": "allow"}}}}"#;
    std::fs::write(bench.world.path("repo/opencode.json"), settings).unwrap();
    git(&bench.world, &["add", "."]);
    git(&bench.world, &["commit", "-q", "-m", "settings"]);
    bench.run(&[]).ended_within(SLOW).expect(0);
    assert_eq!(bench.landed("done.txt"), "done");
    assert!(!files(&bench).contains("mark.txt"), "{}", bench.said("a"));
}
