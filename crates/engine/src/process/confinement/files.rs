//! Files of one attempt that exist for its confinement alone: the home it sees, copies of configuration.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use conductor_core::confinement::without_sign_ins;

use crate::host::access;
use crate::process::{run_own_within, trash};

/// Far more than it takes to list a file of settings.
const LISTED: Duration = Duration::from_secs(10);

/// A folder on the disk, thrown away when this is dropped.
#[derive(Debug)]
pub struct Place {
    pub(super) state: PathBuf,
    pub(super) root: PathBuf,
    /// Files that are written by way of a link, and where that is: below a folder of the attempt's own.
    pub(super) shared: Mutex<Vec<Shared>>,
}

#[derive(Debug)]
pub(super) struct Shared {
    pub(super) file: PathBuf,
    pub(super) folder: PathBuf,
    pub(super) below: PathBuf,
}

impl Place {
    /// `root` is below the state directory; one of an earlier process is used again.
    pub fn new(state: &Path, root: PathBuf) -> io::Result<Place> {
        access::create_private_dir_all(&root)?;
        Ok(Place { state: state.to_owned(), root, shared: Mutex::default() })
    }

    /// All of it is here.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// The folder that stands for this path inside.
    pub(super) fn fresh(&self, path: &str) -> io::Result<PathBuf> {
        let folder = self.root.join("folders").join(path.trim_matches('/').replace('/', "+"));
        access::create_private_dir_all(&folder)?;
        Ok(folder)
    }

    /// Puts a copy of a file into the folder that stands for one of its parents, unless it is there. What cannot be read is not.
    pub(super) fn copy(&self, file: &Path, of: &Path) -> io::Result<()> {
        let Ok(rest) = file.strip_prefix(of) else { return Ok(()) };
        let folder = self.fresh(&of.to_string_lossy())?;
        let to = folder.join(rest);
        if to.symlink_metadata().is_ok() || !file.is_file() || is_linked(&folder, rest) {
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

    /// The git configuration that an agent sees in place of this one. One that git cannot read is not shown at all.
    pub(super) fn settings(&self, number: usize, file: &Path) -> io::Result<PathBuf> {
        let mut git = Command::new("git");
        git.args(["config", "--no-includes", "-z", "--list", "--file"]).arg(file);
        git.env_remove("GIT_CONFIG_COUNT").env_remove("GIT_CONFIG_PARAMETERS").current_dir("/");
        let listed = run_own_within(&mut git, LISTED)?.filter(|output| output.status.success());
        let listing = listed.map(|output| output.stdout).unwrap_or_default();
        self.write(&format!("settings-{number}"), without_sign_ins(&listing).as_bytes())
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

/// Whether a path below a folder leads through a link: an agent that worked there before could have made it.
pub(super) fn is_linked(folder: &Path, below: &Path) -> bool {
    let mut parts = below.ancestors().filter(|part| !part.as_os_str().is_empty());
    parts.any(|part| folder.join(part).symlink_metadata().is_ok_and(|found| found.is_symlink()))
}

/// The most that a sign-in has.
const LARGEST: u64 = 1 << 20;

impl Place {
    /// A program that writes a file anew puts it in the place of the link: what it wrote belongs where that led.
    fn settle(&self) {
        for Shared { file, folder, below } in
            self.shared.lock().unwrap_or_else(PoisonError::into_inner).drain(..)
        {
            // An agent could have put links to anything on the way.
            let mut parents = below.ancestors().skip(1).map(|part| folder.join(part).symlink_metadata());
            let is_own = parents.all(|found| found.is_ok_and(|found| found.is_dir()));
            let written = folder.join(below);
            let found = written.symlink_metadata();
            if is_own && found.is_ok_and(|found| found.is_file() && found.len() <= LARGEST) {
                let settled = fs::read(&written).and_then(|bytes| fs::write(&file, bytes));
                if let Err(error) = settled {
                    tracing::warn!(file = %file.display(), %error, "what an agent wrote anew is lost");
                }
            }
        }
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.settle();
        let name = self.root.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if trash::throw(&self.state, &self.root, &name).is_ok() {
            trash::empty(&self.state);
        }
    }
}
