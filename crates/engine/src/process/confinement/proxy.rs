//! The way out for one attempt with a limited network: a socket on the disk, which nothing but that attempt sees.
//!
//! It speaks HTTP (CONNECT and plain requests) and SOCKS5. What is asked for is brought into one form, decided about, looked
//! up, and its address decided about again; the connection goes to that very address. A name that is looked up a second
//! time by another party could lead elsewhere.

mod requests;
#[cfg(test)]
mod tests;

use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::os::fd::AsRawFd as _;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use conductor_core::confinement::hosts::{Host, HostRule, Reach, decide};
use tokio::io::{AsyncWriteExt as _, copy_bidirectional};
use tokio::net::{TcpStream, UnixListener, UnixStream, lookup_host};
use tokio::sync::Semaphore;
use tokio::task::JoinHandle;
use tokio::time::timeout;

use requests::Asked;

/// How long a client may take to say what it wants, and a server to be there.
const PATIENCE: Duration = Duration::from_secs(30);

/// How many connections one attempt has at once.
const AT_ONCE: usize = 512;

/// What was decided about one connection.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Decided {
    /// As it was asked for, where that is no host at all.
    pub target: String,
    pub verdict: Verdict,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    Reached,
    /// It is on no list.
    Unlisted,
    /// A name led to an address that no name may lead to.
    Private,
    /// It is no host that could be meant in one way only.
    Unclear,
    /// It may be reached, and is not there.
    Absent,
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Verdict::Reached => "reached",
            Verdict::Unlisted => "it is not listed under network: allow",
            Verdict::Private => "it leads to an address of this machine or its network, which is listed with its port or not reached",
            Verdict::Unclear => "it is not a host in its usual form",
            Verdict::Absent => "it is not there, or does not answer",
        })
    }
}

/// Told of every decision.
pub type Hearer = Arc<dyn Fn(Decided) + Send + Sync>;

/// It serves as long as it is held.
pub struct Proxy(JoinHandle<()>);

impl Proxy {
    /// Must be called where there is a runtime.
    pub fn start(socket: &Path, rules: Vec<HostRule>, hearer: Hearer) -> io::Result<Proxy> {
        let listener = bind(socket)?;
        let way_out = Arc::new(WayOut { rules, hearer });
        Ok(Proxy(tokio::spawn(serve(listener, way_out))))
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// The name of a socket is short, whatever folder it is in: it is named by that folder's descriptor.
fn bind(socket: &Path) -> io::Result<UnixListener> {
    let (Some(folder), Some(name)) = (socket.parent(), socket.file_name()) else {
        return Err(io::ErrorKind::InvalidInput.into());
    };
    let _ = std::fs::remove_file(socket);
    let folder = std::fs::File::open(folder)?;
    UnixListener::bind(Path::new("/proc/self/fd").join(folder.as_raw_fd().to_string()).join(name))
}

struct WayOut {
    rules: Vec<HostRule>,
    hearer: Hearer,
}

async fn serve(listener: UnixListener, way_out: Arc<WayOut>) {
    let places = Arc::new(Semaphore::new(AT_ONCE));
    let mut clients = tokio::task::JoinSet::new();
    loop {
        let Ok(place) = places.clone().acquire_owned().await else { return };
        while clients.try_join_next().is_some() {}
        match listener.accept().await {
            Ok((client, _)) => {
                let way_out = way_out.clone();
                clients.spawn(async move {
                    // A client that goes away in the middle is no trouble of ours.
                    let _ = way_out.attend(client).await;
                    drop(place);
                });
            }
            // Out of descriptors, most likely: others end meanwhile.
            Err(_) => tokio::time::sleep(Duration::from_millis(50)).await,
        }
    }
}

impl WayOut {
    async fn attend(&self, mut client: UnixStream) -> io::Result<()> {
        let asked = timeout(PATIENCE, requests::read(&mut client)).await;
        let Ok(Some(asked)) = asked.map_err(io::Error::other)? else { return Ok(()) };
        let (target, found) = self.connected(&asked).await;
        let verdict = *found.as_ref().err().unwrap_or(&Verdict::Reached);
        (self.hearer)(Decided { target: target.clone(), verdict });
        match found {
            Err(verdict) => client.write_all(&asked.refusal(&target, verdict)).await,
            Ok(mut server) => {
                let _ = server.set_nodelay(true);
                client.write_all(asked.consent()).await?;
                server.write_all(&asked.first).await?;
                copy_bidirectional(&mut client, &mut server).await.map(drop)
            }
        }
    }

    /// What was asked for, and the connection to it.
    async fn connected(&self, asked: &Asked) -> (String, Result<TcpStream, Verdict>) {
        let Some(host) = Host::parse(&asked.host) else {
            let shown: String = asked.host.chars().take(200).flat_map(char::escape_default).collect();
            return (shown, Err(Verdict::Unclear));
        };
        let target = format!("{host}:{}", asked.port);
        (target, self.reach(&host, asked.port).await)
    }

    async fn reach(&self, host: &Host, port: u16) -> Result<TcpStream, Verdict> {
        let reach = decide(&self.rules, host, port);
        if reach == Reach::Refused {
            return Err(Verdict::Unlisted);
        }
        let found: Vec<SocketAddr> = match host {
            Host::Address(address) => vec![SocketAddr::new(*address, port)],
            Host::Name(name) => {
                let found = timeout(PATIENCE, lookup_host((name.as_str(), port))).await;
                found.map_err(|_| Verdict::Absent)?.map_err(|_| Verdict::Absent)?.collect()
            }
        };
        let taken: Vec<SocketAddr> = found.iter().copied().filter(|one| reach.takes(one.ip())).collect();
        if taken.is_empty() {
            return Err(if found.is_empty() { Verdict::Absent } else { Verdict::Private });
        }
        for address in taken {
            if let Ok(Ok(server)) = timeout(PATIENCE, TcpStream::connect(address)).await {
                return Ok(server);
            }
        }
        Err(Verdict::Absent)
    }
}
