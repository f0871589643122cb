//! Attempts carried out where they can be: on other machines if their work is apart from the user's directory, here if it is
//! in it.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use conductor_core::plan::{Isolation, Plan, Priority};
use conductor_core::values::ids::{Attempt, TaskId};

use super::{Dispatch, Order, Stop, WorkerView};

pub(crate) struct Sites {
    elsewhere: Arc<dyn Dispatch>,
    here: Arc<dyn Dispatch>,
    /// The newest attempt of each task that was started, and whether that was here.
    started: Mutex<HashMap<TaskId, (Attempt, bool)>>,
}

impl Sites {
    pub(crate) fn new(elsewhere: Arc<dyn Dispatch>, here: Arc<dyn Dispatch>) -> Sites {
        Sites { elsewhere, here, started: Mutex::default() }
    }

    fn started(&self) -> MutexGuard<'_, HashMap<TaskId, (Attempt, bool)>> {
        self.started.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn at(&self, is_here: bool) -> &Arc<dyn Dispatch> {
        if is_here { &self.here } else { &self.elsewhere }
    }

    /// Where an attempt is. One that was not started yet may come to be at either.
    fn of(&self, task: &TaskId, attempt: Attempt) -> Vec<&Arc<dyn Dispatch>> {
        match self.started().get(task) {
            Some((started, is_here)) if *started >= attempt => vec![self.at(*is_here)],
            _ => vec![&self.here, &self.elsewhere],
        }
    }
}

impl Dispatch for Sites {
    fn start(&self, order: Order) {
        let isolation = order.plan.tasks[order.place].isolation_or(order.context.isolation);
        let is_apart = order.context.in_repository && isolation != Isolation::None;
        self.started().insert(order.task.clone(), (order.attempt, !is_apart));
        self.at(!is_apart).start(order);
    }

    /// Both know of one that has not begun: the one that it is given to then does not begin it.
    fn stop(&self, task: &TaskId, attempt: Attempt, how: Stop) {
        self.of(task, attempt).into_iter().for_each(|site| site.stop(task, attempt, how));
    }

    fn say(&self, task: &TaskId, attempt: Attempt, words: String) {
        self.of(task, attempt).into_iter().for_each(|site| site.say(task, attempt, words.clone()));
    }

    fn forget(&self, task: &TaskId, attempt: Attempt) {
        self.of(task, attempt).into_iter().for_each(|site| site.forget(task, attempt));
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
