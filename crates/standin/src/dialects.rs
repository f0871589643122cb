//! The languages of the model APIs. Each file reads one into a `Conversation` and words replies and refusals in it.
//!
//! None of them decides anything: what is said is settled before.

mod anthropic;
mod chat;
mod gemini;
mod responses;
#[cfg(test)]
mod tests;

use serde::Serialize;
use serde_json::Value;

use crate::conversation::Conversation;
use crate::faults::Failure;
use crate::script::Usage;
use crate::tools::Call;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Dialect {
    /// Anthropic's Messages.
    Anthropic,
    /// OpenAI's Responses.
    Responses,
    /// OpenAI's Chat Completions, which many others speak too.
    Chat,
    Gemini,
}

/// An answer with everything decided.
#[derive(Clone, Debug)]
pub(crate) struct Reply {
    /// Unique among all answers of all stand-ins, for CLIs keep ids in sessions that outlive a server.
    pub(crate) unique: String,
    pub(crate) model: String,
    pub(crate) text: Option<String>,
    pub(crate) call: Option<Call>,
    pub(crate) usage: Usage,
}

/// A server-sent event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Event {
    name: Option<String>,
    data: String,
}

/// A refusal in a dialect's words.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Refusal {
    pub(crate) headers: Vec<(&'static str, String)>,
    pub(crate) body: Value,
}

impl Dialect {
    /// `model` and `stream` are what the address says of them; most dialects say so in the body instead.
    pub(crate) fn read(self, body: &Value, model: Option<&str>, stream: bool) -> Conversation {
        match self {
            Dialect::Anthropic => anthropic::read(body),
            Dialect::Responses => responses::read(body),
            Dialect::Chat => chat::read(body),
            Dialect::Gemini => gemini::read(body, model.unwrap_or_default(), stream),
        }
    }

    pub(crate) fn stream(self, reply: &Reply) -> Vec<Event> {
        match self {
            Dialect::Anthropic => anthropic::stream(reply),
            Dialect::Responses => responses::stream(reply),
            Dialect::Chat => chat::stream(reply),
            Dialect::Gemini => gemini::stream(reply),
        }
    }

    pub(crate) fn whole(self, reply: &Reply) -> Value {
        match self {
            Dialect::Anthropic => anthropic::whole(reply),
            Dialect::Responses => responses::whole(reply),
            Dialect::Chat => chat::whole(reply),
            Dialect::Gemini => gemini::whole(reply),
        }
    }

    pub(crate) fn refuse(self, failure: &Failure) -> Refusal {
        let mut refusal = match self {
            Dialect::Anthropic => anthropic::refuse(failure),
            Dialect::Responses => responses::refuse(failure),
            Dialect::Chat => chat::refuse(failure),
            Dialect::Gemini => gemini::refuse(failure),
        };
        if let Some(seconds) = failure.retry_after {
            refusal.headers.push(("retry-after", seconds.to_string()));
        }
        refusal
    }

    /// The refusal as an event of a stream that had begun.
    pub(crate) fn break_off(self, failure: &Failure) -> Event {
        let body = self.refuse(failure).body;
        match self {
            Dialect::Anthropic => Event::named("error", &body),
            Dialect::Responses => responses::break_off(&body),
            Dialect::Chat | Dialect::Gemini => Event::plain(&body),
        }
    }
}

impl Event {
    fn named(name: &str, data: &Value) -> Event {
        Event { name: Some(name.to_owned()), data: data.to_string() }
    }

    /// Named by what its data says its `type` is.
    fn typed(data: &Value) -> Event {
        Event { name: data["type"].as_str().map(str::to_owned), data: data.to_string() }
    }

    fn plain(data: &Value) -> Event {
        Event { name: None, data: data.to_string() }
    }

    fn words(data: &str) -> Event {
        Event { name: None, data: data.to_owned() }
    }

    pub(crate) fn wire(&self) -> String {
        match &self.name {
            Some(name) => format!("event: {name}\ndata: {}\n\n", self.data),
            None => format!("data: {}\n\n", self.data),
        }
    }
}

/// A text as a stream brings it: a few pieces, never one for each letter of a long file.
fn pieces(text: &str) -> Vec<&str> {
    const SHORTEST: usize = 12;
    const MOST: usize = 8;
    let length = text.len().div_ceil(MOST).max(SHORTEST);
    let mut pieces = Vec::new();
    let mut rest = text;
    while !rest.is_empty() {
        let end = (length.min(rest.len())..=rest.len()).find(|end| rest.is_char_boundary(*end));
        let (piece, after) = rest.split_at(end.unwrap_or(rest.len()));
        pieces.push(piece);
        rest = after;
    }
    pieces
}

/// The texts of a content that is a string or a list of parts.
fn texts(content: &Value) -> Vec<String> {
    match content {
        Value::String(text) => vec![text.clone()],
        Value::Array(parts) => {
            parts.iter().filter_map(|part| part["text"].as_str()).map(str::to_owned).collect()
        }
        _ => Vec::new(),
    }
}

fn string(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

fn items(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

/// Arguments that travel as text.
fn parsed(arguments: &Value) -> Value {
    arguments.as_str().and_then(|text| serde_json::from_str(text).ok()).unwrap_or_else(|| arguments.clone())
}
