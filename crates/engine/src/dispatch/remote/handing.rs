//! Who gets which order: it is ordered, offered, granted; what is not offered in time goes to another.

use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use conductor_core::plan::{Command, Notifications, Plan, Preparation, Task, Work};
use conductor_core::schedule::{Input, StartFrom};
use conductor_core::values::ids::{Attempt, TaskId, WorkerId};
use tokio::sync::mpsc;
use tracing::Instrument as _;

use super::speech::Speech;
use super::{Held, Needs, Remote, State};
use crate::dispatch::Order;
use crate::dispatch::wire::ToWorker;
use crate::git::handover::{Code, Handover};
use crate::host::logs::carried;
use crate::host::redact;

/// How long a worker may take to offer what it was ordered to do.
pub(crate) const OFFER: Duration = Duration::from_secs(10);

/// How often it is looked whether one has taken too long.
const LOOK: Duration = Duration::from_secs(1);

/// How long it takes until the remote of the code is tried again.
const PATIENCE: Duration = Duration::from_secs(2);

/// An order that a worker has, which it may not start yet.
pub(super) struct Offered {
    pub(super) order: Order,
    /// By which number it was sent, and when; before that its code is made ready.
    sent: Option<(u64, Instant)>,
}

impl Offered {
    fn number(&self) -> Option<u64> {
        self.sent.map(|(number, _)| number)
    }

    /// The worker knows of it only where it was sent.
    fn withdraw(&self, out: &mpsc::UnboundedSender<ToWorker>) {
        if let Some(number) = self.number() {
            let (task, attempt) = (self.order.task.clone(), self.order.attempt);
            let _ = out.send(ToWorker::Withdrawn { task, attempt, number });
        }
    }
}

/// Until the run is over, what no worker answers is given to another.
pub(super) fn watch_over(remote: &Arc<Remote>) {
    let watched = Arc::downgrade(remote);
    tokio::spawn(async move {
        loop {
            tokio::time::sleep(LOOK).await;
            let Some(remote) = watched.upgrade() else { return };
            remote.take_back_unanswered(Instant::now());
        }
    });
}

impl Needs {
    fn of(order: &Order) -> Needs {
        let takes_follow_ups = order.context.limits.follow_ups > 0;
        let task = order.chosen_task();
        Needs { agent: task.agent_name().to_owned(), has_tools: takes_follow_ups || task.report }
    }
}

impl State {
    /// What has not been granted yet belongs to no worker any more. Whether it was found.
    pub(super) fn take_back(&mut self, task: &TaskId, attempt: Attempt) -> bool {
        let mut found = self.waiting.remove(task, attempt);
        for held in self.workers.values_mut() {
            if held.offered.get(task).is_some_and(|offered| offered.order.attempt == attempt)
                && let Some(offered) = held.offered.remove(task)
            {
                offered.withdraw(&held.out);
                found = true;
            }
        }
        found
    }
}

impl Held {
    fn may_have(&self, labels: &[String]) -> bool {
        let count = self.attempts.len() + self.offered.len();
        let has_room = self.abilities.slots.is_none_or(|slots| count < slots as usize);
        let is_there = !self.is_silent && !self.is_full && !self.abilities.is_drained;
        is_there && has_room && self.has_labels(labels)
    }

    /// Whether it is one that these ask for, if it had room.
    fn has_labels(&self, labels: &[String]) -> bool {
        labels.iter().all(|label| self.abilities.labels.contains(label))
    }
}

impl Remote {
    /// The most urgent first, for as long as any worker has room for what is left.
    pub(super) fn hand_out_waiting(&self, state: &mut State) {
        loop {
            let workers = &state.workers;
            let has_room = |labels: &[String]| workers.values().any(|held| held.may_have(labels));
            let Some(order) = state.waiting.take(has_room) else { break };
            self.hand_out(state, order);
        }
        self.tell_of_labels(state);
    }

    /// To the one where its conversation is; else to the one that has the fewest.
    fn hand_out(&self, state: &mut State, order: Order) {
        let before = state.conversations.get(&order.task);
        let labels = &order.plan.tasks[order.place].requires;
        let fitting = state.workers.iter().filter(|(_, held)| held.may_have(labels));
        let idlest = fitting
            .min_by_key(|(name, held)| (before != Some(*name), held.attempts.len() + held.offered.len()));
        let Some((worker, _)) = idlest else { return state.waiting.put_first(order) };
        let (worker, task) = (worker.clone(), order.task.clone());
        let order = match before {
            Some(before) if *before == worker => order,
            _ => self.without_conversation(order),
        };
        state.conversations.insert(task.clone(), worker.clone());
        let Some(held) = state.workers.get_mut(&worker) else { return };
        let key = (task.clone(), order.attempt);
        held.offered.insert(task, Offered { order, sent: None });
        match &self.handover {
            None => self.order(state, &worker, &key, None),
            Some(handover) => self.make_ready(handover.clone(), worker, key),
        }
    }

    /// The user is told of labels that no worker has.
    fn tell_of_labels(&self, state: &mut State) {
        for (labels, task) in state.waiting.firsts() {
            let could = state.workers.values().any(|held| held.has_labels(labels));
            if !could && !state.workers.is_empty() && state.told.insert(labels.to_vec()) {
                let labels = labels.join(", ");
                self.link.notice(format!("{task} waits for a worker with the labels {labels}"));
            }
        }
    }

    /// The conversation is on another machine, where this worker's agent cannot go on with it.
    fn without_conversation(&self, order: Order) -> Order {
        let begun = order.start_from.as_deref().is_some_and(|from| from.session.is_some());
        if !begun || self.handover.is_none() {
            return order;
        }
        let start_from = order.start_from.map(|from| Box::new(StartFrom { session: None, ..*from }));
        Order { start_from, ..order }
    }

    /// Its code is put where the worker finds it; then it is ordered.
    fn make_ready(&self, handover: Arc<Handover>, worker: WorkerId, key: (TaskId, Attempt)) {
        let remote = self.me.clone();
        let making = async move {
            let mut is_told = false;
            loop {
                let Some(order) = remote.upgrade().and_then(|remote| remote.still_offered(&worker, &key))
                else {
                    return;
                };
                let (handover, wanted) = (handover.clone(), order.start_from);
                let publishing = carried(move || handover.publish(wanted.as_deref()));
                let published = tokio::task::spawn_blocking(publishing).await;
                let why = match published {
                    Ok(Ok(code)) => return order_at(&remote, &worker, &key, code),
                    Ok(Err(error)) => error.to_string(),
                    Err(panic) => panic.to_string(),
                };
                if !std::mem::replace(&mut is_told, true)
                    && let Some(remote) = remote.upgrade()
                {
                    let task = &key.0;
                    remote.link.notice(format!("{task} waits: its code cannot be handed over: {why}"));
                }
                tokio::time::sleep(PATIENCE).await;
            }
        };
        tokio::spawn(making.in_current_span());
    }

    /// What was put where workers find it, and is not there any more.
    pub(super) fn make_ready_again(&self, task: TaskId, commits: Vec<String>) {
        let Some(handover) = self.handover.clone() else { return };
        let making = carried(move || {
            if let Err(error) = handover.publish_again(&commits) {
                tracing::warn!(%task, %error, "what was lost on the remote could not be put there again");
            }
        });
        tokio::task::spawn_blocking(making);
    }

    fn still_offered(&self, worker: &WorkerId, (task, attempt): &(TaskId, Attempt)) -> Option<Order> {
        let state = self.state();
        let offered = state.workers.get(worker)?.offered.get(task)?;
        (offered.order.attempt == *attempt).then(|| offered.order.clone())
    }

    fn order(&self, state: &mut State, worker: &WorkerId, key: &(TaskId, Attempt), code: Option<Code>) {
        let number = state.ordered + 1;
        let Some(held) = state.workers.get_mut(worker) else { return };
        let Some(offered) = held.offered.get_mut(&key.0) else { return };
        if offered.order.attempt == key.1 {
            state.ordered = number;
            offered.sent = Some((number, Instant::now()));
            let mut order = Box::new(offered.order.excerpt());
            if self.handover.is_some() {
                order.plan = Arc::new(without_secrets(&order.plan));
            }
            let _ = held.out.send(ToWorker::Start { number, order, code });
        }
    }

    /// The lease begins. What was taken back meanwhile is not granted, also where the same worker was given it again since: by
    /// the number of that order it offers once more, and holds no other offer by then.
    pub(super) fn grant(
        &self,
        state: &mut State,
        worker: &WorkerId,
        (task, attempt): (TaskId, Attempt),
        number: u64,
        offer: u64,
    ) {
        let Some(held) = state.workers.get_mut(worker) else { return };
        let is_its = held
            .offered
            .get(&task)
            .is_some_and(|offered| offered.order.attempt == attempt && offered.number() == Some(number));
        if !is_its {
            let _ = held.out.send(ToWorker::Withdrawn { task, attempt, number });
            return;
        }
        let Some(offered) = held.offered.remove(&task) else { return };
        held.attempts.insert(task.clone(), attempt);
        held.needs.insert((task.clone(), attempt), Needs::of(&offered.order));
        if self.handover.is_some() {
            let executor = offered.order.executor;
            self.link.marks.begin(executor);
            held.speeches.insert((task.clone(), attempt), Speech::of(executor));
        }
        let _ = held.out.send(ToWorker::Grant { task: task.clone(), attempt, offer });
        self.link.report(Input::LeaseRenewed { task, attempt, worker: worker.clone() });
    }

    pub(super) fn declined(&self, state: &mut State, worker: &WorkerId, task: &TaskId, number: u64) {
        let Some(held) = state.workers.get_mut(worker) else { return };
        if held.offered.get(task).is_some_and(|offered| offered.number() == Some(number)) {
            held.is_full = true;
            if let Some(offered) = held.offered.remove(task) {
                state.waiting.put_first(offered.order);
                self.hand_out_waiting(state);
            }
        }
    }

    pub(crate) fn take_back_unanswered(&self, now: Instant) {
        let mut state = self.state();
        let mut taken = Vec::new();
        for held in state.workers.values_mut() {
            let is_late = |offered: &Offered| offered.sent.is_some_and(|(_, at)| now >= at + OFFER);
            let late: Vec<TaskId> = held
                .offered
                .iter()
                .filter(|(_, offered)| is_late(offered))
                .map(|(task, _)| task.clone())
                .collect();
            for task in late {
                let Some(offered) = held.offered.remove(&task) else { continue };
                held.is_silent = true;
                offered.withdraw(&held.out);
                taken.push(offered.order);
            }
        }
        if !taken.is_empty() {
            taken.into_iter().for_each(|order| state.waiting.put_first(order));
            self.hand_out_waiting(&mut state);
        }
    }
}

/// Secrets are named, and the worker's own of that name count: an order may be read by all who can read the queue.
fn without_secrets(plan: &Plan) -> Plan {
    let mut plan = plan.clone();
    for task in &mut plan.tasks {
        let is_secret = |name: &String| redact::is_secret_name(name);
        let secret: Vec<String> = task.env.keys().filter(|name| is_secret(name)).cloned().collect();
        for name in secret {
            task.env.remove(&name);
            task.env_pass.push(name);
        }
    }
    // Sent from the coordinator's machine, and where to may be a secret.
    plan.notifications = Notifications::default();
    plan
}

/// The plan as all workers on other machines get it. Of its tasks it has what one has to know of the others: their names, and
/// which files stay in folders that are used again. All else is in the order of each.
pub(super) fn outline(plan: &Plan) -> Plan {
    let known = |task: &Task| {
        let named = Task::new(task.id.clone(), Work::Run(Command::Line(String::new())));
        let keep = task.keep().to_vec();
        let preparation =
            (!keep.is_empty()).then(|| Box::new(Preparation { keep, ..Preparation::default() }));
        Task { preparation, ..named }
    };
    let tasks = plan.tasks.iter().map(known).collect();
    Plan { tasks, notifications: Notifications::default(), ..plan.without_tasks() }
}

fn order_at(remote: &Weak<Remote>, worker: &WorkerId, key: &(TaskId, Attempt), code: Code) {
    if let Some(remote) = remote.upgrade() {
        remote.order(&mut remote.state(), worker, key, Some(code));
    }
}
