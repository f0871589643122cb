//! The database of one project: items, how they do, and what came of tasks.

use std::path::{Path, PathBuf};
use std::time::Duration;

#[cfg(test)]
use conductor_core::expertise::Observation;
use conductor_core::expertise::{
    Arm, Candidate, Comparison, Item, ItemId, Measure, Spread, Tally, compare_arms,
};
use conductor_core::values::units::Timestamp;
use serde::{Deserialize, Serialize};
use sqlx::sqlite::{SqliteConnectOptions, SqliteConnection, SqliteJournalMode, SqliteRow, SqliteSynchronous};
use sqlx::{ConnectOptions, Connection, Row};
use tokio::sync::{Mutex, MutexGuard};

use super::error::ExpertiseError;
use super::place::Project;
use crate::host::access;

const FORM: i64 = 1;

/// Another process holds the write lock for moments only.
const BUSY: Duration = Duration::from_secs(5);

const TABLES: &str = include_str!("tables.sql");

pub(super) const COLUMNS: &str = "body, used, helpful, harmful, withheld, withheld_good, learned, last_used";

pub struct Expertise {
    connection: Mutex<SqliteConnection>,
    path: PathBuf,
    pub project: Project,
}

/// Why no items are given: tasks went worse with them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Paused {
    pub since: i64,
    pub by: PausedBy,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PausedBy {
    Landed,
    FirstGo,
    Cost,
    Time,
}

impl From<Measure> for PausedBy {
    fn from(measure: Measure) -> PausedBy {
        match measure {
            Measure::Landed => PausedBy::Landed,
            Measure::FirstGo => PausedBy::FirstGo,
            Measure::Cost => PausedBy::Cost,
            Measure::Time => PausedBy::Time,
        }
    }
}

impl Paused {
    pub fn words(&self) -> &'static str {
        match self.by {
            PausedBy::Landed => "fewer tasks landed with items than without",
            PausedBy::FirstGo => "fewer tasks landed at the first attempt with items than without",
            PausedBy::Cost => "tasks cost more with items than without, and landed no better",
            PausedBy::Time => "tasks took longer with items than without",
        }
    }
}

impl Expertise {
    /// Opens a project's database, and makes it where there is none.
    pub async fn open(home: &Path, project: Project) -> Result<Expertise, ExpertiseError> {
        Project::make_folder(home).map_err(|error| failed(home, &error.to_string()))?;
        for number in 0..100 {
            let path = project.database(home, number);
            // SQLite gives its -wal and -shm the permissions of the database.
            access::private()
                .create(true)
                .append(true)
                .open(&path)
                .map_err(|error| failed(&path, &error.to_string()))?;
            let store = Expertise::connect(&path, project.clone(), true).await?;
            store.make().await?;
            if store.is_of(&project).await? {
                return Ok(store);
            }
        }
        Err(failed(home, "too many projects have the same name"))
    }

    /// Opens what is there; nothing where nothing was learned yet.
    pub async fn open_to_look(home: &Path, project: Project) -> Result<Option<Expertise>, ExpertiseError> {
        for number in 0..100 {
            let path = project.database(home, number);
            if !path.metadata().is_ok_and(|file| file.len() > 0) {
                return Ok(None);
            }
            let store = Expertise::connect(&path, project.clone(), false).await?;
            match store.form().await? {
                0 => return Ok(None),
                FORM => {}
                found => return Err(store.newer(found)),
            }
            if store.is_of(&project).await? {
                return Ok(Some(store));
            }
        }
        Ok(None)
    }

    async fn connect(path: &Path, project: Project, writes: bool) -> Result<Expertise, ExpertiseError> {
        let mut options = SqliteConnectOptions::new().filename(path).busy_timeout(BUSY).foreign_keys(true);
        if writes {
            options = options.journal_mode(SqliteJournalMode::Wal).synchronous(SqliteSynchronous::Full);
        }
        let connection = SqliteConnection::connect_with(&options.disable_statement_logging()).await;
        let connection = Mutex::new(connection.map_err(|error| told(path, &error))?);
        Ok(Expertise { connection, path: path.to_owned(), project })
    }

    async fn form(&self) -> Result<i64, ExpertiseError> {
        let mut connection = self.lock().await;
        let form = sqlx::query_scalar("PRAGMA user_version").fetch_one(&mut *connection).await;
        form.map_err(|error| self.told(&error))
    }

    /// As one commit: a file has its form or nothing at all.
    async fn make(&self) -> Result<(), ExpertiseError> {
        match self.form().await? {
            0 => {}
            FORM => return Ok(()),
            found => return Err(self.newer(found)),
        }
        let mut connection = self.lock().await;
        let mut whole = connection.begin_with("BEGIN IMMEDIATE").await.map_err(|error| self.told(&error))?;
        // Another process may have made it while this one waited for the lock.
        let form: i64 = sqlx::query_scalar("PRAGMA user_version")
            .fetch_one(&mut *whole)
            .await
            .map_err(|error| self.told(&error))?;
        if form == 0 {
            sqlx::raw_sql(TABLES).execute(&mut *whole).await.map_err(|error| self.told(&error))?;
        }
        whole.commit().await.map_err(|error| self.told(&error))
    }

    /// Whether this is the project's own database; a new one becomes it.
    async fn is_of(&self, project: &Project) -> Result<bool, ExpertiseError> {
        let key = project.key.display().to_string();
        match self.note("project").await? {
            Some(known) => Ok(known == key),
            None => self.set_note("project", Some(&key)).await.map(|()| true),
        }
    }

    pub(super) async fn lock(&self) -> MutexGuard<'_, SqliteConnection> {
        self.connection.lock().await
    }

    pub(super) fn told(&self, error: &sqlx::Error) -> ExpertiseError {
        told(&self.path, error)
    }

    fn newer(&self, found: i64) -> ExpertiseError {
        ExpertiseError::Newer { place: self.path.display().to_string(), found, known: FORM }
    }

    pub(super) fn damaged(&self, why: &str) -> ExpertiseError {
        ExpertiseError::Damaged { place: self.path.display().to_string(), why: why.to_owned() }
    }

    pub(super) async fn note(&self, key: &str) -> Result<Option<String>, ExpertiseError> {
        let mut connection = self.lock().await;
        let value = sqlx::query_scalar("SELECT value FROM notes WHERE key = ?").bind(key);
        value.fetch_optional(&mut *connection).await.map_err(|error| self.told(&error))
    }

    pub(super) async fn set_note(&self, key: &str, value: Option<&str>) -> Result<(), ExpertiseError> {
        let mut connection = self.lock().await;
        let done = match value {
            Some(value) => {
                let set = "INSERT INTO notes (key, value) VALUES (?, ?) \
                           ON CONFLICT (key) DO UPDATE SET value = excluded.value";
                sqlx::query(set).bind(key).bind(value).execute(&mut *connection).await
            }
            None => sqlx::query("DELETE FROM notes WHERE key = ?").bind(key).execute(&mut *connection).await,
        };
        done.map(drop).map_err(|error| self.told(&error))
    }

    /// Every item, retired ones too, in the order of their names.
    pub async fn all(&self) -> Result<Vec<Candidate>, ExpertiseError> {
        let query = format!("SELECT {COLUMNS} FROM items ORDER BY id");
        let mut connection = self.lock().await;
        let rows = sqlx::query(sqlx::AssertSqlSafe(query)).fetch_all(&mut *connection).await;
        rows.map_err(|error| self.told(&error))?.iter().map(|row| self.candidate(row)).collect()
    }

    pub async fn get(&self, id: &ItemId) -> Result<Option<Candidate>, ExpertiseError> {
        let query = format!("SELECT {COLUMNS} FROM items WHERE id = ?");
        let mut connection = self.lock().await;
        let row = sqlx::query(sqlx::AssertSqlSafe(query)).bind(id.as_str());
        let row = row.fetch_optional(&mut *connection).await.map_err(|error| self.told(&error))?;
        row.map(|row| self.candidate(&row)).transpose()
    }

    /// The item of this name, or the only one whose name begins so.
    pub async fn find(&self, name: &str) -> Result<Candidate, ExpertiseError> {
        let unknown = || ExpertiseError::NoItem(name.to_owned());
        if let Some(id) = ItemId::parse(name) {
            return self.get(&id).await?.ok_or_else(unknown);
        }
        let mut all = self.all().await?;
        all.retain(|one| name.len() >= 4 && one.item.id.as_str().starts_with(name));
        match (all.pop(), all.is_empty()) {
            (Some(only), true) => Ok(only),
            _ => Err(unknown()),
        }
    }

    pub(super) fn candidate(&self, row: &SqliteRow) -> Result<Candidate, ExpertiseError> {
        let body: &str = row.try_get(0).map_err(|error| self.told(&error))?;
        let item: Item = serde_json::from_str(body).map_err(|error| self.damaged(&error.to_string()))?;
        let number = |place: usize| row.try_get::<u32, _>(place).map_err(|error| self.told(&error));
        let last_used: Option<i64> = row.try_get(7).map_err(|error| self.told(&error))?;
        let tally = Tally {
            used: number(1)?,
            helpful: number(2)?,
            harmful: number(3)?,
            withheld: number(4)?,
            withheld_good: number(5)?,
            learned: Timestamp(row.try_get(6).map_err(|error| self.told(&error))?),
            last_used: last_used.map(Timestamp),
        };
        Ok(Candidate { item, tally })
    }

    /// Tasks with items against tasks without, since items were last given again. It is asked after every task, so it is
    /// counted where the rows are.
    pub async fn comparison(&self) -> Result<Comparison, ExpertiseError> {
        let since: i64 = self.note("resumed").await?.and_then(|at| at.parse().ok()).unwrap_or(i64::MIN);
        let mut connection = self.lock().await;
        let query = "SELECT with_items, count(*), sum(landed), sum(first_go), \
                       count(cost), total(cost), total(cost * cost), total(time), total(time * time) \
                     FROM outcomes WHERE with_items IS NOT NULL AND at >= ? GROUP BY with_items";
        let rows = sqlx::query(query).bind(since).fetch_all(&mut *connection).await;
        let (mut with, mut without) = (Arm::default(), Arm::default());
        for row in rows.map_err(|error| self.told(&error))? {
            let (is_with, arm) = arm(&row).map_err(|error| self.told(&error))?;
            *(if is_with { &mut with } else { &mut without }) = arm;
        }
        Ok(compare_arms(with, without))
    }

    /// What came of the tasks that items were chosen for, one by one.
    #[cfg(test)]
    pub(super) async fn observations(&self) -> Result<Vec<Observation>, ExpertiseError> {
        let since: i64 = self.note("resumed").await?.and_then(|at| at.parse().ok()).unwrap_or(i64::MIN);
        let mut connection = self.lock().await;
        let query = "SELECT with_items, landed, first_go, cost, time FROM outcomes \
                     WHERE with_items IS NOT NULL AND at >= ? ORDER BY at, run, task";
        let rows = sqlx::query(query).bind(since).fetch_all(&mut *connection).await;
        let read = |row: &SqliteRow| {
            Ok(Observation {
                with: row.try_get(0)?,
                landed: row.try_get(1)?,
                first_go: row.try_get(2)?,
                cost: row.try_get(3)?,
                time: row.try_get(4)?,
            })
        };
        let rows = rows.map_err(|error| self.told(&error))?;
        rows.iter().map(read).collect::<Result<_, sqlx::Error>>().map_err(|error| self.told(&error))
    }

    pub async fn paused(&self) -> Result<Option<Paused>, ExpertiseError> {
        let note = self.note("paused").await?;
        Ok(note.and_then(|note| serde_json::from_str(&note).ok()))
    }

    pub(super) async fn pause(&self, by: Measure, now: Timestamp) -> Result<Paused, ExpertiseError> {
        let paused = Paused { since: now.0, by: by.into() };
        let note = serde_json::to_string(&paused).unwrap_or_default();
        self.set_note("paused", Some(&note)).await.map(|()| paused)
    }

    /// Items are given again, and measured anew.
    pub async fn resume(&self, now: Timestamp) -> Result<(), ExpertiseError> {
        self.set_note("paused", None).await?;
        self.set_note("resumed", Some(&now.0.to_string())).await
    }
}

fn arm(row: &SqliteRow) -> sqlx::Result<(bool, Arm)> {
    let tasks = row.try_get(1)?;
    let cost = Spread::new(row.try_get(4)?, row.try_get(5)?, row.try_get(6)?);
    let time = Spread::new(tasks, row.try_get(7)?, row.try_get(8)?);
    Ok((row.try_get(0)?, Arm { tasks, landed: row.try_get(2)?, first_go: row.try_get(3)?, cost, time }))
}

pub(super) fn failed(path: &Path, why: &str) -> ExpertiseError {
    ExpertiseError::Failed { place: path.display().to_string(), why: why.to_owned() }
}

pub(super) fn told(path: &Path, error: &sqlx::Error) -> ExpertiseError {
    let place = path.display().to_string();
    let code = match error {
        sqlx::Error::Database(error) => error.code().and_then(|code| code.parse::<u32>().ok()),
        _ => None,
    };
    match code.map(|code| code & 0xff) {
        Some(5 | 6) => ExpertiseError::Busy { place },
        Some(11 | 26) => ExpertiseError::Damaged { place, why: error.to_string() },
        _ => ExpertiseError::Failed { place, why: error.to_string() },
    }
}
