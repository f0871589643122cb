//! Files of one attempt that exist for its confinement alone: the home it sees, copies of configuration.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use crate::host::access;
use crate::process::trash;

/// A folder on the disk, thrown away when this is dropped.
#[derive(Debug)]
pub struct Place {
    state: PathBuf,
    root: PathBuf,
}

impl Place {
    /// `root` is below the state directory; one of an earlier process is used again.
    pub fn new(state: &Path, root: PathBuf) -> io::Result<Place> {
        access::create_private_dir_all(&root)?;
        Ok(Place { state: state.to_owned(), root })
    }

    /// The folder that stands for this path inside.
    pub(super) fn fresh(&self, path: &str) -> io::Result<PathBuf> {
        let folder = self.root.join("folders").join(path.trim_matches('/').replace('/', "%"));
        access::create_private_dir_all(&folder)?;
        Ok(folder)
    }

    /// Puts a copy of a file into the folder that stands for one of its parents, unless it is there. What cannot be read is not.
    pub(super) fn copy(&self, file: &Path, of: &Path) -> io::Result<()> {
        let Ok(rest) = file.strip_prefix(of) else { return Ok(()) };
        let to = self.fresh(&of.to_string_lossy())?.join(rest);
        if to.symlink_metadata().is_ok() || !file.is_file() {
            return Ok(());
        }
        access::create_private_dir_all(to.parent().unwrap_or(&self.root))?;
        fs::copy(file, &to).map(drop)
    }

    /// Says in whose name git commits: the user's own configuration is not there, and may hold more than that.
    pub fn commits_as(&self, home: &str, (name, email): &(String, String)) -> io::Result<()> {
        let file = self.fresh(home)?.join(".gitconfig");
        if file.symlink_metadata().is_ok() {
            return Ok(());
        }
        let quoted = |text: &str| text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', " ");
        let text = format!("[user]\n\tname = \"{}\"\n\temail = \"{}\"\n", quoted(name), quoted(email));
        access::write(&file, text)
    }

    /// What stands for a hidden folder or file.
    pub(super) fn nothing(&self, is_folder: bool) -> io::Result<PathBuf> {
        match is_folder {
            true => self.fresh("nothing"),
            false => Ok(PathBuf::from("/dev/null")),
        }
    }

    /// Where a proxy listens: each has its own.
    pub(super) fn socket(&self) -> PathBuf {
        self.root.join(format!("proxy-{:08x}", fastrand::u32(..)))
    }

    pub(super) fn write(&self, name: &str, bytes: &[u8]) -> io::Result<PathBuf> {
        let file = self.root.join(name);
        access::replace(&file, bytes)?;
        Ok(file)
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let name = self.root.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if trash::throw(&self.state, &self.root, &name).is_ok() {
            trash::empty(&self.state);
        }
    }
}
