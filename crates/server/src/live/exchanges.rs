//! Conversations that clients look at, read on where they were left: a page asks for one every second.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use conductor_core::values::ids::{Attempt, RunId, TaskId};
use conductor_engine::runs::listening::{Exchange, Listener};

/// So many are kept; one more, and the one that was looked at longest ago is read anew by its next client.
const MOST: usize = 16;

/// One that no client looks at is let go.
const IDLE: Duration = Duration::from_secs(60);

type Key = (RunId, TaskId, Attempt);
pub(crate) type Shared = Arc<tokio::sync::Mutex<Exchange>>;

#[derive(Default)]
pub(crate) struct Exchanges(Mutex<HashMap<Key, (Instant, Shared)>>);

impl Exchanges {
    pub(crate) fn of(
        &self,
        listener: &Listener,
        attempt: Attempt,
        executor: u32,
        agent: Option<&str>,
    ) -> Shared {
        let key = (listener.run().clone(), listener.task().clone(), attempt);
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        known.retain(|_, (looked, _)| looked.elapsed() < IDLE);
        if known.len() >= MOST && !known.contains_key(&key) {
            let oldest = known.iter().min_by_key(|(_, (looked, _))| *looked).map(|(key, _)| key.clone());
            oldest.iter().for_each(|oldest| drop(known.remove(oldest)));
        }
        let begin = || {
            let exchange = Exchange::new(listener.clone(), attempt, executor, agent);
            (Instant::now(), Arc::new(tokio::sync::Mutex::new(exchange)))
        };
        let (looked, exchange) = known.entry(key).or_insert_with(begin);
        *looked = Instant::now();
        exchange.clone()
    }
}
