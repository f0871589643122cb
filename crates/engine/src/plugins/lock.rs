//! `plugins.lock`: which content of each plugin of the user's own folder is the one that was added. A plugin that updates
//! itself, or is updated by others, is another program; the user looks at it first.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::finding::{Found, part};
use super::{Kind, PluginError};
use crate::host::access;
use crate::host::home::Home;
use crate::host::trust::{self, TrustError};

const SCHEMA: &str = "conductor.plugins-lock/1";
const FILE: &str = "plugins.lock";

/// What was added, by the names of the files.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Lock {
    #[serde(default)]
    schema: String,
    #[serde(default)]
    plugins: BTreeMap<String, Locked>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Locked {
    sha256: String,
    /// Where it was added from; nothing where it was put there by hand.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    from: Option<PathBuf>,
}

/// A plugin that is not what was added: what it was, as far as that is known, and what it is.
#[derive(Debug, Clone)]
pub struct Change {
    pub found: Found,
    pub before: Option<Vec<u8>>,
    pub after: Vec<u8>,
}

impl Lock {
    pub fn read() -> Result<Lock, PluginError> {
        match Home::root_of_environment() {
            Ok(root) => Lock::read_in(&root),
            Err(_) => Ok(Lock::default()),
        }
    }

    fn read_in(root: &Path) -> Result<Lock, PluginError> {
        let path = root.join(FILE);
        match fs::read(&path) {
            Ok(bytes) => serde_json::from_slice(&bytes)
                .map_err(|error| TrustError::Damaged { path, why: error.to_string() }.into()),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Lock::default()),
            Err(source) => Err(PluginError::Unreadable { path, source }),
        }
    }

    /// What is not in it was put there by hand, and is taken as it is found first.
    pub(super) fn is_changed(&self, found: &Found) -> bool {
        let locked = self.plugins.get(&found.program());
        locked.is_some_and(|locked| part(found).map_or(true, |part| part.sha256 != locked.sha256))
    }
}

/// Whether a plugin is what was added. One that was put there by hand is locked with its first use.
pub(super) fn check(found: &Found) -> Result<(), PluginError> {
    let lock = Lock::read()?;
    match lock.plugins.contains_key(&found.program()) {
        true if lock.is_changed(found) => Err(PluginError::Changed { path: found.path.clone() }),
        true => Ok(()),
        false => relock(found, None),
    }
}

/// Every plugin of the user's own folder that is not what was added.
pub fn changed() -> Result<Vec<Change>, PluginError> {
    let lock = Lock::read()?;
    let all = super::all()?;
    let is_changed = |found: &Found| found.place == super::Place::User && lock.is_changed(found);
    all.into_iter().map(|(found, _)| found).filter(is_changed).map(|found| change(&lock, found)).collect()
}

fn change(lock: &Lock, found: Found) -> Result<Change, PluginError> {
    let sha256 = lock.plugins.get(&found.program()).map(|locked| locked.sha256.clone());
    let before = sha256.and_then(|sha256| trust::copy(&sha256));
    Ok(Change { before, after: part(&found)?.bytes, found })
}

impl Change {
    /// Of one that is about to be added or added again.
    pub fn of(found: Found) -> Result<Change, PluginError> {
        change(&Lock::read()?, found)
    }
}

/// Records a plugin as it is now.
pub fn relock(found: &Found, from: Option<&Path>) -> Result<(), PluginError> {
    let part = part(found)?;
    let home = Home::open().map_err(TrustError::from)?;
    trust::keep_copy(&home, &part)?;
    edit(&home, |plugins| {
        let from = from.map(Path::to_owned);
        plugins.insert(part.path.clone(), Locked { sha256: part.sha256.clone(), from });
    })
}

/// Forgets a plugin.
pub fn unlock(kind: Kind, name: &str) -> Result<(), PluginError> {
    let home = Home::open().map_err(TrustError::from)?;
    let program = kind.program(name).unwrap_or_default();
    edit(&home, |plugins| drop(plugins.remove(&program)))
}

fn edit(home: &Home, change: impl FnOnce(&mut BTreeMap<String, Locked>)) -> Result<(), PluginError> {
    let path = home.root().join(FILE);
    let unwritable = |source| TrustError::Unwritable { path: path.clone(), source };
    let _alone = home.alone().map_err(unwritable)?;
    let mut lock = Lock::read_in(home.root())?;
    change(&mut lock.plugins);
    lock.schema = SCHEMA.to_owned();
    let text = serde_json::to_string_pretty(&lock).unwrap_or_default();
    access::replace(&path, text + "\n").map_err(unwritable)?;
    Ok(())
}
