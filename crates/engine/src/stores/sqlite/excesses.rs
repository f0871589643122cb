//! Witnesses that say more than their logs hold.

use conductor_core::values::ids::RunId;
use sqlx::sqlite::SqliteConnection;

use super::Sqlite;
use crate::host::home::Home;
use crate::stores::StoreError;
use crate::stores::witness::{self, Cause, Excess};

/// From the decision for an event to its witness, in milliseconds: the time of a commit on a busy disk.
const SAME_MOMENT: i64 = 2_000;

/// Witnesses that say more than their logs hold, with what is known of why.
pub async fn excesses(home: &Home) -> Result<Vec<Excess>, StoreError> {
    match Sqlite::open_to_look(home).await? {
        Some(store) => store.excesses().await,
        None => Ok(Vec::new()),
    }
}

impl Sqlite {
    async fn excesses(&self) -> Result<Vec<Excess>, StoreError> {
        let said = witness::all(&self.home);
        let connection = &mut self.writer.lock().await.connection;
        let mut found = Vec::new();
        for witness::Said { run, seen, written } in said {
            let known: Option<(i64, i64, String)> = sqlx::query_as(
                "SELECT key, (SELECT coalesce(max(seq), 0) FROM events WHERE run = key), status
                 FROM runs WHERE id = ?",
            )
            .bind(run.as_str())
            .fetch_optional(&mut *connection)
            .await
            .map_err(|error| self.told(error))?;
            let Some((key, last, status)) = known.filter(|(_, last, _)| seen > *last as u64) else {
                continue;
            };
            let other = self.written_by_another(connection, key, seen, written).await?;
            let cause = match (other, status.as_str()) {
                (Some(other), _) => Cause::OfAnotherRun(other),
                (None, "completed" | "failed" | "stopped") => Cause::AfterTheEnd,
                (None, _) => Cause::InTheMiddle,
            };
            found.push(Excess { run, log: last as u64, witness: seen, cause });
        }
        Ok(found)
    }

    /// Whether every log holds what its witness says.
    pub(super) async fn check_all_witnesses(&self) -> Result<(), StoreError> {
        match self.excesses().await?.first() {
            Some(Excess { run, log, witness, .. }) => self.check_witness(run, *log, *witness),
            None => Ok(()),
        }
    }

    /// Another run whose event of this number was recorded just before the witness was written.
    async fn written_by_another(
        &self,
        connection: &mut SqliteConnection,
        key: i64,
        seq: u64,
        written: i64,
    ) -> Result<Option<RunId>, StoreError> {
        let id: Option<String> = sqlx::query_scalar(
            "SELECT id FROM runs JOIN events ON events.run = runs.key
             WHERE runs.key != ? AND seq = ? AND at BETWEEN ? AND ? LIMIT 1",
        )
        .bind(key)
        .bind(seq as i64)
        .bind(written - SAME_MOMENT)
        .bind(written)
        .fetch_optional(connection)
        .await
        .map_err(|error| self.told(error))?;
        Ok(id.and_then(|id| RunId::parse(&id)))
    }
}
