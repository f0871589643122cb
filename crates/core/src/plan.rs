//! A plan: what is to be done, checked and with every default filled in.
//!
//! It is the only thing the scheduler, the store and the reports know of a task file. It is kept inside the run's first
//! event, so a field may be added (with a default) but never renamed or removed.

mod agents;
mod amendment;
mod bounds;
pub mod cloud;
mod course;
mod demands;
mod execution;
pub mod file_sets;
mod fingerprint;
pub mod graph;
pub mod groups;
mod kinds;
mod measure;
pub mod mentions;
pub mod models;
pub mod ordering;
pub mod permissions;
mod preparation;
mod race;
pub mod recovery;
mod resources;
mod sandbox;
pub mod select;
#[cfg(test)]
pub(crate) mod sketch;
pub mod subagents;
mod task;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::plan::models::Models;
use crate::plan::subagents::Subagent;
use crate::values::ids::TaskId;

pub use agents::{Otherwise, Permissions, Program, Review};
pub use amendment::{Amendment, Edit};
pub use bounds::{
    LONGEST_UNBOUNDED_GRACE, Limits, NOTIFICATION_NAMES, Notification, Notifications, ORPHAN_GRACE, OnBudget,
    Price,
};
pub use cloud::{Cloud, Transport};
pub use course::{
    Changes, Dependency, EpicLanding, Isolation, Kind, Land, MergeStrategy, OnConflict, PrStrategy,
    RetryPolicy, Scope, When,
};
pub use demands::{ACP, Demand, ON_SCREEN};
pub use execution::{Done, Execution, Stage};
pub use fingerprint::Fingerprint;
pub use kinds::KINDS;
pub use measure::{Coverage, Measure};
pub use preparation::{Learned, MAX_LINES, Preparation};
pub use race::{Entrant, Race, Racing, Wins};
pub use resources::{Reached, Resource, TaskLimits};
pub use sandbox::{Network, Sandbox, SandboxMode};
pub use task::{Command, Priority, Task, Work};

#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Plan {
    pub tasks: Vec<Task>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub groups: Vec<Group>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub epics: Vec<Epic>,
    /// Each step waits for the one before; replaces the dependencies between the tasks it names.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub execution_order: Vec<Vec<TaskId>>,
    #[serde(default)]
    pub limits: Limits,
    #[serde(default, skip_serializing_if = "Notifications::is_empty")]
    pub notifications: Notifications,
    /// How many tasks run at once where the command line does not say it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parallel: Option<u32>,
    /// Where tasks work, unless the task itself or the command line says it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub isolation: Option<Isolation>,
    /// Where workspaces are made, with `{run}`, `{n}` and the like filled in; under the state directory where absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workspace_path: Option<String>,
    /// What the file says about models; nothing where each agent is to use its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub models: Option<Box<Models>>,
    /// Specialists: those the file describes, and, once it is settled who does what, all some task is for.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub subagents: Vec<Subagent>,
    /// Agents the file brings along, by their names; they come before those that are built in.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub agents: BTreeMap<String, Program>,
    /// What models cost, by name or by a prefix and `*`, where the file knows better than the price list.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub prices: BTreeMap<String, Price>,
    /// What is known beside the tasks where groups are carried out; nothing otherwise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub execution: Option<Box<Execution>>,
    /// The file's free `metadata` section, kept as it was written.
    #[serde(default, skip_serializing_if = "serde_json::Map::is_empty")]
    pub metadata: serde_json::Map<String, serde_json::Value>,
}

impl Plan {
    pub fn place(&self, task: &TaskId) -> Option<usize> {
        self.tasks.iter().position(|known| known.id == *task)
    }

    /// All but its tasks.
    pub fn without_tasks(&self) -> Plan {
        let Plan {
            tasks: _,
            groups,
            epics,
            execution_order,
            limits,
            notifications,
            parallel,
            isolation,
            workspace_path,
            models,
            subagents,
            agents,
            prices,
            execution,
            metadata,
        } = self;
        Plan {
            tasks: Vec::new(),
            groups: groups.clone(),
            epics: epics.clone(),
            execution_order: execution_order.clone(),
            limits: limits.clone(),
            notifications: notifications.clone(),
            parallel: *parallel,
            isolation: *isolation,
            workspace_path: workspace_path.clone(),
            models: models.clone(),
            subagents: subagents.clone(),
            agents: agents.clone(),
            prices: prices.clone(),
            execution: execution.clone(),
            metadata: metadata.clone(),
        }
    }

    /// The epics whose tasks share a workspace and land as one.
    pub fn shared_epics(&self) -> Vec<&str> {
        let shared = self.epics.iter().filter(|epic| epic.isolation_scope == Scope::Epic);
        shared.map(|epic| epic.id.as_str()).collect()
    }

    /// Tasks that are to land by an approval and work in place, where nothing lands: they do not wait for it. What a task
    /// says of its isolation comes first; `land` comes before what any of them says.
    pub fn unreviewed(
        &self,
        isolation: Option<Isolation>,
        land: Option<Land>,
    ) -> impl Iterator<Item = &TaskId> {
        let in_place = move |task: &Task| task.isolation.or(isolation) == Some(Isolation::None);
        let tasks = self.tasks.iter().filter(move |task| land.unwrap_or(task.land) == Land::Approve);
        tasks.filter(move |task| in_place(task)).map(|task| &task.id)
    }

    /// The specialist a task is for.
    pub fn subagent(&self, task: &Task) -> Option<&Subagent> {
        let name = task.subagent_type.as_ref()?;
        self.subagents.iter().find(|known| known.name == *name)
    }

    /// What stands for a group in paths and ids.
    pub fn group_id<'a>(&'a self, name: &'a str) -> &'a str {
        self.groups.iter().find(|group| group.name == name).map_or(name, Group::id)
    }

    /// The name of the group that a word means: its name, or else its id. A word that means none is given back.
    pub fn group_meant<'a>(&'a self, word: &'a str) -> &'a str {
        let is_name = self.groups.iter().any(|group| group.name == word);
        let by_id = || self.groups.iter().find(|group| group.id() == word);
        if is_name { word } else { by_id().map_or(word, |group| &group.name) }
    }

    /// Why a task cannot be done now, where that is known before the run begins.
    pub fn blocked(&self, task: &TaskId) -> Option<&str> {
        self.execution.as_ref()?.blocked.get(task).map(String::as_str)
    }

    pub fn task(&self, task: &TaskId) -> Option<&Task> {
        self.tasks.iter().find(|known| known.id == *task)
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Group {
    /// As a person gave it.
    pub name: String,
    /// What stands for it in paths and ids, where its name cannot.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// How many of its tasks run at once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_parallel: Option<u32>,
}

impl Group {
    /// A group of which nothing but its name is known.
    pub fn named(name: impl Into<String>) -> Group {
        Group { name: name.into(), id: None, description: None, max_parallel: None }
    }

    /// Safe as a file name and as a part of a task id.
    pub fn id(&self) -> &str {
        self.id.as_deref().unwrap_or(&self.name)
    }

    /// Whether a word means it, by its name or by its id.
    pub fn is(&self, word: &str) -> bool {
        self.name == word || self.id() == word
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Epic {
    pub id: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Every task of these epics lands before the first of this one starts.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub dependencies: Vec<String>,
    #[serde(default, skip_serializing_if = "is_default")]
    pub isolation_scope: Scope,
    /// Whether its tasks land by themselves, where they do not say it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub land: Option<Land>,
    /// Of one with one workspace.
    #[serde(default, skip_serializing_if = "is_default")]
    pub epic_landing: EpicLanding,
}

fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}
