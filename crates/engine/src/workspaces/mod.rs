//! Where a task works: a directory made ready for it, and what becomes of the directory afterwards.

mod in_place;

use std::io;
use std::path::PathBuf;

use conductor_core::plan::Task;

pub use in_place::InPlace;

/// The backends, one line each: `InPlace`.
pub trait Workspaces: Send + Sync {
    /// A directory the task can work in now.
    fn prepare(&self, task: &Task) -> io::Result<PathBuf>;
}
