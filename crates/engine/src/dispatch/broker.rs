//! What carries messages between coordinators and workers on other machines.
//!
//! A broker decides nothing and is trusted with nothing: who may do what, and what counts, is in the signed messages. Losing
//! all that is in it costs time, never work.

// A build without any backend reads an address only to say so.
#[cfg_attr(not(any(feature = "redis", feature = "rabbitmq")), allow(dead_code))]
mod address;
#[cfg(test)]
#[cfg(all(feature = "redis", feature = "rabbitmq"))]
mod contract;
#[cfg(feature = "rabbitmq")]
mod rabbitmq;
#[cfg(feature = "redis")]
mod redis;

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use thiserror::Error;

use address::{Address, Environment};

/// The longest that a message which was taken and not settled stays away from other takers.
pub const REDELIVERY: Duration = Duration::from_secs(30);

/// A message that came this often and was never settled is set aside: it ends what takes it.
pub const DELIVERIES: u32 = 100;

/// A queue that was not used for this long goes, with all that is in it: its coordinator or worker will not come back.
pub const UNUSED: Duration = Duration::from_secs(7 * 24 * 60 * 60);

/// The name of a queue: letters, digits, `.`, `_` and `-` alone, 200 at the most.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Queue(pub String);

impl Queue {
    /// Where messages of this queue are set aside; a queue like any other, which goes with this one.
    pub fn set_aside(&self) -> Queue {
        Queue(format!("{}{ASIDE}", self.0))
    }

    /// By what the broker calls it.
    #[cfg(feature = "rabbitmq")]
    fn named(name: &str) -> Queue {
        Queue(name.strip_prefix(PREFIX).unwrap_or(name).to_owned())
    }

    /// As the broker knows it, beside whatever else is in it.
    #[cfg(any(feature = "redis", feature = "rabbitmq"))]
    fn name(&self) -> Result<String, BrokerError> {
        let fits = |char: char| char.is_ascii_alphanumeric() || ".-_".contains(char);
        let own = self.0.strip_suffix(ASIDE).unwrap_or(&self.0);
        match self.0.chars().all(fits) && (1..=200).contains(&own.len()) {
            true => Ok(format!("{PREFIX}{}", self.0)),
            false => Err(BrokerError::Unusable {
                place: format!("{:?}", self.0),
                why: "this is no name of a queue".to_owned(),
                remedy: "it takes letters, digits, dots, underscores and hyphens, 200 at the most".to_owned(),
            }),
        }
    }
}

const ASIDE: &str = ".aside";

#[cfg(any(feature = "redis", feature = "rabbitmq"))]
const PREFIX: &str = "conductor.";

/// Whether messages of a queue of this name are kept as they are: there is no further place for them.
#[cfg(any(feature = "redis", feature = "rabbitmq"))]
fn is_last_place(name: &str) -> bool {
    name.ends_with(ASIDE)
}

/// How long a message is a taker's, and how often it may come.
#[derive(Debug, Clone, Copy)]
#[cfg_attr(not(any(feature = "redis", feature = "rabbitmq")), allow(dead_code))]
struct Leases {
    redelivery: Duration,
    deliveries: u32,
}

#[cfg(any(feature = "redis", feature = "rabbitmq"))]
impl Leases {
    /// How often it is looked for what is due, so that it is with another taker in time.
    fn step(self) -> Duration {
        self.redelivery / 10
    }

    fn due_after(self) -> Duration {
        self.redelivery - self.step()
    }
}

/// An address as it may be written down: without its password. None where it cannot be read.
pub fn without_password(address: &str) -> Option<String> {
    address::without_password(address)
}

/// The broker of this address. Nothing is asked of it yet, so it may be away.
pub fn open(address: &str) -> Result<Arc<dyn Broker>, BrokerError> {
    let address = Address::parse(address, Environment::read())?;
    connect(address, Leases { redelivery: REDELIVERY, deliveries: DELIVERIES })
}

fn connect(address: Address, leases: Leases) -> Result<Arc<dyn Broker>, BrokerError> {
    match address.is_redis {
        #[cfg(feature = "redis")]
        true => Ok(Arc::new(redis::Redis::new(address, leases)?)),
        #[cfg(feature = "rabbitmq")]
        false => Ok(Arc::new(rabbitmq::RabbitMq::new(address, leases))),
        #[cfg(not(all(feature = "redis", feature = "rabbitmq")))]
        is_redis => {
            let _ = leases;
            let (name, feature) = if is_redis { ("Redis", "redis") } else { ("RabbitMQ", "rabbitmq") };
            let remedy = format!("build it with --features {feature} (docs/distribution.md)");
            Err(address.unusable(format!("this program was built without {name}"), &remedy))
        }
    }
}

/// A message that was taken.
#[derive(Debug)]
pub struct Delivery {
    pub message: Vec<u8>,
    pub receipt: Receipt,
}

/// By which a broker knows one delivery again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Receipt(pub String);

#[derive(Debug, Error)]
pub enum BrokerError {
    /// It will pass: the connection broke, the broker starts. The same call may be made again.
    #[error("the queue at {place} cannot be reached: {why}")]
    Away { place: String, why: String },
    /// It will not pass by itself.
    #[error("the queue at {place} cannot be used: {why}; {remedy}")]
    Unusable { place: String, why: String, remedy: String },
}

pub type Task<'a, T> = Pin<Box<dyn Future<Output = Result<T, BrokerError>> + Send + 'a>>;

/// The backends, one line each: `Redis`, streams of Redis or Valkey; `RabbitMq`, quorum queues.
pub trait Broker: Send + Sync {
    /// Whether it keeps what it is given. What would lose messages on a restart is an error with its remedy.
    fn examine(&self) -> Task<'_, ()>;

    /// When it completes, the broker has said that it has the message; where it fails, it may have it all the same.
    fn put<'a>(&'a self, queue: &'a Queue, message: &'a [u8]) -> Task<'a, ()>;

    /// The next messages, `most` at the most, each to one taker; waits up to `wait` for the first. What was taken and is not
    /// settled comes again, to any taker, when its taker's connection is gone or `REDELIVERY` is over.
    fn take<'a>(&'a self, queue: &'a Queue, most: usize, wait: Duration) -> Task<'a, Vec<Delivery>>;

    /// These were dealt with and never come again. To settle what is settled, or came again meanwhile, is no error.
    fn settle<'a>(&'a self, queue: &'a Queue, receipts: &'a [Receipt]) -> Task<'a, ()>;

    /// How many messages wait or are taken and not settled. A queue that is not there has none. What others have taken counts
    /// only where the broker tells it: RabbitMQ does not.
    fn depth<'a>(&'a self, queue: &'a Queue) -> Task<'a, u64>;

    /// The queue goes, and all that is in it. One that is not there is no error.
    fn remove<'a>(&'a self, queue: &'a Queue) -> Task<'a, ()>;
}
