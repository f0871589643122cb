//! What is noticed while tasks work: conflicts ahead, writes into the user's checkout, a branch that is gone.

use crate::repository::{conductor, expect_tidy, git, repository, start};

#[test]
fn a_conflict_is_told_before_it_costs_anything() {
    let world = repository(
        "
tasks:
  - { id: x, run: 'sed -i s/b/X/ f.txt; AGENT await HERE/go; git checkout -q f.txt; echo 1 > x.txt' }
  - { id: y, run: 'sed -i s/b/Y/ f.txt; AGENT await HERE/go' }
  - { id: z, run: 'echo 1 > z.txt; AGENT await HERE/go' }
",
    );
    let live = start(&world, &["-p", "3", "--conflict-monitor", "100ms"]);
    live.wait_for_stderr("will conflict with y in f.txt");
    assert_eq!(world.logged("conflict_foreseen"), ["x"], "once, and for no other task");
    conductor(&world, &["status"]).expect(0).says("conflicts ahead\n  x  with y in f.txt");
    world.write("go", "");
    live.ended().expect(0);
    expect_tidy(&world);
}

/// C12: seen and reported, and nothing of the user's is touched by us.
#[test]
fn writes_into_the_users_checkout_are_seen_and_reported() {
    let world = repository(
        "
tasks:
  - { id: stray, run: 'echo 1 > a.txt; echo stray >> HERE/repo/f.txt; echo x > HERE/repo/new.txt; git -C HERE/repo branch evil' }
  - { id: later, run: 'echo 1 > b.txt', dependencies: [stray] }
",
    );
    let ended = start(&world, &[]).ended().expect(0);
    ended.says("your checkout changed while").says("f.txt").says("new.txt").says("refs/heads/evil is new");
    assert_eq!(world.read("repo/f.txt"), "a\nb\nc\nstray\n", "it is the user's to decide what becomes of it");
    let report =
        std::fs::read_to_string(world.home().join("runs").join(world.run_id()).join("report.md")).unwrap();
    assert!(report.contains("your checkout changed while later, stray worked"), "{report}");
    let branch = format!("conductor/{}", world.run_id());
    assert_eq!(git(&world, &["show", &format!("{branch}:f.txt")]), "a\nb\nc", "it did not land");
}

#[test]
fn what_has_landed_stays_landed_whatever_is_done_to_the_branch() {
    let world = repository(
        "
tasks:
  - { id: a, run: 'echo 1 > a.txt' }
  - { id: vandal, run: 'git update-ref -d refs/heads/conductor/$CONDUCTOR_RUN; echo 1 > v.txt', dependencies: [a] }
  - { id: rewinder, run: 'git update-ref refs/heads/conductor/$CONDUCTOR_RUN main; echo 1 > r.txt', dependencies: [vandal] }
  - { id: last, run: 'cat a.txt v.txt r.txt', dependencies: [rewinder] }
",
    );
    start(&world, &["--stats"]).ended().expect(0).says("it was put back").says("3 landed; 0 lost, 0 leaked");
    expect_tidy(&world);
}

/// B3 at the end of a run: planted configuration must not run when the user's branch is brought forward.
#[test]
fn a_changed_configuration_keeps_the_users_branch_where_it_is() {
    let world = repository(
        "
tasks:
  - { id: a, run: 'git config filter.evil.smudge \"touch HERE/fired; cat\"; echo \"* filter=evil\" > .gitattributes; echo 1 > a.txt' }
",
    );
    let ended = start(&world, &["--merge", "branch"]).ended().expect(0);
    ended.says("configuration was changed while the run was at work");
    assert!(!world.path("fired").exists());
}

/// Two tasks that touched the same file in the last run are kept apart in the next, also without `files`.
#[test]
fn what_tasks_touched_last_time_keeps_them_apart_the_next_time() {
    let world = repository(
        "
tasks:
  - { id: a, run: 'echo a >> HERE/order; sleep 0.2; echo a >> HERE/order; sed -i s/a/A/ f.txt' }
  - { id: b, run: 'echo b >> HERE/order; sleep 0.2; echo b >> HERE/order; sed -i s/c/C/ f.txt' }
",
    );
    let order = || world.read("order").replace('\n', "");
    start(&world, &["-p", "2"]).ended();
    assert!(["abab", "abba", "baab", "baba"].contains(&order().as_str()), "side by side: {}", order());
    world.write("order", "");
    start(&world, &["-p", "2"]).ended();
    assert!(["aabb", "bbaa"].contains(&order().as_str()), "one after the other: {}", order());
    world.write("order", "");
    start(&world, &["-p", "2", "--allow-overlap"]).ended();
    assert!(["abab", "abba", "baab", "baba"].contains(&order().as_str()), "side by side again: {}", order());
}

/// A look for conflicts that is under way does not hold up the end, however many merges it has before it.
#[test]
fn the_end_does_not_wait_for_a_look_at_conflicts() {
    use std::os::unix::fs::PermissionsExt as _;
    use std::time::{Duration, Instant};

    let tasks: String = (0..10)
        .map(|n| format!("  - {{ id: t{n}, run: 'echo {n} > f.txt; AGENT await HERE/go; exit 1' }}\n"))
        .collect();
    let mut world = repository(&format!("tasks:\n{tasks}"));
    // Every merge takes two seconds, and there are 45 of them in a look.
    let bin = world.root().join("bin");
    std::fs::create_dir(&bin).unwrap();
    let (path, log) = (world.variable("PATH").into_string().unwrap(), world.path("merges"));
    let shim = format!(
        "#!/bin/sh\ncase \" $* \" in *' merge-tree '*) echo x >> {}; sleep 2;; esac\nPATH='{path}' exec git \"$@\"\n",
        log.display()
    );
    std::fs::write(bin.join("git"), shim).unwrap();
    std::fs::set_permissions(bin.join("git"), std::fs::Permissions::from_mode(0o755)).unwrap();
    world.set("PATH", format!("{}:{path}", bin.display()));
    let mut live = start(&world, &["-p", "10", "--conflict-monitor", "50ms"]);
    world.wait_for_file("merges");
    world.write("go", "");
    crate::harness::wait_for("the end block", || live.stdout().contains("\nnext ").then_some(()));
    let end = Instant::now();
    while live.is_running() {
        assert!(
            // The promise is a second; one merge that is under way takes two, and a loaded machine its time.
            end.elapsed() < Duration::from_secs(5),
            "held up after the end: {} merges",
            world.read("merges").lines().count()
        );
        std::thread::sleep(Duration::from_millis(10));
    }
    live.ended().expect(100);
}

/// Its option and its variable had another name before, which scripts still use.
#[test]
fn the_names_from_before_still_work() {
    let mut world = crate::harness::World::in_place("tasks: [{ id: a, run: 'true' }]");
    world.conductor(&["run", "tasks.yaml", "--lookout", "0"]).expect(0);
    world.conductor(&["run", "tasks.yaml", "--lookout", "soon"]).expect(2).says("--conflict-monitor");
    world.set("CONDUCTOR_LOOKOUT", "soon");
    world.conductor(&["run", "tasks.yaml"]).expect(2).says("CONDUCTOR_LOOKOUT is 'soon'");
    world.conductor(&["run", "tasks.yaml", "--conflict-monitor", "0"]).expect(0);
    world.set("CONDUCTOR_LOOKOUT", "5m");
    let ended = world.conductor(&["run", "tasks.yaml"]).expect(0);
    assert!(!ended.stderr.contains("CONDUCTOR_LOOKOUT"), "it is known: {}", ended.stderr);
    let shown = || world.conductor(&["config", "show", "--origin"]).expect(0);
    let line = |ended: crate::harness::Ended| {
        let found = ended.stdout.lines().find(|line| line.starts_with("conflict_monitor")).map(str::to_owned);
        found.unwrap_or_else(|| panic!("{}", ended.stdout))
    };
    let told = line(shown());
    assert!(told.contains("5m") && told.contains("CONDUCTOR_LOOKOUT"), "{told}");
    let help = world.conductor(&["run", "--help"]).expect(0);
    assert!(help.stdout.contains("--conflict-monitor") && !help.stdout.contains("ookout"), "{}", help.stdout);
}
