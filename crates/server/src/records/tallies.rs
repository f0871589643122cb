//! What runs have counted, also of those that are removed since.

use std::collections::HashMap;

use conductor_core::report::tally::Tally;
use sqlx::Row as _;

use super::Records;

impl Records {
    /// By run, with the event that each was counted to.
    pub(crate) async fn tallies(&self) -> Result<HashMap<String, (u64, Tally)>, sqlx::Error> {
        let rows = sqlx::query("SELECT run, seq, tally FROM tallies").fetch_all(&self.pool).await?;
        let tally = |row: &sqlx::sqlite::SqliteRow| {
            let seq = u64::try_from(row.get::<i64, _>("seq")).ok()?;
            Some((row.get("run"), (seq, serde_json::from_str(row.get("tally")).ok()?)))
        };
        Ok(rows.iter().filter_map(tally).collect())
    }

    pub(crate) async fn keep_tally(&self, run: &str, seq: u64, tally: &Tally) -> Result<(), sqlx::Error> {
        let text = serde_json::to_string(tally).unwrap_or_default();
        sqlx::query("INSERT INTO tallies (run, seq, tally) VALUES (?, ?, ?) ON CONFLICT DO UPDATE SET seq = excluded.seq, tally = excluded.tally")
            .bind(run).bind(seq as i64).bind(text).execute(&self.pool).await.map(drop)
    }
}
