//! Work as git, tools and reviewers know it.

use serde::{Deserialize, Serialize};

use super::{Finding, Usage};
use crate::run::measure::Measured;
use crate::values::ids::TaskId;
use crate::values::units::Millis;

/// An attempt's work as git knows it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Change {
    /// The commit it started from.
    pub base: String,
    /// The commit that holds all it did.
    pub commit: String,
    #[serde(default, skip_serializing_if = "Touched::is_empty")]
    pub touched: Touched,
    /// What it started from holds work that had not landed: only what came since is its own.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub stacked: bool,
    /// A person has edited it since its checks passed.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub edited: bool,
    /// Whether its checks notice damage, where that was put to the test.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gate: Option<Gate>,
    /// What the agent that reviewed it found.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reviewed: Option<Box<Reviewed>>,
    /// What tools have told of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub measured: Option<Box<Measured>>,
    /// What verifiers found and let pass, the first of them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub findings: Vec<Finding>,
}

impl Change {
    /// Where its own part begins, for a merge that would otherwise take what is below it for its own too.
    pub fn own_base(&self) -> Option<&str> {
        self.stacked.then_some(self.base.as_str())
    }

    pub fn new(base: impl Into<String>, commit: impl Into<String>) -> Change {
        Change {
            base: base.into(),
            commit: commit.into(),
            touched: Touched::default(),
            stacked: false,
            edited: false,
            gate: None,
            reviewed: None,
            measured: None,
            findings: Vec::new(),
        }
    }
}

/// How an entrant stood when its race was decided.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Standing {
    pub task: TaskId,
    /// From 0 to 100; nothing where nothing was measured, or there was nothing to measure yet.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub score: Option<f64>,
    /// What the score rests on, or what it was doing.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub words: String,
    /// Good work that did not land.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub change: Option<Box<Change>>,
}

/// What came of a batch.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BatchResult {
    /// Before epics were counted apart, what waited to land with its epic was counted here, too.
    pub completed: u32,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub failed: Vec<TaskId>,
    /// Skipped or cancelled.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub left_out: Vec<TaskId>,
    /// Done, and still to land together with their epic.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unlanded: Vec<TaskId>,
    pub elapsed: Millis,
    #[serde(default, skip_serializing_if = "Usage::is_nothing")]
    pub usage: Usage,
}

/// How long an attempt was in each of its phases, and what it took meanwhile.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Phases {
    #[serde(default, skip_serializing_if = "is_no_time")]
    pub preparing: Millis,
    #[serde(default, skip_serializing_if = "is_no_time")]
    pub working: Millis,
    #[serde(default, skip_serializing_if = "is_no_time")]
    pub verifying: Millis,
    /// Nothing where it had none, or where they were not measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub processes: Option<Processes>,
    /// How often its work went back to be mended, within the attempt.
    #[serde(default, skip_serializing_if = "is_never")]
    pub mended: u32,
}

fn is_never(times: &u32) -> bool {
    *times == 0
}

/// What an attempt's processes took of the machine, as far as they waited for those they had started.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Processes {
    /// Processor time of all of them together.
    #[serde(default, skip_serializing_if = "is_no_time")]
    pub cpu: Millis,
    /// The most that any one of them held in memory, in bytes; 0 where that was too little to be told.
    #[serde(default, skip_serializing_if = "is_nothing")]
    pub memory: u64,
    /// The most that all of them held at once, in bytes; 0 where that was not measured.
    #[serde(default, skip_serializing_if = "is_nothing")]
    pub memory_together: u64,
    /// Bytes that came from a disk, and that went to one; 0 where that was not measured.
    #[serde(default, skip_serializing_if = "is_nothing")]
    pub read: u64,
    #[serde(default, skip_serializing_if = "is_nothing")]
    pub written: u64,
}

fn is_nothing(bytes: &u64) -> bool {
    *bytes == 0
}

impl Processes {
    /// Nothing where it was too little to be told.
    pub fn peak(self) -> Option<u64> {
        Some(self.memory).filter(|bytes| *bytes > 0)
    }

    /// The same of all of them together, as far as it was measured: a part is never more than the whole.
    pub fn peak_together(self) -> Option<u64> {
        Some(self.memory_together.max(self.memory)).filter(|_| self.memory_together > 0)
    }

    pub fn add(&mut self, other: Processes) {
        self.cpu += other.cpu;
        self.memory = self.memory.max(other.memory);
        self.memory_together = self.memory_together.max(other.memory_together);
        self.read += other.read;
        self.written += other.written;
    }
}

fn is_no_time(length: &Millis) -> bool {
    *length == Millis(0)
}

/// What differs between a change's base and its commit.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Touched {
    /// The first of them, where there are very many.
    pub files: Vec<String>,
    /// How many more there are.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub unlisted: usize,
    #[serde(default)]
    pub created: u64,
    #[serde(default)]
    pub added: u64,
    #[serde(default)]
    pub removed: u64,
}

fn is_zero(number: &usize) -> bool {
    *number == 0
}

impl Touched {
    /// How many files differ.
    pub fn count(&self) -> usize {
        self.files.len() + self.unlisted
    }

    fn is_empty(&self) -> bool {
        self.files.is_empty()
    }
}

/// What a reviewer had to say of work that was accepted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reviewed {
    /// The agent, and its model where that is known.
    pub by: String,
    /// From 0 to 100; nothing where none was given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub score: Option<u8>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub findings: Vec<String>,
}

/// A file was damaged and the checks run again. A gate that holds has failed them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Gate {
    pub file: String,
    pub holds: bool,
}
