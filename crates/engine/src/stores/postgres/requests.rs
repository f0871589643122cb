//! What machines ask of each other's runs, by way of the store they share: a line in, a line back. What the lines mean is not
//! known here.
//!
//! A request is taken before it is answered, so it is done once or not at all.

use std::sync::Arc;
use std::time::{Duration, Instant};

use conductor_core::values::ids::RunId;
use sqlx::postgres::PgConnection;
use tokio::sync::watch;
use tokio::task::JoinSet;

use super::Postgres;
use crate::host::home::Home;
use crate::stores::StoreError;

/// How long a request stands: the one who asked has given up by then, and what is done late is not wanted.
const STANDS: f64 = 10.0;

/// How often is looked whether something is asked: a person waits for it.
const LOOK: Duration = Duration::from_millis(300);

/// How often the one who asks looks for the answer.
const STEP: Duration = Duration::from_millis(50);

/// A person waits for it, and the coordinator takes four seconds to say that it does not answer.
const PATIENCE: Duration = Duration::from_secs(8);

/// A way to the runs that other machines drive.
pub struct Requests {
    store: Postgres,
}

impl Requests {
    /// Nothing where the store is not shared.
    pub async fn open(home: &Home) -> Result<Option<Requests>, StoreError> {
        match home.store() {
            Some(address) => Ok(Some(Requests { store: Postgres::open(home, address).await? })),
            None => Ok(None),
        }
    }

    /// The line that came back; nothing where no other machine drives the run, or it has not answered.
    pub async fn ask(&self, run: &RunId, line: &str) -> Result<Answered, StoreError> {
        let machine = self.store.machine.id.as_str();
        let told = |error| self.store.told(error);
        let put = self.store.call(async |connection| put(connection, run, machine, line).await.map_err(told));
        let Some(id) = put.await? else { return Ok(Answered::Undriven) };
        let until = Instant::now() + PATIENCE;
        let answered = loop {
            let look = self.store.call(async |connection| state(connection, id).await.map_err(told));
            match look.await? {
                Some(State { answer: Some(line), .. }) => break Answered::Line(line),
                // The run was left before it came to this.
                Some(State { taken: false, driven: false, .. }) => break Answered::Undriven,
                Some(_) if Instant::now() < until => tokio::time::sleep(STEP).await,
                _ => break Answered::Silent,
            }
        };
        let gone = self.store.call(async |connection| withdraw(connection, id).await.map_err(told));
        Ok(match (answered, gone.await?) {
            // It was taken at the last moment.
            (Answered::Undriven, true) => Answered::Silent,
            (answered, _) => answered,
        })
    }

    /// Answers what is asked of a run that this machine drives until it is over; who has asked by then gets the answer.
    pub async fn serve<F, A>(self, run: &RunId, mut over: watch::Receiver<bool>, answering: F)
    where
        F: Fn(String) -> A,
        A: Future<Output = String> + Send + 'static,
    {
        let (store, mut beside) = (Arc::new(self.store), JoinSet::new());
        loop {
            tokio::select! {
                _ = over.wait_for(|over| *over) => break,
                () = tokio::time::sleep(LOOK) => {}
            }
            let asked = store.call(async |connection| {
                take(connection, run, &store.machine.id).await.map_err(|error| store.told(error))
            });
            for (id, line) in asked.await.unwrap_or_default() {
                let (answering, store) = (answering(line), store.clone());
                // One that takes long holds up no other.
                beside.spawn(async move {
                    let line = answering.await;
                    let told = store.call(async |connection| {
                        reply(connection, id, &line).await.map_err(|error| store.told(error))
                    });
                    if let Err(error) = told.await {
                        tracing::warn!(%error, "what another machine asked was done, and could not be answered");
                    }
                });
            }
            while beside.try_join_next().is_some() {}
        }
        while beside.join_next().await.is_some() {}
    }
}

/// What came of a request.
pub enum Answered {
    Line(String),
    /// No other machine drives the run.
    Undriven,
    /// It may still be done.
    Silent,
}

async fn put(
    connection: &mut PgConnection,
    run: &RunId,
    machine: &str,
    line: &str,
) -> sqlx::Result<Option<i64>> {
    sqlx::query_scalar(
        "INSERT INTO requests (run, line)
         SELECT key, $2 FROM runs JOIN leaders ON leaders.run = runs.key
         WHERE id = $1 AND machine != $3 AND until > clock_timestamp() RETURNING requests.id",
    )
    .bind(run.as_str())
    .bind(line)
    .bind(machine)
    .fetch_optional(connection)
    .await
}

/// Each of them once, by the machine that drives the run. What was asked long ago goes.
async fn take(connection: &mut PgConnection, run: &RunId, machine: &str) -> sqlx::Result<Vec<(i64, String)>> {
    sqlx::query("DELETE FROM requests WHERE asked_at < clock_timestamp() - interval '1 minute'")
        .execute(&mut *connection)
        .await?;
    sqlx::query_as(
        "UPDATE requests SET taken = true
         WHERE id IN (SELECT requests.id FROM requests JOIN runs ON runs.key = requests.run
                                                       JOIN leaders ON leaders.run = runs.key
                      WHERE runs.id = $1 AND NOT taken AND machine = $2
                        AND asked_at > clock_timestamp() - make_interval(secs => $3)
                      ORDER BY requests.id FOR UPDATE OF requests SKIP LOCKED)
         RETURNING id, line",
    )
    .bind(run.as_str())
    .bind(machine)
    .bind(STANDS)
    .fetch_all(connection)
    .await
}

async fn reply(connection: &mut PgConnection, id: i64, line: &str) -> sqlx::Result<()> {
    let query = sqlx::query("UPDATE requests SET answer = $2 WHERE id = $1").bind(id).bind(line);
    query.execute(connection).await.map(drop)
}

/// What has become of a request.
struct State {
    answer: Option<String>,
    taken: bool,
    driven: bool,
}

async fn state(connection: &mut PgConnection, id: i64) -> sqlx::Result<Option<State>> {
    let query = sqlx::query_as(
        "SELECT answer, taken, EXISTS (SELECT FROM leaders WHERE leaders.run = requests.run
                                                             AND until > clock_timestamp()) AS driven
         FROM requests WHERE id = $1",
    );
    let found: Option<(Option<String>, bool, bool)> = query.bind(id).fetch_optional(connection).await?;
    Ok(found.map(|(answer, taken, driven)| State { answer, taken, driven }))
}

/// Whether it had been taken.
async fn withdraw(connection: &mut PgConnection, id: i64) -> sqlx::Result<bool> {
    let query = sqlx::query_scalar("DELETE FROM requests WHERE id = $1 RETURNING taken").bind(id);
    Ok(query.fetch_optional(connection).await?.unwrap_or(false))
}
