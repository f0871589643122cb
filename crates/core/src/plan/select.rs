//! Some of a plan's tasks. `--only` chooses them by a short expression; `without` leaves out what is done.
//!
//! Terms of an expression are separated by commas; a task that fits any of them is in. `api` and `test-*` name ids,
//! `group:infra` and `epic:backend` their members, `+api` adds what it depends on, `api+` what depends on it.

use std::collections::{BTreeMap, HashSet};

use thiserror::Error;

use crate::plan::graph::{Graph, GraphError, Node, Strategy};
use crate::plan::{Kind, Plan, Task};
use crate::values::ids::TaskId;
use crate::values::pattern::matches;

#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum SelectError {
    #[error("'{term}' fits no task{}", .near.as_ref().map(|near| format!("; did you mean '{near}'?")).unwrap_or_default())]
    NoTask { term: String, near: Option<String> },
    #[error("the expression names nothing")]
    Empty,
    #[error(transparent)]
    Graph(#[from] GraphError),
}

/// The plan with only the chosen tasks. What they depend on outside of the choice counts as done.
pub fn select(plan: &Plan, expression: &str) -> Result<Plan, SelectError> {
    let graph = Graph::new(plan, Strategy::Queue)?;
    let mut chosen: HashSet<Node> = HashSet::new();
    let mut terms = expression.split(',').map(str::trim).filter(|term| !term.is_empty()).peekable();
    if terms.peek().is_none() {
        return Err(SelectError::Empty);
    }
    for term in terms {
        chosen.extend(fitting(plan, &graph, term)?);
    }
    with_entrants(plan, &mut chosen);
    Ok(narrowed(plan, |place| chosen.contains(&(place as Node))))
}

fn fitting(plan: &Plan, graph: &Graph, term: &str) -> Result<Vec<Node>, SelectError> {
    let (before, rest) = term.strip_prefix('+').map_or((false, term), |rest| (true, rest));
    let (behind, name) = rest.strip_suffix('+').map_or((false, rest), |name| (true, name));
    let direct: Vec<Node> = (0..plan.tasks.len())
        .filter(|&place| fits(plan, name, &plan.tasks[place]) && !plan.tasks[place].is_entrant())
        .map(|place| place as Node)
        .collect();
    if direct.is_empty() {
        let ids = plan.asked().map(|task| task.id.as_str());
        let near = ids
            .map(|id| (strsim::jaro_winkler(name, id), id))
            .filter(|(likeness, _)| *likeness > 0.8)
            .max_by(|a, b| a.0.total_cmp(&b.0))
            .map(|(_, id)| id.to_owned());
        return Err(SelectError::NoTask { term: term.to_owned(), near });
    }
    let mut all = direct.clone();
    for task in direct {
        if before {
            all.extend(graph.all_dependencies(task));
        }
        if behind {
            all.extend(graph.all_dependents(task));
        }
    }
    Ok(all)
}

/// The entrants of a race are chosen with their task, and never without it.
fn with_entrants(plan: &Plan, chosen: &mut HashSet<Node>) {
    let ids: HashSet<&TaskId> = chosen.iter().map(|&node| &plan.tasks[node as usize].id).collect();
    let along =
        (0..).zip(&plan.tasks).filter_map(|(node, task)| Some((node, ids.contains(task.entrant_of()?))));
    let along: Vec<(Node, bool)> = along.collect();
    for (node, goes) in along {
        match goes {
            true => chosen.insert(node),
            false => chosen.remove(&node),
        };
    }
}

fn fits(plan: &Plan, name: &str, task: &Task) -> bool {
    match name.split_once(':') {
        Some(("group", group)) => {
            task.group.as_deref().is_some_and(|own| matches(group, own) || matches(group, plan.group_id(own)))
        }
        Some(("epic", epic)) => task.epic.as_deref().is_some_and(|own| matches(epic, own)),
        _ => matches(name, task.id.as_str()),
    }
}

/// The plan without the tasks that are done, and without those who race for them. What others wait for among them
/// counts as done.
pub fn without(plan: &Plan, is_done: impl Fn(&Task) -> bool) -> Plan {
    let done: HashSet<&TaskId> = plan.asked().filter(|task| is_done(task)).map(|task| &task.id).collect();
    let goes =
        |task: &Task| done.contains(&task.id) || task.entrant_of().is_some_and(|race| done.contains(race));
    narrowed(plan, |place| !goes(&plan.tasks[place]))
}

/// What the chosen tasks need beyond themselves, directly or through others, each with one that needs it. What only
/// comes before them (`soft`) they do not need.
pub fn needed(
    plan: &Plan,
    is_chosen: impl Fn(&TaskId) -> bool,
) -> Result<BTreeMap<TaskId, TaskId>, GraphError> {
    let graph = Graph::new(plan, Strategy::Queue)?;
    let mut by: Vec<Option<Node>> = vec![None; graph.nodes()];
    let mut needed = BTreeMap::new();
    for &node in graph.order().iter().rev() {
        let task = plan.tasks.get(node as usize).map(|task| &task.id);
        let hard = graph.dependents(node).iter().filter(|edge| edge.kind == Kind::Hard);
        by[node as usize] = match task {
            Some(task) if is_chosen(task) => Some(node),
            _ => hard.filter_map(|edge| by[edge.to as usize]).min(),
        };
        if let (Some(task), Some(user)) = (task, by[node as usize].filter(|user| *user != node)) {
            needed.insert(task.clone(), graph.id(user).clone());
        }
    }
    Ok(needed)
}

/// The plan with these places only. What they depend on elsewhere counts as done.
pub(crate) fn narrowed(plan: &Plan, keep: impl Fn(usize) -> bool) -> Plan {
    let mut narrowed = plan.clone();
    let mut place = 0;
    narrowed.tasks.retain(|_| {
        place += 1;
        keep(place - 1)
    });
    let left: HashSet<_> = narrowed.tasks.iter().map(|task| task.id.clone()).collect();
    for task in &mut narrowed.tasks {
        task.dependencies.retain(|dependency| left.contains(&dependency.id));
    }
    for step in &mut narrowed.execution_order {
        step.retain(|id| left.contains(id));
    }
    narrowed.execution_order.retain(|step| !step.is_empty());
    narrowed
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::sketch::{self, id};

    fn plan() -> Plan {
        let execution_order = vec![vec![id("schema")], vec![id("api"), id("cache")]];
        let text = "schema@infra; api <- schema; test-unit <- api; test-e2e <- api; cache@infra";
        Plan { execution_order, ..sketch::plan(text) }
    }

    fn chosen(expression: &str) -> String {
        match select(&plan(), expression) {
            Ok(plan) => plan.tasks.iter().map(|task| task.id.as_str()).collect::<Vec<_>>().join(" "),
            Err(error) => error.to_string(),
        }
    }

    #[test]
    fn names_globs_groups_and_relatives() {
        for (expression, tasks) in [
            ("api", "api"),
            ("test-*", "test-unit test-e2e"),
            ("*e*", "schema test-unit test-e2e cache"),
            ("group:infra", "schema cache"),
            ("+api", "schema api"),
            ("api+", "api test-unit test-e2e"),
            ("+test-unit, cache", "schema api test-unit cache"),
            ("ap", "'ap' fits no task; did you mean 'api'?"),
            ("zzz", "'zzz' fits no task"),
            (" , ", "the expression names nothing"),
        ] {
            assert_eq!(chosen(expression), tasks, "{expression}");
        }
    }

    #[test]
    fn who_races_for_a_task_goes_along_with_it() {
        let mut plan = plan();
        let place = plan.tasks.iter().position(|task| task.id.as_str() == "api").unwrap();
        let entrants = plan.tasks[place].raced(&[Default::default(), Default::default()], Default::default());
        plan.tasks.extend(entrants.unwrap());
        let chosen = |expression: &str| -> Vec<String> {
            let chosen = select(&plan, expression).unwrap();
            chosen.tasks.iter().map(|task| task.id.to_string()).collect()
        };
        assert_eq!(chosen("api"), ["api", "api.1", "api.2"]);
        assert_eq!(chosen("+test-unit").len(), 5);
        assert_eq!(chosen("schema+").iter().filter(|id| id.starts_with("api")).count(), 3);
        assert_eq!(chosen("schema"), ["schema"]);
        let error = select(&plan, "api.1").unwrap_err().to_string();
        assert_eq!(error, "'api.1' fits no task; did you mean 'api'?");
    }

    #[test]
    fn what_is_done_goes_with_those_who_race_for_it() {
        let mut plan = plan();
        let place = plan.tasks.iter().position(|task| task.id.as_str() == "api").unwrap();
        let entrants = plan.tasks[place].raced(&[Default::default()], Default::default());
        plan.tasks.extend(entrants.unwrap());
        let left = without(&plan, |task| matches!(task.id.as_str(), "api" | "schema"));
        let ids: Vec<&str> = left.tasks.iter().map(|task| task.id.as_str()).collect();
        assert_eq!(ids, ["test-unit", "test-e2e", "cache"]);
        assert!(left.tasks.iter().all(|task| task.dependencies.is_empty()));
        assert!(Graph::new(&left, Strategy::Queue).is_ok());
    }

    #[test]
    fn what_is_needed_is_named_with_the_task_that_needs_it() {
        let needs = |tasks: &str, chosen: &[&str]| {
            let needed = needed(&sketch::plan(tasks), |task| chosen.contains(&task.as_str())).unwrap();
            let told = needed.iter().map(|(task, by)| format!("{task} for {by}"));
            told.collect::<Vec<_>>().join(", ")
        };
        assert_eq!(needs("a; b <- a; c <- b; d", &["c", "d"]), "a for c, b for c", "through others too");
        assert_eq!(needs("a; b <- a; c <- b", &["b"]), "a for b");
        assert_eq!(needs("a; b <- a; c <- b", &["a"]), "", "what needs it is not needed");
        assert_eq!(needs("a; b <- a; c <- b", &["a", "b", "c"]), "");
        assert_eq!(needs("a; b; c <- a~ b?", &["c"]), "b for c", "what only comes before is not needed");
        let steps = Plan { execution_order: vec![vec![id("a")], vec![id("b")]], ..sketch::plan("a; b") };
        assert_eq!(needed(&steps, |task| task.as_str() == "b").unwrap().len(), 1, "steps count as well");
    }

    #[test]
    fn what_lies_outside_counts_as_done() {
        let plan = select(&plan(), "api").unwrap();
        assert!(plan.tasks[0].dependencies.is_empty());
        assert_eq!(plan.execution_order.len(), 1);
        assert!(Graph::new(&plan, Strategy::Queue).is_ok());
    }
}
