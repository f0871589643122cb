//! Streams of Redis (or Valkey): one for each queue, with one group of consumers.
//!
//! The group knows what was taken and when, not by whom: all takers go by one name in it, so nothing is left behind by those
//! that are gone. A message that is settled leaves the stream, so what is in the stream is what waits or is taken.

mod connections;
mod errors;
mod examine;

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use redis::aio::MultiplexedConnection;
use redis::streams::{StreamAutoClaimReply, StreamId, StreamPendingCountReply, StreamReadReply};
use redis::{RedisError, RedisResult, Value, cmd};

use super::address::Address;
use super::{ASIDE, Broker, BrokerError, Delivery, Leases, Queue, Receipt, Task, UNUSED, is_last_place};
use connections::{Connections, Repeat};
use errors::{is_code, told};

/// The one group of each stream, and the one consumer in it.
const GROUP: &str = "conductor";
const TAKER: &str = "taker";

/// The field of an entry that holds the message.
const MESSAGE: &str = "m";

/// Before the first entry, and where a sweep has seen all.
const START: &str = "0-0";

pub(super) struct Redis {
    connections: Connections,
    leases: Leases,
    sweeps: Mutex<HashMap<String, Sweep>>,
}

/// How far a stream was looked through for messages that are due again.
#[derive(Clone)]
struct Sweep {
    cursor: String,
    done: Option<Instant>,
}

impl Redis {
    pub(super) fn new(address: Address, leases: Leases) -> Result<Redis, BrokerError> {
        let connections = Connections::to(address, leases.step())?;
        Ok(Redis { connections, leases, sweeps: Mutex::default() })
    }

    fn address(&self) -> &Address {
        &self.connections.address
    }

    async fn take_some(
        &self,
        queue: &Queue,
        most: usize,
        wait: Duration,
    ) -> Result<Vec<Delivery>, BrokerError> {
        let (name, until) = (queue.name()?, Instant::now() + wait);
        loop {
            let (mut connection, is_fresh) = self.connections.waiting().await?;
            let taken = self.take_from(&mut connection, &name, most, until).await;
            match taken {
                Ok(taken) => {
                    self.connections.give_back(connection);
                    return Ok(taken);
                }
                // One that had broken unseen says nothing of the server.
                Err(error) if errors::is_broken(&error) && !is_fresh => {}
                Err(error) => return Err(told(self.address(), &error)),
            }
        }
    }

    async fn take_from(
        &self,
        connection: &mut MultiplexedConnection,
        name: &str,
        most: usize,
        until: Instant,
    ) -> RedisResult<Vec<Delivery>> {
        loop {
            let due = self.due_again(connection, name, most).await?;
            if !due.is_empty() {
                return Ok(due);
            }
            let left = until.saturating_duration_since(Instant::now());
            let taken = read(connection, name, most, left.min(self.leases.step())).await?;
            if !taken.is_empty() || left.is_zero() {
                return Ok(taken);
            }
        }
    }

    /// What was taken so long ago that it comes again. Looked for once in a step, by a sweep that goes on where it stopped.
    async fn due_again(
        &self,
        connection: &mut MultiplexedConnection,
        name: &str,
        most: usize,
    ) -> RedisResult<Vec<Delivery>> {
        let sweep = self.sweeps.lock().unwrap_or_else(PoisonError::into_inner).get(name).cloned();
        let sweep = sweep.unwrap_or(Sweep { cursor: START.to_owned(), done: None });
        if sweep.done.is_some_and(|done| done.elapsed() < self.leases.step()) {
            return Ok(Vec::new());
        }
        let idle = self.leases.due_after().as_millis() as u64;
        let mut cursor = sweep.cursor;
        loop {
            let mut claim = cmd("XAUTOCLAIM");
            claim.arg(name).arg(GROUP).arg(TAKER).arg(idle).arg(&cursor).arg("COUNT").arg(most);
            let found: StreamAutoClaimReply = match claim.query_async(connection).await {
                Err(error) if is_code(&error, "NOGROUP") => return Ok(Vec::new()),
                answer => answer?,
            };
            cursor = found.next_stream_id;
            let is_over = cursor == START;
            if !found.claimed.is_empty() || is_over {
                let sweep = Sweep { cursor, done: is_over.then(Instant::now) };
                self.sweeps.lock().unwrap_or_else(PoisonError::into_inner).insert(name.to_owned(), sweep);
                return self.without_poison(connection, name, found.claimed).await;
            }
        }
    }

    /// Sets those aside that came too often.
    async fn without_poison(
        &self,
        connection: &mut MultiplexedConnection,
        name: &str,
        claimed: Vec<StreamId>,
    ) -> RedisResult<Vec<Delivery>> {
        if claimed.is_empty() || is_last_place(name) {
            return claimed.into_iter().map(delivery).collect();
        }
        let mut asked = redis::pipe();
        for entry in &claimed {
            asked.cmd("XPENDING").arg(name).arg(GROUP).arg(&entry.id).arg(&entry.id).arg(1);
        }
        let counts: Vec<StreamPendingCountReply> = asked.query_async(connection).await?;
        let mut deliveries = Vec::new();
        for (entry, pending) in claimed.into_iter().zip(counts) {
            let times = pending.ids.first().map_or(0, |pending| pending.times_delivered);
            let delivery = delivery(entry)?;
            if times <= self.leases.deliveries as usize {
                deliveries.push(delivery);
                continue;
            }
            let (aside, Receipt(id)) = (format!("{name}{ASIDE}"), delivery.receipt);
            let mut moved = redis::pipe();
            moved.atomic().cmd("XADD").arg(&aside).arg("*").arg(MESSAGE).arg(delivery.message).ignore();
            moved.cmd("XACK").arg(name).arg(GROUP).arg(&id).ignore().cmd("XDEL").arg(name).arg(&id).ignore();
            moved.cmd("EXPIRE").arg(&aside).arg(UNUSED.as_secs()).ignore();
            moved.query_async::<()>(connection).await?;
            let times = times - 1;
            tracing::warn!(
                queue = name,
                aside,
                "a message that came {times} times and was never settled is set aside"
            );
        }
        Ok(deliveries)
    }
}

/// The next that none has taken yet. Nothing where the queue goes meanwhile.
async fn read(
    connection: &mut MultiplexedConnection,
    name: &str,
    most: usize,
    wait: Duration,
) -> RedisResult<Vec<Delivery>> {
    let mut read = cmd("XREADGROUP");
    read.arg("GROUP").arg(GROUP).arg(TAKER).arg("COUNT").arg(most);
    // To wait for 0 is to wait for ever.
    if !wait.is_zero() {
        read.arg("BLOCK").arg(wait.as_millis().max(1) as u64);
    }
    read.arg("STREAMS").arg(name).arg(">");
    let mut answer: RedisResult<Option<StreamReadReply>> = read.query_async(connection).await;
    if answer.as_ref().is_err_and(|error| is_code(error, "NOGROUP")) {
        make_group(connection, name).await?;
        answer = read.query_async(connection).await;
    }
    let found = match answer {
        Ok(found) => found.unwrap_or_default(),
        Err(error) if is_code(&error, "UNBLOCKED") || is_code(&error, "NOGROUP") => return Ok(Vec::new()),
        Err(error) => return Err(error),
    };
    found.keys.into_iter().flat_map(|stream| stream.ids).map(delivery).collect()
}

/// From the first message on, for it may have been put before any taker came.
async fn make_group(connection: &mut MultiplexedConnection, name: &str) -> RedisResult<()> {
    let mut make = cmd("XGROUP");
    let made: RedisResult<Value> =
        make.arg("CREATE").arg(name).arg(GROUP).arg("0").arg("MKSTREAM").query_async(connection).await;
    match made {
        Err(error) if !is_code(&error, "BUSYGROUP") => Err(error),
        _ => cmd("EXPIRE").arg(name).arg(UNUSED.as_secs()).query_async(connection).await,
    }
}

fn delivery(mut entry: StreamId) -> RedisResult<Delivery> {
    match entry.map.remove(MESSAGE) {
        Some(Value::BulkString(message)) => Ok(Delivery { message, receipt: Receipt(entry.id) }),
        _ => Err(RedisError::from((redis::ErrorKind::UnexpectedReturnType, "an entry holds no message"))),
    }
}

impl Broker for Redis {
    fn examine(&self) -> Task<'_, ()> {
        Box::pin(examine::examine(&self.connections))
    }

    fn put<'a>(&'a self, queue: &'a Queue, message: &'a [u8]) -> Task<'a, ()> {
        Box::pin(async move {
            let (name, mut put) = (queue.name()?, redis::pipe());
            put.cmd("XADD").arg(&name).arg("*").arg(MESSAGE).arg(message).ignore();
            put.cmd("EXPIRE").arg(&name).arg(UNUSED.as_secs()).ignore();
            self.connections.query(&put, Repeat::No).await
        })
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
            if receipts.is_empty() {
                return Ok(());
            }
            let (name, ids) = (queue.name()?, receipts.iter().map(|receipt| &receipt.0).collect::<Vec<_>>());
            // Both or none: what is in the stream and not in the group's list would never come again.
            let mut settle = redis::pipe();
            settle.atomic().cmd("XACK").arg(&name).arg(GROUP).arg(&ids).ignore();
            settle.cmd("XDEL").arg(&name).arg(&ids).ignore();
            self.connections.query(&settle, Repeat::Yes).await
        })
    }

    fn depth<'a>(&'a self, queue: &'a Queue) -> Task<'a, u64> {
        Box::pin(async move {
            let mut depth = redis::pipe();
            depth.cmd("XLEN").arg(queue.name()?);
            let (depth,) = self.connections.query(&depth, Repeat::Yes).await?;
            Ok(depth)
        })
    }

    fn remove<'a>(&'a self, queue: &'a Queue) -> Task<'a, ()> {
        Box::pin(async move {
            let mut remove = redis::pipe();
            remove.cmd("UNLINK").arg(queue.name()?).arg(queue.set_aside().name()?).ignore();
            self.connections.query(&remove, Repeat::Yes).await
        })
    }
}
