//! Requests to a run, whichever process drives it; and to one that no process drives.

use std::sync::Arc;

use conductor_core::schedule::{Request, Wait};
use conductor_core::values::ids::{RunId, TaskId};
use conductor_engine::dispatch::{Query, View};
use conductor_engine::runs::control::{ControlError, async_client};
use tokio::sync::Notify;
use tokio::sync::mpsc::UnboundedReceiver;

use super::Feed;
use crate::app::Message;

/// Something that a key asked for.
pub(crate) struct Ask {
    pub(crate) run: RunId,
    pub(crate) request: Request,
    /// The command that says the same.
    pub(crate) words: Vec<String>,
    pub(crate) done: String,
    /// Rung when it was asked: the run is looked at soon.
    pub(crate) news: Option<Arc<Notify>>,
}

/// Asks one after the other: two keys that are pressed fast mean what they mean in that order.
pub(crate) async fn ask_all(feed: Feed, mut asks: UnboundedReceiver<Ask>) {
    while let Some(Ask { run, request, words, done, news }) = asks.recv().await {
        let message = feed.ask(&run, request, words, done).await;
        feed.send(message);
        news.iter().for_each(|news| news.notify_one());
    }
}

impl Feed {
    /// Asks the coordinator. Where there is none, the command of these words records the same.
    async fn ask(&self, run: &RunId, request: Request, words: Vec<String>, done: String) -> Message {
        match async_client::ask(&self.home.run(run), &request).await {
            Ok(()) => Message::Said(Ok(done)),
            Err(ControlError::NotThere) if !self.home.is_live(run) => {
                Message::Said(self.said_by(words).await)
            }
            Err(ControlError::NotThere | ControlError::Silent) => Message::Said(Err(format!(
                "run {run} is running but does not answer; it may still do what was asked"
            ))),
            Err(error) => Message::Said(Err(error.to_string())),
        }
    }

    /// What a task waits for, as its coordinator has it.
    pub(crate) async fn waits(&self, run: RunId, task: TaskId) -> Message {
        let seen = async_client::look(&self.home.run(&run), Query::Why(task.clone())).await;
        let waits: Option<Vec<Wait>> = match seen {
            Ok(View::Why(why)) => Some(why.why),
            _ => None,
        };
        Message::Waits { run, task, waits }
    }
}
