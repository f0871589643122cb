//! What is different from the baseline now, by file and key.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, Permissions};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::PoisonError;

use super::super::{Repository, bare_command, bytes};
use super::configured::Configured;
use super::planted::Places;
use super::{Baseline, FILES, private_file, private_folder, shown};
use crate::host::{for_shell, redact};

/// Copies of the files as they were, by number.
const COPIES: &str = "copies";

/// Larger files decide nothing; only that they changed is told.
const LARGEST: u64 = 1 << 20;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// Of keys and values.
    Config,
    Other,
    /// Only that it is there counts.
    Index,
}

/// The files that are looked at, whether they exist or not.
#[derive(Debug, Default)]
pub(super) struct Watched(Vec<(PathBuf, Kind)>);

/// One of them as it was.
#[derive(Debug)]
pub(super) struct Kept {
    path: PathBuf,
    kind: Kind,
    /// A copy of it; nothing where there was no such file.
    copy: Option<PathBuf>,
    /// Every time and number of a file that was too large to copy, or the digest of one that holds secrets.
    seen: String,
}

/// Before the digest of a file of which the copy is without its secrets.
const SECRETIVE: &str = "secrets ";

/// By which a file's change is noticed without reading it.
pub(super) type Stamp = BTreeMap<PathBuf, Option<(u64, u64, i64, i64, i64, i64)>>;

/// A difference: its file with its key, and the command that puts the file back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Difference {
    pub words: String,
    pub undo: String,
}

impl Watched {
    pub(super) fn of(repository: &Repository, origins: Vec<PathBuf>, places: &Places) -> Watched {
        let mut all: BTreeMap<PathBuf, Kind> = BTreeMap::new();
        for path in origins {
            // Patterns and attributes are named beside the files that are configuration.
            let is_lines = path.file_name().is_some_and(|name| {
                let name = name.to_string_lossy();
                name.contains("ignore") || name.contains("attributes")
            });
            all.insert(path, if is_lines { Kind::Other } else { Kind::Config });
        }
        all.extend(fixed(repository));
        all.extend(places.found());
        Watched(all.into_iter().collect())
    }
}

/// Files that count even where they do not exist yet.
fn fixed(repository: &Repository) -> Vec<(PathBuf, Kind)> {
    let common = &repository.common;
    let mut all: Vec<(PathBuf, Kind)> =
        ["config", "config.worktree"].map(|name| (common.join(name), Kind::Config)).into();
    all.extend(
        ["commondir", "info/attributes", "info/exclude", "info/grafts", "objects/info/alternates"]
            .map(|name| (common.join(name), Kind::Other)),
    );
    all.push((repository.git_directory().join("index"), Kind::Index));
    let home = std::env::var_os("HOME").map(PathBuf::from).filter(|home| home.is_absolute());
    if let Some(home) = home.filter(|_| std::env::var_os("GIT_CONFIG_GLOBAL").is_none()) {
        all.push((home.join(".gitconfig"), Kind::Config));
        let xdg = std::env::var_os("XDG_CONFIG_HOME").map(PathBuf::from).filter(|path| path.is_absolute());
        all.push((xdg.unwrap_or_else(|| home.join(".config")).join("git/config"), Kind::Config));
    }
    all
}

/// `<path> NUL <kind> NUL <copy, or nothing> NUL <stamp> NUL` for each, beside the copies.
pub(super) fn write(Watched(all): &Watched, folder: &Path) -> io::Result<()> {
    let copies = folder.join(COPIES);
    private_folder(&copies)?;
    let mut list = Vec::new();
    for (number, (path, kind)) in all.iter().enumerate() {
        list.extend(path.as_os_str().as_bytes());
        list.extend(match kind {
            Kind::Config => b"\0c\0",
            Kind::Other => b"\0o\0",
            Kind::Index => b"\0i\0",
        });
        let found = fs::metadata(path).ok().filter(fs::Metadata::is_file);
        let mut secretive = None;
        if let Some(found) = &found {
            let small = *kind != Kind::Index && found.len() <= LARGEST;
            let text = if small { fs::read(path).unwrap_or_default() } else { Vec::new() };
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            let name = format!("{number}-{}", name.trim_start_matches('.'));
            let copy = copies.join(&name);
            let clean = redact::known();
            let clean = clean.bytes(&text);
            private_file(&copy, &clean)?;
            secretive = (clean != text).then(|| digest(&text));
            // A hook that is put back is one.
            fs::set_permissions(&copy, Permissions::from_mode(0o600 | found.mode() & 0o100))?;
            list.extend(name.bytes());
        }
        list.push(0);
        let seen = || format!("{:?}", stamp_of(path).filter(|stamp| stamp.0 > LARGEST));
        list.extend(secretive.unwrap_or_else(seen).bytes());
        list.push(0);
    }
    private_file(&folder.join(FILES), &list)
}

pub(super) fn read(folder: &Path) -> io::Result<Vec<Kept>> {
    let text = fs::read(folder.join(FILES))?;
    let mut parts = text.split(|&byte| byte == 0);
    let mut kept = Vec::new();
    while let (Some(path), Some(kind), Some(copy), Some(seen)) =
        (parts.next(), parts.next(), parts.next(), parts.next())
    {
        kept.push(Kept {
            path: super::path_of(path),
            kind: match kind {
                b"c" => Kind::Config,
                b"i" => Kind::Index,
                _ => Kind::Other,
            },
            copy: std::str::from_utf8(copy)
                .ok()
                .filter(|copy| !copy.is_empty())
                .map(|copy| folder.join(COPIES).join(copy)),
            seen: String::from_utf8_lossy(seen).into_owned(),
        });
    }
    Ok(kept)
}

/// By which a text is known again that is not kept (FNV-1a).
fn digest(text: &[u8]) -> String {
    let mix = |hash: u64, byte: &u8| (hash ^ u64::from(*byte)).wrapping_mul(0x100_0000_01b3);
    format!("{SECRETIVE}{:016x}", text.iter().fold(0xcbf2_9ce4_8422_2325, mix))
}

fn stamp_of(path: &Path) -> Option<(u64, u64, i64, i64, i64, i64)> {
    let found = fs::metadata(path).ok()?;
    Some((found.len(), found.ino(), found.mtime(), found.mtime_nsec(), found.ctime(), found.ctime_nsec()))
}

impl Kept {
    fn undo(&self) -> String {
        let path = for_shell(&self.path);
        match (&self.copy, self.kind) {
            (_, Kind::Index) => "git reset".to_owned(),
            (Some(copy), _) if self.seen == "None" => format!("cp {} {path}", for_shell(copy)),
            (Some(_), _) => format!("look at {path}"),
            (None, _) => format!("rm {path}"),
        }
    }
}

impl Baseline {
    /// What is different now; nothing where it was looked at already and no file was touched since.
    pub fn news(&self) -> Option<Vec<Difference>> {
        let now = self.stamp();
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        if seen.as_ref() == Some(&now) {
            return None;
        }
        *seen = Some(now);
        Some(self.differences())
    }

    fn stamp(&self) -> Stamp {
        // An index is written all the time; what counts is that there is one.
        let of = |path: &Path, kind: Kind| match kind {
            Kind::Index => path.exists().then_some((0, 0, 0, 0, 0, 0)),
            _ => stamp_of(path),
        };
        let kept = self.kept.iter().map(|kept| (kept.path.clone(), kept.kind));
        let replaced = self.places.of_replacements().into_iter().map(|path| (path, Kind::Other));
        let all = kept.chain(self.places.found()).chain(replaced);
        all.map(|(path, kind)| (path.clone(), of(&path, kind))).collect()
    }

    /// What is different now.
    pub fn differences(&self) -> Vec<Difference> {
        let of = |kept: &Kept| {
            let undo = kept.undo();
            self.compare(kept)
                .into_iter()
                .map(move |words| Difference { words, undo: undo.clone() })
                .collect::<Vec<_>>()
        };
        let mut all: Vec<Difference> = self.kept.iter().flat_map(of).collect();
        let known: BTreeSet<&Path> = self.kept.iter().map(|kept| kept.path.as_path()).collect();
        for (path, kind) in self.places.found() {
            if !(known.contains(path.as_path()) || kind == Kind::Config && self.is_inherited(&path)) {
                let words = format!("{} is new", shown(&path, &self.root));
                all.push(Difference { words, undo: format!("rm {}", for_shell(&path)) });
            }
        }
        all.extend(self.replacements());
        all
    }

    /// Objects that the user's git sees others in place of. Ours does not.
    fn replacements(&self) -> Vec<Difference> {
        let now = self.places.replaced();
        let differs = |name: &&String| now.get(*name) != self.replaced.get(*name);
        let names: BTreeSet<&String> = now.keys().chain(self.replaced.keys()).filter(differs).collect();
        let of = |name: &String| {
            let (how, undo) = match (self.replaced.get(name), now.contains_key(name)) {
                (None, _) => ("is new", format!("git replace -d {name}")),
                (Some(to), true) => ("was changed", format!("git replace -f {name} {to}")),
                (Some(to), false) => ("is gone", format!("git replace {name} {to}")),
            };
            Difference { words: format!("refs/replace/{name} {how}"), undo }
        };
        names.into_iter().map(of).collect()
    }

    fn compare(&self, kept: &Kept) -> Vec<String> {
        let name = shown(&kept.path, &self.root);
        let found = fs::metadata(&kept.path).ok().filter(fs::Metadata::is_file);
        let (Some(copy), Some(found)) = (&kept.copy, &found) else {
            return match (&kept.copy, &found) {
                (Some(_), None) => vec![format!("{name} is gone")],
                (None, Some(found)) if kept.kind == Kind::Config && found.len() == 0 => Vec::new(),
                (None, Some(_)) if kept.kind == Kind::Config => {
                    let keys = settings(&kept.path).unwrap_or_default();
                    match keys.is_empty() {
                        true => vec![format!("{name} is new")],
                        false => keys.into_keys().map(|key| format!("{name}: {key} is new")).collect(),
                    }
                }
                (None, Some(_)) => vec![format!("{name} is new")],
                _ => Vec::new(),
            };
        };
        if kept.kind == Kind::Index {
            return Vec::new();
        }
        let is_secretive = kept.seen.starts_with(SECRETIVE);
        if found.len() > LARGEST || kept.seen != "None" && !is_secretive {
            let same = format!("{:?}", stamp_of(&kept.path).filter(|stamp| stamp.0 > LARGEST)) == kept.seen;
            return if same { Vec::new() } else { vec![format!("{name} was changed")] };
        }
        let (before, now) = (fs::read(copy).unwrap_or_default(), fs::read(&kept.path).unwrap_or_default());
        match () {
            () if is_secretive && digest(&now) == kept.seen => Vec::new(),
            () if before == now => Vec::new(),
            () if kept.kind == Kind::Config => match keys(&name, copy, &kept.path) {
                keys if keys.is_empty() && is_secretive => vec![format!("{name} was changed")],
                keys => keys,
            },
            () => vec![format!("{name} was changed")],
        }
    }

    /// Git copies what the main checkout's own configuration says into that of a new worktree; where that has none, ours
    /// is empty.
    fn is_inherited(&self, path: &Path) -> bool {
        if path.symlink_metadata().is_ok_and(|found| found.is_file() && found.len() == 0) {
            return true;
        }
        let main = self.kept.iter().find(|kept| kept.path == self.places.common.join("config.worktree"));
        let Some(copy) = main.and_then(|main| main.copy.as_ref()) else { return false };
        let (Some(before), Some(now)) = (settings(copy), settings(path)) else { return false };
        now.iter().all(|(key, values)| before.get(key) == Some(values))
    }

    /// Whether another program would run over contents now, or contents would be treated in another way.
    pub fn is_content_changed(&self, repository: &Repository) -> bool {
        if self.differences().is_empty() {
            return false;
        }
        let Ok(now) = Configured::now(repository) else { return true };
        let files = now.files(&self.folder, &self.folder.join(super::PROGRAMS));
        let is = |name: &str, text: &[u8]| fs::read(self.folder.join(name)).is_ok_and(|kept| kept == text);
        !(is(super::SETTINGS, &files.settings)
            && is(super::ATTRIBUTES, &files.attributes)
            && is(super::configured::GLOBAL_ATTRIBUTES, &files.global_attributes)
            && is(super::REFUSED, &super::written_refused(&now.refused)))
    }
}

/// Which keys of a file differ from its copy.
fn keys(name: &str, before: &Path, now: &Path) -> Vec<String> {
    let Some(new) = settings(now) else { return vec![format!("{name} cannot be read any more")] };
    let old = settings(before).unwrap_or_default();
    let mut words = Vec::new();
    for (key, values) in &new {
        match old.get(key) {
            None => words.push(format!("{name}: {key} is new")),
            Some(before) if before != values => words.push(format!("{name}: {key} was changed")),
            Some(_) => {}
        }
    }
    words
        .extend(old.keys().filter(|key| !new.contains_key(*key)).map(|key| format!("{name}: {key} is gone")));
    words
}

/// The keys of a configuration file with their values. What it includes is not read.
fn settings(path: &Path) -> Option<BTreeMap<String, Vec<Vec<u8>>>> {
    let mut command = bare_command();
    command.args(["config", "--no-includes", "-z", "--list", "--file"]).arg(path);
    let text = bytes(command).ok()?;
    let mut all: BTreeMap<String, Vec<Vec<u8>>> = BTreeMap::new();
    for entry in text.split(|&byte| byte == 0).filter(|entry| !entry.is_empty()) {
        let end = entry.iter().position(|&byte| byte == b'\n').unwrap_or(entry.len());
        let key = String::from_utf8_lossy(&entry[..end]).into_owned();
        // As in the copies, which are without secrets.
        all.entry(key).or_default().push(redact::known().bytes(&entry[end..]).into_owned());
    }
    Some(all)
}
