//! A task file that was edited between a run's end, or its being left, and its next start; and the names a file goes by.

use std::os::unix::fs::symlink;

use rustix::process::Signal;

use crate::harness::World;
use crate::repository::{conductor, on_branch, repository};

const FAILING: &str = "
tasks:
  - { id: ok, run: 'echo ok > ok.txt' }
  - { id: bad, run: 'echo old > bad.txt; exit 1' }
  - { id: after, run: 'echo old > after.txt', dependencies: [bad] }
";

#[test]
fn retry_failed_takes_the_edited_task_and_says_so() {
    let world = World::with(FAILING);
    world.conductor(&["run", "tasks.yaml"]).expect(100);
    world.write(
        "tasks.yaml",
        "
tasks:
  - { id: ok, run: 'echo changed > ok.txt' }
  - { id: bad, run: 'echo new > bad.txt' }
  - { id: after, run: 'echo new > after.txt', dependencies: [bad, more] }
  - { id: more, run: 'echo more > more.txt' }
",
    );
    let ended = world.conductor(&["run", "tasks.yaml", "--retry-failed"]).expect(0).says("4 of 4 completed");
    let ended = ended.says("tasks.yaml was edited: bad and after take their new text, more joins");
    ended.says("task 'ok' is completed and keeps its text");
    assert_eq!((world.read("bad.txt").trim(), world.read("after.txt").trim()), ("new", "new"));
    assert_eq!((world.read("ok.txt").trim(), world.read("more.txt").trim()), ("ok", "more"));
    let amended = "SELECT count(*) FROM events WHERE json_extract(body, '$.plan_amended') IS NOT NULL";
    assert_eq!(world.sql(amended).trim(), "1", "the plan changes by its own event");
    world.conductor(&["run", "--resume", "--retry-failed"]).expect(4);
}

#[test]
fn as_before_does_the_old_text_again() {
    let world = World::with(FAILING);
    world.conductor(&["run", "tasks.yaml"]).expect(100);
    world.write("tasks.yaml", &FAILING.replace("old > bad.txt; exit 1", "new > bad.txt"));
    let ended = world.conductor(&["run", "--retry-failed", "--as-before"]).expect(100);
    assert!(!ended.stderr.contains("edited"), "{}", ended.stderr);
    assert_eq!(world.read("bad.txt").trim(), "old");
    world.conductor(&["run", "--retry-failed"]).expect(0);
    assert_eq!(world.read("bad.txt").trim(), "new");
    world.conductor(&["run", "tasks.yaml", "--as-before"]).expect(2).says("--retry-failed");
}

#[test]
fn a_file_that_was_not_edited_amends_nothing() {
    let world = repository(FAILING);
    conductor(&world, &["run", "../tasks.yaml"]).expect(100);
    let ended = conductor(&world, &["run", "--retry-failed"]).expect(100);
    assert!(!ended.stderr.contains("edited"), "{}", ended.stderr);
    let amended = "SELECT count(*) FROM events WHERE json_extract(body, '$.plan_amended') IS NOT NULL";
    assert_eq!(world.sql(amended).trim(), "0");
}

#[test]
fn what_was_edited_lands_in_a_repository_as_it_is_written_now() {
    let world = repository(FAILING);
    conductor(&world, &["run", "../tasks.yaml"]).expect(100);
    world.write("tasks.yaml", &FAILING.replace("old > bad.txt; exit 1", "new > bad.txt"));
    conductor(&world, &["run", "--retry-failed"]).expect(0).says("bad takes its new text");
    assert_eq!(on_branch(&world, "bad.txt"), "new");
}

#[test]
fn a_task_that_is_not_in_the_file_any_more_stays_and_is_named() {
    let world = World::with(FAILING);
    world.conductor(&["run", "tasks.yaml"]).expect(100);
    world.write(
        "tasks.yaml",
        "tasks: [{ id: ok, run: 'echo ok > ok.txt' }, { id: bad, run: 'echo new > bad.txt' }]",
    );
    let ended = world.conductor(&["run", "--retry-failed"]).expect(0);
    ended
        .says("task 'after' is not in")
        .says("stays in the run; until it has ended")
        .says(&format!("`conductor cancel after --run {}` takes it out", world.run_id()))
        .says("3 of 3 completed");
}

#[test]
fn an_edit_that_is_not_valid_or_cannot_be_starts_nothing_and_names_the_way_out() {
    let world = World::with(FAILING);
    world.conductor(&["run", "tasks.yaml"]).expect(100);
    let before = world.sql("SELECT count(*) FROM events");
    world.write("tasks.yaml", &FAILING.replace("[bad]", "[missing]"));
    world.conductor(&["run", "--retry-failed"]).expect(3).says("--as-before");
    // `ok` keeps its text, and so `bad` would wait for a task that waits for it in no file.
    world.write("tasks.yaml", "tasks: [{ id: ok, run: 'true' }, { id: bad, run: 'true', dependencies: [after] }, { id: after, run: 'true', agent: absent }]");
    world.conductor(&["run", "--retry-failed"]).expect(7).says("absent");
    assert_eq!(world.sql("SELECT count(*) FROM events"), before, "nothing was recorded");
}

#[test]
fn tasks_that_were_not_chosen_do_not_join_by_a_retry() {
    let world = World::with(FAILING);
    world.conductor(&["run", "tasks.yaml", "--only", "bad"]).expect(100);
    world.write("tasks.yaml", &FAILING.replace("old > bad.txt; exit 1", "new > bad.txt"));
    world.conductor(&["run", "--retry-failed"]).expect(0).says("1 of 1 completed");
}

#[test]
fn a_resume_goes_on_as_before_and_says_that_the_file_was_edited_and_how_to_take_that_over() {
    let tasks = "
tasks:
  - { id: first, run: AGENT touch started then await go }
  - { id: second, run: 'echo old > second.txt', dependencies: [first] }
";
    for (flags, text) in [(&[][..], "old"), (&["--watch"], "new")] {
        let world = World::with(tasks);
        let live = world.start(&["run", "tasks.yaml"]);
        world.wait_for_file("started");
        live.signal(Signal::KILL);
        live.ended();
        world.write("tasks.yaml", &tasks.replace("old", "new"));
        let mut args = vec!["run", "--resume"];
        args.extend(flags);
        let live = world.start(&args);
        match flags.is_empty() {
            true => {
                live.wait_for_stderr("tasks.yaml was edited since (second); the run goes on as before");
                live.wait_for_stderr("--watch");
            }
            false => live.wait_for_stderr("1 task updated: second"),
        }
        world.write("go", "");
        live.ended().expect(0);
        assert_eq!(world.read("second.txt").trim(), text);
    }
}

#[test]
fn a_resume_says_that_a_file_was_edited_back_after_its_edit_was_taken_over() {
    let tasks = "
tasks:
  - { id: first, run: 'echo old > first.txt; exit 1' }
  - { id: second, run: AGENT touch started then await go }
";
    let world = World::with(tasks);
    world.conductor(&["run", "tasks.yaml", "--max-attempts", "1"]).expect(6);
    // Not edited: nothing is said of the file.
    let unedited = world.conductor(&["run", "--resume", "--max-attempts", "1"]).expect(6);
    assert!(!unedited.stderr.contains("edited"), "{}", unedited.stderr);
    world.write("tasks.yaml", &tasks.replace("old", "new"));
    let taken = world.conductor(&["run", "--retry-failed", "--max-attempts", "2"]).expect(6);
    assert!(taken.stderr.contains("tasks.yaml was edited"), "{}", taken.stderr);
    let same = world.conductor(&["run", "--resume", "--max-attempts", "2"]).expect(6);
    assert!(!same.stderr.contains("edited"), "{}", same.stderr);
    world.write("tasks.yaml", tasks);
    let back = world.conductor(&["run", "--resume", "--max-attempts", "2"]).expect(6);
    assert!(back.stderr.contains("tasks.yaml was edited since (first)"), "{}", back.stderr);
}

#[test]
fn a_file_is_the_same_by_whatever_name_it_is_called() {
    let world = World::with("tasks: [{ id: a, run: 'AGENT touch done && test -e mended' }]");
    std::fs::create_dir(world.path("sub")).unwrap();
    let link = world.root().join("link");
    symlink(world.path(""), &link).unwrap();
    let full = world.path("tasks.yaml").display().to_string();
    let linked = link.join("tasks.yaml").display().to_string();
    world.conductor(&["run", "./tasks.yaml"]).expect(100);
    for name in ["tasks.yaml", "./tasks.yaml", "sub/../tasks.yaml", &full, &linked] {
        world.conductor(&["run", name, "--retry-failed"]).expect(100);
    }
    let mut below = world.command(&["run", "../tasks.yaml", "--retry-failed"]);
    world.spawn(below.current_dir(world.path("sub"))).ended().expect(100);
    world.write("mended", "");
    let mut through = world.command(&["run", "tasks.yaml", "--retry-failed"]);
    world.spawn(through.current_dir(&link).env("PWD", &link)).ended().expect(0);
    assert_eq!(world.runs().len(), 1, "it was one run all the time");
}

#[test]
fn a_run_that_was_recorded_under_another_name_of_the_file_is_found() {
    let world = World::with("tasks: [{ id: a, run: 'AGENT touch done && test -e mended' }]");
    let link = world.root().join("link");
    symlink(world.path(""), &link).unwrap();
    world.conductor(&["run", "tasks.yaml"]).expect(100);
    for recorded in [world.path("./tasks.yaml"), world.path("x/../tasks.yaml"), link.join("tasks.yaml")] {
        let sql = format!("UPDATE runs SET source = '{}'", recorded.display());
        let written = world.command_of("sqlite3").arg(world.database()).arg(sql).status().unwrap();
        assert!(written.success());
        world.conductor(&["run", "tasks.yaml", "--retry-failed"]).expect(100);
    }
}

#[test]
fn a_retry_of_one_task_says_that_the_file_was_edited_and_does_what_the_run_knows() {
    let world = World::with(FAILING);
    world.conductor(&["run", "tasks.yaml"]).expect(100);
    let ended = world.conductor(&["task", "retry", "bad"]).expect(0);
    assert!(!ended.stderr.contains("edited"), "{}", ended.stderr);
    world.conductor(&["run", "--resume"]).expect(100);
    world.write("tasks.yaml", &FAILING.replace("old > bad.txt; exit 1", "new > bad.txt"));
    let ended = world.conductor(&["task", "retry", "bad", "--json"]).expect(0);
    let ended = ended.says("tasks.yaml was edited since").says("--retry-failed");
    assert_eq!(ended.json()["file_edited"], true);
    world.conductor(&["run", "--resume"]).expect(100);
    assert_eq!(world.read("bad.txt").trim(), "old");
}
