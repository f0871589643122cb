//! Who may read what we write: below the state directory only the user; in a folder the user chose, their umask decides.
//!
//! A file is no more readable than the folder it is put into, so those who write need not know which of the two it is.

use std::fs::{self, DirBuilder, File, OpenOptions, Permissions};
use std::io;
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

const FOLDER: u32 = 0o700;
const FILE: u32 = 0o600;

/// What the group and all others may do.
const OTHERS: u32 = 0o077;

/// How a file of the user's own is opened.
pub fn private() -> OpenOptions {
    let mut options = File::options();
    options.mode(FILE);
    options
}

/// How a file at this path is opened: as its folder is.
pub fn options(path: &Path) -> OpenOptions {
    match path.parent().is_some_and(is_private) {
        true => private(),
        false => File::options(),
    }
}

/// Opens a file that we have written, to read it: a link in its place could lead anywhere, and a pipe would be waited for.
pub fn open_own(path: &Path) -> io::Result<File> {
    let flags = rustix::fs::OFlags::NOFOLLOW | rustix::fs::OFlags::NONBLOCK;
    let opened = File::options().read(true).custom_flags(flags.bits() as i32).open(path);
    let file = opened.map_err(|error| match rustix::io::Errno::from_io_error(&error) {
        Some(rustix::io::Errno::LOOP) => io::Error::other(format!("{} is a link now", path.display())),
        _ => error,
    })?;
    match file.metadata()?.is_file() {
        true => Ok(file),
        false => Err(io::Error::other(format!("{} is no file any more", path.display()))),
    }
}

/// As `fs::write`.
pub fn write(path: &Path, bytes: impl AsRef<[u8]>) -> io::Result<()> {
    use io::Write as _;
    options(path).write(true).create(true).truncate(true).open(path)?.write_all(bytes.as_ref())
}

/// As `write`, all at once: a reader sees what was there before or what is there now, also after a kill. What a
/// kill leaves of it has a name that ends in the writer's number and `.new`.
pub fn replace(path: &Path, bytes: impl AsRef<[u8]>) -> io::Result<()> {
    use io::Write as _;
    replace_by(path, |file| file.write_all(bytes.as_ref()))
}

/// As `replace`, for what is written piece by piece.
pub fn replace_by(path: &Path, write: impl FnOnce(&mut File) -> io::Result<()>) -> io::Result<()> {
    let fresh = unfinished(path);
    let open = || options(&fresh).write(true).create(true).truncate(true).open(&fresh);
    let written = open().and_then(|mut file| write(&mut file)).and_then(|()| fs::rename(&fresh, path));
    written.inspect_err(|_| drop(fs::remove_file(&fresh)))
}

/// What `replace` writes to before the file is there.
pub fn unfinished(path: &Path) -> PathBuf {
    let mut fresh = path.as_os_str().to_owned();
    fresh.push(format!(".{}.new", std::process::id()));
    fresh.into()
}

/// As `fs::create_dir_all`; what is made is as its parent is.
pub fn create_dir_all(path: &Path) -> io::Result<()> {
    if path.is_dir() {
        return Ok(());
    }
    let existing = path.ancestors().find(|folder| folder.is_dir());
    match existing.is_some_and(is_private) {
        true => create_private_dir_all(path),
        false => fs::create_dir_all(path),
    }
}

/// Whether files can be put into a folder that is there, and why not.
pub fn check_writable(folder: &Path) -> io::Result<()> {
    let wanted = rustix::fs::Access::WRITE_OK | rustix::fs::Access::EXEC_OK;
    Ok(rustix::fs::access(folder, wanted)?)
}

/// As `fs::create_dir_all`, of folders of the user's own.
pub fn create_private_dir_all(path: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(FOLDER).create(path)
}

fn is_private(folder: &Path) -> bool {
    fs::metadata(folder).is_ok_and(|data| data.permissions().mode() & OTHERS == 0)
}

/// Whether others may look into what is there.
pub(crate) fn is_open(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|data| data.permissions().mode() & OTHERS != 0)
}

/// Takes from others what they may do with a file or folder. A link is not followed.
pub(crate) fn close(path: &Path) -> io::Result<()> {
    let data = fs::symlink_metadata(path)?;
    let mode = data.permissions().mode();
    match !data.file_type().is_symlink() && mode & OTHERS != 0 {
        true => fs::set_permissions(path, Permissions::from_mode(mode & 0o7777 & !OTHERS)),
        false => Ok(()),
    }
}

/// As `close`, of a folder and everything in it but what is below folders of these names, which is not ours.
pub(crate) fn close_all(folder: &Path, not_below: &[&str]) -> io::Result<()> {
    let mut open = vec![folder.to_owned()];
    while let Some(folder) = open.pop() {
        close(&folder)?;
        if not_below.iter().any(|name| folder.file_name().is_some_and(|own| own == *name)) {
            continue;
        }
        for entry in fs::read_dir(&folder)?.flatten() {
            match entry.file_type() {
                Ok(kind) if kind.is_dir() => open.push(entry.path()),
                // One that goes meanwhile needs nothing.
                _ => drop(close(&entry.path())),
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mode(path: &Path) -> u32 {
        fs::metadata(path).unwrap().permissions().mode() & 0o777
    }

    #[test]
    fn what_is_made_is_as_its_folder_is() {
        let dir = tempfile::tempdir().unwrap();
        for (name, folder_mode, file_mode) in [("own", 0o700, 0o600), ("others", 0o755, 0o644)] {
            let top = dir.path().join(name);
            fs::create_dir(&top).unwrap();
            fs::set_permissions(&top, Permissions::from_mode(folder_mode)).unwrap();
            let (below, file) = (top.join("a/b"), top.join("a/b/file"));
            create_dir_all(&below).unwrap();
            write(&file, "x").unwrap();
            // The second is up to the umask the tests run with, which takes nothing from the first.
            if name == "own" {
                assert_eq!(
                    (mode(&below), mode(&top.join("a")), mode(&file)),
                    (folder_mode, folder_mode, file_mode)
                );
            } else {
                let probe = top.join("probe");
                fs::write(&probe, "").unwrap();
                assert_eq!(mode(&file), mode(&probe));
            }
        }
    }

    #[test]
    fn closing_stops_at_what_is_not_ours_and_follows_no_link() {
        let dir = tempfile::tempdir().unwrap();
        let (home, outside) = (dir.path().join("home"), dir.path().join("outside"));
        fs::create_dir_all(home.join("runs/r/workspaces/w")).unwrap();
        for file in [home.join("runs/r/log"), home.join("runs/r/workspaces/w/f"), outside.clone()] {
            fs::write(&file, "").unwrap();
            fs::set_permissions(&file, Permissions::from_mode(0o755)).unwrap();
        }
        std::os::unix::fs::symlink(&outside, home.join("link")).unwrap();
        close_all(&home, &["workspaces"]).unwrap();
        assert_eq!((mode(&home), mode(&home.join("runs/r"))), (0o700, 0o700));
        assert_eq!(mode(&home.join("runs/r/log")), 0o700, "what may be run stays so for its owner");
        assert_eq!(mode(&home.join("runs/r/workspaces")), 0o700);
        assert_eq!((mode(&home.join("runs/r/workspaces/w/f")), mode(&outside)), (0o755, 0o755));
    }
}
