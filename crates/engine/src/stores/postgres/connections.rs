//! Connections to a server, kept for the next call.
//!
//! A connection can be used as long as the runtime lives in which it was made. Threads that wait for a store have one of their
//! own for one call; so only connections of the runtime in which the store was opened are kept, and only there.
//!
//! Not sqlx's own pool: it gives connections back in tasks of its own, which a process that is about to end would cut off.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use sqlx::postgres::{PgConnectOptions, PgConnection};
use sqlx::{ConnectOptions as _, Connection as _};
use tokio::runtime::{Handle, Id};
use tokio::sync::Semaphore;
use tokio::time::timeout;

use super::errors;
use crate::stores::StoreError;

/// A process appends, renews its claims and reads at once. Servers have a hundred connections for all who come.
const MOST: usize = 4;

/// How long a connection is waited for: a little less than a command waits that only looks.
const PATIENCE: Duration = Duration::from_secs(3);

/// How long the server may take over one call; the connection is given up then, and the call can be made again.
const ANSWER: Duration = Duration::from_secs(15);

pub(super) struct Connections {
    /// The address without its password.
    pub(super) place: String,
    options: PgConnectOptions,
    /// The runtime in which the store was opened.
    runtime: Option<Id>,
    idle: Mutex<Vec<PgConnection>>,
    room: Semaphore,
}

impl Connections {
    pub(super) fn to(place: String, options: PgConnectOptions) -> Connections {
        let (idle, room) = (Mutex::default(), Semaphore::new(MOST));
        Connections { place, options, runtime: current(), idle, room }
    }

    /// One call on one connection. After a call that failed its connection is closed: what it had begun on the server is undone
    /// with it, and a server that was restarted has ended the others, too.
    pub(super) async fn call<T, F>(&self, work: F) -> Result<T, StoreError>
    where
        F: for<'c> AsyncFnOnce(&'c mut PgConnection) -> Result<T, StoreError>,
    {
        let _room = self.room.acquire().await;
        let keeps = self.runtime.is_some() && self.runtime == current();
        let idle = if keeps { self.idle().pop() } else { None };
        let mut connection = match idle {
            Some(connection) => connection,
            None => match timeout(PATIENCE, self.options.connect()).await {
                Ok(connected) => connected.map_err(|error| errors::told(&self.place, error))?,
                Err(_) => return Err(self.silent(PATIENCE)),
            },
        };
        match timeout(ANSWER, work(&mut connection)).await {
            Ok(Ok(done)) => {
                match keeps {
                    true => self.idle().push(connection),
                    // What was asked is done, and the server finds out by itself otherwise.
                    false => drop(timeout(PATIENCE, connection.close()).await),
                }
                Ok(done)
            }
            Ok(Err(error)) => {
                if matches!(error, StoreError::Unavailable { .. }) {
                    self.idle().clear();
                }
                Err(error)
            }
            Err(_) => {
                self.idle().clear();
                Err(self.silent(ANSWER))
            }
        }
    }

    fn silent(&self, time: Duration) -> StoreError {
        StoreError::Unavailable {
            why: format!("{} has not answered within {} s", self.place, time.as_secs()),
        }
    }

    fn idle(&self) -> MutexGuard<'_, Vec<PgConnection>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn current() -> Option<Id> {
    Handle::try_current().ok().map(|handle| handle.id())
}
