//! Where measurements keep their files: on the disk the real thing would use, a new directory each time; another disk is
//! named by BENCH_DIR.
//!
//! Nothing is deleted before the end. After thousands of deletions ext4 makes new files many times slower for a while,
//! which would be measured as if it were Conductor's own doing.

use std::path::{Path, PathBuf};

use crate::Result;
use crate::steps::{dist, root};

pub(super) struct Scratch {
    path: PathBuf,
    made: u32,
}

impl Scratch {
    pub(super) fn new() -> Result<Scratch> {
        let room = std::env::var_os("BENCH_DIR").map_or_else(|| root().join("target"), PathBuf::from);
        let path = room.join(format!("bench-{}", std::process::id()));
        std::fs::create_dir_all(&path)?;
        Ok(Scratch { path, made: 0 })
    }

    /// A new, empty directory.
    pub(super) fn directory(&mut self) -> Result<PathBuf> {
        self.made += 1;
        let path = self.path.join(self.made.to_string());
        std::fs::create_dir(&path)?;
        Ok(path)
    }

    pub(super) fn remove(self) -> Result {
        Ok(std::fs::remove_dir_all(&self.path)?)
    }
}

/// Conductor as a user has it, with its state beside its task file.
pub(super) fn conductor(directory: &Path) -> std::process::Command {
    let mut command = std::process::Command::new(dist("conductor"));
    command.current_dir(directory).env("CONDUCTOR_HOME", directory.join("home"));
    command.env_remove("CONDUCTOR_PARALLEL");
    command
}
