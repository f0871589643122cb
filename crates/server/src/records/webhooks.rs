//! Webhooks: addresses outside that are told what happens in a project's runs. The secret that signs what is sent is kept
//! as it is, for a hash could not sign.

use std::fmt;

use conductor_core::values::suggest::did_you_mean;
use conductor_engine::records::flat::timestamp;
use serde_json::{Value, json};
use sqlx::Row as _;
use sqlx::sqlite::SqliteRow;
use thiserror::Error;

use super::{ProjectError, Records, now};
use crate::access::secrets;
use crate::access::targets::{Target, TargetError};
use crate::live::{NAMES, OCCASIONS};

/// Of one project: each is a connection of its own where something happens.
const MOST: i64 = 50;

/// What is shorter could be guessed.
const SHORTEST_SECRET: usize = 24;
const LONGEST_SECRET: usize = 200;

/// Everything is asked for.
const ALL: &str = "*";

/// What signs. It is shown to nothing that prints.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Secret(String);

impl Secret {
    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(…)")
    }
}

#[derive(Debug, Clone)]
pub struct Webhook {
    pub id: String,
    pub project: String,
    pub url: String,
    pub events: Vec<String>,
    pub description: String,
    pub enabled: bool,
    /// Milliseconds since 1970.
    pub created: i64,
    /// What happened before is not told.
    pub(crate) since: i64,
    /// The receiver was not there: nothing is sent before.
    pub(crate) not_before: i64,
    pub(crate) secret: Secret,
}

#[derive(Debug)]
pub struct NewWebhook<'a> {
    pub project: &'a str,
    pub url: &'a str,
    /// None at all means all of them.
    pub events: &'a [&'a str],
    pub description: &'a str,
    pub enabled: bool,
    /// Made by us where it is not given.
    pub secret: Option<&'a str>,
    /// Whether other machines may be told without TLS.
    pub plain_http: bool,
}

/// What is to be different about a webhook.
#[derive(Debug, Default)]
pub(crate) struct Change<'a> {
    pub(crate) url: Option<&'a str>,
    pub(crate) events: Option<&'a [&'a str]>,
    pub(crate) description: Option<&'a str>,
    pub(crate) enabled: Option<bool>,
    pub(crate) plain_http: bool,
}

#[derive(Debug, Error)]
pub enum WebhookError {
    #[error("'url' {0}")]
    Target(#[from] TargetError),
    #[error("there is no event '{name}'")]
    UnknownEvent { name: String, meant: Option<&'static str> },
    #[error("'events' has to name an event, or * for all of them")]
    NoEvents,
    #[error("'secret' has to be {SHORTEST_SECRET} to {LONGEST_SECRET} visible characters without spaces")]
    WrongSecret,
    #[error("a project has at most {MOST} webhooks; remove one")]
    TooMany,
    #[error("there is no webhook '{0}' in this project")]
    Unknown(String),
    #[error(transparent)]
    Project(#[from] ProjectError),
    #[error(transparent)]
    Failed(#[from] sqlx::Error),
}

impl Webhook {
    pub(super) fn of_row(row: &SqliteRow) -> Webhook {
        Webhook {
            id: row.get("id"),
            project: row.get("project"),
            url: row.get("url"),
            events: serde_json::from_str(row.get("events")).unwrap_or_default(),
            description: row.get("description"),
            enabled: row.get::<i64, _>("enabled") != 0,
            created: row.get("created"),
            since: row.get("since"),
            not_before: row.get("not_before"),
            secret: Secret(row.get("secret")),
        }
    }

    /// For programs; without the secret.
    pub fn told(&self) -> Value {
        json!({ "id": self.id, "project": self.project, "url": self.url, "events": self.events,
            "description": self.description, "enabled": self.enabled, "created_at": timestamp(self.created) })
    }

    /// By which name it asked for an event, where it did: an occasion counts before the event's own name.
    pub(crate) fn asks_for<'a>(&self, name: &'a str, occasion: Option<&'a str>) -> Option<&'a str> {
        let listed = |name: &str| self.events.iter().any(|asked| asked == name);
        occasion.filter(|occasion| listed(occasion)).or_else(|| (listed(name) || listed(ALL)).then_some(name))
    }
}

fn checked_events(events: &[&str]) -> Result<String, WebhookError> {
    if events.is_empty() {
        return Err(WebhookError::NoEvents);
    }
    let known = || [ALL].into_iter().chain(OCCASIONS).chain(NAMES);
    let mut kept: Vec<&str> = Vec::new();
    for event in events {
        if !known().any(|name| name == *event) {
            let meant = did_you_mean(event, known());
            return Err(WebhookError::UnknownEvent { name: (*event).to_owned(), meant });
        }
        if !kept.contains(event) {
            kept.push(event);
        }
    }
    Ok(json!(kept).to_string())
}

/// The given one, or a new one.
fn secret(given: Option<&str>) -> Result<Secret, WebhookError> {
    let Some(given) = given else {
        return Ok(Secret(secrets::random("whsec_").map_err(sqlx::Error::Io)?));
    };
    let fits = (SHORTEST_SECRET..=LONGEST_SECRET).contains(&given.len());
    match fits && given.bytes().all(|byte| byte.is_ascii_graphic()) {
        true => Ok(Secret(given.to_owned())),
        false => Err(WebhookError::WrongSecret),
    }
}

impl Records {
    /// The secret is told this once.
    pub async fn add_webhook(&self, new: &NewWebhook<'_>) -> Result<(Webhook, String), WebhookError> {
        self.project(new.project).await?;
        Target::read(new.url, new.plain_http)?;
        let events = checked_events(if new.events.is_empty() { &[ALL] } else { new.events })?;
        let secret = secret(new.secret)?;
        let id = secrets::random("").map_err(sqlx::Error::Io)?[..12].to_owned();
        let now = now();
        let added = sqlx::query(
            "INSERT INTO webhooks (id, project, url, events, description, secret, enabled, created, since)
             SELECT ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?8 WHERE (SELECT count(*) FROM webhooks WHERE project = ?2) < ?9",
        )
        .bind(&id)
        .bind(new.project)
        .bind(new.url)
        .bind(events)
        .bind(new.description)
        .bind(secret.as_str())
        .bind(new.enabled)
        .bind(now)
        .bind(MOST)
        .execute(&self.pool)
        .await?;
        if added.rows_affected() == 0 {
            return Err(WebhookError::TooMany);
        }
        Ok((self.webhook(new.project, &id).await?, secret.0))
    }

    pub async fn webhooks(&self, project: &str) -> Result<Vec<Webhook>, WebhookError> {
        self.project(project).await?;
        let rows = sqlx::query("SELECT * FROM webhooks WHERE project = ? ORDER BY created, id")
            .bind(project)
            .fetch_all(&self.pool)
            .await?;
        Ok(rows.iter().map(Webhook::of_row).collect())
    }

    pub async fn webhook(&self, project: &str, id: &str) -> Result<Webhook, WebhookError> {
        let row = sqlx::query("SELECT * FROM webhooks WHERE project = ? AND id = ?")
            .bind(project)
            .bind(id)
            .fetch_optional(&self.pool)
            .await?;
        row.as_ref().map(Webhook::of_row).ok_or_else(|| WebhookError::Unknown(id.to_owned()))
    }

    /// Of all projects, those that are to be told.
    pub(crate) async fn enabled_webhooks(&self) -> Result<Vec<Webhook>, sqlx::Error> {
        let rows = sqlx::query("SELECT * FROM webhooks WHERE enabled = 1 ORDER BY project, id")
            .fetch_all(&self.pool)
            .await?;
        Ok(rows.iter().map(Webhook::of_row).collect())
    }

    /// One that is enabled again is told what happens from now on. What waits is tried at once: the change may be what it
    /// waited for.
    pub(crate) async fn change_webhook(
        &self,
        project: &str,
        id: &str,
        change: &Change<'_>,
    ) -> Result<Webhook, WebhookError> {
        let known = self.webhook(project, id).await?;
        if let Some(url) = change.url {
            Target::read(url, change.plain_http)?;
        }
        let events = change.events.map(checked_events).transpose()?;
        let is_back = change.enabled == Some(true) && !known.enabled;
        let now = now();
        let mut all = self.pool.begin_with("BEGIN IMMEDIATE").await?;
        sqlx::query(
            "UPDATE webhooks SET url = coalesce(?, url), events = coalesce(?, events), \
             description = coalesce(?, description), enabled = coalesce(?, enabled), since = coalesce(?, since) WHERE id = ?",
        )
        .bind(change.url)
        .bind(events)
        .bind(change.description)
        .bind(change.enabled)
        .bind(is_back.then_some(now))
        .bind(id)
        .execute(&mut *all)
        .await?;
        if change.url.is_some() || is_back {
            sqlx::query("UPDATE webhooks SET not_before = 0 WHERE id = ?")
                .bind(id)
                .execute(&mut *all)
                .await?;
            sqlx::query(
                "UPDATE webhook_deliveries SET due = min(due, ?) WHERE webhook = ? AND state = 'waiting'",
            )
            .bind(now)
            .bind(id)
            .execute(&mut *all)
            .await?;
        }
        all.commit().await?;
        self.webhook(project, id).await
    }

    /// With what waits for it and what was sent.
    pub async fn remove_webhook(&self, project: &str, id: &str) -> Result<(), WebhookError> {
        let removed = sqlx::query("DELETE FROM webhooks WHERE project = ? AND id = ?")
            .bind(project)
            .bind(id)
            .execute(&self.pool)
            .await?;
        match removed.rows_affected() {
            0 => Err(WebhookError::Unknown(id.to_owned())),
            _ => Ok(()),
        }
    }

    /// What is sent from now on is signed with the new secret, which is told this once.
    pub(crate) async fn rotate_webhook(
        &self,
        project: &str,
        id: &str,
        given: Option<&str>,
    ) -> Result<String, WebhookError> {
        let secret = secret(given)?;
        let rotated = sqlx::query("UPDATE webhooks SET secret = ? WHERE project = ? AND id = ?")
            .bind(secret.as_str())
            .bind(project)
            .bind(id)
            .execute(&self.pool)
            .await?;
        match rotated.rows_affected() {
            0 => Err(WebhookError::Unknown(id.to_owned())),
            _ => Ok(secret.0),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_are_known_names() {
        assert_eq!(
            checked_events(&["task_failed", "needs_you", "task_failed"]).unwrap(),
            r#"["task_failed","needs_you"]"#
        );
        assert!(matches!(checked_events(&[]), Err(WebhookError::NoEvents)));
        let Err(WebhookError::UnknownEvent { name, meant }) = checked_events(&["*", "task_faild"]) else {
            panic!("it is not known")
        };
        assert_eq!((name.as_str(), meant), ("task_faild", Some("task_failed")));
    }

    #[test]
    fn an_occasion_counts_before_the_events_own_name() {
        let of = |events: &[&str]| Webhook {
            id: "w".into(),
            project: "web".into(),
            url: String::new(),
            events: events.iter().map(|name| (*name).to_owned()).collect(),
            description: String::new(),
            enabled: true,
            created: 0,
            since: 0,
            not_before: 0,
            secret: Secret(String::new()),
        };
        let end = |events: &[&str]| of(events).asks_for("parallel_complete", Some("run_finished"));
        assert_eq!(end(&["run_finished"]), Some("run_finished"));
        assert_eq!(end(&["*", "run_finished"]), Some("run_finished"));
        assert_eq!(end(&["*"]), Some("parallel_complete"));
        assert_eq!(end(&["parallel_complete"]), Some("parallel_complete"));
        assert_eq!(end(&["task_failed"]), None);
    }

    #[test]
    fn a_secret_is_long_and_never_printed() {
        let made = secret(None).unwrap();
        assert!(made.as_str().starts_with("whsec_") && made.as_str().len() > 60);
        assert_eq!(format!("{made:?}"), "Secret(…)");
        assert!(secret(Some("0123456789abcdef01234567")).is_ok());
        for wrong in ["0123456789abcdef0123456", "0123456789abcdef 1234567", "0123456789abcdef01234567ä"] {
            assert!(matches!(secret(Some(wrong)), Err(WebhookError::WrongSecret)), "{wrong}");
        }
    }
}
