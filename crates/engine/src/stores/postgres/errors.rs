//! What the errors of a server and of the way to it mean for a run.

use sqlx::migrate::MigrateError;

use crate::stores::StoreError;

/// Of a row that must be there once.
const TAKEN: &str = "23505";

pub(super) fn told_migration(place: &str, error: MigrateError) -> StoreError {
    match error {
        MigrateError::Execute(error) | MigrateError::ExecuteMigration(error, _) => told(place, error),
        other => StoreError::Failed { place: place.to_owned(), why: other.to_string() },
    }
}

pub(super) fn is_taken(error: &sqlx::Error) -> bool {
    code(error).as_deref() == Some(TAKEN)
}

fn code(error: &sqlx::Error) -> Option<String> {
    match error {
        sqlx::Error::Database(database) => database.code().map(Into::into),
        _ => None,
    }
}

/// A server that restarts, is full or is a standby by now comes back; a wrong name or password does not by waiting.
pub(super) fn told(place: &str, error: sqlx::Error) -> StoreError {
    let away = |why: String| StoreError::Unavailable { why };
    let place = place.to_owned();
    match &error {
        sqlx::Error::Io(why) => return away(format!("{place} cannot be reached: {why}")),
        sqlx::Error::PoolTimedOut => return away(format!("{place} does not answer")),
        sqlx::Error::PoolClosed | sqlx::Error::WorkerCrashed | sqlx::Error::Protocol(_) => {
            return away(format!("the connection to {place} broke: {error}"));
        }
        sqlx::Error::Tls(why) => {
            let remedy =
                "give the server a certificate that this machine trusts, or name its authority with \
                          ?sslrootcert=FILE in the address"
                    .to_owned();
            return StoreError::Unwritable { place, why: format!("no safe connection: {why}"), remedy };
        }
        _ => {}
    }
    let why = match &error {
        sqlx::Error::Database(database) => database.message().to_owned(),
        error => error.to_string(),
    };
    match code(&error).as_deref() {
        // Going down, coming up, out of room or connections, in each other's way, or only a standby right now.
        Some("57P01" | "57P02" | "57P03" | "40001" | "40P01" | "55P03" | "25006" | "25P03") => {
            away(format!("{place} cannot be written: {why}"))
        }
        Some(code) if code.starts_with("08") || code.starts_with("53") => {
            away(format!("{place} cannot be written: {why}"))
        }
        Some(code) if code.starts_with("28") || matches!(code, "3D000" | "42501" | "3F000") => {
            let remedy =
                "give the user of CONDUCTOR_STORE a database of its own, in which it may create tables"
                    .to_owned();
            StoreError::Unwritable { place, why, remedy }
        }
        Some("XX001" | "XX002") => StoreError::Damaged { place, why },
        _ => StoreError::Failed { place, why },
    }
}
