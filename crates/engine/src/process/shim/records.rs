//! What a shim writes down in its folder, and says of itself: who it is, and how its agent has ended.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use conductor_core::plan::Reached;
use conductor_core::run::event::{Process, Processes};
use conductor_core::values::ids::{Attempt, TaskId};
use conductor_core::values::units::{Millis, Timestamp};
use serde::{Deserialize, Serialize};

use super::super::{Exit, descent, tree};
use crate::host::access;

/// In a shim's folder.
pub(super) const SOCKET: &str = "socket";
const SHIM: &str = "shim.json";
const EXIT: &str = "exit.json";
const ALONE: &str = "alone";
const STORE: &str = "store";

/// A shim that is or was there.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ShimRecord {
    pub version: u32,
    pub task: TaskId,
    pub attempt: Attempt,
    /// Of the machine's start: numbers of processes mean nothing after another one.
    pub boot: String,
    pub shim: Process,
    pub agent: Process,
}

impl ShimRecord {
    pub(super) fn of_this_process(task: TaskId, attempt: Attempt, agent: Process) -> ShimRecord {
        let pid = std::process::id();
        let shim = Process { pid, start_time: tree::start_time(pid).unwrap_or(0) };
        ShimRecord { version: super::frames::VERSION, task, attempt, boot: descent::boot(), shim, agent }
    }

    pub(super) fn write(&self, folder: &Path) -> io::Result<()> {
        access::replace(&folder.join(SHIM), serde_json::to_vec(self)?)
    }

    pub(super) fn read(folder: &Path) -> Option<ShimRecord> {
        serde_json::from_slice(&fs::read(folder.join(SHIM)).ok()?).ok()
    }

    /// By which its agent knows the process that holds its pipe (`children::us`).
    pub(in super::super) fn name(&self) -> String {
        format!("{}.{}", self.shim.pid, self.shim.start_time)
    }

    pub fn lives(&self) -> bool {
        self.boot == descent::boot() && tree::lives(&self.name())
    }
}

/// By what an agent has come to its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EndedBy {
    /// By itself, or by a coordinator that was there.
    Itself,
    /// No coordinator came in time.
    Grace,
    /// Its time was up while no coordinator was there.
    Deadline,
    /// The time of the run was up while no coordinator was there.
    RunTime,
    /// It had used up its slice of what the run has left while no coordinator was there.
    Budget,
    /// A cap holds, and what it uses cannot be counted without a coordinator.
    Uncounted,
}

/// How an agent has ended, as it is written down for a coordinator that was not there.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ExitRecord {
    pub code: Option<i32>,
    pub signal: Option<i32>,
    pub took: Processes,
    /// How long its output was.
    pub length: u64,
    pub ended_by: EndedBy,
    pub agent: Process,
    pub state: Said,
    /// The limit it was ended for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reached: Option<Reached>,
    /// How many processes of its tree could not be ended.
    #[serde(default, skip_serializing_if = "is_none")]
    pub survived: u32,
}

fn is_none(count: &u32) -> bool {
    *count == 0
}

impl ExitRecord {
    pub(super) fn exit(&self) -> Exit {
        match (self.code, self.signal) {
            (Some(code), _) => Exit::Code(code),
            (None, signal) => Exit::Signal(signal.unwrap_or_default()),
        }
    }

    /// On the disk when this returns.
    pub(super) fn write(&self, folder: &Path) -> io::Result<()> {
        let path = folder.join(EXIT);
        let bytes = serde_json::to_vec(self)?;
        access::replace_by(&path, |file| {
            io::Write::write_all(file, &bytes)?;
            file.sync_all()
        })?;
        File::open(folder)?.sync_all()
    }

    pub(super) fn read(folder: &Path) -> Option<ExitRecord> {
        serde_json::from_slice(&fs::read(folder.join(EXIT)).ok()?).ok()
    }
}

/// How far an agent was heard and answered, as its shim has seen it.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Said {
    /// The last place that was answered, plus one; 0 where not even the first words were said.
    pub answered: u64,
    pub heard: u64,
    /// What coordinators have kept here, in its order.
    pub kept: Vec<String>,
    /// How long the agent has been at work, in awake time.
    pub worked: Millis,
}

/// Where the shims of a run are, by the executor whose agent they hold.
pub(crate) fn folder(run_folder: &Path, executor: u32) -> PathBuf {
    run_folder.join("shims").join(executor.to_string())
}

/// Which store the log of its run is in: only that one can say that nothing will take the run up.
pub(crate) fn note_store(folder: &Path, name: &str) -> io::Result<()> {
    access::replace(&folder.join(STORE), name)
}

/// Whether all shims of a run that live were started for a run of this store. Those of earlier versions do not say.
pub fn are_of_store(run_folder: &Path, name: &str) -> bool {
    let folders = folders(run_folder).into_iter();
    let mut alive = folders.filter(|folder| ShimRecord::read(folder).is_some_and(|record| record.lives()));
    alive.all(|folder| fs::read_to_string(folder.join(STORE)).is_ok_and(|found| found == name))
}

/// The folders of all shims of a run.
pub(crate) fn folders(run_folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(run_folder.join("shims")).into_iter().flatten().flatten();
    let mut all: Vec<PathBuf> = entries.map(|entry| entry.path()).filter(|path| path.is_dir()).collect();
    all.sort();
    all
}

/// Nothing is needed of the shims of a run any more: its attempts are over, and that is recorded.
pub(crate) fn clear(run_folder: &Path) {
    let _ = fs::remove_dir_all(run_folder.join("shims"));
}

/// Whether the shim of this folder lives and speaks in another way than this program does.
pub(crate) fn is_of_another_version(folder: &Path) -> bool {
    ShimRecord::read(folder)
        .is_some_and(|record| !super::frames::READS.contains(&record.version) && record.lives())
}

/// Since when no coordinator has been there, for those who look on.
pub(super) fn note_alone(folder: &Path, since: Option<Timestamp>) {
    let path = folder.join(ALONE);
    let _ = match since {
        Some(since) => access::replace(&path, since.0.to_string()),
        None => fs::remove_file(path),
    };
}

/// The shims of a run that hold agents without a coordinator, and since when.
pub fn alone(run_folder: &Path) -> Vec<(ShimRecord, Timestamp)> {
    let each = |folder: PathBuf| {
        let record = ShimRecord::read(&folder).filter(ShimRecord::lives)?;
        let since = fs::read_to_string(folder.join(ALONE)).ok()?.trim().parse().ok()?;
        Some((record, Timestamp(since)))
    };
    folders(run_folder).into_iter().filter_map(each).collect()
}

/// Kills the shims of a run that are stopped: they see to nothing any more, and what they hold would go on for ever.
pub(crate) fn end_stopped(run_folder: &Path) {
    let is_stopped =
        |record: &ShimRecord| tree::stat(record.shim.pid).is_some_and(|stat| matches!(stat.state, 'T' | 't'));
    living(run_folder)
        .iter()
        .filter(|record| is_stopped(record))
        .for_each(|record| tree::kill(record.shim.pid));
}

/// The shims of a run that live.
pub fn living(run_folder: &Path) -> Vec<ShimRecord> {
    let records = folders(run_folder).into_iter().filter_map(|folder| ShimRecord::read(&folder));
    records.filter(ShimRecord::lives).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn process(pid: u32) -> Process {
        Process { pid, start_time: tree::start_time(pid).unwrap_or(0) }
    }

    #[test]
    fn a_shim_is_known_only_by_boot_number_and_start() {
        let us = ShimRecord::of_this_process(TaskId::parse("t").unwrap(), Attempt(1), process(1));
        assert!(us.lives());
        let other = Process { start_time: us.shim.start_time + 1, ..us.shim };
        assert!(!ShimRecord { shim: other, ..us.clone() }.lives(), "another process of this number");
        assert!(!ShimRecord { boot: "another".into(), ..us.clone() }.lives());
        let run = tempfile::tempdir().unwrap();
        let folder = folder(run.path(), 3);
        fs::create_dir_all(&folder).unwrap();
        assert!(living(run.path()).is_empty());
        us.write(&folder).unwrap();
        assert_eq!(living(run.path()), std::slice::from_ref(&us));
        assert_eq!(alone(run.path()), []);
        note_alone(&folder, Some(Timestamp(7)));
        assert_eq!(alone(run.path()), [(us, Timestamp(7))]);
        note_alone(&folder, None);
        assert_eq!(alone(run.path()), []);
        clear(run.path());
        assert!(living(run.path()).is_empty());
    }

    #[test]
    fn only_the_store_of_a_run_can_say_that_it_is_lost() {
        let run = tempfile::tempdir().unwrap();
        let us = ShimRecord::of_this_process(TaskId::parse("t").unwrap(), Attempt(1), process(1));
        for executor in [1, 2] {
            let folder = folder(run.path(), executor);
            fs::create_dir_all(&folder).unwrap();
            us.write(&folder).unwrap();
            assert!(!are_of_store(run.path(), "here"), "one does not say");
            note_store(&folder, "here").unwrap();
            assert!(are_of_store(run.path(), "here"));
            assert!(!are_of_store(run.path(), "another"));
        }
    }

    #[test]
    fn how_an_agent_ended_is_read_as_it_was_written() {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(ExitRecord::read(folder.path()), None);
        let record = ExitRecord {
            code: None,
            signal: Some(9),
            took: Processes::default(),
            length: 12,
            ended_by: EndedBy::Grace,
            agent: process(1),
            state: Said { answered: 3, heard: 2, kept: vec!["x".into()], worked: Millis(7) },
            reached: None,
            survived: 2,
        };
        record.write(folder.path()).unwrap();
        assert_eq!(ExitRecord::read(folder.path()), Some(record.clone()));
        assert_eq!(record.exit(), Exit::Signal(9));
        fs::write(folder.path().join(EXIT), "{\"code\"").unwrap();
        assert_eq!(ExitRecord::read(folder.path()), None, "half of one is none");
    }
}
