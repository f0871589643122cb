//! Which runs there are, and a feed for each that is looked at.

use std::collections::HashMap;
use std::fs::File;
use std::io::Read as _;
use std::sync::Arc;
use std::time::{Duration, Instant};

use conductor_core::run::Run;
use conductor_core::run::event::Record;
use conductor_core::values::ids::RunId;
use conductor_engine::host::home::Home;
use conductor_engine::runs::archive::{self, FindError};
use conductor_engine::stores::{self, LogReader, StoreError, StoredRun, briefly};
use serde_json::Value;
use tokio::sync::Mutex;

use super::feed::Feed;
use crate::problem::{Problem, Result};

/// A list this young is as good as a new one.
const FRESH: Duration = Duration::from_millis(100);

/// How often feeds without clients are given up.
const SWEEP: Duration = Duration::from_secs(10);

/// So many runs are remembered by their figures.
const MOST_FIGURES: usize = 2_000;

pub(crate) struct Runs {
    home: Home,
    store: Mutex<Option<Arc<dyn LogReader>>>,
    list: Mutex<Option<(Instant, Arc<Vec<StoredRun>>)>>,
    feeds: Mutex<HashMap<RunId, Arc<Feed>>>,
    /// Of runs that are over, by how far their logs had come.
    figures: Mutex<HashMap<RunId, (u64, Value)>>,
}

impl Runs {
    pub(crate) fn new(home: Home) -> Runs {
        Runs {
            home,
            store: Mutex::default(),
            list: Mutex::default(),
            feeds: Mutex::default(),
            figures: Mutex::default(),
        }
    }

    /// Newest first.
    pub(crate) async fn list(&self) -> Result<Arc<Vec<StoredRun>>> {
        let mut list = self.list.lock().await;
        if let Some((at, runs)) = &*list
            && at.elapsed() < FRESH
        {
            return Ok(runs.clone());
        }
        let runs = Arc::new(self.read().await?);
        *list = Some((Instant::now(), runs.clone()));
        Ok(runs)
    }

    /// What is known is not looked up again: a run was started or removed.
    pub(crate) async fn forget_list(&self) {
        *self.list.lock().await = None;
    }

    async fn read(&self) -> Result<Vec<StoredRun>> {
        if self.home.store().is_none() && !self.is_database() {
            // What SQLite still remembers of the file that was there is not what is there.
            *self.store.lock().await = None;
        }
        let store = self.store().await?;
        match store.runs().await {
            // Before the first run there is nothing to read, and a reader of that sees nothing else later.
            Ok(runs) if runs.is_empty() => {
                *self.store.lock().await = None;
                Ok(runs)
            }
            Ok(runs) => Ok(runs),
            Err(error) => {
                *self.store.lock().await = None;
                Err(error.into())
            }
        }
    }

    /// Whether the file begins as every database does, where there is one.
    fn is_database(&self) -> bool {
        let mut head = [0; 16];
        match File::open(self.home.database()).and_then(|mut file| file.read_exact(&mut head)) {
            Ok(()) => head == *b"SQLite format 3\0",
            Err(_) => false,
        }
    }

    /// Whether another machine drives the run.
    pub(crate) async fn is_elsewhere(&self, run: &RunId) -> Result<bool> {
        if self.home.store().is_none() {
            return Ok(false);
        }
        Ok(self.list().await?.iter().any(|known| known.id == *run && known.holder().is_some()))
    }

    async fn store(&self) -> std::result::Result<Arc<dyn LogReader>, StoreError> {
        let mut store = self.store.lock().await;
        if let Some(store) = &*store {
            return Ok(store.clone());
        }
        let opened = briefly(|| stores::open_to_look(&self.home)).await?;
        *store = Some(opened.clone());
        Ok(opened)
    }

    /// The run of this name, or the one whose name begins like this.
    pub(crate) async fn named(&self, word: &str) -> Result<StoredRun> {
        let known = archive::named(&self.home, &self.list().await?, word);
        let found = match known {
            Ok(run) => return Ok(run),
            // It may have begun since the list was made.
            Err(_) => {
                self.forget_list().await;
                archive::named(&self.home, &self.list().await?, word)
            }
        };
        found.map_err(|error| match error {
            FindError::NoSuchRun { ref meant, .. } => {
                let meant = meant.clone();
                Problem::not_found(&error).meant(meant.as_deref())
            }
            error @ FindError::Ambiguous { .. } => Problem::not_found(error),
            error => error.into(),
        })
    }

    /// Of a run's log, behind the event of this number.
    pub(crate) async fn records(&self, run: &RunId, after: u64) -> Result<Vec<Record>> {
        Ok(self.store().await?.load(run, after).await?)
    }

    pub(crate) async fn reader(&self) -> Result<Arc<dyn LogReader>> {
        Ok(self.store().await?)
    }

    /// A run to look at, as it is now.
    pub(crate) async fn feed(&self, word: &str) -> Result<Arc<Feed>> {
        let stored = self.named(word).await?;
        self.feed_of(&stored).await
    }

    pub(crate) async fn feed_of(&self, stored: &StoredRun) -> Result<Arc<Feed>> {
        let mut feeds = self.feeds.lock().await;
        let feed = match feeds.get(&stored.id) {
            Some(feed) => feed.clone(),
            None => {
                let feed = Feed::begin(self.home.clone(), self.store().await?, stored.clone()).await?;
                feeds.insert(stored.id.clone(), feed.clone());
                feed
            }
        };
        drop(feeds);
        feed.refresh().await?;
        Ok(feed)
    }

    /// What is told of a run in a list. A run that is over is read for it once.
    pub(crate) async fn figures(&self, run: &StoredRun, of: fn(&Run, bool) -> Value) -> Result<Value> {
        let is_live = self.home.is_live(&run.id);
        // Of a shared store other machines write to the log, too.
        let came_to = match &run.shared {
            Some(shared) => shared.events,
            None => stores::seen(&self.home, &run.id),
        };
        if !is_live
            && let Some((at, figures)) = self.figures.lock().await.get(&run.id)
            && *at == came_to
        {
            return Ok(figures.clone());
        }
        let figures = match is_live {
            true => self.feed_of(run).await?.look(|run| of(run, true)),
            false => {
                let records = self.records(&run.id, 0).await?;
                let folded = Run::replay(&records).map_err(|error| {
                    Problem::unavailable(format!("run {} cannot be read: {error}", run.id))
                })?;
                of(&folded, false)
            }
        };
        let mut known = self.figures.lock().await;
        if known.len() >= MOST_FIGURES {
            known.clear();
        }
        known.insert(run.id.clone(), (came_to, figures.clone()));
        Ok(figures)
    }

    /// For ever: what no client looks at any more is let go.
    pub(crate) async fn sweep(&self) {
        loop {
            tokio::time::sleep(SWEEP).await;
            self.feeds.lock().await.retain(|_, feed| !feed.is_idle());
        }
    }
}
