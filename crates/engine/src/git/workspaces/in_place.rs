//! Every task works in the directory the run was started in; there is nothing to merge and nothing to clear.

use std::collections::HashMap;
use std::fs::Metadata;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use conductor_core::run::event::Change;
use serde::{Deserialize, Serialize};

use super::{Rescued, Workspace, WorkspaceBackend, WorkspaceError, WorkspaceRequest};

pub struct InPlace {
    directory: PathBuf,
}

impl InPlace {
    pub fn new(directory: PathBuf) -> InPlace {
        InPlace { directory }
    }
}

impl WorkspaceBackend for InPlace {
    fn prepare(&self, _: &WorkspaceRequest) -> Result<Workspace, WorkspaceError> {
        Ok(Workspace { directory: self.directory.clone(), ..Workspace::default() })
    }

    fn collect(&self, _: &WorkspaceRequest, _: &Workspace) -> Result<Option<Change>, WorkspaceError> {
        Ok(None)
    }

    fn rescue(&self, _: &WorkspaceRequest) -> Result<Option<Rescued>, WorkspaceError> {
        Ok(None)
    }
}

/// A folder with more entries than this is not looked through.
const MANY: usize = 200_000;

/// How much is read of a folder's files, altogether and of each; of what is beyond that only size and time are looked at.
const READ: u64 = 64 << 20;
const READ_OF_ONE: u64 = 8 << 20;

/// What a folder holds at one moment: all of it but git's own files and ours. Another moment's look tells whether
/// anything in it was changed since; by which process cannot be told.
#[derive(Debug, Serialize, Deserialize)]
pub struct Look {
    files: HashMap<PathBuf, Seen>,
}

#[derive(Debug, Serialize, Deserialize)]
struct Seen {
    size: u64,
    mode: u32,
    times: (i64, i64, u64),
    /// Of its content, where that was read.
    digest: Option<u64>,
}

impl Look {
    /// Nothing where there is too much to look at. Blocks.
    pub fn at(folder: &Path, except: &[PathBuf]) -> Option<Look> {
        let mut left = READ;
        let mut files = HashMap::new();
        for (path, found) in files_below(folder, except)? {
            let digest = match found.len() <= READ_OF_ONE.min(left) {
                true => digest(&path, &found),
                false => None,
            };
            left = left.saturating_sub(found.len());
            files.insert(path, Seen { digest, ..Seen::of(&found) });
        }
        Some(Look { files })
    }

    /// Whether a folder holds anything else now. A file that was only touched, or written anew as it was, is as it was.
    /// Blocks.
    pub fn is_changed(&self, folder: &Path, except: &[PathBuf]) -> bool {
        let Some(now) = files_below(folder, except) else { return true };
        now.len() != self.files.len()
            || now
                .iter()
                .any(|(path, found)| self.files.get(path).is_none_or(|before| before.is_changed(path, found)))
    }
}

impl Seen {
    fn of(found: &Metadata) -> Seen {
        let times = (found.mtime(), found.mtime_nsec(), found.ino());
        Seen { size: found.len(), mode: found.mode(), times, digest: None }
    }

    fn is_changed(&self, path: &Path, found: &Metadata) -> bool {
        let now = Seen::of(found);
        if (self.size, self.mode) != (now.size, now.mode) {
            return true;
        }
        self.times != now.times && (self.digest.is_none() || self.digest != digest(path, found))
    }
}

/// Everything below a folder that is no folder itself; nothing where that is too much.
fn files_below(folder: &Path, except: &[PathBuf]) -> Option<Vec<(PathBuf, Metadata)>> {
    let folder = folder.canonicalize().unwrap_or_else(|_| folder.to_owned());
    let except: Vec<PathBuf> = except.iter().filter_map(|path| path.canonicalize().ok()).collect();
    let mut seen = 0;
    let mut files = Vec::new();
    let mut open = vec![folder];
    while let Some(path) = open.pop() {
        for entry in std::fs::read_dir(&path).into_iter().flatten().flatten() {
            seen += 1;
            let path = entry.path();
            let Ok(found) = path.symlink_metadata() else { continue };
            if path.ends_with(conductor_core::plan::groups::FOLDER) || except.contains(&path) {
                continue;
            }
            match found.is_dir() {
                false => files.push((path, found)),
                true if entry.file_name() != ".git" => open.push(path),
                true => {}
            }
        }
        if seen > MANY {
            return None;
        }
    }
    Some(files)
}

/// Of a file's content, or of what a link says. What is neither has none.
fn digest(path: &Path, found: &Metadata) -> Option<u64> {
    let content = match () {
        () if found.is_file() => std::fs::read(path).ok()?,
        () if found.is_symlink() => std::fs::read_link(path).ok()?.into_os_string().into_encoded_bytes(),
        () => return None,
    };
    let mut hasher = DefaultHasher::new();
    content.hash(&mut hasher);
    Some(hasher.finish())
}
