//! `cargo xtask web`: the page, from its sources to `web/dist`, from where the next build of the program takes it.

use std::path::PathBuf;
use std::process::Command;

use crate::Result;
use crate::steps::{openly, quietly, root, step};

fn folder() -> PathBuf {
    root().join("web")
}

fn npm(words: &[&str]) -> Command {
    let mut command = Command::new("npm");
    command.args(words).current_dir(folder());
    command
}

pub(crate) fn run() -> Result {
    step("page", build)
}

/// Nothing of what is fetched runs while it is fetched.
pub(crate) fn build() -> Result {
    if !is_provided() {
        quietly(&mut npm(&["ci", "--ignore-scripts", "--no-audit", "--no-fund"]))?;
    }
    quietly(&mut npm(&["run", "build"]))
}

/// Whether what is there is what the lock file asks for.
fn is_provided() -> bool {
    let read = |path: PathBuf| std::fs::metadata(path).and_then(|data| data.modified()).ok();
    let wanted = read(folder().join("package-lock.json"));
    let there = read(folder().join("node_modules/.package-lock.json"));
    there.is_some() && there >= wanted
}

/// Types, lints and form.
pub(crate) fn check() -> Result {
    quietly(&mut npm(&["run", "check"]))
}

/// In a real browser, against the program that was built.
pub(crate) fn test() -> Result {
    openly(&mut npm(&["run", "e2e"]))
}
