//! `sessions.jsonl` in the state directory: two lines for each session of an agent, of all runs: one when it starts, one
//! when it ends.
//!
//! It is for people and other programs; nothing here is ever read back. Several coordinators append to it at
//! once: each line is one write to a file opened for appending. A thread of its own writes it, so the run
//! never waits for it; where it cannot be written, the run goes on without.

use std::collections::HashMap;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::mpsc as std_mpsc;
use std::time::{Duration, Instant};

use conductor_core::plan::cloud::CLOUD;
use conductor_core::run::costs;
use conductor_core::run::event::{AgentChoice, Event, Failure, Outcome, Planning, Record, Usage};
use conductor_core::run::{Run, TaskState};
use conductor_core::values::ids::{Attempt, RunId, TaskId};
use conductor_core::values::units::Timestamp;
use serde::Serialize;

use crate::host::access;
use crate::host::redact;
use crate::host::shortage::{PAUSE, Passing as _};
use crate::stores::Follower;

pub const SCHEMA: &str = "conductor.session/1";
pub const FILE: &str = "sessions.jsonl";

/// How long a run waits at its end for the last lines.
const PATIENCE: Duration = Duration::from_secs(2);

/// A session that starts or is over. What was not measured is null.
#[derive(Debug, Serialize)]
struct Line<'a> {
    schema: &'static str,
    /// `task` or `planning`.
    kind: &'static str,
    session_id: Option<&'a str>,
    /// Of a task.
    run: Option<&'a RunId>,
    task_id: Option<&'a TaskId>,
    /// The branch that its work lands on, where there is one.
    branch_name: Option<&'a str>,
    /// Where it can be looked at; agents on this machine have no such place. A session in the cloud is named by it.
    url: Option<&'a str>,
    /// Counted over the run, from 1.
    session_number: Option<u64>,
    attempt: Option<Attempt>,
    /// Of planning: by which name what it said is kept.
    plan: Option<&'a str>,
    agent: &'a str,
    model: Option<&'a str>,
    /// started; then completed, failed, interrupted or cancelled, as the agent's own end was. Whether its work landed is
    /// the run's to say.
    status: &'static str,
    error: Option<Cause<'a>>,
    directory: &'a Path,
    started_at: String,
    ended_at: Option<String>,
    elapsed_ms: Option<u64>,
    #[serde(flatten)]
    used: Used,
}

/// What it has used, once that is known.
#[derive(Debug, Serialize)]
struct Used {
    /// Answers of the model, which are its turns.
    messages: Option<u32>,
    turns: Option<u32>,
    tool_calls: Option<u32>,
    tokens: Option<u64>,
    input_tokens: Option<u64>,
    output_tokens: Option<u64>,
    cost_usd: Option<f64>,
}

impl From<Option<Usage>> for Used {
    fn from(used: Option<Usage>) -> Used {
        Used {
            messages: used.map(|used| used.turns),
            turns: used.map(|used| used.turns),
            tool_calls: used.map(|used| used.tool_calls),
            tokens: used.map(|used| used.tokens),
            input_tokens: used.map(|used| used.tokens.saturating_sub(used.output)),
            output_tokens: used.map(|used| used.output),
            cost_usd: used.and_then(costs::dollars),
        }
    }
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
    /// Nothing while it is asked for.
    pub(crate) ended: Option<Timestamp>,
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
        branch_name: None,
        url: None,
        session_number: None,
        attempt: None,
        plan: Some(&planning.plan),
        agent: &planning.agent,
        model: named.or(session.model.as_deref()),
        status: session.status,
        error: session.error.as_deref().map(|message| Cause::Words { message }),
        directory: session.directory,
        started_at: moment(planning.at),
        ended_at: ended.map(moment),
        elapsed_ms: ended.map(|ended| (ended - planning.at).0),
        used: used.into(),
    };
    let _ = line.bytes().and_then(|bytes| append(&home.join(FILE), &bytes));
}

impl Line<'_> {
    fn bytes(&self) -> io::Result<Vec<u8>> {
        let mut line = redact::known().string(serde_json::to_string(self)?);
        line.push('\n');
        Ok(line.into_bytes())
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
        branch: Option<String>,
        run: &Run,
        mut records: Follower,
    ) -> Scribe {
        let mut book = Book {
            path: home.join(FILE),
            run: id.clone(),
            directory: directory.to_owned(),
            branch,
            open: left_open(run),
            sessions: left_sessions(run),
            begun: run.sessions_begun(),
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
    number: u64,
    attempt: Attempt,
    agent: String,
    model: Option<String>,
    session: Option<String>,
    since: Timestamp,
    used: Option<Usage>,
    /// Whether its first line is written.
    told: bool,
}

struct Book {
    path: PathBuf,
    run: RunId,
    directory: PathBuf,
    branch: Option<String>,
    /// How many sessions have begun.
    begun: u64,
    open: HashMap<TaskId, Open>,
    /// The last conversation of a task, which its next attempt may go on with.
    sessions: HashMap<TaskId, (String, String)>,
    /// Lines that could not be written yet.
    owed: Vec<u8>,
}

/// Conversations that were begun before the run was taken up.
fn left_sessions(run: &Run) -> HashMap<TaskId, (String, String)> {
    let sessions = run
        .tasks()
        .enumerate()
        .filter_map(|(place, (task, _))| Some((task.id.clone(), run.repeats(place)?.session.clone()?)));
    sessions.collect()
}

/// Those that were at work when an earlier coordinator died: what is known of them is known from the run.
fn left_open(run: &Run) -> HashMap<TaskId, Open> {
    let each = run.tasks().enumerate().filter_map(|(place, (task, progress))| {
        let (TaskState::Running(running), Some(choice)) = (&progress.state, run.agent_choice(place)) else {
            return None;
        };
        let begun = run.open_session(place)?;
        let session = run.repeats(place).and_then(|repeats| repeats.session.clone());
        let open = Open {
            number: begun.number,
            attempt: running.attempt,
            agent: choice.agent.clone(),
            model: run.model(place).map(str::to_owned).or_else(|| choice.model.clone()),
            session: session.filter(|(with, _)| *with == choice.agent).map(|(_, session)| session),
            since: begun.since,
            told: true,
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
            Event::AttemptStarted { task, attempt, choice: Some(choice), .. } => {
                self.begin(task, *attempt, choice, record.at)?;
            }
            Event::SessionStarted { task, session, .. } => {
                if let Some(open) = self.open.get_mut(task) {
                    open.session = Some(session.clone());
                    self.sessions.insert(task.clone(), (open.agent.clone(), session.clone()));
                }
                self.tell_of_creation(task)?;
            }
            Event::UsageReported { task, usage, model, taken_back, .. } => {
                if let Some(open) = self.open.get_mut(task) {
                    open.used.get_or_insert_default().report(*usage, *taken_back);
                    open.model = model.as_deref().map(str::to_owned).or(open.model.take());
                }
            }
            Event::AttemptEnded { task, outcome, elapsed, .. } => {
                if let Some(open) = self.open.remove(task).filter(|open| open.told) {
                    let line = self.line(task, &open, Some((outcome, record.at, elapsed.0)))?;
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

    fn begin(
        &mut self,
        task: &TaskId,
        attempt: Attempt,
        choice: &AgentChoice,
        at: Timestamp,
    ) -> io::Result<()> {
        let known = self.sessions.get(task).filter(|(agent, _)| *agent == choice.agent);
        self.begun += 1;
        let open = Open {
            number: self.begun,
            attempt,
            agent: choice.agent.clone(),
            model: choice.model.clone(),
            session: known.map(|(_, session)| session.clone()),
            since: at,
            used: None,
            told: false,
        };
        self.open.insert(task.clone(), open);
        self.tell_of_creation(task)
    }

    /// Once for each session. One in the cloud is there when it has a name, and not before.
    fn tell_of_creation(&mut self, task: &TaskId) -> io::Result<()> {
        let is_there = |open: &Open| open.session.is_some() || open.agent != CLOUD;
        let Some(open) = self.open.get(task).filter(|open| !open.told && is_there(open)) else {
            return Ok(());
        };
        let line = self.line(task, open, None)?;
        if let Some(open) = self.open.get_mut(task) {
            open.told = true;
        }
        self.owed.extend_from_slice(&line);
        self.write()
    }

    fn line(
        &self,
        task: &TaskId,
        open: &Open,
        end: Option<(&Outcome, Timestamp, u64)>,
    ) -> io::Result<Vec<u8>> {
        let outcome = end.map(|(outcome, ..)| outcome);
        let status = match outcome {
            None => "started",
            Some(Outcome::Succeeded) => "completed",
            Some(Outcome::Failed(_)) => "failed",
            Some(Outcome::Interrupted) => "interrupted",
            Some(Outcome::Asked(_)) => "waiting",
            Some(Outcome::Cancelled) => "cancelled",
        };
        let used = open.used;
        let line = Line {
            schema: SCHEMA,
            kind: "task",
            session_id: open.session.as_deref(),
            run: Some(&self.run),
            task_id: Some(task),
            branch_name: self.branch.as_deref(),
            url: open.session.as_deref().filter(|name| open.agent == CLOUD && name.starts_with("http")),
            session_number: Some(open.number),
            attempt: Some(open.attempt),
            plan: None,
            agent: &open.agent,
            model: open.model.as_deref(),
            status,
            error: match outcome {
                Some(Outcome::Failed(failure)) => Some(Cause::Failure(failure)),
                _ => None,
            },
            directory: &self.directory,
            started_at: moment(open.since),
            ended_at: end.map(|(_, at, _)| moment(at)),
            elapsed_ms: end.map(|(.., elapsed)| elapsed),
            used: used.into(),
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
