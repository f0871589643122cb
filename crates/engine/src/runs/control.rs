//! Asking something of a run that another process drives: a socket beside its lock, a question and an answer to a line.
//!
//! What is asked for is done, or looked at, in the loop's own turn; nothing here reads the log.

use std::fs::{self, File, Permissions};
use std::io::{self, BufRead as _, BufReader, Write as _};
use std::os::fd::AsRawFd as _;
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::net::UnixStream as Stream;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use conductor_core::run::event::{Event, Record};
use conductor_core::schedule::Request;
use conductor_core::values::units::{Tick, Timestamp};
use serde::{Deserialize, Serialize};
use thiserror::Error;
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::unix::OwnedWriteHalf;
use tokio::net::{UnixListener, UnixStream};
use tokio::sync::{RwLock, watch};
use tokio::task::JoinHandle;
use tracing::Instrument as _;

use crate::dispatch::Control;
use crate::dispatch::{LiveView, Query, View};

const NAME: &str = "control";

/// The address of a socket is short. Longer ones are reached by way of the folder's descriptor.
const LONGEST_ADDRESS: usize = 100;

const LONGEST_REQUEST: u64 = 1 << 20;

/// A coordinator answers at once, unless it was stopped or waits for a disk or a lock; then the one who asks is told that.
const PATIENCE: Duration = Duration::from_secs(4);

/// How long those who do not listen to their answer are waited for.
const FAREWELL: Duration = Duration::from_secs(1);

#[derive(Debug, Error)]
pub enum ControlError {
    #[error("the run is not active")]
    NotThere,
    /// Its coordinator lives and says nothing.
    #[error("it is running but does not answer")]
    Silent,
    #[error("{0}")]
    Refused(String),
    #[error("it cannot be reached: {0}")]
    Unreachable(#[from] io::Error),
}

/// A line that asks for no change.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Question {
    Look(Query),
    /// Everything that happens from now on, a line each.
    Follow,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Reply {
    Done,
    Refused(String),
    Seen(View),
    /// What follows comes after the event of this number.
    Following(u64),
}

/// A record as it goes over the socket.
#[derive(Debug, Serialize, Deserialize)]
struct Told {
    seq: u64,
    at: Timestamp,
    tick: u64,
    event: Event,
}

/// Asks, and waits until it is recorded.
pub fn ask(directory: &Path, request: &Request) -> Result<(), ControlError> {
    match send(directory, request, PATIENCE)?.1 {
        Reply::Refused(why) => Err(ControlError::Refused(why)),
        _ => Ok(()),
    }
}

/// Whether the run's control socket exists: its coordinator has opened it, and may have died since.
pub fn is_open(directory: &Path) -> bool {
    directory.join(NAME).exists()
}

/// Looks at a live run.
pub fn look(directory: &Path, query: Query) -> Result<View, ControlError> {
    match send(directory, &Question::Look(query), PATIENCE)?.1 {
        Reply::Seen(view) => Ok(view),
        Reply::Refused(why) => Err(ControlError::Refused(why)),
        _ => Err(io::Error::other("it said something else").into()),
    }
}

/// The whole of a live run at this moment.
pub fn live_view(directory: &Path) -> Result<LiveView, ControlError> {
    match look(directory, Query::Snapshot)? {
        View::Snapshot(live_view) => Ok(*live_view),
        _ => Err(io::Error::other("it said something else").into()),
    }
}

/// Follows a live run: the number of the last event before this call, and all later ones until the run ends.
/// A caller that reads the log after this call misses nothing between the two.
pub fn follow(directory: &Path) -> Result<(u64, Following), ControlError> {
    match send(directory, &Question::Follow, PATIENCE)? {
        (stream, Reply::Following(seq)) => {
            stream.get_ref().set_read_timeout(None)?;
            Ok((seq, Following { stream }))
        }
        (_, Reply::Refused(why)) => Err(ControlError::Refused(why)),
        _ => Err(io::Error::other("it said something else").into()),
    }
}

/// Events as they happen; at an end when the run is, or the connection to it.
pub struct Following {
    stream: BufReader<Stream>,
}

impl Following {
    /// How long to wait for the next one; for ever where nothing is said.
    pub fn patience(&self, time: Option<Duration>) -> io::Result<()> {
        self.stream.get_ref().set_read_timeout(time.map(|time| time.max(Duration::from_millis(1))))
    }
}

impl Iterator for Following {
    type Item = io::Result<Record>;

    fn next(&mut self) -> Option<io::Result<Record>> {
        let mut line = String::new();
        match self.stream.read_line(&mut line) {
            Ok(0) => None,
            // Cut off in the middle: the log holds the whole record.
            Ok(_) if !line.ends_with('\n') => None,
            Ok(_) => Some(
                serde_json::from_str(&line)
                    .map_err(io::Error::other)
                    .map(|Told { seq, at, tick, event }| Record { seq, at, tick: Tick(tick), event }),
            ),
            Err(error) if error.kind() == io::ErrorKind::ConnectionReset => None,
            Err(error) => Some(Err(error)),
        }
    }
}

/// Says one line and hears one.
fn send(
    directory: &Path,
    line: &impl Serialize,
    patience: Duration,
) -> Result<(BufReader<Stream>, Reply), ControlError> {
    let connected = with_address(directory, |address| Stream::connect(address));
    let mut stream = connected.map_err(|error| match error.kind() {
        io::ErrorKind::NotFound | io::ErrorKind::ConnectionRefused => ControlError::NotThere,
        _ => silent_or_unreachable(error),
    })?;
    stream.set_read_timeout(Some(patience))?;
    stream.set_write_timeout(Some(patience))?;
    let mut line = serde_json::to_vec(line).map_err(io::Error::other)?;
    line.push(b'\n');
    stream.write_all(&line).map_err(silent_or_unreachable)?;
    let mut stream = BufReader::new(stream);
    let mut answer = String::new();
    match stream.read_line(&mut answer) {
        // It came to its end before it got to this.
        Ok(0) => return Err(ControlError::NotThere),
        Err(error) if error.kind() == io::ErrorKind::ConnectionReset => return Err(ControlError::NotThere),
        read => read.map_err(silent_or_unreachable)?,
    };
    let reply = serde_json::from_str(&answer).map_err(io::Error::other)?;
    Ok((stream, reply))
}

fn silent_or_unreachable(error: io::Error) -> ControlError {
    match error.kind() {
        io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut => ControlError::Silent,
        _ => ControlError::Unreachable(error),
    }
}

/// Listens as long as it lives.
pub(crate) struct ControlServer {
    listening: JoinHandle<()>,
    socket: PathBuf,
    /// Held by every connection that is being answered, or told of events.
    answering: Arc<RwLock<()>>,
    /// Followers are told the events there are, and then no more.
    closing: watch::Sender<bool>,
}

impl ControlServer {
    pub(crate) fn open(directory: &Path, control: Control) -> io::Result<ControlServer> {
        let socket = directory.join(NAME);
        // We hold the run's claim, so the coordinator that left a socket is dead.
        let _ = fs::remove_file(&socket);
        let listener = with_address(directory, |address| UnixListener::bind(address))?;
        fs::set_permissions(&socket, Permissions::from_mode(0o600))?;
        let answering = Arc::new(RwLock::new(()));
        let held = answering.clone();
        let (closing, closed) = watch::channel(false);
        tracing::debug!("the control socket is open");
        let listening = async move {
            loop {
                match listener.accept().await {
                    Ok((stream, _)) => {
                        let (control, held, closed) = (control.clone(), held.clone(), closed.clone());
                        let serving = serve(stream, control, held, closed);
                        drop(tokio::spawn(serving.in_current_span()));
                    }
                    Err(_) => tokio::time::sleep(Duration::from_millis(100)).await,
                }
            }
        };
        let listening = tokio::spawn(listening.in_current_span());
        Ok(ControlServer { listening, socket, answering, closing })
    }

    /// Accepts no more connections, and lets callers receive their answers: this process may end right after.
    pub(crate) async fn close(self) {
        self.listening.abort();
        self.closing.send_replace(true);
        let _ = tokio::time::timeout(FAREWELL, self.answering.write()).await;
    }
}

impl Drop for ControlServer {
    fn drop(&mut self) {
        self.listening.abort();
        let _ = fs::remove_file(&self.socket);
    }
}

/// A caller that hangs up early gets no answer; neither the run nor other callers notice.
async fn serve(
    stream: UnixStream,
    control: Control,
    answering: Arc<RwLock<()>>,
    closed: watch::Receiver<bool>,
) {
    let (reader, mut writer) = stream.into_split();
    let mut lines = tokio::io::BufReader::new(reader.take(LONGEST_REQUEST)).lines();
    while let Ok(Some(line)) = lines.next_line().await {
        let held = answering.read().await;
        let reply = match serde_json::from_str(&line) {
            Ok(Question::Follow) => return tell_all(writer, control, closed).await,
            Ok(Question::Look(query)) => {
                tracing::trace!(?query, "asked on the control socket");
                control.look(query).await.map(|seen| match seen {
                    Ok(view) => Reply::Seen(view),
                    Err(refusal) => Reply::Refused(refusal.to_string()),
                })
            }
            Err(_) => asked(&line, &control).await,
        };
        let Some(reply) = reply else { return };
        if write(&mut writer, &reply).await.is_none() {
            return;
        }
        drop(held);
    }
}

/// Its name alone: what comes with it may be in the user's words.
fn kind(request: &Request) -> String {
    match serde_json::to_value(request).unwrap_or_default() {
        serde_json::Value::Object(fields) => fields.keys().next().cloned().unwrap_or_default(),
        name => name.as_str().unwrap_or_default().to_owned(),
    }
}

async fn asked(line: &str, control: &Control) -> Option<Reply> {
    Some(match serde_json::from_str::<Request>(line) {
        Err(error) => Reply::Refused(format!("this is no request: {error}")),
        Ok(request) => {
            let kind = kind(&request);
            let done = control.ask_and_wait(request).await?;
            tracing::debug!(request = kind, ok = done.is_ok(), "asked on the control socket");
            done.map_or_else(|refusal| Reply::Refused(refusal.to_string()), |()| Reply::Done)
        }
    })
}

/// A follower that reads too slowly holds up only this task, and at the end of the run only for a moment.
async fn tell_all(mut writer: OwnedWriteHalf, control: Control, mut closed: watch::Receiver<bool>) {
    let Some((seq, mut records)) = control.follow().await else { return };
    drop(control);
    if write(&mut writer, &Reply::Following(seq)).await.is_none() {
        return;
    }
    loop {
        let batch = tokio::select! {
            biased;
            batch = records.recv() => batch,
            _ = closed.wait_for(|closed| *closed) => None,
        };
        let Some(batch) = batch else { return };
        for Record { seq, at, tick, event } in batch.iter() {
            let told = Told { seq: *seq, at: *at, tick: tick.0, event: event.clone() };
            if write(&mut writer, &told).await.is_none() {
                return;
            }
        }
    }
}

async fn write(writer: &mut OwnedWriteHalf, value: &impl Serialize) -> Option<()> {
    let mut bytes = serde_json::to_vec(value).ok()?;
    bytes.push(b'\n');
    writer.write_all(&bytes).await.ok()
}

fn with_address<T>(directory: &Path, go: impl FnOnce(&Path) -> io::Result<T>) -> io::Result<T> {
    let plain = directory.join(NAME);
    if plain.as_os_str().len() <= LONGEST_ADDRESS {
        return go(&plain);
    }
    let folder = File::open(directory)?;
    go(&PathBuf::from(format!("/proc/self/fd/{}/{NAME}", folder.as_raw_fd())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_path_is_no_hindrance() {
        let dir = tempfile::tempdir().unwrap();
        let deep = dir.path().join("d".repeat(200));
        fs::create_dir(&deep).unwrap();
        assert!(matches!(ask(&deep, &Request::Pause), Err(ControlError::NotThere)));
        let _listener =
            with_address(&deep, |address| std::os::unix::net::UnixListener::bind(address)).unwrap();
        assert!(deep.join(NAME).exists());
        with_address(&deep, |address| std::os::unix::net::UnixStream::connect(address)).unwrap();
    }
}
