//! A store in memory, for tests: what every backend has to do in its plainest form.

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};
use std::sync::{Arc, LazyLock, Mutex, MutexGuard, PoisonError};

use conductor_core::run::event::Record;
use conductor_core::values::ids::RunId;

use super::{Epoch, LogReader, NewRun, Store, StoreError, StoredRun, Task, rows};

#[derive(Default)]
pub(super) struct Memory(Mutex<BTreeMap<RunId, Kept>>);

struct Kept {
    stored: StoredRun,
    epoch: Epoch,
    /// Those up to here are appended, the others only written.
    appended: usize,
    log: Vec<Record>,
}

static STORES: LazyLock<Mutex<HashMap<PathBuf, Arc<Memory>>>> = LazyLock::new(Mutex::default);

impl Memory {
    /// The one of this folder.
    pub(super) fn at(folder: &Path) -> Arc<Memory> {
        let mut stores = STORES.lock().unwrap_or_else(PoisonError::into_inner);
        stores.entry(folder.to_owned()).or_default().clone()
    }

    fn kept(&self) -> MutexGuard<'_, BTreeMap<RunId, Kept>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn add(
        &self,
        run: &RunId,
        after: u64,
        epoch: Epoch,
        records: &[Record],
        lasts: bool,
    ) -> Result<(), StoreError> {
        let mut all = self.kept();
        let kept = all.get_mut(run).ok_or_else(|| StoreError::NoSuchRun(run.clone()))?;
        let place = || "memory".to_owned();
        if kept.epoch != epoch {
            return Err(StoreError::TakenOver { place: place(), run: run.clone() });
        }
        let mut log = kept.log.clone();
        for (record, seq) in records.iter().zip(after + 1..) {
            let at = usize::try_from(seq).unwrap() - 1;
            let fits = match log.get(at) {
                Some(known) => known == record,
                None => record.seq == seq && log.len() == at,
            };
            if !fits {
                return Err(StoreError::Conflict { place: place(), run: run.clone(), seq });
            }
            if log.len() == at {
                log.push(record.clone());
            }
        }
        kept.log = log;
        if lasts {
            kept.appended = kept.appended.max(usize::try_from(after).unwrap() + records.len());
        }
        let said = kept.log[..kept.appended].iter().rev().find_map(rows::status);
        if let Some((status, _)) = said {
            kept.stored.status = status.to_owned();
        }
        Ok(())
    }
}

impl LogReader for Memory {
    fn load<'a>(&'a self, run: &'a RunId, after: u64) -> Task<'a, Vec<Record>> {
        let kept = self.kept();
        let log = kept.get(run).map(|kept| kept.log.clone());
        Box::pin(async move {
            let log = log.ok_or_else(|| StoreError::NoSuchRun(run.clone()))?;
            Ok(log.into_iter().filter(|record| record.seq > after).collect())
        })
    }

    fn runs(&self) -> Task<'_, Vec<StoredRun>> {
        let mut runs: Vec<StoredRun> = self.kept().values().map(|kept| kept.stored.clone()).collect();
        runs.sort_by_key(|run| std::cmp::Reverse(run.created.0));
        Box::pin(async { Ok(runs) })
    }
}

impl Store for Memory {
    fn create<'a>(&'a self, run: &'a NewRun, first: &'a Record) -> Task<'a, Epoch> {
        let stored = StoredRun {
            id: run.id.clone(),
            directory: run.directory.clone(),
            source: run.source.clone(),
            tasks: run.tasks as u64,
            status: "created".into(),
            created: first.at,
            shared: None,
        };
        let kept = Kept { stored, epoch: Epoch(1), appended: 1, log: vec![first.clone()] };
        self.kept().insert(run.id.clone(), kept);
        Box::pin(async { Ok(Epoch(1)) })
    }

    fn claim<'a>(&'a self, run: &'a RunId) -> Task<'a, Epoch> {
        let claimed = self.kept().get_mut(run).map(|kept| {
            kept.epoch.0 += 1;
            kept.epoch
        });
        Box::pin(async move { claimed.ok_or_else(|| StoreError::NoSuchRun(run.clone())) })
    }

    fn write(&self, run: &RunId, epoch: Epoch, records: &[Record]) -> Result<(), StoreError> {
        match records.first() {
            Some(first) => self.add(run, first.seq - 1, epoch, records, false),
            None => Ok(()),
        }
    }

    fn append<'a>(&'a self, run: &'a RunId, after: u64, epoch: Epoch, records: &'a [Record]) -> Task<'a, ()> {
        Box::pin(async move { self.add(run, after, epoch, records, true) })
    }

    fn move_to<'a>(&'a self, run: &'a RunId, directory: &'a Path) -> Task<'a, ()> {
        let moved = self.kept().get_mut(run).map(|kept| kept.stored.directory = directory.to_owned());
        Box::pin(async move { moved.ok_or_else(|| StoreError::NoSuchRun(run.clone())) })
    }

    fn remove<'a>(&'a self, run: &'a RunId) -> Task<'a, ()> {
        self.kept().remove(run);
        Box::pin(async { Ok(()) })
    }
}
