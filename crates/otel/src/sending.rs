//! Spans on their way to a collector.

use serde::Deserialize;
use thiserror::Error;
use ureq::tls::{RootCerts, TlsConfig};
use ureq::{Agent, Error as HttpError};

use crate::otlp;
use crate::settings::Settings;
use crate::span::Span;

/// How much of an answer is read: it says at most how many spans were not taken.
const ANSWER: u64 = 64 << 10;

/// Why spans did not arrive. No variant holds the address: it may have credentials in it.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum SendError {
    #[error("it answered {0}")]
    Status(u16),
    #[error("it did not answer in time")]
    Silent,
    #[error("it could not be reached")]
    Unreachable,
    #[error("no safe connection could be made")]
    Tls,
    #[error("its address cannot be used")]
    Address,
    #[error("it did not take {0} of them")]
    Partly(u64),
}

impl SendError {
    /// Whether it may go better in a moment, by the standard's own list.
    pub fn may_pass(&self) -> bool {
        match self {
            SendError::Status(code) => matches!(code, 429 | 502 | 503 | 504),
            SendError::Silent | SendError::Unreachable => true,
            SendError::Tls | SendError::Address | SendError::Partly(_) => false,
        }
    }
}

/// Sends to one collector.
pub struct Sender {
    settings: Settings,
    agent: Agent,
}

/// `partialSuccess` of an answer.
#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Answer {
    partial_success: Partial,
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Partial {
    /// Whole numbers are text there, and some collectors do not know it.
    rejected_spans: serde_json::Value,
}

impl Sender {
    pub fn new(settings: Settings) -> Sender {
        // Which authorities are trusted is the machine's to say.
        let tls = TlsConfig::builder().root_certs(RootCerts::PlatformVerifier).build();
        let config = Agent::config_builder()
            .timeout_global(Some(settings.timeout))
            .max_redirects(0)
            .user_agent(concat!("conductor/", env!("CARGO_PKG_VERSION")))
            .tls_config(tls);
        Sender { agent: config.build().into(), settings }
    }

    /// One request. All spans have arrived where it is good.
    pub fn send(&self, spans: &[Span]) -> Result<(), SendError> {
        let body = otlp::request(&self.settings.resource, spans).to_string();
        let mut request = self.agent.post(&self.settings.url).content_type("application/json");
        for (name, value) in &self.settings.headers {
            request = request.header(name, value);
        }
        let mut answer = request.send(body).map_err(|error| cause(&error))?;
        // A redirect is no answer: what is sent is for the collector that the user named.
        if !answer.status().is_success() {
            return Err(SendError::Status(answer.status().as_u16()));
        }
        let text = answer.body_mut().with_config().limit(ANSWER).read_to_string().unwrap_or_default();
        match rejected(&text) {
            0 => Ok(()),
            count => Err(SendError::Partly(count)),
        }
    }
}

fn rejected(answer: &str) -> u64 {
    let answer: Answer = serde_json::from_str(answer).unwrap_or_default();
    let told = answer.partial_success.rejected_spans;
    told.as_u64().or_else(|| told.as_str()?.parse().ok()).unwrap_or(0)
}

fn cause(error: &HttpError) -> SendError {
    match error {
        HttpError::StatusCode(code) => SendError::Status(*code),
        HttpError::Timeout(_) => SendError::Silent,
        HttpError::Tls(_) | HttpError::Rustls(_) => SendError::Tls,
        HttpError::BadUri(_) | HttpError::Http(_) => SendError::Address,
        HttpError::TooManyRedirects => SendError::Status(302),
        _ => SendError::Unreachable,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_says_how_many_were_not_taken() {
        assert_eq!(rejected(""), 0);
        assert_eq!(rejected("{}"), 0);
        assert_eq!(rejected(r#"{"partialSuccess":{}}"#), 0);
        assert_eq!(rejected(r#"{"partialSuccess":{"rejectedSpans":"3","errorMessage":"no"}}"#), 3);
        assert_eq!(rejected(r#"{"partialSuccess":{"rejectedSpans":4}}"#), 4);
        assert_eq!(rejected("no json"), 0);
    }
}
