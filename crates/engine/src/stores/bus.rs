//! Hands durable records to subscribers. One that is slow or gone holds up neither the run nor the others.

use std::sync::Arc;

use conductor_core::run::event::Record;
use tokio::sync::mpsc;

pub type Records = Arc<[Record]>;

#[derive(Debug, Default)]
pub struct Bus {
    onlookers: Vec<mpsc::UnboundedSender<Records>>,
}

impl Bus {
    /// Everything published from now on.
    pub fn subscribe(&mut self) -> mpsc::UnboundedReceiver<Records> {
        let (sender, receiver) = mpsc::unbounded_channel();
        self.onlookers.push(sender);
        receiver
    }

    pub(crate) fn publish(&mut self, records: Records) {
        self.onlookers.retain(|onlooker| onlooker.send(records.clone()).is_ok());
    }
}
