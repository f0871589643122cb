//! Where the server listens, and what happens to a connection before there is a request: limits, TLS, an end in good order.

use std::fmt;
use std::io;
use std::net::{IpAddr, SocketAddr, TcpListener as StdListener};
use std::os::fd::{FromRawFd as _, OwnedFd};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto;
use hyper_util::server::graceful::{GracefulShutdown, Watcher};
use rustix::io::{FdFlags, fcntl_setfd};
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use thiserror::Error;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpListener;
use tokio::sync::Semaphore;
use tokio::time::timeout;
use tokio_rustls::TlsAcceptor;
use tower::ServiceExt as _;

use crate::live::{Cut, Streams};

pub const PORT: u16 = 7420;

/// What systemd says of the socket to the process that it starts, and to no process of that one.
pub(crate) const HANDED_OVER: [&str; 4] = ["LISTEN_FDS", "LISTEN_PID", "LISTEN_PIDFDID", "LISTEN_FDNAMES"];

/// Connections at once; further ones wait to be accepted.
const MOST: usize = 4_096;

/// For the head of a request, and for the beginning of TLS: who is slower keeps a connection for nothing.
const HEAD: Duration = Duration::from_secs(15);

/// For requests that are under way when the server is told to stop.
const END: Duration = Duration::from_secs(5);

#[derive(Debug, Error)]
pub enum ListenError {
    #[error("port {port} of {ip} is in use{}", .by.as_ref().map(|by| format!(" by {by}")).unwrap_or_default())]
    InUse { ip: IpAddr, port: u16, by: Option<String> },
    #[error("{address} cannot be listened at: {source}")]
    Unusable { address: SocketAddr, source: io::Error },
    #[error("{0} can be reached from other machines, and passwords would go over the network in clear text")]
    Open(SocketAddr),
    #[error("{path}: {why}", path = .path.display())]
    Certificate { path: PathBuf, why: String },
    #[error("no socket was handed over: {0}")]
    NotHandedOver(String),
}

pub struct Bound {
    pub address: SocketAddr,
    listener: StdListener,
}

/// A certificate and its key.
#[derive(Clone)]
pub struct Tls(Arc<rustls::ServerConfig>);

impl fmt::Debug for Tls {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Tls")
    }
}

impl Tls {
    /// Of PEM files.
    pub fn read(certificate: &Path, key: &Path) -> Result<Tls, ListenError> {
        let wrong = |path: &Path, why: String| ListenError::Certificate { path: path.to_owned(), why };
        check_private(key).map_err(|why| wrong(key, why))?;
        let chain: Result<Vec<_>, _> = CertificateDer::pem_file_iter(certificate)
            .map_err(|error| wrong(certificate, error.to_string()))?
            .collect();
        let chain = chain.map_err(|error| wrong(certificate, error.to_string()))?;
        if chain.is_empty() {
            return Err(wrong(certificate, "it has no certificate".to_owned()));
        }
        let secret = PrivateKeyDer::from_pem_file(key).map_err(|error| wrong(key, error.to_string()))?;
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = rustls::ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(|error| wrong(certificate, error.to_string()))?
            .with_no_client_auth()
            .with_single_cert(chain, secret)
            .map_err(|error| match error {
                rustls::Error::InconsistentKeys(_) => wrong(
                    key,
                    format!("this key does not belong to the certificate {}", certificate.display()),
                ),
                error => wrong(key, error.to_string()),
            })?;
        Ok(Tls(Arc::new(config)))
    }
}

/// A key that every user of the machine can read is no secret any more. A group may: keys are often given to one.
fn check_private(key: &Path) -> Result<(), String> {
    let mode = std::fs::metadata(key).map_err(|error| error.to_string())?.permissions().mode();
    match mode & 0o007 {
        0 => Ok(()),
        _ => Err(format!(
            "every user of this machine can read or change it (mode {:04o}); chmod o= it",
            mode & 0o7777
        )),
    }
}

/// Takes the port. Where other machines can reach it, that has to be safe or said to be wanted.
pub fn bind(address: SocketAddr, safe: bool) -> Result<Bound, ListenError> {
    if !address.ip().is_loopback() && !safe {
        return Err(ListenError::Open(address));
    }
    let listener = StdListener::bind(address).map_err(|source| match source.kind() {
        io::ErrorKind::AddrInUse => {
            let (ip, port) = (address.ip(), address.port());
            ListenError::InUse { ip, port, by: holder(port) }
        }
        _ => ListenError::Unusable { address, source },
    })?;
    of(listener)
}

/// The socket that systemd has opened and handed over; the same holds for it.
pub fn handed_over(safe: bool) -> Result<Option<Bound>, ListenError> {
    let Some(count) = std::env::var_os("LISTEN_FDS") else { return Ok(None) };
    let ours = std::env::var("LISTEN_PID").ok().and_then(|pid| pid.parse().ok()) == Some(std::process::id());
    if !ours {
        return Ok(None);
    }
    if count != "1" {
        return Err(ListenError::NotHandedOver(format!("one is expected, there are {}", count.display())));
    }
    // The first one is the third file, by systemd's own rule; it is opened for us alone.
    #[expect(unsafe_code, reason = "the number of a file that was handed over says nothing of its owner")]
    let socket = unsafe { OwnedFd::from_raw_fd(3) };
    // It comes open for every process that we start, and who has it could answer in our place.
    fcntl_setfd(&socket, FdFlags::CLOEXEC).map_err(|error| ListenError::NotHandedOver(error.to_string()))?;
    let bound = of(StdListener::from(socket))?;
    match bound.address.ip().is_loopback() || safe {
        true => Ok(Some(bound)),
        false => Err(ListenError::Open(bound.address)),
    }
}

fn of(listener: StdListener) -> Result<Bound, ListenError> {
    let unusable = |source| ListenError::Unusable { address: SocketAddr::from(([0, 0, 0, 0], 0)), source };
    listener.set_nonblocking(true).map_err(unusable)?;
    let address = listener.local_addr().map_err(unusable)?;
    Ok(Bound { address, listener })
}

/// Which process listens at a port, as far as we may know.
fn holder(port: u16) -> Option<String> {
    let inode = ["/proc/net/tcp", "/proc/net/tcp6"].iter().find_map(|table| {
        let text = std::fs::read_to_string(table).ok()?;
        let ended = format!(":{port:04X}");
        text.lines().skip(1).find_map(|line| {
            let parts: Vec<&str> = line.split_whitespace().collect();
            let listens = parts.get(1)?.ends_with(&ended) && *parts.get(3)? == "0A";
            listens.then(|| parts.get(9).map(|inode| (*inode).to_owned())).flatten()
        })
    })?;
    let wanted = format!("socket:[{inode}]");
    for process in std::fs::read_dir("/proc").ok()?.flatten() {
        let Ok(pid) = process.file_name().to_string_lossy().parse::<u32>() else { continue };
        let Ok(files) = std::fs::read_dir(process.path().join("fd")) else { continue };
        let has = files
            .flatten()
            .any(|file| std::fs::read_link(file.path()).is_ok_and(|to| to.as_os_str() == wanted.as_str()));
        if has {
            let name = std::fs::read_to_string(process.path().join("comm")).unwrap_or_default();
            return Some(format!("{} (process {pid})", name.trim()));
        }
    }
    None
}

pub(crate) async fn serve(
    bound: Bound,
    tls: Option<Tls>,
    router: Router,
    streams: &Streams,
    stop: impl Future<Output = ()>,
) {
    let listener = match TcpListener::from_std(bound.listener) {
        Ok(listener) => listener,
        Err(error) => {
            tracing::error!(%error, "the socket cannot be used");
            return;
        }
    };
    let acceptor = tls.map(|Tls(config)| TlsAcceptor::from(config));
    let (places, ending) = (Arc::new(Semaphore::new(MOST)), GracefulShutdown::new());
    tokio::pin!(stop);
    loop {
        let place = tokio::select! {
            place = places.clone().acquire_owned() => place,
            () = &mut stop => break,
        };
        let (stream, from) = tokio::select! {
            accepted = listener.accept() => match accepted {
                Ok(accepted) => accepted,
                Err(error) => {
                    // Out of files, for one: it may be better in a moment.
                    tracing::warn!(%error, "a connection was not accepted");
                    tokio::time::sleep(Duration::from_millis(50)).await;
                    continue;
                }
            },
            () = &mut stop => break,
        };
        let _ = stream.set_nodelay(true);
        let (router, acceptor, watcher) = (router.clone(), acceptor.clone(), ending.watcher());
        tokio::spawn(async move {
            let _place = place;
            match acceptor {
                None => talk(stream, from, router, watcher).await,
                Some(acceptor) => {
                    if let Ok(Ok(stream)) = timeout(HEAD, acceptor.accept(stream)).await {
                        talk(stream, from, router, watcher).await;
                    }
                }
            }
        });
    }
    drop(listener);
    // A connection that became a WebSocket is none of those any more that are waited for here.
    let _ = timeout(END, async { tokio::join!(ending.shutdown(), streams.end()) }).await;
}

async fn talk<S>(stream: S, from: SocketAddr, router: Router, watcher: Watcher)
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let cut = Cut::default();
    let wanted = cut.clone();
    let service = service_fn(move |mut request: hyper::Request<hyper::body::Incoming>| {
        request.extensions_mut().insert(from);
        request.extensions_mut().insert(cut.clone());
        router.clone().oneshot(request.map(axum::body::Body::new))
    });
    let mut builder = auto::Builder::new(TokioExecutor::new()).http1_only();
    builder.http1().timer(TokioTimer::new()).header_read_timeout(HEAD).max_buf_size(64 << 10);
    let connection = builder.serve_connection_with_upgrades(TokioIo::new(stream), service);
    tokio::select! {
        _ = watcher.watch(connection) => {}
        () = wanted.wanted() => {}
    }
}
