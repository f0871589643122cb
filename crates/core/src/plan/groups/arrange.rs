//! A plan's groups, put one after the other: the stages of a run that carries them out.
//!
//! A group is where its first task stands, or behind the groups its tasks wait for. Tasks in none work one at a time, each
//! in its place: those that come up between two groups are a stage of their own.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use thiserror::Error;

use super::SEQUENTIAL;
use crate::plan::graph::{Graph, GraphError, Strategy};
use crate::plan::select;
use crate::plan::{
    Changes, Command, Dependency, Done, Execution, Group, Kind, Plan, RetryPolicy, Stage, Task, Work,
};
use crate::values::ids::{MAX_TASK_ID, TaskId};
use crate::values::suggest::did_you_mean;
use crate::values::units::Millis;

#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum ArrangeError {
    #[error("there is no group '{name}' in it{}", .near.as_ref().map(|near| format!("; did you mean '{near}'?")).unwrap_or_default())]
    NoGroup { name: String, near: Option<String> },
    #[error(
        "groups cannot follow each other: '{task}' of group {group} waits for '{on}' of group {other}, which waits for \
         group {group} as well"
    )]
    Entangled { task: TaskId, group: String, on: TaskId, other: String },
    #[error(transparent)]
    Graph(#[from] GraphError),
}

/// What is done around the tasks of each stage.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Steps {
    pub refresh: Option<Refresh>,
    /// Commands that must succeed on what has landed; the word `auto` stands for what the project's files suggest.
    pub tests: Vec<String>,
}

/// What brings those up to date who are about to work.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refresh {
    pub work: Work,
    pub timeout: Millis,
}

/// What is known of the tasks before any of them begins.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Circumstances {
    /// Why some cannot be done now.
    pub blocked: BTreeMap<TaskId, String>,
    /// What was done before, and is not among them.
    pub done: Vec<Done>,
    /// Which are issues of beads.
    pub issues: BTreeSet<TaskId>,
    /// What they wait for that is not among them.
    pub outside: BTreeMap<TaskId, BTreeSet<String>>,
    /// Whether what blocks them may change while others are at work, and can be looked up again.
    pub may_change: bool,
}

/// The tasks that are meant, and what each of them waits for that is not among them.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Chosen {
    pub plan: Plan,
    pub outside: BTreeMap<TaskId, BTreeSet<String>>,
}

impl Chosen {
    /// Takes tasks out that need not be done. A task that waits for them waits for something outside.
    pub fn leave_out(&mut self, done: &BTreeSet<TaskId>) {
        let is_done = |task: &Task| {
            done.contains(&task.id) || task.entrant_of().is_some_and(|race| done.contains(race))
        };
        for task in self.plan.tasks.iter().filter(|task| !is_done(task)) {
            let hard = task.dependencies.iter().filter(|on| on.kind == Kind::Hard && done.contains(&on.id));
            let outside: Vec<String> = hard.map(|on| on.id.to_string()).collect();
            if !outside.is_empty() {
                self.outside.entry(task.id.clone()).or_default().extend(outside);
            }
        }
        self.plan = select::without(&self.plan, |task| done.contains(&task.id));
        self.outside.retain(|task, _| !done.contains(task));
    }
}

/// The name of the group a task is in.
fn group_of(task: &Task) -> &str {
    task.group.as_deref().unwrap_or(SEQUENTIAL)
}

/// Only one group of a plan, or all of it.
pub fn choose(plan: &Plan, group: Option<&str>) -> Result<Chosen, ArrangeError> {
    let Some(group) = group else {
        return Ok(Chosen { plan: plan.clone(), outside: BTreeMap::new() });
    };
    let name = plan.group_meant(group);
    let meant = |task: &Task| group_of(task) == name;
    if !plan.tasks.iter().any(meant) {
        let near = did_you_mean(group, plan.tasks.iter().map(group_of)).map(str::to_owned);
        return Err(ArrangeError::NoGroup { name: group.to_owned(), near });
    }
    let graph = Graph::new(plan, Strategy::Queue)?;
    let mut outside: BTreeMap<TaskId, BTreeSet<String>> = BTreeMap::new();
    for (task, before) in plan.tasks.iter().zip(graph.dependencies()).filter(|(task, _)| meant(task)) {
        let soft =
            |on: &TaskId| task.dependencies.iter().any(|known| known.id == *on && known.kind == Kind::Soft);
        let before = before.iter().map(|&on| &plan.tasks[on as usize]);
        let before = before.filter(|on| !meant(on) && !soft(&on.id)).map(|on| on.id.to_string());
        let before: BTreeSet<String> = before.collect();
        if !before.is_empty() {
            outside.insert(task.id.clone(), before);
        }
    }
    Ok(Chosen { plan: select::narrowed(plan, |place| meant(&plan.tasks[place])), outside })
}

/// The plan as stages, with our own steps in it.
pub fn arrange(mut plan: Plan, steps: &Steps, circumstances: Circumstances) -> Result<Plan, ArrangeError> {
    let Circumstances { mut blocked, done, issues, outside, may_change } = circumstances;
    block_entrants(&plan, &mut blocked);
    let mut stages = in_order(&plan, stages(&plan))?;
    let mut taken: HashSet<String> = plan.tasks.iter().map(|task| task.id.as_str().to_lowercase()).collect();
    let stuck = stuck(&plan, &blocked)?;
    for (number, stage) in stages.iter_mut().enumerate() {
        // What is known of the first was looked up just now.
        stage.examine = may_change && number > 0;
        // Where no task can begin there is nothing to be brought up to date for, and nothing to test.
        let idle = !stage.examine && stage.tasks.iter().all(|task| stuck.contains(task));
        let agent = plan.task(&stage.tasks[0]).and_then(|task| task.agent.clone());
        if let (Some(refresh), false) = (&steps.refresh, idle) {
            let id = free_id(plan.group_id(&stage.group), "refresh", &mut taken);
            plan.tasks.push(refresh_task(id.clone(), &stage.group, refresh, agent));
            stage.refresh = Some(id);
        }
        if !steps.tests.is_empty() {
            let id = free_id(plan.group_id(&stage.group), "tests", &mut taken);
            plan.tasks.push(tests_task(id.clone(), &stage.group, &steps.tests));
            if idle {
                blocked.insert(id.clone(), format!("nothing of group {} can be done now", stage.group));
            }
            stage.tests = Some(id);
        }
    }
    if plan.tasks.iter().any(|task| task.group.is_none()) {
        let own: HashSet<TaskId> = stages.iter().flat_map(Stage::steps).cloned().collect();
        for task in plan.tasks.iter_mut().filter(|task| task.group.is_none() && !own.contains(&task.id)) {
            task.group = Some(SEQUENTIAL.to_owned());
        }
        plan.groups.retain(|group| group.name != SEQUENTIAL);
        plan.groups.push(Group { max_parallel: Some(1), ..Group::named(SEQUENTIAL) });
    }
    plan.execution = Some(Box::new(Execution { stages, blocked, done, issues, outside }));
    Graph::new(&plan, Strategy::Queue)?;
    Ok(plan)
}

/// Where several race for a task that cannot be done, none of them can.
pub(crate) fn block_entrants(plan: &Plan, blocked: &mut BTreeMap<TaskId, String>) {
    for task in &plan.tasks {
        if let Some(why) = task.entrant_of().and_then(|race| blocked.get(race)).cloned() {
            blocked.insert(task.id.clone(), why);
        }
    }
}

/// The tasks that are blocked, and those that wait for them.
pub(crate) fn stuck(plan: &Plan, blocked: &BTreeMap<TaskId, String>) -> Result<HashSet<TaskId>, GraphError> {
    let graph = Graph::new(plan, Strategy::Queue)?;
    let mut stuck: HashSet<TaskId> = HashSet::new();
    for task in graph.order().iter().filter_map(|&node| plan.tasks.get(node as usize)) {
        let waits = |on: &Dependency| on.kind == Kind::Hard && stuck.contains(&on.id);
        if blocked.contains_key(&task.id) || task.dependencies.iter().any(waits) {
            stuck.insert(task.id.clone());
        }
    }
    Ok(stuck)
}

fn stages(plan: &Plan) -> Vec<Stage> {
    let mut stages: Vec<Stage> = Vec::new();
    let mut places: HashMap<&str, usize> = HashMap::new();
    for task in plan.tasks.iter().filter(|task| !task.is_entrant()) {
        let group = group_of(task);
        let last = stages.len().checked_sub(1).filter(|&last| stages[last].group == SEQUENTIAL);
        let place = match group {
            SEQUENTIAL => last,
            group => places.get(group).copied(),
        };
        let place = place.unwrap_or_else(|| {
            let group = group.to_owned();
            stages.push(Stage { group, tasks: Vec::new(), refresh: None, tests: None, examine: false });
            stages.len() - 1
        });
        places.insert(group, place);
        stages[place].tasks.push(task.id.clone());
    }
    stages
}

/// Each behind those its tasks wait for, the order otherwise kept.
fn in_order(plan: &Plan, stages: Vec<Stage>) -> Result<Vec<Stage>, ArrangeError> {
    let graph = Graph::new(plan, Strategy::Queue)?;
    let mut of: HashMap<&TaskId, usize> = HashMap::new();
    for (number, stage) in stages.iter().enumerate() {
        of.extend(stage.tasks.iter().map(|task| (task, number)));
    }
    let mut waits: Vec<BTreeMap<usize, (TaskId, TaskId)>> = vec![BTreeMap::new(); stages.len()];
    for (task, before) in plan.tasks.iter().zip(graph.dependencies()) {
        let Some(&own) = of.get(&task.id) else { continue };
        for on in before
            .iter()
            .map(|&on| &plan.tasks[on as usize].id)
            .filter(|on| of.get(on).is_some_and(|other| *other != own))
        {
            waits[own].entry(of[on]).or_insert_with(|| (task.id.clone(), on.clone()));
        }
    }
    let (mut order, mut placed): (Vec<usize>, BTreeSet<usize>) = (Vec::new(), BTreeSet::new());
    while order.len() < stages.len() {
        let free =
            |stage: &usize| !placed.contains(stage) && waits[*stage].keys().all(|on| placed.contains(on));
        let Some(next) = (0..stages.len()).find(free) else {
            return Err(entangled(&stages, &waits, &placed));
        };
        placed.insert(next);
        order.push(next);
    }
    let mut stages: Vec<Option<Stage>> = stages.into_iter().map(Some).collect();
    Ok(order.into_iter().filter_map(|number| stages[number].take()).collect())
}

/// Some wait that is part of a circle: every stage that is left waits for another that is left.
fn entangled(
    stages: &[Stage],
    waits: &[BTreeMap<usize, (TaskId, TaskId)>],
    placed: &BTreeSet<usize>,
) -> ArrangeError {
    let left = |stage: usize| waits[stage].iter().find(|(on, _)| !placed.contains(on));
    let mut at = (0..stages.len()).find(|stage| !placed.contains(stage)).unwrap_or_default();
    let mut seen = BTreeSet::new();
    while seen.insert(at) {
        at = left(at).map_or(at, |(on, _)| *on);
    }
    let (on, (task, waited)) = left(at).map_or_else(
        || (at, (stages[at].tasks[0].clone(), stages[at].tasks[0].clone())),
        |(on, names)| (*on, names.clone()),
    );
    let (group, other) = (stages[at].group.clone(), stages[on].group.clone());
    ArrangeError::Entangled { task, group, on: waited, other }
}

/// A name that no task has, not even in another case: steps have folders too.
fn free_id(group: &str, step: &str, taken: &mut HashSet<String>) -> TaskId {
    for number in 1.. {
        let end = if number == 1 { format!(".{step}") } else { format!(".{step}-{number}") };
        let start = &group[..group.floor_char_boundary(MAX_TASK_ID - end.len())];
        let name = format!("{start}{end}");
        if let Ok(id) = TaskId::parse(&name)
            && taken.insert(name.to_lowercase())
        {
            return id;
        }
    }
    unreachable!("there are more numbers than tasks")
}

fn refresh_task(id: TaskId, group: &str, refresh: &Refresh, agent: Option<String>) -> Task {
    Task {
        name: format!("Context for group {group}"),
        changes: Changes::Discarded,
        retry: RetryPolicy::once(),
        fix_rounds: 0,
        timeout: Some(refresh.timeout),
        agent: agent.filter(|_| matches!(refresh.work, Work::Prompt(_))),
        ..Task::new(id, refresh.work.clone())
    }
}

/// The tests are its checks; there is nothing else to be done in it.
fn tests_task(id: TaskId, group: &str, tests: &[String]) -> Task {
    Task {
        name: format!("Tests after group {group}"),
        changes: Changes::Discarded,
        verify: tests.to_vec(),
        ..Task::new(id, Work::Run(Command::Line(":".to_owned())))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::sketch::{id, plan};

    fn arranged(text: &str) -> String {
        let plan = match arrange(plan(text), &Steps::default(), Circumstances::default()) {
            Ok(plan) => plan,
            Err(error) => return error.to_string(),
        };
        let stage = |stage: &Stage| {
            let tasks: Vec<&str> = stage.tasks.iter().map(TaskId::as_str).collect();
            format!("{}: {}", stage.group, tasks.join(" "))
        };
        plan.execution.unwrap().stages.iter().map(stage).collect::<Vec<_>>().join(" | ")
    }

    #[test]
    fn groups_come_in_their_order_and_those_in_none_in_their_place() {
        for (tasks, stages) in [
            ("a@x; b@x; c@y", "x: a b | y: c"),
            ("a@x; b@y; c@x", "x: a c | y: b"),
            ("a@x; s; t; b@y; u", "x: a | _sequential: s t | y: b | _sequential: u"),
            ("s; a@x", "_sequential: s | x: a"),
            // A group is behind what it waits for.
            ("a@x <- b; b@y; c@z", "y: b | x: a | z: c"),
            ("a@x <- s; s", "_sequential: s | x: a"),
        ] {
            assert_eq!(arranged(tasks), stages, "{tasks}");
        }
        let knot = arranged("a@x <- b; b@y <- c; c@x");
        assert!(knot.contains("waits for") && knot.contains("groups cannot follow each other"), "{knot}");
    }

    #[test]
    fn steps_get_names_that_no_task_has() {
        let long = "g".repeat(50);
        let steps = Steps { tests: vec!["auto".into()], ..Steps::default() };
        let plan = plan(&format!("a@x; x.tests@x; b@{long}; c"));
        let plan = arrange(plan, &steps, Circumstances::default()).unwrap();
        let names: Vec<&str> = plan.tasks[4..].iter().map(|task| task.id.as_str()).collect();
        assert_eq!(names, ["x.tests-2", &format!("{}.tests", "g".repeat(44)), "_sequential.tests"]);
        assert_eq!(plan.groups.last().map(|group| group.max_parallel), Some(Some(1)), "one at a time");
        assert!(plan.tasks[4].group.is_none(), "a step is in no group");
    }

    #[test]
    fn one_group_knows_what_it_waits_for_outside() {
        let plan = plan("a@x; b@y <- a s; s; c@y <- b");
        let chosen = choose(&plan, Some("y")).unwrap();
        let outside: Vec<(&str, Vec<&str>)> = chosen
            .outside
            .iter()
            .map(|(task, on)| (task.as_str(), on.iter().map(String::as_str).collect()))
            .collect();
        assert_eq!(outside, [("b", vec!["a", "s"])]);
        assert_eq!(chosen.plan.tasks.len(), 2);
        let error = choose(&plan, Some("z")).unwrap_err().to_string();
        assert!(error.starts_with("there is no group 'z'"), "{error}");
        assert_eq!(choose(&plan, Some(SEQUENTIAL)).unwrap().plan.tasks.len(), 1);
    }

    #[test]
    fn where_no_task_can_begin_nothing_is_done() {
        let blocked = BTreeMap::from([(id("a"), "by b-1".to_owned())]);
        let steps = Steps {
            refresh: Some(Refresh { work: Work::Prompt("/flow:summary".into()), timeout: Millis(1) }),
            tests: vec!["auto".into()],
        };
        let circumstances = Circumstances { blocked, ..Circumstances::default() };
        let plan = arrange(plan("a@x; c@x <- a; b@y"), &steps, circumstances).unwrap();
        let execution = plan.execution.as_ref().unwrap();
        assert_eq!(
            (&execution.stages[0].refresh, &execution.stages[1].refresh),
            (&None, &Some(id("y.refresh")))
        );
        assert!(execution.blocked.contains_key(&id("x.tests")));
    }
}
