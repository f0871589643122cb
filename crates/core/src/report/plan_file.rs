//! `execution_plan.json`: the plan in that format's own keys, and in those of a task file, so that it can be run again.

use std::collections::BTreeMap;

use serde::{Serialize, Serializer};
use serde_json::{Map, Value};

use crate::file::{self, PLAN_SCHEMA};
use crate::plan::graph::{Graph, Node};
use crate::plan::{Plan, Task};
use crate::values::ids::TaskId;
use crate::values::units::Millis;

#[derive(Debug, Serialize)]
pub struct PlanFile<'a> {
    schema: &'static str,
    num_tasks: usize,
    executor_budget: u32,
    execution_model: &'static str,
    tasks: PlannedTasks<'a>,
    /// All that each task waits for, by its own word, its epic, its group or the order.
    dependencies: BTreeMap<&'a TaskId, Vec<&'a TaskId>>,
    execution_strategy: Vec<Vec<&'a TaskId>>,
    notes: Option<&'a Value>,
    #[serde(flatten)]
    sections: Map<String, Value>,
}

#[derive(Debug, Serialize)]
struct PlannedTask<'a> {
    id: &'a TaskId,
    name: &'a str,
    description: String,
    estimated_duration_ms: Option<Millis>,
    #[serde(flatten)]
    settings: Map<String, Value>,
}

/// Each is written out when its turn comes: there may be a great many.
#[derive(Debug)]
struct PlannedTasks<'a> {
    plan: &'a Plan,
    entrants: BTreeMap<&'a TaskId, Vec<&'a Task>>,
}

impl Serialize for PlannedTasks<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let racing = |task: &Task| self.entrants.get(&task.id).map(Vec::as_slice).unwrap_or_default();
        serializer.collect_seq(self.plan.asked().map(|task| planned(task, racing(task))))
    }
}

impl<'a> PlanFile<'a> {
    /// How the file of a plan begins, by which it is known again.
    pub fn head(plan: &Plan, slots: u32) -> String {
        let tasks = plan.asked().count();
        format!(
            "{{\n  \"schema\": \"{PLAN_SCHEMA}\",\n  \"num_tasks\": {tasks},\n  \"executor_budget\": {slots},\n"
        )
    }

    pub fn new(plan: &'a Plan, graph: &'a Graph, slots: u32) -> PlanFile<'a> {
        let named = |tasks: &[Node]| tasks.iter().map(|&task| graph.id(task)).collect::<Vec<_>>();
        let before = plan.tasks.iter().zip(graph.dependencies());
        let waiting = before.filter(|(_, before)| !before.is_empty());
        let mut entrants: BTreeMap<&TaskId, Vec<&Task>> = BTreeMap::new();
        for task in &plan.tasks {
            if let Some(race) = task.entrant_of() {
                entrants.entry(race).or_default().push(task);
            }
        }
        PlanFile {
            schema: PLAN_SCHEMA,
            num_tasks: plan.asked().count(),
            executor_budget: slots,
            execution_model: "task_queue",
            dependencies: waiting.map(|(task, before)| (&task.id, named(&before))).collect(),
            tasks: PlannedTasks { plan, entrants },
            execution_strategy: graph.batches().iter().map(|batch| named(batch)).collect(),
            notes: plan.metadata.get("notes"),
            sections: file::sections(plan),
        }
    }
}

fn planned<'a>(task: &'a Task, entrants: &[&Task]) -> PlannedTask<'a> {
    PlannedTask {
        id: &task.id,
        name: &task.name,
        description: task.work.to_string(),
        estimated_duration_ms: task.estimated(),
        settings: file::settings(task, entrants),
    }
}
