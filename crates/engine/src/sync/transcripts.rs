//! What agents and commands said, as one archive: packed without secrets, unpacked into a run's folder and nowhere else.

use std::fs::File;
use std::io::{self, Read as _};
use std::path::{Component, Path, PathBuf};

use tar::{Archive, Builder, EntryType, Header};

use super::error::{SyncError, at};
use crate::host::access;
use crate::host::redact::Redactor;

/// More than this of one run stays here: the remote is for looking at runs, not for keeping them.
const MOST: u64 = 256 << 20;

pub(super) struct Packed {
    pub(super) bytes: Vec<u8>,
    pub(super) blotted: usize,
    pub(super) left_out: usize,
}

/// The files of all tasks, in the order of their names: the same files are the same bytes.
pub(super) fn pack(folder: &Path, redactor: &Redactor) -> Result<Packed, SyncError> {
    pack_within(folder, redactor, MOST)
}

fn pack_within(folder: &Path, redactor: &Redactor, mut room: u64) -> Result<Packed, SyncError> {
    let mut packed = Packed { bytes: Vec::new(), blotted: 0, left_out: 0 };
    let mut archive = Builder::new(Vec::new());
    for path in files(folder) {
        let Ok(file) = access::open_own(&path) else { continue };
        let Some(bytes) = whole_within(file, room).map_err(at(&path))? else {
            packed.left_out += 1;
            continue;
        };
        let clean = redactor.bytes(&bytes);
        let Some(left) = room.checked_sub(clean.len() as u64) else {
            packed.left_out += 1;
            continue;
        };
        room = left;
        packed.blotted += usize::from(*clean != *bytes);
        let name = path.strip_prefix(folder).unwrap_or(&path);
        let mut header = Header::new_gnu();
        header.set_entry_type(EntryType::Regular);
        header.set_size(clean.len() as u64);
        header.set_mode(0o600);
        archive.append_data(&mut header, name, &*clean).map_err(at(&path))?;
    }
    packed.bytes = archive.into_inner().map_err(at(folder))?;
    Ok(packed)
}

/// All of a file, or nothing where it is longer than that: what there is no room for is not read.
fn whole_within(file: File, room: u64) -> io::Result<Option<Vec<u8>>> {
    if file.metadata()?.len() > room {
        return Ok(None);
    }
    let mut bytes = Vec::new();
    // It may grow meanwhile.
    file.take(room.saturating_add(1)).read_to_end(&mut bytes)?;
    Ok((bytes.len() as u64 <= room).then_some(bytes))
}

/// `executor_N/TASK/FILE`; what is being written right now is not among them.
fn files(folder: &Path) -> Vec<PathBuf> {
    let below = |folder: &Path| -> Vec<PathBuf> {
        let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
        entries.map(|entry| entry.path()).collect()
    };
    let is_executor = |path: &PathBuf| {
        path.file_name().and_then(|name| name.to_str()).is_some_and(|name| name.starts_with("executor_"))
    };
    let is_real = |path: &PathBuf| path.symlink_metadata().is_ok_and(|data| !data.file_type().is_symlink());
    let mut found: Vec<PathBuf> = below(folder)
        .into_iter()
        .filter(|path| is_executor(path) && is_real(path))
        .flat_map(|executor| below(&executor))
        .filter(|path| is_real(path) && path.is_dir())
        .flat_map(|task| below(&task))
        .filter(|path| path.symlink_metadata().is_ok_and(|data| data.is_file()))
        .collect();
    found.sort();
    found
}

/// Refuses an archive that would write anywhere but below the folders of tasks, before anything is written.
pub(super) fn check(bytes: &[u8]) -> io::Result<()> {
    each(bytes, |_, _| Ok(()))
}

pub(super) fn unpack(bytes: &[u8], folder: &Path) -> io::Result<()> {
    each(bytes, |name, contents| {
        let path = folder.join(name);
        if let Some(parent) = path.parent() {
            access::create_private_dir_all(parent)?;
        }
        // A link in the place of a folder could lead out of it.
        let parents = path.ancestors().skip(1).take(2);
        for parent in parents {
            if parent.symlink_metadata()?.file_type().is_symlink() {
                return Err(io::Error::other(format!("{} is a link", parent.display())));
            }
        }
        access::replace(&path, contents)
    })
}

fn each(bytes: &[u8], mut take: impl FnMut(&Path, &[u8]) -> io::Result<()>) -> io::Result<()> {
    for entry in Archive::new(bytes).entries()? {
        let mut entry = entry?;
        let name = entry.path()?.into_owned();
        if entry.header().entry_type() != EntryType::Regular || !is_of_a_task(&name) {
            return Err(io::Error::other(format!("{} is no file of a task", name.display())));
        }
        let mut contents = Vec::new();
        entry.read_to_end(&mut contents)?;
        take(&name, &contents)?;
    }
    Ok(())
}

fn is_of_a_task(name: &Path) -> bool {
    let parts: Vec<_> = name.components().collect();
    let is_plain = parts.iter().all(|part| matches!(part, Component::Normal(_)));
    let executor = parts.first().and_then(|part| part.as_os_str().to_str());
    is_plain && parts.len() == 3 && executor.is_some_and(|name| name.starts_with("executor_"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_of_tasks_come_back_as_they_went_and_without_secrets() {
        let (from, to) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let redactor = Redactor::new([b"canary-one-two".to_vec()]);
        let task = from.path().join("executor_1/build");
        std::fs::create_dir_all(&task).unwrap();
        std::fs::create_dir_all(from.path().join("workspaces/w")).unwrap();
        std::fs::write(task.join("transcript.log"), "said canary-one-two\n").unwrap();
        std::fs::write(from.path().join("executor_1/spool.log"), "at work").unwrap();
        std::fs::write(from.path().join("workspaces/w/f"), "code").unwrap();
        std::os::unix::fs::symlink("/etc/passwd", task.join("link")).unwrap();
        let packed = pack(from.path(), &redactor).unwrap();
        assert_eq!((packed.blotted, packed.left_out), (1, 0));
        assert_eq!(pack(from.path(), &redactor).unwrap().bytes, packed.bytes, "the same bytes each time");
        check(&packed.bytes).unwrap();
        unpack(&packed.bytes, to.path()).unwrap();
        let said = std::fs::read_to_string(to.path().join("executor_1/build/transcript.log")).unwrap();
        assert_eq!(said, "said **************\n");
        assert_eq!(files(to.path()).len(), 1);
    }

    #[test]
    fn what_there_is_no_room_for_is_left_out_without_being_read() {
        let from = tempfile::tempdir().unwrap();
        let task = from.path().join("executor_1/build");
        std::fs::create_dir_all(&task).unwrap();
        std::fs::write(task.join("a.log"), "twelve bytes").unwrap();
        // More than there is memory for, and all of it a hole.
        File::create(task.join("b.log")).unwrap().set_len(1 << 42).unwrap();
        std::fs::write(task.join("c.log"), "more").unwrap();
        let packed = pack_within(from.path(), &Redactor::new([]), 15).unwrap();
        assert_eq!(packed.left_out, 2, "the hole, and what comes when the room is used up");
        let mut names = Vec::new();
        each(&packed.bytes, |name, _| {
            names.push(name.to_owned());
            Ok(())
        })
        .unwrap();
        assert_eq!(names, [Path::new("executor_1/build/a.log")]);
    }

    #[test]
    fn nothing_is_written_outside_of_the_folders_of_tasks() {
        let archive = |name: &str, kind: EntryType| {
            let mut builder = Builder::new(Vec::new());
            let mut header = Header::new_old();
            header.as_old_mut().name[..name.len()].copy_from_slice(name.as_bytes());
            header.set_entry_type(kind);
            header.set_size(1);
            header.set_cksum();
            builder.append(&header, &b"x"[..]).unwrap();
            builder.into_inner().unwrap()
        };
        let regular = EntryType::Regular;
        assert!(check(&archive("executor_1/t/f", regular)).is_ok());
        for name in ["../f", "/etc/f", "executor_1/../../f", "journal", "executor_1/f", "workspaces/a/b"] {
            assert!(check(&archive(name, regular)).is_err(), "{name}");
        }
        assert!(check(&archive("executor_1/t/f", EntryType::Symlink)).is_err());
        let to = tempfile::tempdir().unwrap();
        std::os::unix::fs::symlink("/tmp", to.path().join("executor_1")).unwrap();
        assert!(unpack(&archive("executor_1/t/f", regular), to.path()).is_err());
    }
}
