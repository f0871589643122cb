//! An MCP server over HTTP (`…/mcp`): each request is answered on its own connection.
//!
//! The server asks now and then whether we are alive, on a stream that is open all the time; a thread answers there. A
//! server that hears nothing for five seconds closes the browser's context.

use std::io::{BufRead, BufReader, Read};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use serde_json::Value;
use ureq::Agent;

use super::inbox::excerpt;
use super::{Link, LinkError, reply, result_of};

const SESSION: &str = "mcp-session-id";
const ACCEPT: &str = "application/json, text/event-stream";
const CLOSING: Duration = Duration::from_secs(5);

/// More than the largest page has, less than what would fill the memory.
const LONGEST: u64 = 64 << 20;

#[derive(Debug)]
pub struct Http {
    at: Door,
    closed: Arc<AtomicBool>,
}

/// Where messages go, and as whose.
#[derive(Debug, Clone)]
struct Door {
    agent: Agent,
    url: String,
    session: Option<String>,
}

impl Http {
    pub fn to(url: &str) -> Http {
        let config = Agent::config_builder().http_status_as_error(false).build();
        let at = Door { agent: Agent::new_with_config(config), url: url.to_owned(), session: None };
        Http { at, closed: Arc::new(AtomicBool::new(false)) }
    }

    /// Reads what the server asks on its own, once there is a session to ask about.
    fn listen(&self) {
        let (at, closed) = (self.at.clone(), Arc::clone(&self.closed));
        thread::spawn(move || {
            while !closed.load(Ordering::Relaxed) {
                if at.answer_questions().is_err() {
                    return;
                }
            }
        });
    }
}

impl Link for Http {
    fn request(&mut self, message: &Value, within: Duration) -> Result<Value, LinkError> {
        let is_first = self.at.session.is_none();
        let (session, answer) = self.at.post(message, within)?;
        if is_first {
            self.at.session = session;
            self.listen();
        }
        answer.map_or(Err(LinkError::Garbage("no answer".to_owned())), |answer| result_of(&answer))
    }

    fn notify(&mut self, message: &Value) -> Result<(), LinkError> {
        self.at.post(message, CLOSING).map(drop)
    }

    fn close(&mut self) {
        if self.closed.swap(true, Ordering::Relaxed) {
            return;
        }
        if let Some(session) = &self.at.session {
            let request = self.at.agent.delete(&self.at.url).header(SESSION, session);
            let _ = request.config().timeout_global(Some(CLOSING)).build().call();
        }
    }
}

impl Drop for Http {
    fn drop(&mut self) {
        self.close();
    }
}

impl Door {
    fn post(&self, message: &Value, within: Duration) -> Result<(Option<String>, Option<Value>), LinkError> {
        let mut request = self.agent.post(&self.url).header("content-type", "application/json");
        request = request.header("accept", ACCEPT);
        if let Some(session) = &self.session {
            request = request.header(SESSION, session);
        }
        let request = request.config().timeout_global(Some(within)).build();
        let mut response = request.send(message.to_string()).map_err(|error| self.failed(&error, within))?;
        let status = response.status().as_u16();
        let header = |name: &str| {
            let value = response.headers().get(name).and_then(|value| value.to_str().ok());
            value.map(str::to_owned)
        };
        let (session, kind) = (header(SESSION), header("content-type").unwrap_or_default());
        let body = response.body_mut().as_reader();
        match status {
            202 | 204 => Ok((session, None)),
            200 if kind.starts_with("text/event-stream") => {
                let answer = self.answer_in(body, message.get("id"), within)?;
                Ok((session, answer))
            }
            200 => Ok((session, Some(parse(&whole(body)?)?))),
            404 if self.session.is_some() => Err(LinkError::Forgotten),
            _ => Err(LinkError::Refused(format!("{status}: {}", excerpt(&whole(body)?)))),
        }
    }

    /// Reads events until the one that answers our request.
    fn answer_in(
        &self,
        body: impl Read,
        id: Option<&Value>,
        within: Duration,
    ) -> Result<Option<Value>, LinkError> {
        let mut events = Events::new(body);
        while let Some((_, data)) = events.next().map_err(|error| read_failed(&error, within))? {
            let message = parse(&data)?;
            if message.get("method").is_some() {
                self.answer(&message);
            } else if message.get("id") == id {
                return Ok(Some(message));
            }
        }
        Err(LinkError::Died("the answer broke off".to_owned()))
    }

    fn answer(&self, message: &Value) {
        if let Some(reply) = reply(message) {
            let _ = self.post(&reply, CLOSING);
        }
    }

    fn answer_questions(&self) -> Result<(), ()> {
        let Some(session) = &self.session else { return Err(()) };
        let request =
            self.agent.get(&self.url).header("accept", "text/event-stream").header(SESSION, session);
        let mut response = request.call().map_err(drop)?;
        if response.status().as_u16() != 200 {
            return Err(());
        }
        let mut events = Events::new(response.body_mut().as_reader());
        while let Ok(Some((_, data))) = events.next() {
            if let Ok(message) = parse(&data) {
                self.answer(&message);
            }
        }
        Err(())
    }

    fn failed(&self, error: &ureq::Error, within: Duration) -> LinkError {
        match error {
            ureq::Error::Timeout(_) => LinkError::Silent(within),
            error => LinkError::Unreachable { url: self.url.clone(), why: error.to_string() },
        }
    }
}

fn read_failed(error: &std::io::Error, within: Duration) -> LinkError {
    match error.kind() {
        std::io::ErrorKind::TimedOut => LinkError::Silent(within),
        _ if error.to_string().contains("timeout") => LinkError::Silent(within),
        _ => LinkError::Died(error.to_string()),
    }
}

fn whole(body: impl Read) -> Result<String, LinkError> {
    let mut text = String::new();
    let read = body.take(LONGEST).read_to_string(&mut text);
    read.map_err(|error| LinkError::Garbage(error.to_string()))?;
    Ok(text)
}

pub(super) fn parse(text: &str) -> Result<Value, LinkError> {
    match serde_json::from_str::<Value>(text) {
        Ok(message) if message.is_object() => Ok(message),
        _ => Err(LinkError::Garbage(excerpt(text))),
    }
}

/// Server-sent events: name and data of each.
pub(super) struct Events<R> {
    lines: BufReader<std::io::Take<R>>,
}

impl<R: Read> Events<R> {
    pub(super) fn new(body: R) -> Events<R> {
        Events { lines: BufReader::new(body.take(u64::MAX)) }
    }

    pub(super) fn next(&mut self) -> std::io::Result<Option<(String, String)>> {
        let (mut name, mut data, mut line) = (String::new(), String::new(), String::new());
        loop {
            line.clear();
            if self.lines.read_line(&mut line)? == 0 {
                return Ok(None);
            }
            let text = line.trim_end_matches(['\r', '\n']);
            match text.split_once(':').map(|(key, value)| (key, value.strip_prefix(' ').unwrap_or(value))) {
                Some(("event", value)) => value.clone_into(&mut name),
                Some(("data", value)) if data.is_empty() => value.clone_into(&mut data),
                Some(("data", value)) => data = format!("{data}\n{value}"),
                None if text.is_empty() && !data.is_empty() => return Ok(Some((name, data))),
                _ => {}
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_are_read_as_they_were_sent() {
        let text = ": hello\r\nevent: endpoint\r\ndata: /sse?id=1\r\n\r\ndata: {\"a\":\ndata: 1}\n\n";
        let mut events = Events::new(text.as_bytes());
        assert_eq!(events.next().unwrap(), Some(("endpoint".to_owned(), "/sse?id=1".to_owned())));
        assert_eq!(events.next().unwrap(), Some((String::new(), "{\"a\":\n1}".to_owned())));
        assert_eq!(events.next().unwrap(), None);
    }
}
