//! Folders that are out of the way at once and off the disk later.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::leave_behind;
use crate::host::access;

/// So many names are given to one program; longer lines are refused by the system.
const AT_ONCE: usize = 2000;

pub fn of(home: &Path) -> PathBuf {
    home.join("trash")
}

/// Moves a folder there. One that is not there any more is `NotFound`.
pub fn throw(home: &Path, folder: &Path, name: &str) -> io::Result<()> {
    let trash = of(home);
    access::create_private_dir_all(&trash)?;
    fs::rename(folder, trash.join(format!("{name}-{:x}", fastrand::u64(..))))
}

/// Deletes what lies there, in a process of its own that may outlive ours, so that the user does not wait for it. The trash
/// itself stays: another process may be about to put something into it.
pub fn empty(home: &Path) {
    let Ok(entries) = fs::read_dir(of(home)) else { return };
    let there: Vec<OsString> = entries.flatten().map(|entry| entry.path().into_os_string()).collect();
    for some in there.chunks(AT_ONCE) {
        let options = [OsStr::new("-rf"), OsStr::new("--")];
        let args: Vec<&OsStr> = options.into_iter().chain(some.iter().map(OsString::as_os_str)).collect();
        leave_behind("rm", &args);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_refused_while_the_trash_is_emptied() {
        let home = tempfile::tempdir().unwrap();
        for number in 0..200 {
            let folder = home.path().join("folder");
            fs::create_dir(&folder).unwrap();
            throw(home.path(), &folder, "one").unwrap_or_else(|error| panic!("{number}: {error}"));
            empty(home.path());
        }
        let end = std::time::Instant::now() + std::time::Duration::from_secs(30);
        while fs::read_dir(of(home.path())).unwrap().next().is_some() {
            assert!(std::time::Instant::now() < end, "it is not emptied");
            std::thread::sleep(std::time::Duration::from_millis(10));
        }
    }
}
