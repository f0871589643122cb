//! Every task works in the directory the run was started in; there is nothing to merge and nothing to clear.

use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use conductor_core::event::Change;

use super::{Guest, Rescued, Seat, WorkspaceError, Workspaces};

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

    fn rescue(&self, _: &Guest) -> Result<Option<Rescued>, WorkspaceError> {
        Ok(None)
    }
}

/// A folder with more entries than this is not looked through.
const MANY: usize = 200_000;

/// What a folder looks like: names, sizes and times of everything in it but git's own and ours. Two looks that differ mean that
/// somebody changed something; nothing where there is too much to look at. Blocks.
pub fn look(folder: &Path) -> Option<u64> {
    let mut seen = 0;
    let mut sum = 0u64;
    let mut open = vec![folder.to_owned()];
    while let Some(path) = open.pop() {
        for entry in std::fs::read_dir(&path).into_iter().flatten().flatten() {
            seen += 1;
            let Ok(found) = entry.path().symlink_metadata() else { continue };
            let ours = || entry.path().ends_with(crate::groups::FOLDER);
            if found.is_dir() && entry.file_name() != ".git" && !ours() {
                open.push(entry.path());
            }
            if !found.is_dir() {
                let mut hasher = DefaultHasher::new();
                (entry.path(), found.len(), found.mtime(), found.mtime_nsec(), found.ino()).hash(&mut hasher);
                // In whatever order a folder is read, the sum is the same.
                sum = sum.wrapping_add(hasher.finish());
            }
        }
        if seen > MANY {
            return None;
        }
    }
    Some(sum)
}
