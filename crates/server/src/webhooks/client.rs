//! One request to one receiver over a connection of its own. Redirects are not followed, no proxy is asked, and the address
//! that was checked is the one that is connected to.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::http::{HeaderMap, Request, header};
use conductor_engine::host::{clock, redact};
use futures_util::StreamExt as _;
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use jiff::fmt::rfc2822;
use rustls::pki_types::ServerName;
use rustls_platform_verifier::BuilderVerifierExt as _;
use thiserror::Error;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpStream, lookup_host};
use tokio::sync::OnceCell;
use tokio::task::JoinSet;
use tokio::time::timeout;
use tokio_rustls::TlsConnector;

use crate::access::targets::{Target, may_be_reached};

/// From looking up the name to the head of the answer.
const LONGEST: Duration = Duration::from_secs(10);

/// For what the receiver says beyond its status, which is for people to read.
const LONGEST_BODY: Duration = Duration::from_secs(2);

/// So much of it is read, and so much of that is kept: half of a secret at the end of what was read is not kept.
const MOST_READ: usize = 8 << 10;
const MOST_KEPT: usize = 2_000;

/// Why there is no answer.
#[derive(Debug, Error)]
pub(crate) enum SendError {
    #[error("the name of the host cannot be looked up: {0}")]
    Unknown(std::io::Error),
    #[error("the host is at {0}, which is link-local or no machine's own address: nothing is sent there")]
    Forbidden(IpAddr),
    #[error(
        "the host is not this machine, and without TLS nothing is sent elsewhere (conductor serve --plain-webhooks)"
    )]
    Plain,
    #[error("no connection: {0}")]
    Unreachable(std::io::Error),
    #[error("no safe connection: {0}")]
    Unsafe(String),
    #[error("no answer within {} s", LONGEST.as_secs())]
    TooSlow,
    #[error("the connection broke: {0}")]
    Broken(String),
}

#[derive(Debug)]
pub(crate) struct Answered {
    pub(crate) status: u16,
    /// What the receiver asked to wait.
    pub(crate) retry_after: Option<Duration>,
    /// The beginning of what it said, without secrets.
    pub(crate) text: String,
}

pub(crate) struct Client {
    /// Whether other machines may be told without TLS.
    plain_http: bool,
    /// Which authorities are trusted is the machine's to say. Read when they are first needed.
    tls: OnceCell<TlsConnector>,
}

impl Client {
    pub(crate) fn new(plain_http: bool) -> Client {
        Client { plain_http, tls: OnceCell::new() }
    }

    pub(crate) async fn send(&self, target: &Target, request: Request<Body>) -> Result<Answered, SendError> {
        let mut driver = JoinSet::new();
        let answer = async {
            let stream = self.connect(target).await?;
            match target.tls {
                false => exchange(stream, request, &mut driver).await,
                true => exchange(self.secured(target, stream).await?, request, &mut driver).await,
            }
        };
        let answer = timeout(LONGEST, answer).await.map_err(|_| SendError::TooSlow)??;
        let (head, body) = answer.into_parts();
        let retry_after = retry_after(&head.headers);
        Ok(Answered { status: head.status.as_u16(), retry_after, text: beginning(Body::new(body)).await })
    }

    /// To the first of its addresses that can be reached and may be.
    async fn connect(&self, target: &Target) -> Result<TcpStream, SendError> {
        let mut failed = SendError::Unreachable(std::io::ErrorKind::AddrNotAvailable.into());
        for address in addresses(target).await.map_err(SendError::Unknown)? {
            let ip = address.ip().to_canonical();
            if !may_be_reached(ip) {
                return Err(SendError::Forbidden(ip));
            }
            if !target.tls && !self.plain_http && !ip.is_loopback() {
                return Err(SendError::Plain);
            }
            match TcpStream::connect(address).await {
                Ok(stream) => return Ok(stream),
                Err(error) => failed = SendError::Unreachable(error),
            }
        }
        Err(failed)
    }

    async fn secured(
        &self,
        target: &Target,
        stream: TcpStream,
    ) -> Result<tokio_rustls::client::TlsStream<TcpStream>, SendError> {
        let failed = |error: &dyn std::fmt::Display| SendError::Unsafe(error.to_string());
        let name = ServerName::try_from(target.host.clone()).map_err(|error| failed(&error))?;
        let connector = self.tls.get_or_try_init(connector).await.map_err(|error| failed(&error))?;
        connector.connect(name, stream).await.map_err(|error| failed(&error))
    }
}

/// Reading the machine's authorities takes files.
async fn connector() -> Result<TlsConnector, String> {
    let read = || {
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = rustls::ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .and_then(|builder| builder.with_platform_verifier())?;
        Ok::<_, rustls::Error>(TlsConnector::from(Arc::new(config.with_no_client_auth())))
    };
    let read = tokio::task::spawn_blocking(read).await.map_err(|error| error.to_string())?;
    read.map_err(|error| error.to_string())
}

async fn addresses(target: &Target) -> std::io::Result<Vec<SocketAddr>> {
    if target.is_localhost() {
        let here = [IpAddr::V4(Ipv4Addr::LOCALHOST), IpAddr::V6(Ipv6Addr::LOCALHOST)];
        return Ok(here.map(|ip| SocketAddr::new(ip, target.port)).to_vec());
    }
    Ok(lookup_host((target.host.as_str(), target.port)).await?.collect())
}

/// The driver keeps the connection going until it is dropped.
async fn exchange(
    stream: impl AsyncRead + AsyncWrite + Send + Unpin + 'static,
    request: Request<Body>,
    driver: &mut JoinSet<()>,
) -> Result<axum::http::Response<hyper::body::Incoming>, SendError> {
    let broken = |error: hyper::Error| SendError::Broken(error.to_string());
    let (mut sender, connection) = http1::handshake(TokioIo::new(stream)).await.map_err(broken)?;
    driver.spawn(async move {
        // What breaks is told to the one who waits for the answer.
        let _ = connection.await;
    });
    sender.send_request(request).await.map_err(broken)
}

/// What did not come in time, or not at all, is not waited for: the status has been said.
async fn beginning(body: Body) -> String {
    let mut bytes = Vec::new();
    let read = async {
        let mut parts = body.into_data_stream();
        while let Some(Ok(part)) = parts.next().await {
            bytes.extend_from_slice(&part);
            if bytes.len() >= MOST_READ {
                break;
            }
        }
    };
    let _ = timeout(LONGEST_BODY, read).await;
    bytes.truncate(MOST_READ);
    kept(&String::from_utf8_lossy(&bytes))
}

fn kept(text: &str) -> String {
    redact::known().text(text).chars().take(MOST_KEPT).collect()
}

/// In seconds, or as a date.
fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    let said = headers.get(header::RETRY_AFTER)?.to_str().ok()?.trim();
    if let Ok(seconds) = said.parse() {
        return Some(Duration::from_secs(seconds));
    }
    let at = rfc2822::parse(said).ok()?.timestamp().as_millisecond();
    u64::try_from(at - clock::wall().0).ok().map(Duration::from_millis)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_receiver_says_how_long_to_wait_in_two_ways() {
        let said = |value: &str| {
            let mut headers = HeaderMap::new();
            headers.insert(header::RETRY_AFTER, value.parse().unwrap());
            retry_after(&headers)
        };
        assert_eq!(said("120"), Some(Duration::from_secs(120)));
        assert!(
            said("Fri, 31 Dec 2100 23:59:59 GMT").is_some_and(|wait| wait > Duration::from_secs(1_000_000))
        );
        assert_eq!((said("Sun, 06 Nov 1994 08:49:37 GMT"), said("soon"), said("-1")), (None, None, None));
    }

    /// As if its name had come to mean another machine since it was registered.
    #[tokio::test]
    async fn where_a_name_leads_is_checked_before_anything_is_sent() {
        let target = |host: &str, tls| Target {
            host: host.into(),
            port: 9,
            tls,
            path: "/".into(),
            authority: host.into(),
        };
        for (client, host) in [(Client::new(true), "169.254.169.254"), (Client::new(false), "fe80::1")] {
            let refused = client.connect(&target(host, true)).await;
            assert!(matches!(refused, Err(SendError::Forbidden(_))), "{host}: {refused:?}");
        }
        let refused = Client::new(false).connect(&target("192.0.2.1", false)).await;
        assert!(matches!(refused, Err(SendError::Plain)), "{refused:?}");
    }

    #[test]
    fn little_is_kept_and_no_secret() {
        assert_eq!(kept(&"x".repeat(10_000)).len(), MOST_KEPT);
        let key = format!("ghp_{}", "a1B2c3D4e5".repeat(4));
        assert!(!kept(&format!("your key is {key}")).contains(&key));
    }
}
