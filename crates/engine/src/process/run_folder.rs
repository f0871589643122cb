//! From which run folder a process was started. Two homes can hold the same run, where one is a copy of the other: each ends
//! only what was started from itself.
//!
//! A process says it in its environment, beside the run. What is written down in the run's folder, such as numbers of
//! processes, is copied along with a home; so the folder says itself where it was when it was last driven.

use std::ffi::OsString;
use std::fs;
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use super::{control_group, descent, shim, tree};
use crate::host::access;

/// In a run's folder: where that was when the run was last driven.
const FILE: &str = "place";

/// Carried by what a run starts, with its folder. It is empty where that is not known.
pub(super) const VARIABLE: &str = "CONDUCTOR_RUN_FOLDER";

pub(super) struct RunFolder {
    folder: PathBuf,
    /// What it is or was called.
    names: Vec<PathBuf>,
    is_copy: bool,
}

impl RunFolder {
    pub(super) fn of(folder: &Path) -> RunFolder {
        let here = canonical(folder);
        let before = fs::read(folder.join(FILE)).ok().map(|bytes| PathBuf::from(OsString::from_vec(bytes)));
        let before = before.filter(|before| *before != here);
        let is_another = |before: &PathBuf| before.join(FILE).exists() && identity(before) != identity(&here);
        let is_copy = before.as_ref().is_some_and(is_another);
        // One that is not there any more was moved here, and what was started from it is ours.
        let names = before.filter(|_| !is_copy).into_iter().chain([here]).collect();
        RunFolder { folder: folder.to_owned(), names, is_copy }
    }

    /// Whether it holds what another one has written down about its processes.
    pub(super) fn is_copy(&self) -> bool {
        self.is_copy
    }

    /// Whether a process with such an environment was started from here. One of an earlier version does not say.
    pub(super) fn has_started(&self, environment: &[u8]) -> bool {
        let mut said = tree::variables(environment, VARIABLE).filter(|name| !name.is_empty()).peekable();
        let is_ours = |name: &[u8]| self.names.iter().any(|ours| ours.as_os_str().as_bytes() == name);
        said.peek().is_none() || said.any(is_ours)
    }

    /// From here on it is what it says. Of a copy, nothing is kept that was written down about processes: they are another's.
    pub(super) fn settle(&self) {
        if self.is_copy {
            control_group::forget(&self.folder);
            descent::forget(&self.folder);
            shim::clear(&self.folder);
        }
        let Some(here) = self.names.last().filter(|_| self.folder.is_dir()) else { return };
        let written = fs::read(self.folder.join(FILE));
        if !written.is_ok_and(|written| written == here.as_os_str().as_bytes()) {
            // Where that cannot be written, everything is as it was before there was such a file.
            let _ = access::replace(&self.folder.join(FILE), here.as_os_str().as_bytes());
        }
    }
}

/// One folder may be reached by several names, such as where a file system is mounted twice.
fn identity(folder: &Path) -> Option<(u64, u64)> {
    fs::metadata(folder).ok().map(|data| (data.dev(), data.ino()))
}

/// By which name it is carried.
pub(super) fn canonical(folder: &Path) -> PathBuf {
    folder.canonicalize().unwrap_or_else(|_| folder.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn environment(folder: &Path) -> Vec<u8> {
        [b"X=1\0".as_slice(), VARIABLE.as_bytes(), b"=", canonical(folder).as_os_str().as_bytes()].concat()
    }

    #[test]
    fn a_copy_of_a_run_has_started_nothing_and_one_that_was_moved_has() {
        let homes = tempfile::tempdir().unwrap();
        let (first, copy) = (homes.path().join("first"), homes.path().join("copy"));
        fs::create_dir(&first).unwrap();
        RunFolder::of(&first).settle();
        let started = environment(&first);
        assert!(RunFolder::of(&first).has_started(&started) && !RunFolder::of(&first).is_copy());
        fs::create_dir(&copy).unwrap();
        fs::copy(first.join(FILE), copy.join(FILE)).unwrap();
        assert!(!RunFolder::of(&copy).has_started(&started) && RunFolder::of(&copy).is_copy());
        for unsaid in [b"X=1".as_slice(), b"CONDUCTOR_RUN_FOLDER=\0X=1"] {
            assert!(RunFolder::of(&copy).has_started(unsaid), "of an earlier version, or not known");
        }
        let moved = homes.path().join("moved");
        fs::rename(&first, &moved).unwrap();
        assert!(RunFolder::of(&moved).has_started(&started) && !RunFolder::of(&moved).is_copy());
        RunFolder::of(&copy).settle();
        assert!(RunFolder::of(&copy).has_started(&environment(&copy)) && !RunFolder::of(&copy).is_copy());
    }
}
