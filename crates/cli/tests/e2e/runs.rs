//! `conductor runs prune`: removes no active run, and no work that is kept nowhere else.

use crate::harness::World;
use crate::repository::{conductor, conflicted, git};

fn done(world: &World) -> String {
    let before = world.runs();
    world.conductor(&["run", "tasks.yaml"]).expect(0);
    world.runs().into_iter().find(|run| !before.contains(run)).unwrap()
}

#[test]
fn old_runs_go_when_that_is_confirmed_and_the_newest_stay() {
    let world = World::with("tasks: [{ id: a, run: echo hello }]");
    let runs = [done(&world), done(&world), done(&world)];
    let told = world.conductor(&["runs", "prune", "--keep", "1"]).expect(0);
    assert!(told.stdout.contains(&runs[0]) && told.stdout.contains(&runs[1]), "{}", told.stdout);
    assert!(!told.stdout.contains(&runs[2]), "{}", told.stdout);
    assert!(told.stderr.contains("2 would go; do it with --yes"), "{}", told.stderr);
    assert_eq!(world.runs().len(), 3, "only shown");
    world.conductor(&["runs", "prune", "--older-than", "1d", "--yes"]).expect(0).says("nothing to take away");
    assert_eq!(world.runs().len(), 3);
    let json = world.conductor(&["runs", "prune", "--keep", "1", "--yes", "--json"]).expect(0).json();
    assert_eq!((&json["schema"], &json["dry_run"]), (&"conductor.prune/1".into(), &false.into()));
    assert_eq!(world.runs(), [runs[2].as_str()]);
    assert_eq!(world.sql("SELECT count(*) FROM runs").trim(), "1");
    assert_eq!(world.sql("SELECT count(DISTINCT run) FROM events").trim(), "1");
    world.conductor(&["runs", "show", &runs[0]]).expect(2).says("there is no run");
    world.conductor(&["runs", "show", &runs[2]]).expect(0).says("1 of 1 completed");
    done(&world);
}

#[test]
fn what_could_be_resumed_or_is_being_worked_on_stays() {
    let world = World::with(
        "tasks: [{ id: a, run: AGENT touch started then await go }, { id: b, run: 'true', dependencies: [a] }]",
    );
    let live = world.start(&["run", "tasks.yaml"]);
    world.wait_for_file("started");
    let id = world.run_id();
    for args in [
        &["runs", "prune", "--keep", "0", "--yes"][..],
        &["runs", "prune", "--keep", "0", "--yes", "--force"],
    ] {
        world.conductor(args).expect(0).says("the run is active");
    }
    drop(live);
    world.conductor(&["runs", "prune", "--keep", "0", "--yes"]).expect(0).says("could be resumed");
    assert_eq!(world.run_id(), id);
    world.conductor(&["runs", "prune", "--keep", "0", "--yes", "--force"]).expect(0).says("1 gone");
    assert!(world.runs().is_empty());
}

#[test]
fn a_folder_without_a_run_goes() {
    let world = World::with("tasks: [{ id: a, run: 'true' }]");
    let kept = done(&world);
    std::fs::create_dir(world.home().join("runs/h2345678")).unwrap();
    std::fs::write(world.home().join("runs/h2345678/lock"), "").unwrap();
    world.conductor(&["runs", "prune"]).expect(0).says("h2345678  would go");
    world.conductor(&["runs", "prune", "--yes"]).expect(0).says("h2345678  gone");
    assert_eq!(world.runs(), [kept]);
}

/// Kept work outlives its run, unless `--refs` removes it, and `--unreachable` what nothing else holds.
#[test]
fn kept_work_and_checkpoints_stay_unless_they_are_named() {
    for (flags, left) in [(0, true), (2, false)] {
        let world = conflicted();
        let id = world.run_id();
        conductor(&world, &["checkpoint", "create", "mine", "--run", &id]).expect(0);
        conductor(&world, &["checkpoint", "create", "other"]).expect(0);
        let kept = || git(&world, &["for-each-ref", &format!("refs/conductor/rescue/{id}/")]);
        let tags = || git(&world, &["tag", "-l", "conductor-checkpoint/*"]);
        assert!(!kept().is_empty() && tags().contains("mine"));
        let args = ["runs", "prune", "--keep", "0", "--yes", "--refs", "--unreachable"];
        conductor(&world, &args[..5 + flags]).expect(0).says("1 gone");
        assert!(world.runs().is_empty());
        assert_eq!(!kept().is_empty(), left);
        assert_eq!(tags().contains("mine"), left);
        assert!(tags().contains("other"), "what is not of the run stays");
        assert!(
            !git(&world, &["branch", "-l", &format!("conductor/{id}")]).is_empty(),
            "and so does its branch"
        );
    }
}

/// A run that died with work in its workspaces is kept until that is saved.
#[test]
fn work_in_workspaces_is_saved_first() {
    let world = crate::repository::repository(
        "tasks: [{ id: a, run: 'echo work > work.txt; AGENT touch HERE/started then await HERE/go' }]",
    );
    let live = world.spawn(&mut crate::repository::command(&world, &["run", "../tasks.yaml"]));
    world.wait_for_file("started");
    let id = world.run_id();
    drop(live);
    conductor(&world, &["runs", "prune", "--keep", "0", "--yes"])
        .expect(0)
        .says(&format!("conductor worktree clean {id}"));
    conductor(&world, &["runs", "prune", "--keep", "0", "--yes", "--force"]).expect(0).says("1 gone");
    let kept = git(&world, &["for-each-ref", "--format=%(refname)", &format!("refs/conductor/rescue/{id}/")]);
    assert_eq!(git(&world, &["show", &format!("{}:work.txt", kept.lines().next().unwrap())]), "work");
    assert_eq!(git(&world, &["worktree", "list"]).lines().count(), 1);
    assert!(world.runs().is_empty());
}

/// A merged branch is removed with `--branches`, and the output names what holds its commits. A branch that
/// was not merged stays, and so does kept work that nothing else holds.
#[test]
fn a5_only_what_is_held_elsewhere_is_taken_away_unless_the_rest_is_asked_for() {
    let world = conflicted();
    let id = world.run_id();
    let branch = || git(&world, &["branch", "-l", &format!("conductor/{id}")]);
    let kept = || git(&world, &["for-each-ref", &format!("refs/conductor/rescue/{id}/")]);
    let prune = |args: &[&str]| conductor(&world, &[&["runs", "prune", "--keep", "0"], args].concat());
    prune(&["--unreachable"]).expect(2).says("needs --branches or --refs");
    let told = prune(&["--branches", "--refs"]).expect(0);
    let told =
        told.says(&format!("stays     refs/heads/conductor/{id}  (no branch or tag of yours holds it;"));
    told.says(&format!("stays     refs/conductor/rescue/{id}/"));
    git(&world, &["merge", "-q", &format!("conductor/{id}")]);
    prune(&["--branches", "--refs"])
        .expect(0)
        .says(&format!("would go  refs/heads/conductor/{id}  (main holds it)"));
    assert!(!branch().is_empty(), "nothing is done without --yes");
    let told = prune(&["--branches", "--refs", "--yes"]).expect(0);
    told.says(&format!("gone      refs/heads/conductor/{id}  (main holds it)")).says("1 gone");
    assert!(branch().is_empty() && !kept().is_empty(), "work that nothing else holds is there");
    let left = |args: &[&str]| {
        conductor(&world, &[&["runs", "prune", "--older-than", "0s", "--refs"], args].concat())
    };
    left(&["--yes"]).expect(0).says("stays     refs/conductor/rescue/").says("nothing to take away");
    left(&["--unreachable", "--yes"]).expect(0).says("(nothing else holds it)");
    assert!(kept().is_empty(), "of a run that is gone as well, by age");
}

#[test]
fn a5_runs_alone_lists() {
    let world = World::with("tasks: [{ id: a, run: 'true' }]");
    let id = done(&world);
    let listed = world.conductor(&["runs"]).expect(0).says(&id).stdout;
    assert_eq!(listed, world.conductor(&["runs", "list"]).expect(0).stdout);
    assert_eq!(world.conductor(&["runs", "--json"]).expect(0).json()["runs"][0]["run"], id.as_str());
}
