//! The key of this machine: made once, kept in a file that only the user can read.

use std::io::Write as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use age::secrecy::ExposeSecret as _;
use age::x25519::{Identity, Recipient};

use super::error::{SyncError, at};
use crate::host::access;

/// Keys that open what was sealed for their public halves.
pub struct Key(Vec<Identity>);

impl Key {
    /// As `age-keygen` writes it: one key a line, and comments.
    pub fn read(path: &Path) -> Result<Key, SyncError> {
        let text = match std::fs::read_to_string(path) {
            Ok(text) => text,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                return Err(SyncError::NoKey(path.to_owned()));
            }
            Err(source) => return Err(SyncError::File { path: path.to_owned(), source }),
        };
        let mode = std::fs::metadata(path).map_err(at(path))?.permissions().mode();
        if mode & 0o077 != 0 {
            return Err(SyncError::OpenKey(path.to_owned()));
        }
        let lines = text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#'));
        let keys: Result<Vec<Identity>, &str> = lines.map(str::parse).collect();
        let bad = |why: &str| SyncError::BadKey { path: path.to_owned(), why: why.to_owned() };
        match keys {
            Ok(keys) if keys.is_empty() => Err(bad("it holds no line AGE-SECRET-KEY-1…")),
            Ok(keys) => Ok(Key(keys)),
            Err(why) => Err(bad(why)),
        }
    }

    /// By which others seal for this machine.
    pub fn public(&self) -> Vec<String> {
        self.0.iter().map(|key| key.to_public().to_string()).collect()
    }

    pub(super) fn identities(&self) -> impl Iterator<Item = &dyn age::Identity> {
        self.0.iter().map(|key| key as &dyn age::Identity)
    }
}

/// Makes a key where there is none; whether it was made now.
pub fn make(path: &Path) -> Result<(Key, bool), SyncError> {
    match Key::read(path) {
        Err(SyncError::NoKey(_)) => {}
        there => return there.map(|key| (key, false)),
    }
    let key = Identity::generate();
    let text = format!("# public key: {}\n{}\n", key.to_public(), key.to_string().expose_secret());
    if let Some(folder) = path.parent() {
        access::create_dir_all(folder).map_err(at(folder))?;
    }
    // Never over one that another process has made meanwhile: what was sealed for it could not be opened any more.
    let mut file = access::private().write(true).create_new(true).open(path).map_err(at(path))?;
    file.write_all(text.as_bytes()).and_then(|()| file.sync_all()).map_err(at(path))?;
    Ok((Key(vec![key]), true))
}

pub(super) fn recipient(text: &str) -> Result<Recipient, SyncError> {
    text.trim().parse().map_err(|_| SyncError::BadRecipient(text.to_owned()))
}
