//! Everything that happens in a run, whichever process drives it: from its log, and from its coordinator as long as that lives.

use std::sync::Arc;
use std::time::Duration;

use conductor_core::run::event::Record;
use conductor_core::values::ids::RunId;

use super::control::Followed;
use super::control::async_client::{self, Following};
use crate::host::home::Home;
use crate::stores::{LogReader, StoreError};

/// How long a run that is claimed and cannot be followed is left alone.
const PAUSE: Duration = Duration::from_millis(50);

/// Each record once, in order, and only when it is durable.
pub struct Watching {
    store: Arc<dyn LogReader>,
    home: Home,
    run: RunId,
    /// The last that was told.
    last: u64,
    following: Option<Following>,
}

impl Watching {
    /// Behind the event of this number; 0 for all of them.
    pub fn new(home: Home, store: Arc<dyn LogReader>, run: RunId, after: u64) -> Watching {
        Watching { store, home, run, last: after, following: None }
    }

    /// The next records, as soon as there are any; nothing when no process drives the run and all was told.
    pub async fn next(&mut self) -> Result<Option<Vec<Record>>, StoreError> {
        loop {
            let Some(following) = &mut self.following else {
                // Looked at first, and followed before the log is read: nothing happens unseen in between.
                let is_live = self.home.is_live(&self.run);
                let following = async_client::follow(&self.home.run(&self.run)).await;
                self.following = following.ok().map(|(_, following)| following);
                match self.rest().await? {
                    records if !records.is_empty() => return Ok(Some(records)),
                    _ if !is_live => return Ok(None),
                    // It is about to begin or to end.
                    _ if self.following.is_none() => tokio::time::sleep(PAUSE).await,
                    _ => {}
                }
                continue;
            };
            match following.next().await {
                Some(Ok(Followed::Record(record))) if record.seq == self.last + 1 => {
                    self.last = record.seq;
                    return Ok(Some(vec![*record]));
                }
                Some(Ok(Followed::Record(record))) if record.seq <= self.last => {}
                Some(Ok(_)) => match self.rest().await? {
                    records if records.is_empty() => self.following = None,
                    records => return Ok(Some(records)),
                },
                Some(Err(_)) | None => self.following = None,
            }
        }
    }

    async fn rest(&mut self) -> Result<Vec<Record>, StoreError> {
        let records = self.store.load(&self.run, self.last).await?;
        self.last = records.last().map_or(self.last, |record| record.seq);
        Ok(records)
    }
}
