//! Turns out of an attempt's record and streams, in whatever pieces they come.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use conductor_core::plan::Plan;
use conductor_core::run::event::visible;
use serde_json::Value;

use super::dialects::{Answer, Call, Details, End, Speech};
use super::lines::{Line, Lines};
use super::record::Note;
use super::{Kind, LONGEST_DETAIL, LONGEST_SUMMARY, LONGEST_TEXT, Shown, ToolUse, Turn, Who};
use crate::agents::talk::Said;
use crate::host::redact;
use crate::process::transcript::shown;

/// So many turns are kept, the newest.
const MOST: usize = 10_000;

/// Lines of ours in a stream that was too long.
const OURS: &[u8] = b"[conductor: ";

/// Pieces of messages that come whole as well.
const PIECE: &[u8] = b"{\"type\":\"stream_event\"";

pub struct Reader {
    plan: Arc<Plan>,
    /// Who speaks, where the record does not say so.
    agent: Option<String>,
    /// By the record, from the first part on; and whether their conversations were begun before.
    agents: Vec<String>,
    goes_on: Vec<bool>,
    part: usize,
    /// Nothing where the agent's words are plain text.
    speech: Option<Speech>,
    lines: Lines,
    /// How much of the part was read, and how much of that in whole lines.
    read: u64,
    place: u64,
    /// What was said to it, and has its place in what is still to be read.
    told: VecDeque<(usize, u64, Turn)>,
    turns: VecDeque<Turn>,
    numbered: u64,
    mark: u64,
    /// The turns of calls that have no answer yet.
    calls: HashMap<String, u64>,
    prompt: Option<String>,
    model: Option<String>,
    skipped: u64,
}

impl Reader {
    /// Of an attempt by this agent, if it is one's at all.
    pub fn new(plan: Arc<Plan>, agent: Option<&str>) -> Reader {
        let mut reader = Reader {
            plan,
            agent: agent.map(str::to_owned),
            agents: Vec::new(),
            goes_on: Vec::new(),
            part: 0,
            speech: None,
            lines: Lines::default(),
            read: 0,
            place: 0,
            told: VecDeque::new(),
            turns: VecDeque::new(),
            numbered: 0,
            mark: 0,
            calls: HashMap::new(),
            prompt: None,
            model: None,
            skipped: 0,
        };
        reader.begin(1);
        reader
    }

    /// All turns that are kept, in their order.
    pub fn turns(&self) -> impl Iterator<Item = &Turn> {
        self.turns.iter()
    }

    /// A line of the record.
    pub fn note(&mut self, line: &[u8]) {
        match Note::read(line) {
            Some(Note::Begins { agent, model, goes_on, at_ms, prompt }) => {
                self.agents.push(agent);
                self.goes_on.push(goes_on);
                let part = self.agents.len();
                self.model = model.or(self.model.take());
                self.prompt.get_or_insert_with(|| clean(&prompt));
                self.tell(part, 0, said_to(Who::Conductor, Kind::Text, prompt, at_ms));
                if part == 1 && self.read == 0 {
                    self.begin(1);
                }
            }
            Some(Note::Told { by_user, text, at_ms, place }) => {
                let who = if by_user { Who::User } else { Who::Conductor };
                self.tell(self.agents.len().max(1), place, said_to(who, Kind::Text, text, at_ms));
            }
            Some(Note::Asks { text, at_ms }) => {
                let turn = said_to(Who::Agent, Kind::Question, text, at_ms);
                self.tell(self.agents.len().max(1), u64::MAX, turn);
            }
            None => self.skipped += 1,
        }
    }

    fn tell(&mut self, part: usize, place: u64, turn: Turn) {
        self.told.push_back((part, place, turn));
    }

    /// The next bytes of a part's stream.
    pub fn hear(&mut self, part: usize, mut bytes: &[u8]) {
        self.reach(part);
        while !bytes.is_empty() {
            let (taken, line) = self.lines.take(bytes);
            bytes = &bytes[taken..];
            self.read += taken as u64;
            if let Some(line) = line {
                self.on_line(line);
                self.place = self.read;
                self.catch_up();
            }
        }
    }

    /// Nothing more comes of the parts before this one.
    pub fn reach(&mut self, part: usize) {
        if part > self.part {
            self.end();
            self.begin(part);
        }
        self.catch_up();
    }

    /// What was said up to now, and lacks its end, counts as whole: nothing more comes of this part.
    pub fn end(&mut self) {
        if let Some(line) = self.lines.rest() {
            self.on_line(line);
        }
        if let Some(speech) = &mut self.speech {
            let said = speech.translator.on_line(speech.dialect.last_line()).said;
            self.said(said, &mut Details::default());
        }
        self.place = u64::MAX;
        self.catch_up();
    }

    /// What was said to it up to this place.
    fn catch_up(&mut self) {
        while let Some((part, place, _)) = self.told.front()
            && (*part < self.part || (*part == self.part && *place <= self.place))
        {
            let Some((_, _, turn)) = self.told.pop_front() else { return };
            self.push(turn);
        }
    }

    fn begin(&mut self, part: usize) {
        (self.part, self.read, self.place, self.lines) = (part, 0, 0, Lines::default());
        let agent = self.agents.get(part - 1).or(self.agent.as_ref());
        let goes_on = self.goes_on.get(part - 1).copied().unwrap_or(true);
        self.speech = agent.and_then(|agent| Speech::of(&self.plan, agent, goes_on));
        self.calls.clear();
    }

    fn on_line(&mut self, line: Line) {
        let Some(line) = line else {
            self.skipped += 1;
            return;
        };
        if line.starts_with(OURS) {
            let words = clean(&String::from_utf8_lossy(&line));
            self.push(turn(Who::Conductor, Kind::Note, words));
        } else if self.speech.is_none() {
            self.on_plain(&line);
        } else if !line.iter().all(u8::is_ascii_whitespace) && !line.starts_with(PIECE) {
            self.on_message(&line);
        }
    }

    /// All of it is one text, of which the last is kept.
    fn on_plain(&mut self, line: &[u8]) {
        let words = clean(&String::from_utf8_lossy(line));
        if self.turns.back().is_none_or(|turn| turn.who != Who::Agent || turn.kind != Kind::Text) {
            self.push(turn(Who::Agent, Kind::Text, String::new()));
        }
        self.mark += 1;
        let Some(turn) = self.turns.back_mut() else { return };
        turn.mark = self.mark;
        turn.text.push_str(&words);
        turn.text.push('\n');
        if turn.text.len() > 2 * LONGEST_TEXT {
            let from = turn.text.ceil_char_boundary(turn.text.len() - LONGEST_TEXT);
            turn.text = format!("[conductor: the beginning is left out]\n{}", &turn.text[from..]);
        }
    }

    fn on_message(&mut self, line: &[u8]) {
        let value = serde_json::from_slice::<Value>(line).ok().filter(Value::is_object);
        let Some((value, speech)) = value.zip(self.speech.as_mut()) else {
            self.skipped += 1;
            return;
        };
        let Some(mut details) = speech.dialect.details(&value) else {
            self.skipped += 1;
            return;
        };
        let said = match details.is_question {
            true => Vec::new(),
            false => speech.translator.on_line(line).said,
        };
        let noted = self.agents.get(self.part - 1).is_some();
        if let Some(told) = details.told.take().filter(|_| !noted) {
            self.prompt.get_or_insert_with(|| clean(&told));
            self.push_of(&details, turn(Who::Conductor, Kind::Text, told));
        }
        for thought in std::mem::take(&mut details.thoughts) {
            self.push_of(&details, turn(Who::Agent, Kind::Thinking, thought));
        }
        self.said(said, &mut details);
        for call in std::mem::take(&mut details.calls) {
            self.complete(&call);
        }
        for answer in std::mem::take(&mut details.answers) {
            self.answered(answer, details.at_ms);
        }
        if let Some(End { text, failed }) = details.end.take() {
            self.push_of(&details, Turn { failed, ..turn(Who::Agent, Kind::Result, text) });
        }
    }

    fn said(&mut self, said: Vec<Said>, details: &mut Details) {
        let mut calls = std::mem::take(&mut details.calls).into_iter();
        for said in said {
            let (who, kind, words) = match said {
                Said::Text(words) => (Who::Agent, Kind::Text, words),
                Said::Tool(name, what) => {
                    self.use_tool(name, &what, calls.next().unwrap_or_default(), details);
                    continue;
                }
                Said::Trouble(what) => {
                    if details.answers.is_empty() {
                        self.trouble(&what);
                    }
                    continue;
                }
                // Of a tool that failed, its own turn tells.
                Said::Note(_) if !details.answers.is_empty() => continue,
                Said::Retry(what) => (Who::Agent, Kind::Retry, what),
                Said::Denied(what) => (Who::Conductor, Kind::Denied, what),
                Said::Note(what) => (Who::Agent, Kind::Note, what),
            };
            self.push_of(details, turn(who, kind, words));
        }
        details.calls = calls.collect();
    }

    fn use_tool(&mut self, name: String, what: &str, call: Call, details: &Details) {
        let Call { id, input, at_ms } = call;
        let tool = ToolUse { id, name: clean(&name), input: shown_input(&input), ..ToolUse::default() };
        let summary: String = clean(&visible(what)).chars().take(LONGEST_SUMMARY).collect();
        let id = tool.id.clone();
        let at_ms = at_ms.or(details.at_ms);
        self.push_of(details, Turn { tool: Some(tool), at_ms, ..turn(Who::Tool, Kind::Tool, summary) });
        if let Some(id) = id {
            self.calls.insert(id, self.numbered);
        }
    }

    /// More is told of a call that is under way.
    fn complete(&mut self, call: &Call) {
        let Some(input) = shown_input(&call.input) else { return };
        let number = call.id.as_ref().and_then(|id| self.calls.get(id)).copied();
        let known = |turn: &Turn| turn.tool.as_ref().is_some_and(|tool| tool.input.as_ref() == Some(&input));
        if let Some(number) = number
            && !self.turn(number).is_none_or(known)
        {
            self.change(number, |turn| {
                turn.tool.iter_mut().for_each(|tool| tool.input = Some(input.clone()))
            });
        }
    }

    fn answered(&mut self, answer: Answer, at_ms: Option<i64>) {
        let Some(number) = self.calls.remove(&answer.id) else { return };
        let result = Shown::of(&answer.text, LONGEST_DETAIL);
        self.change(number, |turn| {
            let ended = answer.at_ms.or(at_ms);
            let took = ended.zip(turn.at_ms).and_then(|(to, from)| u64::try_from(to - from).ok());
            turn.failed = answer.failed;
            let Some(tool) = &mut turn.tool else { return };
            tool.result = Some(result);
            (tool.exit_code, tool.denied) = (answer.exit_code, answer.denied);
            tool.duration_ms = answer.duration_ms.or(took);
        });
    }

    /// A tool failed that has no name: it is the newest.
    fn trouble(&mut self, what: &str) {
        let newest = self.turns.iter().rev().find(|turn| turn.tool.is_some()).map(|turn| turn.number);
        let result = Shown::of(what, LONGEST_DETAIL);
        match newest {
            Some(number) => self.change(number, |turn| {
                turn.failed = true;
                turn.tool.iter_mut().for_each(|tool| tool.result = Some(result.clone()));
            }),
            None => self.push(turn(Who::Tool, Kind::Note, result.text)),
        }
    }

    fn push_of(&mut self, details: &Details, turn: Turn) {
        let at_ms = turn.at_ms.or(details.at_ms);
        self.push(Turn { at_ms, parent: details.parent.clone(), ..turn });
    }

    fn push(&mut self, turn: Turn) {
        (self.numbered, self.mark) = (self.numbered + 1, self.mark + 1);
        let text = Shown::of(&turn.text, LONGEST_TEXT).said();
        let several = self.agents.iter().any(|agent| *agent != self.agents[0]);
        let agent = self.agents.get(self.part - 1).filter(|_| several).cloned();
        self.turns.push_back(Turn { number: self.numbered, mark: self.mark, text, agent, ..turn });
        if self.turns.len() > MOST {
            self.turns.pop_front();
        }
    }

    fn place_of(&self, number: u64) -> Option<usize> {
        let first = self.turns.front()?.number;
        number.checked_sub(first).map(|place| place as usize)
    }

    fn turn(&self, number: u64) -> Option<&Turn> {
        self.turns.get(self.place_of(number)?)
    }

    fn change(&mut self, number: u64, change: impl FnOnce(&mut Turn)) {
        let Some(turn) = self.place_of(number).and_then(|place| self.turns.get_mut(place)) else { return };
        self.mark += 1;
        turn.mark = self.mark;
        change(turn);
    }

    /// Turns that came or changed behind this mark, at most so many, in their order; and the mark of the last change among
    /// them.
    pub fn since(&self, mark: u64, most: usize) -> (Vec<&Turn>, u64) {
        let mut news: Vec<&Turn> = self.turns.iter().filter(|turn| turn.mark > mark).collect();
        news.sort_by_key(|turn| turn.mark);
        news.truncate(most);
        let last = news.last().map_or(mark.min(self.mark), |turn| turn.mark);
        news.sort_by_key(|turn| turn.number);
        (news, last)
    }

    /// The mark of the newest change.
    pub fn mark(&self) -> u64 {
        self.mark
    }

    /// The first of all prompts, where it is known.
    pub fn prompt(&self) -> Option<&str> {
        self.prompt.as_deref()
    }

    /// The model that was asked for last, where one was.
    pub fn model(&self) -> Option<&str> {
        self.model.as_deref()
    }

    /// Lines that were not understood, or too long.
    pub fn skipped(&self) -> u64 {
        self.skipped
    }

    /// Turns at the beginning that are not kept any more.
    pub fn left_out(&self) -> u64 {
        self.numbered - self.turns.len() as u64
    }
}

impl Shown {
    fn of(text: &str, most: usize) -> Shown {
        let text = clean(text);
        let end = text.floor_char_boundary(most);
        Shown { left_out: text.len() - end, text: text[..end].to_owned() }
    }

    /// As one text that says what is missing.
    fn said(self) -> String {
        match self.left_out {
            0 => self.text,
            bytes => format!("{}\n[conductor: {bytes} bytes left out]", self.text),
        }
    }
}

fn turn(who: Who, kind: Kind, text: String) -> Turn {
    let (at_ms, parent, agent, tool) = (None, None, None, None);
    Turn { number: 0, mark: 0, who, kind, text, at_ms, parent, agent, failed: false, tool }
}

fn said_to(who: Who, kind: Kind, text: String, at_ms: i64) -> Turn {
    Turn { at_ms: Some(at_ms), ..turn(who, kind, text) }
}

fn shown_input(input: &Value) -> Option<Shown> {
    (!input.is_null()).then(|| Shown::of(&input.to_string(), LONGEST_DETAIL))
}

/// Text that a terminal cannot be fooled with and that has no secrets. Tabs stay: what is shown is often code.
fn clean(text: &str) -> String {
    let parts: Vec<String> = text.split('\t').map(|part| shown(part.as_bytes())).collect();
    redact::known().string(parts.join("\t"))
}
