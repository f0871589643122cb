//! Recordings of the real agents, played to their translators: as they were, and as no agent would ever speak.

mod havoc;

use std::path::{Path, PathBuf};

use conductor_core::plan::{Task, Work};
use conductor_core::run::event::Outcome;
use conductor_core::values::ids::TaskId;
use serde_json::Value;

use super::talk::{Heard, Said, Tokens, Translator};
use super::{Brief, Caller, Session};
use crate::git::workspaces::Workspace;
use crate::process::Exit;
pub(super) use havoc::withstands;

/// A line of a recording.
pub(super) enum Line {
    /// From the agent.
    Heard(String),
    /// From the client that was recorded.
    Said(Value),
}

pub(super) struct Recording {
    pub(super) name: String,
    pub(super) lines: Vec<Line>,
    pub(super) exit: Exit,
}

/// What came of a recording.
pub(super) struct Played {
    /// In one line, for people to judge.
    pub(super) told: String,
    pub(super) heard: Vec<Heard>,
    /// What we said.
    pub(super) said: Vec<Value>,
}

/// All recordings in a folder of samples, by name.
pub(super) fn recordings(folder: &str) -> Vec<Recording> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/samples").join(folder);
    let mut files: Vec<PathBuf> =
        std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    files.iter().map(|file| Recording::read(file)).collect()
}

/// The one of this name.
pub(super) fn recording(folder: &str, name: &str) -> Recording {
    recordings(folder).into_iter().find(|recording| recording.name == name).unwrap()
}

/// How many tools were called in a recording, and how many of the calls came back.
pub(super) fn calls(folder: &str, name: &str, mut translator: impl Translator) -> (usize, u32) {
    let heard = recording(folder, name).played(&mut translator).heard;
    let said = heard.iter().flat_map(|heard| &heard.said);
    let called = said.filter(|said| matches!(said, Said::Tool(..))).count();
    (called, heard.iter().map(|heard| heard.returned).sum())
}

/// What came of each, a line each.
pub(super) fn ends<T: Translator>(folder: &str, translator: impl Fn(&Recording) -> T) -> String {
    let told = |recording: &Recording| recording.played(&mut translator(recording)).told;
    recordings(folder).iter().map(told).collect::<Vec<_>>().join("\n")
}

/// Lets a translator hear what is not its language, to the end.
pub(super) fn confuse(folder: &str, mut translator: impl Translator) {
    for line in garbage().chain(mangled(folder)) {
        translator.on_line(&line);
    }
    translator.interrupt();
    translator.finish(Exit::Code(0));
}

impl Recording {
    /// `<seconds> << line` and `>>` for both directions, or lines of the agent alone; the exit code is in a last line
    /// `rc 1` or in the name, `name.rc1.jsonl`.
    fn read(file: &Path) -> Recording {
        let text = std::fs::read_to_string(file).unwrap();
        let stem = file.file_stem().unwrap().to_str().unwrap();
        let (name, code) = stem.split_once(".rc").unwrap_or((stem, "0"));
        let mut recording =
            Recording { name: name.to_owned(), lines: Vec::new(), exit: exit(code.parse().unwrap()) };
        let both_ways = file.extension().is_some_and(|extension| extension == "txt");
        for line in text.lines() {
            let words: Vec<&str> = line.splitn(3, ' ').collect();
            match words.as_slice() {
                _ if !both_ways => recording.lines.push(Line::Heard(line.to_owned())),
                ["rc", code, ..] => recording.exit = exit(code.parse().unwrap()),
                [_, "<<", line] => recording.lines.push(Line::Heard((*line).to_owned())),
                [_, ">>", line] => recording.lines.push(Line::Said(serde_json::from_str(line).unwrap())),
                // Remarks of the recorder.
                _ => {}
            }
        }
        recording
    }

    /// What was said then.
    pub(super) fn said(&self) -> impl Iterator<Item = &Value> {
        self.lines.iter().filter_map(|line| match line {
            Line::Said(value) => Some(value),
            Line::Heard(_) => None,
        })
    }

    /// Plays it to a translator, which is interrupted where it was interrupted then.
    pub(super) fn played(&self, translator: &mut dyn Translator) -> Played {
        let mut bytes = translator.opening();
        let mut heard = Vec::new();
        for line in &self.lines {
            match line {
                Line::Heard(line) => {
                    let news = translator.on_line(line.as_bytes());
                    bytes.extend(&news.reply);
                    heard.push(news);
                }
                Line::Said(value) if is_interruption(value) => bytes.extend(translator.interrupt()),
                Line::Said(_) => {}
            }
        }
        let said = bytes.split(|&byte| byte == b'\n').filter_map(|line| serde_json::from_slice(line).ok());
        Played { said: said.collect(), told: self.told(translator, &heard), heard }
    }

    fn told(&self, translator: &mut dyn Translator, heard: &[Heard]) -> String {
        // Its totals take the place of what was told since the last ones.
        let (mut used, mut settled) = (Tokens::default(), (0, 0));
        for heard in heard {
            for tokens in &heard.used {
                used.input += tokens.input;
                used.output += tokens.output;
                used.turns += tokens.turns;
            }
            if let Some(totals) = &heard.totals {
                let sum = |of: fn(&Tokens) -> u64| totals.iter().map(of).sum::<u64>();
                settled = (settled.0 + sum(|tokens| tokens.input), settled.1 + sum(|tokens| tokens.output));
                (used.input, used.output) = settled;
            }
        }
        let ending = translator.finish(self.exit);
        let outcome = match &ending.outcome {
            Outcome::Failed(failure) => format!("{:?}: {}", failure.class, failure.message),
            Outcome::Succeeded => format!("ok: {}", ending.result.unwrap_or_default()),
            other => format!("{other:?}"),
        };
        let parked = ending.parked.map(|until| format!(" (parked until {until:?})")).unwrap_or_default();
        let session = heard.iter().rev().find_map(|heard| heard.session.as_deref()).unwrap_or("no session");
        let Tokens { input, output, turns, .. } = used;
        let figures = format!("in {input:>5} out {output:>4} turns {turns}");
        format!("{:<28} {figures}  [{session}] {outcome}{parked}", self.name)
    }
}

fn is_interruption(said: &Value) -> bool {
    matches!(said["method"].as_str(), Some("turn/interrupt" | "session/cancel"))
        || said["request"]["subtype"] == "interrupt"
}

fn exit(code: i32) -> Exit {
    if code < 0 { Exit::Signal(-code) } else { Exit::Code(code) }
}

/// A message's shape, to compare ours with the recorded one: every string but its method is left out.
pub(super) fn shape(message: &Value) -> Value {
    match message {
        Value::Object(fields) => {
            let shaped = |(name, value): (&String, &Value)| match name.as_str() {
                "method" => (name.clone(), value.clone()),
                _ => (name.clone(), shape(value)),
            };
            Value::Object(fields.iter().map(shaped).collect())
        }
        Value::Array(items) => Value::Array(items.iter().map(shape).collect()),
        Value::String(_) => Value::String("…".to_owned()),
        other => other.clone(),
    }
}

/// Makes a translator for a prompt in a directory.
pub(super) fn asked<T>(directory: &str, session: Session, and: impl FnOnce(&Brief<'_>) -> T) -> T {
    let task = Task::new(TaskId::parse("t").unwrap(), Work::Prompt("do it".to_owned()));
    let workspace = Workspace { directory: directory.into(), ..Workspace::default() };
    let (caller, words) = (Caller::default(), "do it".to_owned());
    and(&Brief {
        task: &task,
        workspace: &workspace,
        caller: &caller,
        words,
        anew: None,
        session: &session,
        questions: &super::Questions::default(),
        earlier: super::Earlier::default(),
        manner: None,
        tools: None,
    })
}

/// Lines no agent writes, and half of what some do.
pub(super) fn garbage() -> impl Iterator<Item = Vec<u8>> {
    let lines: [&[u8]; 20] = [
        b"",
        b"\xff\xfe\x00",
        b"null",
        b"17",
        b"[]",
        b"[{\"type\":\"result\"}]",
        b"\"result\"",
        b"{",
        b"{}",
        b"{\"type\":17}",
        b"{\"type\":null,\"id\":null}",
        b"{\"type\":\"new\"}",
        b"{\"id\":{},\"result\":[]}",
        b"{\"id\":2,\"result\":null}",
        b"{\"id\":-1,\"error\":7}",
        b"{\"method\":17,\"id\":\"x\"}",
        b"{\"method\":\"new/thing\",\"params\":[1]}",
        b"{\"method\":\"new/question\",\"id\":\"q\",\"params\":null}",
        b"{\"type\":\"usage\",\"input\":-5,\"cost\":\"much\"}",
        b"plain words on the wrong channel",
    ];
    lines.into_iter().map(<[u8]>::to_vec)
}

/// Every line that was ever recorded in this folder, each part of it in turn replaced by something else.
fn mangled(folder: &str) -> Vec<Vec<u8>> {
    let lines = recordings(folder).into_iter().flat_map(|recording| recording.lines);
    let values = lines.filter_map(|line| match line {
        Line::Heard(line) => serde_json::from_str::<Value>(&line).ok(),
        Line::Said(_) => None,
    });
    let mut out = Vec::new();
    for value in values {
        for with in [Value::Null, Value::from(-1)] {
            out.extend(changed(&value, &with).iter().map(|value| serde_json::to_vec(value).unwrap()));
        }
    }
    out
}

/// The value with one of its fields, at whatever depth up to a few, replaced.
fn changed(value: &Value, with: &Value) -> Vec<Value> {
    let Value::Object(fields) = value else { return vec![with.clone()] };
    let mut out = Vec::new();
    for (name, field) in fields {
        for instead in changed(field, with) {
            let mut copy = fields.clone();
            copy.insert(name.clone(), instead);
            out.push(Value::Object(copy));
        }
    }
    out
}
