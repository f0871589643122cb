//! What every plugin has to do, tried out: `conductor plugin test`. Each case starts the plugin anew, in an empty folder.

use std::path::Path;
use std::time::{Duration, Instant};

use serde::Serialize;
use serde_json::{Value, json};

use super::exchange::{Exchange, Limits};
use super::{Environment, Found, Kind, PROTOCOL, PluginError};

/// How a case went.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Checked {
    pub case: &'static str,
    pub passed: bool,
    pub why: Option<String>,
    pub took_ms: u64,
}

/// What a case found wrong.
type Outcome = Result<(), String>;

/// A case by its name.
type Case = (&'static str, fn(&Bench<'_>) -> Outcome);

const CASES: [Case; 6] = [
    ("says hello", |bench| bench.start().map(drop)),
    ("ends when its input is closed", ends_with_its_input),
    ("answers a request", |bench| bench.answer(&[])),
    ("ignores messages it does not know", |bench| {
        bench.answer(&[json!({ "type": "from a later version", "more": [1, { "x": null }] })])
    }),
    ("takes a request of 256 kB", answers_a_large_request),
    ("answers twice", answers_twice),
];

/// A plugin, and how it is tried out.
struct Bench<'a> {
    found: &'a Found,
    environment: &'a Environment,
    folder: &'a Path,
    limits: Limits,
}

/// Tries a plugin out in a folder that is its own.
pub fn check(found: &Found, environment: &Environment, folder: &Path, answer: Duration) -> Vec<Checked> {
    let limits = Limits { answer, ..Limits::default() };
    let bench = Bench { found, environment, folder, limits };
    // An agent does one task and ends.
    let cases = CASES.iter().filter(|(case, _)| found.kind != Kind::Agent || *case != "answers twice");
    cases
        .map(|(case, hold)| {
            let begun = Instant::now();
            let outcome = hold(&bench);
            let took_ms = u64::try_from(begun.elapsed().as_millis()).unwrap_or(u64::MAX);
            Checked { case, passed: outcome.is_ok(), why: outcome.err(), took_ms }
        })
        .collect()
}

fn told(error: PluginError) -> String {
    error.to_string()
}

fn ends_with_its_input(bench: &Bench<'_>) -> Outcome {
    match bench.start()?.end() {
        true => Ok(()),
        false => Err("it did not end with exit code 0 within 500 ms".to_owned()),
    }
}

fn answers_a_large_request(bench: &Bench<'_>) -> Outcome {
    let mut exchange = bench.start()?;
    let request = bench.request(&"words ".repeat(43_000));
    exchange.send(&request).map_err(told)?;
    bench.read_answer(&mut exchange)
}

fn answers_twice(bench: &Bench<'_>) -> Outcome {
    let mut exchange = bench.start()?;
    for _ in 0..2 {
        exchange.send(&bench.request("again")).map_err(told)?;
        bench.read_answer(&mut exchange)?;
    }
    Ok(())
}

impl Bench<'_> {
    fn start(&self) -> Result<Exchange, String> {
        Exchange::start(self.found, self.environment, self.folder, self.limits).map_err(told)
    }

    /// A request after these lines, and its answer.
    fn answer(&self, before: &[Value]) -> Outcome {
        let mut exchange = self.start()?;
        for line in before {
            exchange.send(line).map_err(told)?;
        }
        exchange.send(&self.request("a test of conductor")).map_err(told)?;
        self.read_answer(&mut exchange)
    }

    fn request(&self, words: &str) -> Value {
        match self.found.kind {
            Kind::Agent => json!({
                "type": "task", "protocol": PROTOCOL, "id": "contract", "words": words, "directory": self.folder,
                "model": null, "session": { "id": "00000000-0000-4000-8000-000000000000", "begun": false },
            }),
            Kind::Notifier => json!({
                "type": "notify", "protocol": PROTOCOL, "message": words, "event": "complete",
                "news": { "schema": "conductor.notification/1", "event": "complete", "run": "r1", "text": words },
            }),
            Kind::Importer => json!({
                "type": "import", "protocol": PROTOCOL, "directory": self.folder, "arguments": [words],
            }),
            Kind::Verifier => json!({
                "type": "verify", "protocol": PROTOCOL, "directory": self.folder, "task": "contract",
                "arguments": [words],
            }),
        }
    }

    fn read_answer(&self, exchange: &mut Exchange) -> Outcome {
        let deadline = exchange.deadline();
        loop {
            let message = exchange.next(deadline).map_err(told)?;
            if self.found.kind == Kind::Agent {
                match message["type"].as_str() {
                    Some("result") => return is_result(&message),
                    Some("question") => {
                        let answer =
                            json!({ "type": "answer", "id": message["id"], "allow": true, "why": null });
                        exchange.send(&answer).map_err(told)?;
                    }
                    _ => {}
                }
                continue;
            }
            // An error is an answer, too: it says why.
            match exchange.is_done(&message) {
                Ok(false) => is_part_of_an_answer(self.found.kind, &message)?,
                Ok(true) | Err(PluginError::Failed { .. }) => return Ok(()),
                Err(error) => return Err(told(error)),
            }
        }
    }
}

fn is_result(message: &Value) -> Outcome {
    match message["ok"].is_boolean() {
        true => Ok(()),
        false => Err(format!("its result has no `ok` of true or false: {message}")),
    }
}

fn is_part_of_an_answer(kind: Kind, message: &Value) -> Outcome {
    let has = |key: &str| message[key].as_str().is_some_and(|text| !text.trim().is_empty());
    match (kind, message["type"].as_str()) {
        (Kind::Importer, Some("task")) if !has("title") => Err(format!("a task needs a title: {message}")),
        (Kind::Verifier, Some("finding")) if !has("message") => {
            Err(format!("a finding needs a message: {message}"))
        }
        (Kind::Verifier, Some("finding"))
            if !matches!(message["level"].as_str(), Some("error" | "warning" | "note")) =>
        {
            Err(format!("the level of a finding is error, warning or note: {message}"))
        }
        _ => Ok(()),
    }
}
