//! The README's first command, as a user who is new to Conductor runs it, and what it promises: a branch on
//! which the tests pass that fail where it was started.
//!
//! All of it in a clone, for the branch it leaves is none of the developer's.

use std::path::Path;
use std::process::Command;

use super::{cargo_home, home_of};
use crate::Result;
use crate::steps::{answers, cargo, quietly, root};

pub(super) fn run() -> Result {
    let folder = root().join("target/quickstart");
    let (home, clone, landed) = (folder.join("home"), folder.join("clone"), folder.join("landed"));
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&home)?;
    clone_with_examples(&clone)?;
    let mut command = cargo(&["run", "--locked", "--quiet", "--manifest-path"]);
    command.arg(root().join("Cargo.toml")).current_dir(&clone);
    command.args(["--", "run", "examples/quickstart.yaml", "--parallel", "3"]);
    command.env("HOME", &home).env_remove("CONDUCTOR_HOME");
    // The compiler is not what is new here: it stays where it was found by the real HOME.
    command.envs(cargo_home().map(|path| ("CARGO_HOME", path)));
    command.envs(home_of("RUSTUP_HOME", ".rustup").map(|path| ("RUSTUP_HOME", path)));
    quietly(&mut command)?;
    if answers(&mut example_tests(&clone)) {
        return Err("the tests of examples/words pass before anything was fixed".into());
    }
    quietly(git(&clone, &["worktree", "add", "--quiet"]).arg(&landed).arg(branch(&clone)?))?;
    quietly(&mut example_tests(&landed))
}

/// The last commit, with the examples as they are now.
fn clone_with_examples(clone: &Path) -> Result {
    quietly(git(&root(), &["clone", "--quiet", "--no-tags", "."]).arg(clone))?;
    quietly(Command::new("cp").arg("-R").arg(root().join("examples")).arg(clone))?;
    quietly(&mut git(clone, &["add", "--all"]))?;
    let who = ["-c", "user.name=xtask", "-c", "user.email=xtask@localhost", "-c", "commit.gpgSign=false"];
    quietly(git(clone, &who).args(["commit", "--quiet", "--allow-empty", "-m", "Examples as they are now"]))
}

/// The one branch a run has left.
fn branch(clone: &Path) -> Result<String> {
    let asked =
        git(clone, &["for-each-ref", "--format=%(refname:short)", "refs/heads/conductor/"]).output()?;
    let names = String::from_utf8(asked.stdout)?;
    match names.lines().collect::<Vec<_>>().as_slice() {
        [one] => Ok((*one).to_owned()),
        others => Err(format!("one branch was to be left, not {}", others.len()).into()),
    }
}

fn example_tests(checkout: &Path) -> Command {
    let mut command = cargo(&["test", "--quiet", "--locked", "--manifest-path", "examples/words/Cargo.toml"]);
    command.current_dir(checkout);
    command
}

fn git(directory: &Path, args: &[&str]) -> Command {
    let mut command = Command::new("git");
    // In a hook these name the developer's own repository, wherever we stand.
    for variable in ["GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_PREFIX"] {
        command.env_remove(variable);
    }
    command.args(args).current_dir(directory);
    command
}
