//! What is read from the world and asked of it: logs, live runs, git, other programs. Nothing of it keeps the view waiting.

pub(crate) mod asking;
pub(crate) mod boards;
pub(crate) mod programs;
pub(crate) mod reading;
pub(crate) mod watching;

use std::path::PathBuf;
use std::sync::Arc;

use conductor_engine::host::home::Home;
use conductor_engine::stores::LogReader;
use tokio::sync::mpsc::UnboundedSender;

use crate::app::Message;

/// Where everything is, and where messages go.
#[derive(Clone)]
pub(crate) struct Feed {
    pub(crate) home: Home,
    pub(crate) store: Arc<dyn LogReader>,
    /// Where the user is.
    pub(crate) directory: PathBuf,
    /// Conductor's own program, and words that go before every command.
    pub(crate) program: PathBuf,
    pub(crate) messages: UnboundedSender<Message>,
}

impl Feed {
    /// A view that is gone hears nothing.
    pub(crate) fn send(&self, message: Message) {
        let _ = self.messages.send(message);
    }
}
