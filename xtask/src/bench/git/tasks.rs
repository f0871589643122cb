//! Small tasks that each change a file, from the start of Conductor to its exit.

use std::ffi::OsString;
use std::fmt::Write as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use super::Size;
use super::ground::Ground;
use crate::Result;
use crate::bench::contest::timed;
use crate::bench::scratch::{Scratch, conductor};
use crate::bench::single::best;
use crate::steps::quietly;

pub(super) const TASKS: usize = 20;
pub(super) const SLOTS: [usize; 2] = [2, 8];
pub(super) const FILES: usize = 1_000;

/// Seconds for each task, by the number of slots.
pub(super) fn measure(size: Size, scratch: &mut Scratch) -> Result<[f64; 2]> {
    let mut each = [0.0; 2];
    for (each, slots) in each.iter_mut().zip(SLOTS) {
        *each = best(size.turns, || run(slots, scratch))? / TASKS as f64;
    }
    Ok(each)
}

fn run(slots: usize, scratch: &mut Scratch) -> Result<f64> {
    let ground = Ground::new(FILES, 0, scratch)?;
    quietly(ground.git().args(["reset", "--quiet", "--hard"]))?;
    std::fs::write(ground.directory.join("tasks.yaml"), task_file())?;
    let mut command = conductor(&ground.directory);
    command.args(["run", "../tasks.yaml", "--parallel"]).arg(slots.to_string());
    command.env("PATH", without_rm(&ground.directory)?);
    timed(command.current_dir(&ground.repository))
}

/// What a run has thrown away is deleted after it, beside the next one that is measured (see `Scratch`): here it stays.
fn without_rm(directory: &Path) -> Result<OsString> {
    let bin = directory.join("bin");
    std::fs::create_dir(&bin)?;
    std::fs::write(bin.join("rm"), "#!/bin/sh\n")?;
    std::fs::set_permissions(bin.join("rm"), std::fs::Permissions::from_mode(0o755))?;
    let path = std::env::var_os("PATH").unwrap_or_default();
    Ok(std::env::join_paths(std::iter::once(bin).chain(std::env::split_paths(&path)))?)
}

fn task_file() -> String {
    let mut text = String::from("config: { changes: required, verify: ['true'] }\ntasks:\n");
    for task in 0..TASKS {
        let _ = writeln!(text, "  - {{ id: t{task}, run: 'echo {task} > new-{task}.txt' }}");
    }
    text
}
