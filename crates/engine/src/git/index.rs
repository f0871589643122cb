//! Git's index, as far as its entries go: which of them are commits of other repositories, and what is remembered of a
//! file's size and times.
//!
//! Read from the file itself, since starting a program for it would cost every repository what only few need. Only
//! indexes of our own making are read: those of a shadow, which has no configuration that could choose another format.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs::{self, Metadata};
use std::io;
use std::ops::Range;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// `DIRC`, version, number of entries.
const HEADER: usize = 12;
/// Ten numbers: times, device, inode, mode, owner, group, size.
const STAT: usize = 40;
const MODE: Range<usize> = 24..28;
/// A flag that says there are two bytes more of them.
const EXTENDED: u16 = 0x4000;
const NAME_LENGTH: u16 = 0x0fff;
/// Which side of an unfinished merge an entry is of; none of them where these are zero.
const STAGE: u16 = 0x3000;
const GITLINK: u32 = 0o160000;
const TYPE: u32 = 0o170000;
const FILE: u32 = 0o100000;
const SYMLINK: u32 = 0o120000;

/// A commit of another repository that a tree has in a folder's place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Link {
    pub path: PathBuf,
    pub commit: String,
}

pub(super) struct Index {
    bytes: Vec<u8>,
    entries: Vec<Entry>,
    /// How many bytes the name of an object has.
    object: usize,
}

struct Entry {
    start: usize,
    name: Range<usize>,
}

impl Index {
    /// One that is not there yet has no entries.
    pub(super) fn read(path: &Path, sha256: bool) -> io::Result<Index> {
        let object = if sha256 { 32 } else { 20 };
        let bytes = match fs::read(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return Ok(Index { bytes: Vec::new(), entries: Vec::new(), object });
            }
            bytes => bytes?,
        };
        Index::of(bytes, sha256)
            .ok_or_else(|| io::Error::new(io::ErrorKind::InvalidData, "no index of a known format"))
    }

    /// Nothing where the format is not known.
    pub(super) fn of(bytes: Vec<u8>, sha256: bool) -> Option<Index> {
        let object = if sha256 { 32 } else { 20 };
        let entries = entries(&bytes, object)?;
        Some(Index { bytes, entries, object })
    }

    /// The files of which there are several versions.
    pub(super) fn unmerged(&self) -> BTreeSet<String> {
        let flags = |entry: &&Entry| {
            let at = entry.start + STAT + self.object;
            self.bytes.get(at).is_some_and(|first| u16::from(*first) << 8 & STAGE != 0)
        };
        let names = self.entries.iter().filter(flags).map(|entry| self.path(entry));
        names.map(|name| name.to_string_lossy().into_owned()).collect()
    }

    pub(super) fn links(&self) -> Vec<Link> {
        let links = self.entries.iter().filter(|entry| self.mode(entry) == GITLINK);
        links.map(|entry| Link { path: self.path(entry).to_owned(), commit: self.object(entry) }).collect()
    }

    pub(super) fn has(&self, path: &Path) -> bool {
        self.place_of(path.as_os_str().as_bytes()).is_ok()
    }

    /// The files and links it has and another has not.
    pub(super) fn files_but(&self, other: &Index) -> Vec<PathBuf> {
        let is_new = |entry: &&Entry| {
            self.mode(entry) != GITLINK && other.place_of(&self.bytes[entry.name.clone()]).is_err()
        };
        self.entries.iter().filter(is_new).map(|entry| self.path(entry).to_owned()).collect()
    }

    fn place_of(&self, name: &[u8]) -> Result<usize, usize> {
        self.entries.binary_search_by(|one| self.bytes[one.name.clone()].cmp(name))
    }

    /// Whether a folder holds no file and no folder besides what is named here. Not where that cannot be told, as where
    /// there are other repositories in it.
    pub(super) fn is_all_in(&self, folder: &Path) -> bool {
        let is_plain = |entry: &Entry| matches!(self.mode(entry) & TYPE, FILE | SYMLINK);
        self.entries.iter().all(is_plain) && self.is_all_below(folder, &mut Vec::new(), true).unwrap_or(false)
    }

    /// `below` is the path of the folder in the tree, with a slash behind it.
    fn is_all_below(&self, folder: &Path, below: &mut Vec<u8>, is_top: bool) -> io::Result<bool> {
        let length = below.len();
        let mut is_empty = true;
        for entry in fs::read_dir(folder)? {
            let entry = entry?;
            let name = entry.file_name();
            if is_top && name == ".git" {
                continue;
            }
            is_empty = false;
            below.truncate(length);
            below.extend_from_slice(name.as_bytes());
            let is_known = match entry.file_type()?.is_dir() {
                true => {
                    below.push(b'/');
                    self.is_all_below(&entry.path(), below, false)?
                }
                false => self.place_of(below).is_ok(),
            };
            if !is_known {
                return Ok(false);
            }
        }
        below.truncate(length);
        // Git knows no empty folders.
        Ok(is_top || !is_empty)
    }

    fn mode(&self, entry: &Entry) -> u32 {
        number(&self.bytes[entry.start..], MODE)
    }

    fn path(&self, entry: &Entry) -> &Path {
        Path::new(OsStr::from_bytes(&self.bytes[entry.name.clone()]))
    }

    fn object(&self, entry: &Entry) -> String {
        let object = &self.bytes[entry.start + STAT..][..self.object];
        object.iter().map(|byte| format!("{byte:02x}")).collect()
    }

    /// Takes a file's size and times for those of an entry whose content it has, whatever its bytes are.
    pub(super) fn stamp(&mut self, path: &Path, found: &Metadata) {
        let wanted = path.as_os_str().as_bytes();
        let Ok(place) = self.place_of(wanted) else { return };
        let start = self.entries[place].start;
        // The format has 32 bits for each; git compares no more than these.
        let numbers = [
            found.ctime() as u32,
            found.ctime_nsec() as u32,
            found.mtime() as u32,
            found.mtime_nsec() as u32,
            found.dev() as u32,
            found.ino() as u32,
            self.mode(&self.entries[place]),
            found.uid(),
            found.gid(),
            found.len() as u32,
        ];
        for (slot, number) in self.bytes[start..start + STAT].chunks_mut(4).zip(numbers) {
            slot.copy_from_slice(&number.to_be_bytes());
        }
    }

    /// Without a checksum, as `index.skipHash` has it: git puts one in when it writes the index next.
    pub(super) fn write(mut self, path: &Path) -> io::Result<()> {
        let end = self.bytes.len();
        self.bytes[end.saturating_sub(self.object)..].fill(0);
        let mut lock = path.as_os_str().to_owned();
        lock.push(".lock");
        fs::write(&lock, &self.bytes)?;
        fs::rename(lock, path)
    }
}

fn number(bytes: &[u8], at: Range<usize>) -> u32 {
    bytes.get(at).and_then(|bytes| bytes.try_into().ok()).map_or(0, u32::from_be_bytes)
}

/// Where the entries are; nothing where it is not laid out as we know it.
fn entries(bytes: &[u8], object: usize) -> Option<Vec<Entry>> {
    // What comes before an entry's name, with two bytes of flags at its end.
    let before = STAT + object + 2;
    let header = bytes.get(..HEADER).filter(|header| header.starts_with(b"DIRC"))?;
    if !matches!(number(header, 4..8), 2 | 3) {
        return None;
    }
    let count = number(header, 8..HEADER);
    let mut start = HEADER;
    let mut entries = Vec::new();
    for _ in 0..count {
        let flags = u16::from_be_bytes(bytes.get(start + before - 2..start + before)?.try_into().ok()?);
        let fixed = if flags & EXTENDED == 0 { before } else { before + 2 };
        let rest = bytes.get(start + fixed..)?;
        let length = match flags & NAME_LENGTH {
            // So long that it did not fit; a zero ends it.
            NAME_LENGTH => rest.iter().position(|&byte| byte == 0)?,
            length => usize::from(length),
        };
        rest.get(length).filter(|&&end| end == 0)?;
        let name = start + fixed..start + fixed + length;
        entries.push(Entry { start, name });
        // Filled up with zeros, one at least, to a multiple of eight.
        start += (fixed + length + 8) & !7;
    }
    Some(entries)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::git::users_git::git;

    const COMMIT: &str = "0123456789abcdef0123456789abcdef01234567";

    /// A repository with a gitlink, names of all lengths around the padding, and one too long for its field.
    fn repository() -> (tempfile::TempDir, PathBuf) {
        let dir = tempfile::tempdir().unwrap();
        git(dir.path(), &["init", "-q", "."]);
        for length in 1..20 {
            fs::write(dir.path().join("f".repeat(length)), "x").unwrap();
        }
        let deep = dir.path().join(["d".repeat(200).as_str(); 10].join("/"));
        fs::create_dir_all(&deep).unwrap();
        fs::write(deep.join("f".repeat(200)), "x").unwrap();
        git(dir.path(), &["add", "."]);
        git(dir.path(), &["update-index", "--add", "--cacheinfo", &format!("160000,{COMMIT},libs/sub")]);
        let index = dir.path().join(".git/index");
        (dir, index)
    }

    #[test]
    fn it_names_what_git_names_and_finds_the_gitlinks() {
        let (dir, path) = repository();
        let index = Index::read(&path, false).unwrap();
        let ours: Vec<String> =
            index.entries.iter().map(|entry| index.path(entry).display().to_string()).collect();
        assert_eq!(ours.join("\n"), git(dir.path(), &["ls-files"]));
        assert_eq!(index.links(), [Link { path: "libs/sub".into(), commit: COMMIT.into() }]);
        git(dir.path(), &["update-index", "--skip-worktree", "f"]);
        assert_eq!(Index::read(&path, false).unwrap().links().len(), 1, "version 3 too");
    }

    #[test]
    fn it_knows_whether_there_is_anything_else_in_a_folder() {
        let dir = tempfile::tempdir().unwrap();
        git(dir.path(), &["init", "-q", "."]);
        let path = |name: &str| dir.path().join(name);
        for folder in ["a", "a/b", "a-b"] {
            fs::create_dir(path(folder)).unwrap();
        }
        for name in ["a/f", "a/b/f", "a-b/f", "f", ".gitignore"] {
            fs::write(path(name), "*.log\n").unwrap();
        }
        std::os::unix::fs::symlink("nowhere", path("link")).unwrap();
        git(dir.path(), &["add", "."]);
        let is_all = || Index::read(&path(".git/index"), false).unwrap().is_all_in(dir.path());
        assert!(is_all());
        for name in ["a/g", "x.log", "a/b/.git", "a/b/h", "a-b/a"] {
            fs::write(path(name), "").unwrap();
            assert!(!is_all(), "{name}");
            fs::remove_file(path(name)).unwrap();
            assert!(is_all());
        }
        for name in ["empty", "a/empty"] {
            fs::create_dir(path(name)).unwrap();
            assert!(!is_all(), "{name}");
            fs::remove_dir(path(name)).unwrap();
        }
        std::os::unix::fs::symlink("/", path("a/root")).unwrap();
        assert!(!is_all(), "a link that is not followed");
        fs::remove_file(path("a/root")).unwrap();
        git(dir.path(), &["update-index", "--add", "--cacheinfo", &format!("160000,{COMMIT},libs/sub")]);
        assert!(!is_all(), "what is in another repository is not known");
    }

    #[test]
    fn a_stamped_entry_is_clean_to_git_whatever_is_in_the_file() {
        let (dir, path) = repository();
        let name = Path::new("fff");
        fs::write(dir.path().join(name), "something else").unwrap();
        let file = fs::File::open(dir.path().join(name)).unwrap();
        file.set_modified(std::time::SystemTime::now() - std::time::Duration::from_secs(10)).unwrap();
        assert_eq!(git(dir.path(), &["ls-files", "--modified"]).lines().next(), Some("fff"));
        let mut index = Index::read(&path, false).unwrap();
        index.stamp(name, &fs::metadata(dir.path().join(name)).unwrap());
        index.write(&path).unwrap();
        assert!(!git(dir.path(), &["ls-files", "--modified"]).contains("fff"));
        assert_eq!(git(dir.path(), &["diff-files", "--name-only", "--", "fff"]), "");
        git(dir.path(), &["fsck"]);
    }

    #[test]
    fn what_is_no_index_or_cut_short_is_refused_and_a_missing_one_is_empty() {
        let (dir, path) = repository();
        let whole = fs::read(&path).unwrap();
        let other = dir.path().join("other");
        for end in [0, 3, HEADER - 1, HEADER + 30, HEADER + 70] {
            fs::write(&other, &whole[..end]).unwrap();
            assert!(Index::read(&other, false).is_err(), "cut after {end}");
        }
        git(dir.path(), &["update-index", "--index-version", "4"]);
        assert!(Index::read(&path, false).is_err());
        assert!(Index::read(&dir.path().join("none"), false).unwrap().links().is_empty());
    }
}
