//! Reading a run's log: rows of the database, each checked against the one before, and what is only written behind them.

use std::pin::Pin;

use conductor_core::run::event::Record;
use conductor_core::values::ids::RunId;
use conductor_core::values::units::{Tick, Timestamp};
use futures_core::Stream;
use sqlx::Row;
use sqlx::sqlite::{SqliteConnection, SqliteRow};

use super::Sqlite;
use super::errors::shown;
use crate::stores::rows::Stored;
use crate::stores::witness::Keeper;
use crate::stores::{StoreError, journal, witness};

impl Sqlite {
    pub(super) async fn load_records(&self, run: &RunId, after: u64) -> Result<Vec<Record>, StoreError> {
        let connection = &mut self.writer.lock().await.connection;
        let key = self.key(connection, run).await?;
        // Looked at first: the coordinator of the run may write on while its rows are read.
        let (seen, written) = (witness::seen_by(&self.home, run, Keeper::Sqlite), self.read_journal(run)?);
        let mut rows = rows_from(connection, key, after);
        let mut row = self.next(&mut rows).await?;
        // What the first of them is chained to.
        let (mut last, mut sum) = (0, 0);
        if after > 0 {
            match row.take_if(|row| row.seq == after) {
                Some(before) => {
                    (last, sum) = (after, before.sum);
                    row = self.next(&mut rows).await?;
                }
                None => {
                    drop(rows);
                    last = self.last_seq(connection, key).await?;
                    rows = rows_from(connection, key, after);
                }
            }
        }
        let mut records = Vec::new();
        while let Some(found) = row {
            let record = found.record(sum, &shown(&self.path))?;
            if record.seq != last + 1 {
                return Err(self.damaged(format!("event {} of run {run} is missing", last + 1)));
            }
            (last, sum) = (record.seq, found.sum);
            records.push(record);
            row = self.next(&mut rows).await?;
        }
        drop(rows);
        for record in journal::behind(last, written) {
            last = record.seq;
            records.push(record);
        }
        records.retain(|record| record.seq > after);
        self.check_witness(run, last, seen)?;
        Ok(records)
    }

    async fn next(&self, rows: &mut Rows<'_>) -> Result<Option<Stored>, StoreError> {
        let row = std::future::poll_fn(|context| rows.as_mut().poll_next(context)).await;
        row.map(|row| row.and_then(|row| stored(&row))).transpose().map_err(|error| self.told(error))
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

fn stored(row: &SqliteRow) -> sqlx::Result<Stored> {
    let number = |column: usize| row.try_get::<i64, _>(column);
    Ok(Stored {
        seq: number(0)? as u64,
        at: Timestamp(number(1)?),
        tick: Tick(number(2)? as u64),
        version: number(3)?,
        sum: number(4)? as u32,
        body: row.try_get(5)?,
    })
}

type Rows<'c> = Pin<Box<dyn Stream<Item = sqlx::Result<SqliteRow>> + Send + 'c>>;

/// The row of this number, to which the next is chained, and all behind it: one after the other, for a long log would take
/// up twice its room otherwise.
fn rows_from(connection: &mut SqliteConnection, key: i64, after: u64) -> Rows<'_> {
    sqlx::query(
        "SELECT seq, at, tick, version, sum, body FROM events WHERE run = ? AND seq >= ? ORDER BY seq",
    )
    .bind(key)
    .bind(after as i64)
    .fetch(connection)
}
