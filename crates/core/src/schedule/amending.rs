//! Tasks that join a run under way, or are updated before they start.
//!
//! The graph is made anew with them; whatever it would take to get it wrong is refused whole.

use std::collections::BTreeSet;

use super::stacks::Stacks;
use super::{Refusal, Scheduler, agent_choice, timeouts};
use crate::plan::graph::{Graph, GraphError, Node};
use crate::plan::{Amendment, Epic, Plan, Task};
use crate::run::event::Event;
use crate::run::{Run, Stage, TaskState};
use crate::values::ids::{Places, TaskId};
use crate::values::units::Now;

/// Why a plan with these tasks could not be carried out, in words for their author.
pub fn objection(plan: &Plan, error: &GraphError) -> String {
    let name = |node: &Node| plan.tasks.get(*node as usize).map_or("…", |task| task.id.as_str()).to_owned();
    match error {
        GraphError::Cycle(nodes) => {
            let tasks = nodes.iter().filter(|node| (**node as usize) < plan.tasks.len());
            let names: Vec<String> = tasks.map(name).collect();
            format!("tasks would wait for each other in a circle: {}", names.join(", "))
        }
        GraphError::UnknownDependency { task, on } => {
            format!("task '{}' depends on '{on}', which does not exist", name(task))
        }
        GraphError::SharedEpics(_) => error.to_string(),
    }
}

impl Scheduler {
    pub(super) fn on_amend(&mut self, now: Now, amendment: Amendment) -> Result<(), Refusal> {
        if amendment.is_empty() {
            return Ok(());
        }
        is_named_twice(&amendment.tasks)?;
        let begun = |task: &&Task| self.run.place(&task.id).is_some_and(|place| self.has_begun(place));
        if let Some(task) = amendment.tasks.iter().find(begun) {
            return Err(Refusal::Begun(task.id.clone()));
        }
        check_epics(&self.run, &amendment)?;
        check_races(&self.run, &amendment)?;
        self.amend_with(now, amendment, |_| {})
    }

    /// `then` is what else is to be known of those who join before any of them can start.
    pub(super) fn amend_with(
        &mut self,
        now: Now,
        mut amendment: Amendment,
        then: impl FnOnce(&mut Scheduler),
    ) -> Result<(), Refusal> {
        if matches!(self.run.stage(), Stage::Finished(_)) || self.done {
            return Err(Refusal::Over);
        }
        let mut plan = self.run.plan().as_ref().clone();
        plan.amend(&amendment);
        let graph = Graph::with_places(&plan, self.run.options().strategy, &places(&plan))
            .map_err(|error| Refusal::NotPossible(objection(&plan, &error)))?;
        let is_new = |task: &Task| self.run.place(&task.id).is_none();
        amendment.tasks.sort_by_key(is_new);
        let joined = amendment.tasks.iter().filter(|task| is_new(task)).count() as u32;
        self.emit(now, Event::PlanAmended { amendment: Box::new(amendment), joined });
        self.graph = graph;
        self.epics.grow(self.run.plan());
        self.stacks = Stacks::new(&self.run);
        self.shared = agent_choice::shared(self.run.plan());
        self.timeouts = timeouts(self.run.plan());
        then(self);
        self.rebuild(now);
        Ok(())
    }

    /// Whether it is too late to put a task another way.
    fn has_begun(&self, place: usize) -> bool {
        let progress = self.run.progress(place);
        progress.begun || progress.state != TaskState::Pending
    }
}

/// Tasks aboard of an epic could not go on if it landed otherwise from now on.
fn check_epics(run: &Run, amendment: &Amendment) -> Result<(), Refusal> {
    let known = |epic: &Epic| run.plan().epics.iter().find(|known| known.id == epic.id);
    let moved = |epic: &&Epic| known(epic).is_some_and(|known| known.isolation_scope != epic.isolation_scope);
    match amendment.epics.iter().find(moved) {
        Some(epic) => {
            let why = format!("epic '{}' keeps its isolation_scope as long as the run goes on", epic.id);
            Err(Refusal::NotPossible(why))
        }
        None => Ok(()),
    }
}

/// No task leaves a race, and none joins one.
fn check_races(run: &Run, amendment: &Amendment) -> Result<(), Refusal> {
    let entrants = |task: &Task| task.race().map(|race| race.entrants.clone());
    let found = |id: &TaskId| {
        let known = || run.place(id).map(|place| &run.plan().tasks[place]);
        amendment.tasks.iter().find(|task| task.id == *id).or_else(known)
    };
    let is_of = |entrant: &TaskId, race: &Task| {
        found(entrant).is_some_and(|entrant| entrant.entrant_of() == Some(&race.id))
            && race.race().is_some_and(|race| race.entrants.contains(entrant))
    };
    let is_whole = |task: &Task| match (task.race(), task.entrant_of()) {
        (Some(race), _) => race.entrants.iter().all(|entrant| is_of(entrant, task)),
        (None, Some(race)) => found(race).is_some_and(|race| is_of(&task.id, race)),
        (None, None) => true,
    };
    let other = |task: &Task| {
        let known = run.place(&task.id).map(|place| &run.plan().tasks[place]);
        known
            .is_some_and(|known| entrants(known) != entrants(task) || known.entrant_of() != task.entrant_of())
    };
    match amendment.tasks.iter().find(|task| other(task) || !is_whole(task)) {
        Some(task) => {
            let why = format!("who races for task '{}' stays as it is as long as the run goes on", task.id);
            Err(Refusal::NotPossible(why))
        }
        None => Ok(()),
    }
}

pub(super) fn is_named_twice(tasks: &[Task]) -> Result<(), Refusal> {
    let mut named = BTreeSet::new();
    match tasks.iter().find(|task| !named.insert(&task.id)) {
        Some(task) => Err(Refusal::NotPossible(format!("task '{}' is there twice", task.id))),
        None => Ok(()),
    }
}

fn places(plan: &Plan) -> Places<Node> {
    plan.tasks.iter().enumerate().map(|(place, task)| (task.id.clone(), place as Node)).collect()
}
