//! Steps of a command: each announced, timed, and quiet unless it fails.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

use crate::Result;

/// Says what begins, does it, and says how long it took.
pub(crate) fn step(name: &str, work: impl FnOnce() -> Result) -> Result {
    eprintln!("── {name}");
    let begun = Instant::now();
    let done = work();
    let word = if done.is_ok() { "ok" } else { "FAILED" };
    eprintln!("── {name}: {word} in {:.1} s", begun.elapsed().as_secs_f64());
    done
}

/// Runs a program to its end; what it said is shown only where it failed.
pub(crate) fn quietly(command: &mut Command) -> Result {
    let output = command.stdin(Stdio::null()).output().map_err(|error| unstartable(command, &error))?;
    if output.status.success() {
        return Ok(());
    }
    eprint!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    Err(failed(command, output.status))
}

/// Runs a program whose output is what one waits for.
pub(crate) fn openly(command: &mut Command) -> Result {
    let status = command.stdin(Stdio::null()).status().map_err(|error| unstartable(command, &error))?;
    if status.success() { Ok(()) } else { Err(failed(command, status)) }
}

/// Whether a program is there and willing.
pub(crate) fn answers(command: &mut Command) -> bool {
    let quiet = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    quiet.status().is_ok_and(|status| status.success())
}

/// The very cargo that started us, working on the whole repository.
pub(crate) fn cargo(args: &[&str]) -> Command {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    // What cargo told this program of itself. Build scripts that look at it would run again, with all that is built on
    // them, whenever the next cargo is called by hand.
    let of_us = |name: &str| name.starts_with("CARGO_PKG_") || name.starts_with("CARGO_MANIFEST_");
    for (name, _) in std::env::vars_os().filter(|(name, _)| name.to_str().is_some_and(of_us)) {
        command.env_remove(name);
    }
    command.args(args).current_dir(root());
    if is_ci() {
        // What is built once only is built faster without notes for the next build.
        command.env("CARGO_INCREMENTAL", "0");
    }
    command
}

pub(crate) fn is_ci() -> bool {
    std::env::var("CI").is_ok_and(|ci| ci == "true")
}

pub(crate) fn root() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.parent().unwrap_or(here).to_owned()
}

/// The profile of what is installed and measured.
pub(crate) const DIST: &str = "dist";

/// A program that was built with it.
pub(crate) fn dist(name: &str) -> PathBuf {
    root().join("target").join(DIST).join(name)
}

fn unstartable(command: &Command, error: &std::io::Error) -> String {
    format!("cannot start {}: {error}", command.get_program().display())
}

fn failed(command: &Command, status: std::process::ExitStatus) -> Box<dyn std::error::Error> {
    let words = command.get_args().map(|word| word.to_string_lossy());
    let line =
        words.fold(command.get_program().to_string_lossy().into_owned(), |line, word| line + " " + &word);
    format!("{line}: {status}").into()
}
