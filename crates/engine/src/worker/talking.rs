//! A conversation with an agent: hears what it writes, answers, tells what it uses.
//!
//! It writes to a file and we read behind it, so that nothing it says is lost when we are.

use std::io::{self, Write as _};
use std::process::ChildStdin;
use std::sync::mpsc;

use conductor_core::event::{Failure, FailureClass, Outcome, Usage};
use conductor_core::plan::Task;
use conductor_core::scheduler::Input;
use conductor_core::units::Usd;

use super::mail::Mail;
use super::repetition::{Repetition, Sign};
use super::{Order, Worker};
use crate::agents::{Ending, Heard, Questions, Said, Translator};
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
    session: Option<String>,
    /// Nothing where it may do the same over and over.
    repetition: Option<Repetition>,
    runaway: Option<Failure>,
    /// Whether it has used anything.
    spent: bool,
    questions: Questions,
}

impl Conversation {
    pub(super) fn new(
        translator: Box<dyn Translator>,
        stream: Option<Transcript>,
        task: &Task,
        questions: Questions,
    ) -> Conversation {
        let may_repeat = task.permissions.as_ref().is_some_and(|rules| rules.repetition);
        Conversation {
            translator,
            stream,
            read: 0,
            rest: Vec::new(),
            mouth: None,
            session: None,
            repetition: (!may_repeat).then(Repetition::default),
            runaway: None,
            spent: false,
            questions,
        }
    }

    pub(super) fn spent(&self) -> bool {
        self.spent
    }

    /// Why it has to come to an end before it is done, if it has to.
    pub(super) fn cut(&self) -> Option<Outcome> {
        let asked = || self.questions.open().map(|question| Outcome::Asked(Box::new(question)));
        self.runaway.clone().map(Outcome::Failed).or_else(asked)
    }

    pub(super) fn stream(&self) -> Option<&Transcript> {
        self.stream.as_ref()
    }

    /// What it calls this conversation, where it said so.
    pub(super) fn session(&self) -> Option<&str> {
        self.session.as_deref()
    }

    /// Says the first words.
    pub(super) fn open(&mut self, stdin: Option<ChildStdin>) {
        let words = self.translator.opening();
        self.mouth = stdin.filter(|_| !words.is_empty()).map(Mouth::new);
        self.say(words);
        if !self.translator.converses() {
            self.mouth = None;
        }
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
            match self.repetition.as_mut().and_then(|repetition| repetition.see(said)) {
                Some(Sign::Tell(words)) => self.tell(&words, transcript),
                Some(Sign::Stop(why)) => self.runaway = Some(Failure::new(FailureClass::Runaway, why)),
                None => {}
            }
        }
        self.spent |= !heard.used.is_empty();
        for (model, usage) in bills(&heard) {
            let (task, attempt) = (order.task.clone(), order.attempt);
            worker.report(Input::UsageReported { task, attempt, usage, model });
        }
        self.session = heard.session.or(self.session.take());
        self.say(heard.reply);
        if heard.over {
            self.mouth = None;
        }
    }

    /// Says something to it while it works, if it listens then.
    fn tell(&mut self, words: &str, transcript: &mut Transcript) {
        if self.mouth.is_some() {
            let bytes = self.translator.say(words);
            if !bytes.is_empty() {
                transcript.note(&format!("[conductor: {words}]"));
                self.say(bytes);
            }
        }
    }

    /// What people have said meanwhile. What it cannot be told now stays with them until its next round.
    pub(super) fn deliver(&mut self, mail: &Mail, order: &Order, transcript: &mut Transcript) {
        for words in mail.take(&order.task) {
            let bytes = if self.mouth.is_some() { self.translator.say(&words) } else { Vec::new() };
            match bytes.is_empty() {
                true => mail.put(&order.task, words),
                false => {
                    transcript.note(&format!("[told: {words}]"));
                    self.say(bytes);
                }
            }
        }
    }

    /// What it all came to. What it said is kept.
    pub(super) fn finish(mut self, exit: Exit) -> Ending {
        // Its last line may lack its end; what else there would be to hear in it is not worth a report after the end.
        let rest = std::mem::take(&mut self.rest);
        if !rest.is_empty() {
            self.translator.on_line(&rest);
        }
        let ending = self.translator.finish(exit);
        if let Some(stream) = self.stream.take() {
            let _ = stream.finish();
        }
        ending
    }
}

/// What was used of each model, by the price list. Where that does not know one of them, what the agent says itself is
/// taken for all of it.
fn bills(heard: &Heard) -> Vec<(Option<Box<str>>, Usage)> {
    let mut unknown = heard.used.is_empty();
    let mut bills: Vec<(Option<Box<str>>, Usage)> = Vec::new();
    for tokens in &heard.used {
        let price = prices::price(tokens);
        unknown |= price.is_none();
        let cost = price.unwrap_or_default();
        let model = (!tokens.model.is_empty()).then(|| tokens.model.as_str().into());
        bills.push((model, Usage { cost, tokens: tokens.total(), turns: tokens.turns }));
    }
    if let Some(told) = heard.cost.filter(|_| unknown) {
        bills.iter_mut().for_each(|(_, usage)| usage.cost = Usd::default());
        match bills.first_mut() {
            Some((_, usage)) => usage.cost = told,
            None => bills.push((None, Usage { cost: told, ..Usage::default() })),
        }
    }
    bills.retain(|(_, usage)| *usage != Usage::default());
    bills
}

/// A line for people.
fn words(said: &Said) -> String {
    match said {
        Said::Text(text) => text.clone(),
        Said::Tool(name, what) => format!("[{name}] {}", what.chars().take(200).collect::<String>()),
        Said::Trouble(what) => format!("[error] {}", what.chars().take(200).collect::<String>()),
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::agents::Tokens;

    #[test]
    fn the_price_list_comes_before_what_the_agent_says() {
        let tokens = |model: &str| Tokens { model: model.into(), input: 1000, turns: 1, ..Tokens::default() };
        let cost = |used: Vec<Tokens>, cost: Option<Usd>| {
            let bills = bills(&Heard { used, cost, ..Heard::default() });
            bills.into_iter().map(|(_, usage)| usage.cost).reduce(|sum, cost| sum + cost)
        };
        let told = Some(Usd(7));
        assert_eq!(cost(vec![tokens("claude-opus-5-5")], told), Some(Usd(4000)));
        assert_eq!(cost(vec![tokens("claude-opus-5-5"), tokens("nobody's")], told), told);
        assert_eq!(cost(vec![tokens("claude-opus-5-5"), tokens("nobody's")], None), Some(Usd(4000)));
        assert_eq!(cost(Vec::new(), told), told);
        assert_eq!(cost(Vec::new(), None), None);
    }
}
