//! Git as a user of a repository calls it, for tests: without the configuration of this machine.

use std::path::Path;
use std::process::Command;

/// What git says; it must not fail.
pub(crate) fn git(directory: &Path, args: &[&str]) -> String {
    let output = hermetic(directory).args(args).output().unwrap();
    assert!(output.status.success(), "git {args:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).trim().to_owned()
}

pub(crate) fn hermetic(directory: &Path) -> Command {
    let mut command = Command::new("git");
    command.current_dir(directory).env("GIT_CONFIG_NOSYSTEM", "1").env("GIT_CONFIG_GLOBAL", "/dev/null");
    command
}

/// A repository on `main` in which a user can commit.
pub(crate) fn init(directory: &Path) {
    git(directory, &["init", "-q", "-b", "main", "."]);
    git(directory, &["config", "user.name", "User"]);
    git(directory, &["config", "user.email", "user@localhost"]);
}

/// Everything that is there, in a commit.
pub(crate) fn commit_all(directory: &Path, message: &str) {
    git(directory, &["add", "-A"]);
    git(directory, &["commit", "-q", "-m", message]);
}
