//! Files of the checkout that are not committed: tasks do not see them, unless the run starts from a commit of them.

use crate::harness::wait_for;
use crate::repository::{checkout, command, conductor, git, on_branch, repository};

/// What a run writes itself is no change of the user's.
#[test]
fn a2_uncommitted_files_are_told_once_and_what_the_run_writes_is_not_one_of_them() {
    let world = repository("tasks: []");
    for folder in ["repo/sub", "repo/.flow/x"] {
        std::fs::create_dir_all(world.path(folder)).unwrap();
    }
    world.write("repo/f.txt", "mine\n");
    world.write("repo/new one.txt", "mine\n");
    world.write("repo/sub/other.txt", "mine\n");
    world.write("repo/tasks.yaml", "tasks: [{ id: a, run: 'echo 1 > a.txt; cat f.txt' }]");
    world.write("repo/.flow/x/y.json", "{}");
    let mut run = command(&world, &["run", "tasks.yaml", "-o", "out", "--conflict-monitor", "50ms"]);
    let out = std::fs::File::create(world.path("repo/out.txt")).unwrap();
    run.stdout(out.try_clone().unwrap()).stderr(out);
    assert!(run.status().unwrap().success());
    let told = world.read("repo/out.txt");
    let words =
        "conductor: 3 uncommitted files are not seen by tasks; --include-uncommitted starts from them\n";
    assert_eq!(told.matches(words).count(), 1, "{told}");
    assert!(!told.contains("your checkout changed"), "{told}");
}

/// What is written while a task is at work: by the user to the task file, to the folder of groups, and by the program behind the
/// run in a pipeline. A file that is none of that is seen, so all of them have been looked at.
#[test]
fn a2_the_task_file_the_folder_of_groups_and_a_pipeline_change_nothing_while_tasks_work() {
    let world = repository("tasks: []");
    let here = world.path("").display().to_string();
    let tasks = "tasks: [{ id: a, run: AGENT await HERE/go }, { id: b, run: AGENT await HERE/b }]"
        .replace("HERE", &here);
    world.write("repo/tasks.yaml", &tasks);
    let program = crate::harness::CONDUCTOR;
    let line =
        format!("{program} run tasks.yaml -p 2 --conflict-monitor 50ms 2>&1 | tee out.txt | tee -a more.txt");
    let live = world.spawn(world.command_of("sh").current_dir(world.path("repo")).args(["-c", &line]));
    wait_for("the tasks", || (world.logged("attempt_started").len() == 2).then_some(()));
    world.write("repo/tasks.yaml", &format!("# edited\n{tasks}"));
    std::fs::create_dir_all(world.path("repo/.flow/x")).unwrap();
    world.write("repo/.flow/x/y.json", "{}");
    world.write("b", "");
    wait_for("what was said", || world.read("repo/more.txt").contains("ok      b").then_some(()));
    world.write("repo/stray.txt", "mine\n");
    wait_for("the look", || world.read("repo/more.txt").contains("your checkout changed").then_some(()));
    world.write("go", "");
    live.ended();
    let told = world.read("repo/out.txt");
    let changed: Vec<&str> = told.lines().filter(|line| line.contains("your checkout changed")).collect();
    assert!(!changed.is_empty(), "{told}");
    for line in changed {
        assert!(line.contains("stray.txt"), "{line}");
        let ours = ["out.txt", "more.txt", "tasks.yaml", ".flow"];
        assert!(!ours.iter().any(|ours| line.contains(ours)), "{line}");
    }
}

/// The user's index, files and branches are as they were; the tasks see all of it.
#[test]
fn a2_a_run_can_start_from_what_is_not_committed() {
    let world = repository(
        "tasks: [{ id: a, run: 'cat f.txt new.txt > seen.txt; test ! -e gone.txt; test ! -e x.log' }]",
    );
    world.write("repo/gone.txt", "committed\n");
    world.write("repo/.gitignore", "*.log\n");
    git(&world, &["add", "."]);
    git(&world, &["commit", "-q", "-m", "more"]);
    world.write("repo/f.txt", "staged\n");
    git(&world, &["add", "f.txt"]);
    world.write("repo/f.txt", "unstaged\n");
    world.write("repo/new.txt", "untracked\n");
    world.write("repo/x.log", "ignored\n");
    git(&world, &["rm", "-q", "gone.txt"]);
    let (before, index, head) =
        (checkout(&world), git(&world, &["ls-files", "-s"]), git(&world, &["rev-parse", "HEAD"]));
    let ended = conductor(&world, &["run", "../tasks.yaml", "--include-uncommitted"]).expect(0);
    let ended = ended.says("made of 3 uncommitted files").says("1 task landed");
    ended.says("git refuses the merge while you have").says("stash them first: f.txt, gone.txt");
    assert_eq!(on_branch(&world, "seen.txt"), "unstaged\nuntracked");
    assert_eq!(
        (checkout(&world), git(&world, &["ls-files", "-s"])),
        (before, index),
        "nothing of the user's is touched"
    );
    assert_eq!(git(&world, &["rev-parse", "main"]), head);
    let holders = git(&world, &["for-each-ref", "--format=%(refname:short)", "--contains", "HEAD"]);
    assert_eq!(holders, format!("conductor/{}\nmain", world.run_id()));
}

/// A link where a folder was, and a repository of its own, whose files only its own git knows.
#[test]
fn a2_a_folder_that_became_a_link_is_included_and_a_nested_repository_is_not() {
    let world = repository("tasks: [{ id: a, run: 'readlink d > seen.txt; test ! -e n' }]");
    std::fs::create_dir(world.path("repo/d")).unwrap();
    world.write("repo/d/x", "x\n");
    git(&world, &["add", "."]);
    git(&world, &["commit", "-q", "-m", "more"]);
    std::fs::remove_dir_all(world.path("repo/d")).unwrap();
    std::os::unix::fs::symlink("elsewhere", world.path("repo/d")).unwrap();
    git(&world, &["init", "-q", "n"]);
    world.write("repo/n/q", "q\n");
    git(&world, &["-C", "n", "add", "."]);
    let user = ["-c", "user.name=User", "-c", "user.email=user@localhost"];
    git(&world, &[&["-C", "n"], &user[..], &["commit", "-q", "-m", "inner"]].concat());
    let ended = conductor(&world, &["run", "../tasks.yaml", "--include-uncommitted"]).expect(0);
    ended.says("n/ is a repository of its own and is not included").says("1 task landed");
    assert_eq!(on_branch(&world, "seen.txt"), "elsewhere");
    let branch = format!("conductor/{}", world.run_id());
    assert_eq!(git(&world, &["ls-tree", "--name-only", &branch, "n", "d", "d/x"]), "d");
}

#[test]
fn a2_what_cannot_be_included_is_refused_before_anything_is_made() {
    let world = repository("tasks: [{ id: a, run: 'true' }]");
    let args = ["run", "../tasks.yaml", "--include-uncommitted"];
    let mut in_place = args.to_vec();
    in_place.extend(["--isolation", "none"]);
    conductor(&world, &in_place).expect(2).says("--include-uncommitted has no effect here");
    git(&world, &["checkout", "-q", "-b", "side"]);
    world.write("repo/f.txt", "side\n");
    git(&world, &["commit", "-q", "-am", "side"]);
    git(&world, &["checkout", "-q", "main"]);
    world.write("repo/f.txt", "main\n");
    git(&world, &["commit", "-q", "-am", "main"]);
    let merge = world
        .command_of("git")
        .current_dir(world.path("repo"))
        .args(["merge", "-q", "side"])
        .output()
        .unwrap();
    assert!(!merge.status.success());
    conductor(&world, &args).expect(3).says("unmerged files in your checkout: f.txt");
    assert!(world.runs().is_empty(), "nothing was begun");
}

/// In place it is only known whether anything changed; files that the run itself wrote do not count.
#[test]
fn a2_where_output_is_sent_is_not_what_a_task_did() {
    let world = crate::harness::World::in_place("tasks: [{ id: a, run: echo much ado, changes: required }]");
    let mut run = world.command(&["run", "tasks.yaml", "-o", "out"]);
    let out = std::fs::File::create(world.path("out.txt")).unwrap();
    run.stdout(out.try_clone().unwrap()).stderr(out);
    assert_eq!(run.status().unwrap().code(), Some(100));
    assert!(
        world.read("out.txt").contains("failed a: it succeeded but made no changes"),
        "{}",
        world.read("out.txt")
    );
}
