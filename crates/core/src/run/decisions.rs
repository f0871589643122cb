//! What was decided about failures, and what was made safe before risky work.

use serde::Serialize;

use super::{Run, TaskState};
use crate::plan::graph::Node;
use crate::plan::recovery::{Nature, Strategy};
use crate::run::event::Event;
use crate::run::event::RECOVERY;
use crate::values::ids::{Attempt, TaskId};

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Recoveries {
    decisions: Vec<Decided>,
    checkpoints: Vec<Secured>,
}

/// A checkpoint of the run's branch that was made before something that is hard to take back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Secured {
    pub task: TaskId,
    pub commit: String,
    pub name: String,
    pub reason: String,
}

impl Run {
    /// What was decided about failures, in order.
    pub fn decisions(&self) -> &[Decided] {
        &self.recoveries.decisions
    }

    /// What was made safe before risky work, in order.
    pub fn secured(&self) -> &[Secured] {
        &self.recoveries.checkpoints
    }

    /// Whether nothing new starts for the sake of a question, rather than because a person wants it so.
    pub fn is_escalated(&self) -> bool {
        self.paused_for.is_some()
    }

    /// A task whose question nothing new is to start before.
    pub fn escalation(&self) -> Option<&TaskId> {
        let is_open = |decided: &&Decided| {
            let progress = self.place(&decided.task).map(|place| self.progress(place));
            progress.is_some_and(|progress| {
                decided.attempt.0 == progress.last_attempt
                    && matches!(&progress.state, TaskState::Asking { question, .. } if question.tool == RECOVERY)
            })
        };
        let escalated = self.decisions().iter().filter(|decided| decided.strategy == Strategy::Escalate);
        escalated.rev().find(is_open).map(|decided| &decided.task)
    }

    pub(super) fn account_recovery(&mut self, event: &Event) {
        match event {
            Event::RecoveryDecided { task, attempt, nature, strategy, reason } => {
                self.account_fitness(task, *strategy);
                self.recoveries.decisions.push(Decided {
                    task: task.clone(),
                    attempt: *attempt,
                    nature: *nature,
                    strategy: *strategy,
                    reason: reason.clone(),
                });
            }
            Event::CheckpointMade { task, commit, name, reason, .. } => {
                if let Some(place) = self.place(task) {
                    self.repeats.entry(place as Node).or_default().secured = true;
                }
                self.recoveries.checkpoints.push(Secured {
                    task: task.clone(),
                    commit: commit.clone(),
                    name: name.clone(),
                    reason: reason.clone(),
                });
            }
            _ => {}
        }
    }

    /// An agent that is passed over is not chosen again; one that is to try again is, though others could.
    fn account_fitness(&mut self, task: &TaskId, strategy: Strategy) {
        let Some(node) = self.places.get(task).copied() else { return };
        let Some(choice) = self.agent_choice.get(&node) else { return };
        let absent = &self.options.absent;
        let agents = || self.plan.tasks[node as usize].agents();
        match strategy {
            Strategy::Alternative if agents().any(|agent| agent == choice.agent) => {
                let unfit = &mut self.repeats.entry(node).or_default().unfit;
                if !unfit.contains(&choice.agent) {
                    unfit.push(choice.agent.clone());
                }
            }
            Strategy::Model => {
                if let Some(repeats) = self.repeats.get_mut(&node) {
                    repeats.unfit.retain(|agent| *agent != choice.agent);
                }
            }
            Strategy::Retry | Strategy::Rollback | Strategy::Ask | Strategy::Escalate => {
                if let Some(repeats) = self.repeats.get_mut(&node)
                    && agents().any(|agent| {
                        !absent.contains(agent) && !repeats.unfit.iter().any(|known| known == agent)
                    })
                {
                    repeats.unfit.retain(|agent| *agent != choice.agent);
                }
            }
            _ => {}
        }
    }
}

/// A decision that was taken, as reports tell it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Decided {
    pub task: TaskId,
    pub attempt: Attempt,
    pub nature: Nature,
    pub strategy: Strategy,
    pub reason: String,
}

impl Decided {
    /// As `transient: it says "connection reset"; try 2 of 3`.
    pub fn words(&self) -> String {
        recovery_words(self.nature, &self.reason)
    }
}

/// As `transient: it says "connection reset"; try 2 of 3`.
pub fn recovery_words(nature: Nature, reason: &str) -> String {
    format!("{}: {reason}", nature.name())
}
