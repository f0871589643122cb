//! Attempts that this process carries out.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use conductor_core::plan::Plan;
use conductor_core::run::event::{Failure, FailureClass, Outcome};
use conductor_core::schedule::Input;
use conductor_core::values::ids::{Attempt, TaskId};
use tokio::sync::watch;
use tracing::Instrument as _;

use super::Worker;
use super::log_lines::attempt_span;
use crate::dispatch::{Dispatch, Order, Stop};
use crate::host::panics::caught;

#[derive(Clone)]
pub(crate) struct Local {
    worker: Arc<Worker>,
    attempts: Arc<Mutex<Attempts>>,
}

#[derive(Default)]
struct Attempts {
    at_work: HashMap<TaskId, (Attempt, watch::Sender<Stop>)>,
    /// Stopped before they were started.
    called_off: HashMap<(TaskId, Attempt), Stop>,
}

impl Local {
    pub(crate) fn new(worker: Arc<Worker>) -> Local {
        Local { worker, attempts: Arc::default() }
    }

    /// What is under way.
    pub(crate) fn at_work(&self) -> Vec<(TaskId, Attempt)> {
        self.attempts().at_work.iter().map(|(task, (attempt, _))| (task.clone(), *attempt)).collect()
    }

    fn attempts(&self) -> MutexGuard<'_, Attempts> {
        self.attempts.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// It is not at work any more before its end is reported: the next attempt may begin right then.
    fn note_end(&self, order: &Order) {
        let mut attempts = self.attempts();
        if attempts.at_work.get(&order.task).is_some_and(|(current, _)| *current == order.attempt) {
            attempts.at_work.remove(&order.task);
            drop(self.worker.message_queue.take(&order.task));
        }
    }
}

impl Dispatch for Local {
    fn start(&self, order: Order) {
        let mut attempts = self.attempts();
        attempts.called_off.retain(|(task, attempt), _| *task != order.task || *attempt >= order.attempt);
        let wish = attempts.called_off.remove(&(order.task.clone(), order.attempt)).unwrap_or(Stop::No);
        if wish != Stop::No {
            return self.worker.report(ended(&order, Outcome::Interrupted));
        }
        let (stop, stopped) = watch::channel(wish);
        attempts.at_work.insert(order.task.clone(), (order.attempt, stop));
        drop(attempts);
        let (local, worker, span) = (self.clone(), self.worker.clone(), attempt_span(&order));
        let working = async move {
            let input = match caught(worker.work(&order, stopped)).await {
                Ok(input) => input,
                Err(panic) => {
                    worker.sweep(&order).await;
                    ended(&order, Outcome::Failed(internal(&panic)))
                }
            };
            local.note_end(&order);
            worker.report(input);
        };
        tokio::spawn(working.instrument(span));
    }

    fn stop(&self, task: &TaskId, attempt: Attempt, how: Stop) {
        let mut attempts = self.attempts();
        match attempts.at_work.get(task) {
            Some((current, stop)) if *current == attempt => {
                stop.send_if_modified(|wish| std::mem::replace(wish, how.max(*wish)) < how);
            }
            Some((current, _)) if *current > attempt => {}
            _ => drop(attempts.called_off.insert((task.clone(), attempt), how)),
        }
    }

    fn say(&self, task: &TaskId, attempt: Attempt, words: String) {
        if self.attempts().at_work.get(task).is_some_and(|(current, _)| *current == attempt) {
            self.worker.message_queue.put(task, words);
        }
    }

    fn forget(&self, task: &TaskId, attempt: Attempt) {
        self.stop(task, attempt, Stop::Kill);
    }

    fn amend(&self, plan: &Arc<Plan>) {
        self.worker.plan.set(plan.clone());
    }
}

pub(crate) fn ended(order: &Order, outcome: Outcome) -> Input {
    let (task, attempt) = (order.task.clone(), order.attempt);
    Input::AttemptEnded { task, attempt, outcome, change: None, phases: None }
}

/// Not the work's fault.
pub(crate) fn internal(panic: &str) -> Failure {
    tracing::error!(panic, "a mistake in this program");
    Failure::new(FailureClass::Internal, format!("internal error: {panic}"))
}
