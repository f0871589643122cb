//! The client that blocks.

use std::io::{self, BufRead as _, BufReader, Read as _, Write as _};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::{Duration, Instant};

use conductor_core::schedule::Request;

use super::lines::{self, LONGEST_ANSWER, Question, Reply};
use super::{Address, ControlError, Followed, PATIENCE, SOON, is_held};
use crate::dispatch::{LiveView, Query, View};

/// Asks, and waits until it is recorded. Where a process has the run and does not listen yet, it is waited for.
pub fn ask(directory: &Path, request: &Request) -> Result<(), ControlError> {
    let line = lines::request(request)?;
    let deadline = Instant::now() + PATIENCE;
    let stream = loop {
        match connect(directory) {
            Err(ControlError::NotThere) if !is_held(directory) => return Err(ControlError::NotThere),
            Err(ControlError::NotThere) if Instant::now() < deadline => std::thread::sleep(SOON),
            Err(ControlError::NotThere) => return Err(ControlError::Silent),
            connected => break connected?,
        }
    };
    exchange(stream, &line).map(drop)
}

/// Looks at a live run.
pub fn look(directory: &Path, query: Query) -> Result<View, ControlError> {
    lines::seen(send(directory, &lines::question(&Question::Look(query))?)?.1)
}

/// The whole of a live run at this moment.
pub fn live_view(directory: &Path) -> Result<LiveView, ControlError> {
    lines::live_view(look(directory, Query::Snapshot)?)
}

/// Follows a live run: the number of the last event before this call, and all later ones until the run ends.
/// A caller that reads the log after this call misses nothing between the two.
pub fn follow(directory: &Path) -> Result<(u64, Following), ControlError> {
    let (stream, reply) = send(directory, &lines::question(&Question::Follow)?)?;
    let seq = lines::following(&reply)?;
    stream.get_ref().set_read_timeout(None)?;
    Ok((seq, Following { stream, line: Vec::new() }))
}

/// Events as they happen; at an end when the run is, or the connection to it, or when too much was missed.
pub struct Following {
    stream: BufReader<UnixStream>,
    /// As much of the next line as has come.
    line: Vec<u8>,
}

impl Following {
    /// How long to wait for the next one; for ever where nothing is said.
    pub fn patience(&self, time: Option<Duration>) -> io::Result<()> {
        self.stream.get_ref().set_read_timeout(time.map(|time| time.max(Duration::from_millis(1))))
    }
}

impl Iterator for Following {
    type Item = io::Result<Followed>;

    fn next(&mut self) -> Option<io::Result<Followed>> {
        match read_line(&mut self.stream, &mut self.line) {
            Ok(()) => lines::followed(&std::mem::take(&mut self.line)),
            Err(error) if error.kind() == io::ErrorKind::ConnectionReset => None,
            Err(error) => Some(Err(error)),
        }
    }
}

/// Says one line and hears one.
fn send(directory: &Path, line: &[u8]) -> Result<(BufReader<UnixStream>, Reply), ControlError> {
    exchange(connect(directory)?, line)
}

fn connect(directory: &Path) -> Result<UnixStream, ControlError> {
    let connected = Address::of(directory).and_then(|address| UnixStream::connect(&address.path));
    connected.map_err(lines::unconnected)
}

fn exchange(mut stream: UnixStream, line: &[u8]) -> Result<(BufReader<UnixStream>, Reply), ControlError> {
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.set_write_timeout(Some(PATIENCE))?;
    stream.write_all(line).map_err(lines::unwritten)?;
    let (mut stream, mut answer) = (BufReader::new(stream), Vec::new());
    read_line(&mut stream, &mut answer).map_err(lines::unheard)?;
    Ok((stream, lines::heard(&answer)?))
}

/// What was read before an error stays in the line.
fn read_line(stream: &mut BufReader<UnixStream>, line: &mut Vec<u8>) -> io::Result<()> {
    stream.take(LONGEST_ANSWER.saturating_sub(line.len() as u64)).read_until(b'\n', line).map(drop)
}
