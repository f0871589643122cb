//! What is in the state directory is for its user alone; what `-o` names follows the umask.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::harness::{CONDUCTOR, World, skipped};

const TASKS: &str = "
tasks:
  - { id: a, run: 'echo spoken; echo x > a.txt', verify: ['true'] }
  - { id: b, run: 'echo spoken; exit 1', dependencies: [a] }
";

fn repository(world: &World) {
    let script = "git init -q . && git -c user.name=n -c user.email=e commit -q --allow-empty -m first";
    assert!(world.command_of("sh").args(["-c", script]).status().unwrap().success());
}

/// Runs with a umask, and waits for the end.
#[track_caller]
fn run_with_umask(world: &World, umask: &str, args: &str) {
    let script = format!("umask {umask}; exec {CONDUCTOR} {args}");
    world.spawn(world.command_of("sh").args(["-c", &script])).ended().expect(100);
}

fn mode(path: &Path) -> u32 {
    fs::symlink_metadata(path).unwrap().permissions().mode() & 0o777
}

/// Everything below a folder, but for what git wrote in folders that are closed themselves.
fn all_below(folder: &Path) -> Vec<PathBuf> {
    let mut found = vec![folder.to_owned()];
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let (path, name) = (entry.path(), entry.file_name());
        match entry.file_type().unwrap().is_dir() && name != "git" && name != "workspaces" {
            true => found.extend(all_below(&path)),
            false => found.push(path),
        }
    }
    found
}

#[track_caller]
fn expect_closed(home: &Path) {
    let open: Vec<String> = all_below(home)
        .into_iter()
        .filter(|path| mode(path) & 0o077 != 0)
        .map(|path| format!("{:o} {}", mode(&path), path.display()))
        .collect();
    assert!(open.is_empty(), "{open:#?}");
}

#[test]
fn state_is_for_its_user_alone_whatever_the_umask() {
    for umask in ["000", "022", "077"] {
        let world = World::with(TASKS);
        repository(&world);
        run_with_umask(&world, umask, "run tasks.yaml");
        let transcripts = world.transcripts("a");
        assert!(!transcripts.is_empty() && world.database().exists());
        expect_closed(&world.home());
    }
}

#[test]
fn what_an_older_version_left_open_is_closed_at_the_next_start() {
    let world = World::with(TASKS);
    repository(&world);
    run_with_umask(&world, "022", "run tasks.yaml");
    for path in all_below(&world.home()) {
        let open = if path.is_dir() { 0o755 } else { 0o644 };
        fs::set_permissions(&path, Permissions::from_mode(open)).unwrap();
    }
    let config = world.home().join("config.yaml");
    fs::write(&config, "").unwrap();
    world.conductor(&["runs", "list"]).expect(0);
    assert_eq!((mode(&world.home()), mode(&world.database())), (0o700, 0o600));
    fs::remove_file(config).unwrap();
    expect_closed(&world.home());
}

/// A folder that is used for something else too is not ours to close, but what we put there is closed.
#[test]
fn a_folder_with_other_things_in_it_stays_as_open_as_it_is() {
    let world = World::with(TASKS);
    fs::write(world.home().join("letters.txt"), "mine").unwrap();
    fs::set_permissions(world.home(), Permissions::from_mode(0o755)).unwrap();
    run_with_umask(&world, "022", "run tasks.yaml");
    run_with_umask(&world, "022", "run tasks.yaml");
    assert_eq!((mode(&world.home()), mode(&world.home().join("letters.txt"))), (0o755, 0o644));
    for name in ["runs", "conductor.db", "lock"] {
        assert_eq!(mode(&world.home().join(name)) & 0o077, 0, "{name}");
    }
}

#[test]
fn the_users_own_output_folder_follows_their_umask() {
    let world = World::with(TASKS);
    run_with_umask(&world, "022", "run tasks.yaml -o out");
    assert_eq!(mode(&world.path("out")), 0o755);
    for name in ["execution_summary.json", "executor_1/a/transcript.log", "report.md", "orchestrator.log"] {
        assert_eq!(mode(&world.path("out").join(name)), 0o644, "{name}");
    }
}

#[test]
fn a_state_directory_of_another_user_or_of_all_users_is_refused() {
    let mut world = World::with(TASKS);
    let shared = world.root().join("shared");
    fs::create_dir(&shared).unwrap();
    fs::write(shared.join("letters.txt"), "another user's").unwrap();
    fs::set_permissions(&shared, Permissions::from_mode(0o1777)).unwrap();
    world.set("CONDUCTOR_HOME", &shared);
    world.conductor(&["runs", "list"]).expect(1).says("is shared by all users").says("CONDUCTOR_HOME");
    assert_eq!(fs::metadata(&shared).unwrap().permissions().mode() & 0o7777, 0o1777);
    assert_eq!(fs::read_dir(&shared).unwrap().count(), 1, "nothing is made there");
    let foreign = world.root().join("foreign");
    fs::create_dir(&foreign).unwrap();
    let given = Command::new("chown").arg("12345").arg(&foreign).output();
    if !given.is_ok_and(|given| given.status.success()) {
        return skipped("needs root to give a folder to another user");
    }
    world.set("CONDUCTOR_HOME", &foreign);
    for command in [["run", "tasks.yaml"].as_slice(), &["runs", "list"], &["status"]] {
        world.conductor(command).expect(1).says("belongs to user 12345").says("a directory of your own");
    }
    world.conductor(&["doctor"]).expect(1).says("belongs to user 12345");
}
