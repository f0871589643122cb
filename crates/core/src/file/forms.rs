//! The top of a file: which of the known forms it has, and its sections.
//!
//! Four forms come through this door: our mapping, a bare list of tasks, a foreign `execution_plan.json`, and the plan
//! that a run writes.

use crate::plan::Plan;
use crate::plan::subagents::Subagent;
use crate::values::counted::counted;

use super::check::{self, Parts};
use super::decode::wrong;
use super::diagnostic::Report;
use super::epics;
use super::fields::Fields;
use super::keys::{FILE, FOREIGN_PLAN};
use super::layers::{self, Layer};
use super::order;
use super::own_plan;
use super::sections;
use super::settings::Placed;
use super::source::Span;
use super::task::{self, Dialect, Draft};
use super::tree::{Entry, Node, Value, json_map};

/// Reads a whole file. Where errors were reported, the plan is what is left of it.
pub(super) fn read(r: &mut Report<'_>, root: &Node, found: Option<&[Subagent]>, layers: &[Layer]) -> Plan {
    let mut parts = match &root.value {
        Value::Seq(_) => Parts { tasks: tasks(r, root, Dialect::Ours), ..Parts::default() },
        Value::Map(_) if own_plan::is_one(r, root) => {
            let (parts, outside, execution) = own_plan::read(r, root);
            let plan = check::assemble(r, parts, outside, found);
            return own_plan::carried_out(r, plan, execution);
        }
        Value::Map(_) if is_plan(root) => foreign(r, root),
        Value::Map(_) => ours(r, root),
        _ => {
            r.error("wrong-type", root.span, format!("a task file is a mapping, found {}", root.kind()))
                .help("write 'tasks:' and a list of tasks");
            return Plan::default();
        }
    };
    let outside = layers::fill(&mut parts, layers);
    check::assemble(r, parts, outside, found)
}

/// Keys that only a foreign `execution_plan.json` has.
const PLAN_SIGNS: [&str; 4] = ["num_tasks", "executor_budget", "execution_model", "execution_strategy"];

pub(super) fn is_plan(root: &Node) -> bool {
    let has = |name: &str| root.entries().into_iter().flatten().any(|(key, _)| *key.text == *name);
    // A planner that says only who waits for whom says it beside the tasks.
    let maps = |name: &str| {
        let of_name = |(key, node): &&Entry| *key.text == *name && matches!(node.value, Value::Map(_));
        root.entries().into_iter().flatten().any(|entry| of_name(&entry))
    };
    has("tasks") && (PLAN_SIGNS.into_iter().any(has) || maps("dependencies"))
}

fn ours(r: &mut Report<'_>, root: &Node) -> Parts {
    let Some(mut fields) = Fields::of(r, "a task file", FILE, root) else { return Parts::default() };
    let parts = parts(r, &mut fields, Dialect::Ours);
    // `x-…` is where people keep what they anchor.
    fields.finish(r, |key| key.starts_with("x-"));
    parts
}

/// The sections of a task file, of which those that are about runs may be said elsewhere.
pub(super) fn parts(r: &mut Report<'_>, fields: &mut Fields<'_>, dialect: Dialect) -> Parts {
    fields.take("$schema");
    let config = fields.get(r, "config", sections::config).unwrap_or_default();
    let tasks = match fields.take("tasks") {
        Some((_, node)) if !node.is_null() => tasks(r, node, dialect),
        found => no_tasks(r, found.map_or(fields.span, |(key, _)| key.span)),
    };
    Parts {
        config,
        tasks,
        groups: fields.get(r, "groups", sections::groups).unwrap_or_default(),
        epics: fields.get(r, "epics", epics::read),
        order: fields.get(r, "execution_order", order::read).unwrap_or_default(),
        limits: fields.get(r, "limits", sections::limits).unwrap_or_default(),
        notifications: fields.get(r, "notifications", layers::notices).unwrap_or_default(),
        metadata: fields.get(r, "metadata", metadata).unwrap_or_default(),
    }
}

fn metadata(
    r: &mut Report<'_>,
    what: &str,
    node: &Node,
) -> Option<serde_json::Map<String, serde_json::Value>> {
    match node.entries() {
        Some(entries) => Some(json_map(entries)),
        None => wrong(r, what, node, "a mapping"),
    }
}

fn tasks(r: &mut Report<'_>, node: &Node, dialect: Dialect) -> Vec<Draft> {
    match &node.value {
        Value::Seq(items) if items.is_empty() => no_tasks(r, node.span),
        Value::Seq(items) => items.iter().filter_map(|item| task::read(r, item, dialect)).collect(),
        _ => {
            r.error("wrong-type", node.span, format!("'tasks' wants a list, found {}", node.kind()))
                .help("start every task with '- id: …'");
            Vec::new()
        }
    }
}

fn no_tasks(r: &mut Report<'_>, span: Span) -> Vec<Draft> {
    r.error("no-tasks", span, "the file has no tasks").help("write 'tasks:' and a list of tasks");
    Vec::new()
}

/// A foreign `execution_plan.json`. Unknown keys are its own affair; those of the plan as a whole are kept as metadata.
fn foreign(r: &mut Report<'_>, root: &Node) -> Parts {
    let Some(mut fields) = Fields::of(r, "a plan", FOREIGN_PLAN, root) else { return Parts::default() };
    let mut parts = parts(r, &mut fields, Dialect::Plan);
    if let Some((_, node)) = fields.take("dependencies").filter(|(_, node)| !node.is_null()) {
        plan_dependencies(r, node, &mut parts.tasks);
    }
    if let Some((_, node)) = fields.take("num_tasks") {
        count(r, node, parts.tasks.len());
    }
    for (key, node) in root.entries().into_iter().flatten() {
        if PLAN_SIGNS.contains(&&*key.text) || *key.text == *"notes" {
            parts.metadata.entry(key.text.to_string()).or_insert_with(|| node.to_json());
        }
    }
    parts
}

pub(super) fn count(r: &mut Report<'_>, node: &Node, tasks: usize) {
    if super::decode::number(node).is_some_and(|said| said != tasks as f64) {
        let said = r.source.slice(node.span).to_owned();
        r.warning(
            "count-mismatch",
            node.span,
            format!("the plan says {said} and has {}", counted(tasks, "task")),
        );
    }
}

/// `{task: [ids]}`, added to what the tasks say themselves.
fn plan_dependencies(r: &mut Report<'_>, node: &Node, tasks: &mut [Draft]) {
    if matches!(&node.value, Value::Seq(items) if items.is_empty()) {
        return;
    }
    let Some(entries) = node.entries() else {
        wrong::<()>(r, "dependencies", node, "a mapping of task ids to lists of them");
        return;
    };
    let places: std::collections::HashMap<String, usize> =
        tasks.iter().enumerate().map(|(place, task)| (task.id.value.clone(), place)).collect();
    for (key, node) in entries.iter().filter(|(_, node)| !node.is_null()) {
        let more = task::dependencies(r, "dependencies", node).unwrap_or_default();
        match places.get(&*key.text) {
            Some(&place) => tasks[place].add(more),
            None => {
                let id = Placed { value: key.text.to_string(), span: key.span };
                check::unknown_task(r, "dependencies", &id, tasks.iter().map(|task| task.id.value.as_str()));
            }
        }
    }
}

impl Draft {
    /// Said in both places is said once: no warning, for D writes it twice.
    fn add(&mut self, more: Vec<task::Wait>) {
        for wait in more {
            if self.waits.iter().all(|known| known.on.value != wait.on.value) {
                self.waits.push(wait);
            }
        }
    }
}
