//! What runs come to in numbers that only grow, for programs that follow them over weeks.
//!
//! A tally is a plain value: that of several runs is their sum, and it can be kept when a run's log is gone. It knows no run
//! and no task by name. What an attempt has used counts when the attempt ends: until then its agent may take back what it
//! reported, and a counter must never go down.

mod counting;
mod histogram;

use std::collections::BTreeMap;
use std::ops::AddAssign;

use serde::{Deserialize, Serialize};

use crate::run::event::{Again, Processes, Record, Usage};
use crate::schedule::Snapshot;
use crate::values::units::{Millis, Usd};

pub use counting::Counting;
pub use histogram::Histogram;

/// For the agent of a task that is a command, of one that has not begun, and for a model that was not named.
pub const COMMAND: &str = "command";
pub const NONE: &str = "none";
pub const UNKNOWN: &str = "unknown";

const SECOND: u64 = 1_000_000;
const MINUTE: u64 = 60 * SECOND;
const HOUR: u64 = 60 * MINUTE;

/// By which the durations of tasks are counted, in microseconds: from a quick command to a working day.
pub const TASK_BOUNDS: [u64; 14] = [
    SECOND,
    5 * SECOND,
    15 * SECOND,
    30 * SECOND,
    MINUTE,
    2 * MINUTE,
    5 * MINUTE,
    10 * MINUTE,
    20 * MINUTE,
    30 * MINUTE,
    HOUR,
    2 * HOUR,
    4 * HOUR,
    8 * HOUR,
];

const MIB: u64 = 1 << 20;

/// By which the memory of attempts is counted, in bytes: from a small command to a large machine.
pub const MEMORY_BOUNDS: [u64; 12] = [
    16 * MIB,
    64 * MIB,
    128 * MIB,
    256 * MIB,
    512 * MIB,
    1_024 * MIB,
    2_048 * MIB,
    4_096 * MIB,
    8_192 * MIB,
    16_384 * MIB,
    32_768 * MIB,
    65_536 * MIB,
];

/// By which appends to the store are counted: a healthy one takes milliseconds, one that waits for a disk seconds.
pub const APPEND_BOUNDS: [u64; 13] = [
    500, 1_000, 2_500, 5_000, 10_000, 25_000, 50_000, 100_000, 250_000, 500_000, 1_000_000, 2_500_000,
    10_000_000,
];

#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Tally {
    /// Tasks that came to an end, by state and agent. One that is reopened and ends again counts again.
    pub tasks: BTreeMap<String, BTreeMap<String, u64>>,
    /// From the first start of a task to its end, in time that a coordinator was awake, by state.
    pub durations: BTreeMap<String, Histogram>,
    /// By model.
    pub used: BTreeMap<String, Used>,
    /// By agent.
    pub took: BTreeMap<String, Took>,
    /// Attempts that followed another one of the same task, by reason (`retry_reason`).
    pub retries: BTreeMap<String, u64>,
    /// Work that did not merge.
    pub conflicts: u64,
}

/// What a model has used. The cost is without tokens whose price is not known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Used {
    pub cost: Usd,
    pub input: u64,
    pub output: u64,
}

/// What the processes of attempts took of the machine, as far as that was measured.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Took {
    pub cpu: Millis,
    /// Bytes that came from a disk, and that went to one.
    pub read: u64,
    pub written: u64,
    /// The most memory of each attempt, in bytes: of all its processes together where that was measured, else of its largest.
    pub peaks: Histogram,
}

impl Tally {
    /// Of one run, by its log from the first record on.
    pub fn of<'a>(records: impl IntoIterator<Item = &'a Record>) -> Tally {
        let mut counting = Counting::default();
        records.into_iter().for_each(|record| counting.count(record));
        counting.into_tally()
    }
}

impl AddAssign<&Tally> for Tally {
    fn add_assign(&mut self, more: &Tally) {
        for (state, agents) in &more.tasks {
            let known = self.tasks.entry(state.clone()).or_default();
            agents.iter().for_each(|(agent, count)| add(known, agent, *count));
        }
        for (state, histogram) in &more.durations {
            *self.durations.entry(state.clone()).or_default() += histogram;
        }
        for (model, used) in &more.used {
            *self.used.entry(model.clone()).or_default() += *used;
        }
        for (agent, took) in &more.took {
            *self.took.entry(agent.clone()).or_default() += took;
        }
        more.retries.iter().for_each(|(reason, count)| add(&mut self.retries, reason, *count));
        self.conflicts = self.conflicts.saturating_add(more.conflicts);
    }
}

fn add(counts: &mut BTreeMap<String, u64>, key: &str, count: u64) {
    let known = counts.entry(key.to_owned()).or_default();
    *known = known.saturating_add(count);
}

impl AddAssign<&Took> for Took {
    fn add_assign(&mut self, more: &Took) {
        self.cpu = Millis(self.cpu.0.saturating_add(more.cpu.0));
        self.read = self.read.saturating_add(more.read);
        self.written = self.written.saturating_add(more.written);
        self.peaks += &more.peaks;
    }
}

impl From<Processes> for Took {
    fn from(processes: Processes) -> Took {
        let mut peaks = Histogram::default();
        if let Some(peak) = processes.peak_together().or_else(|| processes.peak()) {
            peaks.observe(peak, &MEMORY_BOUNDS);
        }
        Took { cpu: processes.cpu, read: processes.read, written: processes.written, peaks }
    }
}

impl AddAssign for Used {
    fn add_assign(&mut self, more: Used) {
        self.cost = self.cost + more.cost;
        self.input = self.input.saturating_add(more.input);
        self.output = self.output.saturating_add(more.output);
    }
}

impl From<Usage> for Used {
    fn from(usage: Usage) -> Used {
        Used { cost: usage.cost, input: usage.tokens.saturating_sub(usage.output), output: usage.output }
    }
}

/// Every reason for another attempt.
pub const RETRY_REASONS: [&str; 7] =
    ["failed", "mend", "anew", "other_agent", "other_model", "rollback", "sent_back"];

pub fn retry_reason(again: &Again) -> &'static str {
    match again {
        Again::Failed => "failed",
        Again::Mend(_) => "mend",
        Again::Anew => "anew",
        Again::Other => "other_agent",
        Again::Model => "other_model",
        Again::Back => "rollback",
        Again::SentBack(_) => "sent_back",
    }
}

/// How live runs stand at one moment. Those of several are their sum.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Gauges {
    /// Tasks at work, those that only have to land included.
    pub running: u64,
    /// Tasks that wait for a slot or a dependency.
    pub queued: u64,
    pub busy: u64,
    pub free: u64,
    /// Workspaces on the disk, which a run does not know of.
    pub worktrees: u64,
}

impl Gauges {
    /// Of a run that a coordinator drives; nothing is at work in one that is over or was left.
    pub fn of(snapshot: &Snapshot) -> Gauges {
        if !snapshot.is_active() {
            return Gauges::default();
        }
        let busy = snapshot.busy();
        Gauges {
            running: snapshot.counts.running.into(),
            queued: snapshot.counts.pending.into(),
            busy: busy.into(),
            free: snapshot.slots.saturating_sub(busy).into(),
            worktrees: 0,
        }
    }
}

impl AddAssign for Gauges {
    fn add_assign(&mut self, more: Gauges) {
        self.running = self.running.saturating_add(more.running);
        self.queued = self.queued.saturating_add(more.queued);
        self.busy = self.busy.saturating_add(more.busy);
        self.free = self.free.saturating_add(more.free);
        self.worktrees = self.worktrees.saturating_add(more.worktrees);
    }
}

#[cfg(test)]
mod tests;
