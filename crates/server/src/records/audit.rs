//! What was done by whom, from where, and how it went. Only ever added to; the oldest entries go.

use sqlx::Row as _;

use super::{Records, now};
use crate::access::identity::OWNER;

/// So many entries are kept of those who are known, the newest.
const MOST: i64 = 100_000;

/// Likewise of those who are not. They are counted apart: requests without a credential push out nothing else.
const MOST_OF_STRANGERS: i64 = 10_000;

/// How often it is looked whether there are too many, in entries.
const LOOK: i64 = 1_000;

/// An address or a reason is recorded up to here.
const LONGEST: usize = 1_000;

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
        let (path, detail) = (cut(act.path), cut(act.detail));
        tracing::info!(who = act.who, means = act.means, address = %act.address, method = act.method, path = path,
            status = act.status, detail = detail, "request");
        let noted = sqlx::query("INSERT INTO audit (at, who, means, address, method, path, status, detail) VALUES (?, ?, ?, ?, ?, ?, ?, ?)")
            .bind(now()).bind(act.who).bind(act.means).bind(&act.address).bind(act.method).bind(path)
            .bind(i64::from(act.status)).bind(detail)
            .execute(&self.pool).await?;
        match noted.last_insert_rowid() % LOOK {
            0 => self.prune_audit(MOST, MOST_OF_STRANGERS).await,
            _ => Ok(()),
        }
    }

    async fn prune_audit(&self, most: i64, most_of_strangers: i64) -> Result<(), sqlx::Error> {
        for (are_strangers, most) in [(false, most), (true, most_of_strangers)] {
            sqlx::query(
                "DELETE FROM audit WHERE (who = '') = ?1 AND id <= \
                 (SELECT id FROM audit WHERE (who = '') = ?1 ORDER BY id DESC LIMIT 1 OFFSET ?2)",
            )
            .bind(are_strangers)
            .bind(most)
            .execute(&self.pool)
            .await?;
        }
        Ok(())
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

fn cut(text: &str) -> &str {
    &text[..text.floor_char_boundary(LONGEST)]
}

#[cfg(test)]
mod tests {
    use conductor_engine::host::home::Home;

    use super::*;

    #[tokio::test]
    async fn the_newest_are_kept_and_strangers_push_out_none_of_the_others() {
        let folder = tempfile::tempdir().unwrap();
        let records = Records::open(&Home::at(folder.path()).unwrap()).await.unwrap();
        let long = "é".repeat(LONGEST);
        for number in 0..12 {
            let (who, status) = (if number % 3 == 0 { "ann" } else { "" }, 200 + number);
            let address = String::new();
            let act = Act { who, means: "test", address, method: "POST", path: &long, status, detail: &long };
            records.note(&act).await.unwrap();
        }
        records.prune_audit(3, 2).await.unwrap();
        let kept = records.audit(None, 100).await.unwrap();
        assert_eq!(kept.iter().map(|entry| entry.status).collect::<Vec<_>>(), [211, 210, 209, 206, 203]);
        assert!(kept.iter().all(|entry| entry.path.len() == LONGEST && entry.detail.len() == LONGEST));
        records.prune_audit(3, 2).await.unwrap();
        assert_eq!(records.audit(None, 100).await.unwrap().len(), 5);
    }
}
