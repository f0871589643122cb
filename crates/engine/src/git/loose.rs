//! Refs written as git writes them where each is a file: with its lock, synced, and put in place at once. Starting git for
//! each would take longer than all the rest of it.
//!
//! Wherever something is not as simple as that, git is asked to do it.

use std::fs::{self, File};
use std::io::{self, Write as _};
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

use rustix::fs::Mode;

use super::Repository;

impl Repository {
    /// Whether it was written.
    pub(super) fn write_loose(&self, name: &str, commit: &str) -> bool {
        let is_id = matches!(commit.len(), 40 | 64) && commit.bytes().all(|byte| byte.is_ascii_hexdigit());
        is_id && is_plain(name) && self.has_plain_files() && write(&self.common.join(name), commit).is_ok()
    }

    /// Refs are files, and this user's alone to write.
    fn has_plain_files(&self) -> bool {
        let refs = self.common.join("refs");
        let is_shared = |found: fs::Metadata| Mode::from_raw_mode(found.mode()).contains(Mode::SGID);
        !self.common.join("reftable").exists()
            && refs.symlink_metadata().is_ok_and(|found| found.is_dir() && !is_shared(found))
    }
}

/// Nothing that git would refuse, or would keep elsewhere than beside the others.
fn is_plain(name: &str) -> bool {
    let is_plain = |part: &str| {
        !part.is_empty()
            && !part.starts_with(['.', '-'])
            && !part.ends_with('.')
            && !part.ends_with(".lock")
            && !part.contains("..")
            && part.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte))
    };
    let ours =
        ["refs/heads/conductor-task/", "refs/conductor/"].iter().find_map(|ours| name.strip_prefix(ours));
    ours.is_some_and(|rest| rest.split('/').all(is_plain))
}

fn write(path: &Path, commit: &str) -> io::Result<()> {
    let folder = path.parent().ok_or(io::ErrorKind::InvalidInput)?;
    fs::create_dir_all(folder)?;
    let mut lock = path.as_os_str().to_owned();
    lock.push(".lock");
    let lock = Path::new(&lock);
    let mut file = File::options().write(true).create_new(true).open(lock)?;
    let written =
        writeln!(file, "{commit}").and_then(|()| file.sync_all()).and_then(|()| fs::rename(lock, path));
    if written.is_err() {
        let _ = fs::remove_file(lock);
    }
    written
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_plain_names_of_our_own_are_written() {
        for name in ["refs/heads/conductor-task/abc/build", "refs/conductor/rescue/abc/a.b_c/1"] {
            assert!(is_plain(name), "{name}");
        }
        for name in [
            "refs/heads/main",
            "refs/heads/conductor/abc",
            "HEAD",
            "refs/conductor/",
            "refs/conductor/a//b",
            "refs/conductor/../../x",
            "refs/conductor/a..b",
            "refs/conductor/a.lock",
            "refs/conductor/.a",
            "refs/conductor/a b",
            "refs/conductor/a~1",
            "refs/conductor/ä",
        ] {
            assert!(!is_plain(name), "{name}");
        }
    }

    #[test]
    fn what_is_locked_or_has_a_folder_in_its_place_is_left_to_git() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("refs/conductor/a/b");
        let commit = "0123456789abcdef0123456789abcdef01234567";
        write(&path, commit).unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), format!("{commit}\n"));
        let lock = path.with_extension("lock");
        fs::write(&lock, "").unwrap();
        assert!(write(&path, &commit.replace('0', "1")).is_err());
        assert_eq!(
            fs::read_to_string(&path).unwrap(),
            format!("{commit}\n"),
            "another process holds its lock"
        );
        assert!(lock.exists());
        assert!(write(&path.join("c"), commit).is_err(), "a ref is in the way");
        assert!(write(path.parent().unwrap(), commit).is_err(), "a folder is in the way");
        assert_eq!(fs::read_dir(dir.path().join("refs/conductor")).unwrap().count(), 1, "no lock is left");
    }
}
