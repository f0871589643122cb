//! One plugin at work: its process, and lines to and from it, each bounded in size and in time.
//!
//! Threads of its own read and write, so that a plugin that does not read or never stops writing holds nothing up: its
//! caller waits for as long as said and no longer, and then the plugin and all it started is killed.

use std::collections::VecDeque;
use std::io::{self, BufRead as _, BufReader, Read};
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal};
use serde_json::Value;

use super::protocol::{Hello, quoted, read_hello};
use super::{Environment, Found, PROTOCOL, PluginError};
use crate::process::Beside;

/// How much and how long.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// Until it has said hello.
    pub hello: Duration,
    /// Until it has answered a request.
    pub answer: Duration,
    /// Bytes of one line, and of all together.
    pub line: usize,
    pub total: u64,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits {
            hello: Duration::from_secs(5),
            answer: Duration::from_secs(60),
            line: 1 << 20,
            total: 256 << 20,
        }
    }
}

/// How long a plugin may take to end by itself when it is not needed any more.
const GRACE: Duration = Duration::from_millis(500);

/// Bundles of lines that wait to be read: beyond them a plugin that floods waits itself.
const QUEUE: usize = 16;

/// Lines that are there already are handed over together, so that ten thousand findings do not wake two threads ten
/// thousand times.
const BUNDLE: usize = 128;

/// How much of what it says on its standard error goes along with a failure.
const SAID: usize = 600;

/// What the thread that reads has found.
enum Heard {
    Lines(Vec<Vec<u8>>),
    Long,
    Flood,
}

pub struct Exchange {
    name: String,
    beside: Beside,
    group: Option<Pid>,
    limits: Limits,
    lines: Receiver<Heard>,
    /// Of the last bundle, what was not read yet.
    ahead: VecDeque<Vec<u8>>,
    /// Nothing any more once its input is closed.
    requests: Option<SyncSender<Vec<u8>>>,
    errors: Arc<Mutex<Vec<u8>>>,
    hello: Hello,
}

impl Exchange {
    /// Starts a plugin and waits for its hello.
    pub fn start(
        found: &Found,
        environment: &Environment,
        directory: &Path,
        limits: Limits,
    ) -> Result<Exchange, PluginError> {
        let unstartable = |source| PluginError::Unstartable { path: found.path.clone(), source };
        let mut command = Command::new(&found.path);
        command
            .env_clear()
            .envs(environment)
            .env("CONDUCTOR_PROTOCOL", PROTOCOL.to_string())
            .current_dir(directory)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .process_group(0);
        let mut beside = Beside::start(&mut command).map_err(unstartable)?;
        let child = beside.child();
        let group = Pid::from_raw(child.id() as i32);
        let (stdin, stdout, stderr) = (child.stdin.take(), child.stdout.take(), child.stderr.take());
        let (heard, lines) = sync_channel(QUEUE);
        let (requests, waiting) = sync_channel::<Vec<u8>>(QUEUE);
        let errors = Arc::new(Mutex::new(Vec::new()));
        let hello = Hello { protocol: PROTOCOL, version: String::new(), capabilities: Vec::new() };
        let mut exchange = Exchange {
            name: found.program(),
            beside,
            group,
            limits,
            lines,
            ahead: VecDeque::new(),
            requests: Some(requests),
            errors: errors.clone(),
            hello,
        };
        if let (Some(stdin), Some(stdout), Some(stderr)) = (stdin, stdout, stderr) {
            aside(move || write(stdin, &waiting)).map_err(unstartable)?;
            aside(move || read(stdout, limits, &heard)).map_err(unstartable)?;
            aside(move || keep_last(stderr, &errors)).map_err(unstartable)?;
        }
        exchange.hello = exchange.greeted(found)?;
        Ok(exchange)
    }

    fn greeted(&mut self, found: &Found) -> Result<Hello, PluginError> {
        let limit = self.limits.hello;
        match self.line(Instant::now() + limit) {
            Ok(Some(line)) => read_hello(&self.name, found.kind, &line),
            Ok(None) => Err(self.ended()),
            Err(PluginError::Late { name, said, .. }) => Err(PluginError::Silent { name, limit, said }),
            Err(error) => Err(error),
        }
    }

    pub fn hello(&self) -> &Hello {
        &self.hello
    }

    /// Sends a request. It is written aside: a plugin that does not read is found out by its missing answer.
    pub fn send(&mut self, request: &Value) -> Result<(), PluginError> {
        let mut line = request.to_string().into_bytes();
        line.push(b'\n');
        match self.requests.as_ref().map(|requests| requests.try_send(line)) {
            Some(Ok(())) => Ok(()),
            _ => Err(self.ended()),
        }
    }

    /// Its next message. What is no JSON object is an error: a plugin has its standard error for other words.
    pub fn next(&mut self, deadline: Instant) -> Result<Value, PluginError> {
        let Some(line) = self.line(deadline)? else { return Err(self.ended()) };
        match serde_json::from_slice::<Value>(&line) {
            Ok(message) if message["type"].is_string() => Ok(message),
            _ => Err(PluginError::Garbled { name: self.name.clone(), line: quoted(&line) }),
        }
    }

    /// Until when an answer to what is asked now has to be there.
    pub fn deadline(&self) -> Instant {
        Instant::now() + self.limits.answer
    }

    /// Whether a message ends the answer to a request, and how.
    pub fn is_done(&self, message: &Value) -> Result<bool, PluginError> {
        match message["type"].as_str() {
            Some("done") => Ok(true),
            Some("error") => {
                let why = message["text"].as_str().unwrap_or("it does not say why");
                Err(PluginError::Failed { name: self.name.clone(), why: quoted(why.as_bytes()) })
            }
            _ => Ok(false),
        }
    }

    /// Closes its input and lets it end; one that does not is killed. Whether it ended well.
    pub fn end(mut self) -> bool {
        self.requests = None;
        let begun = Instant::now();
        while begun.elapsed() < GRACE {
            // Read on, so that its last words do not hold it up.
            let _ = self.lines.recv_timeout(Duration::from_millis(5));
            if let Ok(Some(status)) = self.beside.child().try_wait() {
                return status.success();
            }
        }
        false
    }

    fn line(&mut self, deadline: Instant) -> Result<Option<Vec<u8>>, PluginError> {
        if let Some(line) = self.ahead.pop_front() {
            return Ok(Some(line));
        }
        let name = || self.name.clone();
        let left = deadline.saturating_duration_since(Instant::now());
        match self.lines.recv_timeout(left) {
            Ok(Heard::Lines(lines)) => {
                self.ahead = lines.into();
                Ok(self.ahead.pop_front())
            }
            Ok(Heard::Long) => Err(PluginError::LongLine { name: name(), limit: self.limits.line }),
            Ok(Heard::Flood) => Err(PluginError::Flood { name: name(), limit: self.limits.total }),
            Err(RecvTimeoutError::Disconnected) => Ok(None),
            Err(RecvTimeoutError::Timeout) => {
                Err(PluginError::Late { name: name(), limit: self.limits.answer, said: self.said() })
            }
        }
    }

    fn ended(&mut self) -> PluginError {
        // Its last words may still be on their way.
        let begun = Instant::now();
        let mut status = None;
        while status.is_none() && begun.elapsed() < GRACE {
            status = self.beside.child().try_wait().ok().flatten();
            std::thread::sleep(Duration::from_millis(2));
        }
        let how = status.map_or(String::new(), |status| format!(" ({status})"));
        PluginError::Ended { name: self.name.clone(), said: format!("{how}{}", self.said()) }
    }

    /// The end of what it said on its standard error.
    fn said(&self) -> String {
        let said = self.errors.lock().unwrap_or_else(PoisonError::into_inner);
        match quoted(&said) {
            said if said.is_empty() => String::new(),
            said => format!(": {said}"),
        }
    }
}

/// A plugin that is let go of does not go on, nor what it started.
impl Drop for Exchange {
    fn drop(&mut self) {
        self.requests = None;
        if let Some(group) = self.group {
            let _ = rustix::process::kill_process_group(group, Signal::KILL);
        }
        let _ = self.beside.child().kill();
        let _ = self.beside.child().wait();
    }
}

fn aside(work: impl FnOnce() + Send + 'static) -> io::Result<()> {
    std::thread::Builder::new().name("plugin".to_owned()).spawn(work).map(drop)
}

fn write(mut stdin: impl io::Write, requests: &Receiver<Vec<u8>>) {
    while let Ok(line) = requests.recv() {
        if stdin.write_all(&line).and_then(|()| stdin.flush()).is_err() {
            return;
        }
    }
}

/// Line by line; what is in memory beside a line is no more than one buffer.
fn read(stdout: impl Read, limits: Limits, heard: &SyncSender<Heard>) {
    let mut stdout = BufReader::with_capacity(64 << 10, stdout);
    let mut total = 0_u64;
    let mut bundle = Vec::new();
    loop {
        let mut line = Vec::new();
        let most = limits.line as u64 + 1;
        match stdout.by_ref().take(most).read_until(b'\n', &mut line) {
            Ok(0) | Err(_) => break,
            Ok(length) => total += length as u64,
        }
        let is_whole = line.last() == Some(&b'\n');
        while matches!(line.last(), Some(b'\n' | b'\r')) {
            line.pop();
        }
        let too_much = match () {
            () if line.len() > limits.line || (!is_whole && line.len() == limits.line) => Some(Heard::Long),
            () if total > limits.total => Some(Heard::Flood),
            () => None,
        };
        if too_much.is_none() && !line.iter().all(u8::is_ascii_whitespace) {
            bundle.push(line);
        }
        // What is not here yet is not waited for.
        let has_more = bundle.len() < BUNDLE && memchr::memchr(b'\n', stdout.buffer()).is_some();
        if (too_much.is_some() || !has_more) && !hand_over(&mut bundle, heard) {
            return;
        }
        if let Some(too_much) = too_much {
            let _ = heard.send(too_much);
            return;
        }
    }
    hand_over(&mut bundle, heard);
}

/// Whether anything still reads them.
fn hand_over(bundle: &mut Vec<Vec<u8>>, heard: &SyncSender<Heard>) -> bool {
    bundle.is_empty() || heard.send(Heard::Lines(std::mem::take(bundle))).is_ok()
}

fn keep_last(mut stderr: impl Read, kept: &Mutex<Vec<u8>>) {
    let mut buffer = [0; 4096];
    while let Ok(length @ 1..) = stderr.read(&mut buffer) {
        let mut kept = kept.lock().unwrap_or_else(PoisonError::into_inner);
        kept.extend_from_slice(&buffer[..length]);
        let excess = kept.len().saturating_sub(SAID);
        kept.drain(..excess);
    }
}
