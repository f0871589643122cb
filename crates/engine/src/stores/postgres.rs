//! PostgreSQL, for machines that share their runs.
//!
//! A commit that returned is on the server's disk (`synchronous_commit`; a server with `fsync` off is refused). What is only
//! written is in a file on the machine of the run's coordinator, one for each claim: the next claim on that machine takes it
//! over, and one on another machine goes on without it, as after a power cut. So a file that a former coordinator left
//! behind can never be read into a log that another machine has gone on writing.
//!
//! The witness beside a run's folder says how far this machine has seen its log acknowledged: a server that was set back to an
//! older state is found out.

mod address;
mod connections;
mod errors;
mod leading;
mod machine;
mod opening;
mod reading;
pub mod requests;
mod statements;
#[cfg(test)]
mod tests;
mod writing;

use std::collections::HashMap;
use std::future::Future;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use conductor_core::run::event::Record;
use conductor_core::values::ids::RunId;
use sqlx::postgres::PgConnection;

use super::journal::Journal;
use super::rows::LogEnd;
use super::{Epoch, LogReader, NewRun, Store, StoreError, StoredRun, Task};
use crate::host::home::Home;
use connections::Connections;
use leading::Claims;
use machine::Machine;

pub(super) struct Postgres {
    connections: Arc<Connections>,
    home: Home,
    machine: Machine,
    /// The end of each log that this process has claimed. One is taken out while it is appended to.
    ends: Mutex<HashMap<RunId, LogEnd>>,
    /// Of each run that this process has claimed; its file is opened when something is only written. Never waited for.
    journals: Mutex<HashMap<RunId, (Epoch, Option<Journal>)>>,
    claims: Claims,
}

impl Postgres {
    async fn call<T, F>(&self, work: F) -> Result<T, StoreError>
    where
        F: for<'c> AsyncFnOnce(&'c mut PgConnection) -> Result<T, StoreError>,
    {
        self.connections.call(work).await
    }

    fn place(&self) -> String {
        self.connections.place.clone()
    }

    fn told(&self, error: sqlx::Error) -> StoreError {
        errors::told(&self.connections.place, error)
    }

    fn damaged(&self, why: impl Into<String>) -> StoreError {
        StoreError::Damaged { place: self.place(), why: why.into() }
    }

    fn conflict(&self, run: &RunId, seq: u64) -> StoreError {
        StoreError::Conflict { place: self.place(), run: run.clone(), seq }
    }

    fn taken_over(&self, run: &RunId) -> StoreError {
        StoreError::TakenOver { place: self.place(), run: run.clone() }
    }

    fn failed(&self, error: impl std::fmt::Display) -> StoreError {
        StoreError::Failed { place: self.place(), why: error.to_string() }
    }

    fn ends(&self) -> MutexGuard<'_, HashMap<RunId, LogEnd>> {
        self.ends.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn journals(&self) -> MutexGuard<'_, HashMap<RunId, (Epoch, Option<Journal>)>> {
        self.journals.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn list(&self) -> Result<Vec<StoredRun>, StoreError> {
        let machine = self.machine.id.as_str();
        self.call(async |connection| {
            statements::list(connection, machine).await.map_err(|error| self.told(error))
        })
        .await
    }
}

/// Polled where it is made: a future that borrows may not be known to be `Send` otherwise.
fn boxed<'a, T>(work: impl Future<Output = Result<T, StoreError>> + Send + 'a) -> Task<'a, T> {
    Box::pin(work)
}

impl LogReader for Postgres {
    fn load<'a>(&'a self, run: &'a RunId, after: u64) -> Task<'a, Vec<Record>> {
        boxed(self.load_records(run, after))
    }

    fn runs(&self) -> Task<'_, Vec<StoredRun>> {
        boxed(self.list())
    }
}

impl Store for Postgres {
    fn create<'a>(&'a self, run: &'a NewRun, first: &'a Record) -> Task<'a, Epoch> {
        boxed(self.create_run(run, first))
    }

    fn claim<'a>(&'a self, run: &'a RunId) -> Task<'a, Epoch> {
        boxed(self.claim_run(run))
    }

    fn write(&self, run: &RunId, epoch: Epoch, records: &[Record]) -> Result<(), StoreError> {
        self.write_records(run, epoch, records)
    }

    fn append<'a>(&'a self, run: &'a RunId, after: u64, epoch: Epoch, records: &'a [Record]) -> Task<'a, ()> {
        boxed(self.append_records(run, after, epoch, records))
    }

    fn move_to<'a>(&'a self, run: &'a RunId, directory: &'a Path) -> Task<'a, ()> {
        boxed(self.set_directory(run, directory))
    }

    fn remove<'a>(&'a self, run: &'a RunId) -> Task<'a, ()> {
        boxed(self.forget(run))
    }
}
