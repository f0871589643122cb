//! Users, what they may do, and the sessions they have open.

use conductor_core::values::suggest::did_you_mean;
use serde_json::{Value, json};
use sqlx::Row as _;
use thiserror::Error;

use super::{Records, now};
use crate::access::identity::{Grant, OWNER};
use crate::access::{Identity, Means, Role, passwords, secrets};

/// A session that is not used for this long is over, and after this long in any case.
const IDLE: i64 = 12 * 60 * 60 * 1_000;
const LONGEST: i64 = 7 * 24 * 60 * 60 * 1_000;

/// How exactly it is known when something was last used: a write for every request would cost more than it tells.
const USED_WITHIN: i64 = 60 * 1_000;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct User {
    pub name: String,
    pub disabled: bool,
    pub created: i64,
    /// The project, or nothing for all of them.
    pub grants: Vec<(Option<String>, Role)>,
}

#[derive(Debug, Error)]
pub enum UserError {
    #[error("'{0}' is no name: letters, digits and .-_@+|: are, at most 128 of them")]
    WrongName(String),
    #[error("a user '{0}' is there already")]
    Taken(String),
    #[error("there is no user '{name}'")]
    Unknown { name: String, meant: Option<String> },
    #[error(transparent)]
    Password(#[from] passwords::PasswordError),
    #[error(transparent)]
    Failed(#[from] sqlx::Error),
}

impl Records {
    /// Without a password the user logs in elsewhere: by an identity provider, under this name.
    pub async fn add_user(
        &self,
        name: &str,
        password: Option<&str>,
        project: Option<&str>,
        role: Role,
    ) -> Result<(), UserError> {
        if !is_name(name) {
            return Err(UserError::WrongName(name.to_owned()));
        }
        if name == OWNER {
            return Err(UserError::Taken(name.to_owned()));
        }
        let hash = match password {
            Some(password) => hashed(password).await?,
            None => String::new(),
        };
        let added = sqlx::query("INSERT INTO users (name, password, created) VALUES (?, ?, ?)")
            .bind(name)
            .bind(hash)
            .bind(now())
            .execute(&self.pool)
            .await;
        match added {
            Ok(_) => self.grant(name, project, Some(role)).await,
            Err(sqlx::Error::Database(error)) if error.is_unique_violation() => {
                Err(UserError::Taken(name.to_owned()))
            }
            Err(error) => Err(error.into()),
        }
    }

    /// Gives a role, or takes it away.
    pub async fn grant(
        &self,
        name: &str,
        project: Option<&str>,
        role: Option<Role>,
    ) -> Result<(), UserError> {
        self.user(name).await?;
        let project = project.unwrap_or_default();
        match role {
            Some(role) => {
                sqlx::query("INSERT INTO grants (user, project, role) VALUES (?, ?, ?) ON CONFLICT DO UPDATE SET role = excluded.role")
                    .bind(name).bind(project).bind(role.name()).execute(&self.pool).await?;
            }
            None => {
                sqlx::query("DELETE FROM grants WHERE user = ? AND project = ?")
                    .bind(name)
                    .bind(project)
                    .execute(&self.pool)
                    .await?;
            }
        }
        Ok(())
    }

    pub async fn users(&self) -> Result<Vec<User>, sqlx::Error> {
        let rows = sqlx::query("SELECT name, disabled, created FROM users ORDER BY name")
            .fetch_all(&self.pool)
            .await?;
        let mut users = Vec::with_capacity(rows.len());
        for row in rows {
            let name: String = row.get("name");
            let grants = self.grants(&name).await?;
            users.push(User {
                name,
                disabled: row.get::<i64, _>("disabled") != 0,
                created: row.get("created"),
                grants,
            });
        }
        Ok(users)
    }

    async fn grants(&self, name: &str) -> Result<Vec<(Option<String>, Role)>, sqlx::Error> {
        let rows = sqlx::query("SELECT project, role FROM grants WHERE user = ? ORDER BY project")
            .bind(name)
            .fetch_all(&self.pool)
            .await?;
        let grant = |row: &sqlx::sqlite::SqliteRow| {
            let project: String = row.get("project");
            Some(((!project.is_empty()).then_some(project), Role::named(row.get("role"))?))
        };
        Ok(rows.iter().filter_map(grant).collect())
    }

    pub async fn user(&self, name: &str) -> Result<User, UserError> {
        let users = self.users().await?;
        let meant = did_you_mean(name, users.iter().map(|user| user.name.as_str())).map(str::to_owned);
        let user = users.into_iter().find(|user| user.name == name);
        user.ok_or_else(|| UserError::Unknown { name: name.to_owned(), meant })
    }

    /// One who is disabled is logged out everywhere; tokens do not work until the user is enabled again.
    pub async fn disable_user(&self, name: &str, disabled: bool) -> Result<(), UserError> {
        self.user(name).await?;
        sqlx::query("UPDATE users SET disabled = ? WHERE name = ?")
            .bind(disabled)
            .bind(name)
            .execute(&self.pool)
            .await?;
        if disabled {
            self.end_sessions(name).await?;
        }
        Ok(())
    }

    /// Ends the user's sessions too.
    pub async fn set_password(&self, name: &str, password: &str) -> Result<(), UserError> {
        self.user(name).await?;
        let hash = hashed(password).await?;
        sqlx::query("UPDATE users SET password = ? WHERE name = ?")
            .bind(hash)
            .bind(name)
            .execute(&self.pool)
            .await?;
        Ok(self.end_sessions(name).await?)
    }

    async fn end_sessions(&self, name: &str) -> Result<(), sqlx::Error> {
        sqlx::query("DELETE FROM sessions WHERE user = ?").bind(name).execute(&self.pool).await.map(drop)
    }

    /// Whether name and password belong together, and the user may log in.
    pub(crate) async fn is_user(&self, name: &str, password: &str) -> Result<bool, sqlx::Error> {
        let row = sqlx::query("SELECT password FROM users WHERE name = ? AND disabled = 0")
            .bind(name)
            .fetch_optional(&self.pool)
            .await?;
        let hash: Option<String> = row.map(|row| row.get("password"));
        let password = password.to_owned();
        let fits = passwords::in_turn(move || passwords::fits(&password, hash.as_deref())).await;
        Ok(fits.unwrap_or(false))
    }

    /// Whether a name's roles are kept here, and not only with its session.
    pub(crate) async fn may_have_tokens(&self, name: &str) -> Result<bool, sqlx::Error> {
        let known =
            sqlx::query("SELECT 1 FROM users WHERE name = ?").bind(name).fetch_optional(&self.pool).await?;
        Ok(name == OWNER || known.is_some())
    }

    /// Opens a session; its credential is told once and not kept.
    pub(crate) async fn begin_session(&self, user: &str) -> Result<(String, i64), sqlx::Error> {
        self.begin_session_with(user, None).await
    }

    /// Likewise, with what an identity provider says that the person may do.
    pub(crate) async fn begin_session_with(
        &self,
        user: &str,
        grants: Option<&[Grant]>,
    ) -> Result<(String, i64), sqlx::Error> {
        let credential = secrets::random("cds_").map_err(sqlx::Error::Io)?;
        let (now, expires) = (now(), now() + LONGEST);
        sqlx::query("DELETE FROM sessions WHERE expires < ? OR used < ?")
            .bind(now)
            .bind(now - IDLE)
            .execute(&self.pool)
            .await?;
        sqlx::query(
            "INSERT INTO sessions (hash, user, created, used, expires, grants) VALUES (?, ?, ?, ?, ?, ?)",
        )
        .bind(secrets::hash(&credential))
        .bind(user)
        .bind(now)
        .bind(now)
        .bind(expires)
        .bind(grants.map(worded))
        .execute(&self.pool)
        .await?;
        Ok((credential, expires))
    }

    pub(crate) async fn end_session(&self, credential: &str) -> Result<(), sqlx::Error> {
        sqlx::query("DELETE FROM sessions WHERE hash = ?")
            .bind(secrets::hash(credential))
            .execute(&self.pool)
            .await
            .map(drop)
    }

    /// Whose session it is, where it is still one. It lasts longer only where it is used.
    pub(crate) async fn in_session(
        &self,
        credential: &str,
        is_used: bool,
    ) -> Result<Option<Identity>, sqlx::Error> {
        let (hash, now) = (secrets::hash(credential), now());
        let row = sqlx::query(
            "SELECT user, used, grants FROM sessions WHERE hash = ? AND expires > ? AND used > ?",
        )
        .bind(&hash)
        .bind(now)
        .bind(now - IDLE)
        .fetch_optional(&self.pool)
        .await?;
        let Some(row) = row else { return Ok(None) };
        if is_used && row.get::<i64, _>("used") < now - USED_WITHIN {
            sqlx::query("UPDATE sessions SET used = ? WHERE hash = ?")
                .bind(now)
                .bind(&hash)
                .execute(&self.pool)
                .await?;
        }
        match row.get::<Option<String>, _>("grants") {
            Some(grants) => self.provided(row.get("user"), &grants).await,
            None => self.identity(row.get("user"), Means::Session, None).await,
        }
    }

    /// What a person may do whom an identity provider knows: what it said, and what the person was given here. One who is
    /// disabled here may nothing.
    async fn provided(&self, user: String, grants: &str) -> Result<Option<Identity>, sqlx::Error> {
        let row = sqlx::query("SELECT disabled FROM users WHERE name = ?")
            .bind(&user)
            .fetch_optional(&self.pool)
            .await?;
        if row.is_some_and(|row| row.get::<i64, _>("disabled") != 0) {
            return Ok(None);
        }
        let here = self.grants(&user).await?.into_iter().map(|(project, role)| Grant { project, role });
        let all = read_grants(grants).into_iter().chain(here).collect();
        Ok(Some(Identity::new(user, Means::Session, all, None)))
    }

    /// What a user who is not disabled may do.
    pub(super) async fn identity(
        &self,
        user: String,
        means: Means,
        limit: Option<Grant>,
    ) -> Result<Option<Identity>, sqlx::Error> {
        if user == OWNER {
            let grants = vec![Grant { project: None, role: Role::Admin }];
            return Ok(Some(Identity::new(user, means, grants, limit)));
        }
        let row = sqlx::query("SELECT 1 FROM users WHERE name = ? AND disabled = 0")
            .bind(&user)
            .fetch_optional(&self.pool)
            .await?;
        if row.is_none() {
            return Ok(None);
        }
        let grants = self.grants(&user).await?.into_iter().map(|(project, role)| Grant { project, role });
        Ok(Some(Identity::new(user, means, grants.collect(), limit)))
    }
}

/// Beside the threads that serve.
async fn hashed(password: &str) -> Result<String, UserError> {
    let password = password.to_owned();
    match passwords::in_turn(move || passwords::hash(&password)).await {
        Some(hash) => Ok(hash?),
        None => Err(passwords::PasswordError::Unkept("hashing it failed".to_owned()).into()),
    }
}

/// Grants as they are kept with a session.
fn worded(grants: &[Grant]) -> String {
    let one = |grant: &Grant| json!({ "project": grant.project, "role": grant.role.name() });
    Value::from(grants.iter().map(one).collect::<Vec<_>>()).to_string()
}

fn read_grants(text: &str) -> Vec<Grant> {
    let grants: Vec<Value> = serde_json::from_str(text).unwrap_or_default();
    let one = |grant: &Value| {
        let role = Role::named(grant["role"].as_str()?)?;
        Some(Grant { project: grant["project"].as_str().map(str::to_owned), role })
    };
    grants.iter().filter_map(one).collect()
}

/// An e-mail address is one, too: so a person is called whom an identity provider knows.
pub(crate) fn is_name(name: &str) -> bool {
    let fits = |letter: char| letter.is_ascii_alphanumeric() || ".-_@+|:".contains(letter);
    !name.is_empty() && name.len() <= 128 && name.chars().all(fits)
}

#[cfg(test)]
mod tests {
    use conductor_engine::host::home::Home;

    use super::*;

    #[tokio::test]
    async fn a_session_ends_without_use_and_in_any_case_in_the_end() {
        let folder = tempfile::tempdir().unwrap();
        let records = Records::open(&Home::at(folder.path()).unwrap()).await.unwrap();
        records.add_user("ann", None, None, Role::Viewer).await.unwrap();
        let (session, expires) = records.begin_session("ann").await.unwrap();
        assert!((now() + LONGEST - expires).abs() < 60_000);
        // As it stands when it was begun and last used so long ago.
        let is_open = async |begun: i64, used: i64| {
            sqlx::query("UPDATE sessions SET used = ?, expires = ?")
                .bind(now() - used)
                .bind(now() - begun + LONGEST)
                .execute(&records.pool)
                .await
                .unwrap();
            records.in_session(&session, true).await.unwrap().is_some()
        };
        const MINUTE: i64 = 60_000;
        assert!(is_open(0, 0).await);
        assert!(is_open(IDLE - MINUTE, IDLE - MINUTE).await, "it was used in time");
        assert!(!is_open(IDLE, IDLE).await);
        assert!(is_open(LONGEST - MINUTE, 0).await);
        assert!(!is_open(LONGEST, 0).await, "however much it is used");
        // Being used makes it last longer, being looked at again does not.
        for (is_used, lasts) in [(true, true), (false, false)] {
            is_open(0, 0).await;
            let before = now() - IDLE / 2;
            sqlx::query("UPDATE sessions SET used = ?").bind(before).execute(&records.pool).await.unwrap();
            records.in_session(&session, is_used).await.unwrap();
            let used: i64 =
                sqlx::query("SELECT used FROM sessions").fetch_one(&records.pool).await.unwrap().get("used");
            assert_eq!(used > before, lasts);
        }
    }
}
