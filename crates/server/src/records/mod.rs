//! What the server itself keeps: projects, users and their credentials, what was done by whom. It is in `server.db`; the
//! runs have a database of their own, which is only read.

mod audit;
mod deliveries;
mod hooks;
mod projects;
mod tallies;
mod tokens;
mod users;
mod webhooks;

use std::path::{Path, PathBuf};
use std::time::Duration;

use conductor_engine::host::access;
use conductor_engine::host::clock;
use conductor_engine::host::home::Home;
use sqlx::sqlite::{
    SqliteConnectOptions, SqliteJournalMode, SqlitePool, SqlitePoolOptions, SqliteSynchronous,
};
use sqlx::{AssertSqlSafe, Row as _};
use thiserror::Error;

use crate::access::owner::folder;

pub use audit::Entry;
pub use deliveries::{Delivery, State};
pub use projects::{NewProject, Project, ProjectError};
pub use tokens::{NewToken, Token};
pub use users::{User, UserError};
pub use webhooks::{NewWebhook, Webhook, WebhookError};

pub(crate) use audit::Act;
pub(crate) use deliveries::{Attempted, NewDelivery, Verdict};
pub(crate) use hooks::Hook;
#[cfg(feature = "oidc")]
pub(crate) use users::is_name;
pub(crate) use webhooks::Change;

/// Others of our processes hold the lock for moments only.
const PATIENCE: Duration = Duration::from_secs(5);

/// Each brings the file from one form to the next; nothing of them is ever changed.
const FORMS: [&str; 4] = [
    include_str!("../../migrations/0001_server.sql"),
    include_str!("../../migrations/0002_webhooks.sql"),
    include_str!("../../migrations/0003_oidc.sql"),
    include_str!("../../migrations/0004_token_parents.sql"),
];

#[derive(Debug, Error)]
pub enum RecordsError {
    #[error("{path} cannot be opened: {why}")]
    Unopened { path: PathBuf, why: String },
    #[error("{path} was written by a newer conductor; update conductor")]
    Newer { path: PathBuf },
    #[error("server.db: {0}")]
    Failed(#[from] sqlx::Error),
}

#[derive(Debug, Clone)]
pub struct Records {
    pool: SqlitePool,
    folder: PathBuf,
}

impl Records {
    pub async fn open(home: &Home) -> Result<Records, RecordsError> {
        let path = folder(home).join("server.db");
        let unopened = |why: String| RecordsError::Unopened { path: path.clone(), why };
        access::create_private_dir_all(&folder(home)).map_err(|error| unopened(error.to_string()))?;
        // Made by us, so that no other user can read it even for a moment.
        access::private()
            .create(true)
            .append(true)
            .open(&path)
            .map_err(|error| unopened(error.to_string()))?;
        let options = SqliteConnectOptions::new()
            .filename(&path)
            .journal_mode(SqliteJournalMode::Wal)
            .synchronous(SqliteSynchronous::Normal)
            .foreign_keys(true)
            .busy_timeout(PATIENCE);
        let pool = SqlitePoolOptions::new()
            .max_connections(4)
            .connect_with(options)
            .await
            .map_err(|error| unopened(error.to_string()))?;
        bring_up_to_date(&pool, &path).await?;
        Ok(Records { pool, folder: folder(home) })
    }

    pub async fn close(&self) {
        self.pool.close().await;
    }
}

async fn bring_up_to_date(pool: &SqlitePool, path: &Path) -> Result<(), RecordsError> {
    // The first process changes it; another one that starts at the same time waits and finds it done.
    let mut change = pool.begin_with("BEGIN IMMEDIATE").await?;
    let form: i64 = sqlx::query("PRAGMA user_version").fetch_one(&mut *change).await?.get(0);
    let form = usize::try_from(form).unwrap_or(usize::MAX);
    if form > FORMS.len() {
        return Err(RecordsError::Newer { path: path.to_owned() });
    }
    for statements in &FORMS[form..] {
        sqlx::raw_sql(*statements).execute(&mut *change).await?;
    }
    sqlx::raw_sql(AssertSqlSafe(format!("PRAGMA user_version = {}", FORMS.len())))
        .execute(&mut *change)
        .await?;
    Ok(change.commit().await?)
}

/// Milliseconds since 1970.
fn now() -> i64 {
    clock::wall().0
}
