//! What it has used so far and which of its commands failed, by its own record of the conversation: its stream says the
//! first at the end alone, and the second not at all.
//!
//! It appends to a file a line for each message, with the tokens of the call it came from. That is there before the next
//! line of its stream, and stays there when it is killed.

use std::collections::{HashMap, HashSet};
use std::fs::File;
use std::io::{Read as _, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::super::talk::{MOST, Said, Tokens, failed_command, text};

/// What was recorded since it was last asked for.
#[derive(Debug, Default, PartialEq)]
pub(super) struct News {
    pub(super) used: Vec<Tokens>,
    pub(super) troubles: Vec<Said>,
}

/// The records of one conversation and of its subagents.
#[derive(Debug)]
pub(super) struct Chats {
    /// Where there is a folder for each project it was used in.
    projects: PathBuf,
    /// What was recorded before is of an earlier process.
    since: String,
    session: String,
    records: Vec<Record>,
}

impl Chats {
    pub(super) fn new(home: &Path, session: String, since: String) -> Chats {
        Chats { projects: home.join(".gemini/tmp"), since, session, records: Vec::new() }
    }

    /// Looking for them means to look through all that it has recorded for its user.
    pub(super) fn are_found(&self) -> bool {
        !self.records.is_empty()
    }

    pub(super) fn news(&mut self) -> News {
        self.find();
        let mut news = News::default();
        self.records.iter_mut().for_each(|record| record.read(&self.since, &mut news));
        news
    }

    fn find(&mut self) {
        if self.records.is_empty() {
            let own = self.session.get(..8).unwrap_or(&self.session);
            let own = format!("-{own}.jsonl");
            let chats = entries(&self.projects).map(|project| project.join("chats"));
            let files = chats.flat_map(|chats| entries(&chats).collect::<Vec<_>>());
            let files = files.filter(|path| name(path).is_some_and(|name| name.ends_with(&own)));
            self.records = files.filter(|path| is_of(path, &self.session)).map(Record::new).collect();
        }
        let Some(chats) = self.records.first().and_then(|own| own.path.parent()) else { return };
        for path in entries(&chats.join(&self.session)) {
            if !self.records.iter().any(|record| record.path == path) {
                self.records.push(Record { delegated: true, ..Record::new(path) });
            }
        }
    }
}

#[derive(Debug)]
struct Record {
    path: PathBuf,
    delegated: bool,
    /// How far it has been read, and what of a line there was.
    position: u64,
    rest: Vec<u8>,
    /// What was told of each message.
    told: HashMap<String, Tokens>,
    /// Calls of tools whose end is known.
    ended: HashSet<String>,
}

impl Record {
    fn new(path: PathBuf) -> Record {
        Record {
            path,
            delegated: false,
            position: 0,
            rest: Vec::new(),
            told: HashMap::new(),
            ended: HashSet::new(),
        }
    }

    fn read(&mut self, since: &str, news: &mut News) {
        let mut bytes = std::mem::take(&mut self.rest);
        // What cannot be read is told by its stream, if later.
        if let Ok(read) = read_from(&self.path, self.position, &mut bytes) {
            self.position += read;
        }
        let whole = bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |last| last + 1);
        self.rest = bytes.split_off(whole);
        let messages =
            bytes.split(|byte| *byte == b'\n').filter_map(|line| serde_json::from_slice(line).ok());
        for message in messages.filter(|message: &Value| is_answer(message, since)) {
            news.used.extend(self.used(&message));
            for call in message["toolCalls"].as_array().into_iter().flatten() {
                if text(&call["id"]).is_some_and(|id| self.ended.insert(id)) {
                    news.troubles.extend(trouble(call));
                }
            }
        }
    }

    /// Beyond what was told of it before: a message is recorded again with what its tools brought.
    fn used(&mut self, message: &Value) -> Option<Tokens> {
        let (id, tokens) = used(message)?;
        let tokens = Tokens { delegated: self.delegated, ..tokens };
        let before = self.told.insert(id, tokens.clone()).unwrap_or_default();
        let more = Tokens {
            input: tokens.input.saturating_sub(before.input),
            cache_read: tokens.cache_read.saturating_sub(before.cache_read),
            output: tokens.output.saturating_sub(before.output),
            ..tokens
        };
        (more.total() > 0).then_some(more)
    }
}

fn is_answer(message: &Value, since: &str) -> bool {
    message["type"] == "gemini" && message["timestamp"].as_str().is_some_and(|at| at >= since)
}

/// A command says its exit code only to the model.
fn trouble(call: &Value) -> Option<Said> {
    let output = call["result"][0]["functionResponse"]["response"]["output"].as_str()?;
    let (said, end) = output.rsplit_once("\nExit Code: ")?;
    let code = end.split_whitespace().next()?.parse().ok()?;
    (code != 0).then(|| failed_command(Some(code), said))
}

/// The name of a message, and what its call has used.
fn used(message: &Value) -> Option<(String, Tokens)> {
    let tokens = message["tokens"].as_object()?;
    let number = |name: &str| tokens.get(name).and_then(Value::as_u64).unwrap_or(0).min(MOST);
    let (input, total) = (number("input"), number("total"));
    let used = Tokens {
        model: text(&message["model"]).unwrap_or_default(),
        input,
        cache_read: number("cached"),
        output: (number("output") + number("thoughts")).max(total.saturating_sub(input)),
        ..Tokens::default()
    };
    Some((text(&message["id"])?, used))
}

fn read_from(path: &Path, start: u64, bytes: &mut Vec<u8>) -> std::io::Result<u64> {
    let mut file = File::open(path)?;
    file.seek(SeekFrom::Start(start))?;
    file.read_to_end(bytes).map(|read| read as u64)
}

/// Its first line says whose it is.
fn is_of(path: &Path, session: &str) -> bool {
    let mut bytes = Vec::new();
    let read = File::open(path).and_then(|file| file.take(64 << 10).read_to_end(&mut bytes));
    let first = bytes.split(|byte| *byte == b'\n').next().unwrap_or_default();
    let first: Option<Value> = serde_json::from_slice(first).ok();
    read.is_ok() && first.is_some_and(|first| first["sessionId"] == session)
}

fn entries(folder: &Path) -> impl Iterator<Item = PathBuf> + use<> {
    std::fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path())
}

fn name(path: &Path) -> Option<&str> {
    path.file_name()?.to_str()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn append(path: &Path, lines: &[Value]) {
        use std::io::Write as _;
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        let mut file = std::fs::OpenOptions::new().create(true).append(true).open(path).unwrap();
        lines.iter().for_each(|line| writeln!(file, "{line}").unwrap());
    }

    fn said(id: &str, at: &str, input: u64, total: u64) -> Value {
        let tokens =
            json!({ "input": input, "output": 1, "cached": 2, "thoughts": 0, "tool": 0, "total": total });
        json!({ "id": id, "timestamp": at, "type": "gemini", "model": "gemini-2.5-flash", "tokens": tokens })
    }

    #[test]
    fn every_call_is_told_once_and_those_of_an_earlier_process_are_not() {
        let home = tempfile::tempdir().unwrap();
        let chats = home.path().join(".gemini/tmp/project/chats");
        let record = chats.join("session-2026-11-15T19-55-512793f2.jsonl");
        let session = "512793f2-8966-450d-bfde-417ad30ae19f";
        let mut news = Chats::new(home.path(), session.into(), "2026-11-15T20".into());
        assert_eq!(news.news().used, [], "there is none yet");
        append(
            &record,
            &[json!({ "sessionId": session, "kind": "main" }), said("a", "2026-11-15T19", 10, 11)],
        );
        append(&chats.join("session-2026-11-15T19-56-512793f2.jsonl"), &[json!({ "sessionId": "512793f2" })]);
        assert_eq!(news.news().used, [], "that was before");
        let used = |input, output, delegated| Tokens {
            model: "gemini-2.5-flash".into(),
            input,
            cache_read: 2,
            output,
            delegated,
            ..Tokens::default()
        };
        append(&record, &[said("b", "2026-11-15T20:01", 10, 15), json!({ "$set": {} })]);
        assert_eq!(news.news().used, [used(10, 5, false)]);
        // A message is recorded again with what its tools brought.
        append(&record, &[said("b", "2026-11-15T20:01", 10, 15), said("c", "2026-11-15T20:02", 20, 27)]);
        append(&chats.join(session).join("part.jsonl"), &[said("d", "2026-11-15T20:03", 30, 31)]);
        assert_eq!(news.news().used, [used(20, 7, false), used(30, 1, true)]);
        assert_eq!(news.news(), News::default());
    }

    #[test]
    fn a_command_that_failed_is_told_once() {
        let home = tempfile::tempdir().unwrap();
        let record = home.path().join(".gemini/tmp/p/chats/session-1-abcdefgh.jsonl");
        let call = |id: &str, code: u32| {
            let output = format!(
                "<untrusted_context>\nOutput: so far\nnot found\nExit Code: {code}\nProcess Group PGID: 1\n"
            );
            json!({ "id": id, "result": [{ "functionResponse": { "response": { "output": output } } }] })
        };
        let calls =
            |calls: &[Value]| json!({ "id": "m", "timestamp": "1", "type": "gemini", "toolCalls": calls });
        append(&record, &[json!({ "sessionId": "abcdefgh" }), calls(&[call("a", 3)])]);
        append(&record, &[calls(&[call("a", 3), call("b", 0)])]);
        let mut chats = Chats::new(home.path(), "abcdefgh".into(), String::new());
        assert_eq!(chats.news().troubles, [Said::Trouble("exit code 3: not found".into())]);
    }

    #[test]
    fn half_a_line_waits_for_its_rest() {
        let home = tempfile::tempdir().unwrap();
        let record = home.path().join(".gemini/tmp/p/chats/session-1-abcdefgh.jsonl");
        append(&record, &[json!({ "sessionId": "abcdefgh" })]);
        let mut news = Chats::new(home.path(), "abcdefgh".into(), String::new());
        let line = said("a", "1", 10, 11).to_string();
        let whole = std::fs::read_to_string(&record).unwrap();
        std::fs::write(&record, format!("{whole}{}", &line[..40])).unwrap();
        assert_eq!(news.news(), News::default());
        std::fs::write(&record, format!("{whole}{line}\n")).unwrap();
        assert_eq!(news.news().used.len(), 1);
    }
}
