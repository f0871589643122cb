//! SQLite in WAL mode, one file for all runs.
//!
//! `synchronous = FULL`: a commit that returned survives a power cut. A log that ends before its witness (see `witness`)
//! has lost something, and is refused instead of believed. What is only written is in the run's `journal` and becomes
//! part of the log here for every reader.
//!
//! Reading a run changes nothing about writing one: what is known of a log's end is kept for each run, and only by
//! those who write to it.

mod errors;
mod excesses;
mod opening;
mod rows;
mod statements;

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, PoisonError};

use conductor_core::run::event::Record;
use conductor_core::values::ids::RunId;
use conductor_core::values::units::{Tick, Timestamp};
use sqlx::Row;
use sqlx::sqlite::SqliteConnection;
use tokio::sync::Mutex as AsyncMutex;

use super::journal::{self, Journal};
use super::witness::{self, Witness};
use super::{NewRun, Store, StoreError, StoredRun, Task};
use crate::host::home::Home;
use errors::{told, unwritable};
use opening::{Mode, connect, connect_to_read, inspect, lengthen_log, make};
use rows::{EVENT_VERSION, EventRow, chained};
use statements::{add_events, add_events_and_status, begin, end, status, stored_run, write_first};

pub use opening::{integrity, schema_version, sqlite_version};

pub struct Sqlite {
    path: PathBuf,
    home: Home,
    writer: AsyncMutex<Writer>,
    /// Of each run that this process has appended to; opened when something is only written. Never waited for.
    journals: Mutex<HashMap<RunId, Option<Journal>>>,
}

struct Writer {
    connection: SqliteConnection,
    /// The end of each log that this process has written to.
    ends: HashMap<RunId, LogEnd>,
}

/// Where the next event of a run goes, and what it is chained to.
struct LogEnd {
    key: i64,
    last_seq: u64,
    sum: u32,
    witness: Witness,
}

impl Sqlite {
    /// Opens the store, making it where there is none. A file that is damaged or too new is refused untouched.
    pub async fn open(home: &Home) -> Result<Sqlite, StoreError> {
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

    /// Opens a store that is there to look at it. In a state directory that cannot be written it is only read.
    pub async fn open_to_look(home: &Home) -> Result<Sqlite, StoreError> {
        match home.check_writable() {
            Ok(()) => Sqlite::open(home).await,
            Err(_) => {
                inspect(&home.database(), home).await?;
                Ok(Sqlite::with(home, connect_to_read(&home.database()).await?))
            }
        }
    }

    fn with(home: &Home, connection: SqliteConnection) -> Sqlite {
        let writer = AsyncMutex::new(Writer { connection, ends: HashMap::new() });
        Sqlite { path: home.database(), home: home.clone(), writer, journals: Mutex::default() }
    }

    fn told(&self, error: sqlx::Error) -> StoreError {
        told(&self.path, error)
    }

    fn damaged(&self, why: impl Into<String>) -> StoreError {
        StoreError::Damaged { path: self.path.clone(), why: why.into() }
    }

    async fn key(&self, connection: &mut SqliteConnection, run: &RunId) -> Result<i64, StoreError> {
        sqlx::query_scalar("SELECT key FROM runs WHERE id = ?")
            .bind(run.as_str())
            .fetch_optional(connection)
            .await
            .map_err(|error| self.told(error))?
            .ok_or_else(|| StoreError::NoSuchRun(run.clone()))
    }

    /// In one transaction: a run without its first record could never be read again.
    async fn create_run(&self, run: &NewRun, first: &Record) -> Result<(), StoreError> {
        let witness = Witness::open(&self.home, &run.id).map_err(|error| unwritable(&self.home, &error))?;
        let mut row = self.row(0, first)?;
        let body = std::mem::take(&mut row.body);
        let mut writer = self.writer.lock().await;
        let connection = &mut writer.connection;
        begin(connection).await.map_err(|error| self.told(error))?;
        let written = write_first(connection, run, first, &row, body).await;
        let key = end(connection, written).await.map_err(|error| self.told(error))?;
        let mut end = LogEnd { key, last_seq: 0, sum: 0, witness };
        end.acknowledge(&row);
        writer.ends.insert(run.id.clone(), end);
        self.journals().insert(run.id.clone(), None);
        let _ = lengthen_log(&self.path);
        Ok(())
    }

    fn journals(&self) -> MutexGuard<'_, HashMap<RunId, Option<Journal>>> {
        self.journals.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn write_records(&self, run: &RunId, records: &[Record]) -> Result<(), StoreError> {
        let mut journals = self.journals();
        let journal = journals.get_mut(run).ok_or_else(|| StoreError::NoSuchRun(run.clone()))?;
        let opened = match journal {
            Some(journal) => Ok(journal),
            None => Journal::open(&self.home, run).map(|opened| journal.insert(opened)),
        };
        opened.and_then(|journal| journal.write(records)).map_err(|error| unwritable(&self.home, &error))
    }

    /// Takes what a run's last coordinator had only written into the log.
    async fn take_over_journal(
        &self,
        connection: &mut SqliteConnection,
        run: &RunId,
        end: &mut LogEnd,
    ) -> Result<(), StoreError> {
        let left = self.read_journal(run)?;
        let left: Vec<Record> = journal::behind(end.last_seq, left).collect();
        self.append_at(connection, run, end, &left).await?;
        let mut journals = self.journals();
        if !journals.contains_key(run) {
            journal::clear(&self.home, run).map_err(|error| unwritable(&self.home, &error))?;
            journals.insert(run.clone(), None);
        }
        Ok(())
    }

    fn read_journal(&self, run: &RunId) -> Result<Vec<Record>, StoreError> {
        journal::read(&self.home, run).map_err(|error| self.failed(error))
    }

    /// The database holds a run's log up to here.
    fn settle_journal(&self, run: &RunId, last: u64, is_over: bool) {
        let mut journals = self.journals();
        match journals.get_mut(run) {
            Some(journal) if is_over => {
                *journal = None;
                journal::remove(&self.home, run);
            }
            Some(Some(journal)) => journal.is_stored(last),
            _ => {}
        }
    }

    async fn append_records(&self, run: &RunId, records: &[Record]) -> Result<(), StoreError> {
        let mut writer = self.writer.lock().await;
        let Writer { connection, ends } = &mut *writer;
        if !ends.contains_key(run) {
            let mut end = self.find_end(connection, run).await?;
            self.take_over_journal(connection, run, &mut end).await?;
            ends.insert(run.clone(), end);
        }
        let appended = match ends.get_mut(run) {
            Some(end) => self.append_at(connection, run, end, records).await.map(|()| end.last_seq),
            None => Err(StoreError::NoSuchRun(run.clone())),
        };
        match appended {
            Ok(last) => {
                let is_over = |record: &Record| status(record).is_some_and(|(_, ended)| ended.is_some());
                self.settle_journal(run, last, records.iter().any(is_over));
                Ok(())
            }
            Err(error) => {
                // Whether it is in the log is looked up by the next one that writes to this run.
                ends.remove(run);
                Err(error)
            }
        }
    }

    async fn append_at(
        &self,
        connection: &mut SqliteConnection,
        run: &RunId,
        end: &mut LogEnd,
        records: &[Record],
    ) -> Result<(), StoreError> {
        self.check_known(connection, run, end, records).await?;
        let rows = self.rows(run, end, records)?;
        let Some(last) = rows.last() else { return Ok(()) };
        let written = match records.iter().rev().find_map(status) {
            None => add_events(connection, end, &rows).await,
            Some(status) => add_events_and_status(connection, end, &rows, status).await,
        };
        written.map_err(|error| match error {
            sqlx::Error::RowNotFound => self.conflict(run, end.last_seq + 1),
            error => self.told(error),
        })?;
        end.acknowledge(last);
        Ok(())
    }

    /// The end of a log that was written by another store, or before this one was opened.
    async fn find_end(&self, connection: &mut SqliteConnection, run: &RunId) -> Result<LogEnd, StoreError> {
        let key = self.key(connection, run).await?;
        // Looked at first, as whenever the two are compared.
        let seen = witness::seen(&self.home, run);
        let last: Option<(i64, i64)> =
            sqlx::query_as("SELECT seq, sum FROM events WHERE run = ? ORDER BY seq DESC LIMIT 1")
                .bind(key)
                .fetch_optional(connection)
                .await
                .map_err(|error| self.told(error))?;
        let (last_seq, sum) = last.map_or((0, 0), |(seq, sum)| (seq as u64, sum as u32));
        self.check_witness(run, last_seq, seen)?;
        let witness = Witness::open(&self.home, run).map_err(|error| unwritable(&self.home, &error))?;
        let _ = lengthen_log(&self.path);
        Ok(LogEnd { key, last_seq, sum, witness })
    }

    /// Records the log holds already have to be the very same; a call whose answer was lost is repeated.
    async fn check_known(
        &self,
        connection: &mut SqliteConnection,
        run: &RunId,
        end: &LogEnd,
        records: &[Record],
    ) -> Result<(), StoreError> {
        let Some(known) = records.iter().rfind(|record| record.seq <= end.last_seq) else { return Ok(()) };
        let body = serde_json::to_string(&known.event).map_err(|error| self.failed(error))?;
        let same: i64 =
            sqlx::query_scalar("SELECT count(*) FROM events WHERE run = ? AND seq = ? AND body = ?")
                .bind(end.key)
                .bind(known.seq as i64)
                .bind(body)
                .fetch_one(connection)
                .await
                .map_err(|error| self.told(error))?;
        if same == 1 { Ok(()) } else { Err(self.conflict(run, known.seq)) }
    }

    /// The records that are new as rows, each chained to the one before.
    fn rows(&self, run: &RunId, end: &LogEnd, records: &[Record]) -> Result<Vec<EventRow>, StoreError> {
        let (mut seq, mut sum) = (end.last_seq, end.sum);
        let mut rows = Vec::with_capacity(records.len());
        for record in records.iter().filter(|record| record.seq > end.last_seq) {
            if record.seq != seq + 1 {
                return Err(self.conflict(run, record.seq));
            }
            let row = self.row(sum, record)?;
            (seq, sum) = (row.seq, row.sum);
            rows.push(row);
        }
        Ok(rows)
    }

    fn row(&self, before: u32, record: &Record) -> Result<EventRow, StoreError> {
        EventRow::of(before, record).map_err(|error| self.failed(error))
    }

    async fn load_records(&self, run: &RunId) -> Result<Vec<Record>, StoreError> {
        let connection = &mut self.writer.lock().await.connection;
        let key = self.key(connection, run).await?;
        // Looked at first: the coordinator of the run may write on while its rows are read.
        let (seen, written) = (witness::seen(&self.home, run), self.read_journal(run)?);
        let rows =
            sqlx::query("SELECT seq, at, tick, version, sum, body FROM events WHERE run = ? ORDER BY seq")
                .bind(key)
                .fetch_all(connection)
                .await
                .map_err(|error| self.told(error))?;
        let (mut sum, mut records) = (0, Vec::with_capacity(rows.len()));
        for row in &rows {
            let (record, next) = self.record(row, sum)?;
            if record.seq != records.len() as u64 + 1 {
                return Err(self.damaged(format!("event {} of run {run} is missing", records.len() + 1)));
            }
            sum = next;
            records.push(record);
        }
        records.extend(journal::behind(records.len() as u64, written));
        self.check_witness(run, records.len() as u64, seen)?;
        Ok(records)
    }

    fn record(&self, row: &sqlx::sqlite::SqliteRow, before: u32) -> Result<(Record, u32), StoreError> {
        let get = |column: &str| row.try_get::<i64, _>(column).map_err(|error| self.told(error));
        let (seq, version, sum) = (get("seq")? as u64, get("version")?, get("sum")? as u32);
        if version > EVENT_VERSION {
            let (found, known) = (version, EVENT_VERSION);
            return Err(StoreError::Newer { path: self.path.clone(), found, known });
        }
        let body: &str = row.try_get("body").map_err(|error| self.told(error))?;
        if chained(before, seq, body) != sum {
            return Err(self.damaged(format!("event {seq} does not match its checksum")));
        }
        let event = serde_json::from_str(body)
            .map_err(|error| self.damaged(format!("event {seq} cannot be read: {error}")))?;
        let record = Record { seq, at: Timestamp(get("at")?), tick: Tick(get("tick")? as u64), event };
        Ok((record, sum))
    }

    fn check_witness(&self, run: &RunId, last: u64, seen: u64) -> Result<(), StoreError> {
        match seen {
            seen if seen > last => Err(self.damaged(format!(
                "the log of run {run} ends at event {last}, but {seen} had been written; \
                 its end was lost, perhaps with conductor.db-wal, or its witness is wrong: \
                 `conductor doctor` says which"
            ))),
            _ => Ok(()),
        }
    }

    fn conflict(&self, run: &RunId, seq: u64) -> StoreError {
        StoreError::Conflict { path: self.path.clone(), run: run.clone(), seq }
    }

    fn failed(&self, error: impl std::fmt::Display) -> StoreError {
        StoreError::Failed { path: self.path.clone(), why: error.to_string() }
    }

    /// Its events go along with it.
    async fn forget(&self, run: &RunId) -> Result<(), StoreError> {
        let mut writer = self.writer.lock().await;
        let gone =
            sqlx::query("DELETE FROM runs WHERE id = ?").bind(run.as_str()).execute(&mut writer.connection);
        gone.await.map_err(|error| self.told(error))?;
        writer.ends.remove(run);
        self.journals().remove(run);
        journal::remove(&self.home, run);
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

impl LogEnd {
    fn acknowledge(&mut self, last: &EventRow) {
        self.last_seq = last.seq;
        self.sum = last.sum;
        self.witness.note(last.seq);
    }
}

impl Store for Sqlite {
    fn create<'a>(&'a self, run: &'a NewRun, first: &'a Record) -> Task<'a, ()> {
        Box::pin(self.create_run(run, first))
    }

    fn write(&self, run: &RunId, records: &[Record]) -> Result<(), StoreError> {
        self.write_records(run, records)
    }

    fn append<'a>(&'a self, run: &'a RunId, records: &'a [Record]) -> Task<'a, ()> {
        Box::pin(self.append_records(run, records))
    }

    fn load<'a>(&'a self, run: &'a RunId) -> Task<'a, Vec<Record>> {
        Box::pin(self.load_records(run))
    }

    fn remove<'a>(&'a self, run: &'a RunId) -> Task<'a, ()> {
        Box::pin(self.forget(run))
    }

    fn runs(&self) -> Task<'_, Vec<StoredRun>> {
        Box::pin(self.list())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use conductor_core::run::Run;

    /// A log written by the first version, checked in; it must load for ever.
    const OLD: &str = include_str!("../../tests/fixtures/log-v1.jsonl");

    #[tokio::test]
    async fn the_sqlite_inside_has_no_wal_reset_bug() {
        let version = sqlite_version().await.unwrap();
        let numbers: Vec<u32> = version.split('.').map(|part| part.parse().unwrap()).collect();
        assert!(numbers >= vec![3, 51, 3], "{version}");
    }

    #[test]
    fn the_first_versions_log_still_loads() {
        let records: Vec<Record> = OLD
            .lines()
            .enumerate()
            .map(|(at, line)| Record {
                seq: at as u64 + 1,
                at: Timestamp(0),
                tick: Tick(0),
                event: serde_json::from_str(line).unwrap(),
            })
            .collect();
        let run = Run::replay(&records).unwrap();
        assert_eq!(records.len(), OLD.lines().count());
        assert!(run.all_ended());
    }

    #[tokio::test]
    async fn a_log_that_lost_its_end_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        let home = Home::at(dir.path()).unwrap();
        let id = RunId::parse("r1").unwrap();
        let (_, first) = Run::create(Default::default(), Default::default());
        let new = NewRun { id: id.clone(), directory: "/".into(), source: String::new(), tasks: 0 };
        let store = Sqlite::open(&home).await.unwrap();
        store.create(&new, &first).await.unwrap();
        std::fs::write(home.run(&id).join("head"), 7u64.to_le_bytes()).unwrap();
        let error = store.load(&id).await.unwrap_err().to_string();
        assert!(error.contains("ends at event 1, but 7 had been written"), "{error}");
    }

    #[tokio::test]
    async fn a_file_that_is_no_database_is_refused_and_left_alone() {
        let dir = tempfile::tempdir().unwrap();
        let home = Home::at(dir.path()).unwrap();
        let bytes = vec![b'x'; 5000];
        std::fs::write(home.database(), &bytes).unwrap();
        let error = Sqlite::open(&home).await.err().unwrap();
        assert!(matches!(error, StoreError::Damaged { .. }), "{error}");
        assert_eq!(std::fs::read(home.database()).unwrap(), bytes);
    }
}
