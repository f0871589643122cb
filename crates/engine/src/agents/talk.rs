//! What agents say, in our words. Every agent has a translator of its own; none of them reads or writes anything itself.

use conductor_core::run::event::{Failure, FailureClass, Outcome};
use conductor_core::values::units::Usd;
use serde_json::Value;

use super::calls::CallSize;
use crate::process::Exit;

/// Understands one agent's output, a line at a time, and knows what to answer.
pub trait Translator: Send {
    /// What is written to its standard input at the start; nothing closes it at once.
    fn opening(&mut self) -> Vec<u8> {
        Vec::new()
    }

    /// Whether more can be said to it; where not, its standard input is closed behind the opening.
    fn converses(&self) -> bool {
        true
    }

    /// One line of its standard output, without the line break.
    fn on_line(&mut self, line: &[u8]) -> Heard;

    /// What tells it something while it works; nothing where it does not listen then.
    fn say(&mut self, _words: &str) -> Vec<u8> {
        Vec::new()
    }

    /// What asks it to stop what it does and come to an end; nothing where it only understands signals.
    fn interrupt(&mut self) -> Vec<u8> {
        Vec::new()
    }

    /// As `interrupt`, for work that is not wanted any more: nothing of it is to go on elsewhere.
    fn abandon(&mut self) -> Vec<u8> {
        self.interrupt()
    }

    /// What it has used without a word of it, as far as that can be seen; asked again and again while it works.
    fn look(&mut self) -> Vec<Tokens> {
        Vec::new()
    }

    /// What it may have used beyond what it told, at most, if it said nothing more than this.
    fn unsaid(&mut self) -> Vec<Tokens> {
        Vec::new()
    }

    /// The newest call of the model that it told of, for the one who goes on with the conversation.
    fn newest_call(&self) -> Option<CallSize> {
        None
    }

    /// It goes on with a conversation whose newest call was this one: its first call is at least as large.
    fn goes_on_after(&mut self, _call: &CallSize) {}

    /// What it all came to, once the process is gone.
    fn finish(&mut self, exit: Exit) -> Ending;
}

/// What one line told.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Heard {
    pub said: Vec<Said>,
    /// How many of the tool calls that it told of have come back.
    pub returned: u32,
    /// Used since the last time this was told, by model.
    pub used: Vec<Tokens>,
    /// Its own totals since it last said them, by model: they take the place of all that was told since.
    pub totals: Option<Vec<Tokens>>,
    /// What it says itself that this cost. It counts where the price list does not know the model, and for totals where
    /// it is more than the list makes of them.
    pub cost: Option<Usd>,
    /// The name by which the conversation can be taken up again, where it chose another than ours.
    pub session: Option<String>,
    /// To be written to its standard input.
    pub reply: Vec<u8>,
    /// It has nothing more to say: its standard input can be closed.
    pub over: bool,
    /// It does not get on and would not notice itself: it is stopped, and this is what became of it.
    pub stuck: Option<Failure>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Said {
    Text(String),
    /// It uses a tool: its name and what for, in a few words.
    Tool(String, String),
    /// The provider made it wait; what it says of that.
    Retry(String),
    /// It was not allowed to do something.
    Denied(String),
    /// A tool it used gave it an error.
    Trouble(String),
    Note(String),
}

/// Counted by the provider for one model. `input` is everything that went in, cached or not.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Tokens {
    pub model: String,
    pub input: u64,
    pub cache_read: u64,
    pub cache_write: u64,
    pub output: u64,
    /// Calls of the model by the agent itself.
    pub turns: u32,
    /// By agents to which it handed a part of its work.
    pub delegated: bool,
    /// At most so many.
    pub estimated: bool,
}

/// No provider counts more in one go: what is larger is a mistake, and must not break a sum.
pub(super) const MOST: u64 = 1 << 40;

impl Tokens {
    pub fn total(&self) -> u64 {
        self.input + self.output
    }
}

/// A command that failed: its exit code and the last that it said.
pub(super) fn failed_command(code: Option<i64>, output: &str) -> Said {
    let code = code.map_or_else(|| "it failed".to_owned(), |code| format!("exit code {code}"));
    Said::Trouble(match output.lines().rfind(|line| !line.trim().is_empty()) {
        Some(last) => format!("{code}: {}", last.trim()),
        None => code,
    })
}

/// A message that comes in pieces, and the last one that was whole.
#[derive(Default)]
pub(super) struct Message {
    pieces: String,
    pub(super) last: Option<String>,
}

impl Message {
    pub(super) fn add(&mut self, piece: &Value) {
        self.pieces.push_str(piece.as_str().unwrap_or_default());
    }

    /// All pieces as one, once something else comes.
    pub(super) fn whole(&mut self) -> Option<Said> {
        let message = std::mem::take(&mut self.pieces).trim().to_owned();
        if message.is_empty() {
            return None;
        }
        self.last = Some(message.clone());
        Some(Said::Text(message))
    }
}

/// How it ended, by all that was heard.
#[derive(Debug, Clone, PartialEq)]
pub struct Ending {
    pub outcome: Outcome,
    /// Its last words.
    pub result: Option<String>,
    /// Its provider takes no more from us until then (seconds since 1970), or for a time it did not tell.
    pub parked: Option<Option<i64>>,
}

impl Ending {
    pub fn good(result: Option<String>) -> Ending {
        Ending { outcome: Outcome::Succeeded, result, parked: None }
    }

    pub fn bad(class: FailureClass, message: impl Into<String>) -> Ending {
        Ending { outcome: Outcome::Failed(Failure::new(class, message)), result: None, parked: None }
    }

    /// Ended before its final word, whatever its exit code says.
    pub fn unfinished(exit: Exit, last: &str) -> Ending {
        let last = if last.is_empty() { String::new() } else { format!(": {last}") };
        Ending::bad(FailureClass::Unfinished, format!("it ended without a final word ({}){last}", how(exit)))
    }

    /// Its final word was that all is well, and its exit says otherwise.
    pub fn contradicted(exit: Exit) -> Ending {
        Ending::bad(
            FailureClass::Unfinished,
            format!("it said that it was done, but ended with {}", how(exit)),
        )
    }
}

fn how(exit: Exit) -> String {
    match exit {
        Exit::Code(code) => format!("exit code {code}"),
        Exit::Signal(signal) => format!("signal {signal}"),
    }
}

/// What an answer of a provider means, by its status and the words that came with it.
pub(super) fn class_of(status: Option<u64>, words: &str) -> FailureClass {
    const LIMIT: [&str; 5] = ["usage_limit", "usageLimit", "usage limit", "hit your limit", "daily quota"];
    const LONG: [&str; 4] =
        ["prompt_too_long", "prompt is too long", "context_length_exceeded", "context window"];
    let has = |word: &str| words.contains(word);
    match status {
        _ if LIMIT.iter().any(|word| has(word)) => FailureClass::UsageLimit,
        _ if has("credit") || has("billing") => FailureClass::Billing,
        _ if LONG.iter().any(|word| has(word)) => FailureClass::TooLong,
        Some(401 | 403) => FailureClass::Unauthorized,
        Some(404) => FailureClass::UnknownModel,
        Some(429) => FailureClass::RateLimited,
        Some(529) => FailureClass::Overloaded,
        Some(500..) => FailureClass::Provider,
        Some(400..) => FailureClass::Rejected,
        _ if has("authentication") || has("unauthorized") => FailureClass::Unauthorized,
        _ if has("529") || has("verloaded") => FailureClass::Overloaded,
        _ if has("rate_limit") || has("ate limit") => FailureClass::RateLimited,
        _ => FailureClass::Provider,
    }
}

/// The status an agent put into words only: "unexpected status 401", "last status: 429".
pub(super) fn status_in(words: &str) -> Option<u64> {
    let mut after = words.split("status").skip(1);
    after.find_map(|rest| {
        let rest = rest.trim_start_matches([':', ' ']);
        let digits = rest.split(|c: char| !c.is_ascii_digit()).next()?;
        digits.parse().ok().filter(|status| (400..600).contains(status))
    })
}

/// The words of an error that came as the provider's own JSON, alone or in a sentence.
pub(super) fn plain(words: &str) -> String {
    let body = words.find('{').zip(words.rfind('}')).and_then(|(from, to)| words.get(from..=to));
    let body = body.and_then(|body| serde_json::from_str::<Value>(body).ok());
    body.and_then(|body| text(&body["error"]["message"])).unwrap_or_else(|| words.trim().to_owned())
}

pub(super) fn said(what: Said) -> Heard {
    Heard { said: vec![what], ..Heard::default() }
}

pub(super) fn text(value: &Value) -> Option<String> {
    value.as_str().map(str::to_owned)
}

pub(super) fn line(value: &Value) -> Vec<u8> {
    let mut bytes = serde_json::to_vec(value).unwrap_or_default();
    bytes.push(b'\n');
    bytes
}

/// The one thing of a tool's input that tells a person what it is about, and from where on it is looked at.
pub(super) fn purpose(input: &Value) -> String {
    const NAMES: [&str; 9] =
        ["command", "file_path", "filePath", "path", "pattern", "url", "query", "description", "prompt"];
    let mut what = NAMES.iter().find_map(|name| text(&input[*name])).unwrap_or_default();
    if let Some(offset) = input["offset"].as_u64() {
        what.push_str(&format!(":{offset}"));
    }
    what
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_status_in_words_is_found() {
        assert_eq!(status_in("unexpected status 401 Unauthorized: no, url: http://x:8900/v1"), Some(401));
        assert_eq!(status_in("exceeded retry limit, last status: 429 Too Many Requests"), Some(429));
        assert_eq!(status_in("exit status 1, then status 503"), Some(503));
        assert_eq!(status_in("status"), None);
        assert_eq!(status_in("429"), None);
    }

    #[test]
    fn a_providers_own_words_are_taken_out_of_its_json() {
        assert_eq!(plain(r#"[API Error: {"error":{"code":401,"message":"no key"}}]"#), "no key");
        assert_eq!(plain(" as it is "), "as it is");
        assert_eq!(plain("} odd {"), "} odd {");
        assert_eq!(plain(r#"{"else": 1}"#), r#"{"else": 1}"#);
    }

    #[test]
    fn words_come_before_a_status_where_they_tell_more() {
        use FailureClass::{Billing, Provider, RateLimited, Rejected, TooLong, UsageLimit};
        for (status, words, class) in [
            (Some(429), "You exceeded your current quota, check your plan and billing details", Billing),
            (Some(429), "You have exhausted your daily quota on this model", UsageLimit),
            (Some(429), "Please wait; to increase your limits, request a quota increase", RateLimited),
            (Some(400), "code: context_length_exceeded", TooLong),
            (Some(400), "no such parameter", Rejected),
            (None, "Rate limit reached for requests", RateLimited),
            (None, "stream disconnected before completion", Provider),
        ] {
            assert_eq!(class_of(status, words), class, "{words}");
        }
    }
}
