//! Messages as they come in on a stream that carries all of them, read by a thread of its own.

use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

use serde_json::Value;

use super::{LinkError, result_of};

/// What a reading thread hands over.
#[derive(Debug)]
pub(super) enum Incoming {
    /// An answer to one of our requests.
    Message(Value),
    /// Text that is no message.
    Garbage(String),
    /// The stream ended; the server's last words, where it left any.
    Ended(String),
}

#[derive(Debug)]
pub(super) struct Inbox {
    receiver: Receiver<Incoming>,
}

impl Inbox {
    pub(super) fn new(receiver: Receiver<Incoming>) -> Inbox {
        Inbox { receiver }
    }

    /// Waits for the answer to one request. Late answers to earlier ones are passed over.
    pub(super) fn answer_to(&self, id: &Value, within: Duration) -> Result<Value, LinkError> {
        let deadline = Instant::now() + within;
        loop {
            match self.receiver.recv_timeout(deadline.saturating_duration_since(Instant::now())) {
                Ok(Incoming::Message(message)) if message.get("id") == Some(id) => {
                    return result_of(&message);
                }
                Ok(Incoming::Message(_)) => {}
                Ok(Incoming::Garbage(text)) => return Err(LinkError::Garbage(text)),
                Ok(Incoming::Ended(said)) => return Err(LinkError::Died(said)),
                Err(RecvTimeoutError::Timeout) => return Err(LinkError::Silent(within)),
                Err(RecvTimeoutError::Disconnected) => return Err(LinkError::Died(String::new())),
            }
        }
    }
}

/// The beginning of a text that may be long and may be anything.
pub(super) fn excerpt(text: &str) -> String {
    const CHARS: usize = 200;
    let line: String = text.chars().filter(|c| !c.is_control()).take(CHARS).collect();
    if line.is_empty() { "an empty line".to_owned() } else { line }
}
