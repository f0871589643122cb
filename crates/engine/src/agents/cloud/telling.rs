//! The lines between the driver of a session and the coordinator that started it.

use std::io::{self, BufRead as _, Write as _};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use conductor_core::plan::Cloud;
use conductor_core::run::event::FailureClass;
use conductor_core::values::units::Usd;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::transport::{Line, Observed};

/// What the driver is told first.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Job {
    pub(super) task: String,
    pub(super) name: String,
    /// For a session that knows the task, and for one that does not.
    pub(super) words: String,
    pub(super) anew: Option<String>,
    pub(super) directory: std::path::PathBuf,
    pub(super) session: String,
    pub(super) begun: bool,
    /// The attempt before was cut short, so that what it handed in was not judged; or it was judged and is to be mended.
    pub(super) cut_short: bool,
    pub(super) sent_back: bool,
    /// What people said that no session has heard.
    pub(super) said: Vec<String>,
    pub(super) model: Option<String>,
    pub(super) repository: Option<String>,
    pub(super) changes_required: bool,
    /// In millionths of a dollar.
    pub(super) max_cost: Option<u64>,
    /// In milliseconds.
    pub(super) pull_request_after: Option<u64>,
    pub(super) cloud: Cloud,
}

/// What it is told later.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Word {
    /// By a person, for the session.
    Words(String),
    /// Let go of the session, which goes on: the run is left and will be taken up again.
    Leave,
    /// The session is not wanted any more.
    Abandon,
    Answer {
        allow: bool,
        /// The answer is not there yet: it comes with another attempt.
        later: bool,
        why: Option<String>,
    },
}

/// How it all ended.
#[derive(Debug)]
pub(super) enum End {
    Done(String),
    Failed {
        class: FailureClass,
        message: String,
        /// Nothing is to be asked before then.
        retry_after: Option<Duration>,
    },
    /// It goes on with another attempt.
    Left,
}

impl End {
    pub(super) fn failed(class: FailureClass, message: impl Into<String>) -> End {
        End::Failed { class, message: message.into(), retry_after: None }
    }
}

/// Everything that is said on standard input after the first line; its end means that no one is there any more.
pub(super) fn listen() -> Receiver<Word> {
    let (sender, words) = channel();
    std::thread::spawn(move || {
        for line in io::stdin().lock().lines() {
            let Ok(line) = line else { break };
            let Some(word) = serde_json::from_str(&line).ok().and_then(|line| word(&line)) else { continue };
            if sender.send(word).is_err() {
                return;
            }
        }
        let _ = sender.send(Word::Leave);
    });
    words
}

fn word(line: &Value) -> Option<Word> {
    Some(match line["type"].as_str()? {
        "words" => Word::Words(line["text"].as_str()?.to_owned()),
        "leave" => Word::Leave,
        "abandon" => Word::Abandon,
        "answer" => Word::Answer {
            allow: line["allow"] == true,
            later: line["later"] == true,
            why: line["why"].as_str().map(str::to_owned),
        },
        _ => return None,
    })
}

/// A line to the coordinator. One that is gone reads the file later.
pub(super) fn tell(line: &Value) {
    let mut out = io::stdout().lock();
    let _ = writeln!(out, "{line}").and_then(|()| out.flush());
}

pub(super) fn note(text: impl AsRef<str>) {
    tell(&json!({ "type": "note", "text": text.as_ref() }));
}

pub(super) fn tell_line(line: &Line) {
    tell(&match line {
        Line::Text(text) => json!({ "type": "text", "text": text }),
        Line::Tool(name, text) => json!({ "type": "tool", "name": name, "text": text }),
        Line::Note(text) => json!({ "type": "note", "text": text }),
        Line::Waiting(text) => json!({ "type": "waiting", "text": text }),
    });
}

/// What was told of a session's totals, over all drivers that it had: what comes now is told as what came since then.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Meter {
    cost: u64,
    tokens: (u64, u64),
}

impl Meter {
    pub(super) fn cost(&self) -> Usd {
        Usd(self.cost)
    }

    /// What came since the last time, as a line. A driver that is new to a session reads its totals anew from the
    /// beginning, so that smaller ones say nothing.
    pub(super) fn advance(&mut self, observed: &Observed) -> Option<Value> {
        let cost = observed.cost.map_or(self.cost, |cost| cost.0.max(self.cost));
        let tokens = observed.tokens.unwrap_or(self.tokens);
        let tokens = (tokens.0.max(self.tokens.0), tokens.1.max(self.tokens.1));
        if (cost, tokens) == (self.cost, self.tokens) {
            return None;
        }
        let line = json!({
            "type": "usage",
            "cost": cost - self.cost,
            "input": tokens.0 - self.tokens.0,
            "output": tokens.1 - self.tokens.1,
        });
        (self.cost, self.tokens) = (cost, tokens);
        Some(line)
    }
}

pub(super) fn tell_end(end: &End, now: i64) {
    match end {
        End::Done(text) => tell(&json!({ "type": "result", "ok": true, "text": text })),
        End::Failed { class, message, retry_after } => {
            let until = retry_after.map(|wait| now / 1000 + wait.as_secs() as i64);
            tell(
                &json!({ "type": "result", "ok": false, "class": class, "text": message, "resets_at": until }),
            );
        }
        End::Left => tell(&json!({ "type": "left" })),
    }
}

#[cfg(test)]
mod tests {
    use super::super::transport::State;
    use super::*;

    fn used(meter: &mut Meter, cost: u64, tokens: (u64, u64)) -> Option<(u64, u64, u64)> {
        let observed =
            Observed { cost: Some(Usd(cost)), tokens: Some(tokens), ..Observed::state(State::Working) };
        let line = meter.advance(&observed)?;
        let number = |key: &str| line[key].as_u64().unwrap();
        Some((number("cost"), number("input"), number("output")))
    }

    #[test]
    fn a_driver_that_reads_everything_anew_tells_only_what_is_new() {
        let mut meter = Meter::default();
        assert_eq!(used(&mut meter, 25, (10, 2)), Some((25, 10, 2)));
        let kept = serde_json::to_string(&meter).unwrap();
        let mut after: Meter = serde_json::from_str(&kept).unwrap();
        assert_eq!(used(&mut after, 0, (4, 1)), None, "it has not read all of it yet");
        assert_eq!(used(&mut after, 25, (10, 2)), None);
        assert_eq!(used(&mut after, 40, (15, 2)), Some((15, 5, 0)));
    }
}
