//! Which project a directory belongs to, and where what it has taught is kept.

use std::io;
use std::path::{Path, PathBuf};

use crate::git::Repository;
use crate::host::access;

/// The file of the repository that shares items.
pub const SHARED_FILE: &str = ".conductor/expertise.yaml";

/// Of the state directory.
const FOLDER: &str = "expertise";

/// A repository with all its worktrees, or a directory outside of any.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Project {
    /// By which it is known: its git directory, or itself.
    pub key: PathBuf,
    /// Where its files are.
    pub root: PathBuf,
}

impl Project {
    pub fn of(directory: &Path) -> Project {
        let key = Repository::common_of(directory).ok().and_then(|common| common.canonicalize().ok());
        let here = directory.canonicalize().unwrap_or_else(|_| directory.to_owned());
        match key {
            Some(key) => Project { key, root: root_above(&here) },
            None => Project { key: here.clone(), root: here },
        }
    }

    /// The database of this project below a state directory. Its name tells the project; that it is this one's is
    /// written inside.
    pub(super) fn database(&self, home: &Path, number: u32) -> PathBuf {
        let name = match self.key.file_name().and_then(|name| name.to_str()) {
            Some(".git") => self.key.parent().and_then(Path::file_name).and_then(|name| name.to_str()),
            other => other,
        };
        let fits = |c: char| if c.is_ascii_alphanumeric() || c == '-' { c } else { '_' };
        let word: String = name.unwrap_or("project").chars().map(fits).take(40).collect();
        let sum = crc32fast::hash(self.key.as_os_str().as_encoded_bytes());
        let more = if number == 0 { String::new() } else { format!("-{number}") };
        home.join(FOLDER).join(format!("{word}-{sum:08x}{more}.db"))
    }

    pub(super) fn make_folder(home: &Path) -> io::Result<()> {
        access::create_private_dir_all(&home.join(FOLDER))
    }

    /// The file that shares items, where the user's checkout has one.
    pub fn shared_file(&self) -> PathBuf {
        self.root.join(SHARED_FILE)
    }
}

/// The checkout's root: the nearest folder with a `.git`.
fn root_above(directory: &Path) -> PathBuf {
    let root = directory.ancestors().find(|folder| folder.join(".git").exists());
    root.unwrap_or(directory).to_owned()
}
