//! Items of an importer, a plugin.

use std::path::Path;
use std::time::Duration;

use serde_json::{Value, json};

use super::{ImportError, Item, State, text, word};
use crate::agents::Caller;
use crate::plugins::{self, Exchange, Kind, Limits, PROTOCOL};

/// More items than this are no plan.
const MOST: usize = 10_000;

/// What an importer has to do, and what it said beside.
pub fn items(
    name: &str,
    arguments: &[String],
    directory: &Path,
) -> Result<(Vec<Item>, Vec<String>), ImportError> {
    let found = plugins::find(Kind::Importer, name)?;
    let limits = Limits { answer: Duration::from_secs(120), ..Limits::default() };
    let environment = Caller::new(std::env::vars_os()).for_plugins();
    let mut exchange = Exchange::start(&found, &environment, directory, limits)?;
    exchange.send(&json!({
        "type": "import", "protocol": PROTOCOL, "directory": directory, "arguments": arguments,
    }))?;
    let deadline = exchange.deadline();
    let (mut items, mut notes) = (Vec::new(), Vec::new());
    loop {
        let message = exchange.next(deadline)?;
        if exchange.is_done(&message)? {
            break;
        }
        match message["type"].as_str() {
            Some("task") if items.len() < MOST => items.push(item(&message)),
            Some("task") => {
                let why = format!("it has more than {MOST} tasks");
                return Err(plugins::PluginError::Failed { name: found.program(), why }.into());
            }
            Some("note") if notes.len() < 20 => notes.push(text(&message["text"])),
            _ => {}
        }
    }
    exchange.end();
    Ok((items, notes))
}

fn item(message: &Value) -> Item {
    let title = text(&message["title"]);
    Item {
        id: word(&message["id"]).unwrap_or_else(|| title.clone()),
        body: text(&message["body"]),
        priority: message["priority"].as_u64().and_then(|number| u8::try_from(number).ok()),
        needs: message["dependencies"].as_array().into_iter().flatten().filter_map(word).collect(),
        state: if message["done"] == true { State::Done } else { State::Open },
        group: message["group"].as_str().map(str::to_owned),
        title,
    }
}
