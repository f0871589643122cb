//! What a confined agent cannot do, tried as an agent would try it; and that it can do its work.

mod escapes;
mod honesty;
mod network;

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
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
    let found = world.conductor(&["doctor", "--machine", "--json"]).json();
    let sandbox = found["findings"].as_array().unwrap().iter().find(|one| one["check"] == "sandbox").unwrap();
    let works = sandbox["level"] == "ok";
    if !works {
        let why = &sandbox["told"];
        assert!(std::env::var_os("CI").is_none_or(|ci| ci != "true"), "bubblewrap must work in CI: {why}");
        skipped(&why.to_string());
    }
    works
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

/// Runs the world's task file as that user.
fn run(world: &World, user: User) -> Ended {
    let args = ["run", "../tasks.yaml", "--ui", "plain"];
    match user {
        User::Own => world.spawn(&mut command(world, &args)).ended(),
        User::Ordinary => {
            let id = ORDINARY.to_string();
            let given = Command::new("chown").args(["-R", &format!("{id}:{id}")]).arg(world.root()).status();
            assert!(given.unwrap().success());
            let own = command(world, &args);
            let mut other = world.command_of("setpriv");
            other.current_dir(own.get_current_dir().unwrap());
            other.args(["--reuid", &id, "--regid", &id, "--clear-groups", "--"]);
            other.arg(own.get_program()).args(own.get_args());
            world.spawn(&mut other).ended()
        }
    }
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
