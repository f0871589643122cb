//! Files that are wrong, hostile or absent: each is refused with its exit code and a clear message, and
//! nothing starts.

use std::fmt::Write as _;
use std::fs;
use std::time::{Duration, Instant};

use crate::harness::{Ended, World};

/// Runs a file that must be refused, and checks that nothing came of it.
#[track_caller]
fn refused(world: &World, args: &[&str]) -> Ended {
    let before = outside(world);
    let ended = world.conductor(args).expect(3);
    assert!(ended.stderr.contains("error"), "{}", ended.stderr);
    assert_eq!(ended.stdout, "");
    assert!(ended.stderr.len() < 20_000, "{} bytes of complaint", ended.stderr.len());
    assert_eq!(world.runs(), [""; 0]);
    assert_eq!(outside(world), before);
    ended
}

/// Names beside the world's own directory, where an id with `..` would end up.
fn outside(world: &World) -> Vec<String> {
    let names = |path: &std::path::Path| -> Vec<String> {
        let entries = fs::read_dir(path).unwrap().flatten();
        let mut names: Vec<String> = entries
            .map(|entry| entry.file_name().to_string_lossy().into_owned())
            .filter(|name| !name.ends_with(".stdout") && !name.ends_with(".stderr"))
            .collect();
        names.sort();
        names
    };
    let mut all = names(world.root());
    all.extend(names(&world.path("")));
    all
}

#[test]
fn what_is_no_file() {
    let world = World::new();
    refused(&world, &["run", "."]).says("it is a directory");
    refused(&world, &["run", "nowhere.yaml"]).says("nowhere.yaml").says("there is no such file");
}

#[test]
fn what_is_no_text() {
    let world = World::with("");
    refused(&world, &["run", "tasks.yaml"]).says("empty-file");
    fs::write(world.path("tasks.yaml"), b"tasks:\n  - id: \xff\xfe\n").unwrap();
    refused(&world, &["run", "tasks.yaml"]).says("not-utf8");
    fs::write(world.path("tasks.yaml"), b"tasks:\n  - id: a\n    run: \"ls \\0 x\"\n").unwrap();
    refused(&world, &["run", "tasks.yaml"]).says("nul-byte");
}

#[test]
fn a_file_built_to_blow_up() {
    let mut bomb = String::from("a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n");
    for level in 1..30 {
        let before = vec![format!("*a{}", level - 1); 10].join(", ");
        let _ = writeln!(bomb, "a{level}: &a{level} [{before}]");
    }
    let deep = format!("tasks: {}{}", "[".repeat(100_000), "]".repeat(100_000));
    let deep_json = format!("{{\"tasks\": {}{}}}", "[".repeat(100_000), "]".repeat(100_000));
    let deep_block: String = (0..3_000).map(|level| format!("{}a:\n", " ".repeat(level))).collect();
    for (text, code) in
        [(bomb, "alias-bomb"), (deep, "too-deep"), (deep_json, "too-deep"), (deep_block, "too-deep")]
    {
        let world = World::new();
        fs::write(world.path("tasks.yaml"), text).unwrap();
        let start = Instant::now();
        refused(&world, &["run", "tasks.yaml"]).says(code);
        // 100 ms in a release build; this is a debug one on a busy machine.
        assert!(start.elapsed() < Duration::from_secs(5), "{code}: {:?}", start.elapsed());
    }
}

/// D4.
#[test]
fn ids_that_would_leave_the_state_directory() {
    for id in ["../../etc", "-rf", ".git", "..", "a/b", "a\\0b", "$(touch pwned)", "@{", ""] {
        let world = World::new();
        world.write("tasks.yaml", &format!("tasks:\n  - id: \"{id}\"\n    run: touch pwned\n"));
        refused(&world, &["run", "tasks.yaml"]).says("tasks.yaml:2:");
    }
    let twins = World::with("tasks: [{ id: a, run: touch pwned }, { id: A, run: touch pwned }]");
    refused(&twins, &["run", "tasks.yaml"]).says("case-twin");
}

/// D4 on the command line: a run's name is a name, not a path.
#[test]
fn run_names_that_would_leave_the_state_directory() {
    let world = World::with("tasks: [{ id: a, run: 'true' }]");
    world.conductor(&["run", "tasks.yaml"]).expect(0);
    for name in ["..", "../state", "%", "$(id)", "a b"] {
        let ended = world.conductor(&["run", "--resume", name]);
        assert!(matches!(ended.code, Some(2..=4)), "{name}: {ended:?}");
    }
    assert_eq!(world.runs().len(), 1);
}

/// D5: words that a shell would act on arrive as they are.
#[test]
fn arguments_are_never_read_by_a_shell_unless_the_task_is_a_shell_line() {
    let world = World::with(
        "
tasks:
  - id: words
    run: [printf, '%s\\n', -x, $(touch pwned), '@{', '`touch pwned`', '; touch pwned', \"a\\nb\"]
    env: { VALUE: $(touch pwned) }
",
    );
    world.conductor(&["run", "tasks.yaml"]).expect(0);
    let text = String::from_utf8(world.transcript("words")).unwrap();
    assert_eq!(text, "-x\n$(touch pwned)\n@{\n`touch pwned`\n; touch pwned\na\nb\n");
    assert!(!world.path("pwned").exists());
}

/// D2.
#[test]
fn a_cycle_of_ten_thousand_is_named() {
    let mut text = String::from("tasks:\n");
    for task in 0..10_000 {
        let _ = writeln!(
            text,
            "  - {{ id: t{task}, run: touch pwned, dependencies: [t{}] }}",
            (task + 1) % 10_000
        );
    }
    let world = World::with(&text);
    let start = Instant::now();
    let ended = refused(&world, &["run", "tasks.yaml"]).says("dependency-cycle");
    // 1 s in a release build.
    assert!(start.elapsed() < Duration::from_secs(20), "{:?}", start.elapsed());
    assert!(ended.stderr.contains("t0"), "{}", ended.stderr);
    assert_eq!(ended.stderr.matches("error[").count(), 1);
}

#[test]
fn a_directory_that_vanished_is_named() {
    let world =
        World::with("tasks: [{ id: first, run: AGENT await go }, { id: second, run: AGENT touch done }]");
    let live = world.start(&["run", "tasks.yaml", "-o", &world.root().join("out").display().to_string()]);
    world.wait_for_run();
    live.wait_for_stderr("start   first");
    let away = world.root().join("away");
    fs::rename(world.path(""), &away).unwrap();
    fs::write(away.join("go"), "").unwrap();
    let ended = live.ended().expect(100);
    assert!(
        ended.stdout.contains("failed second: the directory") && ended.stdout.contains("is gone"),
        "{ended:?}"
    );
    fs::rename(&away, world.path("")).unwrap();
    world.conductor(&["run", "--retry-failed"]).expect(0);
    assert_eq!(world.read("done").lines().count(), 1);
}

#[test]
fn a_run_whose_directory_is_gone_is_not_taken_up_elsewhere() {
    let world = World::with("tasks: [{ id: a, run: 'false' }]");
    world.conductor(&["run", "tasks.yaml"]).expect(100);
    let id = world.run_id();
    fs::rename(world.path(""), world.root().join("away")).unwrap();
    fs::create_dir(world.root().join("other")).unwrap();
    let mut command = world.command(&["run", "--resume", &id, "--retry-failed"]);
    let live = world.spawn(command.current_dir(world.root().join("other")));
    live.ended().expect(1).says("which is gone");
}

#[test]
fn a_state_directory_that_cannot_be_used_is_named() {
    let mut world = World::with("tasks: [{ id: a, run: AGENT touch done }]");
    fs::write(world.root().join("file"), "").unwrap();
    let file = world.root().join("file");
    world.set("CONDUCTOR_HOME", &file);
    world.conductor(&["run", "tasks.yaml"]).expect(1).says("cannot use the state directory");
    assert_eq!(world.read("done"), "");
}
