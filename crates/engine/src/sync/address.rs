//! Where runs are pushed to, as the user names it; and that it is not where code is pushed to.

use std::path::{Path, PathBuf};

use conductor_core::values::address::{is_same_place, shown};

use super::error::SyncError;
use crate::git::ref_store::RefStore;
use crate::git::{Repository, remotes};

/// The bare repository in a directory that is none itself.
const IN_DIRECTORY: &str = "conductor-sync.git";

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Address {
    /// As git takes it: a real path where it is one.
    pub(super) git: String,
    /// A repository on this machine; it is made when something is first pushed.
    pub(super) local: Option<PathBuf>,
    shown: String,
}

impl Address {
    /// A directory, a path or address that git takes, or the name of a remote of the repository one is in.
    pub fn of(named: &str, here: &Path) -> Result<Address, SyncError> {
        let nothing = || SyncError::NoPlace(named.to_owned());
        if named.is_empty() || named.starts_with('-') {
            return Err(nothing());
        }
        let path = named.strip_prefix("file://").map_or_else(|| here.join(expanded(named)), PathBuf::from);
        if let Ok(real) = path.canonicalize().and_then(|real| real.metadata().map(|data| (real, data))) {
            return if real.1.is_dir() { Ok(Address::in_directory(real.0)) } else { Err(nothing()) };
        }
        let is_remote =
            named.contains("://") || named.split_once(':').is_some_and(|(host, _)| !host.contains('/'));
        if is_remote {
            let git = RefStore::meant(named)?;
            return Ok(Address { shown: shown(&git), git, local: None });
        }
        let own = remotes(here)?.into_iter().find(|remote| remote.name == named);
        match own.and_then(|remote| remote.addresses.into_iter().next()) {
            Some(address) => Address::of(&address, here),
            None => Err(nothing()),
        }
    }

    fn in_directory(real: PathBuf) -> Address {
        let path = if RefStore::is_repository(&real) { real.clone() } else { real.join(IN_DIRECTORY) };
        Address { git: path.display().to_string(), shown: real.display().to_string(), local: Some(path) }
    }

    /// As it may be printed: without a password.
    pub fn shown(&self) -> &str {
        &self.shown
    }

    /// Refuses where it is the repository that a directory is in, or one of its remotes.
    pub fn check_is_not_of_code(&self, directory: &Path) -> Result<(), SyncError> {
        let Ok(common) = Repository::common_of(directory) else { return Ok(()) };
        let own = common.parent().filter(|_| common.ends_with(".git")).map(Path::to_owned);
        let mut places: Vec<String> = [Some(common.clone()), own.clone()]
            .into_iter()
            .flatten()
            .map(|path| path.canonicalize().unwrap_or(path).display().to_string())
            .collect();
        places.extend(
            remotes(directory)?.into_iter().flat_map(|remote| remote.addresses).map(|one| real(&one)),
        );
        match places.iter().any(|place| is_same_place(place, &self.git)) {
            true => Err(SyncError::OfCode { shown: self.shown.clone(), repository: own.unwrap_or(common) }),
            false => Ok(()),
        }
    }
}

/// A path by its real name, so that links to one place are one.
fn real(address: &str) -> String {
    let path = Path::new(address.strip_prefix("file://").unwrap_or(address));
    path.canonicalize().map_or_else(|_| address.to_owned(), |path| path.display().to_string())
}

fn expanded(named: &str) -> PathBuf {
    match (named.strip_prefix("~/"), std::env::var_os("HOME")) {
        (Some(rest), Some(home)) => PathBuf::from(home).join(rest),
        _ => PathBuf::from(named),
    }
}
