//! Webhooks: programs elsewhere are told what happens in a project's runs. What is to be told is recorded first
//! (`gathering`), then sent (`sending`); a receiver that is slow or gone holds up neither another receiver nor a request nor
//! a run.

mod client;
mod gathering;
mod message;
pub(crate) mod schedule;
mod sending;

use std::collections::HashSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use conductor_engine::host::home::Home;
use tokio::sync::{Notify, RwLock};
use tokio::time::timeout;

use crate::live::Runs;
use crate::problem::Result;
use crate::records::Records;
use client::Client;
use gathering::{Settled, gather};
use schedule::Schedule;

pub use schedule::PAUSES;

/// How often it is looked for something to tell, where there are webhooks; and where there are none.
const LOOK: Duration = Duration::from_millis(250);
const REST: Duration = Duration::from_secs(2);

/// After something of ours failed.
const TROUBLE: Duration = Duration::from_secs(5);

/// How often runs are looked at that nothing drives.
const LOOK_AT_ALL: Duration = Duration::from_secs(30);

const PRUNE: Duration = Duration::from_secs(60 * 60);

/// How long a server that stops waits for what it is sending.
const LAST_WORDS: Duration = Duration::from_secs(3);

/// How webhooks are sent.
#[derive(Debug, Clone)]
pub struct Rules {
    /// The pauses before each further attempt.
    pub retries: Vec<Duration>,
    /// Whether other machines may be told without TLS.
    pub plain_http: bool,
}

impl Default for Rules {
    fn default() -> Rules {
        Rules { retries: PAUSES.to_vec(), plain_http: false }
    }
}

pub(crate) struct Webhooks {
    pub(crate) plain_http: bool,
    client: Client,
    schedule: Schedule,
    /// Those that something is being sent to.
    busy: Mutex<HashSet<String>>,
    /// Something may be to be sent at once.
    woken: Notify,
    stopping: AtomicBool,
    /// Held by all that is being sent.
    sending: RwLock<()>,
}

impl Webhooks {
    pub(crate) fn new(rules: Rules) -> Arc<Webhooks> {
        Arc::new(Webhooks {
            plain_http: rules.plain_http,
            client: Client::new(rules.plain_http),
            schedule: Schedule(rules.retries),
            busy: Mutex::default(),
            woken: Notify::new(),
            stopping: AtomicBool::new(false),
            sending: RwLock::new(()),
        })
    }

    /// A webhook was registered or changed, or a delivery is to be retried.
    pub(crate) fn wake(&self) {
        self.woken.notify_waiters();
    }

    /// For ever.
    pub(crate) async fn drive(self: &Arc<Webhooks>, records: &Records, runs: &Runs, home: &Home) {
        tokio::join!(self.keep_gathering(records, runs, home), self.keep_sending(records, runs));
    }

    /// What is being sent is brought to its end, if that is soon: it need not be sent again then.
    pub(crate) async fn stop(&self) {
        self.stopping.store(true, Ordering::Release);
        let _ = timeout(LAST_WORDS, self.sending.write()).await;
    }

    async fn keep_gathering(&self, records: &Records, runs: &Runs, home: &Home) {
        let mut settled = Settled::default();
        let mut forgotten = Instant::now();
        loop {
            if forgotten.elapsed() > LOOK_AT_ALL {
                settled.forget();
                forgotten = Instant::now();
            }
            let gathered = async {
                let webhooks = records.enabled_webhooks().await?;
                gather(records, runs, home, &webhooks, &mut settled).await?;
                Ok(!webhooks.is_empty())
            };
            let gathered = gathered.await;
            self.pause(gathered).await;
        }
    }

    async fn keep_sending(self: &Arc<Webhooks>, records: &Records, runs: &Runs) {
        let mut pruned: Option<Instant> = None;
        loop {
            let looked = async {
                if records.enabled_webhooks().await?.is_empty() {
                    return Ok(false);
                }
                let due = records.webhooks_due().await?;
                due.into_iter().for_each(|webhook| self.begin(records, webhook));
                if pruned.is_none_or(|at| at.elapsed() > PRUNE) {
                    let runs = runs.list().await?;
                    let ids: Vec<&str> = runs.iter().map(|run| run.id.as_str()).collect();
                    records.prune_deliveries(&ids).await?;
                    pruned = Some(Instant::now());
                }
                Ok(true)
            };
            let looked = looked.await;
            self.pause(looked).await;
        }
    }

    /// Until it is time to look again.
    async fn pause(&self, found: Result<bool>) {
        let pause = match found {
            Ok(true) => LOOK,
            Ok(false) => REST,
            Err(problem) => {
                tracing::warn!(error = problem.detail(), "webhooks are not told for now");
                TROUBLE
            }
        };
        let _ = timeout(pause, self.woken.notified()).await;
    }

    /// Sends a webhook what is due, unless that is being done: one after the other, beside all others.
    fn begin(self: &Arc<Webhooks>, records: &Records, webhook: String) {
        if !self.busy().insert(webhook.clone()) {
            return;
        }
        let (webhooks, records) = (self.clone(), records.clone());
        tokio::spawn(async move {
            webhooks.send_due(&records, &webhook).await;
            webhooks.busy().remove(&webhook);
        });
    }

    fn busy(&self) -> std::sync::MutexGuard<'_, HashSet<String>> {
        self.busy.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
