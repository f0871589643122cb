//! What a confined agent cannot do, tried as an agent would try it; and that it can do its work.

mod configuration;
mod escapes;
mod honesty;
mod network;

use std::ffi::OsStr;
use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::Path;
use std::process::Command;

use crate::harness::{Ended, World, skipped};
use crate::repository::{command, repository};

/// A prompt for a script that is one of the file's own agents.
const TASKS: &str = "
config: { agents: { script: { command: [script] } } }
tasks: [{ id: t, prompt: Do it, agent: script, changes: optional, retry_policy: { max_attempts: 1 }SETTINGS }]
";

/// A world in which that script is on PATH, and the user's own confinement counts again. `settings` go into the task.
fn world(script: &str, settings: &str) -> World {
    let mut world = repository(&TASKS.replace("SETTINGS", settings));
    world.unset("CONDUCTOR_SANDBOX");
    let programs = world.root().join("programs");
    fs::create_dir_all(&programs).unwrap();
    let script = script.replace("USER", &world.root().join("user").display().to_string());
    fs::write(programs.join("script"), format!("#!/bin/sh\n{script}")).unwrap();
    fs::set_permissions(programs.join("script"), fs::Permissions::from_mode(0o755)).unwrap();
    let path = world.variable("PATH").into_string().unwrap();
    world.set("PATH", format!("{}:{path}", programs.display()));
    world
}

/// Whether agents can be confined here at all. Where not, the test says so, and fails where it has to work.
pub(crate) fn can_confine(world: &World) -> bool {
    let sandbox = sandbox(world);
    let works = sandbox["level"] == "ok";
    if !works {
        let why = &sandbox["told"];
        assert!(std::env::var_os("CI").is_none_or(|ci| ci != "true"), "bubblewrap must work in CI: {why}");
        skipped(&why.to_string());
    }
    works
}

/// By what agents are confined.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Tier {
    Bubblewrap,
    Landlock,
}

/// As `can_confine`, by the tier that is to be tried: the weaker one is had by having nothing of the stronger.
pub(crate) fn can_confine_by(world: &mut World, tier: Tier) -> bool {
    if tier == Tier::Bubblewrap {
        return can_confine(world);
    }
    without_bubblewrap(world);
    let told = sandbox(world)["told"].to_string();
    let works = told.contains("landlock: agents do not reach");
    if !works {
        assert!(std::env::var_os("CI").is_none_or(|ci| ci != "true"), "landlock must work in CI: {told}");
        skipped(&told);
    }
    works
}

/// All programs of this machine, and no bubblewrap.
pub(crate) fn without_bubblewrap(world: &mut World) {
    let path = world.variable("PATH");
    let others = std::env::split_paths(&path).enumerate().map(|(number, folder)| {
        if !folder.join("bwrap").exists() {
            return folder;
        }
        let tools = world.root().join(format!("tools-{number}"));
        fs::create_dir_all(&tools).unwrap();
        for file in fs::read_dir(&folder).unwrap().flatten().filter(|file| file.file_name() != "bwrap") {
            let _ = symlink(file.path(), tools.join(file.file_name()));
        }
        tools
    });
    let path = std::env::join_paths(others.collect::<Vec<_>>()).unwrap();
    world.set("PATH", path);
}

/// What doctor says of confinement.
fn sandbox(world: &World) -> serde_json::Value {
    let found = world.conductor(&["doctor", "--machine", "--json"]).json();
    found["findings"].as_array().unwrap().iter().find(|one| one["check"] == "sandbox").unwrap().clone()
}

/// Who the program is run as.
#[derive(Debug, Clone, Copy, PartialEq)]
enum User {
    Own,
    /// Where the test is root: a user who is not.
    Ordinary,
}

const ORDINARY: u32 = 65534;

fn users() -> Vec<User> {
    match rustix::process::geteuid().is_root() {
        true => vec![User::Own, User::Ordinary],
        false => vec![User::Own],
    }
}

/// Has all of the world belong to that user.
fn give(world: &World, user: User) {
    if user == User::Ordinary {
        let owner = format!("{ORDINARY}:{ORDINARY}");
        // Links are to stay links: what they lead to is the system's.
        let given = Command::new("chown").args(["-hR", &owner]).arg(world.root()).status();
        assert!(given.unwrap().success());
    }
}

/// Runs the world's task file as that user.
fn run(world: &World, user: User) -> Ended {
    started(world, user, &[])
}

/// The same by a shell that has a file open.
fn run_leaving_open(world: &World, user: User, file: &Path) -> Ended {
    let file = file.to_str().unwrap();
    started(world, user, &["sh", "-c", "exec 7< \"$0\"; exec \"$@\"", file])
}

fn started(world: &World, user: User, before: &[&str]) -> Ended {
    give(world, user);
    let own = command(world, &["run", "../tasks.yaml", "--ui", "plain"]);
    let id = ORDINARY.to_string();
    let mut words: Vec<&OsStr> = before.iter().map(OsStr::new).collect();
    if user == User::Ordinary {
        let other = ["setpriv", "--reuid", &id, "--regid", &id, "--clear-groups", "--"];
        words.extend(other.map(OsStr::new));
    }
    words.push(own.get_program());
    words.extend(own.get_args());
    let mut command = world.command_of(words[0].to_str().unwrap());
    command.args(&words[1..]).current_dir(own.get_current_dir().unwrap());
    world.spawn(&mut command).ended()
}

/// A file of what landed.
fn landed(world: &World, file: &str) -> String {
    let name = format!("conductor/{}:{file}", world.run_id());
    let output = world
        .command_of("git")
        .args(["-c", "safe.directory=*", "-C"])
        .arg(world.path("repo"))
        .args(["show", &name])
        .output()
        .unwrap();
    String::from_utf8_lossy(&output.stdout).into_owned()
}
