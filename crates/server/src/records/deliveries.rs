//! What webhooks are to be sent, what was sent, and what could not be. An event is put here before it is sent, together
//! with how far its run was looked at, so that a server that is killed loses none and finds none twice.

use conductor_engine::records::flat::timestamp;
use serde_json::{Value, json};
use sqlx::Row as _;
use sqlx::sqlite::SqliteRow;

use super::webhooks::Webhook;
use super::{Records, WebhookError, now};

/// Of each webhook so many that arrived, and so many that never did, are remembered, for so long.
const KEPT: i64 = 1_000;
const KEPT_FOR: i64 = 30 * 24 * 60 * 60 * 1_000;

/// So many may wait for one webhook; the oldest are given up.
const MOST_WAITING: i64 = 10_000;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
    /// Not sent yet, or to be sent again.
    Waiting,
    Delivered,
    /// Given up; it can be retried by hand.
    Dead,
}

impl State {
    pub const NAMES: [&'static str; 3] = ["waiting", "delivered", "dead"];

    pub fn name(self) -> &'static str {
        State::NAMES[self as usize]
    }

    fn named(name: &str) -> State {
        match name {
            "delivered" => State::Delivered,
            "dead" => State::Dead,
            _ => State::Waiting,
        }
    }
}

#[derive(Debug, Clone)]
pub struct Delivery {
    /// In the order in which they are sent.
    pub number: i64,
    pub id: String,
    pub event: String,
    pub run: Option<String>,
    pub seq: Option<i64>,
    pub state: State,
    pub attempts: u32,
    pub created: i64,
    /// When it is tried next, while it waits.
    pub due: i64,
    pub ended: Option<i64>,
    /// How the receiver answered last, and what it said.
    pub status: Option<u16>,
    pub answer: Option<String>,
    pub error: Option<String>,
    pub(crate) body: String,
    pub(crate) queued: i64,
}

#[derive(Debug)]
pub(crate) struct NewDelivery {
    pub(crate) id: String,
    pub(crate) webhook: String,
    pub(crate) event: String,
    pub(crate) run: String,
    pub(crate) seq: u64,
    pub(crate) body: String,
}

/// What came of one attempt.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Attempted {
    pub(crate) status: Option<u16>,
    pub(crate) answer: Option<String>,
    pub(crate) error: Option<String>,
}

/// What follows from it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Verdict {
    Delivered,
    /// Tried again then; the webhook's others wait with it where the receiver is not there.
    Again {
        at: i64,
        holds: bool,
    },
    Dead,
}

impl Verdict {
    fn result(self) -> &'static str {
        match self {
            Verdict::Delivered => "delivered",
            Verdict::Again { .. } => "retried",
            Verdict::Dead => "dead",
        }
    }
}

impl Delivery {
    /// For programs; without what was sent.
    pub fn told(&self) -> Value {
        let next = (self.state == State::Waiting).then(|| timestamp(self.due));
        json!({ "id": self.id, "event": self.event, "run": self.run, "seq": self.seq, "state": self.state.name(),
            "attempts": self.attempts, "status_code": self.status, "error": self.error, "answer": self.answer,
            "created_at": timestamp(self.created), "next_attempt_at": next, "ended_at": self.ended.map(timestamp) })
    }

    fn of_row(row: &SqliteRow) -> Delivery {
        Delivery {
            number: row.get("number"),
            id: row.get("id"),
            event: row.get("event"),
            run: row.get("run"),
            seq: row.get("seq"),
            state: State::named(row.get("state")),
            attempts: row.get::<i64, _>("attempts") as u32,
            created: row.get("created"),
            due: row.get("due"),
            ended: row.get("ended"),
            status: row.get::<Option<i64>, _>("status").map(|status| status as u16),
            answer: row.get("answer"),
            error: row.get("error"),
            body: row.get("body"),
            queued: row.get("queued"),
        }
    }
}

impl Records {
    /// How far each webhook has been told of a run.
    pub(crate) async fn positions(&self, run: &str) -> Result<Vec<(String, u64)>, sqlx::Error> {
        let rows = sqlx::query("SELECT webhook, seq FROM webhook_positions WHERE run = ?")
            .bind(run)
            .fetch_all(&self.pool)
            .await?;
        Ok(rows.iter().map(|row| (row.get("webhook"), row.get::<i64, _>("seq") as u64)).collect())
    }

    /// All of it or nothing: deliveries, and how far these webhooks have been told of the run now.
    pub(crate) async fn queue(
        &self,
        run: &str,
        seq: u64,
        webhooks: &[&str],
        deliveries: &[NewDelivery],
    ) -> Result<(), sqlx::Error> {
        let now = now();
        let mut all = self.pool.begin_with("BEGIN IMMEDIATE").await?;
        for new in deliveries {
            sqlx::query(
                "INSERT INTO webhook_deliveries (id, webhook, event, run, seq, body, state, created, queued, due) \
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6, 'waiting', ?7, ?7, ?7) ON CONFLICT DO NOTHING",
            )
            .bind(&new.id)
            .bind(&new.webhook)
            .bind(&new.event)
            .bind(&new.run)
            .bind(new.seq as i64)
            .bind(&new.body)
            .bind(now)
            .execute(&mut *all)
            .await?;
        }
        for webhook in webhooks {
            sqlx::query("INSERT INTO webhook_positions (webhook, run, seq) VALUES (?, ?, ?) ON CONFLICT DO UPDATE SET seq = max(seq, excluded.seq)")
                .bind(webhook).bind(run).bind(seq as i64).execute(&mut *all).await?;
        }
        all.commit().await
    }

    /// The webhooks for which something is to be sent now.
    pub(crate) async fn webhooks_due(&self) -> Result<Vec<String>, sqlx::Error> {
        let rows = sqlx::query(
            "SELECT id FROM webhooks WHERE enabled = 1 AND not_before <= ?1 AND EXISTS (SELECT 1 FROM webhook_deliveries \
             WHERE webhook = webhooks.id AND state = 'waiting' AND due <= ?1)",
        )
        .bind(now())
        .fetch_all(&self.pool)
        .await?;
        Ok(rows.iter().map(|row| row.get("id")).collect())
    }

    /// What a webhook is sent next, where that is due.
    pub(crate) async fn next_delivery(
        &self,
        webhook: &str,
    ) -> Result<Option<(Webhook, Delivery)>, sqlx::Error> {
        let now = now();
        let of = sqlx::query("SELECT * FROM webhooks WHERE id = ? AND enabled = 1 AND not_before <= ?")
            .bind(webhook)
            .bind(now)
            .fetch_optional(&self.pool)
            .await?;
        let Some(of) = of else { return Ok(None) };
        let next = sqlx::query(
            "SELECT * FROM webhook_deliveries WHERE webhook = ? AND state = 'waiting' AND due <= ? ORDER BY number LIMIT 1",
        )
        .bind(webhook)
        .bind(now)
        .fetch_optional(&self.pool)
        .await?;
        Ok(next.map(|next| (Webhook::of_row(&of), Delivery::of_row(&next))))
    }

    pub(crate) async fn note_attempt(
        &self,
        webhook: &str,
        delivery: &str,
        attempted: &Attempted,
        verdict: Verdict,
    ) -> Result<(), sqlx::Error> {
        let (state, due, ended) = match verdict {
            Verdict::Delivered => (State::Delivered, None, Some(now())),
            Verdict::Again { at, .. } => (State::Waiting, Some(at), None),
            Verdict::Dead => (State::Dead, None, Some(now())),
        };
        let mut all = self.pool.begin_with("BEGIN IMMEDIATE").await?;
        sqlx::query(
            "UPDATE webhook_deliveries SET state = ?, attempts = attempts + 1, due = coalesce(?, due), ended = ?, \
             status = ?, answer = ?, error = ? WHERE id = ?",
        )
        .bind(state.name())
        .bind(due)
        .bind(ended)
        .bind(attempted.status.map(i64::from))
        .bind(&attempted.answer)
        .bind(&attempted.error)
        .bind(delivery)
        .execute(&mut *all)
        .await?;
        if let Verdict::Again { at, holds: true } = verdict {
            sqlx::query("UPDATE webhooks SET not_before = ? WHERE id = ?")
                .bind(at)
                .bind(webhook)
                .execute(&mut *all)
                .await?;
        }
        sqlx::query("INSERT INTO webhook_counts (result, count) VALUES (?, 1) ON CONFLICT DO UPDATE SET count = count + 1")
            .bind(verdict.result()).execute(&mut *all).await?;
        all.commit().await
    }

    /// One that was sent at once and is not tried again.
    pub(crate) async fn note_ping(
        &self,
        webhook: &Webhook,
        id: &str,
        body: &str,
        attempted: &Attempted,
        verdict: Verdict,
    ) -> Result<(), sqlx::Error> {
        let now = now();
        sqlx::query(
            "INSERT INTO webhook_deliveries (id, webhook, event, body, state, created, queued, due) \
             VALUES (?1, ?2, 'ping', ?3, 'delivered', ?4, ?4, ?4)",
        )
        .bind(id)
        .bind(&webhook.id)
        .bind(body)
        .bind(now)
        .execute(&self.pool)
        .await?;
        self.note_attempt(&webhook.id, id, attempted, verdict).await
    }

    /// The newest first, before the one of this number.
    pub async fn deliveries(
        &self,
        webhook: &Webhook,
        state: Option<&str>,
        before: Option<i64>,
        most: u32,
    ) -> Result<Vec<Delivery>, sqlx::Error> {
        let rows = sqlx::query(
            "SELECT * FROM webhook_deliveries WHERE webhook = ?1 AND (?2 IS NULL OR state = ?2) \
             AND (?3 IS NULL OR number < ?3) ORDER BY number DESC LIMIT ?4",
        )
        .bind(&webhook.id)
        .bind(state)
        .bind(before)
        .bind(most)
        .fetch_all(&self.pool)
        .await?;
        let shown = |row: &SqliteRow| {
            let delivery = Delivery::of_row(row);
            Delivery { due: delivery.due.max(webhook.not_before), ..delivery }
        };
        Ok(rows.iter().map(shown).collect())
    }

    pub(crate) async fn delivery(
        &self,
        webhook: &Webhook,
        id: &str,
    ) -> Result<Option<Delivery>, sqlx::Error> {
        let row = sqlx::query("SELECT * FROM webhook_deliveries WHERE webhook = ? AND id = ?")
            .bind(&webhook.id)
            .bind(id)
            .fetch_optional(&self.pool)
            .await?;
        Ok(row.as_ref().map(Delivery::of_row))
    }

    /// A dead one waits again, with all its attempts before it, and is tried now. Whether there was one.
    pub(crate) async fn retry_delivery(&self, webhook: &Webhook, id: &str) -> Result<bool, WebhookError> {
        let now = now();
        let mut all = self.pool.begin_with("BEGIN IMMEDIATE").await?;
        let retried = sqlx::query(
            "UPDATE webhook_deliveries SET state = 'waiting', attempts = 0, queued = ?1, due = ?1, ended = NULL \
             WHERE webhook = ?2 AND id = ?3 AND state = 'dead'",
        )
        .bind(now)
        .bind(&webhook.id)
        .bind(id)
        .execute(&mut *all)
        .await?;
        let was_dead = retried.rows_affected() > 0;
        if was_dead {
            sqlx::query("UPDATE webhooks SET not_before = 0 WHERE id = ?")
                .bind(&webhook.id)
                .execute(&mut *all)
                .await?;
        }
        all.commit().await?;
        Ok(was_dead)
    }

    /// Old deliveries go, by age and by number; where too many wait, the oldest are given up. So do positions in runs that
    /// are removed.
    pub(crate) async fn prune_deliveries(&self, runs: &[&str]) -> Result<(), sqlx::Error> {
        let now = now();
        let mut all = self.pool.begin_with("BEGIN IMMEDIATE").await?;
        let given_up = sqlx::query(
            "UPDATE webhook_deliveries SET state = 'dead', ended = ?1, error = 'too many deliveries were waiting' \
             WHERE number IN (SELECT number FROM (SELECT number, row_number() OVER (PARTITION BY webhook ORDER BY number \
             DESC) AS place FROM webhook_deliveries WHERE state = 'waiting') WHERE place > ?2)",
        )
        .bind(now)
        .bind(MOST_WAITING)
        .execute(&mut *all)
        .await?;
        sqlx::query("INSERT INTO webhook_counts (result, count) VALUES ('dead', ?1) ON CONFLICT DO UPDATE SET count = count + ?1")
            .bind(given_up.rows_affected() as i64).execute(&mut *all).await?;
        sqlx::query(
            "DELETE FROM webhook_deliveries WHERE state <> 'waiting' AND (ended < ?1 OR number IN (SELECT number FROM \
             (SELECT number, row_number() OVER (PARTITION BY webhook, state ORDER BY number DESC) AS place \
             FROM webhook_deliveries WHERE state <> 'waiting') WHERE place > ?2))",
        )
        .bind(now - KEPT_FOR)
        .bind(KEPT)
        .execute(&mut *all)
        .await?;
        // Where no run can be seen, they are not all gone: more likely they cannot be read.
        if !runs.is_empty() {
            sqlx::query("DELETE FROM webhook_positions WHERE run NOT IN (SELECT value FROM json_each(?))")
                .bind(json!(runs).to_string())
                .execute(&mut *all)
                .await?;
        }
        all.commit().await
    }

    /// How many attempts ended in which way, and how many deliveries wait.
    pub(crate) async fn delivery_counts(&self) -> Result<(Vec<(String, u64)>, u64), sqlx::Error> {
        let rows = sqlx::query("SELECT result, count FROM webhook_counts ORDER BY result")
            .fetch_all(&self.pool)
            .await?;
        let counts = rows.iter().map(|row| (row.get("result"), row.get::<i64, _>("count") as u64)).collect();
        let waiting = sqlx::query("SELECT count(*) FROM webhook_deliveries WHERE state = 'waiting'")
            .fetch_one(&self.pool)
            .await?;
        Ok((counts, waiting.get::<i64, _>(0) as u64))
    }
}
