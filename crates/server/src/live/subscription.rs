//! One listener's way through a run: what it missed, then what happens, each event once.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::broadcast::Receiver;
use tokio::sync::broadcast::error::RecvError;

use super::feed::Feed;
use super::frame::Frame;
use crate::problem::Result;

/// How long the store may be behind what was told already.
const PATIENCE: u32 = 40;
const PAUSE: Duration = Duration::from_millis(50);

/// What comes next.
pub(crate) enum Told {
    Frame(Arc<Frame>),
    /// The listener was too slow, or the store too far behind: it has to come back with the number it has.
    TooSlow,
    Over,
}

pub(crate) struct Subscription {
    /// Kept while a client listens.
    _feed: Arc<Feed>,
    waiting: std::vec::IntoIter<Arc<Frame>>,
    receiver: Receiver<Arc<Frame>>,
    /// The last that was told.
    pub(crate) last: u64,
}

impl Subscription {
    /// From behind this number on.
    pub(crate) async fn begin(feed: Arc<Feed>, since: u64) -> Result<Subscription> {
        let (recent, receiver) = feed.listen();
        let known_from = recent.first().map(|frame| frame.first());
        let at = feed.look(|run| run.seq());
        let waiting = match known_from {
            _ if since >= at => Vec::new(),
            Some(first) if since + 1 >= first => recent,
            _ => {
                let published = recent.last().map_or(0, |frame| frame.last());
                with_store(&feed, since, published).await?.into_iter().map(Arc::new).chain(recent).collect()
            }
        };
        Ok(Subscription { _feed: feed, waiting: waiting.into_iter(), receiver, last: since })
    }

    pub(crate) async fn next(&mut self) -> Told {
        loop {
            let frame = match self.waiting.next() {
                Some(frame) => frame,
                None => match self.receiver.recv().await {
                    Ok(frame) => frame,
                    Err(RecvError::Lagged(_)) => return Told::TooSlow,
                    Err(RecvError::Closed) => return Told::Over,
                },
            };
            if frame.last() <= self.last {
                continue;
            }
            let frame = match frame.first() > self.last {
                true => frame,
                false => match frame.behind(self.last) {
                    Some(rest) => Arc::new(rest),
                    None => continue,
                },
            };
            // Behind what is told next, something may only be in the store.
            if frame.first() > self.last + 1 {
                return Told::TooSlow;
            }
            self.last = frame.last();
            return Told::Frame(frame);
        }
    }
}

/// What is in the store, at least up to what was told already.
async fn with_store(feed: &Feed, since: u64, published: u64) -> Result<Vec<Frame>> {
    let mut looks = 0;
    loop {
        let frames = feed.history(since).await?;
        looks += 1;
        if frames.last().map_or(since, Frame::last) >= published || looks >= PATIENCE {
            return Ok(frames);
        }
        tokio::time::sleep(PAUSE).await;
    }
}
