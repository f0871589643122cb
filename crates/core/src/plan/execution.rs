//! Groups that are carried out one after the other, each with our own steps around its tasks.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use crate::values::ids::TaskId;
use crate::values::units::Timestamp;

/// What a run is about that carries out groups, beside its tasks.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Execution {
    /// Each begins when all of the one before it has landed and its tests are green.
    pub stages: Vec<Stage>,
    /// Tasks that cannot be done now, and why.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub blocked: BTreeMap<TaskId, String>,
    /// Tasks of these groups that were done before, and are not done again.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub done: Vec<Done>,
    /// What some wait for that is not in this plan.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub outside: BTreeMap<TaskId, BTreeSet<String>>,
    /// Tasks that are issues of beads: closed there when their stage is over and its tests are green.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub issues: BTreeSet<TaskId>,
}

/// A task of a group that was done before. What is not known of it is left out.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Done {
    pub group: String,
    pub task: TaskId,
    /// Whether its work is known to have landed; an issue may have been closed without any.
    #[serde(default, skip_serializing_if = "super::is_default")]
    pub landed: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub subagent: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub started: Option<Timestamp>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended: Option<Timestamp>,
}

/// A group; or, of those that are in none, as many as come up one after the other.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stage {
    pub group: String,
    pub tasks: Vec<TaskId>,
    /// Runs before them and brings their agents up to date. They start even where it fails.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refresh: Option<TaskId>,
    /// After them, however they ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tests: Option<TaskId>,
    /// Whether what blocks its tasks is looked up again before it begins.
    #[serde(default, skip_serializing_if = "super::is_default")]
    pub examine: bool,
}

impl Stage {
    /// Our own steps.
    pub fn steps(&self) -> impl Iterator<Item = &TaskId> {
        self.refresh.iter().chain(&self.tests)
    }
}

impl Execution {
    /// The groups in their order, each once.
    pub fn groups(&self) -> Vec<&str> {
        let mut groups: Vec<&str> = Vec::new();
        for stage in &self.stages {
            if !groups.contains(&stage.group.as_str()) {
                groups.push(&stage.group);
            }
        }
        groups
    }

    pub fn stages_of<'e>(&'e self, group: &'e str) -> impl Iterator<Item = &'e Stage> {
        self.stages.iter().filter(move |stage| stage.group == group)
    }

    /// The stage a task or a step of ours is in.
    pub fn stage_of(&self, task: &TaskId) -> Option<&Stage> {
        self.stages.iter().find(|stage| stage.tasks.contains(task) || stage.steps().any(|step| step == task))
    }

    /// Whether a run is complete without it.
    pub fn is_dispensable(&self, task: &TaskId) -> bool {
        self.stages.iter().any(|stage| stage.refresh.as_ref() == Some(task))
    }
}
