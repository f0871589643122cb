//! Quorum queues of RabbitMQ, over AMQP 0-9-1.
//!
//! Nothing is trusted to recover: after any error of a connection or a channel both are made anew. Each take has a channel and a
//! consumer for itself, so that the end of one queue disturbs no other, and no message ever waits where none looks for it.

mod errors;
mod lane;
mod link;

use std::borrow::Cow;
use std::sync::Arc;
use std::time::Duration;

use lapin::options::{BasicPublishOptions, ConfirmSelectOptions, QueueDeclareOptions, QueueDeleteOptions};
use lapin::{BasicProperties, Confirmation};
use tokio::time::Instant;

use super::address::Address;
use super::{Broker, BrokerError, Delivery, Leases, Queue, Receipt, Task};
use errors::{in_time, is_missing, told};
use link::Link;

/// Written to disk.
const PERSISTENT: u8 = 2;

/// How often a queue that is gone when it is looked for is made anew before that is an error, and likewise a connection.
const TIMES: usize = 5;

/// For a server to take a message that it has refused, which a queue does that has no leader yet; and until it is asked again.
const REFUSING: Duration = Duration::from_secs(5);
const PAUSE: Duration = Duration::from_millis(50);

pub(super) struct RabbitMq {
    address: Address,
    leases: Leases,
    link: tokio::sync::Mutex<Option<Arc<Link>>>,
}

impl RabbitMq {
    pub(super) fn new(address: Address, leases: Leases) -> RabbitMq {
        RabbitMq { address, leases, link: Default::default() }
    }

    async fn link(&self) -> Result<Arc<Link>, BrokerError> {
        let mut link = self.link.lock().await;
        if let Some(link) = link.as_ref().filter(|link| link.is_alive()) {
            return Ok(link.clone());
        }
        *link = None;
        let made = Arc::new(Link::open(&self.address, self.leases).await?);
        *link = Some(made.clone());
        Ok(made)
    }

    /// With a queue that is there. A server that makes one for two programs in the same moment may give up the connection of
    /// one of them, which tries it again by another.
    async fn provided(&self, queue: &Queue) -> Result<Arc<Link>, BrokerError> {
        let mut times = 0;
        loop {
            let link = self.link().await?;
            match link.provide(&self.address, queue).await {
                Err(_) if !link.is_alive() && times < TIMES => {
                    times += 1;
                    tokio::time::sleep(PAUSE).await;
                }
                provided => return provided.map(|()| link),
            }
        }
    }

    async fn put_in(&self, queue: &Queue, message: &[u8]) -> Result<(), BrokerError> {
        let (mut queue, mut name, mut message) = (queue.clone(), queue.name()?, Cow::Borrowed(message));
        let (until, mut times) = (Instant::now() + REFUSING, 0);
        loop {
            let link = self.provided(&queue).await?;
            let channel = link.publishing(&self.address).await?;
            let properties = BasicProperties::default().with_delivery_mode(PERSISTENT);
            let options = BasicPublishOptions { mandatory: true, ..Default::default() };
            let published = async {
                let key = name.as_str().into();
                channel.basic_publish("".into(), key, options, &message, properties).await?.await
            };
            match in_time(&self.address, published).await {
                Ok(Confirmation::Ack(None)) => return Ok(()),
                // It has no such queue. Of several that are put at once what came back may be another's, which is told
                // that it was taken: this one puts it again, for its own was.
                Ok(Confirmation::Ack(Some(returned))) if times < TIMES => {
                    let key = returned.delivery.routing_key.as_str();
                    (queue, name) = (Queue::named(key), key.to_owned());
                    message = Cow::Owned(returned.delivery.data.clone());
                    link.forget(&queue);
                    times += 1;
                }
                Ok(Confirmation::Nack(_)) if Instant::now() < until => tokio::time::sleep(PAUSE).await,
                Ok(_) => return Err(self.address.away(format!("{name} takes no messages"))),
                Err(error) => {
                    link.retire(&channel).await;
                    return Err(error);
                }
            }
        }
    }

    async fn take_some(
        &self,
        queue: &Queue,
        most: usize,
        wait: Duration,
    ) -> Result<Vec<Delivery>, BrokerError> {
        let until = Instant::now() + wait;
        for time in 1.. {
            let link = self.link().await?;
            let lane = match link.lane(&self.address, queue, most).await {
                Err(_) if !link.is_alive() && time < TIMES => {
                    tokio::time::sleep(PAUSE).await;
                    continue;
                }
                lane => lane?,
            };
            match lane.take(most, until).await {
                Ok(taken) if !taken.is_empty() || Instant::now() >= until => return Ok(taken),
                // The queue went while it was waited for.
                Ok(_) => lane.close(),
                Err(error) => {
                    lane.close();
                    let can_be_again = is_missing(&error) || !link.is_alive();
                    if !can_be_again || time == TIMES {
                        return Err(told(&self.address, &error));
                    }
                }
            }
        }
        Ok(Vec::new())
    }

    /// How many wait: what this program has taken is not among them.
    async fn waiting(&self, link: &Link, name: &str) -> Result<u64, BrokerError> {
        let options = QueueDeclareOptions { passive: true, ..Default::default() };
        let asked = async {
            let channel = link.connection.create_channel().await?;
            let answer = channel.queue_declare(name.into(), options, Default::default()).await;
            let answer = match answer {
                Err(error) if is_missing(&error) => return Ok(0),
                answer => answer?,
            };
            channel.close(200, "".into()).await?;
            Ok(u64::from(answer.message_count()))
        };
        in_time(&self.address, asked).await
    }
}

impl Broker for RabbitMq {
    /// Tried out: a queue of the kind that is needed takes a message and confirms it.
    fn examine(&self) -> Task<'_, ()> {
        Box::pin(async move {
            let probe = Queue(format!("examined-{:016x}", fastrand::u64(..)));
            match self.put_in(&probe, b"").await {
                Ok(()) => self.remove(&probe).await,
                Err(BrokerError::Unusable { why, .. }) if errors::is_unknown(&why) => {
                    let remedy = "use RabbitMQ 3.10 or newer, with its features enabled: \
                                  rabbitmqctl enable_feature_flag all";
                    Err(self.address.unusable(why, remedy))
                }
                Err(error) => Err(error),
            }
        })
    }

    fn put<'a>(&'a self, queue: &'a Queue, message: &'a [u8]) -> Task<'a, ()> {
        Box::pin(self.put_in(queue, message))
    }

    fn take<'a>(&'a self, queue: &'a Queue, most: usize, wait: Duration) -> Task<'a, Vec<Delivery>> {
        Box::pin(async move {
            match most {
                0 => Ok(Vec::new()),
                most => self.take_some(queue, most, wait).await,
            }
        })
    }

    fn settle<'a>(&'a self, queue: &'a Queue, receipts: &'a [Receipt]) -> Task<'a, ()> {
        Box::pin(async move {
            // Without the channel they came by there is nothing to settle: they come again.
            let link = self.link.lock().await.clone();
            for lane in link.map(|link| link.opened(queue)).unwrap_or_default() {
                if let Err(error) = in_time(&self.address, lane.settle(receipts)).await {
                    lane.close();
                    return Err(error);
                }
            }
            Ok(())
        })
    }

    fn depth<'a>(&'a self, queue: &'a Queue) -> Task<'a, u64> {
        Box::pin(async move {
            let (link, name) = (self.link().await?, queue.name()?);
            let waiting = self.waiting(&link, &name).await?;
            let mut held = 0;
            for lane in link.opened(queue) {
                held += lane.count().await;
            }
            Ok(waiting + held)
        })
    }

    fn remove<'a>(&'a self, queue: &'a Queue) -> Task<'a, ()> {
        Box::pin(async move {
            let link = self.link().await?;
            let queues = [queue.clone(), queue.set_aside()];
            let names = [queues[0].name()?, queues[1].name()?];
            let removed = async {
                let channel = link.connection.create_channel().await?;
                for name in &names {
                    match channel.queue_delete(name.as_str().into(), QueueDeleteOptions::default()).await {
                        Err(error) if is_missing(&error) => return Ok(()),
                        answer => answer?,
                    };
                }
                channel.close(200, "".into()).await
            };
            let removed = in_time(&self.address, removed).await;
            for queue in &queues {
                link.opened(queue).iter().for_each(|lane| lane.close());
                link.forget(queue);
            }
            removed
        })
    }
}

/// So that what is published is confirmed.
async fn confirming(connection: &lapin::Connection) -> lapin::Result<lapin::Channel> {
    let channel = connection.create_channel().await?;
    channel.confirm_select(ConfirmSelectOptions::default()).await?;
    Ok(channel)
}

impl Receipt {
    /// A delivery is known by its number in a channel, and the channel by a number of ours.
    fn of(lane: u64, tag: u64) -> Receipt {
        Receipt(format!("{lane:x}-{tag}"))
    }

    fn tag(&self, lane: u64) -> Option<u64> {
        let (of, tag) = self.0.split_once('-')?;
        (u64::from_str_radix(of, 16) == Ok(lane)).then(|| tag.parse().ok())?
    }
}
