//! What Conductor logs about itself: in the file of a run, and on standard error where it is asked for.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::PathBuf;

use serde_json::Value;

use crate::harness::World;
use crate::repository::{command, conductor, repository};

const TWO: &str = "
tasks:
  - { id: first, run: 'echo said-by-the-task; echo 1 > first.txt', verify: ['test -f first.txt'] }
  - { id: second, run: 'echo 2 > second.txt', dependencies: [first] }
";

const FAILS_ONCE: &str = "tasks: [{ id: a, run: 'test -f HERE/there' }]";

fn file(world: &World) -> PathBuf {
    world.home().join("runs").join(world.run_id()).join("conductor.log")
}

fn log(world: &World) -> String {
    fs::read_to_string(file(world)).unwrap()
}

#[track_caller]
fn line<'t>(text: &'t str, parts: &[&str]) -> &'t str {
    let fits = |line: &&str| parts.iter().all(|part| line.contains(part));
    text.lines().find(fits).unwrap_or_else(|| panic!("no line with {parts:?} in\n{text}"))
}

#[test]
fn the_file_of_a_run_has_its_steps_its_git_calls_and_how_long_they_took() {
    let world = repository(TWO);
    let ended = conductor(&world, &["run", "../tasks.yaml"]).expect(0);
    assert!(!ended.stderr.contains("conductor_engine") && !ended.stderr.contains("conductor: git "));
    let (text, run) = (log(&world), format!("run{{id={}}} ", world.run_id()));
    assert!(text.lines().all(|line| line.contains(&run)), "{text}");
    assert!(!text.contains(&format!("{run}{run}")), "{text}");
    let of_first = format!("{run}attempt{{task=first attempt=1}} ");
    line(&text, &["DEBUG", &of_first, "conductor_engine::git: called git git=", "took=", "ok=true"]);
    line(&text, &["DEBUG", &format!("{run}merge{{}} "), "called git git="]);
    line(&text, &["the run is taken up tasks=2"]);
    line(&text, &["INFO", &of_first, "the attempt begins"]);
    line(&text, &[&of_first, "a command of the task ended command=\"test -f first.txt\" exit=0 took="]);
    line(&text, &[&of_first, "the attempt ended outcome=succeeded took=", "working=", "verifying="]);
    line(&text, &["the merge train is ready cars=1 good=1 refused=0 took="]);
    line(&text, &["the branch of the run was moved", "took="]);
    line(&text, &["the run is left", "took="]);
    line(&text, &["exit=0"]);
    // Before the run had a folder.
    let first = text.lines().next().unwrap();
    assert!(first.contains("called git"), "{first}");
    assert!(!text.contains("said-by-the-task"), "{text}");
    assert_eq!(fs::metadata(file(&world)).unwrap().permissions().mode() & 0o777, 0o600);
    let shown = conductor(&world, &["logs", "--coordinator"]).expect(0);
    assert_eq!(shown.stdout, text);
    conductor(&world, &["logs", "--coordinator", "first"]).expect(2);
    conductor(&world, &["logs"]).expect(2);
    conductor(&world, &["runs", "prune", "--keep", "0", "--yes"]).expect(0);
    assert_eq!(world.runs(), [""; 0]);
}

#[test]
fn verbose_twice_and_levels_print_it_too() {
    let world = repository(TWO);
    let of_first = "attempt{task=first attempt=1} conductor_engine::git: called git";
    let stderr =
        |args: &[&str]| conductor(&world, &[&["run", "../tasks.yaml"], args].concat()).expect(0).stderr;
    let once = stderr(&["-v"]);
    assert!(once.contains("conductor: git ") && !once.contains("called git"), "{once}");
    let twice = stderr(&["-vv"]);
    line(&twice, &["DEBUG", of_first]);
    line(&twice, &["a process started program="]);
    line(&twice, &["conductor: exit code 0 after"]);
    assert!(!twice.contains("conductor: git "), "{twice}");
    let debug = stderr(&["--log-level", "debug"]);
    line(&debug, &["DEBUG", of_first]);
    assert!(!debug.contains("exit code 0 after"), "{debug}");
    let info = stderr(&["--log-level", "info"]);
    line(&info, &["INFO", "the attempt begins"]);
    assert!(!info.contains("called git"), "{info}");
    let only = stderr(&["--log-level=conductor_engine::git=trace"]);
    line(&only, &[of_first]);
    assert!(!only.contains("the attempt begins"), "{only}");
    // What is asked for beyond the usual is in the file as well.
    let newest = fs::read_dir(world.home().join("runs")).unwrap().flatten();
    let with_details = newest.filter(|run| {
        fs::read_to_string(run.path().join("conductor.log")).unwrap().contains("a process started")
    });
    assert_eq!(with_details.count(), 2);
}

#[test]
fn the_variable_does_what_the_option_does_and_the_option_wins() {
    let mut world = repository(TWO);
    world.set("CONDUCTOR_LOG", "debug");
    let ended = conductor(&world, &["run", "../tasks.yaml"]).expect(0);
    line(&ended.stderr, &["DEBUG", "called git"]);
    assert!(!ended.stderr.contains("has no effect"), "{}", ended.stderr);
    let ended = conductor(&world, &["run", "../tasks.yaml", "--log-level", "off"]).expect(0);
    assert!(!ended.stderr.contains("DEBUG"), "{}", ended.stderr);
    for bad in ["loud", "git", "git=loud"] {
        world.set("CONDUCTOR_LOG", bad);
        let told = format!("CONDUCTOR_LOG: '{bad}' is no level: use off, error, warn, info, debug or trace");
        conductor(&world, &["status"]).expect(2).says(&told);
        world.unset("CONDUCTOR_LOG");
        let ended = conductor(&world, &["status", "--log-level", bad]).expect(2);
        ended.says(&format!("'{bad}'")).says("off, error, warn, info, debug or trace");
    }
    world.set("CONDUCTOR_LOG_FORMAT", "xml");
    conductor(&world, &["status"]).expect(2).says("CONDUCTOR_LOG_FORMAT: 'xml' is neither text nor json");
}

#[test]
fn json_lines_name_run_task_and_attempt() {
    let mut world = repository(TWO);
    world.set("CONDUCTOR_LOG_FORMAT", "json");
    let ended = conductor(&world, &["run", "../tasks.yaml", "--log-level", "debug"]).expect(0);
    let run = world.run_id();
    let logged = log(&world);
    let lines: Vec<Value> = logged.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert!(lines.iter().all(|line| line["run"] == run.as_str() && line["at"].is_string()));
    let call = lines.iter().find(|line| line["message"] == "called git" && line["task"] == "second").unwrap();
    assert!(call["attempt"] == 1 && call["took"].is_u64() && call["ok"] == true, "{call}");
    assert_eq!(call["target"], "conductor_engine::git");
    let shown = ended.stderr.lines().filter(|line| line.starts_with('{'));
    let shown: Vec<Value> = shown.map(|line| serde_json::from_str(line).unwrap()).collect();
    assert!(shown.len() >= lines.len(), "{} {}", shown.len(), lines.len());
}

#[test]
fn secrets_are_in_neither() {
    // Its name is in a span, and in a notice.
    let mut world = repository(
        "
tasks:
  - id: tangerine-of-the-user-3
    run: 'echo 1 > new.txt'
    env: { APP_TOKEN: marmalade-of-the-task-7 }
    verify: ['echo marmalade-of-the-task-7', 'test -f HERE/mended-$CONDUCTOR_ATTEMPT || { touch HERE/mended-$CONDUCTOR_ATTEMPT; false; }']
    fix_rounds: 1
",
    );
    world.set("USER_TOKEN", "tangerine-of-the-user-3");
    for format in ["text", "json"] {
        let args = ["run", "../tasks.yaml", "--log-level", "trace", "--log-format", format];
        let ended = conductor(&world, &args).expect(0);
        let _ = fs::remove_file(world.path("mended-1"));
        assert!(!ended.stderr.contains("marmalade-of") && !ended.stderr.contains("tangerine-of"));
        assert!(ended.stderr.contains("echo *******"), "{}", ended.stderr);
    }
    for run in world.runs() {
        let text = fs::read_to_string(world.home().join("runs").join(run).join("conductor.log")).unwrap();
        assert!(!text.contains("marmalade-of") && !text.contains("tangerine-of"), "{text}");
        assert!(text.contains("echo *******"), "{text}");
        assert!(
            text.contains("notice=\"***********************") || text.contains("notice\":\"*****"),
            "{text}"
        );
        assert!(text.lines().any(|line| line.contains("called git") && line.contains("*******")), "{text}");
    }
}

#[test]
fn a_resumed_run_and_one_in_the_background_go_on_in_the_same_file() {
    let world = repository(FAILS_ONCE);
    conductor(&world, &["run", "../tasks.yaml"]).expect(100);
    let before = log(&world);
    line(&before, &["the attempt ended outcome=failed class=exit took="]);
    world.write("there", "");
    conductor(&world, &["run", "--resume", &world.run_id(), "--retry-failed", "--detach"]).expect(0);
    conductor(&world, &["wait"]).expect(0);
    let text = log(&world);
    assert!(text.starts_with(&before), "{text}");
    line(&text, &["attempt{task=a attempt=2}", "the attempt ended outcome=succeeded"]);
}

#[test]
fn a_log_that_cannot_be_written_does_not_disturb_a_run() {
    let world = repository(FAILS_ONCE);
    conductor(&world, &["run", "../tasks.yaml"]).expect(100);
    world.write("there", "");
    fs::remove_file(file(&world)).unwrap();
    symlink("/dev/full", file(&world)).unwrap();
    let mut resume = command(&world, &["run", "--resume", &world.run_id(), "--retry-failed"]);
    let ended = world.spawn(&mut resume).ended().expect(0);
    assert!(!ended.stderr.contains("No space left"), "{}", ended.stderr);
}

/// A run may be of very many commands, and the file says little of each.
#[test]
fn commands_in_place_that_succeed_leave_no_lines() {
    let tasks: Vec<String> = (0..50).map(|number| format!("{{ id: t{number}, run: 'true' }}")).collect();
    let world = World::in_place(&format!("tasks: [{}]", tasks.join(", ")));
    world.conductor(&["run", "tasks.yaml"]).expect(0);
    let text = log(&world);
    assert!(text.lines().count() < 10, "{text}");
}
