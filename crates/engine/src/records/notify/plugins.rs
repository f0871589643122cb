//! Notifiers: plugins that deliver notifications. Each is started with its first message and asked for one after the other;
//! one that fails is not asked again in this run.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use conductor_core::report::notify::Telling;
use serde_json::json;

use crate::agents::Caller;
use crate::plugins::{self, Environment, Exchange, Kind, Limits, PROTOCOL, PluginError};

/// The end of a run waits for notifications, so that none may take long.
const LIMITS: Limits =
    Limits { hello: Duration::from_secs(2), answer: Duration::from_secs(5), line: 64 << 10, total: 4 << 20 };

pub(super) struct Notifiers {
    directory: PathBuf,
    environment: Environment,
    /// By name; nothing for one that has failed.
    known: BTreeMap<String, Option<Exchange>>,
}

impl Notifiers {
    pub(super) fn new(directory: &Path) -> Notifiers {
        let environment = Caller::new(std::env::vars_os()).for_plugins();
        Notifiers { directory: directory.to_owned(), environment, known: BTreeMap::new() }
    }

    /// Has a message delivered; says what went wrong, once for each notifier.
    pub(super) fn send(&mut self, name: &str, telling: &Telling) -> Result<(), String> {
        if self.known.get(name).is_some_and(Option::is_none) {
            return Ok(());
        }
        let told = self.delivered(name, telling);
        if told.is_err() {
            self.known.insert(name.to_owned(), None);
        }
        told.map_err(|error| format!("{error}; it is not asked again in this run"))
    }

    fn delivered(&mut self, name: &str, telling: &Telling) -> Result<(), PluginError> {
        if !self.known.contains_key(name) {
            let found = plugins::find(Kind::Notifier, name)?;
            let exchange = Exchange::start(&found, &self.environment, &self.directory, LIMITS)?;
            self.known.insert(name.to_owned(), Some(exchange));
        }
        let Some(Some(exchange)) = self.known.get_mut(name) else { return Ok(()) };
        exchange.send(&json!({
            "type": "notify", "protocol": PROTOCOL, "message": telling.message, "event": telling.news.event,
            "news": telling.news,
        }))?;
        let deadline = exchange.deadline();
        loop {
            let message = exchange.next(deadline)?;
            if exchange.is_done(&message)? {
                return Ok(());
            }
        }
    }
}
