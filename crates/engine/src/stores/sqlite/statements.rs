//! What is written to the database, statement by statement, and how a run's row is read.

use std::path::PathBuf;

use conductor_core::run::event::Record;
use conductor_core::values::ids::RunId;
use conductor_core::values::units::Timestamp;
use sqlx::Row;
use sqlx::sqlite::SqliteConnection;

use crate::stores::rows::{EVENT_VERSION, EventRow, LogEnd};
use crate::stores::{Epoch, NewRun, StoredRun};

// One turn is one statement, whose rows come as one JSON array; only where the run's status changes is it a
// script. All of them are added where the log ends as we know it and the run is still ours, else none; a row that is
// there already is an error.
const ADD_EVENTS: &str = "
    INSERT INTO events (run, seq, at, tick, version, sum, body)
    SELECT ?1, value ->> 0, value ->> 1, value ->> 2, value ->> 3, value ->> 4, value ->> 5 FROM json_each(?2)
    WHERE (SELECT coalesce(max(seq), 0) FROM events WHERE run = ?1) = ?3
      AND (SELECT epoch FROM runs WHERE key = ?1) = ?4;";
/// Of the process that makes a run.
pub(super) const FIRST_EPOCH: Epoch = Epoch(1);

const SET_STATUS: &str = "UPDATE runs SET status = ?, ended_at = ? WHERE key = ?;";

/// Our own words instead of sqlx's `Transaction`: SQLite rolls back by itself where the disk is full, and
/// sqlx, whose own rollback then fails, would take itself to be inside a transaction for ever.
pub(super) async fn begin(connection: &mut SqliteConnection) -> sqlx::Result<()> {
    sqlx::query("BEGIN IMMEDIATE").execute(connection).await.map(drop)
}

/// Commits what could be written, and leaves nothing open where it could not.
pub(super) async fn end<T>(connection: &mut SqliteConnection, written: sqlx::Result<T>) -> sqlx::Result<T> {
    let ended = match written {
        Ok(value) => sqlx::query("COMMIT").execute(&mut *connection).await.map(|_| value),
        Err(error) => Err(error),
    };
    if ended.is_err() {
        // Fails where SQLite has done it already.
        let _ = sqlx::query("ROLLBACK").execute(connection).await;
    }
    ended
}

pub(super) async fn write_first(
    connection: &mut SqliteConnection,
    run: &NewRun,
    first: &Record,
    row: &EventRow,
    body: String,
) -> sqlx::Result<i64> {
    let key = write_run(connection, run, first).await?;
    // The plan is in it, which may be large: not worth an array of one, nor a copy.
    sqlx::query("INSERT INTO events (run, seq, at, tick, version, sum, body) VALUES (?, ?, ?, ?, ?, ?, ?)")
        .bind(key)
        .bind(row.seq as i64)
        .bind(row.at.0)
        .bind(row.tick.0 as i64)
        .bind(EVENT_VERSION)
        .bind(i64::from(row.sum))
        .bind(body)
        .execute(connection)
        .await?;
    Ok(key)
}

async fn write_run(connection: &mut SqliteConnection, run: &NewRun, first: &Record) -> sqlx::Result<i64> {
    sqlx::query_scalar(
        "INSERT INTO runs (id, directory, source, tasks, status, created_at, epoch)
         VALUES (?, ?, ?, ?, 'created', ?, ?) RETURNING key",
    )
    .bind(run.id.as_str())
    .bind(run.directory.to_string_lossy().into_owned())
    .bind(&run.source)
    .bind(run.tasks as i64)
    .bind(first.at.0)
    .bind(FIRST_EPOCH.0 as i64)
    .fetch_one(connection)
    .await
}

/// `RowNotFound` where there is no such run.
pub(super) async fn next_epoch(connection: &mut SqliteConnection, run: &RunId) -> sqlx::Result<Epoch> {
    sqlx::query_scalar("UPDATE runs SET epoch = epoch + 1 WHERE id = ? RETURNING epoch")
        .bind(run.as_str())
        .fetch_one(connection)
        .await
        .map(|epoch: i64| Epoch(epoch as u64))
}

/// `RowNotFound` where the log does not end there any more, or the run is another's.
pub(super) async fn add_events(
    connection: &mut SqliteConnection,
    end: &LogEnd,
    rows: &[EventRow],
) -> sqlx::Result<()> {
    let query = sqlx::query(ADD_EVENTS).bind(end.key).bind(as_array(rows)).bind(end.last_seq as i64);
    match query.bind(end.epoch.0 as i64).execute(connection).await?.rows_affected() {
        0 => Err(sqlx::Error::RowNotFound),
        _ => Ok(()),
    }
}

pub(super) async fn add_events_and_status(
    connection: &mut SqliteConnection,
    log: &LogEnd,
    rows: &[EventRow],
    (status, ended): (&str, Option<Timestamp>),
) -> sqlx::Result<()> {
    begin(connection).await?;
    let written = async {
        add_events(connection, log, rows).await?;
        let query = sqlx::query(SET_STATUS).bind(status).bind(ended.map(|at| at.0)).bind(log.key);
        query.execute(&mut *connection).await.map(drop)
    };
    let written = written.await;
    end(connection, written).await
}

/// All of them in one parameter. Numbers and strings only, which JSON can always hold.
fn as_array(rows: &[EventRow]) -> String {
    let rows = rows.iter().map(|row| (row.seq, row.at, row.tick.0, EVENT_VERSION, row.sum, &row.body));
    serde_json::to_string(&rows.collect::<Vec<_>>()).unwrap_or_default()
}

pub(super) fn stored_run(row: &sqlx::sqlite::SqliteRow) -> sqlx::Result<StoredRun> {
    let id: String = row.try_get("id")?;
    Ok(StoredRun {
        id: RunId::parse(&id).ok_or_else(|| sqlx::Error::Decode(format!("bad run id {id:?}").into()))?,
        directory: PathBuf::from(row.try_get::<String, _>("directory")?),
        source: row.try_get("source")?,
        tasks: row.try_get::<i64, _>("tasks")? as u64,
        status: row.try_get("status")?,
        created: Timestamp(row.try_get("created_at")?),
        shared: None,
    })
}
