//! How far the output of running attempts has been cleared of secrets: a reader shows no more than that.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use serde::{Deserialize, Serialize};

/// A part of a spool that can be shown. What lies between the head of a long one and its beginning is left out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Clear {
    pub from: u64,
    pub to: u64,
}

/// What one writer says of itself.
#[derive(Debug, Default)]
pub(crate) struct Mark {
    from: AtomicU64,
    to: AtomicU64,
}

impl Mark {
    pub(crate) fn set(&self, clear: Clear) {
        self.from.store(clear.from, Ordering::Release);
        self.to.store(clear.to, Ordering::Release);
    }

    pub(crate) fn get(&self) -> Clear {
        let to = self.to.load(Ordering::Acquire);
        Clear { from: self.from.load(Ordering::Acquire), to }
    }
}

/// The marks of a run's executors: of their transcripts, and of what agents say to us.
#[derive(Debug, Default)]
pub(crate) struct Marks(Mutex<HashMap<u32, [Arc<Mark>; 2]>>);

impl Marks {
    /// Fresh ones, for an attempt that begins.
    pub(crate) fn begin(&self, executor: u32) {
        let mut marks = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        marks.entry(executor).or_default().iter().for_each(|mark| mark.set(Clear::default()));
    }

    pub(crate) fn transcript(&self, executor: u32) -> Arc<Mark> {
        self.of(executor, 0)
    }

    pub(crate) fn stream(&self, executor: u32) -> Arc<Mark> {
        self.of(executor, 1)
    }

    fn of(&self, executor: u32, which: usize) -> Arc<Mark> {
        let mut marks = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        marks.entry(executor).or_default()[which].clone()
    }

    /// As another process says.
    pub(crate) fn set(&self, executor: u32, clear: [Clear; 2]) {
        let mut marks = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let marks = marks.entry(executor).or_default();
        marks.iter().zip(clear).for_each(|(mark, clear)| mark.set(clear));
    }

    pub(crate) fn clear(&self, executor: u32) -> [Clear; 2] {
        let marks = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        marks.get(&executor).map_or_else(Default::default, |marks| [marks[0].get(), marks[1].get()])
    }
}
