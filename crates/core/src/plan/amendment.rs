//! What is added to a plan while it is carried out.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use super::{Epic, Group, Plan, Preparation, Program, Task};
use crate::plan::subagents::Subagent;
use crate::values::ids::TaskId;

/// Only ever more: nothing that has begun changes, and nothing goes away.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Amendment {
    /// New ones, and others in place of those with their ids, which must not have started.
    pub tasks: Vec<Task>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub groups: Vec<Group>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub epics: Vec<Epic>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub subagents: Vec<Subagent>,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub agents: BTreeMap<String, Program>,
    /// Agents these tasks name that are not there on this machine.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub absent: BTreeSet<String>,
    /// The task whose agent asks for this; nothing where a person does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<TaskId>,
}

/// What became of a file that was edited, compared with how it was.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Edit {
    pub amendment: Amendment,
    /// Tasks that are not in it any more.
    pub removed: Vec<TaskId>,
    /// Whether something beside tasks, groups and epics is different.
    pub settings: bool,
}

impl Plan {
    pub fn amend(&mut self, amendment: &Amendment) {
        let places: BTreeMap<TaskId, usize> =
            self.tasks.iter().enumerate().map(|(place, task)| (task.id.clone(), place)).collect();
        for task in &amendment.tasks {
            match places.get(&task.id) {
                Some(&place) => self.tasks[place] = task.clone(),
                None => self.tasks.push(task.clone()),
            }
        }
        replace(&mut self.groups, &amendment.groups, |group| &group.name);
        replace(&mut self.epics, &amendment.epics, |epic| &epic.id);
        replace(&mut self.subagents, &amendment.subagents, |subagent| &subagent.name);
        self.agents.extend(amendment.agents.clone());
    }
}

/// Those of the same name give way where they are; others come last.
fn replace<T: Clone>(all: &mut Vec<T>, more: &[T], name: impl Fn(&T) -> &String) {
    for new in more {
        match all.iter_mut().find(|known| name(known) == name(new)) {
            Some(known) => *known = new.clone(),
            None => all.push(new.clone()),
        }
    }
}

impl Edit {
    /// What has changed from one reading of a file to the next.
    pub fn between(before: &Plan, after: &Plan) -> Edit {
        let old: BTreeMap<&TaskId, &Task> = before.tasks.iter().map(|task| (&task.id, task)).collect();
        let is_new = |task: &&Task| old.get(&task.id).is_none_or(|old| !reads_alike(old, task));
        let still: BTreeSet<&TaskId> = after.tasks.iter().map(|task| &task.id).collect();
        let gone = before.tasks.iter().map(|task| &task.id).filter(|id| !still.contains(id));
        let agents = after.agents.iter().filter(|(name, program)| before.agents.get(*name) != Some(program));
        let amendment = Amendment {
            tasks: after.tasks.iter().filter(is_new).cloned().collect(),
            groups: others(&before.groups, &after.groups),
            epics: others(&before.epics, &after.epics),
            subagents: others(&before.subagents, &after.subagents),
            agents: agents.map(|(name, program)| (name.clone(), program.clone())).collect(),
            ..Amendment::default()
        };
        let removed = gone.cloned().collect();
        Edit { amendment, removed, settings: settings(before) != settings(after) }
    }
}

/// Whether a file says the same of both. What former runs teach is not of the file.
fn reads_alike(one: &Task, other: &Task) -> bool {
    let as_read = |task: &Task| {
        let mut task = task.clone();
        task.preparation
            .iter_mut()
            .for_each(|known| (known.learned_files, known.learned_time) = (Vec::new(), None));
        task.preparation = task.preparation.filter(|preparation| **preparation != Preparation::default());
        task
    };
    one == other || as_read(one) == as_read(other)
}

fn others<T: Clone + PartialEq>(before: &[T], after: &[T]) -> Vec<T> {
    after.iter().filter(|thing| !before.contains(thing)).cloned().collect()
}

/// A plan without what an amendment can hold.
fn settings(plan: &Plan) -> Plan {
    let (groups, epics, subagents, agents) = Default::default();
    Plan { groups, epics, subagents, agents, execution: None, ..plan.without_tasks() }
}

impl Amendment {
    /// Whether nothing is different by it.
    pub fn is_empty(&self) -> bool {
        let Amendment { tasks, groups, epics, subagents, agents, absent: _, by: _ } = self;
        tasks.is_empty() && groups.is_empty() && epics.is_empty() && subagents.is_empty() && agents.is_empty()
    }
}
