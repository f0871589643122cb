//! Messages from the user to agents at work, until the agent's worker takes them.

use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use conductor_core::values::ids::TaskId;

#[derive(Debug, Default)]
pub(crate) struct MessageQueue {
    letters: Mutex<HashMap<TaskId, Vec<String>>>,
    /// How many there are, to spare the lock: every attempt looks often and rarely finds one.
    count: AtomicUsize,
}

impl MessageQueue {
    pub(crate) fn put(&self, task: &TaskId, words: String) {
        let mut letters = self.letters.lock().unwrap_or_else(PoisonError::into_inner);
        letters.entry(task.clone()).or_default().push(words);
        self.count.fetch_add(1, Ordering::Release);
    }

    pub(crate) fn has(&self, task: &TaskId) -> bool {
        self.count.load(Ordering::Acquire) > 0
            && self.letters.lock().unwrap_or_else(PoisonError::into_inner).contains_key(task)
    }

    pub(crate) fn take(&self, task: &TaskId) -> Vec<String> {
        if self.count.load(Ordering::Acquire) == 0 {
            return Vec::new();
        }
        let mut letters = self.letters.lock().unwrap_or_else(PoisonError::into_inner);
        let taken = letters.remove(task).unwrap_or_default();
        self.count.fetch_sub(taken.len(), Ordering::Release);
        taken
    }
}
