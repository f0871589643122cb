//! A conversation with an agent: hears what it writes, answers, tells what it uses.
//!
//! It writes to a file and we read behind it, so that nothing it says is lost when we are.

use std::io::{self, Write as _};
use std::process::ChildStdin;
use std::sync::mpsc;

use conductor_core::event::Usage;
use conductor_core::scheduler::Input;

use super::{Order, Worker};
use crate::agents::{Ending, Heard, Said, Tokens, Translator};
use crate::prices;
use crate::process::Exit;
use crate::transcript::Transcript;

/// How much is read at a time.
const BITE: usize = 1 << 20;

/// A line longer than this is passed over: no agent says anything worth that much at once.
const LONGEST: usize = 16 << 20;

pub(super) struct Conversation {
    translator: Box<dyn Translator>,
    stream: Option<Transcript>,
    read: u64,
    rest: Vec<u8>,
    mouth: Option<Mouth>,
}

impl Conversation {
    pub(super) fn new(translator: Box<dyn Translator>, stream: Option<Transcript>) -> Conversation {
        Conversation { translator, stream, read: 0, rest: Vec::new(), mouth: None }
    }

    pub(super) fn stream(&self) -> Option<&Transcript> {
        self.stream.as_ref()
    }

    /// Says the first words.
    pub(super) fn open(&mut self, stdin: Option<ChildStdin>) {
        let words = self.translator.opening();
        self.mouth = stdin.filter(|_| !words.is_empty()).map(Mouth::new);
        self.say(words);
    }

    fn say(&self, words: Vec<u8>) {
        if let Some(mouth) = self.mouth.as_ref().filter(|_| !words.is_empty()) {
            mouth.say(words);
        }
    }

    /// Asks it to come to an end; whether it understands that.
    pub(super) fn interrupt(&mut self) -> bool {
        let words = self.translator.interrupt();
        let understands = !words.is_empty() && self.mouth.is_some();
        self.say(words);
        understands
    }

    /// Everything it has said since the last time.
    pub(super) fn listen(
        &mut self,
        worker: &Worker,
        order: &Order,
        transcript: &mut Transcript,
    ) -> io::Result<()> {
        loop {
            let Some(stream) = &mut self.stream else { return Ok(()) };
            let bytes = stream.read_from(self.read, BITE)?;
            stream.trim();
            if bytes.is_empty() {
                return Ok(());
            }
            self.read += bytes.len() as u64;
            self.rest.extend_from_slice(&bytes);
            while let Some(end) = self.rest.iter().position(|&byte| byte == b'\n') {
                let line: Vec<u8> = self.rest.drain(..=end).collect();
                let heard = self.translator.on_line(&line[..end]);
                self.heard(heard, worker, order, transcript);
            }
            if self.rest.len() > LONGEST {
                self.rest.clear();
            }
        }
    }

    fn heard(&mut self, heard: Heard, worker: &Worker, order: &Order, transcript: &mut Transcript) {
        for said in &heard.said {
            transcript.note(&words(said));
        }
        if let Some(tokens) = &heard.used {
            let (task, attempt) = (order.task.clone(), order.attempt);
            worker.report(Input::UsageReported { task, attempt, usage: usage(tokens) });
        }
        self.say(heard.reply);
        if heard.over {
            self.mouth = None;
        }
    }

    /// What it all came to. What it said is kept.
    pub(super) fn finish(mut self, exit: Exit) -> Ending {
        let ending = self.translator.finish(exit);
        if let Some(stream) = self.stream.take() {
            let _ = stream.finish();
        }
        ending
    }
}

fn usage(tokens: &Tokens) -> Usage {
    Usage { cost: prices::price(tokens).unwrap_or_default(), tokens: tokens.total(), turns: tokens.turns }
}

/// A line for people.
fn words(said: &Said) -> String {
    match said {
        Said::Text(text) => text.clone(),
        Said::Tool(name, what) => format!("[{name}] {what}"),
        Said::Retry(what) => format!("[waiting] {what}"),
        Said::Denied(what) => format!("[denied] {what}"),
        Said::Note(what) => format!("[{what}]"),
    }
}

/// Writes to a program's standard input from a thread of its own: one that does not read must not hold us up.
struct Mouth {
    words: mpsc::Sender<Vec<u8>>,
}

impl Mouth {
    fn new(mut stdin: ChildStdin) -> Mouth {
        let (words, to_say) = mpsc::channel::<Vec<u8>>();
        std::thread::spawn(move || {
            while let Ok(bytes) = to_say.recv() {
                if stdin.write_all(&bytes).and_then(|()| stdin.flush()).is_err() {
                    return;
                }
            }
        });
        Mouth { words }
    }

    fn say(&self, bytes: Vec<u8>) {
        let _ = self.words.send(bytes);
    }
}
