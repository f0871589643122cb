//! The log of a run that this process has claimed.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use conductor_core::report::tally::{APPEND_BOUNDS, Histogram};
use conductor_core::run::event::Record;
use conductor_core::values::ids::RunId;

use super::{Epoch, LogReader, NewRun, Store, StoreError};

#[derive(Clone)]
pub struct RunLog {
    store: Arc<dyn Store>,
    run: RunId,
    epoch: Epoch,
    appends: AppendTimes,
}

/// How long it took until what was appended to a log was durable, for each append of this process that succeeded.
#[derive(Debug, Clone, Default)]
pub struct AppendTimes(Arc<Mutex<Histogram>>);

impl AppendTimes {
    pub fn so_far(&self) -> Histogram {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn note(&self, took: Duration) {
        let micros = u64::try_from(took.as_micros()).unwrap_or(u64::MAX);
        self.0.lock().unwrap_or_else(PoisonError::into_inner).observe(micros, &APPEND_BOUNDS);
    }
}

impl RunLog {
    /// When it completes, the run and its first record are durable.
    pub async fn create(store: &Arc<dyn Store>, run: &NewRun, first: &Record) -> Result<RunLog, StoreError> {
        let epoch = store.create(run, first).await?;
        Ok(RunLog { store: store.clone(), run: run.id.clone(), epoch, appends: AppendTimes::default() })
    }

    /// Takes a run over from whichever process wrote to it before.
    pub async fn claim(store: &Arc<dyn Store>, run: &RunId) -> Result<RunLog, StoreError> {
        let epoch = store.claim(run).await?;
        Ok(RunLog { store: store.clone(), run: run.clone(), epoch, appends: AppendTimes::default() })
    }

    pub fn run(&self) -> &RunId {
        &self.run
    }

    /// Which of the claims of this run this is: each is greater than those before it, whatever any clock says.
    pub fn epoch(&self) -> Epoch {
        self.epoch
    }

    pub fn store(&self) -> &Arc<dyn Store> {
        &self.store
    }

    /// Every run of the store, to look at.
    pub fn reader(&self) -> &dyn LogReader {
        &*self.store
    }

    /// See `Store::write`.
    pub fn write(&self, records: &[Record]) -> Result<(), StoreError> {
        self.store.write(&self.run, self.epoch, records)
    }

    /// See `Store::append`. Where the first of them belongs is told by its number.
    pub async fn append(&self, records: &[Record]) -> Result<(), StoreError> {
        let Some(first) = records.first() else { return Ok(()) };
        let begun = Instant::now();
        self.store.append(&self.run, first.seq.saturating_sub(1), self.epoch, records).await?;
        self.appends.note(begun.elapsed());
        Ok(())
    }

    /// Goes on counting; all copies of a log share it.
    pub fn append_times(&self) -> AppendTimes {
        self.appends.clone()
    }

    /// The log behind the event of this number.
    pub async fn load(&self, after: u64) -> Result<Vec<Record>, StoreError> {
        self.store.load(&self.run, after).await
    }
}
