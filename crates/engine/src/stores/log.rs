//! The log of a run that this process has claimed.

use std::sync::Arc;

use conductor_core::run::event::Record;
use conductor_core::values::ids::RunId;

use super::{Epoch, LogReader, NewRun, Store, StoreError};

#[derive(Clone)]
pub struct RunLog {
    store: Arc<dyn Store>,
    run: RunId,
    epoch: Epoch,
}

impl RunLog {
    /// When it completes, the run and its first record are durable.
    pub async fn create(store: &Arc<dyn Store>, run: &NewRun, first: &Record) -> Result<RunLog, StoreError> {
        let epoch = store.create(run, first).await?;
        Ok(RunLog { store: store.clone(), run: run.id.clone(), epoch })
    }

    /// Takes a run over from whichever process wrote to it before.
    pub async fn claim(store: &Arc<dyn Store>, run: &RunId) -> Result<RunLog, StoreError> {
        let epoch = store.claim(run).await?;
        Ok(RunLog { store: store.clone(), run: run.clone(), epoch })
    }

    pub fn run(&self) -> &RunId {
        &self.run
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
        self.store.append(&self.run, first.seq.saturating_sub(1), self.epoch, records).await
    }

    /// The log behind the event of this number.
    pub async fn load(&self, after: u64) -> Result<Vec<Record>, StoreError> {
        self.store.load(&self.run, after).await
    }
}
