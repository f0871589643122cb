//! What workspaces and merging cost beside bare git, on repositories made for it.
//!
//! Bare git is what a user types by hand: no branch for each task, no ports, nothing saved, nothing proved.

mod ground;
mod landing;
pub(super) mod report;
mod tasks;
mod workspaces;

use super::scratch::Scratch;
use crate::Result;

/// How much is measured.
#[derive(Debug, Clone, Copy)]
pub(super) struct Size {
    /// Files in the repository.
    pub(super) files: usize,
    /// Workspaces made in one go, and branches landed one after the other.
    pub(super) many: usize,
    /// Workspaces made all at once.
    pub(super) at_once: usize,
    /// How often contestants take turns; the best counts.
    pub(super) turns: usize,
}

impl Size {
    pub(super) fn new(quick: bool) -> Size {
        match quick {
            false => Size { files: 5_000, many: 50, at_once: 100, turns: 3 },
            true => Size { files: 5_000, many: 10, at_once: 20, turns: 1 },
        }
    }
}

/// Seconds, ours beside bare git's.
#[derive(Debug, Clone, Copy)]
pub(super) struct Pair {
    pub(super) ours: f64,
    pub(super) bare: f64,
}

impl Pair {
    /// Contestants take turns, so that whatever else the machine does hits both alike.
    fn best(
        turns: usize,
        mut bare: impl FnMut() -> Result<f64>,
        mut ours: impl FnMut() -> Result<f64>,
    ) -> Result<Pair> {
        let mut best = Pair { ours: f64::INFINITY, bare: f64::INFINITY };
        for _ in 0..turns {
            best.bare = best.bare.min(bare()?);
            best.ours = best.ours.min(ours()?);
        }
        Ok(best)
    }

    pub(super) fn ratio(self) -> f64 {
        self.ours / self.bare
    }
}

/// Everything that was measured here.
pub(super) struct Figures {
    size: Size,
    made: Pair,
    reuse: workspaces::Reuse,
    /// Workspaces that could not be made, of those made all at once.
    failed: usize,
    removal: workspaces::Removal,
    landed: Pair,
    /// Seconds from start to exit of a run, for each of its tasks, by the number of slots.
    tasks: [f64; 2],
}

/// What leaves files to be deleted comes last.
pub(super) fn measure(size: Size, scratch: &mut Scratch) -> Result<Figures> {
    eprintln!("measuring {} new workspaces of {} files", size.many, size.files);
    let made = workspaces::make(size, scratch)?;
    eprintln!("measuring a workspace used again");
    let reuse = workspaces::reuse(size, scratch)?;
    eprintln!("measuring {} branches landed one by one", size.many);
    let landed = landing::measure(size, scratch)?;
    eprintln!("measuring {} tasks from end to end", tasks::TASKS);
    let tasks = tasks::measure(size, scratch)?;
    eprintln!("measuring {} workspaces made at once, and their removal", size.at_once);
    let agent_limits = workspaces::AgentLimits::gather(size, scratch)?;
    let removal = workspaces::removal(&agent_limits)?;
    Ok(Figures { size, made, reuse, failed: agent_limits.failed, removal, landed, tasks })
}
