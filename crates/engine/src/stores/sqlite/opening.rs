//! Opening the database: making it, looking at one that is there, connecting.

use std::fs::File;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::LazyLock;
use std::time::Duration;

use sqlx::migrate::{Migration, MigrationType, Migrator};
use sqlx::sqlite::{
    SqliteConnectOptions, SqliteConnection, SqliteJournalMode, SqliteLockingMode, SqliteSynchronous,
};
use sqlx::{ConnectOptions, Connection, SqlStr};
use tokio::runtime::Handle;

use super::errors::{primary, shown, told, told_migration, unwritable};
use crate::host::access;
use crate::host::home::Home;
use crate::stores::StoreError;
use crate::stores::witness::{missing, witnessed};

/// The forms of the database, oldest first. Databases hold the number, the name and the checksum of each, so none of
/// these is ever changed. Put together here because sqlx's own macro would have all of sqlx built a second time.
static MIGRATIONS: LazyLock<Migrator> = LazyLock::new(|| {
    let step = |version, name: &'static str, sql: &'static str| {
        Migration::new(version, name.into(), MigrationType::Simple, SqlStr::from_static(sql), false)
    };
    Migrator::with_migrations(vec![
        step(1, "runs events attempts", include_str!("../../../migrations/0001_runs_events_attempts.sql")),
        step(2, "no attempts", include_str!("../../../migrations/0002_no_attempts.sql")),
        step(3, "epochs", include_str!("../../../migrations/0003_epochs.sql")),
    ])
});

/// Another process may hold the write lock for a while; after this we say so, and go on waiting.
const BUSY: Duration = Duration::from_secs(5);

/// Makes the database, or brings its form up to date. On a thread of its own: it waits for other processes that do the
/// same, and what sqlx does there cannot go from one thread to another.
pub(super) async fn make(path: &Path, home: &Home) -> Result<SqliteConnection, StoreError> {
    let (runtime, own_path, home) = (Handle::current(), path.to_owned(), home.clone());
    let making = tokio::task::spawn_blocking(move || runtime.block_on(make_here(&own_path, &home)));
    let failed =
        |why: tokio::task::JoinError| StoreError::Failed { place: shown(path), why: why.to_string() };
    making.await.map_err(failed)?
}

async fn make_here(path: &Path, home: &Home) -> Result<SqliteConnection, StoreError> {
    // Two that make the database at the same moment would each make its tables.
    let _alone = home.alone().map_err(|error| unwritable(home, &error))?;
    match path.exists() {
        true => drop(inspect(path, home).await?),
        false => missing(home).map_or(Ok(()), Err)?,
    }
    // SQLite gives its -wal and -shm the permissions of the database.
    access::private().create(true).append(true).open(path).map_err(|error| unwritable(home, &error))?;
    let mut connection = connect(path, Mode::Write).await.map_err(|error| told(path, error))?;
    // As one commit: a new file has its form or nothing at all, wherever its log is cut.
    let mut whole = connection.begin().await.map_err(|error| told(path, error))?;
    MIGRATIONS.run(&mut *whole).await.map_err(|error| told_migration(path, error))?;
    whole.commit().await.map_err(|error| told(path, error))?;
    Ok(connection)
}

/// Looks at an existing file without writing to it: is it ours, whole, and of a form we know? Its form, if it has one.
pub(super) async fn inspect(path: &Path, home: &Home) -> Result<Option<i64>, StoreError> {
    // Killed while it made the file, a process leaves a journal that only a writer can undo; once made, there is none.
    let mut connection = match path.with_extension("db-journal").exists() {
        true => connect(path, Mode::Write).await.map_err(|error| told(path, error))?,
        false => connect_to_read(path).await?,
    };
    let found = form_of(&mut connection, path, home).await?;
    let _ = connection.close().await;
    Ok(found)
}

/// The form of a database, if it has one. One that is newer than this program, or lost what it held, is refused.
pub(super) async fn form_of(
    connection: &mut SqliteConnection,
    path: &Path,
    home: &Home,
) -> Result<Option<i64>, StoreError> {
    let known = schema_version();
    let tables: i64 =
        sqlx::query_scalar("SELECT count(*) FROM sqlite_schema WHERE name = '_sqlx_migrations'")
            .fetch_one(&mut *connection)
            .await
            .map_err(|error| told(path, error))?;
    let found: Option<i64> = match tables {
        0 => None,
        _ => sqlx::query_scalar("SELECT max(version) FROM _sqlx_migrations")
            .fetch_one(connection)
            .await
            .map_err(|error| told(path, error))?,
    };
    let lost = if found.is_none() { witnessed(home).next() } else { None };
    match (found, lost) {
        (Some(found), _) if found > known => Err(StoreError::Newer { place: shown(path), found, known }),
        (None, Some(run)) => {
            let why =
                format!("it is empty, but run {run} had been written; perhaps conductor.db-wal was lost");
            Err(StoreError::Damaged { place: shown(path), why })
        }
        (found, _) => Ok(found),
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Mode {
    Write,
    Read,
    /// The file alone: nothing else is read, made or locked.
    Still,
}

pub(super) async fn connect(path: &Path, mode: Mode) -> sqlx::Result<SqliteConnection> {
    let options = SqliteConnectOptions::new()
        .filename(path)
        .create_if_missing(mode == Mode::Write)
        .read_only(mode != Mode::Write)
        .immutable(mode == Mode::Still)
        .busy_timeout(BUSY)
        .foreign_keys(true)
        .locking_mode(SqliteLockingMode::Normal)
        .disable_statement_logging();
    let options = match mode {
        Mode::Write => options.journal_mode(SqliteJournalMode::Wal).synchronous(SqliteSynchronous::Full),
        Mode::Read | Mode::Still => options,
    };
    SqliteConnection::connect_with(&options).await
}

/// Reading a database with a write-ahead log needs files beside it. Where they cannot be made the database is read by
/// itself, if there is no log: with one, that would be an older state of it, so both are read as a copy.
pub(super) async fn connect_to_read(path: &Path) -> Result<SqliteConnection, StoreError> {
    let log = log_of(path);
    let length = std::fs::metadata(&log).map_or(0, |log| log.len());
    let mut connection = connect(path, Mode::Read).await.map_err(|error| told(path, error))?;
    match looked_at(&mut connection).await.map_err(|error| (primary(&error), error)) {
        Ok(()) => Ok(connection),
        Err((Some(8 | 14), _)) if length == 0 => {
            connect(path, Mode::Still).await.map_err(|error| told(path, error))
        }
        Err((Some(8 | 14), error)) => {
            let failed = |why: io::Error| StoreError::Failed { place: shown(path), why: why.to_string() };
            // Some other reason than the missing files, which a copy would only hide.
            if path.with_extension("db-shm").exists() {
                return Err(told(path, error));
            }
            let folder = tempfile::tempdir().map_err(failed)?;
            let copy = folder.path().join("conductor.db");
            std::fs::copy(&log, log_of(&copy)).and_then(|_| std::fs::copy(path, &copy)).map_err(failed)?;
            let mut connection = connect(&copy, Mode::Read).await.map_err(|error| told(path, error))?;
            // From here on it has its files open, and the folder may go.
            looked_at(&mut connection).await.map_err(|error| told(path, error))?;
            Ok(connection)
        }
        Err((_, error)) => Err(told(path, error)),
    }
}

fn log_of(database: &Path) -> PathBuf {
    database.with_extension("db-wal")
}

async fn looked_at(connection: &mut SqliteConnection) -> sqlx::Result<()> {
    sqlx::query("SELECT count(*) FROM sqlite_schema").execute(connection).await.map(drop)
}

/// The form of the database this program makes, and the newest it knows.
pub fn schema_version() -> i64 {
    MIGRATIONS.iter().map(|migration| migration.version).max().unwrap_or(0)
}

/// What SQLite finds wrong with a database that is there; it is not written to.
pub async fn integrity(home: &Home) -> Result<Vec<String>, StoreError> {
    let path = home.database();
    let mut connection = connect_to_read(&path).await?;
    let lines: Vec<String> = sqlx::query_scalar("PRAGMA integrity_check(20)")
        .fetch_all(&mut connection)
        .await
        .map_err(|error| told(&path, error))?;
    let _ = connection.close().await;
    Ok(lines.into_iter().filter(|line| line != "ok").collect())
}

/// Which SQLite this program carries.
pub async fn sqlite_version() -> Result<String, StoreError> {
    let memory = Path::new(":memory:");
    let mut connection =
        SqliteConnection::connect("sqlite::memory:").await.map_err(|error| told(memory, error))?;
    sqlx::query_scalar("SELECT sqlite_version()")
        .fetch_one(&mut connection)
        .await
        .map_err(|error| told(memory, error))
}

/// Frames SQLite lets gather in the log before it starts it anew (its default of 1,000 pages), with their headers.
const LOG_BYTES: u64 = 1_050 * (4096 + 24);
const PLENTY: u64 = 32;

/// Makes the log as long as it will become. A commit that makes a file longer has to sync its length too, which costs
/// more than twice as much (250 against 105 microseconds where this was measured). SQLite goes by its frames' checksums
/// and never by the file's length, so zeros behind the last frame mean nothing to it. Done only where there is plenty of
/// room, and where it fails, nothing is lost but the time.
pub(super) fn lengthen_log(database: &Path) -> io::Result<()> {
    let disk = rustix::fs::statvfs(database)?;
    if disk.f_bavail.saturating_mul(disk.f_frsize) < PLENTY * LOG_BYTES {
        return Ok(());
    }
    let mut log = File::options().append(true).open(log_of(database))?;
    let zeros = [0; 1 << 16];
    let mut length = log.metadata()?.len();
    while length < LOG_BYTES {
        log.write_all(&zeros)?;
        length += zeros.len() as u64;
    }
    log.sync_all()
}
