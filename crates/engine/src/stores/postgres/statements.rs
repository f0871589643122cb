//! What is asked of the server, statement by statement.

use std::path::PathBuf;

use conductor_core::run::event::Record;
use conductor_core::values::ids::RunId;
use conductor_core::values::units::Timestamp;
use sqlx::Row as _;
use sqlx::postgres::{PgConnection, PgRow};

use super::machine::Machine;
use crate::stores::rows::{EVENT_VERSION, EventRow, LogEnd};
use crate::stores::{Epoch, NewRun, Shared, StoredRun};

/// Of the process that makes a run.
pub(super) const FIRST_EPOCH: Epoch = Epoch(1);

/// How many seconds a claim holds that is not renewed.
pub(super) const HOLD: u64 = 15;

// The run's row is moved on first, and only where the log ends as we know it and the run is still ours: a second
// writer waits at that row, finds it moved, and adds nothing.
const ADD_EVENTS: &str = "
    WITH ours AS (
        UPDATE runs SET last_seq = $4, status = coalesce($5, status),
                        ended_at = CASE WHEN $5 IS NULL THEN ended_at ELSE $6 END
        WHERE key = $1 AND epoch = $2 AND last_seq = $3 RETURNING key)
    INSERT INTO events (run, seq, at, tick, version, sum, body)
    SELECT ours.key, seq, at, tick, $7, sum, body
    FROM ours, unnest($8::bigint[], $9::bigint[], $10::bigint[], $11::bigint[], $12::text[])
               AS added (seq, at, tick, sum, body)";

/// `RowNotFound` where the log does not end there any more, or the run is another's.
pub(super) async fn add_events(
    connection: &mut PgConnection,
    end: &LogEnd,
    rows: Vec<EventRow>,
    status: Option<(&str, Option<Timestamp>)>,
) -> sqlx::Result<()> {
    let last = rows.last().map_or(end.last_seq, |row| row.seq);
    let numbers = |of: fn(&EventRow) -> i64| rows.iter().map(of).collect::<Vec<i64>>();
    let query = sqlx::query(ADD_EVENTS)
        .bind(end.key)
        .bind(end.epoch.0 as i64)
        .bind(end.last_seq as i64)
        .bind(last as i64)
        .bind(status.map(|(name, _)| name))
        .bind(status.and_then(|(_, ended)| ended).map(|at| at.0))
        .bind(EVENT_VERSION)
        .bind(numbers(|row| row.seq as i64))
        .bind(numbers(|row| row.at.0))
        .bind(numbers(|row| row.tick.0 as i64))
        .bind(numbers(|row| i64::from(row.sum)))
        .bind(rows.into_iter().map(|row| row.body).collect::<Vec<String>>());
    match query.execute(connection).await?.rows_affected() {
        0 => Err(sqlx::Error::RowNotFound),
        _ => Ok(()),
    }
}

pub(super) async fn write_first(
    connection: &mut PgConnection,
    run: &NewRun,
    first: &Record,
    row: EventRow,
) -> sqlx::Result<i64> {
    let key: i64 = sqlx::query_scalar(
        "INSERT INTO runs (id, directory, source, tasks, status, created_at, epoch, last_seq)
         VALUES ($1, $2, $3, $4, 'created', $5, $6, $7) RETURNING key",
    )
    .bind(run.id.as_str())
    .bind(run.directory.to_string_lossy().into_owned())
    .bind(&run.source)
    .bind(run.tasks as i64)
    .bind(first.at.0)
    .bind(FIRST_EPOCH.0 as i64)
    .bind(row.seq as i64)
    .fetch_one(&mut *connection)
    .await?;
    sqlx::query(
        "INSERT INTO events (run, seq, at, tick, version, sum, body) VALUES ($1, $2, $3, $4, $5, $6, $7)",
    )
    .bind(key)
    .bind(row.seq as i64)
    .bind(row.at.0)
    .bind(row.tick.0 as i64)
    .bind(EVENT_VERSION)
    .bind(i64::from(row.sum))
    .bind(row.body)
    .execute(connection)
    .await?;
    Ok(key)
}

/// A run's key and who has claimed it last; with `FOR UPDATE` no other can claim it before this transaction ends.
pub(super) async fn claimed(
    connection: &mut PgConnection,
    run: &RunId,
    holding: bool,
) -> sqlx::Result<Option<(i64, Epoch)>> {
    let text = match holding {
        false => "SELECT key, epoch FROM runs WHERE id = $1",
        true => "SELECT key, epoch FROM runs WHERE id = $1 FOR UPDATE",
    };
    let found: Option<(i64, i64)> =
        sqlx::query_as(text).bind(run.as_str()).fetch_optional(connection).await?;
    Ok(found.map(|(key, epoch)| (key, Epoch(epoch as u64))))
}

pub(super) async fn next_epoch(connection: &mut PgConnection, key: i64) -> sqlx::Result<Epoch> {
    let epoch: i64 = sqlx::query_scalar("UPDATE runs SET epoch = epoch + 1 WHERE key = $1 RETURNING epoch")
        .bind(key)
        .fetch_one(connection)
        .await?;
    Ok(Epoch(epoch as u64))
}

/// The other machine whose claim holds.
pub(super) async fn holder(
    connection: &mut PgConnection,
    key: i64,
    machine: &Machine,
) -> sqlx::Result<Option<String>> {
    sqlx::query_scalar(
        "SELECT name FROM leaders WHERE run = $1 AND machine != $2 AND until > clock_timestamp()",
    )
    .bind(key)
    .bind(&machine.id)
    .fetch_optional(connection)
    .await
}

pub(super) async fn lead(
    connection: &mut PgConnection,
    key: i64,
    epoch: Epoch,
    machine: &Machine,
) -> sqlx::Result<()> {
    sqlx::query(
        "INSERT INTO leaders (run, epoch, machine, name, until)
         VALUES ($1, $2, $3, $4, clock_timestamp() + make_interval(secs => $5))
         ON CONFLICT (run) DO UPDATE SET epoch = excluded.epoch, machine = excluded.machine,
                                         name = excluded.name, until = excluded.until",
    )
    .bind(key)
    .bind(epoch.0 as i64)
    .bind(&machine.id)
    .bind(&machine.name)
    .bind(HOLD as f64)
    .execute(connection)
    .await
    .map(drop)
}

/// Those that are still ours hold on.
pub(super) async fn renew(connection: &mut PgConnection, claims: &[(i64, Epoch)]) -> sqlx::Result<()> {
    sqlx::query(
        "UPDATE leaders SET until = clock_timestamp() + make_interval(secs => $3)
         FROM unnest($1::bigint[], $2::bigint[]) AS claimed (run, epoch)
         WHERE leaders.run = claimed.run AND leaders.epoch = claimed.epoch",
    )
    .bind(claims.iter().map(|(key, _)| *key).collect::<Vec<i64>>())
    .bind(claims.iter().map(|(_, epoch)| epoch.0 as i64).collect::<Vec<i64>>())
    .bind(HOLD as f64)
    .execute(connection)
    .await
    .map(drop)
}

/// Nothing is driven any more.
pub(super) async fn let_go(connection: &mut PgConnection, key: i64, epoch: Epoch) -> sqlx::Result<()> {
    sqlx::query("DELETE FROM leaders WHERE run = $1 AND epoch = $2")
        .bind(key)
        .bind(epoch.0 as i64)
        .execute(connection)
        .await
        .map(drop)
}

/// The last event of a log and its sum.
pub(super) async fn last_event(connection: &mut PgConnection, key: i64) -> sqlx::Result<(u64, u32)> {
    let last: Option<(i64, i64)> =
        sqlx::query_as("SELECT seq, sum FROM events WHERE run = $1 ORDER BY seq DESC LIMIT 1")
            .bind(key)
            .fetch_optional(connection)
            .await?;
    Ok(last.map_or((0, 0), |(seq, sum)| (seq as u64, sum as u32)))
}

/// The sum of a row, to which the next is chained.
pub(super) async fn sum(connection: &mut PgConnection, key: i64, seq: u64) -> sqlx::Result<Option<u32>> {
    if seq == 0 {
        return Ok(Some(0));
    }
    let sum: Option<i64> = sqlx::query_scalar("SELECT sum FROM events WHERE run = $1 AND seq = $2")
        .bind(key)
        .bind(seq as i64)
        .fetch_optional(connection)
        .await?;
    Ok(sum.map(|sum| sum as u32))
}

/// Newest first, with the machines that hold them, as seen from this one.
pub(super) async fn list(connection: &mut PgConnection, machine: &str) -> sqlx::Result<Vec<StoredRun>> {
    let rows = sqlx::query(
        "SELECT id, directory, source, tasks, status, created_at, last_seq,
                (SELECT name FROM leaders WHERE run = key AND machine != $1 AND until > clock_timestamp()) AS holder
         FROM runs ORDER BY created_at DESC, key DESC",
    )
    .bind(machine)
    .fetch_all(connection)
    .await?;
    rows.iter().map(stored_run).collect()
}

fn stored_run(row: &PgRow) -> sqlx::Result<StoredRun> {
    let id: String = row.try_get("id")?;
    let shared = Shared { events: row.try_get::<i64, _>("last_seq")? as u64, holder: row.try_get("holder")? };
    Ok(StoredRun {
        id: RunId::parse(&id).ok_or_else(|| sqlx::Error::Decode(format!("bad run id {id:?}").into()))?,
        directory: PathBuf::from(row.try_get::<String, _>("directory")?),
        source: row.try_get("source")?,
        tasks: row.try_get::<i64, _>("tasks")? as u64,
        status: row.try_get("status")?,
        created: Timestamp(row.try_get("created_at")?),
        shared: Some(shared),
    })
}
