//! `sessions.jsonl` in the state directory: one line for each session of an agent, of all runs, appended when it ends.
//!
//! It is for people and other programs; nothing here is ever read back. Several coordinators append to it at once: each
//! line is one write to a file opened for appending. It is written behind the run's back and holds nobody up: where it
//! cannot be written, the run goes on without.

use std::collections::HashMap;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::mpsc as std_mpsc;
use std::time::{Duration, Instant};

use conductor_core::costs;
use conductor_core::event::{Event, Failure, Hand, Outcome, Planning, Record, Usage};
use conductor_core::ids::{Attempt, RunId, TaskId};
use conductor_core::run::{Run, TaskState};
use conductor_core::units::Timestamp;
use serde::Serialize;
use tokio::sync::mpsc;

use crate::access;
use crate::bus::Records;
use crate::shortage::{PAUSE, Passing as _};

pub const SCHEMA: &str = "conductor.session/1";
pub const FILE: &str = "sessions.jsonl";

/// How long a run waits at its end for the last lines.
const PATIENCE: Duration = Duration::from_secs(2);

/// A session that is over. What was not measured is null.
#[derive(Debug, Serialize)]
struct Line<'a> {
    schema: &'static str,
    /// `task` or `planning`.
    kind: &'static str,
    session_id: Option<&'a str>,
    /// Of a task.
    run: Option<&'a RunId>,
    task_id: Option<&'a TaskId>,
    attempt: Option<Attempt>,
    /// Of planning: by which name what it said is kept.
    plan: Option<&'a str>,
    agent: &'a str,
    model: Option<&'a str>,
    /// completed, failed, interrupted or cancelled, as the agent's own end was; whether its work landed is the run's to say.
    status: &'static str,
    error: Option<Cause<'a>>,
    directory: &'a Path,
    started_at: Option<String>,
    ended_at: String,
    elapsed_ms: u64,
    turns: Option<u32>,
    tokens: Option<u64>,
    cost_usd: Option<f64>,
}

#[derive(Debug, Serialize)]
#[serde(untagged)]
enum Cause<'a> {
    Failure(&'a Failure),
    Words { message: &'a str },
}

/// A plan that was asked for.
pub(crate) struct PlanningSession<'a> {
    pub(crate) session: Option<&'a str>,
    pub(crate) planning: &'a Planning,
    /// As it was asked for; what it calls itself comes first.
    pub(crate) model: Option<String>,
    pub(crate) status: &'static str,
    pub(crate) error: Option<String>,
    pub(crate) directory: &'a Path,
    pub(crate) ended: Timestamp,
}

/// Writes its line, where that can be done.
pub(crate) fn note_planning(home: &Path, session: &PlanningSession<'_>) {
    let PlanningSession { planning, ended, .. } = session;
    let used = (!planning.usage.is_empty()).then(|| planning.total());
    let named = planning.usage.iter().rev().find_map(|one| one.model.as_deref());
    let line = Line {
        schema: SCHEMA,
        kind: "planning",
        session_id: session.session,
        run: None,
        task_id: None,
        attempt: None,
        plan: Some(&planning.plan),
        agent: &planning.agent,
        model: named.or(session.model.as_deref()),
        status: session.status,
        error: session.error.as_deref().map(|message| Cause::Words { message }),
        directory: session.directory,
        started_at: Some(moment(planning.at)),
        ended_at: moment(*ended),
        elapsed_ms: (*ended - planning.at).0,
        turns: used.map(|used| used.turns),
        tokens: used.map(|used| used.tokens),
        cost_usd: used.and_then(costs::dollars),
    };
    let _ = line.bytes().and_then(|bytes| append(&home.join(FILE), &bytes));
}

impl Line<'_> {
    fn bytes(&self) -> io::Result<Vec<u8>> {
        let mut bytes = serde_json::to_vec(self)?;
        bytes.push(b'\n');
        Ok(bytes)
    }
}

/// Who writes the lines of one run.
pub struct Scribe {
    done: std_mpsc::Receiver<()>,
}

impl Scribe {
    /// Follows a run from here on, on a thread of its own; it ends with the run.
    pub fn follow(
        home: &Path,
        id: &RunId,
        directory: &Path,
        run: &Run,
        mut records: mpsc::UnboundedReceiver<Records>,
    ) -> Scribe {
        let mut book = Book {
            path: home.join(FILE),
            run: id.clone(),
            directory: directory.to_owned(),
            open: left_open(run),
            sessions: HashMap::new(),
            owed: Vec::new(),
        };
        let (sender, done) = std_mpsc::channel();
        std::thread::spawn(move || {
            while let Some(batch) = records.blocking_recv() {
                for record in batch.iter() {
                    // A disk that is full or a file that is not ours to write is no reason to disturb the run.
                    let _ = book.note(record);
                }
            }
            let ended = Instant::now();
            while book.write().is_err_and(|error| error.shortage().is_some()) && ended.elapsed() < PATIENCE {
                std::thread::sleep(PAUSE);
            }
            drop(sender);
        });
        Scribe { done }
    }

    /// Waits until the last line is written, but not for ever.
    pub fn finish(self) {
        let _ = self.done.recv_timeout(PATIENCE);
    }
}

/// An agent at work.
struct Open {
    attempt: Attempt,
    agent: String,
    model: Option<String>,
    session: Option<String>,
    since: Option<Timestamp>,
    used: Option<Usage>,
}

struct Book {
    path: PathBuf,
    run: RunId,
    directory: PathBuf,
    open: HashMap<TaskId, Open>,
    /// The last conversation of a task, which its next attempt may go on with.
    sessions: HashMap<TaskId, (String, String)>,
    /// Lines that could not be written yet.
    owed: Vec<u8>,
}

/// Those that were at work when an earlier coordinator died: what is known of them is known from the run.
fn left_open(run: &Run) -> HashMap<TaskId, Open> {
    let each = run.tasks().enumerate().filter_map(|(place, (task, progress))| {
        let (TaskState::Running(running), Some(hand)) = (&progress.state, run.hand(place)) else {
            return None;
        };
        let session = run.repeats(place).and_then(|repeats| repeats.session.clone());
        let open = Open {
            attempt: running.attempt,
            agent: hand.agent.clone(),
            model: run.model(place).map(str::to_owned).or_else(|| hand.model.clone()),
            session: session.filter(|(with, _)| *with == hand.agent).map(|(_, session)| session),
            since: None,
            used: run.used_in_attempt(place).iter().fold(None, |sum, one| {
                let mut sum = sum.unwrap_or_default();
                sum += one.usage;
                Some(sum)
            }),
        };
        (!running.ended).then(|| (task.id.clone(), open))
    });
    each.collect()
}

impl Book {
    fn note(&mut self, record: &Record) -> io::Result<()> {
        match &record.event {
            Event::AttemptStarted { task, attempt, hand: Some(hand), .. } => {
                self.begin(task, *attempt, hand, record.at);
            }
            Event::SessionStarted { task, session, .. } => {
                if let Some(open) = self.open.get_mut(task) {
                    open.session = Some(session.clone());
                    self.sessions.insert(task.clone(), (open.agent.clone(), session.clone()));
                }
            }
            Event::UsageReported { task, usage, model, .. } => {
                if let Some(open) = self.open.get_mut(task) {
                    *open.used.get_or_insert_default() += *usage;
                    open.model = model.as_deref().map(str::to_owned).or(open.model.take());
                }
            }
            Event::AttemptEnded { task, outcome, elapsed, .. } => {
                if let Some(open) = self.open.remove(task) {
                    let line = self.line(task, &open, outcome, record.at, elapsed.0)?;
                    self.owed.extend_from_slice(&line);
                    self.write()?;
                }
            }
            _ => {}
        }
        Ok(())
    }

    /// Everything that is owed; it stays so where it cannot be written now.
    fn write(&mut self) -> io::Result<()> {
        if !self.owed.is_empty() {
            append(&self.path, &self.owed)?;
            self.owed.clear();
        }
        Ok(())
    }

    fn begin(&mut self, task: &TaskId, attempt: Attempt, hand: &Hand, at: Timestamp) {
        let known = self.sessions.get(task).filter(|(agent, _)| *agent == hand.agent);
        let open = Open {
            attempt,
            agent: hand.agent.clone(),
            model: hand.model.clone(),
            session: known.map(|(_, session)| session.clone()),
            since: Some(at),
            used: None,
        };
        self.open.insert(task.clone(), open);
    }

    fn line(
        &self,
        task: &TaskId,
        open: &Open,
        outcome: &Outcome,
        at: Timestamp,
        elapsed_ms: u64,
    ) -> io::Result<Vec<u8>> {
        let status = match outcome {
            Outcome::Succeeded => "completed",
            Outcome::Failed(_) => "failed",
            Outcome::Interrupted => "interrupted",
            Outcome::Asked(_) => "waiting",
            Outcome::Cancelled => "cancelled",
        };
        let line = Line {
            schema: SCHEMA,
            kind: "task",
            session_id: open.session.as_deref(),
            run: Some(&self.run),
            task_id: Some(task),
            attempt: Some(open.attempt),
            plan: None,
            agent: &open.agent,
            model: open.model.as_deref(),
            status,
            error: match outcome {
                Outcome::Failed(failure) => Some(Cause::Failure(failure)),
                _ => None,
            },
            directory: &self.directory,
            started_at: open.since.map(moment),
            ended_at: moment(at),
            elapsed_ms,
            turns: open.used.map(|used| used.turns),
            tokens: open.used.map(|used| used.tokens),
            cost_usd: open.used.and_then(costs::dollars),
        };
        line.bytes()
    }
}

/// In one write, so that lines of several coordinators do not mix.
/// Whole lines or nothing: where the disk is full, half a line would spoil the next.
fn append(path: &Path, lines: &[u8]) -> io::Result<()> {
    let mut file = access::private().create(true).append(true).open(path)?;
    let is_alone = file.try_lock().is_ok();
    let before = file.metadata()?.len();
    file.write_all(lines).inspect_err(|_| {
        if is_alone {
            let _ = file.set_len(before);
        }
    })
}

fn moment(at: Timestamp) -> String {
    jiff::Timestamp::from_millisecond(at.0).unwrap_or_default().to_string()
}
