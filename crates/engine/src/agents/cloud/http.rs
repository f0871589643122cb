//! One request to a provider, and what its answer means for a step that must not be done twice.

use std::io::Read as _;
use std::time::Duration;

use conductor_core::run::event::FailureClass;
use jiff::fmt::rfc2822;
use serde_json::Value;
use ureq::tls::{RootCerts, TlsConfig};
use ureq::{Agent, Error, http};

use super::super::talk::{class_of, plain};
use super::transport::Refusal;
use crate::host::clock::wall;

/// For connecting, and for everything from the first byte to the last.
const CONNECT: Duration = Duration::from_secs(20);
const LONGEST: Duration = Duration::from_secs(60);

/// A stream is given up after so long and opened again, whatever it says: one whose other end is gone is silent for ever, and so
/// is one of a session that does nothing. What was missed is read when it is opened.
const LONGEST_STREAM: Duration = Duration::from_secs(120);

/// No answer is longer than this.
const MOST: u64 = 16 << 20;

/// How much of an answer that cannot be understood is shown.
const SHOWN: usize = 300;

pub(crate) struct Client {
    agent: Agent,
    streams: Agent,
    pub(crate) base: String,
    headers: Vec<(&'static str, String)>,
}

impl Client {
    /// Asks the provider at this address, with these headers each time.
    pub(crate) fn new(base: &str, headers: Vec<(&'static str, String)>) -> Client {
        Client {
            agent: agent(Some(LONGEST), None),
            streams: agent(None, Some(LONGEST_STREAM)),
            base: base.trim_end_matches('/').to_owned(),
            headers,
        }
    }

    #[cfg(test)]
    pub(crate) fn with_streams_of(self, longest: Duration) -> Client {
        Client { streams: agent(None, Some(longest)), ..self }
    }

    pub(crate) fn post(&self, path: &str, body: &Value) -> Result<Value, Refusal> {
        let request = self
            .headers
            .iter()
            .fold(self.agent.post(self.url(path)), |request, (name, value)| request.header(*name, value));
        answered(request.content_type("application/json").send(body.to_string()))
    }

    pub(crate) fn get(&self, path: &str) -> Result<Value, Refusal> {
        let request = self
            .headers
            .iter()
            .fold(self.agent.get(self.url(path)), |request, (name, value)| request.header(*name, value));
        answered(request.call())
    }

    /// An answer that goes on while there is something to tell, up to a limit.
    pub(crate) fn stream(&self, path: &str) -> Result<impl std::io::Read + Send + 'static, Refusal> {
        let request = self
            .headers
            .iter()
            .fold(self.streams.get(self.url(path)), |request, (name, value)| request.header(*name, value));
        let response =
            request.header("accept", "text/event-stream").call().map_err(|error| broken(&error))?;
        match response.status().as_u16() {
            200..300 => Ok(response.into_body().into_reader()),
            _ => Err(refused(response)),
        }
    }

    fn url(&self, path: &str) -> String {
        format!("{}{path}", self.base)
    }
}

/// With a limit for the whole of a request, or one for an answer that comes bit by bit.
fn agent(limit: Option<Duration>, stream: Option<Duration>) -> Agent {
    // Which authorities are trusted is the machine's to say.
    let tls = TlsConfig::builder().root_certs(RootCerts::PlatformVerifier).build();
    let config = Agent::config_builder()
        .timeout_global(limit)
        .timeout_connect(Some(CONNECT))
        .timeout_recv_response(Some(LONGEST))
        .timeout_recv_body(stream)
        .http_status_as_error(false)
        .max_redirects(0)
        .user_agent(concat!("conductor/", env!("CARGO_PKG_VERSION")))
        .tls_config(tls);
    config.build().into()
}

fn answered(sent: Result<http::Response<ureq::Body>, Error>) -> Result<Value, Refusal> {
    let response = sent.map_err(|error| broken(&error))?;
    if !response.status().is_success() {
        return Err(refused(response));
    }
    let text =
        text_of(response).map_err(|error| Refusal::Unsure(format!("its answer broke off: {error}")))?;
    if text.trim().is_empty() {
        return Ok(Value::Null);
    }
    serde_json::from_str(&text).map_err(|_| Refusal::Unsure(format!("its answer is no JSON: {}", cut(&text))))
}

fn text_of(response: http::Response<ureq::Body>) -> std::io::Result<String> {
    let mut bytes = Vec::new();
    response.into_body().into_reader().take(MOST).read_to_end(&mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

fn cut(text: &str) -> String {
    text.chars().take(SHOWN).collect()
}

/// What a status says. Statuses in which a server that stands before the provider speaks do not tell whether the request
/// was passed on.
fn refused(response: http::Response<ureq::Body>) -> Refusal {
    let status = response.status().as_u16();
    let said =
        response.headers().get("retry-after").and_then(|value| value.to_str().ok()).and_then(retry_after);
    let text = text_of(response).unwrap_or_default();
    let message = format!("the provider answered {status}: {}", cut(&plain(&text)));
    match status {
        500 | 502 | 504 | 520..=527 => Refusal::Unsure(message),
        _ => {
            let class = match class_of(Some(u64::from(status)), &text) {
                // There is no model in question here.
                FailureClass::UnknownModel => FailureClass::Rejected,
                class => class,
            };
            Refusal::Refused { class, message, retry_after: said }
        }
    }
}

/// In seconds, or as a date.
fn retry_after(said: &str) -> Option<Duration> {
    let said = said.trim();
    if let Ok(seconds) = said.parse() {
        return Some(Duration::from_secs(seconds));
    }
    let at = rfc2822::parse(said).ok()?.timestamp().as_millisecond();
    u64::try_from(at - wall().0).ok().map(Duration::from_millis)
}

/// Where no connection was made nothing was carried out; in all other cases it may have been.
fn broken(error: &Error) -> Refusal {
    let unreachable = |why: String| {
        Refusal::refused(FailureClass::Provider, format!("the provider cannot be reached: {why}"))
    };
    match error {
        Error::HostNotFound => unreachable("its host is not known".to_owned()),
        Error::ConnectionFailed => unreachable("no connection".to_owned()),
        Error::Timeout(ureq::Timeout::Connect | ureq::Timeout::Resolve) => {
            unreachable("no connection in time".to_owned())
        }
        Error::Tls(_) | Error::Rustls(_) => unreachable("no safe connection could be made".to_owned()),
        Error::BadUri(_) | Error::Http(_) => {
            Refusal::refused(FailureClass::Unstartable, "its address cannot be used")
        }
        Error::Io(error) if error.kind() == std::io::ErrorKind::ConnectionRefused => {
            unreachable(error.to_string())
        }
        other => Refusal::Unsure(format!("no answer: {other}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_provider_says_how_long_to_wait_in_two_ways() {
        assert_eq!(retry_after("120"), Some(Duration::from_secs(120)));
        assert!(retry_after("Fri, 31 Dec 2100 23:59:59 GMT").is_some());
        assert_eq!((retry_after("Sun, 06 Nov 1994 08:49:37 GMT"), retry_after("soon")), (None, None));
    }

    #[test]
    fn a_refused_connection_carried_nothing_out() {
        let client = Client::new("http://127.0.0.1:9", Vec::new());
        let Err(Refusal::Refused { class, .. }) = client.post("/x", &Value::Null) else {
            panic!("it is closed")
        };
        assert_eq!(class, FailureClass::Provider);
    }
}
