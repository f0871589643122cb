//! Asking something of a run that another process drives: a socket beside its lock, a request and an answer to a line.

use std::fs::{self, File, Permissions};
use std::io::{self, BufRead as _, BufReader, Write as _};
use std::os::fd::AsRawFd as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use conductor_core::scheduler::Request;
use serde::{Deserialize, Serialize};
use thiserror::Error;
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{UnixListener, UnixStream};
use tokio::task::JoinHandle;

use crate::drive::Control;

const NAME: &str = "control";

/// The address of a socket is short. Longer ones are reached by way of the folder's descriptor.
const LONGEST_ADDRESS: usize = 100;

const LONGEST_REQUEST: u64 = 1 << 20;

/// Longer than a run waits for a disk or a lock that comes back by itself.
const PATIENCE: Duration = Duration::from_secs(60);

#[derive(Debug, Error)]
pub enum ControlError {
    #[error("nobody is working on it")]
    NotThere,
    #[error("{0}")]
    Refused(String),
    #[error("it cannot be reached: {0}")]
    Unreachable(#[from] io::Error),
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Reply {
    Done,
    Refused(String),
}

/// Asks, and waits until it is recorded.
pub fn ask(directory: &Path, request: &Request) -> Result<(), ControlError> {
    let connected = with_address(directory, |address| std::os::unix::net::UnixStream::connect(address));
    let mut stream = connected.map_err(|error| match error.kind() {
        io::ErrorKind::NotFound | io::ErrorKind::ConnectionRefused => ControlError::NotThere,
        _ => ControlError::Unreachable(error),
    })?;
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.set_write_timeout(Some(PATIENCE))?;
    let mut line = serde_json::to_vec(request).map_err(io::Error::other)?;
    line.push(b'\n');
    stream.write_all(&line)?;
    let mut answer = String::new();
    if BufReader::new(stream).read_line(&mut answer)? == 0 {
        // It came to its end before it got to this.
        return Err(ControlError::NotThere);
    }
    match serde_json::from_str(&answer).map_err(io::Error::other)? {
        Reply::Done => Ok(()),
        Reply::Refused(why) => Err(ControlError::Refused(why)),
    }
}

/// Listens as long as it lives.
pub(crate) struct Counter {
    listening: JoinHandle<()>,
    socket: PathBuf,
}

impl Counter {
    pub(crate) fn open(directory: &Path, control: Control) -> io::Result<Counter> {
        let socket = directory.join(NAME);
        // We hold the run's claim, so whoever left one is dead.
        let _ = fs::remove_file(&socket);
        let listener = with_address(directory, |address| UnixListener::bind(address))?;
        fs::set_permissions(&socket, Permissions::from_mode(0o600))?;
        let listening = tokio::spawn(async move {
            loop {
                match listener.accept().await {
                    Ok((stream, _)) => drop(tokio::spawn(serve(stream, control.clone()))),
                    Err(_) => tokio::time::sleep(Duration::from_millis(100)).await,
                }
            }
        });
        Ok(Counter { listening, socket })
    }
}

impl Drop for Counter {
    fn drop(&mut self) {
        self.listening.abort();
        let _ = fs::remove_file(&self.socket);
    }
}

/// Whoever goes away in the middle gets no answer, and nobody else notices.
async fn serve(stream: UnixStream, control: Control) {
    let (reader, mut writer) = stream.into_split();
    let mut lines = tokio::io::BufReader::new(reader.take(LONGEST_REQUEST)).lines();
    while let Ok(Some(line)) = lines.next_line().await {
        let reply = match serde_json::from_str::<Request>(&line) {
            Err(error) => Reply::Refused(format!("this is no request: {error}")),
            Ok(request) => match control.ask_and_wait(request).await {
                Some(Ok(())) => Reply::Done,
                Some(Err(refusal)) => Reply::Refused(refusal.to_string()),
                None => return,
            },
        };
        let Ok(mut bytes) = serde_json::to_vec(&reply) else { return };
        bytes.push(b'\n');
        if writer.write_all(&bytes).await.is_err() {
            return;
        }
    }
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
