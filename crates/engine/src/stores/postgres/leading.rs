//! Which machine drives a run. A claim holds as long as it is renewed, by the clock of the server; while it holds, no other
//! machine gets the run. On one machine the lock on the run's folder comes first.
//!
//! It only keeps machines out of each other's way. That no two of them write one log is seen to by the epoch, whatever
//! any clock says.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use conductor_core::values::ids::RunId;
use tokio::task::AbortHandle;
use tokio::time::Instant;

use super::connections::Connections;
use super::errors;
use super::statements::{self, HOLD};
use crate::stores::Epoch;

/// Two renewals may be lost.
const RENEWAL: Duration = Duration::from_secs(HOLD / 3);

/// What this process has claimed, renewed as long as this lives.
pub(super) struct Claims {
    held: Held,
    renewing: Mutex<Option<AbortHandle>>,
}

type Held = Arc<Mutex<HashMap<RunId, (i64, Epoch)>>>;

impl Claims {
    pub(super) fn none() -> Claims {
        Claims { held: Held::default(), renewing: Mutex::default() }
    }

    pub(super) fn add(&self, connections: &Arc<Connections>, run: &RunId, key: i64, epoch: Epoch) {
        lock(&self.held).insert(run.clone(), (key, epoch));
        let mut renewing = lock(&self.renewing);
        if renewing.is_none() {
            *renewing = Some(tokio::spawn(renew(connections.clone(), self.held.clone())).abort_handle());
        }
    }

    /// It is renewed no more.
    pub(super) fn end(&self, run: &RunId) {
        lock(&self.held).remove(run);
    }
}

impl Drop for Claims {
    fn drop(&mut self) {
        if let Some(renewing) = lock(&self.renewing).take() {
            renewing.abort();
        }
    }
}

/// A renewal that fails is made up for by the next, or the claim ends: then another machine may take the run over, and
/// this one is told so by its next append.
async fn renew(connections: Arc<Connections>, held: Held) {
    let mut times = tokio::time::interval_at(Instant::now() + RENEWAL, RENEWAL);
    times.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    loop {
        times.tick().await;
        let claims: Vec<(i64, Epoch)> = lock(&held).values().copied().collect();
        if claims.is_empty() {
            continue;
        }
        let renewed = connections.call(async |connection| {
            let renewed = statements::renew(connection, &claims).await;
            renewed.map_err(|error| errors::told(&connections.place, error))
        });
        if let Err(error) = renewed.await {
            tracing::warn!(%error, "the claims of this machine were not renewed");
        }
    }
}

fn lock<T>(what: &Mutex<T>) -> MutexGuard<'_, T> {
    what.lock().unwrap_or_else(PoisonError::into_inner)
}
