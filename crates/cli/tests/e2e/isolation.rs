//! A task works in a worktree at least, unless the user says otherwise: if git cannot read the repository,
//! nothing starts.

use std::fs;
use std::os::unix::fs::symlink;

use crate::harness::{Ended, World};
use crate::repository::{conductor, git, repository};

const TASKS: &str = "tasks: [{ id: a, run: 'echo touched > f.txt' }]";

/// The tools a shell command needs, and no git.
fn without_git(world: &mut World) {
    let tools = world.root().join("tools");
    fs::create_dir_all(&tools).unwrap();
    for tool in ["sh", "bash", "cat", "echo", "env", "sleep"] {
        let found = ["/usr/bin", "/bin"].map(|place| format!("{place}/{tool}"));
        let found = found.iter().find(|path| fs::exists(path).unwrap()).unwrap();
        let _ = symlink(found, tools.join(tool));
    }
    world.set("PATH", tools);
}

/// A repository that git does not read, as it is made so, what git says of it and what helps.
type Odd = (&'static str, fn(&mut World), &'static str, &'static str);

const ODD: [Odd; 8] = [
    ("dubious ownership", foreign, "dubious ownership", "git config --global --add safe.directory"),
    (
        "a broken config",
        |world| write_over(world, "repo/.git/config", "[core\n"),
        "bad config line",
        ".git/config",
    ),
    (
        "a broken HEAD",
        |world| write_over(world, "repo/.git/HEAD", "garbage\n"),
        "not a git repository",
        ".git",
    ),
    ("no git on PATH", without_git, "git cannot be started", "install git"),
    ("a stale worktree pointer", stale, "not a git repository", "git worktree repair"),
    (
        "a branch that cannot be read",
        |world| write_over(world, "repo/.git/refs/heads/main", "garbage\n"),
        "HEAD",
        "git fsck",
    ),
    (
        "objects that are gone",
        |world| {
            let head = git(world, &["rev-parse", "HEAD"]);
            fs::remove_file(world.path(&format!("repo/.git/objects/{}/{}", &head[..2], &head[2..]))).unwrap();
        },
        "HEAD",
        "git fsck",
    ),
    (
        "an empty .git",
        |world| {
            fs::remove_dir_all(world.path("repo/.git")).unwrap();
            fs::create_dir(world.path("repo/.git")).unwrap();
        },
        "not a git repository",
        ".git",
    ),
];

fn write_over(world: &World, name: &str, text: &str) {
    fs::write(world.path(name), text).unwrap();
}

/// The checkout belongs to another user, which git refuses where we are root.
fn foreign(world: &mut World) {
    let done = world.command_of("chown").args(["-R", "1000"]).arg(world.path("repo")).status().unwrap();
    assert!(done.success());
}

fn stale(world: &mut World) {
    git(world, &["worktree", "add", "-q", "../linked"]);
    fs::remove_dir_all(world.path("repo")).unwrap();
    fs::rename(world.path("linked"), world.path("repo")).unwrap();
}

/// Some of them need root to be made.
fn odd() -> impl Iterator<Item = Odd> {
    let root = rustix::process::geteuid().is_root();
    ODD.into_iter().filter(move |(name, ..)| {
        let makeable = root || *name != "dubious ownership";
        if !makeable {
            crate::harness::skipped("needs root to give a repository to another user");
        }
        makeable
    })
}

#[test]
fn where_git_cannot_be_asked_nothing_starts_and_its_words_and_the_remedy_are_told() {
    for (name, make, said, remedy) in odd() {
        let mut world = repository(TASKS);
        make(&mut world);
        for args in [&["run", "../tasks.yaml"][..], &["run", "../tasks.yaml", "--dry-run"]] {
            let ended = conductor(&world, args);
            assert_eq!(ended.code, Some(3), "{name} {args:?}: {}", ended.stderr);
            ended.says(said).says(remedy).says("--isolation none");
            assert_eq!(world.read("repo/f.txt"), "a\nb\nc\n", "{name}: the user's file");
        }
        assert_eq!(world.runs(), [""; 0], "{name}: no run was begun");
        conductor(&world, &["validate", "../tasks.yaml"]).expect(0).says(said).says(remedy);
        let doctor = conductor(&world, &["doctor"]);
        assert_eq!(doctor.code, Some(1), "{name}: {}", doctor.stdout);
        let doctor = doctor.says(said).says(remedy);
        assert!(!doctor.stdout.contains("git init"), "{name}: {}", doctor.stdout);
        // With the user's word it is done.
        conductor(&world, &["run", "../tasks.yaml", "--isolation", "none"]).expect(0);
        assert_eq!(world.read("repo/f.txt"), "touched\n", "{name}");
    }
}

/// The same for a run that is taken up: it has begun, and goes no further.
#[test]
fn where_git_cannot_be_asked_any_more_a_run_is_not_taken_up() {
    for (name, make, said, remedy) in odd() {
        let mut world = repository("tasks: [{ id: a, run: 'echo touched > f.txt; exit 1' }]");
        conductor(&world, &["run", "../tasks.yaml"]).expect(100);
        make(&mut world);
        let ended = conductor(&world, &["run", "--resume", &world.run_id(), "--retry-failed"]);
        assert_eq!(ended.code, Some(3), "{name}: {}", ended.stderr);
        ended.says(said).says(remedy);
        assert_eq!(world.read("repo/f.txt"), "a\nb\nc\n", "{name}: the user's file");
    }
}

/// `--first-commit` is for a repository without commits, not for one whose branch cannot be read.
#[test]
fn a_branch_that_cannot_be_read_is_not_begun_anew() {
    let world = repository(TASKS);
    write_over(&world, "repo/.git/refs/heads/main", "garbage\n");
    conductor(&world, &["run", "../tasks.yaml", "--first-commit"]).expect(3);
    assert_eq!(world.read("repo/.git/refs/heads/main"), "garbage\n");
}

/// Commands about former runs still work there, and say what they cannot see.
#[test]
fn former_runs_are_told_in_a_repository_git_does_not_read() {
    let mut world = repository(TASKS);
    conductor(&world, &["run", "../tasks.yaml"]).expect(0);
    write_over(&world, "repo/.git/config", "[core\n");
    let id = world.run_id();
    conductor(&world, &["runs", "list"]).expect(0).says(&id);
    conductor(&world, &["status"]).expect(0).says(&id).says("bad config line");
    // Whether there is work of it in the repository cannot be told: it stays.
    conductor(&world, &["runs", "prune", "--keep", "0", "--yes"]).says("cannot be read");
    assert_eq!(world.run_id(), id);
    without_git(&mut world);
    conductor(&world, &["status"]).expect(0).says(&id).says("git cannot be started");
}

#[test]
fn outside_of_a_repository_commands_work_in_place_with_one_line_that_says_so() {
    let mut world =
        World::with("tasks: [{ id: a, run: 'echo 1 > a.txt' }, { id: b, run: 'echo 1 > b.txt' }]");
    let told = |ended: &Ended| ended.stderr.matches("commands work in place").count();
    let ended = world.conductor(&["run", "tasks.yaml"]).expect(0);
    assert_eq!(told(&ended), 1, "{}", ended.stderr);
    assert_eq!(world.read("a.txt"), "1\n");
    let ended = world.conductor(&["run", "tasks.yaml", "--isolation", "none"]).expect(0);
    assert_eq!(told(&ended), 0, "the user said it: {}", ended.stderr);
    without_git(&mut world);
    world.conductor(&["run", "tasks.yaml"]).expect(0);
}

const PROMPT: &str = "
config:
  agents: { tool: { command: [sh, -c, 'TOOL'] } }
tasks:
  - { id: first, run: 'echo 1 > first.txt' }
  - { id: asked, prompt: Do it, agent: tool, retry_policy: { max_attempts: 1 }, SAID dependencies: [first] }
";

/// A folder with a task whose agent runs this, and says this of where it works.
fn prompting(tool: &str, said: &str) -> World {
    World::with(&PROMPT.replace("TOOL", tool).replace("SAID", said))
}

#[test]
fn outside_of_a_repository_a_prompt_needs_the_users_word() {
    let world = prompting("echo 1 > made.txt", "");
    for args in [&["run", "tasks.yaml"][..], &["run", "tasks.yaml", "--dry-run"]] {
        let ended = world.conductor(args).expect(3);
        ended.says("task 'asked'").says("not in a git repository").says("--isolation none");
    }
    assert_eq!((world.read("first.txt"), world.runs().len()), (String::new(), 0), "nothing was started");
    world.conductor(&["run", "tasks.yaml", "--isolation", "none"]).expect(0);
    prompting("echo 1 > made.txt", "isolation: none,").conductor(&["run", "tasks.yaml"]).expect(0);
    let mut world = prompting("echo 1 > made.txt", "");
    world.set("CONDUCTOR_ISOLATION", "none");
    world.conductor(&["run", "tasks.yaml"]).expect(0);
}

/// What was there before is not the agent's work, nor what we or its checks write, nor a file that was only touched.
#[test]
fn in_place_too_an_agent_that_changes_nothing_has_not_done_its_task() {
    for (tool, verify) in [
        ("echo done", ""),
        ("touch tasks.yaml; echo done", ""),
        ("cat tasks.yaml > copy; mv copy tasks.yaml", ""),
        ("echo done", "verify: [echo checked > checked.txt],"),
        ("echo done", "setup: [echo set up > setup.txt],"),
    ] {
        let mut world = prompting(tool, &format!("isolation: none, {verify}"));
        // The state directory and the run's files are in the very folder.
        world.set("CONDUCTOR_HOME", world.path(".state"));
        let ended = world.conductor(&["run", "tasks.yaml", "-o", "out"]);
        assert_eq!(ended.code, Some(100), "{tool} {verify}: {}\n{}", ended.stdout, ended.stderr);
        ended.says("made no changes");
    }
    let world = prompting("echo 2 >> first.txt", "isolation: none,");
    world.conductor(&["run", "tasks.yaml"]).expect(0);
}

/// Nor does one that joins later.
#[test]
fn a_prompt_that_joins_a_run_outside_of_a_repository_needs_the_users_word_too() {
    let task = "{ id: first, run: AGENT touch up then await go }";
    let file = |more: &str| {
        format!("config: {{ agents: {{ tool: {{ command: [touch, made] }} }} }}\ntasks: [{task}{more}]")
    };
    let world = World::with(&file(""));
    let live = world.start(&["run", "tasks.yaml", "--watch"]);
    world.wait_for_file("up");
    world.write("tasks.yaml", &file(", { id: asked, prompt: Do it, agent: tool }"));
    live.wait_for_stderr("task 'asked' is for an agent");
    world.write("go", "");
    live.ended().expect(0).says("--isolation none");
    assert!(!world.path("made").exists());
}
