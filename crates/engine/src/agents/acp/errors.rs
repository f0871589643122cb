//! What an error means.

use conductor_core::run::event::FailureClass;
use serde_json::Value;

use super::super::talk::{Ending, class_of, plain, text};

/// The protocol's code for a request that needs a login.
const LOGIN_NEEDED: i64 = -32000;

pub(super) fn failed(error: &Value) -> Ending {
    let words = words_of(error);
    let code = error["code"].as_i64().unwrap_or_default();
    let status = u64::try_from(code).ok().filter(|code| (400..600).contains(code));
    let class = match code {
        LOGIN_NEEDED => FailureClass::Unauthorized,
        _ => class_of(status.or_else(|| number_in(&words)), &words),
    };
    let parked = (class == FailureClass::UsageLimit).then_some(None);
    Ending { parked, ..Ending::bad(class, plain(&words)) }
}

/// An error's message, with what comes along.
pub(super) fn words_of(error: &Value) -> String {
    let message = text(&error["message"]).unwrap_or_else(|| "it failed without a reason".to_owned());
    let more = ["details", "errorKind"].iter().find_map(|name| text(&error["data"][*name]));
    more.map_or(message.clone(), |more| format!("{message}: {more}"))
}

/// A provider's status, where it is nowhere but among the words.
pub(super) fn number_in(words: &str) -> Option<u64> {
    let mut numbers = words.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| word.len() == 3);
    numbers.find_map(|word| word.parse().ok().filter(|number| (400..600).contains(number)))
}
