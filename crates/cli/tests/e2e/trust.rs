//! Nothing of a repository runs before its user trusts it.

use std::fs;

use crate::harness::World;
use crate::repository::{conductor, git, repository};
use crate::tmux::Terminal;

/// A file that each way of running something would leave, outside of every workspace.
fn canary(world: &World, name: &str) -> String {
    world.path(name).display().to_string()
}

const TASKS: &str = "tasks: [{ id: a, run: 'echo a > a.txt' }]";

/// A repository as it comes from others, whose config would run a command in every way there is.
fn from_others() -> World {
    let world = repository(TASKS);
    fs::create_dir_all(world.path("repo/.conductor/plugins")).unwrap();
    let touch = |name: &str| format!("touch {}", canary(&world, name));
    let config = format!(
        "setup: ['{}']\nverify: ['{}']\nmeasure: {{ lint: ['{}'] }}\nenv: {{ PATH: '{}' }}\n\
         agents: {{ mine: {{ command: [touch, '{}'] }} }}\nisolation: none\n",
        touch("setup"),
        touch("verify"),
        touch("lint"),
        canary(&world, "nowhere"),
        canary(&world, "agent"),
    );
    world.write("repo/.conductor/config.yaml", &config);
    git(&world, &["add", "."]);
    git(&world, &["commit", "-q", "-m", "config"]);
    world
}

#[track_caller]
fn nothing_ran(world: &World) {
    let found = ["setup", "verify", "lint", "agent"].into_iter().filter(|name| world.path(name).exists());
    assert_eq!(found.collect::<Vec<_>>(), [""; 0]);
    assert!(world.runs().is_empty(), "a run was started");
}

#[test]
fn what_is_not_trusted_does_nothing() {
    let world = from_others();
    let refused = conductor(&world, &["run", "../tasks.yaml"]).expect(3);
    refused
        .says("setup, verify, measure, env.PATH, agents.mine, isolation")
        .says("conductor trust")
        .says("nothing was started");
    for args in [
        &["run", "../tasks.yaml", "--detach"][..],
        &["agents", "test", "mine"],
        &["group", "execute", "--tasks-file", "../tasks.yaml"],
        &["plan", "build it", "--agent", "mine"],
        &["orchestrate", "build it", "--agent", "mine", "--yes"],
    ] {
        conductor(&world, args).expect(3).says("not trusted");
    }
    // Commands that only look leave it out and say so.
    conductor(&world, &["validate", "../tasks.yaml"])
        .expect(0)
        .says("need your trust")
        .says(".conductor/config.yaml:1:1");
    let shown = conductor(&world, &["config", "show"]).expect(0).stdout;
    assert!(!shown.contains("touch"), "{shown}");
    let listed = conductor(&world, &["agents", "list"]).expect(0).stdout;
    assert!(!listed.contains("mine"), "{listed}");
    conductor(&world, &["run", "../tasks.yaml", "--dry-run"]).expect(0);
    conductor(&world, &["doctor"]).says("need your trust");
    nothing_ran(&world);
}

#[test]
fn what_is_trusted_runs_until_a_byte_changes() {
    let world = repository(TASKS);
    fs::create_dir_all(world.path("repo/.conductor")).unwrap();
    let config = format!("verify: ['touch {}']\n", canary(&world, "verify"));
    world.write("repo/.conductor/config.yaml", &config);
    let asked = conductor(&world, &["trust"]).expect(5);
    asked.says("line 1: verify").says("no terminal");
    conductor(&world, &["run", "../tasks.yaml"]).expect(3);
    conductor(&world, &["trust", "--yes"]).expect(0).says("is trusted");
    conductor(&world, &["run", "../tasks.yaml"]).expect(0);
    assert!(world.path("verify").exists());
    fs::remove_file(world.path("verify")).unwrap();
    world.write("repo/.conductor/config.yaml", &format!("{config}# one byte\n"));
    conductor(&world, &["run", "../tasks.yaml"]).expect(3);
    conductor(&world, &["trust", "--show"])
        .expect(0)
        .says("changed since you trusted it")
        .says("+ # one byte");
    world.write("repo/.conductor/config.yaml", &config);
    conductor(&world, &["run", "../tasks.yaml"]).expect(0);
    conductor(&world, &["trust", "--revoke"]).expect(0).says("not trusted any more");
    conductor(&world, &["run", "../tasks.yaml"]).expect(3);
    // Nothing of it is kept in the repository.
    assert_eq!(git(&world, &["status", "--porcelain"]), "?? .conductor/");
    assert_eq!(fs::read_dir(world.path("repo/.conductor")).unwrap().count(), 1);
}

#[test]
fn a_job_says_what_it_trusts_by_its_hash() {
    let mut world = from_others();
    let hash = conductor(&world, &["trust", "--show", "--json"]).expect(0).json()["hash"]
        .as_str()
        .unwrap()
        .to_owned();
    let other = "0".repeat(64);
    conductor(&world, &["run", "../tasks.yaml", "--trust", &other]).expect(3).says(&hash);
    conductor(&world, &["run", "../tasks.yaml", "--trust", "yes"]).expect(2).says("hash");
    nothing_ran(&world);
    // Without what is not trusted, the task itself is done.
    conductor(&world, &["run", "../tasks.yaml", "--trust", "none"]).expect(0).says("need your trust");
    assert!(!world.path("verify").exists() && !world.path("repo/a.txt").exists());
    world.set("CONDUCTOR_TRUST", hash.as_str());
    let listed = conductor(&world, &["agents", "list"]).expect(0);
    listed.says("mine");
    assert_eq!(
        conductor(&world, &["trust", "--list", "--json"]).expect(0).json()["trusted"]
            .as_array()
            .unwrap()
            .len(),
        0
    );
}

#[test]
fn the_same_config_of_another_repository_is_not_trusted_and_a_worktree_is() {
    let world = repository(TASKS);
    fs::create_dir_all(world.path("repo/.conductor")).unwrap();
    world.write("repo/.conductor/config.yaml", "verify: ['true']\n");
    git(&world, &["add", "."]);
    git(&world, &["commit", "-q", "-m", "config"]);
    world.trust("repo");
    git(&world, &["worktree", "add", "-q", "../tree"]);
    git(&world, &["clone", "-q", ".", "../clone"]);
    world.conductor(&["-C", "tree", "run", "../tasks.yaml"]).expect(0);
    world.conductor(&["-C", "clone", "run", "../tasks.yaml"]).expect(3);
}

#[test]
fn a_run_goes_on_by_its_log_whatever_the_config_has_become() {
    let world = repository("tasks: [{ id: a, run: 'test -e ../../go || exit 1' }]");
    fs::create_dir_all(world.path("repo/.conductor")).unwrap();
    world.write("repo/.conductor/config.yaml", "verify: ['true']\n");
    world.trust("repo");
    conductor(&world, &["run", "../tasks.yaml"]).expect(100);
    world.write("repo/.conductor/config.yaml", &format!("verify: ['touch {}']\n", canary(&world, "verify")));
    conductor(&world, &["run", "--retry-failed"]).expect(3).says("needs your trust");
    conductor(&world, &["run", "--retry-failed", "--as-before"]).expect(100);
    assert!(!world.path("verify").exists());
}

#[test]
fn a_user_at_a_terminal_is_shown_it_and_asked() {
    for (key, code) in [("n", 3), ("y", 0)] {
        let mut world = repository(TASKS);
        fs::create_dir_all(world.path("repo/.conductor")).unwrap();
        world.write("repo/.conductor/config.yaml", "verify: ['test -f a.txt']\n");
        let repo = world.path("repo").display().to_string();
        let Some(terminal) = Terminal::open_in(&mut world, &repo, (110, 30), "run ../tasks.yaml --ui plain")
        else {
            return;
        };
        terminal.wait_for(&["line 1: verify", "Trust this repository with it? [y/N]"]);
        terminal.press(&[key, "Enter"]);
        terminal.ended(code);
        drop(terminal);
        assert_eq!(world.runs().is_empty(), code == 3);
    }
}

#[test]
fn what_init_writes_is_the_users_own() {
    let world = repository("");
    fs::write(world.path("repo/Makefile"), "test:\n\ttrue\n").unwrap();
    git(&world, &["add", "."]);
    git(&world, &["commit", "-q", "-m", "make"]);
    conductor(&world, &["init"]).expect(0);
    assert!(world.read("repo/.conductor/config.yaml").contains("make test"));
    conductor(&world, &["run", "../tasks.yaml", "--dry-run"]);
    conductor(&world, &["trust", "--show", "--json"]).expect(0);
    let state = conductor(&world, &["trust", "--show", "--json"]).expect(0).json();
    assert_eq!(state["trusted"], true);
}
