//! A run that is looked at: its log as it grows, and what its coordinator knows beside it.

use std::sync::Arc;
use std::time::Duration;

use conductor_core::values::ids::RunId;
use conductor_engine::agents;
use conductor_engine::runs::control::async_client;
use conductor_engine::runs::watching::Watching;
use conductor_engine::stores::{StoredRun, briefly};
use tokio::sync::Notify;
use tokio::task::JoinSet;
use tokio::time::MissedTickBehavior;

use super::Feed;
use crate::app::{Message, Watched};

/// How often a live run is looked at: times are shown in seconds.
const BEAT: Duration = Duration::from_secs(1);
/// After something has happened it is looked at sooner, but not at every event.
const SOON: Duration = Duration::from_millis(150);

impl Feed {
    /// A run as its log has it.
    pub(crate) async fn read(&self, stored: StoredRun) -> Result<Watched, String> {
        let records = briefly(|| self.store.load(&stored.id, 0)).await.map_err(|error| error.to_string())?;
        let watched =
            Watched::new(stored, records).map_err(|error| format!("the run cannot be read: {error}"))?;
        agents::keep_secrets_of(watched.run().plan());
        Ok(watched)
    }
}

impl Feed {
    /// How a run is by its coordinator; nothing where none answers.
    pub(crate) async fn look(&self, run: &RunId) -> Option<Message> {
        if !self.home.is_live(run) {
            return None;
        }
        let view = async_client::live_view(&self.home.run(run)).await.ok()?;
        Some(Message::Live { run: run.clone(), view: Some(Box::new(view)) })
    }
}

/// Follows a run as long as this is held.
pub(crate) struct Follower {
    /// Dropping it ends them.
    _tasks: JoinSet<()>,
    news: Arc<Notify>,
}

impl Follower {
    /// From behind the event of this number.
    pub(crate) fn new(feed: &Feed, run: &RunId, after: u64) -> Follower {
        let (news, again) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
        let mut tasks = JoinSet::new();
        tasks.spawn(follow(feed.clone(), run.clone(), after, (news.clone(), again.clone())));
        tasks.spawn(look(feed.clone(), run.clone(), (news.clone(), again)));
        Follower { _tasks: tasks, news }
    }

    /// By which it is said that something was asked of the run: it is looked at soon.
    pub(crate) fn handle(&self) -> Arc<Notify> {
        self.news.clone()
    }
}

async fn follow(feed: Feed, run: RunId, after: u64, (news, again): (Arc<Notify>, Arc<Notify>)) {
    let mut last = after;
    loop {
        let mut watching = Watching::new(feed.home.clone(), feed.store.clone(), run.clone(), last);
        loop {
            match watching.next().await {
                Ok(Some(records)) => {
                    last = records.last().map_or(last, |record| record.seq);
                    feed.send(Message::Records { run: run.clone(), records });
                    news.notify_one();
                }
                Ok(None) => break,
                Err(error) => {
                    feed.send(Message::Said(Err(format!("the log cannot be read: {error}"))));
                    tokio::time::sleep(BEAT).await;
                }
            }
        }
        // No process drives it: until one does, or something was recorded by hand.
        again.notified().await;
    }
}

/// Asks the coordinator how things are, at every beat and soon after news.
async fn look(feed: Feed, run: RunId, (news, again): (Arc<Notify>, Arc<Notify>)) {
    let mut beat = tokio::time::interval(BEAT);
    beat.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut was_live = None;
    loop {
        let is_news = tokio::select! {
            _ = beat.tick() => false,
            () = news.notified() => {
                tokio::time::sleep(SOON).await;
                true
            }
        };
        let is_live = feed.home.is_live(&run);
        match feed.look(&run).await {
            Some(live) => feed.send(live),
            None if !is_live && was_live != Some(false) => {
                feed.send(Message::Live { run: run.clone(), view: None });
            }
            // It is busy or about to begin, and answers another time.
            None => {}
        }
        if is_news || is_live && was_live == Some(false) {
            again.notify_one();
        }
        was_live = Some(is_live);
    }
}
