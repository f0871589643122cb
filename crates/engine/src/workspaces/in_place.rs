//! Every task works in the directory the run was started in; there is nothing to merge and nothing to clear.

use std::path::PathBuf;

use conductor_core::event::Change;

use super::{Guest, Seat, WorkspaceError, Workspaces};

pub struct InPlace {
    directory: PathBuf,
}

impl InPlace {
    pub fn new(directory: PathBuf) -> InPlace {
        InPlace { directory }
    }
}

impl Workspaces for InPlace {
    fn prepare(&self, _: &Guest) -> Result<Seat, WorkspaceError> {
        Ok(Seat { directory: self.directory.clone(), ..Seat::default() })
    }

    fn collect(&self, _: &Guest, _: &Seat) -> Result<Option<Change>, WorkspaceError> {
        Ok(None)
    }

    fn rescue(&self, _: &Guest) -> Result<Option<String>, WorkspaceError> {
        Ok(None)
    }
}
