//! Archives whose bytes depend on nothing but what is in them: names in order, one time, no owners.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write as _;

use flate2::{Compression, GzBuilder};
use tar::{Builder, EntryType, Header};

use crate::Result;

/// A file that is to be in an archive.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct File {
    pub(super) is_program: bool,
    pub(super) bytes: Vec<u8>,
}

/// By their paths, which are relative.
pub(super) type Files = BTreeMap<String, File>;

/// All files below one folder, each folder before what is in it.
pub(super) fn tar(files: &Files, below: &str, epoch: u64) -> Result<Vec<u8>> {
    let mut archive = Builder::new(Vec::new());
    let whole = |path: &str| format!("{below}/{path}");
    for folder in folders(files.keys().map(|path| whole(path))) {
        let mut header = header(EntryType::Directory, 0o755, 0, epoch);
        archive.append_data(&mut header, format!("{folder}/"), std::io::empty())?;
    }
    for (path, file) in files {
        let mode = if file.is_program { 0o755 } else { 0o644 };
        let mut header = header(EntryType::Regular, mode, file.bytes.len(), epoch);
        archive.append_data(&mut header, whole(path), file.bytes.as_slice())?;
    }
    Ok(archive.into_inner()?)
}

fn header(kind: EntryType, mode: u32, size: usize, epoch: u64) -> Header {
    let mut header = Header::new_gnu();
    header.set_entry_type(kind);
    header.set_mode(mode);
    header.set_size(size as u64);
    header.set_mtime(epoch);
    header.set_uid(0);
    header.set_gid(0);
    // Names that every system has; without one the number would be looked up.
    let _ = header.set_username("root").and_then(|()| header.set_groupname("root"));
    header
}

/// Every folder that is on the way to one of these, in order.
fn folders(paths: impl Iterator<Item = String>) -> BTreeSet<String> {
    let mut folders = BTreeSet::new();
    for path in paths {
        let ends = path.match_indices('/').map(|(at, _)| path[..at].to_owned());
        folders.extend(ends.filter(|folder| !folder.is_empty()));
    }
    folders
}

/// Packed, with neither a name nor a time in its head.
pub(super) fn gzip(bytes: &[u8]) -> Result<Vec<u8>> {
    let mut packed = GzBuilder::new().mtime(0).write(Vec::new(), Compression::best());
    packed.write_all(bytes)?;
    Ok(packed.finish()?)
}

/// The old form that Debian packages have: a line of text before each file, and an even length.
pub(super) fn ar(members: &[(&str, Vec<u8>)], epoch: u64) -> Vec<u8> {
    let mut archive = b"!<arch>\n".to_vec();
    for (name, bytes) in members {
        let head = format!("{name:<16}{epoch:<12}{:<6}{:<6}{:<8}{:<10}`\n", 0, 0, "100644", bytes.len());
        archive.extend_from_slice(head.as_bytes());
        archive.extend_from_slice(bytes);
        if bytes.len() % 2 == 1 {
            archive.push(b'\n');
        }
    }
    archive
}

#[cfg(test)]
mod tests {
    use super::*;

    fn files() -> Files {
        let file = |text: &str, is_program| File { is_program, bytes: text.as_bytes().to_vec() };
        [("b/run".to_owned(), file("x", true)), ("a.txt".to_owned(), file("text", false))].into()
    }

    #[test]
    fn the_same_files_make_the_same_archive_with_folders_first() {
        let made = tar(&files(), "name-1", 1_700_000_000).unwrap();
        assert_eq!(made, tar(&files(), "name-1", 1_700_000_000).unwrap());
        let mut archive = tar::Archive::new(made.as_slice());
        let entries: Vec<String> = archive
            .entries()
            .unwrap()
            .map(|entry| {
                let entry = entry.unwrap();
                let head = entry.header();
                assert_eq!((head.mtime().unwrap(), head.uid().unwrap()), (1_700_000_000, 0));
                format!("{:o} {}", head.mode().unwrap(), entry.path().unwrap().display())
            })
            .collect();
        assert_eq!(entries, ["755 name-1/", "755 name-1/b/", "644 name-1/a.txt", "755 name-1/b/run"]);
    }

    #[test]
    fn what_is_packed_says_nothing_of_when() {
        let packed = gzip(b"text").unwrap();
        assert_eq!(&packed[4..8], [0, 0, 0, 0], "the time in the head");
        assert_eq!(packed, gzip(b"text").unwrap());
    }

    #[test]
    fn an_old_archive_is_as_ar_makes_it() {
        let made = ar(&[("debian-binary", b"2.0\n".to_vec()), ("odd", b"x".to_vec())], 7);
        let text = String::from_utf8(made).unwrap();
        let first = "debian-binary   7           0     0     100644  4         `\n2.0\n";
        assert_eq!(
            text,
            format!("!<arch>\n{first}odd             7           0     0     100644  1         `\nx\n")
        );
    }
}
