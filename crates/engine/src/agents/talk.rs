//! What agents say, in our words. Every agent has a translator of its own; none of them reads or writes anything itself.

use conductor_core::event::{Failure, FailureClass, Outcome};

use crate::process::Exit;

/// Understands one agent's output, a line at a time, and knows what to answer.
pub trait Translator: Send {
    /// What is written to its standard input at the start; nothing closes it at once.
    fn opening(&mut self) -> Vec<u8> {
        Vec::new()
    }

    /// One line of its standard output, without the line break.
    fn on_line(&mut self, line: &[u8]) -> Heard;

    /// What asks it to stop what it does and come to an end; nothing where it only understands signals.
    fn interrupt(&mut self) -> Vec<u8> {
        Vec::new()
    }

    /// What it all came to, once the process is gone.
    fn finish(&mut self, exit: Exit) -> Ending;
}

/// What one line told.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Heard {
    pub said: Vec<Said>,
    /// Used since the last time this was told.
    pub used: Option<Tokens>,
    /// The name by which the conversation can be taken up again.
    pub session: Option<String>,
    /// To be written to its standard input.
    pub reply: Vec<u8>,
    /// It has nothing more to say: its standard input can be closed.
    pub over: bool,
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
    /// Calls of the model.
    pub turns: u32,
}

impl Tokens {
    pub fn total(&self) -> u64 {
        self.input + self.output
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
        let how = match exit {
            Exit::Code(code) => format!("exit code {code}"),
            Exit::Signal(signal) => format!("signal {signal}"),
        };
        let last = if last.is_empty() { String::new() } else { format!(": {last}") };
        Ending::bad(FailureClass::Unfinished, format!("it ended without a final word ({how}){last}"))
    }
}

/// What an answer of a provider means, by its status and the words that came with it.
pub(super) fn class_of(status: Option<u64>, words: &str) -> FailureClass {
    let has = |word: &str| words.contains(word);
    match status {
        _ if ["usage_limit", "usageLimit", "usage limit", "hit your limit"].iter().any(|word| has(word)) => {
            FailureClass::UsageLimit
        }
        _ if has("credit") || has("billing") => FailureClass::Billing,
        _ if has("prompt_too_long") || has("prompt is too long") => FailureClass::TooLong,
        Some(401 | 403) => FailureClass::Unauthorized,
        Some(404) => FailureClass::UnknownModel,
        Some(429) => FailureClass::RateLimited,
        Some(529) => FailureClass::Overloaded,
        Some(500..) => FailureClass::Provider,
        Some(400..) => FailureClass::Rejected,
        _ if has("authentication") || has("unauthorized") => FailureClass::Unauthorized,
        _ if has("529") || has("verloaded") => FailureClass::Overloaded,
        _ => FailureClass::Provider,
    }
}
