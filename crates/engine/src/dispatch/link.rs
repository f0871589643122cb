//! How attempts reach their coordinator: what they report and what is to be told, and what they show of themselves.

use std::sync::Arc;

use conductor_core::schedule::Input;
use tokio::sync::mpsc;

use super::board::Board;
use super::messages::{Control, Message};
use crate::host::redact;
use crate::process::transcript::Marks;

#[derive(Clone)]
pub struct Link {
    pub(crate) reports: mpsc::UnboundedSender<Message>,
    pub(crate) notices: mpsc::UnboundedSender<String>,
    pub(crate) board: Board,
    pub(crate) marks: Arc<Marks>,
}

impl Link {
    pub(crate) fn new(
        reports: mpsc::UnboundedSender<Message>,
        notices: mpsc::UnboundedSender<String>,
    ) -> Link {
        Link { reports, notices, board: Board::default(), marks: Arc::default() }
    }

    /// Sending fails only while the whole run is torn down; then the report does not matter.
    pub(crate) fn report(&self, input: Input) {
        let _ = self.reports.send(Message::Input(input));
    }

    /// Tells the user something.
    pub(crate) fn notice(&self, text: String) {
        let text = redact::known().string(text);
        tracing::info!(notice = text, "told the user");
        let _ = self.notices.send(text);
    }

    pub(crate) fn control(&self) -> Control {
        Control::new(self.reports.clone())
    }
}
