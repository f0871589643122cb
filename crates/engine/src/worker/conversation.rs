//! A conversation with an agent: hears what it writes, answers, tells what it uses.
//!
//! It writes to a file and we read behind it, so that nothing it says is lost when we are.

use std::fmt::Write as _;
use std::io::{self, Write as _};
use std::path::Path;
use std::time::Duration;

use conductor_core::plan::{Task, Work};
use conductor_core::run::event::{Failure, FailureClass, ModelUsage, Outcome};
use conductor_core::schedule::Input;
use conductor_core::values::ids::{Attempt, TaskId};

use super::accounts::corrections;
use super::bill::{Bill, Difference, Report};
use super::first_start::FirstStart;
use super::lines::Lines;
use super::message_queue::MessageQueue;
use super::repetition::{Repetition, Sign};
use super::replay::{Kept, Replay};
use super::{Order, Worker};
use crate::agents::conversation::{Recorder, Who};
use crate::agents::prices;
use crate::agents::{self, CallSize, Ending, Heard, Questions, Said, Translator};
use crate::host::clock::wall;
use crate::host::redact::Redactor;
use crate::process::shim::Notes;
use crate::process::transcript::{CallLog, Speaker, Transcript, shown};
use crate::process::{Exit, Stdin};

/// How much of what it does, and of its last line, is for those who look on.
const LINE: usize = 200;

pub(super) struct Conversation {
    translator: Box<dyn Translator>,
    stream: Option<Transcript>,
    lines: Lines,
    stdin_writer: Option<Stdin>,
    /// For what the coordinator after this one has to know, where there may be one.
    notes: Option<Notes>,
    /// What another coordinator has heard and said; until all of that has been read again.
    replay: Replay,
    /// Its shim was ended, and it with that.
    pub(super) lost: bool,
    session: Option<String>,
    /// Where its next attempt may go on with it: by which name that was last told.
    pub(super) told: Option<String>,
    /// Nothing where it may do the same over and over.
    repetition: Option<Repetition>,
    runaway: Option<Failure>,
    /// Whether it has used anything.
    spent: bool,
    bill: Bill,
    /// Where its own sum is another than ours.
    difference: Option<Difference>,
    questions: Questions,
    /// The last line it said.
    said: Option<String>,
    /// The tool it called last.
    tool: Option<String>,
    /// While others of its kind wait for its first word.
    pub(super) first_start: Option<FirstStart>,
    /// Notes what is said to it, for people who read the conversation.
    pub(super) recorder: Option<Recorder>,
    /// Where its tool calls are noted.
    pub(super) calls: Option<CallLog>,
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
            lines: Lines::default(),
            stdin_writer: None,
            notes: None,
            replay: Replay::default(),
            lost: false,
            session: None,
            told: None,
            repetition: (!may_repeat).then(Repetition::default),
            runaway: None,
            spent: false,
            bill: Bill::default(),
            difference: None,
            questions,
            said: None,
            tool: None,
            first_start: None,
            recorder: None,
            calls: None,
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

    pub(super) fn newest_call(&self) -> Option<CallSize> {
        self.translator.newest_call()
    }

    /// Goes on where another coordinator was.
    pub(super) fn go_on(&mut self, replay: Replay) {
        if let Some(question) = replay.question() {
            self.questions.put_again(question);
        }
        self.replay = replay;
    }

    /// Says the first words.
    pub(super) fn open(&mut self, stdin: Option<Stdin>, notes: Option<Notes>) {
        let words = self.translator.opening();
        let says_nothing = words.is_empty();
        (self.stdin_writer, self.notes) = (stdin, notes);
        self.answer(0, words);
        if says_nothing || !self.translator.converses() {
            self.close_stdin();
        }
    }

    fn close_stdin(&mut self) {
        if let Some(stdin_writer) = self.stdin_writer.take() {
            stdin_writer.close();
        }
    }

    /// To what it has said up to this place.
    fn answer(&self, place: u64, words: Vec<u8>) {
        if let Some(stdin_writer) = self.stdin_writer.as_ref().filter(|_| !words.is_empty()) {
            stdin_writer.say(Some(place), words);
        }
    }

    fn say(&self, words: Vec<u8>) {
        if let Some(stdin_writer) = self.stdin_writer.as_ref().filter(|_| !words.is_empty()) {
            stdin_writer.say(None, words);
        }
    }

    /// Asks it to come to an end; whether it understands that.
    pub(super) fn interrupt(&mut self, for_good: bool) -> bool {
        let words = match for_good {
            true => self.translator.abandon(),
            false => self.translator.interrupt(),
        };
        let understands = !words.is_empty() && self.stdin_writer.is_some();
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
        if let Some(first_start) = self.first_start.take_if(|first_start| first_start.is_overdue()) {
            first_start.made();
        }
        let plan = &order.plan;
        let mut reports = self.hear(transcript, &plan.prices)?;
        let looked = Heard { used: self.translator.look(), ..Heard::default() };
        self.spent |= !looked.used.is_empty();
        self.bill.hear(&looked, &plan.prices, &mut reports);
        match self.replay.recorded.take() {
            Some(recorded) => report_anew(worker, order, reports, &recorded),
            None => report(worker, order, reports),
        }
        self.keep_question();
        if let Some(difference) = self.difference.take() {
            worker.warn_different(&order.task, difference);
        }
        if let (Some(told), Some(session)) = (&mut self.told, &self.session)
            && told != session
        {
            // At once: after a kill of ours it can be gone on with only by this name.
            told.clone_from(session);
            let (task, attempt) = (order.task.clone(), order.attempt);
            worker.report(Input::SessionStarted { task, attempt, session: session.clone() });
        }
        if let Some(said) = self.said.take().filter(|_| worker.link.board.is_watched()) {
            worker.link.board.says(&order.task, shown(transcript.redactor().text(&said).as_bytes()));
        }
        if let Some(tool) = self.tool.take() {
            worker.link.board.uses(&order.task, shown(tool.as_bytes()));
        }
        Ok(())
    }

    /// A question that did not come in its stream is not heard again by reading that.
    fn keep_question(&mut self) {
        if let (Some(notes), Some(question)) = (&self.notes, self.questions.open()) {
            self.replay.keep_question(notes, &question);
        }
    }

    /// It says nothing more: what it may have used unsaid counts.
    pub(super) fn close(&mut self, worker: &Worker, order: &Order) {
        let mut reports = Vec::new();
        let unsaid = Heard { used: self.translator.unsaid(), ..Heard::default() };
        self.bill.hear(&unsaid, &order.plan.prices, &mut reports);
        report(worker, order, reports);
    }

    /// As `listen`, but tells the caller what was used. What it said for people goes to the transcript.
    fn hear(&mut self, transcript: &mut Transcript, own: &prices::Own) -> io::Result<Vec<Report>> {
        let mut used = Vec::new();
        let mut news = String::new();
        while let Some(stream) = &mut self.stream
            && self.lines.fill(stream)?
        {
            loop {
                let from = self.lines.place();
                self.replay.say_again(from, &mut *self.translator);
                self.questions.are_past(self.replay.is_answered(from));
                let Some(line) = self.lines.next() else { break };
                if let Some(first_start) = self.first_start.take() {
                    first_start.made();
                }
                let mut heard = self.translator.on_line(line);
                let place = self.lines.place();
                let is_new = place > self.replay.heard;
                self.difference = self.bill.hear(&heard, own, &mut used).or(self.difference.take());
                for said in std::mem::take(&mut heard.said) {
                    let said = clean(said, transcript.redactor());
                    if is_new {
                        tell(&said, &mut news, self.calls.as_mut());
                    }
                    if let Said::Tool(tool, what) = &said {
                        let words = format!("{tool} {what}");
                        self.tool = Some(words.trim_end().chars().take(LINE).collect());
                    }
                    match self.repetition.as_mut().and_then(|repetition| repetition.see(&said)) {
                        Some(Sign::Tell(words)) => {
                            if let Some(stdin_writer) = &self.stdin_writer {
                                stdin_writer.say(Some(place), self.translator.say(&words));
                            }
                            if is_new {
                                told(words, &mut news, (self.recorder.as_ref(), stream.length()));
                            }
                        }
                        Some(Sign::Stop(why)) => {
                            self.runaway = Some(Failure::new(FailureClass::Runaway, why));
                        }
                        None => {}
                    }
                }
                if let Some(calls) = self.calls.as_mut().filter(|_| is_new && heard.returned > 0) {
                    calls.returned(heard.returned, wall());
                }
                self.spent |= !heard.used.is_empty();
                self.session = heard.session.or(self.session.take());
                if let Some(stdin_writer) = self.stdin_writer.as_ref().filter(|_| !heard.reply.is_empty()) {
                    stdin_writer.say(Some(place), heard.reply);
                }
                if let Some(stdin_writer) = self.stdin_writer.take_if(|_| heard.over) {
                    stdin_writer.close();
                }
                self.runaway = heard.stuck.or(self.runaway.take());
            }
            if !news.is_empty() {
                self.said = news.lines().next_back().map(|line| line.chars().take(LINE).collect());
                transcript.notes(&news);
                news.clear();
            }
            stream.trim_behind(self.lines.read());
            if let Some(notes) = &self.notes {
                notes.heard(self.lines.place());
            }
        }
        self.questions.are_past(false);
        Ok(used)
    }

    /// What people have said meanwhile. What it cannot be told now stays with them until its next round.
    pub(super) fn deliver(
        &mut self,
        message_queue: &MessageQueue,
        order: &Order,
        transcript: &mut Transcript,
    ) {
        for words in message_queue.take(&order.task) {
            let bytes = if self.stdin_writer.is_some() { self.translator.say(&words) } else { Vec::new() };
            match bytes.is_empty() {
                true => message_queue.put(&order.task, words),
                false => {
                    transcript.note(&format!("[told: {words}]"));
                    self.record_told(&words);
                    if let Some(notes) = &self.notes {
                        Kept::Told { place: self.lines.place(), words }.keep(notes);
                    }
                    self.say(bytes);
                }
            }
        }
    }

    fn record_told(&self, words: &str) {
        if let Some((recorder, stream)) = self.recorder.as_ref().zip(self.stream.as_ref()) {
            recorder.told(Who::User, words, stream.length());
        }
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
        if let Some((recorder, question)) = self.recorder.as_ref().zip(self.questions.open()) {
            recorder.asks(&question.put());
        }
        if let Some(stream) = self.stream.take() {
            let _ = stream.finish();
        }
        if let Some(calls) = self.calls.take() {
            calls.finish(wall());
        }
        ending
    }
}

fn report(worker: &Worker, order: &Order, reports: Vec<Report>) {
    for report in reports {
        worker.services.accounts.report(&order.task, order.attempt, &report);
        let Report { model, usage, taken_back } = report;
        if usage.unpriced > 0 {
            worker.warn_unpriced(model.as_deref());
        }
        let (task, attempt) = (order.task.clone(), order.attempt);
        worker.report(Input::UsageReported { task, attempt, usage, model, taken_back });
    }
}

/// As `report`, of all that it has used since its round began: another coordinator has recorded some of that.
fn report_anew(worker: &Worker, order: &Order, reports: Vec<Report>, recorded: &[ModelUsage]) {
    let accounts = &worker.services.accounts;
    reports.iter().for_each(|report| accounts.report(&order.task, order.attempt, report));
    let used = accounts.of(&order.task, order.attempt);
    for Report { model, usage, taken_back } in corrections(&used, recorded) {
        let (task, attempt) = (order.task.clone(), order.attempt);
        worker.report(Input::UsageReported { task, attempt, usage, model, taken_back });
    }
}

/// Reads a recording of Claude Code, `times` times in a row, as from an agent at work. For benchmarks, which
/// bring their own clock.
pub fn overhear(
    output: &Path,
    recording: &[u8],
    times: usize,
    clock: impl Fn() -> Duration,
) -> io::Result<Duration> {
    let id = TaskId::parse("overheard").map_err(io::Error::other)?;
    let task = Task::new(id, Work::Prompt("Say it again.".into()));
    let speaker = Speaker { output, executor: 1, task: &task.id, attempt: Attempt(1) };
    let stream = Transcript::open_stream(&speaker)?;
    let mut writer = stream.writer()?;
    for _ in 0..times {
        writer.write_all(recording)?;
    }
    let mut transcript = Transcript::open(&speaker)?;
    let mut talk = Conversation::new(agents::listener(), Some(stream), &task, Questions::default());
    let begun = clock();
    talk.hear(&mut transcript, &prices::Own::new())?;
    Ok(clock().saturating_sub(begun))
}

/// What was said without its secrets, and then no longer than it has to be to be known again.
fn clean(said: Said, redactor: &Redactor) -> Said {
    const LONGEST: usize = 2000;
    match said {
        Said::Text(text) => Said::Text(redactor.string(text)),
        Said::Tool(name, what) => Said::Tool(redactor.string(name), redactor.cut(&what, LONGEST)),
        Said::Trouble(what) => Said::Trouble(redactor.cut(&what, LONGEST)),
        Said::Retry(what) => Said::Retry(redactor.string(what)),
        Said::Denied(what) => Said::Denied(redactor.string(what)),
        Said::Note(what) => Said::Note(redactor.string(what)),
    }
}

/// What it says, for people.
fn tell(said: &Said, news: &mut String, calls: Option<&mut CallLog>) {
    push_words(said, news);
    if let Some(calls) = calls {
        note(calls, said);
    }
}

/// What it is told because it does the same over and over.
fn told(words: String, news: &mut String, (recorder, place): (Option<&Recorder>, u64)) {
    if let Some(recorder) = recorder {
        recorder.told(Who::Conductor, &words, place);
    }
    push_words(&Said::Note(format!("conductor: {words}")), news);
}

/// What is said of its tools.
fn note(calls: &mut CallLog, said: &Said) {
    match said {
        Said::Tool(tool, what) => calls.began(tool, what, wall()),
        Said::Trouble(_) => calls.failed(),
        Said::Text(_) | Said::Retry(_) | Said::Denied(_) | Said::Note(_) => {}
    }
}

/// A line for people, with its end, of what has no secrets any more.
fn push_words(said: &Said, out: &mut String) {
    let short = |text: &str| text.chars().take(LINE).collect::<String>();
    // Writing to a string cannot fail.
    let _ = match said {
        Said::Text(text) => writeln!(out, "{text}"),
        Said::Tool(name, what) => writeln!(out, "[{name}] {}", short(what)),
        Said::Trouble(what) => writeln!(out, "[error] {}", short(what)),
        Said::Retry(what) => writeln!(out, "[waiting] {what}"),
        Said::Denied(what) => writeln!(out, "[denied] {what}"),
        Said::Note(what) => writeln!(out, "[{what}]"),
    };
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Writes everything before we read, as an agent does that is faster than we are.
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
        let task = Task::new(task.clone(), Work::Prompt("x".into()));
        let mut talk = Conversation::new(agents::listener(), Some(stream), &task, Questions::default());
        talk.hear(&mut transcript, &prices::Own::new()).unwrap();
        let words: Vec<String> = (0..24).map(|number| format!("word {number}")).collect();
        assert_eq!(transcript.last_lines(100), words);
    }
}
