//! A conversation with an agent: hears what it writes, answers, tells what it uses.
//!
//! It writes to a file and we read behind it, so that nothing it says is lost when we are.

use std::fmt::Write as _;
use std::io::{self, Write as _};
use std::path::Path;
use std::process::ChildStdin;
use std::sync::mpsc;
use std::time::{Duration, Instant};

use conductor_core::event::Usage;
use conductor_core::ids::{Attempt, TaskId};
use conductor_core::scheduler::Input;

use super::lines::Lines;
use super::{Order, Worker};
use crate::agents::{self, Ending, Heard, Said, Translator};
use crate::prices;
use crate::process::Exit;
use crate::redact::Redactor;
use crate::transcript::{Speaker, Transcript};

pub(super) struct Conversation {
    translator: Box<dyn Translator>,
    stream: Option<Transcript>,
    lines: Lines,
    mouth: Option<Mouth>,
    session: Option<String>,
}

impl Conversation {
    pub(super) fn new(translator: Box<dyn Translator>, stream: Option<Transcript>) -> Conversation {
        Conversation { translator, stream, lines: Lines::default(), mouth: None, session: None }
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
        let usage = self.hear(transcript)?;
        if usage != Usage::default() {
            let (task, attempt) = (order.task.clone(), order.attempt);
            worker.report(Input::UsageReported { task, attempt, usage });
        }
        Ok(())
    }

    /// As `listen`, but tells whoever calls what was used. What it said for people goes to the transcript.
    fn hear(&mut self, transcript: &mut Transcript) -> io::Result<Usage> {
        let mut used = Usage::default();
        let mut news = String::new();
        while let Some(stream) = &mut self.stream
            && self.lines.fill(stream)?
        {
            while let Some(line) = self.lines.next() {
                let heard = self.translator.on_line(line);
                for said in &heard.said {
                    push_words(said, &mut news);
                }
                used += usage(&heard);
                self.session = heard.session.or(self.session.take());
                if let Some(mouth) = self.mouth.as_ref().filter(|_| !heard.reply.is_empty()) {
                    mouth.say(heard.reply);
                }
                if heard.over {
                    self.mouth = None;
                }
            }
            if !news.is_empty() {
                transcript.notes(&news);
                news.clear();
            }
            stream.trim_behind(self.lines.read());
        }
        Ok(used)
    }

    /// What it all came to. What it said is kept, but for its secrets.
    pub(super) fn finish(mut self, exit: Exit, redactor: &Redactor) -> Ending {
        // Its last line may lack its end; what else there would be to hear in it is not worth a report after the end.
        if !self.lines.rest().is_empty() {
            self.translator.on_line(self.lines.rest());
        }
        let ending = self.translator.finish(exit);
        let ending = Ending {
            result: ending.result.map(|words| redactor.text(&words).into_owned()),
            outcome: redactor.outcome(ending.outcome),
            ..ending
        };
        if let Some(stream) = self.stream.take() {
            let _ = stream.finish();
        }
        ending
    }
}

/// Listens to a recording of Claude Code, said so many times in a row, as to an agent at work. For whoever wants to know
/// how long that takes.
pub fn overhear(output: &Path, recording: &[u8], times: usize) -> io::Result<Duration> {
    let task = TaskId::parse("overheard").map_err(io::Error::other)?;
    let speaker = Speaker { output, executor: 1, task: &task, attempt: Attempt(1) };
    let stream = Transcript::open_stream(&speaker)?;
    let mut writer = stream.writer()?;
    for _ in 0..times {
        writer.write_all(recording)?;
    }
    let mut transcript = Transcript::open(&speaker)?;
    let mut talk = Conversation::new(agents::listener(), Some(stream));
    let begun = Instant::now();
    talk.hear(&mut transcript)?;
    Ok(begun.elapsed())
}

/// What was used, by the price list. Where that does not know a model, what the agent says itself is taken for all of it.
fn usage(heard: &Heard) -> Usage {
    let mut usage = Usage::default();
    let mut unknown = heard.used.is_empty();
    for tokens in &heard.used {
        let price = prices::price(tokens);
        unknown |= price.is_none();
        usage += Usage { cost: price.unwrap_or_default(), tokens: tokens.total(), turns: tokens.turns };
    }
    if let Some(told) = heard.cost.filter(|_| unknown) {
        usage.cost = told;
    }
    usage
}

/// A line for people, with its end.
fn push_words(said: &Said, out: &mut String) {
    // Writing to a string cannot fail.
    let _ = match said {
        Said::Text(text) => writeln!(out, "{text}"),
        Said::Tool(name, what) => writeln!(out, "[{name}] {what}"),
        Said::Retry(what) => writeln!(out, "[waiting] {what}"),
        Said::Denied(what) => writeln!(out, "[denied] {what}"),
        Said::Note(what) => writeln!(out, "[{what}]"),
    };
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
    use conductor_core::units::Usd;

    use super::*;
    use crate::agents::Tokens;

    #[test]
    fn the_price_list_comes_before_what_the_agent_says() {
        let tokens = |model: &str| Tokens { model: model.into(), input: 1000, turns: 1, ..Tokens::default() };
        let cost =
            |used: Vec<Tokens>, cost: Option<Usd>| usage(&Heard { used, cost, ..Heard::default() }).cost;
        let told = Some(Usd(7));
        assert_eq!(cost(vec![tokens("claude-opus-5-5")], told), Usd(4000));
        assert_eq!(cost(vec![tokens("claude-opus-5-5"), tokens("nobody's")], told), Usd(7));
        assert_eq!(cost(vec![tokens("claude-opus-5-5"), tokens("nobody's")], None), Usd(4000));
        assert_eq!(cost(Vec::new(), told), Usd(7));
        assert_eq!(cost(Vec::new(), None), Usd(0));
    }

    /// Says everything before anybody listens, as an agent does that is faster than we are.
    #[test]
    fn nothing_is_given_away_before_it_was_heard() {
        let folder = tempfile::tempdir().unwrap();
        let task = TaskId::parse("t").unwrap();
        let speaker = Speaker { output: folder.path(), executor: 1, task: &task, attempt: Attempt(1) };
        let stream = Transcript::open_stream(&speaker).unwrap();
        let noise = format!("{{\"type\":\"user\",\"text\":\"{}\"}}\n", "x".repeat(1 << 20));
        let mut writer = stream.writer().unwrap();
        for number in 0..24 {
            writer.write_all(noise.as_bytes()).unwrap();
            let content = format!("[{{\"type\":\"text\",\"text\":\"word {number}\"}}]");
            writeln!(writer, "{{\"type\":\"assistant\",\"message\":{{\"content\":{content}}}}}").unwrap();
        }
        let mut transcript = Transcript::open(&speaker).unwrap();
        Conversation::new(agents::listener(), Some(stream)).hear(&mut transcript).unwrap();
        let words: Vec<String> = (0..24).map(|number| format!("word {number}")).collect();
        assert_eq!(transcript.last_lines(100), words);
    }
}
