//! What has landed is closed in beads, and nothing else ever is.
//!
//! It follows a run on a thread of its own. A closed issue is noted in the run's folder once it was read
//! back, so that an issue the user reopens stays open. An issue that could not be closed, or was not because
//! we died, is closed when the run, or another one of the same issues, is started or resumed.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::mpsc as std_mpsc;
use std::time::Duration;

use conductor_core::plan::Execution;
use conductor_core::run::event::Event;
use conductor_core::run::{Run, TaskState};
use conductor_core::values::ids::{RunId, TaskId};
use serde::{Deserialize, Serialize};

use super::bd::Bd;
use crate::host::access;
use crate::stores::Follower;

/// In a run's folder: what is closed.
const FILE: &str = "beads.json";

#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(super) struct Notes {
    closed: BTreeSet<String>,
    /// The run is over, and there is nothing of it left to close.
    #[serde(default)]
    complete: bool,
}

impl Notes {
    /// What cannot be read is looked up in beads again.
    pub(super) fn of(state: &Path) -> Notes {
        let text = fs::read(state.join(FILE)).unwrap_or_default();
        serde_json::from_slice(&text).unwrap_or_default()
    }

    /// Whether a run has issues to be closed.
    pub(super) fn is_kept(state: &Path) -> bool {
        state.join(FILE).is_file()
    }

    pub(super) fn has(&self, id: &str) -> bool {
        self.closed.contains(id)
    }

    pub(super) fn is_complete(&self) -> bool {
        self.complete
    }

    /// Where that cannot be kept, the run is only looked at again.
    pub(super) fn set_complete(mut self, state: &Path) {
        self.complete = true;
        let _ = self.keep(state);
    }

    fn keep(&self, state: &Path) -> io::Result<()> {
        let next = state.join(format!("{FILE}.next"));
        access::write(&next, serde_json::to_vec_pretty(self)?)?;
        fs::rename(next, state.join(FILE))
    }
}

/// What became of the issues of a run.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Settled {
    /// Closed by us, just now.
    pub closed: Vec<String>,
    /// Landed and not closed, and why.
    pub open: Vec<(String, String)>,
}

/// Closes what has landed in a run that is not active.
pub fn settle(bd: &Bd, id: &RunId, run: &Run, state: &Path) -> Settled {
    let mut book = Book::open(bd, id, run, state);
    book.catch_up(run);
    book.finished()
}

/// Who closes the issues of one run.
pub struct Closer {
    done: std_mpsc::Receiver<Settled>,
}

impl Closer {
    /// Follows a run from here on, on a thread of its own; it ends with the run. What landed before is closed first.
    pub fn follow(bd: Bd, id: &RunId, run: &Run, state: &Path, mut records: Follower) -> Closer {
        let mut book = Book::open(&bd, id, run, state);
        // What was over goes on.
        book.notes.complete = false;
        let _ = book.notes.keep(state);
        let before = run.clone();
        let (sender, done) = std_mpsc::channel();
        std::thread::spawn(move || {
            book.catch_up(&before);
            while let Some(batch) = records.blocking_recv() {
                batch.iter().for_each(|record| book.note(&record.event));
            }
            let _ = sender.send(book.finished());
        });
        Closer { done }
    }

    /// Waits until all is closed, but not for ever; nothing where that was not enough.
    pub fn finish(self, patience: Duration) -> Option<Settled> {
        self.done.recv_timeout(patience).ok()
    }
}

struct Book {
    bd: Bd,
    run: RunId,
    state: PathBuf,
    notes: Notes,
    /// Tasks that agents have added, which are no issues.
    others: BTreeSet<TaskId>,
    /// Where groups are carried out: which of their tasks are issues, and which tests those wait for.
    execution: Option<Box<Execution>>,
    /// Tests that are green.
    green: BTreeSet<TaskId>,
    /// Landed, in this order, and waiting for their tests.
    held: Vec<TaskId>,
    /// Conversations in which tasks were done.
    sessions: BTreeMap<TaskId, String>,
    closed: Vec<String>,
    /// In the order in which they landed, which is one in which they can be closed.
    open: Vec<(TaskId, String)>,
}

impl Book {
    fn open(bd: &Bd, id: &RunId, run: &Run, state: &Path) -> Book {
        let session = |(place, (task, _)): (usize, (&conductor_core::plan::Task, _))| {
            let (_, session) = run.repeats(run.doer(place))?.session.clone()?;
            Some((task.id.clone(), session))
        };
        let entrants = run.plan().tasks.iter().filter(|task| task.is_entrant()).map(|task| &task.id);
        Book {
            bd: bd.clone(),
            run: id.clone(),
            state: state.to_owned(),
            notes: Notes::of(state),
            others: run.follow_ups().iter().chain(entrants).cloned().collect(),
            execution: run.plan().execution.clone(),
            green: BTreeSet::new(),
            held: Vec::new(),
            sessions: run.tasks().enumerate().filter_map(session).collect(),
            closed: Vec::new(),
            open: Vec::new(),
        }
    }

    fn catch_up(&mut self, run: &Run) {
        let landed = run.asked().filter(|(_, _, progress)| progress.state == TaskState::Completed);
        let mut landed: Vec<_> =
            landed.map(|(_, task, progress)| (progress.ended, task.id.clone())).collect();
        landed.sort();
        for (_, task) in landed {
            self.landed(&task);
        }
    }

    /// Closed at once; or, where its group has tests, when those are green.
    fn landed(&mut self, task: &TaskId) {
        let Some(execution) = &self.execution else { return self.close(task) };
        let Some(stage) = execution.stage_of(task) else { return };
        if stage.tests.as_ref() == Some(task) {
            let tasks: BTreeSet<TaskId> = stage.tasks.iter().cloned().collect();
            self.green.insert(task.clone());
            let (free, held) =
                std::mem::take(&mut self.held).into_iter().partition(|held| tasks.contains(held));
            self.held = held;
            let free: Vec<TaskId> = free;
            free.iter().for_each(|task| self.close(task));
        } else if execution.issues.contains(task) {
            match stage.tests.as_ref().is_none_or(|tests| self.green.contains(tests)) {
                true => self.close(task),
                false => self.held.push(task.clone()),
            }
        }
    }

    fn note(&mut self, event: &Event) {
        match event {
            Event::SessionStarted { task, session, .. } => {
                self.sessions.insert(task.clone(), session.clone());
            }
            Event::RaceDecided { task, winner, .. } => {
                if let Some(session) = self.sessions.get(winner).cloned() {
                    self.sessions.insert(task.clone(), session);
                }
            }
            Event::PlanAmended { amendment, .. } => {
                self.others.extend(amendment.tasks.iter().map(|task| task.id.clone()));
            }
            Event::TaskCompleted { task, .. } | Event::TaskResolved { task, .. } => self.landed(task),
            // It has not landed any more.
            Event::TaskReopened { task } => {
                self.open.retain(|(open, _)| open != task);
                self.held.retain(|held| held != task);
                self.green.remove(task);
            }
            _ => {}
        }
    }

    fn close(&mut self, task: &TaskId) {
        if self.notes.has(task.as_str()) || self.others.contains(task) {
            return;
        }
        // Words that beads takes for a failure must not be in it, so that a task's own are not.
        let reason = format!("landed by conductor, run {}", self.run);
        let session = self.sessions.get(task).map_or(self.run.as_str(), String::as_str);
        match self.bd.close(task.as_str(), &reason, session) {
            Ok(()) => {
                self.notes.closed.insert(task.to_string());
                // Without the note it is only looked up once more.
                let _ = self.notes.keep(&self.state);
                self.closed.push(task.to_string());
            }
            Err(error) => self.open.push((task.clone(), error.to_string())),
        }
    }

    /// Tries once more what did not work; one may have been in the way of another.
    fn finished(&mut self) -> Settled {
        for (task, _) in std::mem::take(&mut self.open) {
            self.close(&task);
        }
        let open = self.open.iter().map(|(task, why)| (task.to_string(), why.clone()));
        let held = self.held.iter().filter(|task| !self.notes.has(task.as_str()));
        let held = held.map(|task| (task.to_string(), "the tests of its group are not green".to_owned()));
        let open = open.chain(held).collect();
        Settled { closed: std::mem::take(&mut self.closed), open }
    }
}
