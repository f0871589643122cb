//! What a run's log says becomes part of the store: each event once, with how far the log was read.

use conductor_core::expertise::{
    Candidate, Evidence, Item, ItemId, Lesson, Merged, Retirement, Tally, Verdict, merge, verdict,
};
use conductor_core::run::event::Record;
use conductor_core::values::ids::{Attempt, RunId, TaskId};
use conductor_core::values::units::Timestamp;
use serde::Serialize;
use sqlx::sqlite::SqliteConnection;
use sqlx::{Connection as _, Row as _};

use super::course::{Course, Effect};
use super::error::ExpertiseError;
use super::store::{COLUMNS, Expertise};
use super::versions::{Author, check, put_in};

/// What came of a task of an agent.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Outcome {
    pub task: TaskId,
    pub at: Timestamp,
    /// Whether it was given items; nothing where none were chosen for it.
    pub with: Option<bool>,
    pub held_out: bool,
    pub landed: bool,
    pub first_go: bool,
    pub cost: Option<f64>,
    pub time: f64,
    pub domain: String,
    pub agent: String,
    pub model: Option<String>,
    pub estimate: Option<f64>,
    pub lines: Option<u64>,
}

/// Who is asked what came of it.
pub(super) struct Projected {
    /// Items that are to go, by what is counted of them now.
    pub(super) goes: Vec<(ItemId, Retirement)>,
    /// Whether there is a new outcome to compare.
    pub(super) settled: bool,
}

impl Expertise {
    /// How far a run's log was read.
    pub(super) async fn read_up_to(&self, run: &RunId) -> Result<u64, ExpertiseError> {
        let mut connection = self.lock().await;
        let seq = sqlx::query_scalar("SELECT seq FROM runs WHERE run = ?").bind(run.as_str());
        let seq: Option<i64> =
            seq.fetch_optional(&mut *connection).await.map_err(|error| self.told(&error))?;
        Ok(seq.and_then(|seq| u64::try_from(seq).ok()).unwrap_or(0))
    }

    /// Takes in records of a run. Those that were taken in before only bring the fold up to date.
    pub(super) async fn project(
        &self,
        run: &RunId,
        course: &mut Course,
        records: &[Record],
        read: &mut u64,
        unused_days: u32,
    ) -> Result<Projected, ExpertiseError> {
        let mut effects = Vec::new();
        for record in records {
            let effect = course.apply(record);
            if record.seq > *read {
                effects.extend(effect);
            }
        }
        let last = records.last().map_or(0, |record| record.seq);
        let mut projected = Projected { goes: Vec::new(), settled: false };
        if effects.is_empty() {
            *read = last.max(*read);
            return Ok(projected);
        }
        let mut connection = self.lock().await;
        let mut whole = connection.begin_with("BEGIN IMMEDIATE").await.map_err(|error| self.told(&error))?;
        for effect in effects {
            self.take_in(&mut whole, run, effect, unused_days, &mut projected).await?;
        }
        sqlx::query(
            "INSERT INTO runs (run, seq) VALUES (?, ?) ON CONFLICT (run) DO UPDATE SET seq = excluded.seq",
        )
        .bind(run.as_str())
        .bind(i64::try_from(last).unwrap_or(i64::MAX))
        .execute(&mut *whole)
        .await
        .map_err(|error| self.told(&error))?;
        whole.commit().await.map_err(|error| self.told(&error))?;
        *read = last.max(*read);
        Ok(projected)
    }

    async fn take_in(
        &self,
        connection: &mut SqliteConnection,
        run: &RunId,
        effect: Effect,
        unused_days: u32,
        projected: &mut Projected,
    ) -> Result<(), ExpertiseError> {
        match effect {
            Effect::Learn { task, attempt, seq, at, lessons } => {
                for lesson in lessons {
                    let from = (run, &task, attempt, seq);
                    match lesson.once_landed {
                        true => self.put_off(connection, from, &lesson).await?,
                        false => self.learn(connection, from, lesson, at).await?,
                    }
                }
            }
            Effect::Settle { outcome, given, withheld } => {
                self.land(connection, run, &outcome).await?;
                if !self.note_outcome(connection, run, &outcome).await? {
                    return Ok(());
                }
                projected.settled |= outcome.with.is_some();
                let compared = withheld.iter().filter(|_| !outcome.held_out).map(|item| (item, false));
                for (item, was_given) in given.iter().map(|item| (item, true)).chain(compared) {
                    let counted = self.count(connection, item, was_given, &outcome).await?;
                    let Some(Candidate { item, tally }) = counted else { continue };
                    if let Verdict::Goes(why) = verdict(&item, &tally, outcome.at, unused_days, None) {
                        projected.goes.push((item.id, why));
                    }
                }
            }
            Effect::Retire { item, why, at } => {
                if let Some(known) = self.get_in(connection, &item).await?
                    && known.item.retired.is_none()
                {
                    let words = why.to_string();
                    let retired = Item { retired: Some(why), ..known.item };
                    self.write(connection, &retired, &words, at).await?;
                }
            }
        }
        Ok(())
    }

    async fn put_off(
        &self,
        connection: &mut SqliteConnection,
        (run, task, attempt, seq): (&RunId, &TaskId, Attempt, u64),
        lesson: &Lesson,
    ) -> Result<(), ExpertiseError> {
        let text = serde_json::to_string(lesson).map_err(|error| self.damaged(&error.to_string()))?;
        sqlx::query("INSERT INTO pending (run, task, attempt, seq, lesson) VALUES (?, ?, ?, ?, ?)")
            .bind(run.as_str())
            .bind(task.as_str())
            .bind(attempt.0)
            .bind(i64::try_from(seq).unwrap_or(i64::MAX))
            .bind(text)
            .execute(connection)
            .await
            .map(drop)
            .map_err(|error| self.told(&error))
    }

    /// What counted only once its task landed counts now, or never.
    async fn land(
        &self,
        connection: &mut SqliteConnection,
        run: &RunId,
        outcome: &Outcome,
    ) -> Result<(), ExpertiseError> {
        let query = "DELETE FROM pending WHERE run = ? AND task = ? RETURNING attempt, seq, lesson";
        let rows = sqlx::query(query).bind(run.as_str()).bind(outcome.task.as_str());
        let rows = rows.fetch_all(&mut *connection).await.map_err(|error| self.told(&error))?;
        for row in rows.iter().filter(|_| outcome.landed) {
            let read = || -> sqlx::Result<(u32, i64, String)> {
                Ok((row.try_get(0)?, row.try_get(1)?, row.try_get(2)?))
            };
            let (attempt, seq, text) = read().map_err(|error| self.told(&error))?;
            let lesson: Lesson =
                serde_json::from_str(&text).map_err(|error| self.damaged(&error.to_string()))?;
            let from = (run, &outcome.task, Attempt(attempt), u64::try_from(seq).unwrap_or(0));
            self.learn(connection, from, lesson, outcome.at).await?;
        }
        Ok(())
    }

    async fn learn(
        &self,
        connection: &mut SqliteConnection,
        (run, task, attempt, event): (&RunId, &TaskId, Attempt, u64),
        lesson: Lesson,
        at: Timestamp,
    ) -> Result<(), ExpertiseError> {
        let known = self.get_in(connection, &lesson.id()).await?.map(|known| known.item);
        let (commit, quote) = (lesson.commit.clone(), lesson.quote.clone());
        let evidence = Evidence { run: run.clone(), task: task.clone(), attempt, commit, event, quote };
        match merge(known, lesson, evidence) {
            Merged::New(item) => self.write(connection, &item, "learned", at).await,
            Merged::Borne(item) => self.write(connection, &item, "borne out once more", at).await,
            Merged::Known | Merged::Unwanted => Ok(()),
        }
    }

    /// What is no item or holds a secret is left out: a log of another version may have such a thing.
    async fn write(
        &self,
        connection: &mut SqliteConnection,
        item: &Item,
        why: &str,
        at: Timestamp,
    ) -> Result<(), ExpertiseError> {
        if let Err(error) = check(item) {
            tracing::warn!(item = item.id.as_str(), %error, "it cannot be an item and is left out");
            return Ok(());
        }
        let body = serde_json::to_string(item).map_err(|error| self.damaged(&error.to_string()))?;
        put_in(connection, item, &body, (Author::Run, why, at)).await.map_err(|error| self.told(&error))
    }

    async fn get_in(
        &self,
        connection: &mut SqliteConnection,
        id: &ItemId,
    ) -> Result<Option<Candidate>, ExpertiseError> {
        let query = format!("SELECT {COLUMNS} FROM items WHERE id = ?");
        let row = sqlx::query(sqlx::AssertSqlSafe(query)).bind(id.as_str());
        let row = row.fetch_optional(connection).await.map_err(|error| self.told(&error))?;
        row.map(|row| self.candidate(&row)).transpose()
    }

    /// Whether it is the first time that this task came to an end.
    async fn note_outcome(
        &self,
        connection: &mut SqliteConnection,
        run: &RunId,
        outcome: &Outcome,
    ) -> Result<bool, ExpertiseError> {
        let insert = "INSERT OR IGNORE INTO outcomes \
            (run, task, at, with_items, landed, first_go, cost, time, domain, agent, model, estimate, lines) \
            VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)";
        let done = sqlx::query(insert)
            .bind(run.as_str())
            .bind(outcome.task.as_str())
            .bind(outcome.at.0)
            .bind(outcome.with)
            .bind(outcome.landed)
            .bind(outcome.first_go)
            .bind(outcome.cost)
            .bind(outcome.time)
            .bind(&outcome.domain)
            .bind(&outcome.agent)
            .bind(&outcome.model)
            .bind(outcome.estimate)
            .bind(outcome.lines.and_then(|lines| i64::try_from(lines).ok()))
            .execute(connection)
            .await;
        done.map(|done| done.rows_affected() > 0).map_err(|error| self.told(&error))
    }

    async fn count(
        &self,
        connection: &mut SqliteConnection,
        item: &ItemId,
        given: bool,
        outcome: &Outcome,
    ) -> Result<Option<Candidate>, ExpertiseError> {
        let Some(mut known) = self.get_in(connection, item).await? else { return Ok(None) };
        known.tally.count(given, outcome.first_go, outcome.at);
        let Tally { used, helpful, harmful, withheld, withheld_good, last_used, .. } = known.tally;
        sqlx::query(
            "UPDATE items SET used = ?, helpful = ?, harmful = ?, withheld = ?, withheld_good = ?, last_used = ? \
             WHERE id = ?",
        )
        .bind(used)
        .bind(helpful)
        .bind(harmful)
        .bind(withheld)
        .bind(withheld_good)
        .bind(last_used.map(|at| at.0))
        .bind(item.as_str())
        .execute(connection)
        .await
        .map_err(|error| self.told(&error))?;
        Ok(Some(known))
    }

    /// How agents and models did, by kind of task: how many, how many landed, and what they cost and took on average.
    pub async fn by_agent(&self) -> Result<Vec<ByAgent>, ExpertiseError> {
        let query = "SELECT agent, model, domain, count(*), sum(landed), sum(first_go), avg(cost), avg(time), \
                       avg(estimate), avg(lines) FROM outcomes \
                     GROUP BY agent, model, domain ORDER BY agent, model, domain";
        let mut connection = self.lock().await;
        let rows = sqlx::query(query).fetch_all(&mut *connection).await.map_err(|error| self.told(&error))?;
        let read = |row: &sqlx::sqlite::SqliteRow| {
            Ok(ByAgent {
                agent: row.try_get(0)?,
                model: row.try_get(1)?,
                domain: row.try_get(2)?,
                tasks: row.try_get(3)?,
                landed: row.try_get(4)?,
                first_go: row.try_get(5)?,
                cost_usd: row.try_get(6)?,
                seconds: row.try_get(7)?,
                estimated_seconds: row.try_get(8)?,
                lines: row.try_get(9)?,
            })
        };
        rows.iter().map(read).collect::<Result<_, sqlx::Error>>().map_err(|error| self.told(&error))
    }
}

/// What one agent and model came to with one kind of task; averages, where they are known.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ByAgent {
    pub agent: String,
    pub model: Option<String>,
    pub domain: String,
    pub tasks: u32,
    pub landed: u32,
    pub first_go: u32,
    pub cost_usd: Option<f64>,
    pub seconds: f64,
    pub estimated_seconds: Option<f64>,
    pub lines: Option<f64>,
}
