//! A run carried to another machine: pushed to a bare git remote on the disk, and pulled into another state directory, encrypted
//! as by default.

use std::path::Path;
use std::process::Command;

use super::contest::timed;
use super::graph::{Shape, thousands};
use super::report::{Goal, below, time};
use super::scratch::{Scratch, conductor};
use super::single::best;
use crate::Result;

const TURNS: usize = 3;
const TASKS: usize = 1_000;

/// Seconds for both together.
const LIMIT: f64 = 2.0;

pub(super) struct Figures {
    /// Seconds of the whole commands.
    push: f64,
    pull: f64,
}

pub(super) fn measure(scratch: &mut Scratch) -> Result<Figures> {
    eprintln!("measuring a run that is carried to another machine");
    let here = scratch.directory()?;
    std::fs::write(here.join("tasks.yaml"), Shape::Independent(TASKS).task_file())?;
    timed(conductor(&here).args(["run", "--isolation", "none", "tasks.yaml", "--parallel", "8"]))?;
    timed(conductor(&here).args(["sync", "key"]))?;
    // Each turn has a remote and another machine of its own: what is there already is not sent again.
    let mut remotes = Vec::new();
    let push = best(TURNS, || {
        let remote = scratch.directory()?;
        timed(Command::new("git").args(["init", "--quiet", "--bare"]).arg(&remote))?;
        let took = timed(conductor(&here).args(["sync", "push", "--yes", "--to"]).arg(&remote));
        remotes.push(remote);
        took
    })?;
    let mut remotes = remotes.iter();
    let pull = best(TURNS, || {
        let there = scratch.directory()?;
        other_machine(&here, &there)?;
        let remote = remotes.next().ok_or("there is a remote for each turn")?;
        timed(conductor(&there).args(["sync", "pull", "--yes", "--from"]).arg(remote))
    })?;
    Ok(Figures { push, pull })
}

/// With the key by which it can read what the first one pushes.
fn other_machine(here: &Path, there: &Path) -> Result {
    std::fs::create_dir(there.join("home"))?;
    std::fs::copy(here.join("home/sync.key"), there.join("home/sync.key"))?;
    Ok(())
}

pub(super) fn goals(figures: &Figures) -> Vec<Goal> {
    let Figures { push, pull } = figures;
    let what = format!(
        "`sync push` ({}) and `sync pull` ({}) of a run of {} tasks, encrypted, over a local remote",
        time(*push),
        time(*pull),
        thousands(TASKS)
    );
    vec![below(what, push + pull, LIMIT, time)]
}
