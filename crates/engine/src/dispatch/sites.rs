//! Attempts carried out where they can be: on other machines if their work is apart from the user's directory, here if it is
//! in it.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use conductor_core::plan::{Isolation, Plan, Priority};
use conductor_core::values::ids::{Attempt, TaskId};

use super::{Dispatch, Order, Stop, WorkerView};

pub(crate) struct Sites {
    elsewhere: Arc<dyn Dispatch>,
    here: Arc<dyn Dispatch>,
    started_here: Mutex<HashSet<TaskId>>,
}

impl Sites {
    pub(crate) fn new(elsewhere: Arc<dyn Dispatch>, here: Arc<dyn Dispatch>) -> Sites {
        Sites { elsewhere, here, started_here: Mutex::default() }
    }

    fn started_here(&self) -> MutexGuard<'_, HashSet<TaskId>> {
        self.started_here.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Where a task's attempts are. Its place does not change while it has one.
    fn of(&self, task: &TaskId) -> &Arc<dyn Dispatch> {
        match self.started_here().contains(task) {
            true => &self.here,
            false => &self.elsewhere,
        }
    }
}

impl Dispatch for Sites {
    fn start(&self, order: Order) {
        let isolation = order.plan.tasks[order.place].isolation_or(order.context.isolation);
        let is_apart = order.context.in_repository && isolation != Isolation::None;
        match is_apart {
            true => drop(self.started_here().remove(&order.task)),
            false => drop(self.started_here().insert(order.task.clone())),
        }
        self.of(&order.task.clone()).start(order);
    }

    fn stop(&self, task: &TaskId, attempt: Attempt, how: Stop) {
        self.of(task).stop(task, attempt, how);
    }

    fn say(&self, task: &TaskId, attempt: Attempt, words: String) {
        self.of(task).say(task, attempt, words);
    }

    fn forget(&self, task: &TaskId, attempt: Attempt) {
        self.of(task).forget(task, attempt);
    }

    fn amend(&self, plan: &Arc<Plan>) {
        self.elsewhere.amend(plan);
        self.here.amend(plan);
    }

    fn prioritize(&self, task: &TaskId, priority: Priority) {
        self.elsewhere.prioritize(task, priority);
    }

    fn workers(&self) -> Vec<WorkerView> {
        self.elsewhere.workers()
    }
}
