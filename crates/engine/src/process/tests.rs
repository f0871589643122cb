use std::fs;
use std::path::Path;
use std::time::Instant;

use conductor_core::values::ids::{Attempt, RunId, TaskId};

use super::*;

fn mark(task: &str) -> Mark {
    // A run id of its own for each test process, since they look at the same process table.
    let run = RunId::parse(&format!("test{}", std::process::id())).unwrap();
    Mark { run, task: TaskId::parse(task).unwrap(), attempt: Attempt(1), folder: None }
}

fn start(script: &str, mark: &Mark, directory: &Path) -> Running {
    start_in(&RunProcesses::new(mark.run.clone()), script, mark, directory)
}

fn start_in(processes: &Arc<RunProcesses>, script: &str, mark: &Mark, directory: &Path) -> Running {
    adopt_orphans();
    let launch = Launch {
        program: "/bin/sh".into(),
        args: vec!["-c".into(), script.into()],
        env: std::sync::Arc::new([("PATH".into(), std::env::var_os("PATH").unwrap())].into()),
        directory: directory.to_owned(),
        limits: Default::default(),
        converses: false,
        together: false,
    };
    let output = fs::File::create(directory.join("out")).unwrap();
    Running::start(processes, &launch, mark.clone(), (output, None), None).unwrap()
}

/// Such as on a disk that can hold no sockets: its agent is started without it then, which is not for what the agent lacks.
#[test]
fn what_a_shim_lacks_is_not_taken_for_what_its_agent_lacks() {
    let dir = tempfile::tempdir().unwrap();
    let mark = mark("shimless");
    let error = |program: &str| {
        let through = shim::Through {
            program: program.into(),
            folder: dir.path().to_owned(),
            secret: String::new(),
            grace: conductor_core::plan::ORPHAN_GRACE,
            deadline: None,
            slice: conductor_core::schedule::slices::Slice::WITHOUT_END,
            tools: None,
        };
        let launch = Launch { program: "/bin/true".into(), ..Launch::default() };
        let output = fs::File::create(dir.path().join("out")).unwrap();
        let processes = RunProcesses::new(mark.run.clone());
        Running::start(&processes, &launch, mark.clone(), (output, None), Some(&through)).unwrap_err()
    };
    assert!(shim::is_of_shim(&error("/nowhere/conductor")), "it is not there");
    assert!(shim::is_of_shim(&error("/bin/true")), "it ends without a word");
    assert!(!shim::is_of_shim(&io::Error::from_raw_os_error(2)), "the agent is not there");
}

/// Living processes that carry the mark.
fn marked(mark: &Mark) -> usize {
    tree::living(mark)
}

fn wait_for(path: &Path) {
    let start = Instant::now();
    while !path.exists() {
        assert!(start.elapsed() < Duration::from_secs(10), "{} never appeared", path.display());
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_exit_code_and_a_signal_are_told_apart() {
    let dir = tempfile::tempdir().unwrap();
    for (script, exit) in [("exit 3", Exit::Code(3)), ("kill -9 $$", Exit::Signal(9))] {
        let running = start(script, &mark("exit"), dir.path());
        running.exited().await.unwrap();
        assert_eq!(running.finish(Duration::from_secs(1)).await.unwrap().exit, exit);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_daemon_that_left_its_group_and_its_parent_is_found_and_ended() {
    let dir = tempfile::tempdir().unwrap();
    let mark = mark("daemon");
    let up = dir.path().join("up");
    let script = format!(
        "setsid sh -c 'echo up > {0}; exec sleep 1000' & while [ ! -e {0} ]; do :; done",
        up.display()
    );
    let running = start(&script, &mark, dir.path());
    running.exited().await.unwrap();
    assert_eq!(marked(&mark), 1, "the daemon outlives its parent");
    running.finish(Duration::from_secs(1)).await.unwrap();
    assert_eq!(marked(&mark), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_whole_tree_that_ignores_termination_is_killed() {
    let dir = tempfile::tempdir().unwrap();
    let mark = mark("stubborn");
    let up = dir.path().join("up");
    let script = format!(
        "trap '' TERM; (trap '' TERM; setsid sleep 1000 & sleep 1000) & echo up > {}; while :; do sleep 1; done",
        up.display()
    );
    let mut running = start(&script, &mark, dir.path());
    wait_for(&up);
    running.ask_to_end();
    running.kill().await.unwrap();
    assert_eq!(running.finish(Duration::from_secs(1)).await.unwrap().exit, Exit::Signal(9));
    assert_eq!(marked(&mark), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn leftovers_of_a_dead_coordinator_are_ended_by_their_mark() {
    let dir = tempfile::tempdir().unwrap();
    let mark = mark("left");
    let running = start("setsid sleep 1000 & sleep 1000", &mark, dir.path());
    let name = running.name();
    assert!(name.start_time > 0);
    children::forget(name.pid);
    let counted = tokio::task::spawn_blocking({
        let mark = mark.clone();
        move || end_leftovers(&mark.run, Path::new("/nonexistent"), &[name])
    });
    running.exited().await.unwrap();
    let _ = running.finish(Duration::ZERO).await;
    counted.await.unwrap();
    assert_eq!(marked(&mark), 0);
}

#[test]
fn a_recycled_number_is_not_taken_for_the_process_that_had_it() {
    let run = RunId::parse("nosuchrun").unwrap();
    let us = conductor_core::run::event::Process { pid: std::process::id(), start_time: 1 };
    assert_eq!(end_leftovers(&run, Path::new("/nonexistent"), &[us]), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_process_sees_the_mark_and_nothing_of_ours() {
    let dir = tempfile::tempdir().unwrap();
    let mark = mark("env");
    let running = start("env", &mark, dir.path());
    running.exited().await.unwrap();
    running.finish(Duration::from_secs(1)).await.unwrap();
    let text = fs::read_to_string(dir.path().join("out")).unwrap();
    let mut names: Vec<&str> = text.lines().filter_map(|line| line.split('=').next()).collect();
    names.sort_unstable();
    let ours = [
        "CONDUCTOR_ATTEMPT",
        "CONDUCTOR_COORDINATOR",
        "CONDUCTOR_RUN",
        "CONDUCTOR_RUN_FOLDER",
        "CONDUCTOR_TASK",
    ];
    assert_eq!(names, [&ours[..], &["PATH", "PWD"]].concat());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_that_ends_leaves_alone_what_is_of_another_run_of_this_process() {
    adopt_orphans();
    let dir = tempfile::tempdir().unwrap();
    let run = |name: &str| RunId::parse(&format!("{name}{}", std::process::id())).unwrap();
    let (ends, stays) = (RunProcesses::new(run("ends")), RunProcesses::new(run("stays")));
    let mut ending = Teardown::new(ends, dir.path());
    let mut staying = Teardown::new(stays.clone(), dir.path());
    // It is let go of, as between two processes of an attempt: nothing is waited for while the other run ends.
    let mark =
        Mark { run: run("stays"), task: TaskId::parse("a").unwrap(), attempt: Attempt(1), folder: None };
    let up = dir.path().join("up");
    let script = format!(
        "setsid sh -c 'echo up > {0}; exec sleep 1000' & while [ ! -e {0} ]; do :; done",
        up.display()
    );
    let running = start_in(&stays, &script, &mark, dir.path());
    running.exited().await.unwrap();
    children::forget(running.pid());
    ending.finish().await;
    assert_eq!(marked(&mark), 1, "the daemon is of a run that goes on");
    staying.finish().await;
    assert_eq!(marked(&mark), 0);
    drop(running);
}
