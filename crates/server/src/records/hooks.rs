//! Hooks: what a program outside may start by a secret address, with settings that it cannot change.

use serde_json::Value;
use sqlx::Row as _;
use sqlx::sqlite::SqliteRow;

use super::{Records, now};
use crate::access::secrets;

#[derive(Debug, Clone)]
pub(crate) struct Hook {
    pub(crate) id: String,
    pub(crate) project: String,
    pub(crate) name: String,
    pub(crate) settings: Value,
    pub(crate) created: i64,
    pub(crate) revoked: bool,
    pub(crate) used: Option<i64>,
}

impl Hook {
    fn of_row(row: &SqliteRow) -> Hook {
        Hook {
            id: row.get("id"),
            project: row.get("project"),
            name: row.get("name"),
            settings: serde_json::from_str(row.get("settings")).unwrap_or_default(),
            created: row.get("created"),
            revoked: row.get::<Option<i64>, _>("revoked").is_some(),
            used: row.get("used"),
        }
    }
}

impl Records {
    /// The secret is told once and not kept.
    pub(crate) async fn add_hook(
        &self,
        project: &str,
        name: &str,
        settings: &Value,
    ) -> Result<(String, String), sqlx::Error> {
        let secret = secrets::random("cdh_").map_err(sqlx::Error::Io)?;
        let (hash, now) = (secrets::hash(&secret), now());
        let id = hash[..12].to_owned();
        sqlx::query(
            "INSERT INTO hooks (id, project, name, hash, settings, created) VALUES (?, ?, ?, ?, ?, ?)",
        )
        .bind(&id)
        .bind(project)
        .bind(name)
        .bind(hash)
        .bind(settings.to_string())
        .bind(now)
        .execute(&self.pool)
        .await?;
        Ok((id, secret))
    }

    pub(crate) async fn hooks(&self, project: &str) -> Result<Vec<Hook>, sqlx::Error> {
        let rows = sqlx::query("SELECT * FROM hooks WHERE project = ? ORDER BY created, id")
            .bind(project)
            .fetch_all(&self.pool)
            .await?;
        Ok(rows.iter().map(Hook::of_row).collect())
    }

    /// The one that is called by this secret, where it is good.
    pub(crate) async fn hook(&self, secret: &str) -> Result<Option<Hook>, sqlx::Error> {
        let row = sqlx::query("SELECT * FROM hooks WHERE hash = ? AND revoked IS NULL")
            .bind(secrets::hash(secret))
            .fetch_optional(&self.pool)
            .await?;
        let Some(hook) = row.as_ref().map(Hook::of_row) else { return Ok(None) };
        sqlx::query("UPDATE hooks SET used = ? WHERE id = ?")
            .bind(now())
            .bind(&hook.id)
            .execute(&self.pool)
            .await?;
        Ok(Some(hook))
    }

    /// Whether there was one to revoke.
    pub(crate) async fn revoke_hook(&self, project: &str, id: &str) -> Result<bool, sqlx::Error> {
        let done =
            sqlx::query("UPDATE hooks SET revoked = ? WHERE id = ? AND project = ? AND revoked IS NULL")
                .bind(now())
                .bind(id)
                .bind(project)
                .execute(&self.pool)
                .await?;
        Ok(done.rows_affected() > 0)
    }
}
