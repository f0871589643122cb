//! Small tasks that each change a file, from the start of Conductor to its exit.

use std::fmt::Write as _;

use super::Size;
use super::ground::Ground;
use crate::Result;
use crate::bench::contest::timed;
use crate::bench::scratch::{Scratch, conductor};
use crate::bench::single::best;
use crate::steps::quietly;

pub(super) const TASKS: usize = 20;
pub(super) const SLOTS: usize = 8;
pub(super) const FILES: usize = 20;

/// Seconds for each task.
pub(super) fn measure(size: Size, scratch: &mut Scratch) -> Result<f64> {
    let seconds = best(size.turns, || run(scratch))?;
    Ok(seconds / TASKS as f64)
}

fn run(scratch: &mut Scratch) -> Result<f64> {
    let ground = Ground::new(FILES, 0, scratch)?;
    quietly(ground.git().args(["reset", "--quiet", "--hard"]))?;
    std::fs::write(ground.directory.join("tasks.yaml"), task_file())?;
    let mut command = conductor(&ground.directory);
    command.args(["run", "../tasks.yaml", "--parallel"]).arg(SLOTS.to_string());
    timed(command.current_dir(&ground.repository))
}

fn task_file() -> String {
    let mut text = String::from("config: { changes: required, verify: ['true'] }\ntasks:\n");
    for task in 0..TASKS {
        let _ = writeln!(text, "  - {{ id: t{task}, run: 'echo {task} > new-{task}.txt' }}");
    }
    text
}
