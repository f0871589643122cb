//! `conductor diff`: the change of a task wherever it is, byte for byte.

use crate::harness::World;
use crate::repository::{command, conductor, conflicted, git, repository};

#[test]
fn a_landed_task_is_shown_as_what_it_added_to_the_branch() {
    let world = repository(
        "
tasks:
  - { id: a, run: sed -i s/a/A/ f.txt }
  - { id: b, run: 'sed -i s/c/C/ f.txt; echo new > b.txt', dependencies: [a] }
  - { id: nothing, run: 'true' }
",
    );
    conductor(&world, &["run", "../tasks.yaml"]).expect(0);
    let shown = conductor(&world, &["diff", "b"]).expect(0).says("landed on conductor/");
    insta::assert_snapshot!(shown.stdout, @r"
    diff --git a/b.txt b/b.txt
    new file mode 100644
    index 0000000..3e75765
    --- /dev/null
    +++ b/b.txt
    @@ -0,0 +1 @@
    +new
    diff --git a/f.txt b/f.txt
    index 4f213f7..2493845 100644
    --- a/f.txt
    +++ b/f.txt
    @@ -1,3 +1,3 @@
     A
     b
    -c
    +C
    ");
    conductor(&world, &["diff", "a", "--stat"]).expect(0).says(" f.txt | 2 +-");
    let empty = conductor(&world, &["diff", "nothing"]).expect(0).says("changed nothing");
    assert_eq!(empty.stdout, "");
}

/// Changes of tasks that land together, or with their own commits, are still shown separately.
#[test]
fn every_way_of_landing_shows_the_whole_of_a_task_and_nothing_else() {
    let commit = "git -c user.name=A -c user.email=a@x commit -q";
    let world = repository(&format!(
        "
config: {{ verify: ['true'] }}
tasks:
  - {{ id: rebased, merge_strategy: rebase, run: 'echo 1 > r1; git add r1; {commit} -m one; echo 2 > r2; AGENT make HERE/a; AGENT await HERE/b' }}
  - {{ id: squashed, merge_strategy: squash, run: 'echo 1 > s1; git add s1; {commit} -m one; echo 2 > s2; AGENT make HERE/b; AGENT await HERE/a' }}
  - {{ id: merged, run: 'echo 1 > m1; AGENT await HERE/a; AGENT await HERE/b' }}
"
    ));
    conductor(&world, &["run", "../tasks.yaml", "-p", "3"]).expect(0);
    for (task, files) in [("rebased", "r1 r2"), ("squashed", "s1 s2"), ("merged", "m1")] {
        let shown = conductor(&world, &["diff", task]).expect(0).stdout;
        let named: Vec<&str> = shown.lines().filter_map(|line| line.strip_prefix("+++ b/")).collect();
        assert_eq!(named.join(" "), files, "{shown}");
    }
    conductor(&world, &["worktree", "list"]).expect(0).says("no work is kept aside");
}

#[test]
fn work_that_did_not_land_is_shown_as_it_is_kept() {
    let world = conflicted();
    let shown = conductor(&world, &["diff", "right"]).expect(0).says("is failed; this is kept as");
    assert!(shown.stdout.contains("-b\n+RIGHT\n") && shown.stdout.contains("+own\n"), "{}", shown.stdout);
    assert!(!shown.stdout.contains("LEFT"), "{}", shown.stdout);
}

#[test]
fn work_in_progress_is_shown_without_disturbing_the_task() {
    let world = repository(
        "tasks: [{ id: slow, run: 'printf \"a\\033[2Jb\\n\" > half.txt; AGENT make HERE/started; AGENT await HERE/go; echo rest > rest.txt' }]",
    );
    let live = world.spawn(&mut command(&world, &["run", "../tasks.yaml", "--conflict-monitor", "10ms"]));
    world.wait_for_file("started");
    for _ in 0..5 {
        let shown = conductor(&world, &["diff", "slow"]).expect(0).says("is at work");
        assert!(shown.stdout.contains("+a\u{1b}[2Jb\n"), "bytes as they are: {:?}", shown.stdout);
    }
    world.write("go", "");
    live.ended().expect(0);
    assert_eq!(git(&world, &["show", &format!("conductor/{}:rest.txt", world.run_id())]), "rest");
    conductor(&world, &["diff", "slow"]).expect(0).says("+rest");
}

#[test]
fn what_is_not_there_is_said_with_what_was_meant() {
    let world = repository(
        "tasks: [{ id: schema, run: 'false' }, { id: after, run: 'true', dependencies: [schema] }]",
    );
    conductor(&world, &["diff", "schema"]).expect(4).says("nothing has been run here yet");
    conductor(&world, &["run", "../tasks.yaml"]).expect(100);
    conductor(&world, &["diff", "shema"])
        .expect(2)
        .says("there is no task 'shema'")
        .says("did you mean 'schema'?");
    for odd in ["../x", "a b", "$(id)", "", "\u{1b}[2J"] {
        conductor(&world, &["diff", odd]).expect(2).says("there is no task");
    }
    conductor(&world, &["diff", "schema", "--run", "nope"]).expect(2).says("there is no run 'nope'");
    conductor(&world, &["diff", "schema", "--run", ""]).expect(2).says("there is no run ''");
    conductor(&world, &["diff", "schema"]).expect(4).says("has left nothing");
    conductor(&world, &["diff", "after"]).expect(4).says("was skipped");
}

#[test]
fn outside_of_a_repository_or_without_git_it_says_so() {
    let mut world = World::with("tasks: [{ id: a, run: 'true' }]");
    world.conductor(&["diff", "a"]).expect(4);
    world.conductor(&["run", "tasks.yaml"]).expect(0);
    world.conductor(&["diff", "a"]).expect(4).says("worked in place");
    world.set("PATH", world.path("nowhere"));
    world.conductor(&["diff", "a"]).expect(4).says("worked in place");
    let mut world = repository("tasks: [{ id: a, run: 'echo 1 > a.txt' }]");
    conductor(&world, &["run", "../tasks.yaml"]).expect(0);
    world.set("PATH", world.path("nowhere"));
    conductor(&world, &["diff", "a"]).expect(3).says("git cannot be started").says("on PATH");
}
