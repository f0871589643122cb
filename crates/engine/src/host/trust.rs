//! What of repositories the user trusts: which contents in which repository. It is recorded in the state directory, never in a
//! repository, together with a copy of each content, so that a change can be shown.
//!
//! Trust belongs to a place and a content: the same `verify: [make test]` means something else in another repository. All
//! worktrees of a repository are one place.

use std::fs;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};
use thiserror::Error;

use super::access;
use super::clock::wall;
use super::home::{Home, HomeError};

const SCHEMA: &str = "conductor.trust/1";

/// The record, and the folder with what was trusted.
const RECORD: &str = "trust.json";
const COPIES: &str = "trusted";

/// The config of a repository, and the folder of its plugins.
pub const CONFIG: &str = ".conductor/config.yaml";
pub const PLUGINS: &str = ".conductor/plugins";

/// A folder of plugins with more than this in it is not looked through.
const MOST_FILES: usize = 500;
const LARGEST: u64 = 64 << 20;
const DEEPEST: usize = 8;

#[derive(Debug, Error)]
pub enum TrustError {
    #[error("cannot read {path}: {source}")]
    Unreadable { path: PathBuf, source: io::Error },
    #[error("{path} is not the record of what you trust: {why}")]
    Damaged { path: PathBuf, why: String },
    #[error("{path} holds more than {MOST_FILES} files, or more than 64 MiB")]
    TooMuch { path: PathBuf },
    #[error("cannot write {path}: {source}")]
    Unwritable { path: PathBuf, source: io::Error },
    #[error(transparent)]
    Home(#[from] HomeError),
}

/// A file of a repository that does nothing until it is trusted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Part {
    /// Below the repository's root.
    pub path: String,
    pub bytes: Vec<u8>,
    pub sha256: String,
}

impl Part {
    pub fn new(path: impl Into<String>, bytes: Vec<u8>) -> Part {
        Part { path: path.into(), sha256: sha256(&bytes), bytes }
    }

    /// Of a repository; nothing where there is no such file.
    pub fn read(root: &Path, path: &str) -> Result<Option<Part>, TrustError> {
        let whole = root.join(path);
        match read_bounded(&whole) {
            Ok(bytes) => Ok(Some(Part::new(path, bytes))),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(source) => Err(TrustError::Unreadable { path: whole, source }),
        }
    }
}

fn read_bounded(path: &Path) -> io::Result<Vec<u8>> {
    let file = fs::File::open(path)?;
    if !file.metadata()?.is_file() {
        return Err(io::Error::other("it is no file"));
    }
    let mut bytes = Vec::new();
    file.take(LARGEST + 1).read_to_end(&mut bytes)?;
    match bytes.len() as u64 > LARGEST {
        true => Err(io::Error::other("it is larger than 64 MiB")),
        false => Ok(bytes),
    }
}

pub fn sha256(bytes: &[u8]) -> String {
    hex(&Sha256::digest(bytes))
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The one hash of several files, by which a CI job says what it trusts.
pub fn hash_of(parts: &[Part]) -> String {
    let mut lines: Vec<String> =
        parts.iter().map(|part| format!("{} {}\n", part.sha256, part.path)).collect();
    lines.sort();
    sha256(lines.concat().as_bytes())
}

/// The hash of all that a repository brings along.
pub fn hash_of_repository(root: &Path) -> Result<String, TrustError> {
    let mut parts = plugin_files(root)?;
    parts.extend(Part::read(root, CONFIG)?);
    Ok(hash_of(&parts))
}

/// Every file of a repository's folder of plugins, helpers included: a plugin may load what lies beside it. A link is no
/// plugin and no helper: it could lead anywhere.
pub fn plugin_files(root: &Path) -> Result<Vec<Part>, TrustError> {
    let folder = root.join(PLUGINS);
    let mut paths = Vec::new();
    collect(&folder, DEEPEST, &mut paths)?;
    paths.sort();
    let mut total = 0;
    let mut parts = Vec::new();
    for path in paths {
        let bytes =
            read_bounded(&path).map_err(|source| TrustError::Unreadable { path: path.clone(), source })?;
        total += bytes.len() as u64;
        if total > LARGEST {
            return Err(TrustError::TooMuch { path: folder });
        }
        let name = path.strip_prefix(root).unwrap_or(&path).display().to_string();
        parts.push(Part::new(name, bytes));
    }
    Ok(parts)
}

fn collect(folder: &Path, depth: usize, found: &mut Vec<PathBuf>) -> Result<(), TrustError> {
    // No folder, or one that is a link, has no plugins.
    if depth == 0 || !fs::symlink_metadata(folder).is_ok_and(|data| data.is_dir()) {
        return Ok(());
    }
    let unreadable = |source| TrustError::Unreadable { path: folder.to_owned(), source };
    for entry in fs::read_dir(folder).map_err(unreadable)? {
        let entry = entry.map_err(unreadable)?;
        let kind = entry.file_type().map_err(unreadable)?;
        if kind.is_dir() {
            collect(&entry.path(), depth - 1, found)?;
        } else if kind.is_file() {
            found.push(entry.path());
        }
        if found.len() > MOST_FILES {
            return Err(TrustError::TooMuch { path: folder.to_owned() });
        }
    }
    Ok(())
}

/// What a repository is known by: the git directory that all its worktrees share, or else its folder.
pub fn place_of(root: &Path) -> PathBuf {
    let git = root.join(".git");
    let shared = match fs::read_to_string(&git) {
        // A worktree's `.git` is a file that names its own git directory, which names the shared one.
        Ok(text) => text.trim().strip_prefix("gitdir:").map(|own| {
            let own = root.join(own.trim());
            let common = fs::read_to_string(own.join("commondir")).unwrap_or_else(|_| ".".to_owned());
            own.join(common.trim())
        }),
        Err(_) => git.is_dir().then_some(git),
    };
    let place = shared.unwrap_or_else(|| root.to_owned());
    place.canonicalize().unwrap_or(place)
}

/// A content that the user trusts in a place.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Trusted {
    pub place: PathBuf,
    pub path: String,
    pub sha256: String,
    /// In milliseconds since 1970.
    pub at: i64,
}

#[derive(Debug, Serialize, Deserialize)]
struct Record {
    schema: String,
    trusted: Vec<Trusted>,
}

/// All that the user trusts.
#[derive(Debug, Clone, Default)]
pub struct Trust {
    root: PathBuf,
    trusted: Vec<Trusted>,
}

impl Trust {
    /// As recorded; nothing is made where there is no record. Without a home nothing is trusted.
    pub fn read() -> Result<Trust, TrustError> {
        match Home::root_of_environment() {
            Ok(root) => Trust::read_in(&root),
            Err(_) => Ok(Trust::default()),
        }
    }

    pub fn read_in(root: &Path) -> Result<Trust, TrustError> {
        let path = root.join(RECORD);
        let trusted = match fs::read(&path) {
            Ok(bytes) => {
                let record: Record = serde_json::from_slice(&bytes)
                    .map_err(|error| TrustError::Damaged { path: path.clone(), why: error.to_string() })?;
                match record.schema == SCHEMA {
                    true => record.trusted,
                    false => {
                        return Err(TrustError::Damaged { path, why: format!("it is {}", record.schema) });
                    }
                }
            }
            // Where there is no such folder nothing was trusted; what is in its place is told by what needs it.
            Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
                Vec::new()
            }
            Err(source) => return Err(TrustError::Unreadable { path, source }),
        };
        Ok(Trust { root: root.to_owned(), trusted })
    }

    pub fn all(&self) -> &[Trusted] {
        &self.trusted
    }

    pub fn has(&self, place: &Path, part: &Part) -> bool {
        let same = |one: &Trusted| one.place == place && one.path == part.path && one.sha256 == part.sha256;
        self.trusted.iter().any(same)
    }

    /// What was trusted in this place under this name before, the latest.
    pub fn before(&self, place: &Path, path: &str) -> Option<Vec<u8>> {
        let known = self.trusted.iter().filter(|one| one.place == place && one.path == path);
        let latest = known.max_by_key(|one| one.at)?;
        copy_in(&self.root, &latest.sha256)
    }
}

/// A content that was trusted.
pub fn copy(sha256: &str) -> Option<Vec<u8>> {
    copy_in(&Home::root_of_environment().ok()?, sha256)
}

fn copy_in(root: &Path, hash: &str) -> Option<Vec<u8>> {
    let bytes = fs::read(root.join(COPIES).join(hash)).ok()?;
    // A copy that was tampered with would show a change that is none.
    (sha256(&bytes) == hash).then_some(bytes)
}

/// Keeps a content, so that a later change of it can be shown.
pub fn keep_copy(home: &Home, part: &Part) -> Result<(), TrustError> {
    let folder = home.root().join(COPIES);
    let path = folder.join(&part.sha256);
    let kept = access::create_private_dir_all(&folder).and_then(|()| access::replace(&path, &part.bytes));
    kept.map_err(|source| TrustError::Unwritable { path, source })
}

/// Records that the user trusts these. Other processes that do the same wait.
pub fn add(home: &Home, place: &Path, parts: &[Part]) -> Result<(), TrustError> {
    change(home, |trust, at| {
        for part in parts {
            keep_copy(home, part)?;
            trust.retain(|one| one.place != place || one.path != part.path || one.sha256 != part.sha256);
            trust.push(Trusted {
                place: place.to_owned(),
                path: part.path.clone(),
                sha256: part.sha256.clone(),
                at,
            });
        }
        Ok(())
    })
}

/// Forgets all that was trusted in a place; how many contents that were.
pub fn forget(home: &Home, place: &Path) -> Result<usize, TrustError> {
    let mut forgotten = 0;
    change(home, |trust, _| {
        let before = trust.len();
        trust.retain(|one| one.place != place);
        forgotten = before - trust.len();
        Ok(())
    })?;
    Ok(forgotten)
}

fn change(
    home: &Home,
    edit: impl FnOnce(&mut Vec<Trusted>, i64) -> Result<(), TrustError>,
) -> Result<(), TrustError> {
    let path = home.root().join(RECORD);
    let unwritable = |source| TrustError::Unwritable { path: path.clone(), source };
    let _alone = home.alone().map_err(unwritable)?;
    let mut trust = Trust::read_in(home.root())?.trusted;
    edit(&mut trust, wall().0)?;
    let record = Record { schema: SCHEMA.to_owned(), trusted: trust };
    let text = serde_json::to_string_pretty(&record).unwrap_or_default();
    access::replace(&path, text + "\n").map_err(unwritable)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_content_is_trusted_in_one_place_and_a_byte_more_is_another_content() {
        let folder = tempfile::tempdir().unwrap();
        let home = Home::at(folder.path().join("home")).unwrap();
        let (here, there) = (folder.path().join("a"), folder.path().join("b"));
        let part = Part::new(CONFIG, b"verify: [make]\n".to_vec());
        add(&home, &here, std::slice::from_ref(&part)).unwrap();
        let trust = Trust::read_in(home.root()).unwrap();
        assert!(trust.has(&here, &part));
        assert!(!trust.has(&there, &part));
        let longer = Part::new(CONFIG, b"verify: [make]\n\n".to_vec());
        assert!(!trust.has(&here, &longer));
        assert_eq!(trust.before(&here, CONFIG), Some(part.bytes.clone()));
        add(&home, &here, std::slice::from_ref(&part)).unwrap();
        assert_eq!(Trust::read_in(home.root()).unwrap().all().len(), 1, "not recorded twice");
        assert_eq!(forget(&home, &here).unwrap(), 1);
        assert!(!Trust::read_in(home.root()).unwrap().has(&here, &part));
    }

    #[test]
    fn a_record_that_cannot_be_read_trusts_nothing_and_is_kept() {
        let folder = tempfile::tempdir().unwrap();
        let home = Home::at(folder.path()).unwrap();
        fs::write(folder.path().join(RECORD), "{").unwrap();
        assert!(matches!(Trust::read_in(folder.path()), Err(TrustError::Damaged { .. })));
        assert!(add(&home, folder.path(), &[Part::new("x", Vec::new())]).is_err());
        assert_eq!(fs::read_to_string(folder.path().join(RECORD)).unwrap(), "{");
    }

    #[test]
    fn links_are_no_plugins_and_all_other_files_are_looked_at() {
        let folder = tempfile::tempdir().unwrap();
        let plugins = folder.path().join(PLUGINS);
        fs::create_dir_all(plugins.join("lib")).unwrap();
        fs::write(plugins.join("conductor-agent-a"), "a").unwrap();
        fs::write(plugins.join("lib/helper.py"), "b").unwrap();
        std::os::unix::fs::symlink("/bin/sh", plugins.join("conductor-agent-link")).unwrap();
        let names: Vec<String> =
            plugin_files(folder.path()).unwrap().into_iter().map(|part| part.path).collect();
        assert_eq!(names, [".conductor/plugins/conductor-agent-a", ".conductor/plugins/lib/helper.py"]);
    }

    #[test]
    fn the_worktrees_of_a_repository_are_one_place() {
        let folder = tempfile::tempdir().unwrap();
        let (main, tree) = (folder.path().join("main"), folder.path().join("tree"));
        let own = main.join(".git/worktrees/tree");
        fs::create_dir_all(&own).unwrap();
        fs::create_dir_all(&tree).unwrap();
        fs::write(own.join("commondir"), "../..\n").unwrap();
        fs::write(tree.join(".git"), format!("gitdir: {}\n", own.display())).unwrap();
        assert_eq!(place_of(&main), place_of(&tree));
        assert_eq!(place_of(folder.path()), folder.path().canonicalize().unwrap());
    }
}
