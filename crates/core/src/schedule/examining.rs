//! What blocks the tasks of a stage is looked up again right before the stage begins: since the run began, others may
//! have closed what its tasks wait for, or opened something new that they do.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use super::{Action, Scheduler};
use crate::plan::graph::Node;
use crate::plan::groups::{block_entrants, stuck};
use crate::plan::{Plan, Stage};
use crate::run::TaskState;
use crate::run::event::Event;
use crate::values::ids::TaskId;
use crate::values::units::Now;

/// Which tasks belong to a stage that is to be examined, and what was asked for already.
#[derive(Default)]
pub(super) struct Examining {
    stage_of: HashMap<Node, u32>,
    /// By this coordinator.
    asked: BTreeSet<u32>,
}

impl Examining {
    pub(super) fn new(plan: &Plan) -> Examining {
        let mut stage_of = HashMap::new();
        let stages = plan.execution.iter().flat_map(|execution| execution.stages.iter().zip(0..));
        for (stage, number) in stages.filter(|(stage, _)| stage.examine) {
            let all: BTreeSet<&TaskId> = stage.tasks.iter().chain(stage.steps()).collect();
            let of_stage =
                |(_, task): &(Node, &crate::plan::Task)| all.contains(task.entrant_of().unwrap_or(&task.id));
            stage_of.extend((0..).zip(&plan.tasks).filter(of_stage).map(|(node, _)| (node, number)));
        }
        Examining { stage_of, asked: BTreeSet::new() }
    }
}

impl Scheduler {
    /// Whether a task has to wait until its stage is examined, which is asked for by that.
    pub(super) fn awaits_examination(&mut self, node: Node) -> bool {
        let Some(&stage) = self.examining.stage_of.get(&node) else { return false };
        let progress = self.run.progress(node as usize);
        if progress.state != TaskState::Pending || progress.begun || self.run.is_examined(stage) {
            return false;
        }
        if self.examining.asked.insert(stage) {
            self.act(Action::Examine { stage });
        }
        true
    }

    fn stage(&self, number: u32) -> Option<Stage> {
        self.run.plan().execution.as_ref()?.stages.get(number as usize).cloned()
    }

    /// `blocked` is nothing where it could not be looked up: then what was known counts.
    pub(super) fn on_examined(&mut self, now: Now, stage: u32, blocked: Option<BTreeMap<TaskId, String>>) {
        let Some(found) = self.stage(stage).filter(|_| !self.run.is_examined(stage)) else { return };
        let plan = self.run.plan().clone();
        let known = || {
            let known = plan.execution.iter().flat_map(|execution| &execution.blocked);
            known.map(|(task, why)| (task.clone(), why.clone())).collect()
        };
        let mut blocked: BTreeMap<TaskId, String> = blocked.unwrap_or_else(known);
        blocked.retain(|task, _| found.tasks.contains(task));
        block_entrants(&plan, &mut blocked);
        if let Ok(stuck) = stuck(&plan, &blocked)
            && found.tasks.iter().all(|task| stuck.contains(task))
        {
            let why = format!("nothing of group {} can be done now", found.group);
            blocked.extend(found.steps().map(|step| (step.clone(), why.clone())));
        }
        self.emit(now, Event::StageExamined { stage, blocked: blocked.clone() });
        for task in blocked.keys() {
            self.skip_if_pending(now, task);
        }
        let mut members: Vec<Node> = self.examining.stage_of.keys().copied().collect();
        members.retain(|node| self.examining.stage_of[node] == stage);
        members.sort_unstable();
        for node in members {
            let is_pending = self.run.progress(node as usize).state == TaskState::Pending;
            if is_pending && self.blockers.is_free(node) && !self.ready.is_waiting(node) {
                self.enqueue(now, node);
            }
        }
    }

    fn skip_if_pending(&mut self, now: Now, task: &TaskId) {
        let Some(place) = self.run.place(task) else { return };
        if self.run.progress(place).state == TaskState::Pending {
            self.forget(place);
            self.end(now, place, Event::TaskSkipped { task: task.clone(), culprit: None });
        }
    }

    /// What is known not to be possible does not begin, however often the run is taken up; what is looked up again is
    /// not known yet.
    pub(super) fn skip_blocked(&mut self, now: Now) {
        let Some(execution) = self.run.plan().execution.clone() else { return };
        for task in execution.blocked.into_keys() {
            let Some(place) = self.run.place(&task) else { continue };
            let is_pending = self.run.progress(place).state == TaskState::Pending;
            if is_pending && !self.examining.stage_of.contains_key(&(place as Node)) {
                self.emit(now, Event::TaskSkipped { task, culprit: None });
            }
        }
    }
}
