//! The plan that a run writes as `execution_plan.json`, read as what it was: a task file in which all is settled.
//!
//! Config files are not laid under it, for what they said when it was made is part of it.

use serde_json::Value as Json;

use crate::plan::graph::{Graph, Node, Strategy};
use crate::plan::{Execution, Plan};

use super::check::Parts;
use super::decode::{choice, count};
use super::diagnostic::{Report, shown};
use super::fields::Fields;
use super::forms::{self, parts};
use super::keys::{MAX_PARALLEL, OWN_PLAN};
use super::layers::Outside;
use super::settings::ISOLATIONS;
use super::source::Span;
use super::task::{self, Dialect};
use super::tree::{self, Value};

/// Since 2 it is a task file; before, it had only the keys of plans that planners make as JSON, from which a plan cannot be told again.
pub const PLAN_SCHEMA: &str = "conductor.plan/2";

/// So many asterisks in a variable's place are a secret that was left out.
const ASTERISKS: usize = 4;

pub(super) fn is_one(r: &Report<'_>, root: &tree::Node) -> bool {
    value_of(root, "schema").and_then(|node| node.text(r.source)) == Some(PLAN_SCHEMA)
}

fn value_of<'n>(node: &'n tree::Node, name: &str) -> Option<&'n tree::Node> {
    node.entries()?.iter().find(|(key, _)| *key.text == *name).map(|(_, node)| node)
}

/// What was carried out with it, where groups were; and which dependencies it says that all of it comes to.
#[derive(Default)]
pub(super) struct CarriedOut {
    execution: Option<(Json, Span)>,
    dependencies: Option<tree::Node>,
}

pub(super) fn read(r: &mut Report<'_>, root: &tree::Node) -> (Parts, Outside, CarriedOut) {
    let Some(mut fields) = Fields::of(r, "a plan", OWN_PLAN, root) else { return Default::default() };
    // Figures that are told from the rest of it.
    for name in ["schema", "executor_budget", "execution_model", "execution_strategy", "notes"] {
        fields.take(name);
    }
    let parts = parts(r, &mut fields, Dialect::OwnPlan);
    let outside = Outside {
        parallel: fields.get(r, "parallel", count(1..=MAX_PARALLEL)),
        isolation: fields.get(r, "isolation", choice(ISOLATIONS)),
        groups: Vec::new(),
    };
    let there = |node: &&tree::Node| !node.is_null();
    let execution = fields.take("execution").map(|(_, node)| node).filter(there);
    let dependencies = fields.take("dependencies").map(|(_, node)| node).filter(there).cloned();
    if let Some((_, node)) = fields.take("num_tasks") {
        forms::count(r, node, parts.tasks.len());
    }
    fields.finish(r, |_| false);
    find_secrets(r, root);
    let execution = execution.map(|node| (node.to_json(), node.span));
    (parts, outside, CarriedOut { execution, dependencies })
}

/// A run with asterisks for a key would fail late, or worse.
fn find_secrets(r: &mut Report<'_>, root: &tree::Node) {
    let Some(Value::Seq(tasks)) = value_of(root, "tasks").map(|node| &node.value) else { return };
    for (key, node) in tasks.iter().filter_map(|task| value_of(task, "env")?.entries()).flatten() {
        let Value::Str(value) = &node.value else { continue };
        if value.len() >= ASTERISKS && value.bytes().all(|byte| byte == b'*') {
            let message = format!("the value of {} was a secret, and is not in the plan", shown(&key.text));
            r.error("secret-left-out", node.span, message)
                .help("set the variable where you start the run, and name it in env_pass instead of env");
        }
    }
}

/// The plan with its stages, where it has any.
pub(super) fn carried_out(r: &mut Report<'_>, mut plan: Plan, told: CarriedOut) -> Plan {
    if let Some((json, span)) = told.execution {
        plan.execution = execution(r, &plan, json, span).map(Box::new);
    }
    if let Some(node) = told.dependencies {
        compare(r, &plan, &node);
    }
    plan
}

fn execution(r: &mut Report<'_>, plan: &Plan, json: Json, span: Span) -> Option<Execution> {
    let read: Execution = match serde_json::from_value(json) {
        Ok(read) => read,
        Err(error) => {
            r.error("unknown-stage", span, format!("'execution' cannot be read: {error}"));
            return None;
        }
    };
    let steps = read.stages.iter().flat_map(|stage| stage.tasks.iter().chain(stage.steps()));
    let missing: Vec<String> = steps.filter(|id| plan.place(id).is_none()).map(ToString::to_string).collect();
    for id in &missing {
        let message = format!("'execution' names task {}, which does not exist", shown(id));
        r.error("unknown-stage", span, message);
    }
    if let (true, Err(error)) = (
        missing.is_empty(),
        Graph::new(&Plan { execution: Some(Box::new(read.clone())), ..plan.clone() }, Strategy::Queue),
    ) {
        r.error("unknown-stage", span, format!("the stages of 'execution' do not fit its tasks: {error}"));
    }
    Some(read)
}

/// The list of all dependencies is made from what the tasks, epics and the order say; to change it changes nothing.
fn compare(r: &mut Report<'_>, plan: &Plan, node: &tree::Node) {
    let strategies = [Strategy::Queue, Strategy::Batch, Strategy::Sequential];
    let graphs = strategies.into_iter().filter_map(|strategy| Graph::new(plan, strategy).ok());
    let graphs: Vec<(Graph, Vec<Vec<Node>>)> =
        graphs.map(|graph| (graph.clone(), graph.dependencies())).collect();
    for (key, node) in node.entries().into_iter().flatten() {
        let said = task::dependencies(r, "dependencies", node).unwrap_or_default();
        let place = plan.tasks.iter().position(|task| task.id.as_str() == &*key.text);
        let is_known = |id: &str| {
            let waits = |(graph, before): &(Graph, Vec<Vec<Node>>)| {
                place.is_some_and(|place| before[place].iter().any(|&on| graph.id(on).as_str() == id))
            };
            graphs.iter().any(waits)
        };
        if place.is_none() || said.iter().any(|wait| !is_known(&wait.on.value)) {
            let message = format!("what is said of {} here has no effect", shown(&key.text));
            r.warning("no-effect", key.span, message).help(
                "this list repeats what tasks, epics and the order say; change 'dependencies' of the task",
            );
        }
    }
}
