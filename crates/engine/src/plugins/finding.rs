//! Where plugins are: in the repository, where the user trusts it; in the user's own folder, as they were added; on PATH.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::{OnceLock, PoisonError, RwLock};

use serde::Serialize;

use super::lock::{self, Lock};
use super::{Kind, PluginError};
use crate::host::home::Home;
use crate::host::trust::{self, PLUGINS, Part, Trust, place_of};
use crate::process;

/// A plugin that may be started.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Found {
    pub kind: Kind,
    pub name: String,
    pub path: PathBuf,
    pub place: Place,
}

impl Found {
    /// The name of its file.
    pub fn program(&self) -> String {
        format!("conductor-{}-{}", self.kind.name(), self.name)
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Place {
    Repository,
    User,
    Path,
}

impl Place {
    pub fn name(self) -> &'static str {
        match self {
            Place::Repository => "repository",
            Place::User => "user",
            Place::Path => "PATH",
        }
    }
}

/// Whether it may be started.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Standing {
    Ready,
    /// Of a repository that the user does not trust, or not with this.
    Untrusted,
    /// Not what the user has added.
    Changed,
    /// Another of the same name is taken.
    Shadowed,
    /// Its file cannot be executed.
    NotExecutable,
}

impl Standing {
    pub fn name(self) -> &'static str {
        match self {
            Standing::Ready => "ready",
            Standing::Untrusted => "not trusted",
            Standing::Changed => "changed",
            Standing::Shadowed => "shadowed",
            Standing::NotExecutable => "not executable",
        }
    }
}

/// The repository whose plugins count in this process, and what a CI job trusts by its hash.
#[derive(Clone)]
struct Repository {
    root: PathBuf,
    accepted: Vec<String>,
    /// The program that asks verifiers, in a process of its own.
    program: PathBuf,
}

static REPOSITORY: OnceLock<RwLock<Repository>> = OnceLock::new();

/// From now on plugins of this repository are found, as far as they are trusted.
pub fn of_repository(root: &Path, accepted: Vec<String>, program: PathBuf) {
    let given = Repository { root: root.to_owned(), accepted, program };
    let known = REPOSITORY.get_or_init(|| RwLock::new(given.clone()));
    *known.write().unwrap_or_else(PoisonError::into_inner) = given;
}

fn repository() -> Option<Repository> {
    Some(REPOSITORY.get()?.read().unwrap_or_else(PoisonError::into_inner).clone())
}

/// What a process needs that asks a verifier: the program, the repository, and what a CI job trusts by its hash.
pub(crate) fn asking() -> Option<(PathBuf, PathBuf, Vec<String>)> {
    repository().map(|known| (known.program, known.root, known.accepted))
}

fn root_of_repository() -> Option<PathBuf> {
    repository().map(|known| known.root)
}

/// Whether all that lies in the repository's folder of plugins is trusted.
fn is_trusted(root: &Path) -> Result<bool, PluginError> {
    let parts = trust::plugin_files(root)?;
    let (place, known) = (place_of(root), Trust::read()?);
    if parts.iter().all(|part| known.has(&place, part)) {
        return Ok(true);
    }
    let accepted = repository().map(|known| known.accepted).unwrap_or_default();
    Ok(!accepted.is_empty() && accepted.contains(&trust::hash_of_repository(root)?))
}

/// The user's own folder of plugins.
pub fn folder_of_user() -> Option<PathBuf> {
    Home::root_of_environment().ok().map(|root| root.join("plugins"))
}

/// The plugin of this name: the repository's, the user's own, one on PATH. What is not trusted is passed over, and named
/// where there is no other.
pub fn find(kind: Kind, name: &str) -> Result<Found, PluginError> {
    let found = find_unlocked(kind, name)?;
    if found.place == Place::User {
        lock::check(&found)?;
    }
    Ok(found)
}

/// As `find`, whether or not it changed since it was added.
pub fn find_unlocked(kind: Kind, name: &str) -> Result<Found, PluginError> {
    let user = Home::root_of_environment()
        .map_or_else(|_| "~/.conductor".to_owned(), |root| root.display().to_string());
    let missing = || PluginError::Missing { kind, name: name.to_owned(), user: user.clone() };
    let program = kind.program(name).ok_or_else(missing)?;
    let found = |path: PathBuf, place: Place| Found { kind, name: name.to_owned(), path, place };
    let mut untrusted = None;
    if let Some(root) = root_of_repository() {
        let path = root.join(PLUGINS).join(&program);
        if is_own_program(&path) {
            match is_trusted(&root)? {
                true => return Ok(found(path, Place::Repository)),
                false => untrusted = Some(PluginError::Untrusted { path }),
            }
        }
    }
    if let Some(path) = folder_of_user().map(|folder| folder.join(&program)).filter(|path| is_program(path)) {
        return Ok(found(path, Place::User));
    }
    match (process::installed(&program), untrusted) {
        (Some(path), _) => Ok(found(path, Place::Path)),
        (None, Some(untrusted)) => Err(untrusted),
        (None, None) => Err(missing()),
    }
}

/// A link in a repository could lead to any program.
fn is_own_program(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok_and(|data| data.is_file()) && is_program(path)
}

fn is_program(path: &Path) -> bool {
    path.metadata().is_ok_and(|data| data.is_file() && data.permissions().mode() & 0o111 != 0)
}

/// The program `conductor-NAME`, which is a command of ours by that name. Never one of a repository.
pub fn subcommand(name: &str) -> Option<PathBuf> {
    let plain = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    if name.is_empty() || name.starts_with('-') || !name.chars().all(plain) {
        return None;
    }
    let program = format!("conductor-{name}");
    if Kind::of_program(&program).is_some() {
        return None;
    }
    let own = folder_of_user().map(|folder| folder.join(&program)).filter(|path| is_program(path));
    own.or_else(|| process::installed(&program).filter(|path| is_program(path)))
}

/// Every plugin there is, with whether it may be started. Nothing is started for it.
pub fn all() -> Result<Vec<(Found, Standing)>, PluginError> {
    let mut listed: Vec<(Found, Standing)> = Vec::new();
    let mut taken: BTreeSet<(Kind, String)> = BTreeSet::new();
    let repository = root_of_repository().map(|root| (root.join(PLUGINS), Place::Repository));
    let user = folder_of_user().map(|folder| (folder, Place::User));
    let path = std::env::var_os("PATH").unwrap_or_default();
    let path = std::env::split_paths(&path).map(|folder| (folder, Place::Path)).collect::<Vec<_>>();
    let lock = Lock::read()?;
    for (folder, place) in repository.into_iter().chain(user).chain(path) {
        let trusted = match (place, root_of_repository()) {
            (Place::Repository, Some(root)) => is_trusted(&root)?,
            _ => true,
        };
        for found in in_folder(&folder, place) {
            let key = (found.kind, found.name.clone());
            let standing = match () {
                () if !is_program(&found.path) => Standing::NotExecutable,
                () if !trusted => Standing::Untrusted,
                () if taken.contains(&key) => Standing::Shadowed,
                () if place == Place::User && lock.is_changed(&found) => Standing::Changed,
                () => Standing::Ready,
            };
            if matches!(standing, Standing::Ready | Standing::Changed) {
                taken.insert(key);
            }
            listed.push((found, standing));
        }
    }
    Ok(listed)
}

fn in_folder(folder: &Path, place: Place) -> Vec<Found> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let one = |entry: fs::DirEntry| {
        let file = entry.file_name().into_string().ok()?;
        let (kind, name) = Kind::of_program(&file)?;
        let is_file = match place {
            Place::Repository => entry.file_type().is_ok_and(|kind| kind.is_file()),
            Place::User | Place::Path => entry.path().is_file(),
        };
        is_file.then(|| Found { kind, name: name.to_owned(), path: entry.path(), place })
    };
    let mut found: Vec<Found> = entries.filter_map(one).collect();
    found.sort_by(|a, b| (a.kind, &a.name).cmp(&(b.kind, &b.name)));
    found
}

/// The content of a plugin's file.
pub(super) fn part(found: &Found) -> Result<Part, PluginError> {
    let bytes = fs::read(&found.path)
        .map_err(|source| PluginError::Unreadable { path: found.path.clone(), source })?;
    Ok(Part::new(found.program(), bytes))
}
