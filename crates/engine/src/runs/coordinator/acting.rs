//! What the scheduler decided is done: attempts start and stop, work is merged, stages are looked at. What
//! takes time is done off the loop and reported back to it.

use conductor_core::run::TaskState;
use conductor_core::run::event::{Outcome, StopReason};
use conductor_core::schedule::{Action, Car, Input, LeftBehind};
use conductor_core::values::ids::{Attempt, TaskId};
use tokio::sync::watch;
use tracing::Instrument as _;

use super::{AboutToBegin, Coordinator};
use crate::dispatch::board::Phase;
use crate::host::logs::carried;
use crate::host::panics::caught;
use crate::worker::local::{ended, internal};
use crate::worker::{Order, Stop, train};

impl Coordinator {
    pub(super) fn perform(&mut self, action: Action) {
        match action {
            Action::Start { task, attempt, executor, choice, start_from } => {
                if let Some(place) = self.scheduler.run().place(&task) {
                    let (context, plan) = (self.worker.context.clone(), self.scheduler.run().plan().clone());
                    // Said before this coordinator took the run up, it was told to none.
                    let priority = self.scheduler.run().priority(place);
                    if priority != plan.tasks[place].priority {
                        self.dispatch.prioritize(&task, priority);
                    }
                    self.start(Order { context, plan, place, task, attempt, executor, choice, start_from });
                }
            }
            Action::Reattach { task, attempt } => self.reattach(task, attempt),
            // What was handed in meanwhile is checked to the end.
            Action::Stop { task, attempt, why: StopReason::Preempted }
                if self
                    .worker
                    .link
                    .board
                    .of(&task)
                    .is_some_and(|doing| doing.attempt == attempt && doing.phase == Phase::Verifying) => {}
            Action::Stop { task, attempt, why } => self.stop(&task, attempt, why),
            Action::Reclaim { task, attempt, .. } => self.reclaim(task, attempt),
            Action::Say { task, attempt, words } => self.dispatch.say(&task, attempt, words),
            Action::Integrate { cars } => self.integrate(cars),
            Action::MoveBranch { from, to } => self.move_branch(from, to),
            Action::Examine { stage } => self.examine(stage),
            Action::Finish => self.finished = true,
        }
    }

    /// Goes on with what another coordinator has begun, as that has written it down.
    fn reattach(&mut self, task: TaskId, attempt: Attempt) {
        let run = self.scheduler.run();
        let Some(place) = run.place(&task) else { return };
        let TaskState::Running(running) = &run.progress(place).state else { return };
        let executor = running.executor;
        let (context, plan) = (self.worker.context.clone(), run.plan().clone());
        if let Some(begun) = self.worker.services.reattaching.begun(run, place, attempt) {
            let (choice, start_from) = (begun.choice, begun.start_from);
            self.start(Order { context, plan, place, task, attempt, executor, choice, start_from });
        }
    }

    /// Merges off the loop and reports back; the scheduler asks for one train at a time.
    fn integrate(&mut self, cars: Vec<Car>) {
        let Some(run_repo) = self.run_repo() else { return };
        let (stop, stopped) = watch::channel(Stop::No);
        self.merging = Some(stop);
        let worker = self.worker.clone();
        let aboard: Vec<(TaskId, Attempt)> = cars.iter().map(|car| (car.task.clone(), car.attempt)).collect();
        let merging = async move {
            if let Err(panic) = caught(train::integrate(worker.clone(), run_repo, cars, stopped)).await {
                let left = |(task, attempt)| LeftBehind { task, attempt, failure: internal(&panic) };
                let failed = aboard.into_iter().map(left).collect();
                worker.report(Input::MergesPrepared { from: String::new(), stacked: Vec::new(), failed });
            }
        };
        tokio::spawn(merging.instrument(tracing::info_span!("merge")));
    }

    /// Looks up off the loop what blocks a stage. Where that fails, what was known at the start of the run
    /// counts.
    fn examine(&mut self, stage: u32) {
        let (worker, plan) = (self.worker.clone(), self.scheduler.run().plan().clone());
        let found =
            plan.execution.as_ref().and_then(|execution| execution.stages.get(stage as usize)).cloned();
        let (Some(examiner), Some(found)) = (self.examiner.clone(), found) else {
            return worker.report(Input::StageExamined { stage, blocked: None });
        };
        let done =
            self.scheduler.run().tasks().filter(|(_, progress)| progress.state == TaskState::Completed);
        let completed = done.map(|(task, _)| task.id.clone()).collect();
        let about = AboutToBegin { plan, tasks: found.tasks, completed };
        let examining = async move {
            let looked = tokio::task::spawn_blocking(carried(move || examiner(&about))).await;
            let blocked = match looked {
                Ok(Ok(blocked)) => Some(blocked),
                Ok(Err(why)) => {
                    worker.notice(stale(&found.group, &why));
                    None
                }
                Err(panic) => {
                    worker.notice(stale(&found.group, &format!("internal error: {panic}")));
                    None
                }
            };
            worker.report(Input::StageExamined { stage, blocked });
        };
        tokio::spawn(examining.in_current_span());
    }

    fn move_branch(&mut self, from: String, to: String) {
        let Some(run_repo) = self.run_repo() else { return };
        let (stop, stopped) = watch::channel(Stop::No);
        self.merging = Some(stop);
        let worker = self.worker.clone();
        let landing = async move {
            let moving = train::move_branch(worker.clone(), run_repo, from, to.clone(), stopped);
            if let Err(panic) = caught(moving).await {
                worker.report(Input::BranchStuck { to, failure: internal(&panic) });
            }
        };
        tokio::spawn(landing.instrument(tracing::info_span!("merge")));
    }

    fn start(&mut self, order: Order) {
        if self.called_off.remove(&(order.task.clone(), order.attempt)) {
            return self.worker.report(ended(&order, Outcome::Interrupted));
        }
        if order.choice.is_some() {
            self.start_reaper();
        }
        self.attempts.insert(order.task.clone(), order.attempt);
        if self.conflict_monitor.is_some()
            && self.worker.workspaces.is_apart(&self.scheduler.run().plan().tasks[order.place])
        {
            self.at_work.begins(&order.task, self.worker.request(&order).workspace_name());
        }
        match self.sweeps.reuse(order.executor) {
            None => self.dispatch.start(order),
            Some(sweep) => {
                let dispatch = self.dispatch.clone();
                tokio::spawn(async move {
                    let _ = sweep.await;
                    dispatch.start(order);
                });
            }
        }
    }

    /// One that has not begun, because its start is still to be recorded, never begins.
    pub(super) fn stop(&mut self, task: &TaskId, attempt: Attempt, why: StopReason) {
        let how = match why {
            StopReason::Interrupted | StopReason::Preempted => Stop::Ask,
            _ => Stop::Abandon,
        };
        match self.attempts.get(task) {
            Some(current) if *current == attempt => self.dispatch.stop(task, attempt, how),
            _ => drop(self.called_off.insert((task.clone(), attempt))),
        }
    }
}

fn stale(group: &str, why: &str) -> String {
    format!(
        "what blocks group {group} could not be looked up again, so what was known at the start counts: {why}"
    )
}
