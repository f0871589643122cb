//! Requests to the provider, each with an end to its time and its length.

use std::time::Duration;

use thiserror::Error;
use ureq::tls::{RootCerts, TlsConfig};
use ureq::{Agent, Error};

use super::settings::is_safe;

const TIMEOUT: Duration = Duration::from_secs(10);

/// How much of an answer is read.
const LONGEST: u64 = 1 << 20;

/// Why a provider could not be asked. Nothing of what was sent is part of it.
#[derive(Debug, Clone, Error)]
pub(crate) enum FetchError {
    #[error("it answered {0}")]
    Status(u16),
    #[error("it did not answer within {} s", TIMEOUT.as_secs())]
    Silent,
    #[error("it could not be reached")]
    Unreachable,
    #[error("its answer cannot be read")]
    Unreadable,
    #[error("it names an address that is not safe to use")]
    Unsafe,
}

pub(super) struct Fetching {
    agent: Agent,
}

impl Fetching {
    pub(super) fn new() -> Fetching {
        // Which authorities are trusted is the machine's to say: a company's own provider has a company's own.
        let tls = TlsConfig::builder().root_certs(RootCerts::PlatformVerifier).build();
        let config = Agent::config_builder()
            .timeout_global(Some(TIMEOUT))
            .max_redirects(0)
            .http_status_as_error(false)
            .user_agent(concat!("conductor/", env!("CARGO_PKG_VERSION")))
            .tls_config(tls);
        Fetching { agent: config.build().into() }
    }

    pub(super) fn get(&self, url: &str) -> Result<String, FetchError> {
        if !is_safe(url) {
            return Err(FetchError::Unsafe);
        }
        read(self.agent.get(url).header("accept", "application/json").call())
    }

    /// A form, with the client's own password where it has one.
    pub(super) fn post(
        &self,
        url: &str,
        form: &[(&str, &str)],
        authorization: Option<&str>,
    ) -> Result<String, FetchError> {
        if !is_safe(url) {
            return Err(FetchError::Unsafe);
        }
        let mut request = self.agent.post(url).header("accept", "application/json");
        if let Some(authorization) = authorization {
            request = request.header("authorization", authorization);
        }
        let text: Vec<String> =
            form.iter().map(|(name, value)| format!("{name}={}", encoded(value))).collect();
        read(request.content_type("application/x-www-form-urlencoded").send(text.join("&")))
    }
}

fn read(answer: Result<ureq::http::Response<ureq::Body>, Error>) -> Result<String, FetchError> {
    let mut answer = answer.map_err(|error| match error {
        Error::Timeout(_) => FetchError::Silent,
        _ => FetchError::Unreachable,
    })?;
    if answer.status().as_u16() != 200 {
        return Err(FetchError::Status(answer.status().as_u16()));
    }
    answer.body_mut().with_config().limit(LONGEST).read_to_string().map_err(|_| FetchError::Unreadable)
}

/// A value as it stands in an address or a form.
pub(super) fn encoded(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for byte in text.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => out.push(char::from(byte)),
            byte => out.push_str(&format!("%{byte:02X}")),
        }
    }
    out
}
