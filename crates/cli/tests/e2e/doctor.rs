//! `conductor doctor`: what it finds, and what it mends.

use std::fs;
use std::os::unix::net::UnixListener;

use serde_json::Value;

use crate::harness::World;
use crate::store::write_sql;

fn findings(world: &World, args: &[&str], code: i32) -> Vec<Value> {
    let args: Vec<&str> = ["doctor", "--json"].iter().chain(args).copied().collect();
    let json = world.conductor(&args).expect(code).json();
    assert_eq!(json["healthy"], code == 0);
    json["findings"].as_array().unwrap().clone()
}

fn of<'f>(findings: &'f [Value], check: &str) -> &'f Value {
    findings.iter().find(|one| one["check"] == check).unwrap_or(&Value::Null)
}

#[test]
fn a_healthy_place_is_told_to_be() {
    let world = World::with("tasks: [{ id: a, run: echo hi }]");
    world.conductor(&["run", "tasks.yaml"]).expect(0);
    let found = findings(&world, &[], 0);
    for check in ["git", "config", "state", "disk", "database", "leftovers", "descriptors", "clock"] {
        assert_eq!(of(&found, check)["level"], "ok", "{found:#?}");
    }
    world.conductor(&["doctor"]).expect(0).says("whole, 1 run");
}

#[test]
fn a_bad_config_is_a_problem_and_an_idle_one_is_told() {
    let world = World::new();
    fs::write(world.home().join("config.yaml"), "ui: { theme: x }\nexecution: { max_parallel_tasks: 3 }\n")
        .unwrap();
    let found = findings(&world, &[], 0);
    let told: String =
        found.iter().filter(|one| one["level"] == "warning").map(|one| one["told"].to_string()).collect();
    assert!(told.contains("without effect so far: ui (line 1)"), "{told}");
    assert!(told.contains("parallel_mode: true"), "{told}");
    fs::write(world.home().join("config.yaml"), "\nagnet: codex\n").unwrap();
    let found = findings(&world, &[], 1);
    assert_eq!(of(&found, "config")["level"], "problem");
    assert!(
        of(&found, "config")["told"].as_str().unwrap().contains("config.yaml:2:1: a config file has no key"),
        "{found:#?}"
    );
}

#[test]
fn a_state_directory_that_cannot_be_used_is_a_problem() {
    let mut world = World::new();
    world.write("file", "");
    world.set("CONDUCTOR_HOME", world.path("file"));
    let found = findings(&world, &[], 1);
    assert_eq!(of(&found, "state")["level"], "problem");
    assert!(of(&found, "state")["remedy"].as_str().unwrap().contains("CONDUCTOR_HOME"));
}

#[test]
fn a_damaged_database_is_a_problem_and_left_as_it_is() {
    let world = World::with("tasks: [{ id: a, run: echo hi }]");
    world.conductor(&["run", "tasks.yaml"]).expect(0);
    // All of it is to be in the one file that is damaged.
    write_sql(&world, "PRAGMA wal_checkpoint(TRUNCATE)");
    let mut bytes = fs::read(world.database()).unwrap();
    let length = bytes.len();
    bytes[4096..length.min(12288)].fill(0x5a);
    fs::write(world.database(), &bytes).unwrap();
    for args in [&[][..], &["--fix"]] {
        let found = findings(&world, args, 1);
        assert_eq!(of(&found, "database")["level"], "problem", "{found:#?}");
    }
    assert_eq!(fs::read(world.database()).unwrap(), bytes);
}

#[test]
fn what_the_dead_have_left_is_found_and_taken_away() {
    let world = World::with("tasks: [{ id: a, run: echo hi }]");
    world.conductor(&["run", "tasks.yaml"]).expect(0);
    let run = world.home().join("runs").join(world.run_id());
    drop(UnixListener::bind(run.join("control")).unwrap());
    fs::create_dir_all(run.join("executor_9")).unwrap();
    fs::write(run.join("executor_9/spool.log"), "left").unwrap();
    fs::create_dir_all(world.home().join("trash/x")).unwrap();
    let found = findings(&world, &[], 0);
    for check in ["sockets", "spools", "trash"] {
        assert_eq!(of(&found, check)["level"], "warning", "{check}: {found:#?}");
    }
    assert!(run.join("control").exists());
    let mended = findings(&world, &["--fix"], 0);
    for check in ["sockets", "spools", "trash"] {
        assert!(of(&mended, check)["fixed"].is_string(), "{check}: {mended:#?}");
    }
    assert!(!run.join("control").exists() && !run.join("executor_9/spool.log").exists());
    crate::harness::wait_for("the trash to go", || (!world.home().join("trash/x").exists()).then_some(()));
    assert_eq!(of(&findings(&world, &[], 0), "leftovers")["level"], "ok");
}

#[test]
fn a_run_that_was_cut_off_is_named_with_how_to_go_on() {
    let world = World::with("tasks: [{ id: a, run: 'echo said; touch begun; sleep 60' }]");
    let mut live = world.start(&["run", "tasks.yaml"]);
    world.wait_for_file("begun");
    live.child.kill().unwrap();
    live.child.wait().unwrap();
    let found = findings(&world, &[], 0);
    assert!(of(&found, "runs")["remedy"].as_str().unwrap().contains(&world.run_id()), "{found:#?}");
    assert_eq!(of(&found, "processes")["level"], "warning", "{found:#?}");
    // No process listens on its socket any more; its spool still belongs to the run.
    let run = world.home().join("runs").join(world.run_id());
    assert!(run.join("control").exists() && run.join("executor_1/spool.log").exists());
    findings(&world, &["--fix"], 0);
    assert!(!run.join("control").exists() && run.join("executor_1/spool.log").exists());
}

#[test]
fn a_repository_in_the_middle_of_a_merge_is_told() {
    let world = World::new();
    let git = |args: &[&str]| {
        let mut command = world.command_of("git");
        command.args(["-c", "user.name=t", "-c", "user.email=t@localhost"]).args(args);
        world.spawn(&mut command).ended().expect(0);
    };
    git(&["init", "-q"]);
    assert_eq!(of(&findings(&world, &[], 0), "repository")["level"], "warning");
    git(&["commit", "-q", "--allow-empty", "-m", "Start"]);
    assert_eq!(of(&findings(&world, &[], 0), "repository")["level"], "ok");
    fs::write(world.path(".git/MERGE_HEAD"), "").unwrap();
    let found = findings(&world, &[], 0);
    assert!(
        of(&found, "repository")["told"].as_str().unwrap().contains("a merge is under way"),
        "{found:#?}"
    );
}

#[test]
fn a_worktree_that_is_gone_is_forgotten() {
    let world = World::new();
    let git = |args: &[&str]| {
        let mut command = world.command_of("git");
        command.args(["-c", "user.name=t", "-c", "user.email=t@localhost"]).args(args);
        world.spawn(&mut command).ended().expect(0).stdout
    };
    git(&["init", "-q"]);
    git(&["commit", "-q", "--allow-empty", "-m", "Start"]);
    git(&["worktree", "add", "-q", "../gone"]);
    fs::remove_dir_all(world.path("../gone")).unwrap();
    assert_eq!(of(&findings(&world, &[], 0), "worktrees")["level"], "warning");
    assert!(of(&findings(&world, &["--fix"], 0), "worktrees")["fixed"].is_string());
    assert!(!git(&["worktree", "list"]).contains("gone"));
}
