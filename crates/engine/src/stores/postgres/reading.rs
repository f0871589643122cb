//! Reading a run's log: rows of the server, each checked against the one before, and what is only written behind them.

use std::pin::Pin;

use conductor_core::run::event::Record;
use conductor_core::values::ids::RunId;
use conductor_core::values::units::{Tick, Timestamp};
use futures_core::Stream;
use sqlx::Row as _;
use sqlx::postgres::{PgConnection, PgRow};

use super::{Postgres, statements};
use crate::stores::rows::Stored;
use crate::stores::witness::{self, Keeper};
use crate::stores::{Epoch, StoreError, journal};

/// So many rows are asked for at once: the server may take its time over each call, and a log may be long.
const MANY: i64 = 20_000;

impl Postgres {
    pub(super) async fn load_records(&self, run: &RunId, after: u64) -> Result<Vec<Record>, StoreError> {
        // Looked at before the rows: the coordinator of the run may write on while they are read.
        let seen = witness::seen_by(&self.home, run, Keeper::Postgres);
        let (key, epoch) = self.claimed(run).await?;
        let written = self.read_journal(run, epoch)?;
        let (mut last, mut sum) = match after {
            0 => (0, 0),
            after => self.known_before(key, after).await?,
        };
        let mut records = Vec::new();
        loop {
            let before = records.len();
            (last, sum) = self
                .call(async |connection| {
                    self.read_rows(connection, key, (last, sum), &mut records, run).await
                })
                .await?;
            if records.len() - before < MANY as usize {
                break;
            }
        }
        // What a former claim had only written is no part of what a later one has gone on with.
        if !written.is_empty() && self.claimed(run).await?.1 == epoch {
            for record in journal::behind(last, written) {
                last = record.seq;
                records.push(record);
            }
        }
        records.retain(|record| record.seq > after);
        self.check_witness(run, last, seen)?;
        Ok(records)
    }

    /// Where a reader of the end of a log begins: at the event it knows, or at the log's last where that is shorter.
    async fn known_before(&self, key: i64, after: u64) -> Result<(u64, u32), StoreError> {
        self.call(async |connection| {
            let sum = statements::sum(connection, key, after).await.map_err(|error| self.told(error))?;
            match sum {
                Some(sum) => Ok((after, sum)),
                None => statements::last_event(connection, key).await.map_err(|error| self.told(error)),
            }
        })
        .await
    }

    async fn read_rows(
        &self,
        connection: &mut PgConnection,
        key: i64,
        (mut last, mut sum): (u64, u32),
        records: &mut Vec<Record>,
        run: &RunId,
    ) -> Result<(u64, u32), StoreError> {
        let mut rows = rows_behind(connection, key, last);
        while let Some(row) = std::future::poll_fn(|context| rows.as_mut().poll_next(context)).await {
            let found = row.and_then(|row| stored(&row)).map_err(|error| self.told(error))?;
            let record = found.record(sum, &self.connections.place)?;
            if record.seq != last + 1 {
                return Err(self.damaged(format!("event {} of run {run} is missing", last + 1)));
            }
            (last, sum) = (record.seq, found.sum);
            records.push(record);
        }
        Ok((last, sum))
    }

    /// The run's key, and who has claimed it last.
    pub(super) async fn claimed(&self, run: &RunId) -> Result<(i64, Epoch), StoreError> {
        let found = self
            .call(async |connection| {
                statements::claimed(connection, run, false).await.map_err(|error| self.told(error))
            })
            .await?;
        found.ok_or_else(|| StoreError::NoSuchRun(run.clone()))
    }

    pub(super) fn read_journal(&self, run: &RunId, epoch: Epoch) -> Result<Vec<Record>, StoreError> {
        journal::read(&self.home, run, &of_claim(epoch)).map_err(|error| self.failed(error))
    }

    pub(super) fn check_witness(&self, run: &RunId, last: u64, seen: u64) -> Result<(), StoreError> {
        match seen > last {
            true => Err(self.damaged(format!(
                "the log of run {run} ends at event {last}, but {seen} had been written to it from here; its server was set \
                 back, or is another one"
            ))),
            false => Ok(()),
        }
    }
}

/// The name of the file that holds what was only written under this claim.
pub(super) fn of_claim(epoch: Epoch) -> String {
    format!("{}-{}", journal::NAME, epoch.0)
}

fn stored(row: &PgRow) -> sqlx::Result<Stored> {
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

type Rows<'c> = Pin<Box<dyn Stream<Item = sqlx::Result<PgRow>> + Send + 'c>>;

/// One after the other: a long log would take up twice its room otherwise.
fn rows_behind(connection: &mut PgConnection, key: i64, after: u64) -> Rows<'_> {
    sqlx::query(
        "SELECT seq, at, tick, version, sum, body FROM events WHERE run = $1 AND seq > $2 ORDER BY seq LIMIT $3",
    )
    .bind(key)
    .bind(after as i64)
    .bind(MANY)
    .fetch(connection)
}
