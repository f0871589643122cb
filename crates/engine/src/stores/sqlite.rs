//! SQLite in WAL mode, one file for all runs.
//!
//! `synchronous = FULL`: a commit that returned survives a power cut. A log that ends before its witness (see `witness`)
//! has lost something, and is refused instead of believed. What is only written is in the run's `journal` and becomes
//! part of the log here for every reader.
//!
//! Reading a run changes nothing about writing one: what is known of a log's end is kept for each run that was claimed.

mod errors;
mod excesses;
mod opening;
mod reading;
mod statements;
mod writing;

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use conductor_core::run::event::Record;
use conductor_core::values::ids::RunId;
use sqlx::sqlite::SqliteConnection;
use tokio::sync::Mutex as AsyncMutex;

use super::journal::{self, Journal};
use super::rows::LogEnd;
use super::{Epoch, LogReader, NewRun, Store, StoreError, StoredRun, Task};
use crate::host::home::Home;
use errors::{shown, told};
use opening::{Mode, connect, connect_to_read, form_of, inspect, make};
use statements::stored_run;

pub(super) use errors::unwritable;
pub use excesses::excesses;

pub use opening::{integrity, schema_version, sqlite_version};

pub(super) struct Sqlite {
    path: PathBuf,
    home: Home,
    writer: AsyncMutex<Writer>,
    /// Of each run that this process has claimed; its file is opened when something is only written. Never waited for.
    journals: Mutex<HashMap<RunId, (Epoch, Option<Journal>)>>,
}

struct Writer {
    connection: SqliteConnection,
    /// The end of each log that this process has claimed: what the next row is chained to, looked up once.
    ends: HashMap<RunId, LogEnd>,
}

impl Sqlite {
    pub(super) async fn open(home: &Home) -> Result<Sqlite, StoreError> {
        let path = home.database();
        home.check_writable().map_err(|error| unwritable(home, &error))?;
        let form = if path.exists() { inspect(&path, home).await? } else { None };
        if form == Some(schema_version()) {
            let connection = connect(&path, Mode::Write).await.map_err(|error| told(&path, error))?;
            return Ok(Sqlite::with(home, connection));
        }
        if form.is_some() {
            // A file that lost something is left as it is, so that is looked for before its form is changed.
            Sqlite::with(home, connect_to_read(&path).await?).check_all_witnesses().await?;
        }
        Ok(Sqlite::with(home, make(&path, home).await?))
    }

    /// Only read, whichever form up to ours it has. Nothing where there is nothing to read: a process that was killed
    /// while it made the file leaves one without tables.
    pub(super) async fn open_to_look(home: &Home) -> Result<Option<Sqlite>, StoreError> {
        let path = home.database();
        if path.with_extension("db-journal").exists() {
            // Only a writer can undo what a process that was killed while it made the file has left.
            inspect(&path, home).await?;
        }
        let mut connection = connect_to_read(&path).await?;
        let form = form_of(&mut connection, &path, home).await?;
        Ok(form.map(|_| Sqlite::with(home, connection)))
    }

    fn with(home: &Home, connection: SqliteConnection) -> Sqlite {
        let writer = AsyncMutex::new(Writer { connection, ends: HashMap::new() });
        Sqlite { path: home.database(), home: home.clone(), writer, journals: Mutex::default() }
    }

    fn told(&self, error: sqlx::Error) -> StoreError {
        told(&self.path, error)
    }

    fn damaged(&self, why: impl Into<String>) -> StoreError {
        StoreError::Damaged { place: shown(&self.path), why: why.into() }
    }

    fn conflict(&self, run: &RunId, seq: u64) -> StoreError {
        StoreError::Conflict { place: shown(&self.path), run: run.clone(), seq }
    }

    fn taken_over(&self, run: &RunId) -> StoreError {
        StoreError::TakenOver { place: shown(&self.path), run: run.clone() }
    }

    fn failed(&self, error: impl std::fmt::Display) -> StoreError {
        StoreError::Failed { place: shown(&self.path), why: error.to_string() }
    }

    fn journals(&self) -> MutexGuard<'_, HashMap<RunId, (Epoch, Option<Journal>)>> {
        self.journals.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn read_journal(&self, run: &RunId) -> Result<Vec<Record>, StoreError> {
        journal::read(&self.home, run, journal::NAME).map_err(|error| self.failed(error))
    }

    async fn set_directory(&self, run: &RunId, directory: &Path) -> Result<(), StoreError> {
        let connection = &mut self.writer.lock().await.connection;
        let moved = sqlx::query("UPDATE runs SET directory = ? WHERE id = ?")
            .bind(directory.to_string_lossy().into_owned())
            .bind(run.as_str())
            .execute(connection)
            .await
            .map_err(|error| self.told(error))?;
        match moved.rows_affected() {
            0 => Err(StoreError::NoSuchRun(run.clone())),
            _ => Ok(()),
        }
    }

    /// Its events go along with it.
    async fn forget(&self, run: &RunId) -> Result<(), StoreError> {
        let mut writer = self.writer.lock().await;
        let gone =
            sqlx::query("DELETE FROM runs WHERE id = ?").bind(run.as_str()).execute(&mut writer.connection);
        gone.await.map_err(|error| self.told(error))?;
        writer.ends.remove(run);
        self.journals().remove(run);
        journal::remove(&self.home, run, journal::NAME);
        Ok(())
    }

    async fn list(&self) -> Result<Vec<StoredRun>, StoreError> {
        let connection = &mut self.writer.lock().await.connection;
        let rows = sqlx::query(
            "SELECT id, directory, source, tasks, status, created_at FROM runs ORDER BY created_at DESC, key DESC",
        )
        .fetch_all(connection)
        .await
        .map_err(|error| self.told(error))?;
        rows.iter().map(stored_run).collect::<Result<_, _>>().map_err(|error| self.told(error))
    }
}

impl LogReader for Sqlite {
    fn load<'a>(&'a self, run: &'a RunId, after: u64) -> Task<'a, Vec<Record>> {
        Box::pin(self.load_records(run, after))
    }

    fn runs(&self) -> Task<'_, Vec<StoredRun>> {
        Box::pin(self.list())
    }
}

impl Store for Sqlite {
    fn create<'a>(&'a self, run: &'a NewRun, first: &'a Record) -> Task<'a, Epoch> {
        Box::pin(self.create_run(run, first))
    }

    fn claim<'a>(&'a self, run: &'a RunId) -> Task<'a, Epoch> {
        Box::pin(self.claim_run(run))
    }

    fn write(&self, run: &RunId, epoch: Epoch, records: &[Record]) -> Result<(), StoreError> {
        self.write_records(run, epoch, records)
    }

    fn append<'a>(&'a self, run: &'a RunId, after: u64, epoch: Epoch, records: &'a [Record]) -> Task<'a, ()> {
        Box::pin(self.append_records(run, after, epoch, records))
    }

    fn move_to<'a>(&'a self, run: &'a RunId, directory: &'a Path) -> Task<'a, ()> {
        Box::pin(self.set_directory(run, directory))
    }

    fn remove<'a>(&'a self, run: &'a RunId) -> Task<'a, ()> {
        Box::pin(self.forget(run))
    }
}

#[cfg(test)]
mod tests;
