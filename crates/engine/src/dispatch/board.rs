//! What attempts are doing right now, for a live display.
//!
//! The phase and the newest line of each, and what its processes took. It is not stored, and no decision
//! depends on it. What agents write is put on it only where a display follows the run all the time.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use conductor_core::run::event::{Phases, Processes};
use conductor_core::schedule::{self, Snapshot};
use conductor_core::values::ids::{Attempt, TaskId};
use conductor_core::values::units::Millis;
use serde::{Deserialize, Serialize};

/// What an attempt is at. Merging comes after it and is the run's.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Phase {
    Preparing,
    Working,
    Verifying,
}

impl Phase {
    pub fn name(self) -> &'static str {
        match self {
            Phase::Preparing => "preparing",
            Phase::Working => "working",
            Phase::Verifying => "verifying",
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Doing {
    pub attempt: Attempt,
    pub phase: Phase,
    /// Its last line, without secrets and safe to show.
    pub said: Option<String>,
    /// The tool its agent called last, and what for, in a few words and without secrets.
    pub tool: Option<String>,
    /// What those of its processes took that are over.
    pub took: Option<Processes>,
}

#[derive(Debug, Clone, Default)]
pub struct Board(Arc<Inner>);

#[derive(Debug, Default)]
struct Inner {
    watched: AtomicBool,
    /// How often a phase has changed.
    changes: AtomicU64,
    doings: Mutex<HashMap<TaskId, Doing>>,
}

impl Board {
    /// From now on a display shows what agents say.
    pub fn watch(&self) {
        self.0.watched.store(true, Ordering::Relaxed);
    }

    pub fn of(&self, task: &TaskId) -> Option<Doing> {
        self.doings().get(task).cloned()
    }

    /// Adds what only the workers know: who is being verified or still prepared, though a process of it runs, and which tools
    /// agents use.
    pub(crate) fn complete(&self, snapshot: &mut Snapshot) {
        let doings = self.doings();
        for at_work in &mut snapshot.running {
            let doing = doings.get(&at_work.task).filter(|doing| doing.attempt == at_work.attempt);
            at_work.phase = match (at_work.phase, doing.map(|doing| doing.phase)) {
                (schedule::Phase::Working, Some(Phase::Verifying)) => schedule::Phase::Verifying,
                (schedule::Phase::Working, Some(Phase::Preparing)) => schedule::Phase::Preparing,
                // The processes of another machine are not known here.
                (schedule::Phase::Preparing, Some(Phase::Working)) => schedule::Phase::Working,
                (schedule::Phase::Preparing, Some(Phase::Verifying)) => schedule::Phase::Verifying,
                (phase, _) => phase,
            };
            at_work.last_tool = doing.and_then(|doing| doing.tool.clone());
        }
    }

    /// A number that is another one when `complete` would say something else.
    pub(crate) fn changes(&self) -> u64 {
        self.0.changes.load(Ordering::Relaxed)
    }

    fn changed(&self) {
        self.0.changes.fetch_add(1, Ordering::Relaxed);
    }

    /// Shows what a look at a run shows that another process drives.
    pub fn copy(&self, snapshot: &Snapshot) {
        let mut doings = self.doings();
        doings.clear();
        for at_work in &snapshot.running {
            let phase = match at_work.phase {
                schedule::Phase::Preparing => Phase::Preparing,
                schedule::Phase::Working => Phase::Working,
                schedule::Phase::Verifying => Phase::Verifying,
                // That is the run's, which its records tell.
                _ => continue,
            };
            let (attempt, tool) = (at_work.attempt, at_work.last_tool.clone());
            doings.insert(at_work.task.clone(), Doing { attempt, phase, said: None, tool, took: None });
        }
        drop(doings);
        self.changed();
    }

    /// What another process says of an attempt of its.
    pub(crate) fn shows(&self, task: TaskId, doing: Doing) {
        self.doings().insert(task, doing);
        self.changed();
    }

    pub(crate) fn forgets(&self, task: &TaskId) {
        self.doings().remove(task);
        self.changed();
    }

    pub(crate) fn is_watched(&self) -> bool {
        self.0.watched.load(Ordering::Relaxed)
    }

    pub(crate) fn says(&self, task: &TaskId, words: String) {
        if let Some(doing) = self.doings().get_mut(task) {
            doing.said = Some(words);
        }
    }

    pub(crate) fn uses(&self, task: &TaskId, tool: String) {
        if let Some(doing) = self.doings().get_mut(task) {
            doing.tool = Some(tool);
        }
        self.changed();
    }

    fn enters(&self, task: &TaskId, attempt: Attempt, phase: Phase) {
        let mut doings = self.doings();
        let before = doings.get(task).filter(|before| before.attempt == attempt);
        let took = before.and_then(|before| before.took);
        let tool = before.and_then(|before| before.tool.clone());
        doings.insert(task.clone(), Doing { attempt, phase, said: None, tool, took });
        self.changed();
    }

    /// One of its processes is over.
    pub(crate) fn takes(&self, task: &TaskId, took: Processes) {
        if let Some(doing) = self.doings().get_mut(task) {
            doing.took.get_or_insert_default().add(took);
        }
    }

    fn ends(&self, task: &TaskId) -> Option<Doing> {
        self.changed();
        self.doings().remove(task)
    }

    fn doings(&self) -> MutexGuard<'_, HashMap<TaskId, Doing>> {
        self.0.doings.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// One attempt's way through its phases, with the time each takes.
pub(crate) struct PhaseTimer<'a> {
    board: &'a Board,
    task: &'a TaskId,
    attempt: Attempt,
    at: Mutex<Timed>,
}

struct Timed {
    phase: Phase,
    since: Instant,
    micros: [u64; 3],
    mended: u32,
}

impl<'a> PhaseTimer<'a> {
    pub(crate) fn begin(board: &'a Board, task: &'a TaskId, attempt: Attempt) -> PhaseTimer<'a> {
        board.enters(task, attempt, Phase::Preparing);
        let timed = Timed { phase: Phase::Preparing, since: Instant::now(), micros: [0; 3], mended: 0 };
        PhaseTimer { board, task, attempt, at: Mutex::new(timed) }
    }

    pub(crate) fn enter(&self, phase: Phase) {
        let mut timed = self.at.lock().unwrap_or_else(PoisonError::into_inner);
        timed.close();
        if timed.phase != phase {
            timed.phase = phase;
            self.board.enters(self.task, self.attempt, phase);
        }
    }

    /// How often the work went back to be mended.
    pub(crate) fn note_mended(&self, times: u32) {
        self.at.lock().unwrap_or_else(PoisonError::into_inner).mended = times;
    }

    pub(crate) fn finish(self) -> Phases {
        let processes = self.board.ends(self.task).and_then(|doing| doing.took);
        let mut timed = self.at.into_inner().unwrap_or_else(PoisonError::into_inner);
        timed.close();
        let [preparing, working, verifying] = timed.micros.map(|micros| Millis(micros / 1000));
        Phases { preparing, working, verifying, processes, mended: timed.mended }
    }
}

impl Timed {
    fn close(&mut self) {
        let now = Instant::now();
        let passed = now.saturating_duration_since(self.since).as_micros();
        self.micros[self.phase as usize] += u64::try_from(passed).unwrap_or(u64::MAX / 4);
        self.since = now;
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn an_attempts_newest_word_is_on_the_board_until_it_ends() {
        let (board, task) = (Board::default(), TaskId::parse("a").unwrap());
        board.watch();
        let timer = PhaseTimer::begin(&board, &task, Attempt(2));
        board.uses(&task, "Bash ls".into());
        let doing = |phase, said: Option<&str>| {
            let (said, tool) = (said.map(str::to_owned), Some("Bash ls".to_owned()));
            Some(Doing { attempt: Attempt(2), phase, said, tool, took: None })
        };
        assert_eq!(board.of(&task), doing(Phase::Preparing, None));
        timer.enter(Phase::Working);
        board.says(&task, "one".into());
        board.says(&task, "two".into());
        assert_eq!(board.of(&task), doing(Phase::Working, Some("two")));
        timer.enter(Phase::Verifying);
        assert_eq!(board.of(&task), doing(Phase::Verifying, None));
        timer.finish();
        assert_eq!(board.of(&task), None);
        board.says(&task, "late".into());
        assert_eq!(board.of(&task), None);
    }

    #[test]
    fn who_looks_only_now_and_then_sees_phases() {
        let (board, task) = (Board::default(), TaskId::parse("a").unwrap());
        let timer = PhaseTimer::begin(&board, &task, Attempt(1));
        timer.enter(Phase::Verifying);
        assert!(!board.is_watched());
        assert_eq!(board.of(&task).map(|doing| doing.phase), Some(Phase::Verifying));
        timer.finish();
        assert!(board.doings().is_empty());
    }

    #[test]
    fn each_phase_has_its_time_however_often_it_comes() {
        let (board, task) = (Board::default(), TaskId::parse("a").unwrap());
        let timer = PhaseTimer::begin(&board, &task, Attempt(1));
        let ago = |timer: &PhaseTimer<'_>, millis: u64| {
            timer.at.lock().unwrap().since -= Duration::from_millis(millis);
        };
        ago(&timer, 100);
        timer.enter(Phase::Working);
        ago(&timer, 2_000);
        timer.enter(Phase::Verifying);
        ago(&timer, 300);
        timer.enter(Phase::Working);
        ago(&timer, 4_000);
        let Phases { preparing, working, verifying, .. } = timer.finish();
        let near = |measured: Millis, expected: u64| (expected..expected + 1_000).contains(&measured.0);
        assert!(near(preparing, 100) && near(working, 6_000) && near(verifying, 300));
    }
}
