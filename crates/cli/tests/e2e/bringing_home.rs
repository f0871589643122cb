//! `--merge branch`: the user's branch and checkout move together, or stay as they are, with the command to
//! run.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::harness::{World, wait_for};
use crate::repository::{command, conductor, git, repository};

/// A file that lands and is no longer ignored, while the user's checkout has an ignored file of that name.
const ENV: &str = "tasks: [{ id: a, run: 'echo landed > .env; echo other > .gitignore; echo 1 > a.txt; AGENT make HERE/at; AGENT await HERE/go' }]";

fn ignoring(tasks: &str) -> World {
    let world = repository(tasks);
    world.write("repo/.gitignore", ".env\n");
    git(&world, &["add", "."]);
    git(&world, &["commit", "-q", "-m", "ignore"]);
    world
}

#[test]
fn a_file_git_does_not_track_is_never_overwritten_and_the_run_is_what_its_tasks_came_to() {
    for merge in ["branch", "none"] {
        for (name, text) in [("repo/.env", "KEY=real\n"), ("repo/a.txt", "mine\n")] {
            let world = ignoring(ENV);
            let live = world.spawn(&mut command(
                &world,
                &["run", "../tasks.yaml", "--merge", merge, "--conflict-monitor", "0", "--stats"],
            ));
            world.wait_for_file("at");
            world.write(name, text);
            let before = git(&world, &["rev-parse", "main"]);
            world.write("go", "");
            let ended = live.ended().expect(0).says("ledger").says("git merge conductor/");
            let file = Path::new(name).file_name().unwrap().to_str().unwrap();
            let ended = ended.says("WARN   a merge overwrites").says(file);
            assert_eq!(world.read(name), text, "{merge}: {}", ended.stdout);
            assert_eq!(git(&world, &["rev-parse", "main"]), before);
            // It is told later, too, and done when it is out of the way.
            conductor(&world, &["runs", "show", &world.run_id()]).says("WARN   a merge overwrites");
            fs::remove_file(world.path(name)).unwrap();
            conductor(&world, &["run", "--resume", &world.run_id(), "--merge", "branch"]).expect(0);
            assert_eq!(git(&world, &["show", "main:a.txt"]), "1");
            assert_eq!(git(&world, &["status", "--porcelain"]), "");
        }
    }
}

/// What the run was begun with counts when it is taken up again, unless that is said otherwise.
#[test]
fn a_run_that_is_taken_up_again_is_brought_home_as_it_was_to_be() {
    let world = repository("tasks: [{ id: a, run: 'test -e HERE/go && echo a > a.txt' }]");
    conductor(&world, &["run", "../tasks.yaml", "--merge", "branch"]).expect(100);
    world.write("go", "");
    let resume = ["run", "--resume", &world.run_id(), "--retry-failed"];
    conductor(&world, &resume).expect(0);
    assert_eq!(git(&world, &["show", "main:a.txt"]), "a");
}

/// B3: commits of the user at the very moment. None is lost, and the checkout is always that of its branch.
#[test]
fn commits_of_the_user_in_that_very_moment_lose_nothing_and_leave_nothing_half() {
    let tasks =
        "tasks: [{ id: a, run: 'for i in $(seq 200); do echo $i > n$i.txt; done; AGENT make HERE/at' }]";
    let mut merged = 0;
    for round in 0..12 {
        let world = repository(tasks);
        let live = world.spawn(&mut command(
            &world,
            &["run", "../tasks.yaml", "--merge", "branch", "--conflict-monitor", "0", "--stats"],
        ));
        world.wait_for_file("at");
        wait_for("the task to land", || (!world.logged("task_completed").is_empty()).then_some(()));
        let over = AtomicBool::new(false);
        let made = std::thread::scope(|scope| {
            let user = scope.spawn(|| {
                let mut made = BTreeSet::new();
                for number in 0.. {
                    if over.load(Ordering::Relaxed) || number > 40 {
                        return made;
                    }
                    // At the first rounds one commit alone, to hit the moment and not only what comes before it.
                    if round % 3 == 0 && number > 0 {
                        continue;
                    }
                    let subject = format!("mine {number}");
                    let done = world
                        .command_of("git")
                        .current_dir(world.path("repo"))
                        .args(["commit", "-q", "--allow-empty", "-m", &subject])
                        .output()
                        .unwrap();
                    if done.status.success() {
                        made.insert(subject);
                    }
                }
                made
            });
            let ended = live.ended().expect(0).says("0 lost");
            over.store(true, Ordering::Relaxed);
            merged += usize::from(ended.stdout.contains("and main holds it"));
            user.join().unwrap()
        });
        let there = git(&world, &["log", "--format=%s", "main"]);
        for subject in made {
            assert!(there.lines().any(|line| line == subject), "lost '{subject}':\n{there}");
        }
        assert_eq!(git(&world, &["status", "--porcelain"]), "", "round {round}: {there}");
        assert!(!world.path("repo/.git/index.lock").exists());
    }
    eprintln!("{merged} of 12 were brought home");
}
