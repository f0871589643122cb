//! A connection to a server, with the channels on it. It is never mended: another takes its place.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use lapin::options::QueueDeclareOptions;
use lapin::tcp::OwnedTLSConfig;
use lapin::types::{AMQPValue, FieldTable, LongString};
use lapin::uri::{AMQPAuthority, AMQPQueryString, AMQPScheme, AMQPUri, AMQPUserInfo};
use lapin::{Channel, Connection, ConnectionProperties};

use super::super::{UNUSED, is_last_place};
use super::errors::{in_time, is_missing, told, told_at_once};
use super::lane::Lane;
use super::{Address, BrokerError, Leases, Queue, confirming};

/// Where the server knows no other, it allows this one from its own machine.
const GUEST: &str = "guest";

pub(super) struct Link {
    pub(super) connection: Connection,
    /// Confirms what is published.
    publishing: tokio::sync::Mutex<Option<Channel>>,
    leases: Leases,
    lanes: Mutex<HashMap<Queue, Vec<Arc<Lane>>>>,
    /// Queues that were there.
    declared: Mutex<HashSet<Queue>>,
    /// By one at a time: a server that makes one queue for several at once may give up the connection.
    declaring: tokio::sync::Mutex<()>,
}

impl Link {
    pub(super) async fn open(address: &Address, leases: Leases) -> Result<Link, BrokerError> {
        let properties = ConnectionProperties::default().with_connection_name("conductor".into());
        let made = Connection::connect_uri_with_config(
            uri(address, leases),
            properties,
            OwnedTLSConfig::default(),
            lapin::runtime::default_runtime().map_err(|error| told(address, &error))?,
        );
        let connection = in_time(address, made).await.map_err(|error| told_at_once(address, error))?;
        Ok(Link {
            connection,
            publishing: Default::default(),
            leases,
            lanes: Mutex::default(),
            declared: Mutex::default(),
            declaring: Default::default(),
        })
    }

    pub(super) fn is_alive(&self) -> bool {
        self.connection.status().connected()
    }

    pub(super) async fn publishing(&self, address: &Address) -> Result<Channel, BrokerError> {
        let mut publishing = self.publishing.lock().await;
        if let Some(channel) = publishing.as_ref().filter(|channel| channel.status().connected()) {
            return Ok(channel.clone());
        }
        let made = in_time(address, confirming(&self.connection)).await?;
        *publishing = Some(made.clone());
        Ok(made)
    }

    /// Publishes no more by this channel: a queue without a leader may hold it up. What is taken by others is not touched.
    pub(super) async fn retire(&self, channel: &Channel) {
        let mut publishing = self.publishing.lock().await;
        if publishing.as_ref().is_some_and(|now| now.id() == channel.id()) {
            // It goes when what others have published by it is answered.
            *publishing = None;
        }
    }

    /// The channels that take or have taken from a queue.
    pub(super) fn opened(&self, queue: &Queue) -> Vec<Arc<Lane>> {
        let mut lanes = self.lanes.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(opened) = lanes.get_mut(queue) else { return Vec::new() };
        opened.retain(|lane| lane.is_alive());
        if opened.is_empty() {
            lanes.remove(queue);
            return Vec::new();
        }
        opened.clone()
    }

    /// A channel of the caller's own that takes from a queue, which is made where it is not there.
    pub(super) async fn lane(
        &self,
        address: &Address,
        queue: &Queue,
        most: usize,
    ) -> Result<Arc<Lane>, BrokerError> {
        let opened = self.opened(queue);
        if let Some(lane) = opened.iter().find(|lane| lane.engage(most)) {
            return Ok(lane.clone());
        }
        if opened.is_empty() {
            self.declare(address, queue).await?;
        }
        let channel = in_time(address, self.connection.create_channel()).await?;
        let lane = Lane::on(channel, queue.name()?, self.leases, most);
        let mut lanes = self.lanes.lock().unwrap_or_else(PoisonError::into_inner);
        lanes.entry(queue.clone()).or_default().push(lane.clone());
        Ok(lane)
    }

    /// Makes a queue and the one where its messages are set aside, where they are not there. On a channel of its own: a
    /// refusal ends that.
    pub(super) async fn declare(&self, address: &Address, queue: &Queue) -> Result<(), BrokerError> {
        let _alone = self.declaring.lock().await;
        self.make(address, queue).await
    }

    async fn make(&self, address: &Address, queue: &Queue) -> Result<(), BrokerError> {
        let (name, aside) = (queue.name()?, queue.set_aside().name()?);
        let own = match is_last_place(&name) {
            true => vec![(name, endless())],
            false => vec![(aside.clone(), endless()), (name, limited(&aside, self.leases))],
        };
        let declared = async {
            let channel = self.connection.create_channel().await?;
            for (name, arguments) in own {
                channel.queue_declare(name.into(), QueueDeclareOptions::durable(), arguments).await?;
            }
            match channel.close(200, "".into()).await {
                Err(error) if !is_missing(&error) => Err(error),
                _ => Ok(()),
            }
        };
        in_time(address, declared).await?;
        self.known().insert(queue.clone());
        Ok(())
    }

    /// Makes a queue that was not seen yet: what is put where there is none comes back, and of several that are put at once
    /// it is not told which.
    pub(super) async fn provide(&self, address: &Address, queue: &Queue) -> Result<(), BrokerError> {
        if self.known().contains(queue) {
            return Ok(());
        }
        let _alone = self.declaring.lock().await;
        let is_known = self.known().contains(queue);
        match is_known {
            true => Ok(()),
            false => self.make(address, queue).await,
        }
    }

    pub(super) fn forget(&self, queue: &Queue) {
        self.known().remove(queue);
    }

    fn known(&self) -> MutexGuard<'_, HashSet<Queue>> {
        self.declared.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn uri(address: &Address, leases: Leases) -> AMQPUri {
    let user = address.user.clone();
    let (username, password) = match (user, address.password.clone()) {
        (None, None) => (GUEST.to_owned(), GUEST.to_owned()),
        (user, password) => (user.unwrap_or_else(|| GUEST.to_owned()), password.unwrap_or_default()),
    };
    // A server gives up on a taker that is silent for twice this long: its messages are due again by then.
    let heartbeat = (leases.redelivery.as_secs() / 3).clamp(1, 60) as u16;
    AMQPUri {
        scheme: if address.is_encrypted { AMQPScheme::AMQPS } else { AMQPScheme::AMQP },
        authority: AMQPAuthority {
            userinfo: AMQPUserInfo { username, password },
            host: address.host.clone(),
            port: address.port,
        },
        vhost: if address.path.is_empty() { "/".to_owned() } else { address.path.clone() },
        query: AMQPQueryString { heartbeat: Some(heartbeat), ..Default::default() },
    }
}

/// Of every queue.
fn common() -> FieldTable {
    let mut table = FieldTable::default();
    table.insert("x-queue-type".into(), text("quorum"));
    table.insert("x-expires".into(), AMQPValue::LongLongInt(UNUSED.as_millis() as i64));
    table
}

/// A message that comes too often goes to the other queue, and leaves this one only when it is there.
fn limited(aside: &str, leases: Leases) -> FieldTable {
    let mut table = common();
    // The first delivery does not count.
    table.insert("x-delivery-limit".into(), AMQPValue::LongLongInt(i64::from(leases.deliveries) - 1));
    table.insert("x-dead-letter-exchange".into(), text(""));
    table.insert("x-dead-letter-routing-key".into(), text(aside));
    table.insert("x-dead-letter-strategy".into(), text("at-least-once"));
    table.insert("x-overflow".into(), text("reject-publish"));
    table
}

/// Of the last place there is: newer servers have a limit of their own, beyond which messages are dropped.
fn endless() -> FieldTable {
    let mut table = common();
    table.insert("x-delivery-limit".into(), AMQPValue::LongLongInt(i64::from(i32::MAX)));
    table
}

fn text(text: &str) -> AMQPValue {
    AMQPValue::LongString(LongString::from(text))
}
