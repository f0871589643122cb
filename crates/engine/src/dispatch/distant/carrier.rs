//! Messages carried to and from a broker. What cannot be put is dropped: what matters is said again (`line`).

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tokio::sync::mpsc;
use tokio::task::{JoinHandle, JoinSet};

use crate::dispatch::broker::{Broker, BrokerError, Delivery, Queue, Receipt};

/// How many messages wait to be put; more are dropped.
const WAITING: usize = 1024;

/// How many are put at once: a broker confirms several as fast as one.
const AT_ONCE: usize = 64;

/// How many are taken at a time, and how long is waited for the first.
const MOST: usize = 64;
const WAIT: Duration = Duration::from_secs(5);

/// How long a broker may take for one message, and how long it is left alone when it failed.
const LONGEST: Duration = Duration::from_secs(10);
const PAUSE: Duration = Duration::from_millis(500);

pub(crate) struct Carrier {
    broker: Arc<dyn Broker>,
    outgoing: mpsc::Sender<Outgoing>,
    putting: JoinHandle<()>,
    taking: Vec<JoinHandle<()>>,
    tell: Tell,
}

struct Outgoing {
    queue: Queue,
    message: Vec<u8>,
    /// Only where nothing waits there.
    if_empty: bool,
}

/// Tells the user something.
pub(crate) type Tell = Arc<dyn Fn(String) + Send + Sync>;

impl Carrier {
    pub(crate) fn new(broker: Arc<dyn Broker>, tell: Tell) -> Carrier {
        let (outgoing, waiting) = mpsc::channel(WAITING);
        let putting = tokio::spawn(put_all(broker.clone(), waiting, tell.clone()));
        Carrier { broker, outgoing, putting, taking: Vec::new(), tell }
    }

    pub(crate) fn put(&self, queue: Queue, message: Vec<u8>) {
        let _ = self.outgoing.try_send(Outgoing { queue, message, if_empty: false });
    }

    /// For what is said again and again to those who may not be there.
    pub(crate) fn put_if_empty(&self, queue: Queue, message: Vec<u8>) {
        let _ = self.outgoing.try_send(Outgoing { queue, message, if_empty: true });
    }

    /// What comes into the queue goes here from now on.
    pub(crate) fn take(&mut self, queue: Queue, to: mpsc::Sender<(Queue, Vec<u8>)>) {
        let taking = take_all(self.broker.clone(), queue, to, self.tell.clone());
        self.taking.push(tokio::spawn(taking));
    }

    /// What waits to be put is put, as far as that is possible in this time.
    pub(crate) async fn close(self, within: Duration) {
        self.taking.iter().for_each(JoinHandle::abort);
        drop(self.outgoing);
        let stop = self.putting.abort_handle();
        if tokio::time::timeout(within, self.putting).await.is_err() {
            stop.abort();
        }
    }
}

async fn put_all(broker: Arc<dyn Broker>, mut waiting: mpsc::Receiver<Outgoing>, tell: Tell) {
    let (mut putting, is_away) = (JoinSet::new(), Arc::new(AtomicBool::new(false)));
    while let Some(outgoing) = waiting.recv().await {
        while putting.len() >= AT_ONCE {
            putting.join_next().await;
        }
        while putting.try_join_next().is_some() {}
        putting.spawn(put(broker.clone(), outgoing, is_away.clone(), tell.clone()));
    }
    while putting.join_next().await.is_some() {}
}

async fn put(broker: Arc<dyn Broker>, outgoing: Outgoing, is_away: Arc<AtomicBool>, tell: Tell) {
    let Outgoing { queue, message, if_empty } = outgoing;
    let putting = async {
        match if_empty && broker.depth(&queue).await? > 0 {
            true => Ok(()),
            false => broker.put(&queue, &message).await,
        }
    };
    match tokio::time::timeout(LONGEST, putting).await {
        Ok(Ok(())) => is_away.store(false, Ordering::Relaxed),
        failed => {
            let why = failed.map_or_else(|_| "it does not answer".to_owned(), |error| words(&error));
            if !is_away.swap(true, Ordering::Relaxed) {
                tell(format!("messages wait: {why}"));
            }
            tokio::time::sleep(PAUSE).await;
        }
    }
}

fn words(put: &Result<(), BrokerError>) -> String {
    put.as_ref().err().map(BrokerError::to_string).unwrap_or_default()
}

async fn take_all(broker: Arc<dyn Broker>, queue: Queue, to: mpsc::Sender<(Queue, Vec<u8>)>, tell: Tell) {
    let mut is_away = false;
    loop {
        match broker.take(&queue, MOST, WAIT).await {
            Ok(deliveries) => {
                is_away = false;
                let mut receipts: Vec<Receipt> = Vec::new();
                for Delivery { message, receipt } in deliveries {
                    if to.send((queue.clone(), message)).await.is_err() {
                        return;
                    }
                    receipts.push(receipt);
                }
                // What is not settled comes again, and is known again.
                if !receipts.is_empty() && broker.settle(&queue, &receipts).await.is_err() {
                    tokio::time::sleep(PAUSE).await;
                }
            }
            Err(error) => {
                if !std::mem::replace(&mut is_away, true) {
                    tell(error.to_string());
                }
                tokio::time::sleep(PAUSE).await;
            }
        }
        if to.is_closed() {
            return;
        }
    }
}
