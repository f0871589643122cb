//! With which options a coordinator takes a run up.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use crate::plan::graph::Strategy;
use crate::plan::models::Sample;
use crate::plan::{Fingerprint, Isolation, Land, Limits, Network, Plan, SandboxMode};
use crate::run::event::Capped;
use crate::values::ids::TaskId;
use crate::values::units::{Millis, Usd};

/// How one taking-up of a run is to be carried out.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Options {
    /// How many attempts at once are wanted.
    pub slots: u32,
    /// How many the limits of the coordinator's process leave room for, where that is fewer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fits: Option<u32>,
    #[serde(default)]
    pub strategy: Strategy,
    #[serde(default)]
    pub fail_fast: bool,
    /// Tasks whose file sets meet may run side by side after all.
    #[serde(default)]
    pub allow_overlap: bool,
    /// Where tasks work that do not say it themselves.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub isolation: Option<Isolation>,
    /// Whether good work lands by itself, where that is said for every task.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub land: Option<Land>,
    /// What is done with the run's branch at the end; it is left for the user where absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub merge: Option<BringHome>,
    /// The file's limits, overridden by flags and filled up with what the machine has.
    #[serde(default)]
    pub limits: Limits,
    /// How long a question waits for a person, where its task does not say; for ever where absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answer_within: Option<Millis>,
    /// Whether the run is left where only questions are left, to be taken up when they are answered.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub leave_unanswered: bool,
    /// Agents some task names that are not there on this machine.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub absent: BTreeSet<String>,
    /// How models did in former runs; nothing where none is chosen.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub samples: Vec<Sample>,
    /// Where the run's files go, where that is not the state directory.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output: Option<String>,
    /// What was typed that decides which tasks of its file a run has; absent in logs of earlier versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub selection: Option<Selection>,
    /// How long an attempt is taken to be carried out after its worker was last heard of, where that is not what it
    /// usually is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lease: Option<Millis>,
    /// The commit its branch begins at, where that is not what was checked out: the work of an earlier run, or uncommitted
    /// changes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub begun_on: Option<String>,
    /// The user who took the run up, where that was not the owner of the machine.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
    /// Where the workers are reached that carry its attempts out, where that is not only this machine.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workers_at: Option<WorkersAt>,
}

/// By what workers on other machines are reached. The addresses have no passwords: they are in the log of the run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WorkersAt {
    pub queue: String,
    pub git: String,
}

/// What is done with the run's branch beyond leaving it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum BringHome {
    /// The user's branch is brought forward to it.
    Branch,
    /// One pull request.
    Pr,
    PrPerTask,
}

/// What the command line says of a task file: the file is read in the same way when the run is taken up
/// again.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Selection {
    /// Which of its tasks; all of them where absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub only: Option<String>,
    /// Whether what tasks say about their isolation does not count.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub isolated: bool,
    /// Tasks that earlier runs had done and that were left out for it. One that asks for something else by now is not
    /// one of them any more.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub done: BTreeMap<TaskId, Fingerprint>,
    /// The same of tasks whose work waited for a review in an earlier run.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub in_review: BTreeMap<TaskId, Fingerprint>,
    /// The agent and the model for prompts that name none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// The repository of prompts that name none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub repository: Option<String>,
    /// How tasks for agents are confined and what they reach of the network, whatever they say themselves.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sandbox: Option<SandboxMode>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub network: Option<Network>,
}

impl Options {
    /// How many attempts there are at once.
    pub fn at_once(&self) -> u32 {
        self.fits.map_or(self.slots, |fits| self.slots.min(fits))
    }

    /// How many tasks there are at work at once: those who race for one are not counted beside it.
    pub fn tasks_at_once(&self) -> u32 {
        match self.strategy {
            Strategy::Sequential => 1,
            Strategy::Queue | Strategy::Batch => self.at_once(),
        }
    }

    /// What the run may use of something, in the units of `Event::BudgetNeared`.
    pub fn cap(&self, what: Capped) -> Option<u64> {
        let limits = &self.limits;
        match what {
            Capped::Cost => limits.max_cost.map(|cap| cap.0),
            Capped::Tokens => limits.max_tokens,
            Capped::Time => limits.max_time.map(|cap| cap.0),
            Capped::Attempts => limits.max_attempts.map(u64::from),
            Capped::Turns => None,
        }
    }

    pub(crate) fn set_cap(&mut self, what: Capped, cap: u64) {
        let limits = &mut self.limits;
        match what {
            Capped::Cost => limits.max_cost = Some(Usd(cap)),
            Capped::Tokens => limits.max_tokens = Some(cap),
            Capped::Time => limits.max_time = Some(Millis(cap)),
            Capped::Attempts => limits.max_attempts = Some(u32::try_from(cap).unwrap_or(u32::MAX)),
            // Only tasks have one.
            Capped::Turns => {}
        }
    }

    /// What a plan itself asks for.
    pub fn of_plan(plan: &Plan) -> Options {
        Options {
            limits: plan.limits.clone(),
            isolation: plan.isolation,
            ..Options::with_slots(plan.parallel.unwrap_or(1))
        }
    }

    pub fn with_slots(slots: u32) -> Options {
        Options {
            slots,
            fits: None,
            strategy: Strategy::Queue,
            fail_fast: false,
            allow_overlap: false,
            isolation: None,
            land: None,
            merge: None,
            limits: Limits::default(),
            answer_within: None,
            leave_unanswered: false,
            absent: BTreeSet::new(),
            samples: Vec::new(),
            output: None,
            selection: None,
            lease: None,
            begun_on: None,
            by: None,
            workers_at: None,
        }
    }
}
