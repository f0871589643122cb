//! Every version of an item, byte by byte, and the way back to any of them.

use conductor_core::expertise::{Candidate, Draft, Evidence, Item, ItemId, Lesson, Merged, merge};
use conductor_core::values::units::Timestamp;
use serde::Serialize;
use sqlx::sqlite::SqliteConnection;
use sqlx::{Connection as _, Row as _};

use super::error::ExpertiseError;
use super::store::Expertise;
use crate::host::redact;

/// Who made a version.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Author {
    Run,
    User,
    File,
    /// A model that read a transcript.
    Model,
    /// Another machine of the user's.
    Machine,
}

impl Author {
    pub fn name(self) -> &'static str {
        match self {
            Author::Run => "run",
            Author::User => "user",
            Author::File => "file",
            Author::Model => "model",
            Author::Machine => "machine",
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Version {
    pub version: u32,
    pub at_ms: i64,
    pub author: String,
    pub why: String,
    /// As it was written.
    pub body: String,
}

impl Expertise {
    /// Writes an item as its next version; where nothing differs, there is none.
    pub async fn put(
        &self,
        item: &Item,
        author: Author,
        why: &str,
        now: Timestamp,
    ) -> Result<(), ExpertiseError> {
        check(item)?;
        let body = serde_json::to_string(item).map_err(|error| self.damaged(&error.to_string()))?;
        let mut connection = self.lock().await;
        let mut whole = connection.begin_with("BEGIN IMMEDIATE").await.map_err(|error| self.told(&error))?;
        put_in(&mut whole, item, &body, (author, why, now)).await.map_err(|error| self.told(&error))?;
        whole.commit().await.map_err(|error| self.told(&error))
    }

    /// As `put`, for items of a person's: all of them, or none.
    pub async fn put_many(&self, items: &[Item]) -> Result<(), ExpertiseError> {
        items.iter().try_for_each(check)?;
        let mut connection = self.lock().await;
        let mut whole = connection.begin_with("BEGIN IMMEDIATE").await.map_err(|error| self.told(&error))?;
        for item in items {
            let body = serde_json::to_string(item).map_err(|error| self.damaged(&error.to_string()))?;
            let by = (Author::User, "imported", crate::host::clock::wall());
            put_in(&mut whole, item, &body, by).await.map_err(|error| self.told(&error))?;
        }
        whole.commit().await.map_err(|error| self.told(&error))
    }

    /// Takes in what a model made of a transcript. The items that are new or borne out once more.
    pub async fn take_lessons(
        &self,
        lessons: Vec<Lesson>,
        evidence: &Evidence,
        now: Timestamp,
    ) -> Result<Vec<ItemId>, ExpertiseError> {
        let mut taken = Vec::new();
        for lesson in lessons {
            let known = self.get(&lesson.id()).await?.map(|known| known.item);
            let evidence = Evidence { quote: lesson.quote.clone(), ..evidence.clone() };
            let (item, why) = match merge(known, lesson, evidence) {
                Merged::New(item) => (item, "read in a transcript"),
                Merged::Borne(item) => (item, "read once more"),
                Merged::Known | Merged::Unwanted => continue,
            };
            self.put(&item, Author::Model, why, now).await?;
            taken.push(item.id);
        }
        Ok(taken)
    }

    pub async fn versions(&self, item: &ItemId) -> Result<Vec<Version>, ExpertiseError> {
        let mut connection = self.lock().await;
        let query = "SELECT version, at, author, why, body FROM versions WHERE item = ? ORDER BY version";
        let rows = sqlx::query(query).bind(item.as_str()).fetch_all(&mut *connection).await;
        let read = |row: &sqlx::sqlite::SqliteRow| {
            Ok(Version {
                version: row.try_get(0)?,
                at_ms: row.try_get(1)?,
                author: row.try_get(2)?,
                why: row.try_get(3)?,
                body: row.try_get(4)?,
            })
        };
        let rows = rows.map_err(|error| self.told(&error))?;
        rows.iter().map(read).collect::<Result<_, sqlx::Error>>().map_err(|error| self.told(&error))
    }

    /// Makes an item what it was in this version, byte by byte; that is its newest version then.
    pub async fn roll_back(
        &self,
        item: &ItemId,
        version: u32,
        now: Timestamp,
    ) -> Result<Candidate, ExpertiseError> {
        let versions = self.versions(item).await?;
        let there = versions.into_iter().find(|one| one.version == version);
        let there = there.ok_or(ExpertiseError::NoVersion { item: item.clone(), version })?;
        let back: Item =
            serde_json::from_str(&there.body).map_err(|error| self.damaged(&error.to_string()))?;
        let why = format!("back to version {version}");
        {
            let mut connection = self.lock().await;
            let mut whole =
                connection.begin_with("BEGIN IMMEDIATE").await.map_err(|error| self.told(&error))?;
            put_in(&mut whole, &back, &there.body, (Author::User, &why, now))
                .await
                .map_err(|error| self.told(&error))?;
            whole.commit().await.map_err(|error| self.told(&error))?;
        }
        self.get(item).await?.ok_or_else(|| ExpertiseError::NoItem(item.to_string()))
    }
}

/// What is no item, or holds a secret, is not written.
pub(super) fn check(item: &Item) -> Result<(), ExpertiseError> {
    let Draft { claim, domain, scope, check, .. } = &item.draft;
    item.draft.check()?;
    let redactor = redact::known();
    let has_secret = |text: &str| matches!(redactor.text(text), std::borrow::Cow::Owned(_));
    let fields = [("claim", vec![claim]), ("domain", vec![domain]), ("scope", scope.iter().collect())];
    let fields = fields.into_iter().chain([("check", check.iter().collect())]);
    for (name, texts) in fields {
        if texts.into_iter().any(|text| has_secret(text)) {
            return Err(ExpertiseError::Secret(name));
        }
    }
    Ok(())
}

/// Within a transaction of the caller's.
pub(super) async fn put_in(
    connection: &mut SqliteConnection,
    item: &Item,
    body: &str,
    (author, why, now): (Author, &str, Timestamp),
) -> sqlx::Result<()> {
    let id = item.id.as_str();
    let known = sqlx::query("SELECT place, version, body FROM items WHERE id = ?").bind(id);
    let known = known.fetch_optional(&mut *connection).await?;
    let version: u32 = match &known {
        Some(row) if row.try_get::<&str, _>(2)? == body => return Ok(()),
        Some(row) => row.try_get::<u32, _>(1)? + 1,
        None => 1,
    };
    let worth = f64::from(item.seen);
    let place: i64 = match known {
        Some(row) => {
            let place: i64 = row.try_get(0)?;
            sqlx::query("UPDATE items SET version = ?, body = ?, is_told = ? WHERE place = ?")
                .bind(version)
                .bind(body)
                .bind(item.is_told())
                .bind(place)
                .execute(&mut *connection)
                .await?;
            sqlx::query("DELETE FROM scopes WHERE place = ?").bind(place).execute(&mut *connection).await?;
            sqlx::query("DELETE FROM words WHERE rowid = ?").bind(place).execute(&mut *connection).await?;
            place
        }
        None => {
            let insert =
                "INSERT INTO items (id, version, body, is_told, worth, learned) VALUES (?, ?, ?, ?, ?, ?)";
            let done = sqlx::query(insert).bind(id).bind(version).bind(body).bind(item.is_told()).bind(worth);
            done.bind(now.0).execute(&mut *connection).await?.last_insert_rowid()
        }
    };
    sqlx::query("INSERT INTO versions (item, version, at, author, why, body) VALUES (?, ?, ?, ?, ?, ?)")
        .bind(id)
        .bind(version)
        .bind(now.0)
        .bind(author.name())
        .bind(why)
        .bind(body)
        .execute(&mut *connection)
        .await?;
    // What is not given is not looked for.
    if item.is_told() {
        for start in super::selecting::starts(&item.draft.scope) {
            sqlx::query("INSERT OR IGNORE INTO scopes (start, worth, place) VALUES (?, ?, ?)")
                .bind(start)
                .bind(-worth)
                .bind(place)
                .execute(&mut *connection)
                .await?;
        }
        sqlx::query("INSERT INTO words (rowid, claim) VALUES (?, ?)")
            .bind(place)
            .bind(&item.draft.claim)
            .execute(&mut *connection)
            .await?;
    }
    Ok(())
}
