//! What the errors of SQLite and of the state directory mean for a run.

use std::fs::File;
use std::io;
use std::path::Path;

use crate::host::home::Home;
use crate::host::shortage::Passing as _;
use crate::stores::StoreError;

pub(super) fn told_migration(path: &Path, error: sqlx::migrate::MigrateError) -> StoreError {
    match error {
        sqlx::migrate::MigrateError::Execute(error) => told(path, error),
        other => StoreError::Failed { place: shown(path), why: other.to_string() },
    }
}

/// A full disk and a want of descriptors pass; a folder that may not be written, or a lock that is not let go of, does
/// not pass by waiting.
pub(in crate::stores) fn unwritable(home: &Home, error: &io::Error) -> StoreError {
    let place = shown(home.root());
    match error.shortage().is_some() {
        true => {
            StoreError::Unavailable { why: format!("the state directory {place} cannot be written: {error}") }
        }
        false => StoreError::Unwritable { place, why: error.to_string(), remedy: MAKE_WRITABLE.to_owned() },
    }
}

const MAKE_WRITABLE: &str = "make it writable, or set CONDUCTOR_HOME to a directory that is";

pub(super) fn shown(path: &Path) -> String {
    path.display().to_string()
}

/// A page that the file should have and has not.
const SHORT_READ: i64 = 522;

/// SQLite's own code of an error.
fn code(error: &sqlx::Error) -> Option<i64> {
    match error {
        sqlx::Error::Database(database) => database.code()?.parse().ok(),
        _ => None,
    }
}

pub(super) fn primary(error: &sqlx::Error) -> Option<i64> {
    code(error).map(|code| code & 0xff)
}

/// SQLite's primary result codes, sorted into what they mean for us.
pub(super) fn told(path: &Path, error: sqlx::Error) -> StoreError {
    let place = shown(path);
    if code(&error) == Some(SHORT_READ) {
        let why = "it is shorter than it should be".to_owned();
        return StoreError::Damaged { place, why };
    }
    match primary(&error) {
        // SQLite does not say why; the system does.
        Some(8 | 14) => {
            let refused = File::options().append(true).open(path).err();
            let why = refused.map_or_else(|| error.to_string(), |refused| refused.to_string());
            StoreError::Unwritable { place, why, remedy: MAKE_WRITABLE.to_owned() }
        }
        Some(5 | 6) => StoreError::Unavailable { why: format!("{place} is locked by another process") },
        Some(13) => StoreError::Unavailable { why: format!("the disk is full, {place} cannot grow") },
        Some(10) => StoreError::Unavailable { why: format!("{place} cannot be written: {error}") },
        Some(11 | 26) => StoreError::Damaged { place, why: error.to_string() },
        _ => StoreError::Failed { place, why: error.to_string() },
    }
}
