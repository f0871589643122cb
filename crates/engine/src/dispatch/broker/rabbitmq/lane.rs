//! A channel that takes from one queue, for one caller at a time, and what was taken by it and is not settled.
//!
//! Its consumer is sent some messages ahead of what is asked for: to ask for each by itself costs a round of the server's log.
//! What has come and is not asked for within a moment is others': the consumer is ended then, and what has come is given
//! back. A consumer that is ended may still be sent what was on its way: RabbitMQ says that it is ended before it sends that,
//! and it is told to nothing here. So a channel whose consumer was ended takes no more, and is closed as soon as nothing is held by
//! it: what may have come by it is with others then.

use std::collections::{BTreeMap, VecDeque};
use std::future::poll_fn;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::task::Poll;
use std::time::Duration;

use futures_core::Stream as _;
use lapin::options::{
    BasicAckOptions, BasicCancelOptions, BasicConsumeOptions, BasicNackOptions, BasicQosOptions,
};
use lapin::types::{AMQPValue, FieldTable};
use lapin::{Channel, Consumer};
use tokio::sync::oneshot;
use tokio::time::{Instant, timeout_at};

use super::super::is_last_place;
use super::{Delivery, Leases, Receipt};

/// Numbers the channels of this process.
static NEXT: AtomicU64 = AtomicU64::new(1);

/// The most that is sent ahead.
const AHEAD: usize = 1024;

/// For what waits in a queue to come to a consumer that is new.
const FIRST: Duration = Duration::from_millis(50);

pub(super) struct Lane {
    number: u64,
    name: String,
    channel: Channel,
    leases: Leases,
    /// How many messages that are not settled its consumer has at the most.
    ahead: usize,
    closed: AtomicBool,
    /// In the middle of a take.
    busy: AtomicBool,
    /// Might be sent what it does not know.
    spent: AtomicBool,
    inbox: tokio::sync::Mutex<Inbox>,
    /// Since when no take uses it.
    idle: Mutex<Instant>,
    /// What is taken and not settled, and when it is given back.
    held: Mutex<BTreeMap<u64, Instant>>,
}

/// What has come and is not taken yet.
#[derive(Default)]
struct Inbox {
    consumer: Option<Consumer>,
    come: VecDeque<lapin::message::Delivery>,
    /// The server has ended the consumer, for its queue is gone.
    is_over: bool,
}

impl Inbox {
    /// Whatever is there without waiting for it.
    async fn look(&mut self) -> lapin::Result<()> {
        while let Some(consumer) = self.consumer.as_mut().filter(|_| !self.is_over) {
            let next = poll_fn(|context| Poll::Ready(Pin::new(&mut *consumer).poll_next(context))).await;
            match next {
                Poll::Pending => break,
                Poll::Ready(next) => self.note(next.transpose()?),
            }
        }
        Ok(())
    }

    async fn wait(&mut self) -> lapin::Result<()> {
        if let Some(consumer) = &mut self.consumer {
            let next = poll_fn(|context| Pin::new(&mut *consumer).poll_next(context)).await;
            self.note(next.transpose()?);
        }
        Ok(())
    }

    fn note(&mut self, next: Option<lapin::message::Delivery>) {
        match next {
            Some(delivery) => self.come.push_back(delivery),
            None => self.is_over = true,
        }
    }
}

impl Lane {
    /// For takes of as many as this.
    pub(super) fn on(channel: Channel, name: String, leases: Leases, most: usize) -> Arc<Lane> {
        let lane = Arc::new(Lane {
            number: NEXT.fetch_add(1, Ordering::Relaxed),
            name,
            channel,
            leases,
            ahead: most.saturating_mul(2).min(AHEAD),
            closed: AtomicBool::new(false),
            busy: AtomicBool::new(true),
            spent: AtomicBool::new(false),
            inbox: Default::default(),
            idle: Mutex::new(Instant::now()),
            held: Mutex::default(),
        });
        tokio::spawn(give_back_in_time(Arc::downgrade(&lane), leases));
        lane
    }

    pub(super) fn is_alive(&self) -> bool {
        !self.closed.load(Ordering::Relaxed) && self.channel.status().connected()
    }

    /// Whether it may take as many as this for another now; then it is that one's.
    pub(super) fn engage(&self, most: usize) -> bool {
        let has_room = self.lock().len() + most.min(AHEAD / 2) <= self.ahead;
        has_room && self.reserve()
    }

    fn reserve(&self) -> bool {
        self.is_alive() && !self.spent.load(Ordering::Relaxed) && !self.busy.swap(true, Ordering::Relaxed)
    }

    /// After a take. One that is spent is closed when nothing is held by it.
    fn done(&self) {
        *self.idle.lock().unwrap_or_else(PoisonError::into_inner) = Instant::now();
        self.busy.store(false, Ordering::Relaxed);
        self.close_if_spent();
    }

    fn close_if_spent(&self) {
        if self.spent.load(Ordering::Relaxed) && !self.busy.load(Ordering::Relaxed) && self.lock().is_empty()
        {
            self.close();
        }
    }

    /// How many were sent to it and are not settled, as far as they have come.
    pub(super) async fn count(&self) -> u64 {
        let mut come = 0;
        // In the middle of a take what comes is about to be held.
        if let Ok(mut inbox) = self.inbox.try_lock() {
            // Where the channel is broken, nothing is this one's any more.
            if inbox.look().await.is_ok() {
                come = inbox.come.len();
            }
        }
        (come + self.lock().len()) as u64
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<u64, Instant>> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The server gives what is held to others.
    pub(super) fn close(&self) {
        if self.closed.swap(true, Ordering::Relaxed) || !self.channel.status().connected() {
            return;
        }
        let channel = self.channel.clone();
        tokio::spawn(async move { channel.close(200, "".into()).await });
    }

    /// On a task of its own: where the caller is gone in the middle of it, what has come is given back at once.
    pub(super) async fn take(self: &Arc<Self>, most: usize, until: Instant) -> lapin::Result<Vec<Delivery>> {
        let (answer, answered) = oneshot::channel();
        tokio::spawn(self.clone().collect(most, until, answer));
        // The task answers, unless the runtime ends.
        answered.await.unwrap_or_else(|_| Ok(Vec::new()))
    }

    async fn collect(self: Arc<Self>, most: usize, until: Instant, mut answer: Answer) {
        let mut taken = Vec::new();
        let unwanted = match self.gather(most, until, &mut taken, &mut answer).await {
            Ok(()) => answer.send(Ok(taken)).err().and_then(Result::ok),
            // What came nevertheless comes again: its channel is closed.
            Err(error) => {
                self.lock().clear();
                self.spent.store(true, Ordering::Relaxed);
                drop(answer.send(Err(error)));
                None
            }
        };
        if let Some(unwanted) = unwanted {
            let tags = unwanted.iter().filter_map(|delivery| delivery.receipt.tag(self.number)).collect();
            self.give_back(&self.release(tags)).await;
            self.end().await;
        }
        self.done();
    }

    async fn gather(
        &self,
        most: usize,
        until: Instant,
        taken: &mut Vec<Delivery>,
        answer: &mut Answer,
    ) -> lapin::Result<()> {
        let mut inbox = self.inbox.lock().await;
        let mut until = until;
        if inbox.consumer.is_none() {
            inbox.consumer = Some(self.consume().await?);
            until = until.max(Instant::now() + FIRST);
        }
        inbox.look().await?;
        if inbox.come.is_empty() && !inbox.is_over {
            tokio::select! {
                came = timeout_at(until, inbox.wait()) => came.unwrap_or(Ok(()))?,
                () = answer.closed() => return Ok(()),
            }
            // The others that came with it.
            inbox.look().await?;
        }
        let count = most.min(inbox.come.len());
        taken.extend(inbox.come.drain(..count).map(|delivery| self.hold(delivery)));
        Ok(())
    }

    async fn consume(&self) -> lapin::Result<Consumer> {
        let ahead = u16::try_from(self.ahead).unwrap_or(u16::MAX);
        self.channel.basic_qos(ahead, BasicQosOptions::default()).await?;
        let (tag, options) = (String::new(), BasicConsumeOptions::default());
        self.channel
            .basic_consume(self.name.as_str().into(), tag.into(), options, FieldTable::default())
            .await
    }

    /// It takes no more; what has come and was not taken is given back.
    async fn end(&self) {
        self.spent.store(true, Ordering::Relaxed);
        let mut inbox = self.inbox.lock().await;
        let Some(tag) = inbox.consumer.as_ref().map(Consumer::tag) else { return };
        // Where the channel is gone, so is all that came by it.
        if self.channel.basic_cancel(tag, BasicCancelOptions::default()).await.is_ok()
            && inbox.look().await.is_ok()
        {
            let tags: Vec<u64> = inbox.come.drain(..).map(|delivery| delivery.delivery_tag).collect();
            self.give_back(&tags).await;
        }
        inbox.consumer = None;
        inbox.come.clear();
    }

    /// Ends where no take has used it for this long.
    async fn end_if_idle(&self, after: Duration) {
        let idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner).elapsed();
        if idle < after || !self.reserve() {
            return;
        }
        if tokio::time::timeout(after, self.end()).await.is_err() {
            self.close();
        }
        self.done();
    }

    fn hold(&self, delivery: lapin::message::Delivery) -> Delivery {
        let tag = delivery.delivery_tag;
        self.lock().insert(tag, Instant::now() + self.leases.due_after());
        if !is_last_place(&self.name) && times(&delivery) >= i64::from(self.leases.deliveries) - 1 {
            let (queue, times) = (&self.name, self.leases.deliveries);
            tracing::warn!(queue, "a message that came {times} times is set aside unless it is settled now");
        }
        Delivery { message: delivery.data, receipt: Receipt::of(self.number, tag) }
    }

    /// Those of them that are held still; from now on they are not.
    fn release(&self, tags: Vec<u64>) -> Vec<u64> {
        let mut held = self.lock();
        tags.into_iter().filter(|tag| held.remove(tag).is_some()).collect()
    }

    async fn give_back(&self, tags: &[u64]) {
        for tag in tags {
            let options = BasicNackOptions { requeue: true, ..Default::default() };
            if self.channel.basic_nack(*tag, options).await.is_err() {
                // The channel is gone, and with it all that was taken by it.
                return;
            }
        }
    }

    pub(super) async fn settle(&self, receipts: &[Receipt]) -> lapin::Result<()> {
        for tag in receipts.iter().filter_map(|receipt| receipt.tag(self.number)) {
            self.acknowledge(tag).await?;
        }
        self.close_if_spent();
        Ok(())
    }

    /// It is on its way before it is not held any more: a channel that holds nothing may be closed at any time.
    async fn acknowledge(&self, tag: u64) -> lapin::Result<()> {
        let mut acknowledging = Box::pin(self.channel.basic_ack(tag, BasicAckOptions::default()));
        let mut is_sent = false;
        poll_fn(|context| {
            if is_sent {
                return acknowledging.as_mut().poll(context);
            }
            let mut held = self.lock();
            match held.remove(&tag) {
                Some(_) => is_sent = true,
                // Settled before, or given back.
                None => return Poll::Ready(Ok(())),
            }
            acknowledging.as_mut().poll(context)
        })
        .await
    }
}

type Answer = oneshot::Sender<lapin::Result<Vec<Delivery>>>;

/// How often it came before.
fn times(delivery: &lapin::message::Delivery) -> i64 {
    let headers = delivery.properties.headers().as_ref();
    match headers.and_then(|headers| headers.inner().get("x-delivery-count")) {
        Some(AMQPValue::LongLongInt(times)) => *times,
        Some(AMQPValue::LongInt(times)) => i64::from(*times),
        Some(AMQPValue::ShortShortInt(times)) => i64::from(*times),
        Some(AMQPValue::ShortInt(times)) => i64::from(*times),
        Some(AMQPValue::ShortShortUInt(times)) => i64::from(*times),
        Some(AMQPValue::LongUInt(times)) => i64::from(*times),
        _ => 0,
    }
}

/// RabbitMQ itself lets a taker keep a message for half an hour and more.
async fn give_back_in_time(lane: Weak<Lane>, leases: Leases) {
    let mut steps = tokio::time::interval(leases.step());
    loop {
        steps.tick().await;
        let Some(lane) = lane.upgrade().filter(|lane| lane.is_alive()) else { return };
        let now = Instant::now();
        let due = lane.lock().iter().filter(|(_, due)| **due <= now).map(|(tag, _)| *tag).collect();
        let due = lane.release(due);
        lane.give_back(&due).await;
        lane.end_if_idle(leases.step()).await;
        lane.close_if_spent();
    }
}
