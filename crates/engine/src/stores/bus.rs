//! Hands durable records to subscribers. One that is slow or gone holds up neither the run nor the others, and takes no
//! more memory than its bound: one that falls behind is told which records it missed, all of which are in the store.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use conductor_core::run::event::Record;
use tokio::sync::mpsc;

pub type Records = Arc<[Record]>;

/// How many records wait for a subscriber. Seconds of the busiest run; the records themselves are shared by all.
pub const MOST: usize = 10_000;

/// What a subscriber is told next.
#[derive(Debug, Clone, PartialEq)]
pub enum News {
    Records(Records),
    /// It fell behind. The records behind `after`, up to and including `until`, are in the store and are not told again;
    /// what follows begins right behind them.
    Missed {
        after: u64,
        until: u64,
    },
}

/// The door of a run's followers.
#[derive(Debug)]
pub struct Bus {
    /// The number of the last record that was published.
    published: u64,
    onlookers: Vec<Onlooker>,
}

#[derive(Debug)]
struct Onlooker {
    queue: Arc<Mutex<Queue>>,
    bell: mpsc::Sender<()>,
}

#[derive(Debug)]
struct Queue {
    batches: VecDeque<Records>,
    /// Records in all batches.
    waiting: usize,
    /// The last one that was taken from here, and the last one that was published.
    taken: u64,
    published: u64,
    /// Nothing is kept until the subscriber knows that it has fallen behind: all of it is in the store.
    is_behind: bool,
}

impl Bus {
    /// For a run whose log ends with the event of this number.
    pub fn new(published: u64) -> Bus {
        Bus { published, onlookers: Vec::new() }
    }

    /// Everything published from now on.
    pub fn subscribe(&mut self) -> Subscription {
        let queue = Queue {
            batches: VecDeque::new(),
            waiting: 0,
            taken: self.published,
            published: self.published,
            is_behind: false,
        };
        let queue = Arc::new(Mutex::new(queue));
        let (bell, rung) = mpsc::channel(1);
        self.onlookers.push(Onlooker { queue: queue.clone(), bell });
        Subscription { queue, rung }
    }

    pub(crate) fn publish(&mut self, records: &Records) {
        let Some(last) = records.last() else { return };
        self.published = last.seq;
        self.onlookers.retain(|onlooker| {
            lock(&onlooker.queue).put(records);
            // A bell that has rung already is heard.
            !matches!(onlooker.bell.try_send(()), Err(mpsc::error::TrySendError::Closed(())))
        });
    }
}

impl Queue {
    fn put(&mut self, records: &Records) {
        self.published = records.last().map_or(self.published, |record| record.seq);
        self.waiting += records.len();
        if self.is_behind || (self.waiting > MOST && !self.batches.is_empty()) {
            (self.batches, self.waiting, self.is_behind) = (VecDeque::new(), 0, true);
        } else {
            self.batches.push_back(records.clone());
        }
    }

    fn take(&mut self) -> Option<News> {
        if self.is_behind {
            let (after, until) = (self.taken, self.published);
            (self.taken, self.is_behind) = (until, false);
            return Some(News::Missed { after, until });
        }
        let records = self.batches.pop_front()?;
        self.waiting -= records.len();
        self.taken = records.last().map_or(self.taken, |record| record.seq);
        Some(News::Records(records))
    }
}

/// One follower's end. What waits here is bounded.
#[derive(Debug)]
pub struct Subscription {
    queue: Arc<Mutex<Queue>>,
    rung: mpsc::Receiver<()>,
}

impl Subscription {
    /// The next, in order; nothing when the run is left and all was told. Safe to drop and call again.
    pub async fn recv(&mut self) -> Option<News> {
        loop {
            if let Some(news) = self.try_recv() {
                return Some(news);
            }
            if self.rung.recv().await.is_none() {
                return self.try_recv();
            }
        }
    }

    /// The same for a thread that may block.
    pub fn blocking_recv(&mut self) -> Option<News> {
        loop {
            if let Some(news) = self.try_recv() {
                return Some(news);
            }
            if self.rung.blocking_recv().is_none() {
                return self.try_recv();
            }
        }
    }

    /// What waits already.
    pub fn try_recv(&mut self) -> Option<News> {
        lock(&self.queue).take()
    }

    #[cfg(test)]
    pub(crate) fn waiting(&self) -> usize {
        let queue = lock(&self.queue);
        queue.batches.iter().map(|batch| batch.len()).sum()
    }
}

fn lock(queue: &Mutex<Queue>) -> MutexGuard<'_, Queue> {
    queue.lock().unwrap_or_else(PoisonError::into_inner)
}
