//! How a task goes: whom it waits for, where it works, how it is tried again, and how its work lands.

use serde::{Deserialize, Serialize};

use super::is_default;
use crate::values::ids::TaskId;
use crate::values::units::Millis;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Dependency {
    pub id: TaskId,
    #[serde(default, skip_serializing_if = "is_default")]
    pub when: When,
    #[serde(default, skip_serializing_if = "is_default")]
    pub kind: Kind,
}

impl Dependency {
    pub fn on(id: TaskId) -> Dependency {
        Dependency { id, when: When::default(), kind: Kind::default() }
    }
}

/// What must have become of a dependency before its dependent starts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum When {
    /// Its result is in.
    #[default]
    Landed,
    /// It ran to an end, good or bad.
    Finished,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    #[default]
    Hard,
    /// Orders the two where both run, and never keeps the dependent from running.
    Soft,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Isolation {
    Worktree,
    Clone,
    None,
}

/// What a task's work becomes on the run's branch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MergeStrategy {
    /// Its commits as they are, under a merge commit where the branch has moved.
    #[default]
    Merge,
    /// One commit.
    Squash,
    /// Its commits, made anew on top of the branch.
    Rebase,
}

/// Who wins where a task's work does not merge and no fix round is left to resolve that.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum OnConflict {
    /// A person: the task fails, its work is kept, `worktree resolve` takes it up.
    #[default]
    Manual,
    /// What has landed already, hunk by hunk.
    Ours,
    /// The task, hunk by hunk.
    Theirs,
    /// None yet: the task is done again from where the branch is, when all others before it have landed.
    RetryLater,
}

/// Whether good work lands by itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Land {
    #[default]
    Auto,
    /// A person reviews it first.
    Approve,
}

/// Which tasks share a workspace.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Scope {
    #[default]
    Task,
    /// An epic's tasks work one after the other in one workspace, and land together.
    Epic,
}

/// What of an epic with one workspace lands where one of its tasks has not come to a good end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EpicLanding {
    /// Nothing: the others are held back until that one is done too.
    All,
    #[default]
    WhatSucceeded,
}

/// Whether a result without a change in the tree is a result.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Changes {
    Required,
    Optional,
    Forbidden,
    /// Whatever it leaves in the tree does not count as work and does not land.
    Discarded,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PrStrategy {
    Aggressive,
    Normal,
    Patient,
    Manual,
}

#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct RetryPolicy {
    pub max_attempts: u32,
    pub initial_delay: Millis,
    pub backoff_factor: f64,
    pub max_delay: Millis,
    /// Part of the delay by which it is spread, 0 to 1.
    pub jitter: f64,
}

impl RetryPolicy {
    /// For a command without a retry policy of its own: one attempt, as make and cargo do.
    pub fn once() -> RetryPolicy {
        RetryPolicy { max_attempts: 1, ..RetryPolicy::default() }
    }
}

impl Default for RetryPolicy {
    fn default() -> RetryPolicy {
        RetryPolicy {
            max_attempts: 3,
            initial_delay: Millis::from_secs(5),
            backoff_factor: 2.0,
            max_delay: Millis::from_secs(300),
            jitter: 0.2,
        }
    }
}
