//! Checks: sent back when they fail, found by `auto`, proved on damaged work, and bisection on the merge
//! train.

use crate::harness::wait_for;
use crate::repository::{conductor, expect_tidy, git, on_branch, repository, start};

#[test]
fn failing_checks_go_back_with_what_they_said_as_often_as_allowed() {
    let world = repository(
        "
tasks:
  - id: mends
    run: 'cp $CONDUCTOR_FEEDBACK HERE/feedback 2>/dev/null; echo ${CONDUCTOR_ROUND:-0} >> n.txt'
    verify: ['echo only $(wc -l < n.txt); test $(wc -l < n.txt) = 3']
    fix_rounds: 2
  - { id: gives-up, run: 'echo ${CONDUCTOR_ROUND:-0} >> HERE/rounds', verify: ['false'], fix_rounds: 1 }
  - { id: asks-for-none, run: 'echo x >> HERE/once', verify: ['false'] }
",
    );
    start(&world, &["-p", "3"]).ended().expect(100).says("`false` failed: exit code 1");
    assert_eq!(on_branch(&world, "n.txt"), "0\n1\n2", "one attempt, three rounds, one workspace");
    assert!(world.read("feedback").contains("only 2"), "{}", world.read("feedback"));
    assert_eq!(world.read("rounds"), "0\n1\n");
    assert_eq!(world.read("once"), "x\n");
    assert_eq!(world.summary()["results"][0]["attempts"], 1);
}

/// Two change the same line. The second gets its work back on top of the first's, conflicts marked, and mends it.
#[test]
fn a_conflict_goes_back_to_its_owner_with_the_hunks_in_the_files() {
    let world = repository(
        "
tasks:
  - { id: first, run: 'sed -i s/b/FIRST/ f.txt; AGENT make HERE/first' }
  - id: second
    fix_rounds: 1
    run: 'if [ -n \"$CONDUCTOR_ROUND\" ]; then cp f.txt $CONDUCTOR_FEEDBACK HERE/; mv HERE/*second*.txt HERE/why; sed -i \"/^[<=>]/d\" f.txt; else sed -i s/b/SECOND/ f.txt; AGENT await HERE/landed; fi'
  - { id: careless, fix_rounds: 1, run: 'test -z \"$CONDUCTOR_ROUND\" && sed -i s/b/CARELESS/ f.txt && AGENT await HERE/landed || true' }
",
    );
    let live = start(&world, &["-p", "3"]);
    wait_for("the first to land", || {
        world.logged("task_completed").contains(&"first".to_owned()).then_some(())
    });
    world.write("landed", "");
    live.ended().expect(101).says("the marks of a conflict are still in f.txt");
    let marked = world.read("f.txt");
    assert!(marked.contains("<<<<<<<") && marked.contains("\nFIRST\n=======\nSECOND\n"), "{marked}");
    assert!(
        world.read("why").contains("conflicts with what landed meanwhile in f.txt"),
        "{}",
        world.read("why")
    );
    assert_eq!(on_branch(&world, "f.txt"), "a\nFIRST\nSECOND\nc");
    let statuses = world.statuses();
    assert_eq!((statuses["second"].as_str(), statuses["careless"].as_str()), ("completed", "failed"));
    expect_tidy(&world);
}

/// What does not fit is the work of the epic's first task, and its last one mends it: it has the work of all.
#[test]
fn an_epic_in_conflict_goes_back_to_its_last_task() {
    let world = repository(
        "
epics: [{ id: shop, isolation_scope: epic }]
tasks:
  - { id: first, run: 'AGENT await HERE/begun; sed -i s/b/FIRST/ f.txt' }
  - { id: one, epic: shop, run: 'sed -i s/b/SHOP/ f.txt; echo 1 > one.txt' }
  - id: two
    epic: shop
    dependencies: [one]
    fix_rounds: 1
    run: 'if [ -n \"$CONDUCTOR_ROUND\" ]; then cp f.txt HERE/marked; sed -i \"/^[<=>]/d\" f.txt; else echo 2 > two.txt; AGENT make HERE/begun; AGENT await HERE/landed; fi'
  - { id: after, run: 'cat one.txt two.txt', dependencies: [one] }
",
    );
    let live = start(&world, &["-p", "3"]);
    wait_for("the first to land", || {
        world.logged("task_completed").contains(&"first".to_owned()).then_some(())
    });
    world.write("landed", "");
    live.ended().expect(0).says("4 of 4 completed");
    let marked = world.read("marked");
    assert!(marked.contains("\nFIRST\n=======\nSHOP\n"), "{marked}");
    assert_eq!(on_branch(&world, "f.txt"), "a\nFIRST\nSHOP\nc");
    assert_eq!((on_branch(&world, "one.txt"), on_branch(&world, "two.txt")), ("1".into(), "2".into()));
    let summary = world.summary();
    let attempts: Vec<u64> = summary["results"]
        .as_array()
        .unwrap()
        .iter()
        .map(|task| task["attempts"].as_u64().unwrap())
        .collect();
    assert_eq!(attempts, [1, 1, 2, 1], "only the last one worked again");
    expect_tidy(&world);
}

/// The same where each part is good, and the combined tree is not.
#[test]
fn an_epic_that_fails_its_checks_on_the_combined_tree_is_mended() {
    let world = repository(
        "
epics: [{ id: shop, isolation_scope: epic }]
config: { verify: ['test ! -e first.txt || test ! -e one.txt || test -e both.txt'] }
tasks:
  - { id: first, run: 'AGENT await HERE/begun; echo 1 > first.txt' }
  - { id: one, epic: shop, run: 'echo 1 > one.txt' }
  - { id: two, epic: shop, dependencies: [one], fix_rounds: 1, run: 'if [ -n \"$CONDUCTOR_ROUND\" ]; then ls > HERE/there; echo 2 > both.txt; else echo 2 > two.txt; AGENT make HERE/begun; AGENT await HERE/landed; fi' }
",
    );
    let live = start(&world, &["-p", "3"]);
    wait_for("the first to land", || {
        world.logged("task_completed").contains(&"first".to_owned()).then_some(())
    });
    world.write("landed", "");
    live.ended().expect(0).says("3 of 3 completed");
    assert_eq!(world.read("there"), "f.txt\nfirst.txt\none.txt\ntwo.txt\n", "all of it was there");
    assert_eq!(on_branch(&world, "both.txt"), "2");
    expect_tidy(&world);
}

#[test]
fn a_conflict_is_decided_as_the_task_says() {
    for (policy, expect, code) in [
        ("ours", "a\nFIRST\nc", 0),
        ("theirs", "a\nOTHER\nc", 0),
        ("retry-later", "a\nOTHER\nc", 0),
        ("manual", "a\nFIRST\nc", 101),
    ] {
        let world = repository(&format!(
            "
tasks:
  - {{ id: first, run: 'sed -i s/b/FIRST/ f.txt' }}
  - {{ id: other, on_conflict: {policy}, run: 'sed -i \"2s/.*/OTHER/\" f.txt; echo x > own.txt; AGENT await HERE/landed' }}
"
        ));
        let live = start(&world, &["-p", "2", "--stats"]);
        wait_for("the first to land", || {
            world.logged("task_completed").contains(&"first".to_owned()).then_some(())
        });
        world.write("landed", "");
        let ended = live.ended().expect(code);
        assert_eq!(on_branch(&world, "f.txt"), expect, "{policy}");
        let tags = git(&world, &["tag", "--list", "conductor-checkpoint/*"]);
        assert_eq!(!tags.is_empty(), ["ours", "theirs"].contains(&policy), "{policy}: {tags}");
        if policy == "manual" {
            ended.says("| FIRST").says("| OTHER").says("conductor worktree resolve other");
        }
        expect_tidy(&world);
    }
}

#[test]
fn squash_and_rebase_leave_the_history_they_promise() {
    let own = "git add .; git -c user.name=A -c user.email=a@x commit -qm own";
    for (strategy, subjects, merges) in [
        ("squash", "feat(task): Add it\nfeat(first): Add the first\nstart", 0),
        ("rebase", "feat(task): Add it\nown\nfeat(first): Add the first\nstart", 0),
        ("merge", "Merge task task: Add it\nfeat(first): Add the first\nstart", 1),
    ] {
        let world = repository(&format!(
            "
tasks:
  - {{ id: first, name: Add the first, run: 'echo 1 > first.txt' }}
  - {{ id: task, name: Add it, merge_strategy: {strategy}, run: 'echo 1 > a.txt; {own}; echo 2 > b.txt; AGENT await HERE/landed' }}
"
        ));
        let live = start(&world, &["-p", "2", "--stats"]);
        wait_for("the first to land", || {
            world.logged("task_completed").contains(&"first".to_owned()).then_some(())
        });
        world.write("landed", "");
        live.ended().expect(0).says("2 landed; 0 lost, 0 leaked");
        let branch = format!("conductor/{}", world.run_id());
        assert_eq!(git(&world, &["log", "--first-parent", "--format=%s", &branch]), subjects, "{strategy}");
        assert_eq!(git(&world, &["rev-list", "--count", "--merges", &branch]), merges.to_string());
        let trailers = git(&world, &["log", "-1", "--format=%(trailers:unfold)", &branch]);
        assert!(trailers.contains(&format!("Conductor-Run: {}", world.run_id())), "{trailers}");
        assert!(trailers.contains("Conductor-Task: task"), "{trailers}");
        assert_eq!(git(&world, &["for-each-ref", "refs/conductor"]), "", "landed in another form is landed");
    }
}

#[test]
fn checks_are_found_by_the_projects_files() {
    let world = repository(
        "tasks: [{ id: a, run: 'echo 1 > a.txt', verify: auto }, { id: b, run: 'echo 1 > b.txt; rm Makefile', verify: auto }]",
    );
    world.write("repo/Makefile", "test:\n\t@echo made; test -s a.txt\n");
    git(&world, &["add", "."]);
    git(&world, &["commit", "-q", "-m", "make"]);
    start(&world, &[]).ended().expect(100).says("verify:");
    assert!(String::from_utf8(world.transcript("a")).unwrap().contains("$ make test\nmade\n"));
    assert_eq!(world.statuses()["b"], "failed", "nothing to be found is not a pass");
}

/// No work of an agent mends that nothing is found: it is paid once. A project that it begins is found.
#[test]
fn work_whose_checks_are_not_found_fails_once_and_is_warned_of() {
    let agent = "read -r task; echo >> HERE/paid; echo 1 > f.txt; [ -f HERE/begins ] && printf 'test:\\n\\ttrue\\n' > Makefile\necho '{\"type\":\"result\",\"ok\":true,\"text\":\"ok\"}'\n";
    let tasks = "tasks: [{ id: a, prompt: Do it, agent: worker, verify: auto, retry_policy: { max_attempts: 3, initial_delay: 1ms } }]\n";
    let world = crate::questions::world(tasks, &[("worker", agent)]);
    let told = "`verify: auto` found nothing to run";
    conductor(&world, &["validate", "../tasks.yaml"]).expect(0).says("nothing-detected").says(told);
    start(&world, &[]).ended().expect(100).says(told);
    assert_eq!(world.read("paid").lines().count(), 1);
    assert_eq!(world.summary()["results"][0]["error"]["class"], "fails_on_base");
    world.write("begins", "");
    start(&world, &[]).ended().expect(0);
}

#[test]
fn checks_that_pass_on_damaged_work_are_told_to_prove_nothing() {
    let world = repository(
        "
config: { gate_proof: true }
tasks:
  - { id: weak, run: 'echo \"print(1)\" > w.py', verify: [test -s w.py] }
  - { id: strong, run: 'echo \"exit 0\" > s.sh', verify: [sh s.sh] }
",
    );
    start(&world, &["-p", "2"]).ended().expect(0).says("the checks of weak prove nothing");
    let results = &world.summary()["results"];
    assert_eq!((&results[0]["gate_holds"], &results[1]["gate_holds"]), (&false.into(), &true.into()));
    assert_eq!(on_branch(&world, "w.py"), "print(1)", "the damage was done elsewhere");
    assert_eq!(world.summary()["ledger"]["unproven"][0], "weak");
    expect_tidy(&world);
}

/// Six tasks wait while the first is being merged, so they are landed together; one of them makes the checks
/// fail. The others land, and the check runs fewer times than one by one.
#[test]
fn the_culprit_among_many_is_found_by_halving_and_taken_out() {
    let mut tasks = String::from(
        "
config: { verify: ['echo x >> HERE/checks; test ! -f t3.txt -o ! -f slow.txt'] }
tasks:
  - { id: slow, run: 'echo 1 > slow.txt; AGENT await HERE/first', verify: ['true'] }
  - { id: gate, run: 'echo 1 > gate.txt; AGENT await HERE/second', verify: ['test ! -f slow.txt || AGENT make HERE/gated then await HERE/go'] }
",
    );
    for n in 0..6 {
        tasks.push_str(&format!("  - {{ id: t{n}, run: 'echo {n} > t{n}.txt; AGENT await HERE/third' }}\n"));
    }
    let world = repository(&tasks);
    let live = start(&world, &["-p", "8"]);
    wait_for("all to start", || (world.logged("attempt_started").len() == 8).then_some(()));
    world.write("first", "");
    wait_for("the first to land", || {
        world.logged("task_completed").contains(&"slow".to_owned()).then_some(())
    });
    world.write("second", "");
    world.wait_for_file("gated");
    world.write("third", "");
    wait_for("all to wait for the train", || (world.logged("attempt_ended").len() == 8).then_some(()));
    world.write("go", "");
    live.ended().expect(100).says("7 of 8 completed, 1 failed").says("on the combined tree");
    assert_eq!(world.statuses()["t3"], "failed");
    let branch = format!("conductor/{}", world.run_id());
    assert_eq!(
        git(&world, &["ls-tree", "--name-only", &branch])
            .lines()
            .filter(|name| name.starts_with('t'))
            .count(),
        5
    );
    let own = 6;
    let combined = world.read("checks").lines().count() - own;
    println!("{combined} checks of combined trees");
    assert!(combined <= 6 + 3, "{combined}");
    expect_tidy(&world);
}

/// A check of the combined tree that hangs ends at its task's timeout; a long one is interrupted by a stop.
#[test]
fn a_check_of_the_combined_tree_neither_hangs_nor_outlasts_a_stop() {
    let tasks = |timeout: &str| {
        format!(
            "
tasks:
  - {{ id: first, run: 'echo 1 > first.txt' }}
  - {{ id: hangs, {timeout} run: 'echo 1 > h.txt; AGENT await HERE/landed', verify: ['test ! -f first.txt || AGENT make HERE/checking then sleep 600'] }}
"
        )
    };
    let start = |timeout: &str| {
        let world = repository(&tasks(timeout));
        let live = start(&world, &["-p", "2", "--stats"]);
        wait_for("the first to land", || {
            world.logged("task_completed").contains(&"first".to_owned()).then_some(())
        });
        world.write("landed", "");
        (world, live)
    };
    let (world, live) = start("timeout: 1,");
    live.ended().expect(100).says("on the combined tree: the checks took longer than 1.0s");
    expect_tidy(&world);
    let (world, live) = start("");
    world.wait_for_file("checking");
    live.signal(rustix::process::Signal::INT);
    live.wait_for_stderr("again to stop it now");
    live.signal(rustix::process::Signal::INT);
    live.ended().expect(130).says("1 of 2 completed, 1 not done");
    crate::harness::expect_no_leftovers(&world.run_id());
}
