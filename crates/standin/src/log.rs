//! What was asked of the stand-in, for tests to look at.
//!
//! Keys and other headers are never kept.

use std::collections::{BTreeMap, VecDeque};

use serde::Serialize;

use crate::dialects::Dialect;
use crate::faults::Kind;
use crate::script::Usage;

/// Bodies are kept up to this many bytes in all; the oldest go first.
const KEPT_BODIES: usize = 64 << 20;

/// A prompt is kept up to this many bytes.
const KEPT_PROMPT: usize = 16 << 10;

#[derive(Clone, Debug, Serialize)]
pub struct Request {
    /// Counted over all jobs, from 1.
    pub number: usize,
    /// Milliseconds since 1970.
    pub at_ms: u64,
    /// Empty where neither address nor prompt named one.
    pub job: String,
    pub method: String,
    pub path: String,
    pub user_agent: String,
    pub dialect: Option<Dialect>,
    pub model: String,
    pub session: Option<String>,
    pub stream: bool,
    /// Tools that were offered.
    pub tools: Vec<String>,
    /// The last thing the user said.
    pub prompt: String,
    /// Which turn of the script was due.
    pub turn: Option<usize>,
    pub status: u16,
    pub answer: Answered,
    /// What a provider would charge for: nothing where it was refused or cut off.
    pub billed: Usage,
    /// As it was sent; None for the oldest of very many.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub body: Option<String>,
}

/// What a request was answered with.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Answered {
    Text,
    /// A call of the tool so named.
    Called(String),
    /// A call that only prepared a step: a file read, a tool searched for.
    Prepared(String),
    Refused(Kind),
    UsedUp,
    Cut,
    /// A question that had nothing to do with the script.
    Aside,
    /// A count of tokens, a list of models, a probe.
    Other,
}

impl Request {
    /// One of which no more is known yet than its body.
    pub(crate) fn new(number: usize, at_ms: u64, job: &str, body: &str) -> Request {
        Request {
            number,
            at_ms,
            job: job.to_owned(),
            method: String::new(),
            path: String::new(),
            user_agent: String::new(),
            dialect: None,
            model: String::new(),
            session: None,
            stream: false,
            tools: Vec::new(),
            prompt: String::new(),
            turn: None,
            status: 200,
            answer: Answered::Other,
            billed: Usage::NONE,
            body: Some(body.to_owned()),
        }
    }

    pub(crate) fn keep_prompt(&mut self, prompt: &str) {
        let end = (0..=KEPT_PROMPT.min(prompt.len())).rev().find(|end| prompt.is_char_boundary(*end));
        self.prompt = prompt[..end.unwrap_or(0)].to_owned();
    }
}

#[derive(Debug, Default)]
pub(crate) struct Log {
    requests: Vec<Request>,
    /// Places of those whose bodies are still kept, and how long all of these are.
    with_body: VecDeque<usize>,
    kept: usize,
}

impl Log {
    pub(crate) fn push(&mut self, request: Request) {
        if let Some(body) = &request.body {
            self.kept += body.len();
            self.with_body.push_back(self.requests.len());
        }
        self.requests.push(request);
        while self.kept > KEPT_BODIES {
            let Some(oldest) = self.with_body.pop_front() else { break };
            self.kept -= self.requests[oldest].body.take().map_or(0, |body| body.len());
        }
    }

    pub(crate) fn of_job(&self, job: &str) -> Vec<Request> {
        self.requests.iter().filter(|request| request.job == job).cloned().collect()
    }

    pub(crate) fn billed(&self) -> Usage {
        self.requests.iter().fold(Usage::NONE, |sum, request| sum + request.billed)
    }

    pub(crate) fn count(&self, job: &str) -> usize {
        self.requests.iter().filter(|request| request.job == job).count()
    }

    pub(crate) fn counts(&self) -> BTreeMap<&str, usize> {
        let mut counts = BTreeMap::new();
        for request in &self.requests {
            *counts.entry(request.job.as_str()).or_default() += 1;
        }
        counts
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(job: &str, body: &str) -> Request {
        Request::new(1, 0, job, body)
    }

    #[test]
    fn jobs_are_told_apart_and_counted() {
        let mut log = Log::default();
        for job in ["a", "b", "a"] {
            log.push(request(job, ""));
        }
        assert_eq!(log.counts(), BTreeMap::from([("a", 2), ("b", 1)]));
        assert_eq!((log.of_job("a").len(), log.count("a"), log.count("c")), (2, 2, 0));
    }

    #[test]
    fn the_oldest_bodies_go_first() {
        let mut log = Log::default();
        let body = "x".repeat(KEPT_BODIES / 2);
        for job in ["a", "b", "c"] {
            log.push(request(job, &body));
        }
        assert!(log.of_job("a")[0].body.is_none());
        assert!(log.of_job("b")[0].body.is_some() && log.of_job("c")[0].body.is_some());
    }

    #[test]
    fn a_long_prompt_is_cut_between_letters() {
        let mut request = request("a", "");
        request.keep_prompt(&"ü".repeat(KEPT_PROMPT));
        assert_eq!(request.prompt.len(), KEPT_PROMPT);
        request.keep_prompt(&format!("x{}", "ü".repeat(KEPT_PROMPT)));
        assert_eq!(request.prompt.len(), KEPT_PROMPT - 1);
    }
}
