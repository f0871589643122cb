//! A store before anything was written to it.

use conductor_core::run::event::Record;
use conductor_core::values::ids::RunId;

use super::{LogReader, StoreError, StoredRun, Task};

pub(super) struct Unwritten;

impl LogReader for Unwritten {
    fn load<'a>(&'a self, run: &'a RunId, _: u64) -> Task<'a, Vec<Record>> {
        Box::pin(async { Err(StoreError::NoSuchRun(run.clone())) })
    }

    fn runs(&self) -> Task<'_, Vec<StoredRun>> {
        Box::pin(async { Ok(Vec::new()) })
    }
}
