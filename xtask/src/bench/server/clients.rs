//! Many clients of one WebSocket. All read what they get; some of them look how old it is.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpSocket, TcpStream};
use tokio::task::JoinSet;

use crate::Result;

/// So many look at what they get.
const LOOK: usize = 20;

const DAY: f64 = 24.0 * 60.0 * 60.0;

pub(super) struct Listened {
    pub(super) p99: Duration,
    /// Events each client got in a second.
    pub(super) rate: f64,
    /// How many times as long the 99th of a hundred took beside a client that reads nothing.
    pub(super) beside_stalled: f64,
    /// How long that one stayed connected; `CUT_WITHIN` where it was not cut off.
    pub(super) cut_after: Duration,
    /// Of the server, in KiB, with all clients.
    pub(super) memory: u64,
}

/// Whom clients ask, and for what.
#[derive(Clone, Copy)]
pub(super) struct Asked<'a> {
    pub(super) address: SocketAddr,
    pub(super) token: &'a str,
    /// Ends where the number goes.
    pub(super) path: &'a str,
    /// Up to here clients know what happened.
    pub(super) known: u64,
}

/// A client that takes nothing for ten seconds is cut off; before that, buffers on the way have to be full.
pub(super) const CUT_WITHIN: Duration = Duration::from_secs(30);

/// What a client has room for that is to be full at once.
const LITTLE: u32 = 4 << 10;

/// How old events were when they came, in seconds.
type Ages = Arc<Mutex<Vec<f64>>>;

pub(super) fn listen(
    asked: Asked<'_>,
    count: usize,
    time: Duration,
    memory: impl FnOnce() -> Result<u64>,
) -> Result<Listened> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        let ages = Ages::default();
        let mut clients = JoinSet::new();
        for number in 0..count {
            let stream = connected(asked, TcpSocket::new_v4()?).await?;
            match number < LOOK {
                true => clients.spawn(look(stream, ages.clone())),
                false => clients.spawn(drain(stream)),
            };
        }
        let taken = || std::mem::take(&mut *ages.lock().unwrap_or_else(PoisonError::into_inner));
        tokio::time::sleep(Duration::from_secs(2)).await;
        taken();
        tokio::time::sleep(time).await;
        let alone = taken();
        let memory = memory()?;
        let stalling = Instant::now();
        let stalled = stalled(asked).await?;
        tokio::time::sleep(time).await;
        let beside = taken();
        while is_connected(&stalled)? && stalling.elapsed() < CUT_WITHIN {
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
        let cut_after = stalling.elapsed().min(CUT_WITHIN);
        let gone = clients.len() < count;
        let (rate, p99) = (alone.len() as f64 / LOOK as f64 / time.as_secs_f64(), last_hundredth(alone)?);
        if gone {
            return Err("clients were cut off".into());
        }
        let beside_stalled = last_hundredth(beside)? / p99;
        Ok(Listened { p99: Duration::from_secs_f64(p99), rate, beside_stalled, cut_after, memory })
    })
}

fn last_hundredth(mut ages: Vec<f64>) -> Result<f64> {
    ages.sort_by(f64::total_cmp);
    let at = ages.len() * 99 / 100;
    ages.get(at).copied().ok_or_else(|| "no event came".into())
}

/// One that reads nothing, and has everything to read that has happened.
async fn stalled(asked: Asked<'_>) -> Result<TcpStream> {
    let socket = TcpSocket::new_v4()?;
    socket.set_recv_buffer_size(LITTLE)?;
    connected(Asked { known: 0, ..asked }, socket).await
}

/// Whether the server still has its side of the connection.
fn is_connected(stream: &TcpStream) -> Result<bool> {
    let port = format!(":{:04X}", stream.local_addr()?.port());
    let sockets = std::fs::read_to_string("/proc/net/tcp")?;
    Ok(sockets.lines().any(|line| {
        let mut fields = line.split_whitespace().skip(2);
        let (to, state) = (fields.next(), fields.next());
        to.is_some_and(|to| to.ends_with(&port)) && state == Some("01")
    }))
}

async fn connected(asked: Asked<'_>, socket: TcpSocket) -> Result<TcpStream> {
    let Asked { address, token, path, known } = asked;
    let mut stream = socket.connect(address).await?;
    let request = format!(
        "GET {path}{known} HTTP/1.1\r\nHost: {address}\r\nAuthorization: Bearer {token}\r\nConnection: Upgrade\r\n\
         Upgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"
    );
    stream.write_all(request.as_bytes()).await?;
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        head.push(stream.read_u8().await?);
    }
    match head.starts_with(b"HTTP/1.1 101") {
        true => Ok(stream),
        false => Err(String::from_utf8_lossy(&head).into_owned().into()),
    }
}

async fn drain(mut stream: TcpStream) {
    let mut bytes = vec![0; 16 << 10];
    while matches!(stream.read(&mut bytes).await, Ok(1..)) {}
}

async fn look(mut stream: TcpStream, ages: Ages) {
    while let Ok(text) = message(&mut stream).await {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs_f64();
        let events = text.split("\"at\":\"").skip(1).filter_map(|rest| moment(rest.split('"').next()?));
        let old = events.map(|at| (now - at).rem_euclid(DAY));
        ages.lock().unwrap_or_else(PoisonError::into_inner).extend(old);
    }
}

/// The seconds of the day in `2026-01-31T23:59:59.123Z`.
fn moment(text: &str) -> Option<f64> {
    let mut parts = text.split_once('T')?.1.trim_end_matches('Z').split(':').map(str::parse::<f64>);
    let (hours, minutes, seconds) = (parts.next()?.ok()?, parts.next()?.ok()?, parts.next()?.ok()?);
    Some(hours * 3_600.0 + minutes * 60.0 + seconds)
}

/// The next text; pings are passed over.
async fn message(stream: &mut TcpStream) -> std::io::Result<String> {
    loop {
        let (kind, short) = (stream.read_u8().await? & 0x0f, stream.read_u8().await? & 0x7f);
        let length = match short {
            126 => u64::from(stream.read_u16().await?),
            127 => stream.read_u64().await?,
            short => u64::from(short),
        };
        let mut bytes = vec![0; length as usize];
        stream.read_exact(&mut bytes).await?;
        if kind == 1 {
            return String::from_utf8(bytes).map_err(std::io::Error::other);
        }
    }
}
