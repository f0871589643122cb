//! One run, folded as it goes on: followed once, however many look at it.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::time::Duration;

use conductor_core::plan::Plan;
use conductor_core::run::Run;
use conductor_core::run::event::{Options, Record};
use conductor_core::values::ids::RunId;
use conductor_engine::host::clock;
use conductor_engine::host::home::Home;
use conductor_engine::runs::watching::Watching;
use conductor_engine::stores::{LogReader, StoredRun};
use serde_json::Value;
use tokio::sync::broadcast;
use tokio::time::{Instant, timeout_at};

use super::events::told;
use super::frame::{Frame, Part};
use crate::problem::{Problem, Result};

/// What happens within this time is told together.
const BATCH: Duration = Duration::from_millis(50);

/// So many events are told together at most.
const LARGEST: usize = 2_000;

/// Frames that wait for a listener who is slow; one more, and it is cut off.
const WAITING: usize = 256;

/// Frames that are kept for those who come back soon.
const RECENT: usize = 256;

/// A feed without clients is given up after this long.
pub(super) const IDLE: i64 = 30_000;

/// How often it is looked whether there are clients.
const LOOK: Duration = Duration::from_secs(5);

/// How often it is looked whether a run that was left goes on.
const LEFT: Duration = Duration::from_millis(250);

/// How often it is looked whether the end of a run that was just left is read.
const CATCH_UP: u32 = 50;
const CATCH_UP_PAUSE: Duration = Duration::from_millis(20);

/// A run as it is now.
pub(crate) struct Seen {
    pub(crate) run: Run,
}

pub(crate) struct Feed {
    pub(crate) stored: StoredRun,
    store: Arc<dyn LogReader>,
    home: Home,
    seen: RwLock<Seen>,
    recent: Mutex<VecDeque<Arc<Frame>>>,
    frames: broadcast::Sender<Arc<Frame>>,
    /// When a client last looked.
    asked: AtomicI64,
    /// Whether it is being followed.
    follows: AtomicBool,
}

impl Feed {
    /// Reads the run as far as it has come, and follows it from there while it is live.
    pub(super) async fn begin(home: Home, store: Arc<dyn LogReader>, stored: StoredRun) -> Result<Arc<Feed>> {
        let records = store.load(&stored.id, 0).await?;
        let run = Run::replay(&records)
            .map_err(|error| Problem::unavailable(format!("run {} cannot be read: {error}", stored.id)))?;
        conductor_engine::agents::keep_secrets_of(run.plan());
        let (frames, _) = broadcast::channel(WAITING);
        let feed = Arc::new(Feed {
            stored,
            store,
            home,
            seen: RwLock::new(Seen { run }),
            recent: Mutex::default(),
            frames,
            asked: AtomicI64::new(clock::wall().0),
            follows: AtomicBool::new(false),
        });
        feed.clone().follow();
        Ok(feed)
    }

    pub(crate) fn id(&self) -> &RunId {
        &self.stored.id
    }

    pub(crate) fn look<T>(&self, look: impl FnOnce(&Run) -> T) -> T {
        look(&self.seen.read().unwrap_or_else(PoisonError::into_inner).run)
    }

    pub(crate) fn is_live(&self) -> bool {
        self.home.is_live(&self.stored.id)
    }

    pub(crate) fn directory(&self) -> std::path::PathBuf {
        self.home.run(&self.stored.id)
    }

    /// Up to date for one who asks: a run that was left may have been changed or taken up since.
    pub(super) async fn refresh(self: &Arc<Feed>) -> Result<()> {
        self.asked.store(clock::wall().0, Ordering::Relaxed);
        if self.follows.load(Ordering::Acquire) {
            return self.caught_up().await;
        }
        let after = self.look(Run::seq);
        let records = self.store.load(&self.stored.id, after).await?;
        if !records.is_empty() {
            let parts = self.fold(&records);
            self.publish(parts);
        }
        self.clone().follow();
        Ok(())
    }

    /// Of a run whose coordinator has just left, the one who follows has still to read the end.
    async fn caught_up(&self) -> Result<()> {
        for _ in 0..CATCH_UP {
            if self.is_live() || self.store.load(&self.stored.id, self.look(Run::seq)).await?.is_empty() {
                break;
            }
            tokio::time::sleep(CATCH_UP_PAUSE).await;
        }
        Ok(())
    }

    /// Whether the run has an event of this number. One that was told may not be read here yet: another server told it.
    pub(crate) async fn has_come_to(&self, seq: u64) -> Result<bool> {
        for _ in 0..CATCH_UP {
            if self.look(Run::seq) >= seq {
                return Ok(true);
            }
            if !self.is_live() {
                break;
            }
            tokio::time::sleep(CATCH_UP_PAUSE).await;
        }
        Ok(!self.records(seq.saturating_sub(1)).await?.is_empty())
    }

    pub(super) fn is_idle(&self) -> bool {
        self.frames.receiver_count() == 0 && clock::wall().0 - self.asked.load(Ordering::Relaxed) > IDLE
    }

    /// While it is live or a client listens: one that was left may be taken up again.
    fn follow(self: Arc<Feed>) {
        let is_wanted = |feed: &Feed| feed.is_live() || feed.frames.receiver_count() > 0;
        if !is_wanted(&self) || self.follows.swap(true, Ordering::AcqRel) {
            return;
        }
        tokio::spawn(async move {
            while is_wanted(&self) && !self.is_idle() {
                let after = self.look(Run::seq);
                let (home, store) = (self.home.clone(), self.store.clone());
                self.drive(Watching::new(home, store, self.stored.id.clone(), after)).await;
                tokio::time::sleep(LEFT).await;
            }
            self.follows.store(false, Ordering::Release);
            // A client may have come meanwhile.
            if self.frames.receiver_count() > 0 {
                self.follow();
            }
        });
    }

    async fn drive(&self, mut watching: Watching) {
        let mut parts: Vec<Part> = Vec::new();
        let mut due = Instant::now() + LOOK;
        loop {
            match timeout_at(due, watching.next()).await {
                Ok(Ok(Some(records))) => {
                    if parts.is_empty() {
                        due = Instant::now() + BATCH;
                    }
                    parts.extend(self.fold(&records));
                    // Where there is always more, the time would never be found to be over.
                    if parts.len() >= LARGEST || Instant::now() >= due {
                        self.publish(std::mem::take(&mut parts));
                        due = Instant::now() + LOOK;
                    }
                }
                Ok(Ok(None)) => break,
                Ok(Err(error)) => {
                    tracing::warn!(run = %self.stored.id, %error, "the run cannot be followed");
                    break;
                }
                Err(_) if parts.is_empty() && self.is_idle() => break,
                Err(_) => {
                    self.publish(std::mem::take(&mut parts));
                    due = Instant::now() + LOOK;
                }
            }
        }
        self.publish(parts);
    }

    fn fold(&self, records: &[Record]) -> Vec<Part> {
        let mut seen = self.seen.write().unwrap_or_else(PoisonError::into_inner);
        let mut parts = Vec::new();
        for record in records {
            if let Err(error) = seen.run.apply(record) {
                tracing::warn!(run = %self.stored.id, %error, "an event does not fit the run");
                continue;
            }
            parts.extend(told(&self.stored.id, seen.run.plan(), seen.run.options(), record));
        }
        parts
    }

    fn publish(&self, parts: Vec<Part>) {
        if parts.is_empty() {
            return;
        }
        let frame = Arc::new(Frame::new(parts));
        let mut recent = self.recent.lock().unwrap_or_else(PoisonError::into_inner);
        recent.push_back(frame.clone());
        if recent.len() > RECENT {
            recent.pop_front();
        }
        // There may be no client.
        let _ = self.frames.send(frame);
    }

    /// What comes from now on, and what was told last: nothing is told between the two.
    pub(super) fn listen(self: &Arc<Feed>) -> (Vec<Arc<Frame>>, broadcast::Receiver<Arc<Frame>>) {
        let recent = self.recent.lock().unwrap_or_else(PoisonError::into_inner);
        let listening = (recent.iter().cloned().collect(), self.frames.subscribe());
        self.clone().follow();
        listening
    }

    /// Of the log, behind the event of this number.
    pub(crate) async fn records(&self, after: u64) -> Result<Vec<Record>> {
        Ok(self.store.load(&self.stored.id, after).await?)
    }

    /// What events are told by, beside the log.
    pub(crate) fn terms(&self) -> (Arc<Plan>, Options) {
        self.look(|run| (run.plan().clone(), run.options().clone()))
    }

    pub(super) async fn history(&self, after: u64) -> Result<Vec<Frame>> {
        let records = self.records(after).await?;
        let (plan, options) = self.terms();
        let parts = |chunk: &[Record]| {
            chunk.iter().flat_map(|record| told(&self.stored.id, &plan, &options, record)).collect()
        };
        Ok(records.chunks(500).map(|chunk| Frame::new(parts(chunk))).collect())
    }

    /// What at most so many records tell, of one task or of all, as listeners are told it; and the number to go on behind
    /// where there are more.
    pub(crate) async fn told_after(
        &self,
        after: u64,
        limit: usize,
        task: Option<usize>,
    ) -> Result<(Vec<Value>, Option<u64>)> {
        let mut records = self.records(after).await?;
        if let Some(task) = task {
            let is_of = |run: &Run, record: &Record| {
                run.touched_by([record]).is_some_and(|touched| touched.contains(&task))
            };
            self.look(|run| records.retain(|record| is_of(run, record)));
        }
        let (plan, options) = self.terms();
        let next = (records.len() > limit).then(|| records[limit - 1].seq);
        let parts =
            records.iter().take(limit).flat_map(|record| told(&self.stored.id, &plan, &options, record));
        Ok((parts.filter_map(|part| serde_json::from_str(&part.text).ok()).collect(), next))
    }
}
