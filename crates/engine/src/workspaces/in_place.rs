//! Every task works in the directory the run was started in.

use std::io;
use std::path::PathBuf;

use conductor_core::plan::Task;

use super::Workspaces;

pub struct InPlace {
    directory: PathBuf,
}

impl InPlace {
    pub fn new(directory: PathBuf) -> InPlace {
        InPlace { directory }
    }
}

impl Workspaces for InPlace {
    fn prepare(&self, _task: &Task) -> io::Result<PathBuf> {
        Ok(self.directory.clone())
    }
}
