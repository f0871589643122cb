//! The client for those who wait for many things at once: the same lines, on any tokio runtime.
//!
//! It keeps nothing but the line that is coming in. A caller that takes records more slowly than the run makes them is cut off
//! by the coordinator, and told so.

use std::io;
use std::path::Path;
use std::time::Duration;

use conductor_core::schedule::Request;
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::UnixStream;
use tokio::time::timeout;

use super::lines::{self, LONGEST_ANSWER, Question, Reply};
use super::{Address, ControlError, Followed, PATIENCE, SOON, is_held};
use crate::dispatch::{LiveView, Query, View};

/// Asks, and waits until it is recorded. Where a process has the run and does not listen yet, it is waited for.
pub async fn ask(directory: &Path, request: &Request) -> Result<(), ControlError> {
    let line = lines::request(request)?;
    let listening = async {
        loop {
            match connect(directory).await.map_err(lines::unconnected) {
                Err(ControlError::NotThere) if is_held(directory) => tokio::time::sleep(SOON).await,
                connected => return connected,
            }
        }
    };
    let stream = timeout(PATIENCE, listening).await.unwrap_or(Err(ControlError::Silent))?;
    timeout(PATIENCE, exchange(stream, &line)).await.unwrap_or(Err(ControlError::Silent)).map(drop)
}

/// Looks at a live run.
pub async fn look(directory: &Path, query: Query) -> Result<View, ControlError> {
    lines::seen(send(directory, &lines::question(&Question::Look(query))?, PATIENCE).await?.1)
}

/// The whole of a live run at this moment.
pub async fn live_view(directory: &Path) -> Result<LiveView, ControlError> {
    lines::live_view(look(directory, Query::Snapshot).await?)
}

/// Follows a live run: the number of the last event before this call, and all later ones until the run ends.
/// A caller that reads the log after this call misses nothing between the two.
pub async fn follow(directory: &Path) -> Result<(u64, Following), ControlError> {
    let (stream, reply) = send(directory, &lines::question(&Question::Follow)?, PATIENCE).await?;
    Ok((lines::following(&reply)?, Following { stream, line: Vec::new() }))
}

/// Events as they happen; at an end when the run is, or the connection to it, or when too much was missed.
pub struct Following {
    stream: BufReader<UnixStream>,
    /// As much of the next line as has come.
    line: Vec<u8>,
}

impl Following {
    /// The next; nothing at the end. Safe to drop and call again.
    pub async fn next(&mut self) -> Option<io::Result<Followed>> {
        match read_line(&mut self.stream, &mut self.line).await {
            Ok(()) => lines::followed(&std::mem::take(&mut self.line)),
            Err(error) if error.kind() == io::ErrorKind::ConnectionReset => None,
            Err(error) => Some(Err(error)),
        }
    }
}

/// Says one line and hears one.
pub(super) async fn send(
    directory: &Path,
    line: &[u8],
    patience: Duration,
) -> Result<(BufReader<UnixStream>, Reply), ControlError> {
    let asking = async {
        let stream = connect(directory).await.map_err(lines::unconnected)?;
        exchange(stream, line).await
    };
    timeout(patience, asking).await.unwrap_or(Err(ControlError::Silent))
}

async fn exchange(
    mut stream: UnixStream,
    line: &[u8],
) -> Result<(BufReader<UnixStream>, Reply), ControlError> {
    stream.write_all(line).await.map_err(lines::unwritten)?;
    let (mut stream, mut answer) = (BufReader::new(stream), Vec::new());
    read_line(&mut stream, &mut answer).await.map_err(lines::unheard)?;
    Ok((stream, lines::heard(&answer)?))
}

/// Waits where so many want to connect at once that the coordinator has not got to all of them.
async fn connect(directory: &Path) -> io::Result<UnixStream> {
    let address = Address::of(directory)?;
    loop {
        match UnixStream::connect(&address.path).await {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => tokio::time::sleep(SOON).await,
            connected => return connected,
        }
    }
}

/// What was read before it is called off stays in the line.
async fn read_line(stream: &mut BufReader<UnixStream>, line: &mut Vec<u8>) -> io::Result<()> {
    stream.take(LONGEST_ANSWER.saturating_sub(line.len() as u64)).read_until(b'\n', line).await.map(drop)
}
