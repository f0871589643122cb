//! A run is over when its last steps are done: a kill before that leaves them to the next resume.

use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use crate::harness::{World, wait_for};
use crate::repository::{command, conductor, expect_tidy, git, repository};

const TASKS: &str = "
tasks:
  - { id: a, run: 'echo 1 > a.txt' }
  - { id: b, run: 'echo 1 > b.txt' }
  - { id: clone, isolation: clone, run: 'echo 1 > c.txt' }
";

fn exit_code(world: &World) -> PathBuf {
    world.home().join("runs").join(world.run_id()).join("exit_code")
}

#[track_caller]
fn expect_whole(world: &World) {
    for file in ["a.txt", "b.txt", "c.txt"] {
        git(world, &["cat-file", "-e", &format!("main:{file}")]);
    }
    assert_eq!(git(world, &["status", "--porcelain"]), "");
    assert_eq!(world.summary()["completed"], 3);
    assert_eq!(fs::read_to_string(exit_code(world)).unwrap().trim(), "0");
    expect_tidy(world);
}

#[test]
fn what_a_finished_run_had_not_done_is_done_by_a_resume() {
    for args in
        [&["run", "--resume", "--merge", "branch"][..], &["run", "--resume", "ID", "--merge", "branch"]]
    {
        let world = repository(TASKS);
        conductor(&world, &["run", "../tasks.yaml"]).expect(0);
        let id = world.run_id();
        // As a kill right after the last event leaves it.
        fs::remove_file(exit_code(&world)).unwrap();
        fs::remove_file(world.home().join("runs").join(&id).join("execution_summary.json")).unwrap();
        git(&world, &["branch", &format!("conductor-task/{id}/a"), "main"]);
        let args: Vec<&str> = args.iter().map(|arg| if *arg == "ID" { id.as_str() } else { arg }).collect();
        conductor(&world, &args).expect(0).says("last steps").says("and main holds it");
        expect_whole(&world);
        assert_eq!(world.logged("attempt_started").len(), 3, "nothing is done twice");
        // Then it is over.
        conductor(&world, &["run", "--resume", &id, "--merge", "branch"])
            .expect(4)
            .says("nothing left to do");
    }
}

/// The first kill comes as soon as the log says that the run is over, each further one a little later.
#[test]
fn killed_at_any_point_of_its_end_one_resume_completes_it() {
    let mut cut = 0;
    for round in 0..16 {
        let world = repository(TASKS);
        let mut live =
            world.spawn(&mut command(&world, &["run", "../tasks.yaml", "-p", "3", "--merge", "branch"]));
        wait_for("the end in the log", || {
            let ended = world.try_sql("SELECT count(*) FROM events WHERE body LIKE '%run_finished%'");
            (!live.is_running() || ended.is_ok_and(|count| count.trim() == "1")).then_some(())
        });
        // Not to wait for anything, but to come at another point each time.
        std::thread::sleep(Duration::from_millis(3 * round));
        let _ = live.child.kill();
        live.child.wait().unwrap();
        let was_over = exit_code(&world).exists();
        cut += usize::from(!was_over);
        let id = world.run_id();
        let ended = conductor(&world, &["run", "--resume", &id, "--merge", "branch"]);
        let expected = if was_over { 4 } else { 0 };
        assert_eq!(ended.code, Some(expected), "round {round}: {}\n{}", ended.stdout, ended.stderr);
        expect_whole(&world);
    }
    assert!(cut > 0, "no kill came before the end");
}
