//! The first commands that a new user types: no FILE, no command at all, help, and the options every command takes.

use std::fs;

use crate::harness::{CONDUCTOR, World, skipped, wait_for};
use crate::questions::{self, ASKER, ASKING};
use crate::repository::{conductor, git, repository, start};
use crate::tmux::Terminal;

const ONE: &str = "tasks: [{ id: a, run: AGENT touch done }]";
const THREE: &str = "
tasks:
  - { id: a, run: 'true' }
  - { id: b, run: 'true', dependencies: [a] }
  - { id: c, run: 'true' }
";

#[test]
fn run_without_a_file_takes_the_first_of_three_names() {
    let world = World::new();
    let file = |id: &str| format!("tasks: [{{ id: {id}, run: 'true' }}]");
    fs::create_dir_all(world.path(".conductor")).unwrap();
    for (name, id) in
        [("tasks.yaml", "last"), (".conductor/tasks.yaml", "second"), ("conductor.yaml", "first")]
    {
        world.write(name, &file(id));
        let ended = world.conductor(&["run", "--dry-run"]).expect(0);
        assert!(ended.stdout.contains(id), "{name}: {}", ended.stdout);
        assert_eq!(
            ended.stderr.matches(&format!("no FILE is named: taking {name}\n")).count(),
            1,
            "{}",
            ended.stderr
        );
    }
    for verb in [&["graph"][..], &["rehearse"], &["group", "plan"]] {
        world.conductor(verb).expect(0).says("first").says("taking conductor.yaml");
    }
    world.conductor(&["validate"]).expect(0).says("conductor.yaml is valid").says("taking conductor.yaml");
    assert!(!world.conductor(&["graph", "tasks.yaml"]).expect(0).stderr.contains("taking"));
    world.conductor(&["run"]).expect(0).says("taking conductor.yaml");
    world.conductor(&["run", "--retry-failed"]).expect(4);
}

#[test]
fn run_without_a_file_looks_in_the_root_of_the_repository() {
    let world = repository("tasks: []");
    fs::create_dir_all(world.path("repo/deep/er")).unwrap();
    world.write("repo/tasks.yaml", "tasks: [{ id: of-the-root, run: 'true' }]");
    let in_folder = |args: &[&str]| {
        let mut command = world.command(args);
        command.current_dir(world.path("repo/deep/er"));
        world.spawn(&mut command).ended()
    };
    in_folder(&["run", "--dry-run"]).expect(0).says("of-the-root").says("taking ../../tasks.yaml");
    world.write("repo/deep/er/tasks.yaml", "tasks: [{ id: of-the-folder, run: 'true' }]");
    in_folder(&["graph"]).expect(0).says("of-the-folder").says("taking tasks.yaml");
}

#[test]
fn run_without_a_file_names_all_three_where_there_is_none() {
    let world = World::new();
    for verb in ["run", "validate", "graph", "rehearse"] {
        let ended = world.conductor(&[verb]).expect(2).says("conductor init");
        let ended = ended.says("conductor.yaml, .conductor/tasks.yaml or tasks.yaml");
        ended.says(world.path("").display().to_string().trim_end_matches('/'));
    }
    assert!(world.runs().is_empty());
}

/// The screen of `conductor` alone, in a folder of the world.
fn alone(world: &mut World, folder: &str) -> Option<String> {
    let terminal = Terminal::open_in(world, folder, (80, 24), "")?;
    terminal.ended(0);
    let screen = terminal.screen();
    let runs = terminal.world.runs();
    // As long as it is, so that columns stay where they are.
    let shown = runs.iter().fold(screen, |screen, run| screen.replace(run, "RUN-NAME"));
    let shown = shown.replace(&terminal.world.root().display().to_string(), "HERE");
    Some(shown.lines().map(|line| format!("{}\n", masked(line))).collect())
}

/// Without what differs from one time to the next: when it was, how long it took.
fn masked(line: &str) -> String {
    let is_figure =
        |word: &&str| word.starts_with(|c: char| c.is_ascii_digit()) && word.contains(['s', ':', '-']);
    let words = line.split(' ').map(|word| match is_figure(&word) {
        true => "TIME".to_owned() + if word.ends_with(';') { ";" } else { "" },
        false => word.to_owned(),
    });
    words.collect::<Vec<_>>().join(" ")
}

#[test]
fn conductor_alone_says_where_things_stand() {
    let mut world = repository("tasks: []");
    fs::create_dir(world.path("elsewhere")).unwrap();
    fs::remove_file(world.path("tasks.yaml")).unwrap();
    fs::remove_dir(world.home()).unwrap();
    let mut album = String::new();
    let mut add = |title: &str, world: &mut World, folder: &str| {
        let Some(screen) = alone(world, folder) else { return false };
        album += &format!("--- {title}\n{screen}");
        true
    };
    if !add("no repository, no file", &mut world, "elsewhere") {
        return;
    }
    add("a repository, no file", &mut world, "repo");
    world.write("repo/tasks.yaml", "tasks: [{ id: a, run: 'true', dependencies: [b] }]");
    add("a file with errors", &mut world, "repo");
    world.write(
        "repo/tasks.yaml",
        "tasks: [{ id: a, run: 'test -e HERE/mended && echo x > x.txt' }, { id: b, run: 'true' }]"
            .replace("HERE", &world.path("").display().to_string())
            .as_str(),
    );
    add("a file", &mut world, "repo");
    assert!(!world.home().exists(), "looking makes no state directory");
    conductor(&world, &["run"]).expect(100);
    add("a run that failed", &mut world, "repo");
    world.write("mended", "");
    conductor(&world, &["run", "--retry-failed"]).expect(0);
    add("a run that completed", &mut world, "repo");
    git(&world, &["merge", "-q", &format!("conductor/{}", world.run_id())]);
    add("and was merged", &mut world, "repo");
    insta::assert_snapshot!("conductor_alone", album);
}

#[test]
fn conductor_alone_names_a_file_that_would_not_be_found() {
    let world = World::in_place(ONE);
    fs::rename(world.path("tasks.yaml"), world.path("all of it.yaml")).unwrap();
    world.conductor(&["run", "all of it.yaml"]).expect(0);
    let next = world.conductor(&["--json"]).expect(0).json()["next"].clone();
    let file = world.path("all of it.yaml").canonicalize().unwrap();
    assert_eq!(next[2]["command"], format!("conductor run '{}'", file.display()), "{next}");
    fs::remove_file(file).unwrap();
    let next = world.conductor(&["--json"]).expect(0).json()["next"].clone();
    assert_eq!(next[2]["command"], "conductor init", "{next}");
}

#[test]
fn conductor_alone_names_what_is_active_and_what_waits_for_the_user() {
    let mut world = questions::world(ASKING, &[("asker", ASKER)]);
    fs::write(world.path("repo/tasks.yaml"), world.read("tasks.yaml")).unwrap();
    let live = start(&world, &[]);
    wait_for("the other task", || world.logged("task_completed").contains(&"other".to_owned()).then_some(()));
    let json = wait_for("the question", || {
        let json = conductor(&world, &["--json"]).expect(0).json();
        (json["questions"] != serde_json::json!([])).then_some(json)
    });
    assert_eq!(json["schema"], "conductor.overview/1");
    let run = world.run_id();
    assert_eq!(
        (&json["active"][0]["run"], &json["last_run"]["run"]),
        (&run.clone().into(), &run.clone().into())
    );
    assert_eq!(json["questions"][0]["run"], run);
    let task = json["questions"][0]["task"].as_str().unwrap().to_owned();
    assert_eq!(json["next"][0]["command"], format!("conductor task approve {task} --run {run}"));
    assert_eq!(json["next"].as_array().unwrap().len(), 3);
    if let Some(screen) = alone(&mut world, "repo") {
        insta::assert_snapshot!("conductor_alone_asked", screen);
    }
    world.conductor(&["--json", "status"]).expect(2).says("--json belongs after");
    let approve = json["next"][0]["command"].as_str().unwrap().split(' ').skip(1).collect::<Vec<_>>();
    conductor(&world, &approve).expect(0);
    drop(live);
}

#[test]
fn help_lists_commands_under_headings() {
    let mut world = World::new();
    let help = world.conductor(&["--help"]).expect(0).stdout;
    insta::assert_snapshot!("help", help);
    let places = ["Start:", "Watch:", "Steer:", "Review:", "Set up:", "More:", "Options:"];
    let places = places.map(|heading| help.find(heading).unwrap_or_else(|| panic!("no {heading}")));
    assert!(places.is_sorted());
    let run =
        world.conductor(&["run", "--help"]).expect(0).says("--max-concurrency").says("[default: 1]").stdout;
    for option in ["-C <DIR>", "-q, --quiet", "-v, --verbose", "--color <WHEN>"] {
        for text in [&help, &run, &world.conductor(&["runs", "list", "--help"]).expect(0).stdout] {
            assert!(text.contains(option), "no {option} in {text}");
        }
    }
    let Some(terminal) = Terminal::open(&mut world, (80, 24), "--help") else { return };
    terminal.ended(0);
    insta::assert_snapshot!("help_narrow", terminal.everything().trim_end());
}

#[test]
fn c_changes_the_directory_first_before_or_after_the_verb() {
    let world = World::new();
    fs::create_dir_all(world.path("one/two")).unwrap();
    world.write("one/two/tasks.yaml", ONE);
    for args in [
        &["-C", "one/two", "run"][..],
        &["run", "-C", "one/two"],
        &["run", "tasks.yaml", "-C", "one", "-C", "two"],
        &["-C", "one", "run", "-C", "two", "tasks.yaml"],
        &["-q", "-C", "one/two", "run", "--detach"],
    ] {
        world.conductor(args).expect(0);
    }
    wait_for("five runs", || (world.read("one/two/done").lines().count() == 5).then_some(()));
    let json = world.conductor(&["runs", "list", "--here", "--json", "-C", "one/two"]).expect(0).json();
    assert_eq!(json["total"], 5);
    world.conductor(&["-C", "nowhere", "run"]).expect(2).says("-C: cannot change to nowhere");
    world.conductor(&["-C", "one/two/tasks.yaml", "run"]).expect(2).says("Not a directory");
}

#[test]
fn quiet_says_only_answers_and_errors_and_verbose_says_more() {
    let world = repository(THREE);
    let ended = conductor(&world, &["run", "../tasks.yaml", "--quiet"]).expect(0);
    assert_eq!(ended.stderr, "");
    assert!(ended.stdout.contains("3 of 3 completed"), "{}", ended.stdout);
    let ended = conductor(&world, &["-q", "run", "../nothing.yaml"]).expect(3);
    assert!(ended.stderr.contains("cannot read ../nothing.yaml"), "{}", ended.stderr);
    let ended = conductor(&world, &["graph", "../tasks.yaml", "-v"]).expect(0).says("exit code 0 after");
    let state = format!("state directory {}", world.home().display());
    ended.says(&state).says(".conductor/config.yaml (not there)").says("CONDUCTOR_HOME");
    let ended = conductor(&world, &["-v", "run", "../tasks.yaml", "-p", "2"]).expect(0);
    ended.says("conductor: git rev-parse").says("exit code 0");
    conductor(&world, &["-q", "-v", "status"]).expect(2);
}

#[test]
fn color_is_used_when_it_is_said() {
    let world = World::with("tasks: [{ id: a, run: 'true', dependencies: [b] }]");
    let colored = |args: &[&str]| {
        let ended = world.conductor(args);
        (ended.stdout + &ended.stderr).contains('\x1b')
    };
    for verb in [&["validate", "tasks.yaml"][..], &["--help"], &["rnu"], &["run", "--no-such-flag"]] {
        assert!(!colored(verb), "{verb:?}");
        assert!(colored(&[&["--color", "always"], verb].concat()), "{verb:?}");
        assert!(!colored(&[&["--color=never"], verb].concat()), "{verb:?}");
    }
    world.write("tasks.yaml", ONE);
    assert!(colored(&["run", "tasks.yaml", "--color", "always"]));
    world.conductor(&["--color", "pink", "run"]).expect(2).says("auto, always, never");
}

/// How many tasks would run at once.
fn slots(world: &World, args: &[&str]) -> String {
    let text = world.conductor(&[&["run", "--dry-run"], args].concat()).expect(0).stdout;
    text.lines().last().unwrap().split(", ").nth(1).unwrap().split(' ').next().unwrap().to_owned()
}

#[test]
fn parallel_alone_means_three() {
    let world = World::with(THREE);
    for (args, at_once) in [
        (&["tasks.yaml", "--parallel"][..], "3"),
        (&["--parallel", "tasks.yaml"], "3"),
        (&["-p", "tasks.yaml"], "3"),
        (&["--max-concurrency", "tasks.yaml"], "3"),
        (&["-p", "4", "tasks.yaml"], "4"),
        (&["-p5", "tasks.yaml"], "5"),
        (&["--parallel", "6", "tasks.yaml"], "6"),
        (&["--parallel=7", "tasks.yaml"], "7"),
        (&["--max-concurrency", "8"], "8"),
        (&["tasks.yaml"], "1"),
    ] {
        assert_eq!(slots(&world, args), at_once, "{args:?}");
    }
    world.conductor(&["rehearse", "--parallel", "tasks.yaml"]).expect(0).says("with 3 at once");
    for number in ["0", "-1", "1.5", "100001"] {
        let ended = world.conductor(&["run", "-p", number, "tasks.yaml"]).expect(2);
        if number != "-1" {
            ended.says("expected a number from 1 to 100000");
        }
    }
}

#[test]
fn a_sequential_run_says_how_to_get_more_at_once() {
    let mut world = World::with(THREE);
    let told = |world: &World, args: &[&str]| {
        let stderr = world.conductor(&[&["run", "tasks.yaml"], args].concat()).expect(0).stderr;
        stderr.matches("tasks run one at a time; -p N runs N at once").count()
    };
    assert_eq!(told(&world, &[]), 1);
    assert_eq!(told(&world, &["-p", "1"]), 0);
    assert_eq!(told(&world, &["--strategy", "sequential"]), 0);
    assert_eq!(told(&world, &["--only", "a"]), 0, "one task has nothing to wait for");
    assert_eq!(told(&world, &["--json"]), 0);
    fs::write(world.home().join("config.yaml"), "parallel: 1\n").unwrap();
    assert_eq!(told(&world, &[]), 0);
    fs::remove_file(world.home().join("config.yaml")).unwrap();
    world.set("CONDUCTOR_PARALLEL", "1");
    assert_eq!(told(&world, &[]), 0);
}

#[test]
fn a_mistyped_command_is_answered_with_the_nearest() {
    let world = World::with(ONE);
    let ended = world.conductor(&["rnu", "tasks.yaml"]).expect(2);
    assert_eq!(ended.stderr, "error: there is no command 'rnu'\nhelp: did you mean 'run'?\n");
    world
        .conductor(&["runs", "lst"])
        .expect(2)
        .says("there is no command 'lst'")
        .says("did you mean 'list'?");
    world.conductor(&["tasks.yaml"]).expect(2).says("to run this task file: conductor run tasks.yaml");
    world.conductor(&["frobnicate"]).expect(2).says("`conductor --help` lists every command");
    world
        .conductor(&["worktree", "frobnicate"])
        .expect(2)
        .says("`conductor worktree --help` lists every command");
}

#[test]
fn a_number_of_tasks_that_cannot_be_is_refused_with_what_is_allowed() {
    let world = World::with(ONE);
    for args in
        [&["run", "-p", "0"][..], &["rehearse", "-p", "0"], &["parallel", "0"], &["run", "--parallel=many"]]
    {
        world.conductor(args).expect(2).says("expected a number from 1 to 100000");
    }
}

/// What is answered into a pipe whose reader is gone, with its exit code.
fn into_a_closed_pipe(world: &World, args: &[&str]) -> (Option<i32>, String) {
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let child = world.command(args).stdout(writer).stderr(std::process::Stdio::piped()).spawn().unwrap();
    let output = child.wait_with_output().unwrap();
    (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
}

#[test]
fn a_reader_that_went_away_is_no_error() {
    let world = World::with("tasks: [{ id: a, run: 'echo spoken' }]");
    world.conductor(&["run", "tasks.yaml"]).expect(0);
    for args in [
        &["schema"][..],
        &["--help"],
        &["--version"],
        &[],
        &["version"],
        &["validate", "tasks.yaml"],
        &["validate", "tasks.yaml", "--json"],
        &["graph", "tasks.yaml"],
        &["rehearse", "tasks.yaml"],
        &["status"],
        &["events"],
        &["logs", "a"],
        &["runs", "list"],
        &["runs", "show"],
        &["report", "--format", "md"],
        &["cost"],
        &["prices"],
        &["config", "show"],
        &["explain", "100"],
        &["template", "list"],
        &["completions", "bash"],
        &["man"],
        &["doctor"],
    ] {
        assert_eq!(into_a_closed_pipe(&world, args), (Some(0), String::new()), "{args:?}");
    }
}

#[test]
fn a_repository_without_a_commit_or_a_checkout_is_refused_with_the_remedy() {
    let world = World::with(ONE);
    fs::create_dir(world.path("unborn")).unwrap();
    for args in [&["init", "-q", "unborn"][..], &["init", "-q", "--bare", "bare.git"]] {
        assert!(world.command_of("git").args(args).status().unwrap().success());
    }
    for (folder, why, remedy) in [
        ("unborn", "has no commit yet", "git commit --allow-empty"),
        ("bare.git", "is a bare repository", "git worktree add ../checkout"),
    ] {
        for extra in [&[][..], &["--dry-run"]] {
            let args = [&["-C", folder, "run", "../tasks.yaml"], extra].concat();
            world.conductor(&args).expect(3).says(why).says(remedy).says("nothing was started");
        }
        world.conductor(&["-C", folder]).expect(0).says(why);
    }
    assert!(world.runs().is_empty());
}

#[test]
fn an_output_directory_that_cannot_be_is_named_before_anything_starts() {
    let world = World::with(ONE);
    for (folder, shown) in [
        ("tasks.yaml/out", "tasks.yaml/out"),
        ("tasks.yaml", "tasks.yaml"),
        ("/proc/nowhere", "/proc/nowhere"),
    ] {
        let ended = world.conductor(&["run", "tasks.yaml", "-o", folder]).expect(2);
        ended.says("cannot write to the output directory").says(shown).says("-o DIR");
    }
    assert!(world.runs().is_empty());
    assert_eq!(world.read("done"), "");
    let planned = world.conductor(&["plan", "Do it", "-o", "tasks.yaml/plan.yaml"]).expect(1);
    planned.says("cannot write tasks.yaml/plan.yaml: ");
    world
        .conductor(&["template", "new", "tests", "--var", "target=x", "-o", "tasks.yaml/x"])
        .expect(1)
        .says("cannot write tasks.yaml/x");
}

#[test]
fn a_repository_that_cannot_be_written_is_refused_with_the_remedy() {
    let world = repository(THREE);
    let repo = world.path("repo").display().to_string();
    let read_only = |args: &str| {
        let script = format!(
            "mount --bind {repo} {repo} && mount -o remount,ro,bind {repo} && cd {repo} && exec {CONDUCTOR} {args}"
        );
        world.spawn(world.command_of("unshare").args(["-m", "sh", "-c", &script])).ended()
    };
    if read_only("version").code != Some(0) {
        return skipped("needs root and `unshare -m` to mount a folder read-only");
    }
    let ended =
        read_only("run ../tasks.yaml").expect(3).says("cannot be written").says("Read-only file system");
    ended.says(&format!("{repo}/.git")).says("git clone").says("nothing was started");
    assert!(world.runs().is_empty());
    for (args, file) in [("init", "tasks.yaml"), ("template new tests --var target=x", "tasks.yaml")] {
        read_only(args).expect(1).says("cannot write").says(file);
    }
}
