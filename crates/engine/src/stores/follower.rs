//! Follows a run and misses nothing of it: where a subscription fell behind, the rest is read from the store.

use std::time::Duration;

use conductor_core::run::event::Record;

use super::bus::{News, Records, Subscription};
use super::{RunLog, StoreError};

/// How long a store that cannot be read now is left alone.
const PAUSE: Duration = Duration::from_millis(250);

/// Every record of a run from some moment on: each once, in order, and only when it is durable.
pub struct Follower {
    news: Subscription,
    /// Let go of when all was told, so that the store can be closed.
    log: Option<RunLog>,
    /// What was missed and is still to be read: behind the first, up to the second.
    missed: Option<(u64, u64)>,
}

impl Follower {
    pub(crate) fn new(news: Subscription, log: RunLog) -> Follower {
        Follower { news, log: Some(log), missed: None }
    }

    /// The next records; nothing when the run is left and all was told. Safe to drop and call again.
    pub async fn recv(&mut self) -> Option<Records> {
        if self.missed.is_none() {
            let news = self.news.recv().await;
            if let Some(records) = self.told(news) {
                return Some(records);
            }
        }
        self.read().await
    }

    /// The same for a thread that may block.
    pub fn blocking_recv(&mut self) -> Option<Records> {
        let news = self.news.blocking_recv();
        self.told(news).or_else(|| self.read_blocking())
    }

    /// What there is already, for a thread that may block while it is read.
    pub fn blocking_ready(&mut self) -> Option<Records> {
        match self.news.try_recv()? {
            News::Records(records) => Some(records),
            news @ News::Missed { .. } => self.told(Some(news)).or_else(|| self.read_blocking()),
        }
    }

    /// The records, or the note that some are to be read.
    fn told(&mut self, news: Option<News>) -> Option<Records> {
        match news {
            Some(News::Records(records)) => return Some(records),
            Some(News::Missed { after, until }) => self.missed = Some((after, until)),
            None => self.log = None,
        }
        None
    }

    async fn read(&mut self) -> Option<Records> {
        let ((after, until), log) = (self.missed?, self.log.as_ref()?);
        tracing::debug!(after, until, "a follower fell behind; the rest is read from the store");
        loop {
            match log.load(after).await {
                Ok(records) => {
                    self.missed = None;
                    return Some(up_to(records, until));
                }
                Err(StoreError::Unavailable { .. }) => tokio::time::sleep(PAUSE).await,
                Err(error) => {
                    // The coordinator fails over the same store, and says so to the user.
                    tracing::error!(%error, after, "a follower fell behind and cannot go on");
                    (self.missed, self.log) = (None, None);
                    return None;
                }
            }
        }
    }

    /// By a runtime of its own: the one that drives the run may wait for this very thread.
    fn read_blocking(&mut self) -> Option<Records> {
        self.missed?;
        match tokio::runtime::Builder::new_current_thread().enable_all().build() {
            Ok(runtime) => runtime.block_on(self.read()),
            Err(error) => {
                tracing::error!(%error, "a follower fell behind and cannot go on");
                (self.missed, self.log) = (None, None);
                None
            }
        }
    }
}

/// What is behind it is written and not durable yet, and comes when it is.
fn up_to(mut records: Vec<Record>, until: u64) -> Records {
    records.retain(|record| record.seq <= until);
    records.into()
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use conductor_core::plan::Plan;
    use conductor_core::run::Run;
    use conductor_core::run::event::Event;
    use conductor_core::values::ids::RunId;
    use conductor_core::values::units::{Now, Tick, Timestamp};

    use super::*;
    use crate::stores::bus::{Bus, MOST};
    use crate::stores::memory::Memory;
    use crate::stores::{NewRun, Store};

    async fn new_log() -> RunLog {
        let store: Arc<dyn Store> = Arc::new(Memory::default());
        let id = RunId::parse("r1").unwrap();
        let (_, created) = Run::create(Plan::default(), Now::default());
        let new = NewRun { id, directory: "/".into(), source: String::new(), tasks: 0 };
        RunLog::create(&store, &new, &created).await.unwrap()
    }

    fn batch(after: u64, length: u64) -> Records {
        let record =
            |seq| Record { seq, at: Timestamp(0), tick: Tick(seq), event: Event::RunPaused { by: None } };
        (after + 1..=after + length).map(record).collect()
    }

    async fn all_of(mut follower: Follower) -> Vec<u64> {
        let mut seen = Vec::new();
        while let Some(records) = follower.recv().await {
            seen.extend(records.iter().map(|record| record.seq));
        }
        seen
    }

    #[tokio::test]
    async fn one_that_reads_nothing_costs_no_memory_and_has_every_record_once_in_the_end() {
        let (log, mut bus) = (new_log().await, Bus::new(1));
        let mut idle = bus.subscribe();
        let (mut late, mut blocking) = (bus.subscribe(), bus.subscribe());
        let (mut quick, mut seen, mut most) = (bus.subscribe(), 1, 0);
        // One more than is published: what is only written is not told before it is on the disk.
        log.append(&batch(1, 100_001)).await.unwrap();
        for turn in 0..1_000 {
            bus.publish(&batch(1 + turn * 100, 100));
            most = most.max(idle.waiting()).max(late.waiting());
            let Some(News::Records(told)) = quick.try_recv() else { panic!("the quick one fell behind") };
            assert_eq!(told[0].seq, seen + 1);
            seen = told.last().unwrap().seq;
            if turn == 500 {
                assert_eq!(late.try_recv(), Some(News::Missed { after: 1, until: 50_101 }));
                late = bus.subscribe();
                blocking = bus.subscribe();
            }
        }
        assert_eq!(seen, 100_001);
        assert!(most <= MOST, "{most}");
        let (late, mut blocking) = (Follower::new(late, log.clone()), Follower::new(blocking, log.clone()));
        let others = tokio::task::spawn_blocking(move || {
            let mut seen = Vec::new();
            while let Some(records) = blocking.blocking_recv() {
                seen.extend(records.iter().map(|record| record.seq));
            }
            seen
        });
        assert_eq!(idle.try_recv(), Some(News::Missed { after: 1, until: 100_001 }));
        bus.publish(&batch(100_001, 1));
        assert_eq!(idle.try_recv(), Some(News::Records(batch(100_001, 1))));
        drop(bus);
        let expected: Vec<u64> = (50_102..=100_002).collect();
        assert_eq!(all_of(late).await, expected);
        assert_eq!(others.await.unwrap(), expected);
    }

    #[tokio::test]
    async fn a_batch_that_is_larger_than_the_bound_is_told_like_any_other() {
        let mut bus = Bus::new(0);
        let mut subscription = bus.subscribe();
        let large = batch(0, MOST as u64 + 5);
        bus.publish(&large);
        assert_eq!(subscription.recv().await, Some(News::Records(large)));
        drop(bus);
        assert_eq!(subscription.recv().await, None);
    }
}
