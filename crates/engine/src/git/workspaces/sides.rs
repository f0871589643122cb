//! The files of a conflict that is laid out, side by side, and what a person makes of one of them: for those who solve it
//! without an editor in the folder.
//!
//! Only files of the conflict are read and written, and never through a link: a folder that an agent's work is laid out in
//! may hold links to anywhere.

use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, Read as _, Write as _};
use std::os::fd::OwnedFd;
use std::path::{Component, Path};

use conductor_core::schedule::Side;
use rustix::fs::{AtFlags, Mode, OFlags};
use serde::Serialize;

use super::resolving::{Resolution, Resolving};
use super::{WorkspaceError, file};

/// Longer files are solved in the folder.
pub const LONGEST_SIDE: u64 = 200_000;

/// How git looks for what is no text.
const LOOKED_AT: usize = 8_000;

/// One version of a file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Version {
    Absent,
    Text {
        text: String,
    },
    Binary {
        bytes: u64,
    },
    TooLong {
        bytes: u64,
    },
    /// A link, a folder or a commit of another repository.
    Other,
}

/// A file that both sides changed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Sides {
    pub path: String,
    /// As it was before both.
    pub base: Version,
    pub ours: Version,
    pub theirs: Version,
    /// As it is in the folder.
    pub now: Version,
}

impl Version {
    fn of(bytes: Vec<u8>) -> Version {
        let length = bytes.len() as u64;
        if bytes[..bytes.len().min(LOOKED_AT)].contains(&0) {
            return Version::Binary { bytes: length };
        }
        match String::from_utf8(bytes) {
            Ok(text) => Version::Text { text },
            Err(_) => Version::Binary { bytes: length },
        }
    }
}

impl Resolving {
    /// Every file of the conflict.
    pub fn sides(&self, open: &Resolution) -> Result<Vec<Sides>, WorkspaceError> {
        let shadow = self.run_repo.shadow();
        let before = shadow.merge_base(&open.base, &open.kept)?;
        let all = open.files.iter().map(|path| {
            let base = before.as_deref().map(|commit| self.version(commit, path)).transpose()?;
            Ok(Sides {
                path: path.clone(),
                base: base.unwrap_or(Version::Absent),
                ours: self.version(&open.base, path)?,
                theirs: self.version(&open.kept, path)?,
                now: now(&open.folder, path)?,
            })
        });
        all.collect()
    }

    fn version(&self, commit: &str, path: &str) -> Result<Version, WorkspaceError> {
        let shadow = self.run_repo.shadow();
        Ok(match shadow.entry(commit, path)? {
            None => Version::Absent,
            Some(entry) if !entry.is_file() => Version::Other,
            Some(entry) if entry.bytes > LONGEST_SIDE => Version::TooLong { bytes: entry.bytes },
            Some(_) => Version::of(shadow.blob(commit, path)?),
        })
    }

    /// Gives a file of the conflict this content in the folder. False where a link is in its place.
    pub fn put(&self, open: &Resolution, path: &str, content: &[u8]) -> Result<bool, WorkspaceError> {
        let is_executable = self.run_repo.shadow().entry(&open.kept, path)?.is_some_and(|entry| entry.runs());
        write(&open.folder, path, content, is_executable)
    }

    /// Gives a file of the conflict what one side has, which may be nothing at all. False where that is no file,
    /// or a link is in its place.
    pub fn take_side(&self, open: &Resolution, path: &str, side: Side) -> Result<bool, WorkspaceError> {
        let shadow = self.run_repo.shadow();
        let commit = match side {
            Side::Ours => &open.base,
            Side::Theirs => &open.kept,
        };
        match shadow.entry(commit, path)? {
            Some(entry) if !entry.is_file() => Ok(false),
            Some(entry) => write(&open.folder, path, &shadow.blob(commit, path)?, entry.runs()),
            None => remove(&open.folder, path).map(|()| true),
        }
    }
}

fn now(folder: &Path, path: &str) -> Result<Version, WorkspaceError> {
    let wrong = |source: io::Error| file(&folder.join(path), source);
    let found = inside(folder, path, |parent, name| {
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        Ok(File::from(rustix::fs::openat(parent, name, flags, Mode::empty())?))
    });
    let found = match found {
        Ok(found) => found,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Version::Absent),
        Err(error) if is_link(&error) => return Ok(Version::Other),
        Err(error) => return Err(wrong(error)),
    };
    let about = found.metadata().map_err(wrong)?;
    if !about.is_file() {
        return Ok(Version::Other);
    }
    if about.len() > LONGEST_SIDE {
        return Ok(Version::TooLong { bytes: about.len() });
    }
    let mut bytes = Vec::new();
    found.take(LONGEST_SIDE + 1).read_to_end(&mut bytes).map_err(wrong)?;
    Ok(Version::of(bytes))
}

/// False where a link is in its place, or in the place of a folder it is in.
fn write(folder: &Path, path: &str, content: &[u8], is_executable: bool) -> Result<bool, WorkspaceError> {
    let mode = Mode::from_raw_mode(if is_executable { 0o755 } else { 0o644 });
    let written = inside(folder, path, |parent, name| {
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let mut target = File::from(rustix::fs::openat(parent, name, flags, mode)?);
        if !target.metadata()?.is_file() {
            return Err(io::Error::other("it is no file"));
        }
        target.set_len(0)?;
        target.write_all(content)
    });
    match written {
        Ok(()) => Ok(true),
        Err(error) if is_link(&error) => Ok(false),
        Err(error) => Err(file(&folder.join(path), error)),
    }
}

fn remove(folder: &Path, path: &str) -> Result<(), WorkspaceError> {
    let removed =
        inside(folder, path, |parent, name| Ok(rustix::fs::unlinkat(parent, name, AtFlags::empty())?));
    match removed {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(file(&folder.join(path), error)),
        _ => Ok(()),
    }
}

/// Goes down to a file's folder, one by one, following no link, and does something with the file's name there.
fn inside<T>(
    folder: &Path,
    path: &str,
    work: impl FnOnce(&OwnedFd, &OsStr) -> io::Result<T>,
) -> io::Result<T> {
    let parts: Vec<Component<'_>> = Path::new(path).components().collect();
    let Some((Component::Normal(name), parents)) = parts.split_last() else { return Err(leads_out()) };
    let flags = OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let mut at = rustix::fs::open(folder, flags | OFlags::RDONLY, Mode::empty())?;
    for part in parents {
        let Component::Normal(part) = part else { return Err(leads_out()) };
        if part.eq_ignore_ascii_case(".git") {
            return Err(leads_out());
        }
        at = rustix::fs::openat(&at, *part, flags | OFlags::RDONLY, Mode::empty())?;
    }
    if name.eq_ignore_ascii_case(".git") {
        return Err(leads_out());
    }
    work(&at, name)
}

fn leads_out() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, "this leads out of the folder")
}

/// A link where a file or folder should be.
fn is_link(error: &io::Error) -> bool {
    let code = error.raw_os_error().map(rustix::io::Errno::from_raw_os_error);
    matches!(code, Some(rustix::io::Errno::LOOP | rustix::io::Errno::NOTDIR))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn no_path_leads_out_of_the_folder() {
        let root = tempfile::tempdir().unwrap();
        let folder = root.path().join("folder");
        fs::create_dir_all(folder.join("src")).unwrap();
        fs::create_dir(folder.join(".git")).unwrap();
        fs::write(root.path().join("secret"), "secret").unwrap();
        std::os::unix::fs::symlink(root.path(), folder.join("away")).unwrap();
        std::os::unix::fs::symlink(root.path().join("secret"), folder.join("link")).unwrap();
        for path in
            ["../secret", "src/../../secret", "/etc/hosts", "away/secret", "link", ".git/config", "", ".."]
        {
            assert!(!matches!(write(&folder, path, b"x", false), Ok(true)), "{path}");
            assert!(!matches!(now(&folder, path), Ok(Version::Text { .. })), "{path}");
        }
        for path in ["link", "away/secret"] {
            assert!(
                !write(&folder, path, b"x", false).unwrap(),
                "{path}: it is a link, and nothing went wrong"
            );
        }
        remove(&folder, "away/secret").unwrap_err();
        assert_eq!(fs::read_to_string(root.path().join("secret")).unwrap(), "secret");
        assert!(write(&folder, "src/a.rs", b"one", false).unwrap());
        write(&folder, "src/a.rs", b"2", true).unwrap();
        assert_eq!(now(&folder, "src/a.rs").unwrap(), Version::Text { text: "2".into() });
        remove(&folder, "src/a.rs").unwrap();
        assert_eq!(now(&folder, "src/a.rs").unwrap(), Version::Absent);
        write(&folder, "b", b"a\0b", false).unwrap();
        assert_eq!(now(&folder, "b").unwrap(), Version::Binary { bytes: 3 });
        write(&folder, "c", &vec![b'x'; LONGEST_SIDE as usize + 1], false).unwrap();
        assert_eq!(now(&folder, "c").unwrap(), Version::TooLong { bytes: LONGEST_SIDE + 1 });
    }
}
