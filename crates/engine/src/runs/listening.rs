//! What a task's agent or command says: while it is at work, afterwards, and where its coordinator died. Only what has been
//! cleared of secrets is told.

mod exchange;
mod following;

use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use conductor_core::plan::{Plan, Task};
use conductor_core::run::event::{Event, Record};
use conductor_core::run::{Run, TaskState};
use conductor_core::values::ids::{Attempt, RunId, TaskId};
use thiserror::Error;

use super::control::{ControlError, async_client};
use crate::agents;
use crate::dispatch::{Heard, Query, View};
use crate::host::home::Home;
use crate::host::redact;
use crate::process::transcript::{
    self, CheckRun, MERGE, Newest, PartReader, Reader, Speaker, ToolCall, shown,
};
use crate::stores::{LogReader, StoreError};

pub use exchange::Exchange;
pub use following::{Follower, Told};

#[derive(Debug, Error)]
pub enum ListenError {
    #[error(transparent)]
    Control(#[from] ControlError),
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error("what was said cannot be read: {0}")]
    Unreadable(#[from] io::Error),
}

/// A task whose words are listened to.
#[derive(Clone)]
pub struct Listener {
    home: Home,
    store: Arc<dyn LogReader>,
    run: RunId,
    plan: Arc<Plan>,
    task: TaskId,
    state: PathBuf,
    output: PathBuf,
    stream: bool,
    /// The task's attempts so far, the oldest first, and who made them.
    attempts: Vec<(Attempt, u32)>,
    /// The attempt that was at work by the log.
    at_work: Option<Attempt>,
}

/// How an attempt stands for one who listens.
enum Standing {
    AtWork(Heard),
    Over,
    /// The run is not active; whether its coordinator died while the attempt was at work.
    Left {
        died: bool,
    },
}

impl Listener {
    /// To a task's words for people, or, with `stream`, to what its agent says to us.
    pub fn new(
        home: &Home,
        store: Arc<dyn LogReader>,
        id: &RunId,
        run: &Run,
        place: usize,
        stream: bool,
    ) -> Listener {
        let (task, progress) = run.task(place);
        let state = home.run(id);
        let mut attempts: Vec<(Attempt, u32)> =
            run.spans_of(place).map(|span| (span.attempt, span.executor)).collect();
        attempts.reverse();
        let at_work = match &progress.state {
            TaskState::Running(running) if !running.ended => Some(running.attempt),
            _ => None,
        };
        Listener {
            home: home.clone(),
            store,
            run: id.clone(),
            plan: run.plan().clone(),
            task: task.id.clone(),
            output: run.options().output.as_ref().map_or_else(|| state.clone(), PathBuf::from),
            state,
            stream,
            attempts,
            at_work,
        }
    }

    pub fn run(&self) -> &RunId {
        &self.run
    }

    pub fn task(&self) -> &TaskId {
        &self.task
    }

    /// The oldest first, with the numbers of those who made them.
    pub fn attempts(&self) -> &[(Attempt, u32)] {
        &self.attempts
    }

    /// How the task stands by its coordinator.
    pub async fn heard(&self) -> Result<Heard, ControlError> {
        match async_client::look(&self.state, Query::Heard(self.task.clone())).await? {
            View::Heard(heard) => Ok(heard),
            _ => Err(ControlError::NotThere),
        }
    }

    fn speaker(&self, attempt: Attempt, executor: u32) -> Speaker<'_> {
        Speaker { output: &self.output, executor, task: &self.task, attempt }
    }

    /// How the checks of an attempt went: its own, then those of its work merged with that of others.
    pub fn checks(&self, attempt: Attempt, executor: u32) -> Vec<CheckRun> {
        let mut runs = transcript::checks(&self.speaker(attempt, executor));
        runs.extend(transcript::checks(&self.speaker(attempt, MERGE)));
        runs
    }

    /// The tool call of an attempt that came back last.
    pub fn last_tool(&self, attempt: Attempt, executor: u32) -> Option<ToolCall> {
        transcript::last_tool_call(&self.speaker(attempt, executor))
    }

    pub fn reader(&self, attempt: Attempt, executor: u32) -> Words {
        let speaker = self.speaker(attempt, executor);
        match self.stream {
            true => Words::ToUs(PartReader::new(&speaker)),
            false => Words::Shown(Reader::new(&speaker, false)),
        }
    }

    async fn standing(&self, attempt: Attempt) -> Result<Standing, ControlError> {
        match self.heard().await {
            Ok(heard) if heard.attempt == attempt && heard.at_work => Ok(Standing::AtWork(heard)),
            Ok(_) => Ok(Standing::Over),
            Err(ControlError::NotThere) => Ok(Standing::Left { died: self.at_work == Some(attempt) }),
            Err(error) => Err(error),
        }
    }

    /// Whether it is at work as it was when this was heard: if not, what was read meanwhile may be another's.
    async fn goes_on(&self, before: &Heard) -> bool {
        let after = self.heard().await;
        after.is_ok_and(|after| (after.attempt, after.at_work) == (before.attempt, true))
    }

    /// What comes next of an attempt; nothing where that is all for now.
    pub async fn next(&self, attempt: Attempt, words: &mut Words) -> io::Result<Vec<u8>> {
        loop {
            // Of a coordinator that does not answer, what is kept can be read.
            let standing = self.standing(attempt).await.unwrap_or(Standing::Over);
            let mut ahead = words.clone();
            let mut said = match &mut ahead {
                Words::Shown(reader) => self.shown(reader, &standing)?,
                Words::ToUs(parts) => said(parts, &standing)?,
            };
            match &standing {
                Standing::AtWork(before) if !self.goes_on(before).await => continue,
                Standing::Left { .. } if self.stream => said = self.without_secrets(said),
                _ => {}
            }
            *words = ahead;
            return Ok(said);
        }
    }

    fn shown(&self, reader: &mut Reader, standing: &Standing) -> io::Result<Vec<u8>> {
        match standing {
            Standing::AtWork(before) => reader.spooled(before.clear[0]),
            Standing::Over => reader.rest(),
            Standing::Left { died } => self.left(reader, *died),
        }
    }

    /// Of a run that is not active: what is kept, or what a coordinator that died has left.
    fn left(&self, reader: &mut Reader, died: bool) -> io::Result<Vec<u8>> {
        if reader.kept().exists() {
            return reader.rest();
        }
        match died {
            true => Ok(self.without_secrets(reader.all_left()?)),
            false => Ok(Vec::new()),
        }
    }

    /// Of what was never cleared of them.
    fn without_secrets(&self, bytes: Vec<u8>) -> Vec<u8> {
        let task: Option<&Task> = self.plan.tasks.iter().find(|task| task.id == self.task);
        match task.filter(|_| !bytes.is_empty()) {
            Some(task) => {
                let redactor = agents::redactor(&self.plan, task);
                redactor.text(&String::from_utf8_lossy(&bytes)).into_owned().into_bytes()
            }
            None => Vec::new(),
        }
    }

    /// All that an attempt has said up to now, in lines that are safe to show.
    pub async fn all(&self, attempt: Attempt, executor: u32) -> io::Result<String> {
        let (mut reader, mut lines) = (self.reader(attempt, executor), ShownLines::default());
        let mut text = String::new();
        loop {
            let words = self.next(attempt, &mut reader).await?;
            if words.is_empty() {
                return Ok(text + &lines.rest());
            }
            text += &lines.add(&words);
        }
    }
}

/// What is read of an attempt, each byte once.
#[derive(Debug, Clone)]
pub enum Words {
    /// Its transcript, for people.
    Shown(Reader),
    /// What its agents said to us, one part after the other.
    ToUs(PartReader),
}

/// The next bytes of any part. What is noted between them is for those who read turns.
fn said(parts: &mut PartReader, standing: &Standing) -> io::Result<Vec<u8>> {
    loop {
        let news = parts.next(standing.newest())?;
        match news.said {
            Some((_, bytes)) => return Ok(bytes),
            None if news.notes.is_empty() => return Ok(Vec::new()),
            None => {}
        }
    }
}

impl Standing {
    /// Where the newest part is read from.
    fn newest(&self) -> Newest {
        match self {
            Standing::AtWork(heard) => Newest::AtWork(heard.clear[1]),
            Standing::Left { died: true } => Newest::Left,
            Standing::Over | Standing::Left { died: false } => Newest::Kept,
        }
    }
}

/// Attempts of a task by the log, and who made them.
fn attempts(records: &[Record], task: &TaskId) -> Vec<(Attempt, u32)> {
    let started = records.iter().filter_map(|record| match &record.event {
        Event::AttemptStarted { task: whose, attempt, executor, .. } if whose == task => {
            Some((*attempt, *executor))
        }
        _ => None,
    });
    started.collect()
}

/// Words in whole lines that are safe to show: an escape that comes in two parts must not get through.
#[derive(Debug, Default)]
pub struct ShownLines {
    /// The beginning of a line whose end has not come yet.
    begun: Vec<u8>,
}

impl ShownLines {
    pub fn add(&mut self, words: &[u8]) -> String {
        self.begun.extend_from_slice(words);
        let whole = self.begun.iter().rposition(|&byte| byte == b'\n').map_or(0, |end| end + 1);
        let lines: Vec<u8> = self.begun.drain(..whole).collect();
        safe(&lines)
    }

    /// The line that lacks its end, with one.
    pub fn rest(&mut self) -> String {
        match std::mem::take(&mut self.begun) {
            rest if rest.is_empty() => String::new(),
            rest => safe(&rest) + "\n",
        }
    }
}

fn safe(bytes: &[u8]) -> String {
    redact::known().text(&shown(bytes)).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_escape_in_two_parts_does_not_get_through() {
        let mut lines = ShownLines::default();
        assert_eq!(lines.add(b"one\ntwo \x1b[3"), "one\n");
        assert_eq!(lines.add(b"1mred\nthree"), "two red\n");
        assert_eq!((lines.rest(), lines.rest()), ("three\n".to_owned(), String::new()));
    }
}
