//! What can be asked of a live run, and what it answers.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use conductor_core::report::tally::Histogram;
use conductor_core::schedule::{Snapshot, Wait};
use conductor_core::values::ids::{Attempt, RunId, TaskId, WorkerId};
use serde::{Deserialize, Serialize};

use crate::process::transcript::Clear;

/// What can be looked at without changing anything.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Query {
    Snapshot,
    /// Why a task is not at work.
    Why(TaskId),
    /// Where the words of a task are to be found.
    Heard(TaskId),
    /// Every task, and how it stands.
    Tasks,
}

/// What is large is shared by all who look in the same moment.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum View {
    Snapshot(Arc<LiveView>),
    Why(Why),
    Heard(Heard),
    Tasks(Arc<[Listed]>),
}

/// A task in a list of all of them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Listed {
    pub id: TaskId,
    pub name: String,
    pub status: String,
    pub dependencies: Vec<TaskId>,
    /// The commit by which its work is on the run's branch.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub commit: Option<String>,
}

/// A live run at one moment, and who drives it where.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LiveView {
    pub run: RunId,
    pub directory: PathBuf,
    pub pid: u32,
    pub snapshot: Snapshot,
    /// Why the store cannot be written, where it cannot: the last of this is not durable then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub away: Option<String>,
    /// How long it took until what happened was durable, for each append of the coordinator.
    #[serde(default)]
    pub appends: Histogram,
    /// The workers on other machines that are there for it now.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub workers: Vec<WorkerView>,
}

/// A worker on another machine, as a run that it is there for knows it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WorkerView {
    pub name: WorkerId,
    /// How many attempts it carries out at once, for all runs together.
    pub slots: u32,
    /// How many of this run it has.
    pub busy: u32,
    pub labels: Vec<String>,
}

impl WorkerView {
    /// What one run knows of it, put together with what others do. It has its slots once, however many runs it is there for.
    pub fn add_to(self, present: &mut BTreeMap<WorkerId, WorkerView>) {
        match present.get_mut(&self.name) {
            Some(known) => {
                known.busy = known.busy.saturating_add(self.busy);
                known.slots = known.slots.max(self.slots);
            }
            None => drop(present.insert(self.name.clone(), self)),
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Why {
    pub status: String,
    pub why: Vec<Wait>,
}

/// A task's newest attempt, and how far its transcript and its stream can be shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Heard {
    /// 0 before the first.
    pub attempt: Attempt,
    pub executor: u32,
    pub at_work: bool,
    /// Whether the task itself has come to an end.
    pub ended: bool,
    pub clear: [Clear; 2],
}
