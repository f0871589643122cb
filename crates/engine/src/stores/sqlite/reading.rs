//! Reading a run's log: rows of the database, each checked against the one before, and what is only written behind them.

use conductor_core::run::event::Record;
use conductor_core::values::ids::RunId;
use conductor_core::values::units::{Tick, Timestamp};
use sqlx::Row;
use sqlx::sqlite::{SqliteConnection, SqliteRow};

use super::Sqlite;
use super::errors::shown;
use super::rows::{EVENT_VERSION, chained};
use crate::stores::{StoreError, journal, witness};

impl Sqlite {
    pub(super) async fn load_records(&self, run: &RunId, after: u64) -> Result<Vec<Record>, StoreError> {
        let connection = &mut self.writer.lock().await.connection;
        let key = self.key(connection, run).await?;
        // Looked at first: the coordinator of the run may write on while its rows are read.
        let (seen, written) = (witness::seen(&self.home, run), self.read_journal(run)?);
        let rows = self.rows_from(connection, key, after).await?;
        let mut rows = rows.iter().peekable();
        // What the first of them is chained to.
        let (mut last, mut sum) = match rows.next_if(|row| after > 0 && seq(row) == Some(after)) {
            Some(row) => (after, row.try_get::<i64, _>("sum").map_err(|error| self.told(error))? as u32),
            None if after > 0 => (self.last_seq(connection, key).await?, 0),
            None => (0, 0),
        };
        let mut records = Vec::with_capacity(rows.len());
        for row in rows {
            let (record, next) = self.record(row, sum)?;
            if record.seq != last + 1 {
                return Err(self.damaged(format!("event {} of run {run} is missing", last + 1)));
            }
            (last, sum) = (record.seq, next);
            records.push(record);
        }
        for record in journal::behind(last, written) {
            last = record.seq;
            records.push(record);
        }
        records.retain(|record| record.seq > after);
        self.check_witness(run, last, seen)?;
        Ok(records)
    }

    /// The row of this number, to which the next is chained, and all behind it.
    async fn rows_from(
        &self,
        connection: &mut SqliteConnection,
        key: i64,
        after: u64,
    ) -> Result<Vec<SqliteRow>, StoreError> {
        sqlx::query(
            "SELECT seq, at, tick, version, sum, body FROM events WHERE run = ? AND seq >= ? ORDER BY seq",
        )
        .bind(key)
        .bind(after as i64)
        .fetch_all(connection)
        .await
        .map_err(|error| self.told(error))
    }

    async fn last_seq(&self, connection: &mut SqliteConnection, key: i64) -> Result<u64, StoreError> {
        sqlx::query_scalar("SELECT coalesce(max(seq), 0) FROM events WHERE run = ?")
            .bind(key)
            .fetch_one(connection)
            .await
            .map(|last: i64| last as u64)
            .map_err(|error| self.told(error))
    }

    pub(super) async fn key(
        &self,
        connection: &mut SqliteConnection,
        run: &RunId,
    ) -> Result<i64, StoreError> {
        sqlx::query_scalar("SELECT key FROM runs WHERE id = ?")
            .bind(run.as_str())
            .fetch_optional(connection)
            .await
            .map_err(|error| self.told(error))?
            .ok_or_else(|| StoreError::NoSuchRun(run.clone()))
    }

    fn record(&self, row: &SqliteRow, before: u32) -> Result<(Record, u32), StoreError> {
        let get = |column: &str| row.try_get::<i64, _>(column).map_err(|error| self.told(error));
        let (seq, version, sum) = (get("seq")? as u64, get("version")?, get("sum")? as u32);
        if version > EVENT_VERSION {
            let (found, known) = (version, EVENT_VERSION);
            return Err(StoreError::Newer { place: shown(&self.path), found, known });
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

    pub(super) fn check_witness(&self, run: &RunId, last: u64, seen: u64) -> Result<(), StoreError> {
        match seen {
            seen if seen > last => Err(self.damaged(format!(
                "the log of run {run} ends at event {last}, but {seen} had been written; \
                 its end was lost, perhaps with conductor.db-wal, or its witness is wrong: \
                 `conductor doctor` says which"
            ))),
            _ => Ok(()),
        }
    }
}

fn seq(row: &SqliteRow) -> Option<u64> {
    row.try_get::<i64, _>("seq").ok().map(|seq| seq as u64)
}
