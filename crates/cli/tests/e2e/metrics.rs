//! `--metrics-file`: what a collector of such files reads while a run goes on, after it, and when it is taken up again.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::process::{Command, Stdio};

use rustix::process::Signal;

use crate::harness::{Live, World, skipped, wait_for};
use crate::repository::{CONFLICT, conductor, repository, start};

/// Every sample of a file by its name and labels.
fn samples(text: &str) -> BTreeMap<String, f64> {
    let lines = text.lines().filter(|line| !line.starts_with('#'));
    let sample = |line: &str| {
        let (name, value) = line.rsplit_once(' ').unwrap_or_else(|| panic!("{line}"));
        (name.to_owned(), value.parse().unwrap_or_else(|_| panic!("{line}")))
    };
    lines.map(sample).collect()
}

#[track_caller]
fn expect(text: &str, expected: &[(&str, f64)]) {
    let samples = samples(text);
    for (name, value) in expected {
        assert_eq!(samples.get(*name), Some(value), "{name} in\n{text}");
    }
}

/// Prometheus's own program has nothing to say against it.
#[track_caller]
fn expect_well_formed(text: &str) {
    let mut promtool = Command::new("promtool");
    promtool.args(["check", "metrics"]).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let Ok(mut child) = promtool.spawn() else {
        return skipped("promtool is not installed; cargo xtask test gets it");
    };
    std::io::Write::write_all(&mut child.stdin.take().unwrap(), text.as_bytes()).unwrap();
    let told = child.wait_with_output().unwrap();
    let (out, err) = (String::from_utf8_lossy(&told.stdout), String::from_utf8_lossy(&told.stderr));
    assert!(told.status.success() && out.is_empty() && err.is_empty(), "{out}{err}\n{text}");
}

/// Waits until the file says so.
#[track_caller]
fn wait_for_sample(world: &World, file: &str, name: &str, value: f64) -> String {
    wait_for(&format!("{name} {value}"), || {
        let text = world.read(file);
        (samples(&text).get(name) == Some(&value)).then_some(text)
    })
}

/// Counters never go down.
#[track_caller]
fn expect_no_less(before: &str, after: &str) {
    let now = samples(after);
    for (name, value) in samples(before) {
        let is_counter = name.contains("_total") || name.starts_with("conductor_task_duration_seconds");
        assert!(!is_counter || now.get(&name) >= Some(&value), "{name} was {value}, now\n{after}");
    }
}

#[test]
fn a_run_by_agents_and_commands_is_counted_by_all_labels() {
    let mut world = repository(
        "
config:
  retry_policy: { max_attempts: 1 }
  prices: { 'house-*': { input: 0.5, output: 2 } }
tasks:
  - { id: told, prompt: do it, agent: teller }
  - { id: make, run: 'true' }
  - { id: bad, run: exit 3 }
  - { id: after, run: 'true', dependencies: [bad] }
",
    );
    let bin = world.path("bin");
    fs::create_dir(&bin).unwrap();
    let program = bin.join("conductor-agent-teller");
    fs::write(
        &program,
        "#!/bin/sh\nread -r task\necho x > file.txt\n\
         echo '{\"type\":\"usage\",\"model\":\"house-model\",\"input\":1000000,\"output\":500000,\"turns\":2}'\n\
         echo '{\"type\":\"usage\",\"input\":30,\"output\":12,\"turns\":1}'\n\
         echo '{\"type\":\"result\",\"ok\":true,\"text\":\"done\"}'\n",
    )
    .unwrap();
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    let path = format!("{}:{}", bin.display(), std::env::var("PATH").unwrap());
    world.set("PATH", path);
    conductor(&world, &["run", "../tasks.yaml", "-p", "2", "--metrics-file", "../c.prom"]).expect(100);
    let text = world.read("c.prom");
    expect(
        &text,
        &[
            ("conductor_tasks_total{state=\"completed\",agent=\"teller\"}", 1.0),
            ("conductor_tasks_total{state=\"completed\",agent=\"command\"}", 1.0),
            ("conductor_tasks_total{state=\"failed\",agent=\"command\"}", 1.0),
            ("conductor_tasks_total{state=\"skipped\",agent=\"none\"}", 1.0),
            ("conductor_task_duration_seconds_count{state=\"completed\"}", 2.0),
            ("conductor_task_duration_seconds_bucket{state=\"completed\",le=\"28800\"}", 2.0),
            ("conductor_cost_usd_total{model=\"house-model\"}", 1.5),
            ("conductor_tokens_total{model=\"house-model\",type=\"input\"}", 1_000_000.0),
            ("conductor_tokens_total{model=\"house-model\",type=\"output\"}", 500_000.0),
            ("conductor_tokens_total{model=\"unknown\",type=\"input\"}", 30.0),
            ("conductor_task_retries_total{reason=\"failed\"}", 0.0),
            ("conductor_merge_conflicts_total", 0.0),
            ("conductor_tasks_running", 0.0),
            ("conductor_queue_depth", 0.0),
            ("conductor_slots{state=\"busy\"}", 0.0),
            ("conductor_worktrees", 0.0),
            (&format!("conductor_build_info{{version=\"{}\"}}", env!("CARGO_PKG_VERSION")), 1.0),
        ],
    );
    assert!(samples(&text)["conductor_store_append_seconds_count"] >= 2.0, "{text}");
    assert!(!text.contains(&world.run_id()) && !text.contains("told"), "no run and no task is named\n{text}");
    expect_well_formed(&text);
    let left: Vec<_> =
        fs::read_dir(world.path("")).unwrap().flatten().map(|entry| entry.file_name()).collect();
    assert!(!left.iter().any(|name| name.to_string_lossy().ends_with(".new")), "{left:?}");
}

/// Two tasks that wait to be let go, one at a time.
fn waiting() -> World {
    World::in_place(
        "
tasks:
  - { id: first, run: AGENT touch up then await go }
  - { id: second, run: AGENT touch up then await go2, dependencies: [first] }
",
    )
}

fn started(world: &World) -> Live {
    let live = world.start(&["run", "tasks.yaml", "-p", "3", "--metrics-file", "c.prom"]);
    world.wait_for_file("up");
    live
}

#[test]
fn the_file_follows_the_run_and_a_resume_goes_on_from_there() {
    let world = waiting();
    let live = started(&world);
    let text = wait_for_sample(&world, "c.prom", "conductor_tasks_running", 1.0);
    expect_well_formed(&text);
    expect(
        &text,
        &[
            ("conductor_queue_depth", 1.0),
            ("conductor_slots{state=\"busy\"}", 1.0),
            ("conductor_slots{state=\"free\"}", 2.0),
            ("conductor_tasks_total{state=\"completed\",agent=\"command\"}", 0.0),
        ],
    );
    world.write("go", "");
    // Within seconds, while the run goes on.
    let before = wait_for_sample(
        &world,
        "c.prom",
        "conductor_tasks_total{state=\"completed\",agent=\"command\"}",
        1.0,
    );
    live.signal(Signal::KILL);
    drop(live);
    world.write("go2", "");
    let ended = world.conductor(&["run", "--resume", "--metrics-file", "c.prom"]).expect(0);
    ended.says("2 of 2 completed");
    let after = world.read("c.prom");
    expect_no_less(&before, &after);
    expect(
        &after,
        &[
            ("conductor_tasks_total{state=\"completed\",agent=\"command\"}", 2.0),
            ("conductor_task_duration_seconds_count{state=\"completed\"}", 2.0),
            ("conductor_tasks_running", 0.0),
        ],
    );
    expect_well_formed(&after);
}

#[test]
fn what_failed_stays_counted_when_it_is_retried() {
    let mut world = World::in_place("tasks: [{ id: once, run: test -e there }]");
    world.set("CONDUCTOR_METRICS_FILE", world.path("c.prom"));
    world.conductor(&["run", "tasks.yaml"]).expect(100);
    let before = world.read("c.prom");
    world.write("there", "");
    world.conductor(&["run", "--retry-failed"]).expect(0);
    let after = world.read("c.prom");
    expect_no_less(&before, &after);
    let ended = |state: &str| format!("conductor_tasks_total{{state=\"{state}\",agent=\"command\"}}");
    expect(&after, &[(&ended("failed"), 1.0), (&ended("completed"), 1.0)]);
}

#[test]
fn a_run_in_the_background_has_its_metrics_where_it_was_started() {
    let world = waiting();
    let ended = world.conductor(&["run", "tasks.yaml", "--detach", "--metrics-file", "c.prom"]).expect(0);
    ended.says("goes on in the background");
    wait_for_sample(&world, "c.prom", "conductor_tasks_running", 1.0);
    world.write("go", "");
    world.write("go2", "");
    world.conductor(&["wait", &world.run_id()]).expect(0);
    wait_for_sample(&world, "c.prom", "conductor_tasks_total{state=\"completed\",agent=\"command\"}", 2.0);
}

#[test]
fn a_path_that_cannot_be_written_is_refused_before_anything_starts() {
    let world = World::in_place("tasks: [{ id: a, run: touch ran }]");
    for (path, why) in [
        ("missing/c.prom", "No such file or directory"),
        (".", "it is not a file"),
        ("/dev/null", "it is not a file"),
    ] {
        for more in [&[][..], &["--detach"], &["--dry-run"]] {
            let args = [&["run", "tasks.yaml", "--metrics-file", path], more].concat();
            let ended = world.conductor(&args).expect(2);
            ended.says("cannot write metrics to").says(why).says("nothing was started");
        }
    }
    assert!(world.runs().is_empty() && !world.path("ran").exists());
}

#[test]
fn a_file_that_cannot_be_written_any_more_is_told_once_and_fails_nothing() {
    let world = waiting();
    fs::create_dir(world.path("collected")).unwrap();
    let live = world.start(&["run", "tasks.yaml", "--metrics-file", "collected/c.prom"]);
    world.wait_for_file("up");
    world.wait_for_file("collected/c.prom");
    fs::remove_dir_all(world.path("collected")).unwrap();
    world.write("go", "");
    live.wait_for_stderr("the metrics could not be written to");
    world.write("go2", "");
    let ended = live.ended().expect(0).says("2 of 2 completed");
    assert_eq!(ended.stderr.matches("the metrics could not be written").count(), 1, "{}", ended.stderr);
}

#[test]
fn conflicts_and_worktrees_are_counted() {
    let world = repository(CONFLICT);
    let live = start(&world, &["-p", "2", "--metrics-file", "../c.prom"]);
    live.wait_for_stderr("ok      left");
    wait_for("a worktree", || {
        let samples = samples(&world.read("c.prom"));
        samples.get("conductor_worktrees").filter(|count| **count >= 1.0).copied()
    });
    world.write("landed", "");
    live.ended().expect(101);
    expect(&world.read("c.prom"), &[("conductor_merge_conflicts_total", 1.0), ("conductor_worktrees", 0.0)]);
}

#[test]
fn the_file_is_no_change_of_the_checkout_it_is_in() {
    let world = repository("tasks: [{ id: a, run: AGENT await HERE/go }]");
    let live = start(&world, &["--lookout", "100ms", "--metrics-file", "c.prom"]);
    wait_for_sample(&world, "repo/c.prom", "conductor_tasks_running", 1.0);
    world.write("repo/stray.txt", "");
    live.wait_for_stderr("stray.txt");
    world.write("go", "");
    let ended = live.ended().expect(0);
    assert!(!ended.stderr.contains("c.prom"), "{}", ended.stderr);
}
