//! What was done by whom, from where, and how it went. Only ever added to.

use sqlx::Row as _;

use super::{Records, now};
use crate::access::identity::OWNER;

#[derive(Debug, Clone)]
pub struct Entry {
    pub id: i64,
    pub at: i64,
    pub who: String,
    pub means: String,
    pub address: String,
    pub method: String,
    pub path: String,
    pub status: u16,
    pub detail: String,
}

/// One that is to be recorded.
#[derive(Debug)]
pub(crate) struct Act<'a> {
    pub(crate) who: &'a str,
    pub(crate) means: &'a str,
    pub(crate) address: String,
    pub(crate) method: &'a str,
    pub(crate) path: &'a str,
    pub(crate) status: u16,
    pub(crate) detail: &'a str,
}

impl Records {
    pub(crate) async fn note(&self, act: &Act<'_>) -> Result<(), sqlx::Error> {
        tracing::info!(who = act.who, means = act.means, address = %act.address, method = act.method, path = act.path,
            status = act.status, detail = act.detail, "request");
        sqlx::query("INSERT INTO audit (at, who, means, address, method, path, status, detail) VALUES (?, ?, ?, ?, ?, ?, ?, ?)")
            .bind(now()).bind(act.who).bind(act.means).bind(&act.address).bind(act.method).bind(act.path)
            .bind(i64::from(act.status)).bind(act.detail)
            .execute(&self.pool).await.map(drop)
    }

    /// What the machine's owner did with a command of this program, which needs no server.
    pub async fn note_command(&self, command: &str, detail: Option<&str>) -> Result<(), sqlx::Error> {
        let (status, detail) = detail.map_or((200, ""), |detail| (422, detail));
        let address = String::new();
        let (who, means, method) = (OWNER, "command line", "conductor");
        self.note(&Act { who, means, address, method, path: command, status, detail }).await
    }

    /// The newest first, before the one of this number.
    pub async fn audit(&self, before: Option<i64>, most: u32) -> Result<Vec<Entry>, sqlx::Error> {
        let rows = sqlx::query("SELECT * FROM audit WHERE ?1 IS NULL OR id < ?1 ORDER BY id DESC LIMIT ?2")
            .bind(before)
            .bind(most)
            .fetch_all(&self.pool)
            .await?;
        let entry = |row: &sqlx::sqlite::SqliteRow| Entry {
            id: row.get("id"),
            at: row.get("at"),
            who: row.get("who"),
            means: row.get("means"),
            address: row.get("address"),
            method: row.get("method"),
            path: row.get("path"),
            status: row.get::<i64, _>("status") as u16,
            detail: row.get("detail"),
        };
        Ok(rows.iter().map(entry).collect())
    }
}
