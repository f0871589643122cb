//! An MCP server as a child process: one message per line, each way.

use std::io::{BufRead as _, BufReader, Read, Write as _};
use std::process::{Child, ChildStdin, Command, Stdio as Pipe};
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value;

use super::inbox::{Inbox, Incoming, excerpt};
use super::{Link, LinkError, reply};

/// A server that is asked to end gets so long to close its browser.
const GRACE: Duration = Duration::from_secs(5);
const STEP: Duration = Duration::from_millis(20);

/// How much of what a server says on standard error is kept.
const LAST_WORDS: usize = 2_000;

/// How long those of a server that has ended are waited for: what it has started may hold its standard error.
const LAST_WORDS_WITHIN: Duration = Duration::from_secs(1);

type Input = Arc<Mutex<Option<ChildStdin>>>;

#[derive(Debug)]
pub struct Stdio {
    child: Child,
    input: Input,
    inbox: Inbox,
}

impl Stdio {
    pub fn start(mut command: Command) -> Result<Stdio, LinkError> {
        let program = command.get_program().to_string_lossy().into_owned();
        command.stdin(Pipe::piped()).stdout(Pipe::piped()).stderr(Pipe::piped());
        let mut child =
            command.spawn().map_err(|source| LinkError::NotStarted { program: program.clone(), source })?;
        let input = Arc::new(Mutex::new(child.stdin.take()));
        let (sender, receiver) = channel();
        let words = Arc::new(Mutex::new(String::new()));
        let (saying, said) = channel();
        if let Some(errors) = child.stderr.take() {
            let words = Arc::clone(&words);
            thread::spawn(move || {
                keep_last(errors, &words);
                drop(saying);
            });
        }
        if let Some(output) = child.stdout.take() {
            let input = Arc::clone(&input);
            thread::spawn(move || {
                read(BufReader::new(output), &sender, &input);
                // Its last words come another way, and perhaps later.
                let _: Result<(), _> = said.recv_timeout(LAST_WORDS_WITHIN);
                let words = words.lock().unwrap_or_else(PoisonError::into_inner).clone();
                let _ = sender.send(Incoming::Ended(excerpt_or_nothing(&words)));
            });
        }
        Ok(Stdio { child, input, inbox: Inbox::new(receiver) })
    }

    pub fn pid(&self) -> u32 {
        self.child.id()
    }
}

impl Link for Stdio {
    fn request(&mut self, message: &Value, within: Duration) -> Result<Value, LinkError> {
        // A server that ended may have left its last words in the inbox; they say more than the broken pipe.
        let sent = write(&self.input, message);
        let answer = self.inbox.answer_to(&message["id"], within);
        match (sent, answer) {
            (Err(error), Err(LinkError::Silent(_))) => Err(error),
            (_, answer) => answer,
        }
    }

    fn notify(&mut self, message: &Value) -> Result<(), LinkError> {
        write(&self.input, message)
    }

    fn close(&mut self) {
        // The end of its input is the word to end.
        drop(self.input.lock().unwrap_or_else(PoisonError::into_inner).take());
        let deadline = Instant::now() + GRACE;
        while Instant::now() < deadline {
            if !matches!(self.child.try_wait(), Ok(None)) {
                return;
            }
            thread::sleep(STEP);
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Drop for Stdio {
    fn drop(&mut self) {
        self.close();
    }
}

fn write(input: &Input, message: &Value) -> Result<(), LinkError> {
    let mut input = input.lock().unwrap_or_else(PoisonError::into_inner);
    let Some(pipe) = input.as_mut() else { return Err(LinkError::Died(String::new())) };
    let mut line = message.to_string();
    line.push('\n');
    pipe.write_all(line.as_bytes())
        .and_then(|()| pipe.flush())
        .map_err(|error| LinkError::Died(error.to_string()))
}

fn read(output: BufReader<impl Read>, sender: &Sender<Incoming>, input: &Input) {
    for line in output.lines() {
        let Ok(line) = line else { break };
        if line.trim().is_empty() {
            continue;
        }
        let incoming = match serde_json::from_str::<Value>(&line) {
            Ok(message) if message.get("method").is_some() => {
                if let Some(reply) = reply(&message) {
                    let _ = write(input, &reply);
                }
                continue;
            }
            Ok(message) if message.is_object() => Incoming::Message(message),
            _ => Incoming::Garbage(excerpt(&line)),
        };
        if sender.send(incoming).is_err() {
            return;
        }
    }
}

fn excerpt_or_nothing(said: &str) -> String {
    let last = said.lines().rev().find(|line| !line.trim().is_empty());
    last.map(excerpt).unwrap_or_default()
}

fn keep_last(errors: impl Read, words: &Mutex<String>) {
    for line in BufReader::new(errors).lines() {
        let Ok(line) = line else { return };
        let mut words = words.lock().unwrap_or_else(PoisonError::into_inner);
        words.push_str(&line);
        words.push('\n');
        if words.len() > LAST_WORDS {
            let cut = words.len() - LAST_WORDS;
            let cut = (cut..words.len()).find(|at| words.is_char_boundary(*at)).unwrap_or(0);
            words.drain(..cut);
        }
    }
}
