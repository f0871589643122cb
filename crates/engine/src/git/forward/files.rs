//! The files of a checkout, brought to where its next index has them.

use std::ffi::OsStr;
use std::fs;
use std::io::ErrorKind;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

use super::{Difference, NEW, OLD};
use crate::git::{GitError, Repository, with_input};

impl Repository {
    /// Brings every file that is as it was to where it is to be. What is neither is the user's, stays, and is
    /// named.
    pub(super) fn write_files(
        &self,
        checkout: &Path,
        git: &Path,
        differences: &[Difference],
    ) -> Result<Vec<String>, GitError> {
        let (old, new) = (&git.join(OLD), &git.join(NEW));
        let (not_old, not_new) = (self.differing(checkout, old)?, self.differing(checkout, new)?);
        for Difference { path, .. } in differences.iter().filter(|one| one.letter == b'D') {
            if !not_old.contains(path) {
                remove(checkout, path);
            }
        }
        let (mut made, mut changed) = (Vec::new(), Vec::new());
        for Difference { letter, path } in differences.iter().filter(|one| not_new.contains(&one.path)) {
            match letter {
                b'D' => {}
                b'A' => made.push(path.as_path()),
                _ if !not_old.contains(path) => changed.push(path.as_path()),
                _ => {}
            }
        }
        made.iter().for_each(|path| remove_empty(&checkout.join(path)));
        // What decides how files are written comes first.
        let is_rules = |path: &&Path| path.file_name() == Some(OsStr::new(".gitattributes"));
        for rules in [true, false] {
            for (paths, force) in [(&made, false), (&changed, true)] {
                let paths: Vec<&Path> =
                    paths.iter().copied().filter(|path| is_rules(path) == rules).collect();
                self.check_out_paths(checkout, new, &paths, force)?;
            }
        }
        let left = self.differing(checkout, new)?;
        let still = |one: &&Difference| match one.letter {
            b'D' => not_old.contains(&one.path) && fs::symlink_metadata(checkout.join(&one.path)).is_ok(),
            _ => left.contains(&one.path),
        };
        Ok(differences.iter().filter(still).map(|one| one.path.display().to_string()).collect())
    }

    /// Without force nothing that is there is overwritten.
    fn check_out_paths(
        &self,
        checkout: &Path,
        index: &Path,
        paths: &[&Path],
        force: bool,
    ) -> Result<(), GitError> {
        if paths.is_empty() {
            return Ok(());
        }
        let mut command = self.with_index(checkout, index)?;
        command.args(["checkout-index", "-q", "-u", "-z", "--stdin"]).args(force.then_some("-f"));
        let names: Vec<&[u8]> = paths.iter().map(|path| path.as_os_str().as_bytes()).collect();
        match with_input(command, &names.join(&0)) {
            // What was in the way is found by looking again.
            Ok(_) | Err(GitError::Failed { .. }) if !force => Ok(()),
            done => done.map(drop),
        }
    }
}

/// A file, and the folders that are empty without it.
fn remove(checkout: &Path, path: &Path) {
    let place = checkout.join(path);
    let gone = match fs::remove_file(&place) {
        // A submodule, which goes only where nothing is in it.
        Err(error) if error.kind() == ErrorKind::IsADirectory => fs::remove_dir(&place),
        gone => gone,
    };
    if gone.is_ok() {
        let above = path.ancestors().skip(1).filter(|part| !part.as_os_str().is_empty());
        // The first that is not empty ends it.
        let _ = above.map(|part| fs::remove_dir(checkout.join(part))).take_while(Result::is_ok).count();
    }
}

/// Folders with nothing in them but such folders.
fn remove_empty(folder: &Path) {
    if !fs::symlink_metadata(folder).is_ok_and(|found| found.is_dir()) {
        return;
    }
    let (mut open, mut all) = (vec![folder.to_owned()], Vec::new());
    while let Some(folder) = open.pop() {
        let entries = fs::read_dir(&folder).into_iter().flatten().flatten();
        open.extend(
            entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir())).map(|e| e.path()),
        );
        all.push(folder);
    }
    for folder in all.iter().rev() {
        let _ = fs::remove_dir(folder);
    }
}
