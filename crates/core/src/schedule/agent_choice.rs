//! Who does a task now: the first of its agents that is there, whose provider takes something from us, and that has
//! not shown already that it cannot.

use super::Scheduler;
use crate::plan::graph::Node;
use crate::plan::models;
use crate::plan::{Plan, Work};
use crate::run::event::{AgentChoice, FailureClass};
use crate::run::{Run, TaskState};
use crate::values::ids::TaskId;
use crate::values::units::{Now, Timestamp};

/// The tasks with fallback agents, of which there are few.
pub(super) fn shared(plan: &Plan) -> Vec<Node> {
    let shared = plan.tasks.iter().enumerate().filter(|(_, task)| !task.fallback_agents.is_empty());
    shared.map(|(place, _)| place as Node).collect()
}

/// What a choice of model for a task's next attempt depends on.
pub fn circumstances(run: &Run, place: usize) -> models::Circumstances<'_> {
    let options = run.options();
    let cap = options.limits.max_cost.map_or(0, |cap| cap.0);
    models::Circumstances {
        samples: &options.samples,
        spent: if cap == 0 { 0.0 } else { run.spent().cost.0 as f64 / cap as f64 },
        bad_tries: run.repeats(place).map_or(0, |repeats| repeats.bad_tries),
    }
}

/// What a prompt builds on that is done, or lies in its epic's own workspace, with the commits that hold it.
pub fn before(run: &Run, place: usize) -> Vec<(TaskId, Option<String>)> {
    let task = &run.plan().tasks[place];
    if matches!(task.work, Work::Run(_)) {
        return Vec::new();
    }
    let done = task.dependencies.iter().filter_map(|on| {
        let progress = run.progress(run.place(&on.id)?);
        let ended = matches!(&progress.state, TaskState::Running(running) if running.ended);
        let unlanded = run.repeats(place).and_then(|repeats| repeats.stack.get(&on.id));
        let landed = progress.landed.as_ref().map(|landed| &landed.commit);
        let is_done = progress.state == TaskState::Completed || ended || unlanded.is_some();
        is_done.then(|| (on.id.clone(), unlanded.or(landed).cloned()))
    });
    done.collect()
}

impl Scheduler {
    /// The agent and model for the next attempt; nothing for a command.
    pub(super) fn agent_choice(&self, place: usize) -> Option<Box<AgentChoice>> {
        let task = &self.run.plan().tasks[place];
        if matches!(task.work, Work::Run(_)) {
            return None;
        }
        let agent = self.ready.agent_of(place as Node).unwrap_or_else(|| task.agent_name()).to_owned();
        if let Some((model, why)) = self.next_model(place, &agent) {
            return Some(Box::new(AgentChoice { agent, model: Some(model), why }));
        }
        let chosen = models::choose(self.run.plan(), task, &agent, &circumstances(&self.run, place));
        Some(Box::new(AgentChoice { agent, model: chosen.model, why: chosen.why }))
    }

    /// Ready to start, with the agent that is to do it. A task that others race for is never started itself.
    pub(super) fn enqueue(&mut self, now: Now, node: Node) {
        if !self.awaits_examination(node) && !self.run.is_raced(node as usize) {
            self.assign(now, node);
            self.ready.insert(node);
        }
    }

    /// Chooses the agents of waiting tasks anew, where they have fallback agents.
    pub(super) fn assign_waiting(&mut self, now: Now) {
        for at in 0..self.shared.len() {
            let node = self.shared[at];
            if self.ready.is_waiting(node) {
                self.ready.remove(node);
                self.enqueue(now, node);
            }
        }
    }

    fn assign(&mut self, now: Now, node: Node) {
        if self.shared.binary_search(&node).is_ok() {
            let agent = self.chosen(now, node as usize).to_owned();
            let task = &self.run.plan().tasks[node as usize];
            self.ready.assign(node, task, &agent);
        }
    }

    /// Keeps the agent that is at work on it already.
    pub(super) fn assign_running(&mut self, node: Node) {
        let place = node as usize;
        if let Some(choice) =
            self.run.agent_choice(place).filter(|_| self.shared.binary_search(&node).is_ok())
        {
            self.ready.assign(node, &self.run.plan().tasks[place], &choice.agent);
        }
    }

    fn chosen(&self, now: Now, place: usize) -> &str {
        let task = &self.run.plan().tasks[place];
        let absent = &self.run.options().absent;
        let opens = |agent: &str| self.run.parked().get(agent).copied().filter(|until| *until > now.at);
        let fit = || {
            let unfit = self.run.repeats(place).map_or(&[][..], |repeats| &repeats.unfit);
            task.agents()
                .filter(|agent| !absent.contains(*agent) && !unfit.iter().any(|known| known == agent))
        };
        let soonest = |agent: &&str| opens(agent).unwrap_or(Timestamp(i64::MIN));
        fit()
            .min_by_key(soonest)
            .or_else(|| task.agents().find(|agent| !absent.contains(*agent)))
            .unwrap_or_else(|| task.agent_name())
    }

    /// The model it goes on with after others could not, with the agent whose models these are.
    fn next_model(&self, place: usize, agent: &str) -> Option<(String, String)> {
        let task = &self.run.plan().tasks[place];
        let passed = self.run.repeats(place).map_or(0, |repeats| repeats.models) as usize;
        let model = task.fallback_models().get(passed.checked_sub(1)?)?;
        (agent == task.agent_name()).then(|| (model.clone(), "the model before it could not".to_owned()))
    }

    /// Whether its agent has a model left that could do what the one before could not.
    pub(super) fn has_another_model(&self, place: usize, class: FailureClass) -> bool {
        let task = &self.run.plan().tasks[place];
        let passed = self.run.repeats(place).map_or(0, |repeats| repeats.models) as usize;
        let own = self.run.agent_choice(place).is_some_and(|choice| choice.agent == task.agent_name());
        own && !class.is_of_every_model() && passed < task.fallback_models().len()
    }

    /// Whether another of its agents is installed and not known to be unfit for it.
    pub(super) fn has_another(&self, place: usize) -> bool {
        let unfit = self.run.repeats(place).map_or(&[][..], |repeats| &repeats.unfit);
        let absent = &self.run.options().absent;
        let Some(choice) = self.run.agent_choice(place) else { return false };
        let can = |agent: &str| !absent.contains(agent) && !unfit.iter().any(|known| known == agent);
        self.run.plan().tasks[place].agents().any(|agent| agent != choice.agent && can(agent))
    }
}
