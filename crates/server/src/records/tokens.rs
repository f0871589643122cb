//! Access tokens: for scripts, with a role, perhaps one project, and an end.

use sqlx::Row as _;
use sqlx::sqlite::SqliteRow;

use super::{Records, UserError, now};
use crate::access::identity::{Grant, OWNER};
use crate::access::{Identity, Means, Role, secrets};

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Token {
    pub id: String,
    pub user: String,
    pub name: String,
    pub role: Role,
    pub project: Option<String>,
    pub created: i64,
    pub expires: Option<i64>,
    pub revoked: bool,
    pub used: Option<i64>,
}

#[derive(Debug)]
pub struct NewToken<'a> {
    pub user: &'a str,
    pub name: &'a str,
    pub role: Role,
    pub project: Option<&'a str>,
    /// Milliseconds since 1970.
    pub expires: Option<i64>,
    /// The token that it is made with.
    pub parent: Option<&'a str>,
}

impl Token {
    fn of_row(row: &SqliteRow) -> Option<Token> {
        Some(Token {
            id: row.get("id"),
            user: row.get("user"),
            name: row.get("name"),
            role: Role::named(row.get("role"))?,
            project: row.get("project"),
            created: row.get("created"),
            expires: row.get("expires"),
            revoked: row.get::<Option<i64>, _>("revoked").is_some(),
            used: row.get("used"),
        })
    }
}

impl Records {
    /// The credential is told once and not kept.
    pub async fn add_token(&self, new: &NewToken<'_>) -> Result<(Token, String), UserError> {
        if new.user != OWNER {
            self.user(new.user).await?;
        }
        let credential = secrets::random("cdt_").map_err(sqlx::Error::Io)?;
        let id = secrets::hash(&credential)[..12].to_owned();
        // A token that was revoked a moment ago makes none.
        sqlx::query("INSERT INTO tokens (id, user, name, hash, role, project, created, expires, parent) SELECT ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9 \
                WHERE ?9 IS NULL OR EXISTS (SELECT 1 FROM tokens WHERE id = ?9 AND revoked IS NULL)")
            .bind(&id).bind(new.user).bind(new.name).bind(secrets::hash(&credential)).bind(new.role.name())
            .bind(new.project).bind(now()).bind(new.expires).bind(new.parent)
            .execute(&self.pool).await?;
        let token = self.tokens(Some(new.user)).await?.into_iter().find(|token| token.id == id);
        Ok((token.ok_or(sqlx::Error::RowNotFound)?, credential))
    }

    /// Of one user, or of all.
    pub async fn tokens(&self, user: Option<&str>) -> Result<Vec<Token>, sqlx::Error> {
        let rows = sqlx::query("SELECT * FROM tokens WHERE ?1 IS NULL OR user = ?1 ORDER BY created, id")
            .bind(user)
            .fetch_all(&self.pool)
            .await?;
        Ok(rows.iter().filter_map(Token::of_row).collect())
    }

    /// Whether there was one to revoke. Those that were made with it are revoked too.
    pub async fn revoke_token(&self, id: &str, user: Option<&str>) -> Result<bool, sqlx::Error> {
        let done = sqlx::query(
            "WITH RECURSIVE gone (id) AS (
                 SELECT id FROM tokens WHERE id = ?2 AND revoked IS NULL AND (?3 IS NULL OR user = ?3)
                 UNION SELECT tokens.id FROM tokens JOIN gone ON tokens.parent = gone.id
             )
             UPDATE tokens SET revoked = ?1 WHERE id IN (SELECT id FROM gone) AND revoked IS NULL",
        )
        .bind(now())
        .bind(id)
        .bind(user)
        .execute(&self.pool)
        .await?;
        Ok(done.rows_affected() > 0)
    }

    /// Whose token it is, where it is good. That it was used is noted only where it is.
    pub(crate) async fn by_token(
        &self,
        credential: &str,
        is_used: bool,
    ) -> Result<Option<Identity>, sqlx::Error> {
        let now = now();
        let row = sqlx::query(
            "SELECT * FROM tokens WHERE hash = ? AND revoked IS NULL AND (expires IS NULL OR expires > ?)",
        )
        .bind(secrets::hash(credential))
        .bind(now)
        .fetch_optional(&self.pool)
        .await?;
        let Some(token) = row.as_ref().and_then(Token::of_row) else { return Ok(None) };
        if is_used && token.used.is_none_or(|used| used < now - 60_000) {
            sqlx::query("UPDATE tokens SET used = ? WHERE id = ?")
                .bind(now)
                .bind(&token.id)
                .execute(&self.pool)
                .await?;
        }
        let limit = Grant { project: token.project, role: token.role };
        let identity = self.identity(token.user, Means::AccessToken, Some(limit)).await?;
        Ok(identity.map(|identity| identity.of_token(token.id, token.expires)))
    }
}
