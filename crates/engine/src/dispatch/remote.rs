//! Attempts that workers in other processes carry out.
//!
//! An order goes to the worker that has the fewest of those that may have it. Where there is none it waits, behind those that are
//! more urgent, however long they have waited; no more is with a worker than it has room for. It starts when
//! the worker has offered to carry it out and that was granted. From then on the attempt is leased, and each sign of life
//! renews that. A worker may report of what it was granted and of nothing else.

mod handing;
mod reporting;
mod speech;
#[cfg(test)]
mod tests;
mod waiting;

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::io;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use conductor_core::plan::{Plan, Priority};
use conductor_core::run::event::Outcome;
use conductor_core::schedule::Input;
use conductor_core::values::ids::{Attempt, TaskId, WorkerId};
use tokio::io::{AsyncRead, AsyncWrite, BufReader};
use tokio::sync::mpsc;

use super::board::Doing;
use super::wire::{self, FromWorker, ToWorker};
use super::{Dispatch, Link, Order, Stop, WorkerView};
use crate::git::handover::Handover;
use handing::{Offered, outline};
use speech::Speech;
use waiting::Waiting;

pub struct Remote {
    me: Weak<Remote>,
    link: Link,
    /// How code gets to workers and back that do not work in this repository.
    handover: Option<Arc<Handover>>,
    /// Where the words of their attempts go.
    output: PathBuf,
    state: Mutex<State>,
}

struct State {
    workers: BTreeMap<WorkerId, Held>,
    /// Orders for which there is no worker.
    waiting: Waiting,
    /// The number of the last order that a worker was given.
    ordered: u64,
    /// Stopped before they were ordered: a start may come after its stop.
    called_off: HashSet<(TaskId, Attempt)>,
    /// Where the conversation of each task's agent is.
    conversations: HashMap<TaskId, WorkerId>,
    /// Labels that tasks ask for and no worker has, as far as that was told.
    told: HashSet<Vec<String>>,
    plan: Arc<Plan>,
}

/// What a worker says of itself.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Abilities {
    /// How many attempts it carries out at once, if there is a limit.
    pub(crate) slots: Option<u32>,
    pub(crate) labels: BTreeSet<String>,
    /// The user wants it to get nothing more.
    pub(crate) is_drained: bool,
}

/// By its order, whatever its worker says.
struct Needs {
    /// Whose provider it asks.
    agent: String,
    /// Its agent is offered tools, which list the run's tasks.
    has_tools: bool,
}

/// A worker, and what it has.
struct Held {
    out: mpsc::UnboundedSender<ToWorker>,
    abilities: Abilities,
    /// Ordered and not granted yet.
    offered: HashMap<TaskId, Offered>,
    attempts: HashMap<TaskId, Attempt>,
    /// What each of the attempts needs of the run beside its own.
    needs: HashMap<(TaskId, Attempt), Needs>,
    /// Taken from it: what it says of these is refused.
    forgotten: HashSet<(TaskId, Attempt)>,
    /// How far each of the attempts was heard.
    speeches: HashMap<(TaskId, Attempt), Speech>,
    /// It was not heard of for too long: it gets nothing more before it is heard of again.
    is_silent: bool,
    /// It has declined an order, and not said since that it has room.
    is_full: bool,
    last_report: u64,
}

impl Remote {
    /// Of workers on this machine, which work in the run's own repository.
    pub fn new(link: Link, plan: Arc<Plan>) -> Arc<Remote> {
        Remote::made(link, plan, None, PathBuf::new(), HashMap::new())
    }

    /// Of workers on other machines; what their attempts have said is kept below `output`. `conversations` are those of earlier
    /// attempts, and the workers that have them.
    pub(crate) fn apart(
        link: Link,
        plan: Arc<Plan>,
        handover: Arc<Handover>,
        output: PathBuf,
        conversations: HashMap<TaskId, WorkerId>,
    ) -> Arc<Remote> {
        Remote::made(link, Arc::new(outline(&plan)), Some(handover), output, conversations)
    }

    fn made(
        link: Link,
        plan: Arc<Plan>,
        handover: Option<Arc<Handover>>,
        output: PathBuf,
        conversations: HashMap<TaskId, WorkerId>,
    ) -> Arc<Remote> {
        let state = State {
            workers: BTreeMap::new(),
            waiting: Waiting::default(),
            ordered: 0,
            called_off: HashSet::new(),
            conversations,
            told: HashSet::new(),
            plan,
        };
        let state = Mutex::new(state);
        let remote = Arc::new_cyclic(|me| Remote { me: me.clone(), link, handover, output, state });
        handing::watch_over(&remote);
        remote
    }

    /// Takes a worker in, by which it is reached over these; it is there until they end. One that speaks another
    /// version, or has the name of one that is there, is refused.
    pub async fn admit(
        self: &Arc<Remote>,
        from: impl AsyncRead + Send + Unpin + 'static,
        mut to: impl AsyncWrite + Send + Unpin + 'static,
    ) -> io::Result<WorkerId> {
        let mut from = BufReader::new(from);
        wire::send(&mut to, &ToWorker::Hello { version: wire::VERSION }).await?;
        let worker = match wire::receive(&mut from).await? {
            Some(FromWorker::Hello { version, worker }) if version == wire::VERSION => worker,
            Some(FromWorker::Hello { version, worker }) => {
                return Err(refused(other_version(&worker, version)));
            }
            other => return Err(refused(format!("a worker says hello first, not {other:?}"))),
        };
        let (out, mut outgoing) = mpsc::unbounded_channel();
        self.take_in(&worker, out, Abilities::default()).map_err(refused)?;
        tokio::spawn(async move {
            while let Some(line) = outgoing.recv().await {
                // What cannot be written will not be read either, and that is noticed.
                if wire::send(&mut to, &line).await.is_err() {
                    return;
                }
            }
        });
        let (remote, name) = (self.clone(), worker.clone());
        tokio::spawn(async move {
            let why = loop {
                match wire::receive(&mut from).await {
                    Ok(Some(said)) => {
                        if let Err(why) = remote.hear(&name, said) {
                            break why;
                        }
                    }
                    Ok(None) => break "it has closed its line".to_owned(),
                    Err(error) => break error.to_string(),
                }
            };
            remote.lose(&name, &why);
        });
        Ok(worker)
    }

    /// It is there until it is lost.
    pub(crate) fn take_in(
        &self,
        worker: &WorkerId,
        out: mpsc::UnboundedSender<ToWorker>,
        abilities: Abilities,
    ) -> Result<(), String> {
        let mut state = self.state();
        if state.workers.contains_key(worker) {
            return Err(format!("there is a worker {worker} already"));
        }
        let _ = out.send(ToWorker::Amended { plan: Box::new(state.plan.as_ref().clone()) });
        if self.link.board.is_watched() {
            let _ = out.send(ToWorker::Watch);
        }
        state.workers.insert(worker.clone(), Held::new(out, abilities));
        state.told.clear();
        self.hand_out_waiting(&mut state);
        Ok(())
    }

    /// An error is a worker that does not keep to what was agreed.
    pub(crate) fn hear(&self, worker: &WorkerId, said: FromWorker) -> Result<(), String> {
        let mut state = self.state();
        let Some(held) = state.workers.get_mut(worker) else { return Err("it was given up".to_owned()) };
        if std::mem::take(&mut held.is_silent) {
            self.hand_out_waiting(&mut state);
        }
        match said {
            FromWorker::Hello { .. } => return Err("it said hello twice".to_owned()),
            FromWorker::Offer { task, attempt, number, offer } => {
                self.grant(&mut state, worker, (task, attempt), number, offer);
            }
            FromWorker::Declined { task, number, .. } => self.declined(&mut state, worker, &task, number),
            FromWorker::Alive { attempts, free } => {
                let Some(held) = state.workers.get_mut(worker) else { return Ok(()) };
                for (task, attempt) in attempts.into_iter().filter(|one| held.has(one)) {
                    self.link.report(Input::LeaseRenewed { task, attempt, worker: worker.clone() });
                }
                if held.is_full && free != Some(0) {
                    held.is_full = false;
                    self.hand_out_waiting(&mut state);
                }
            }
            FromWorker::Lacks { task, attempt, commits } => {
                if state.workers.get(worker).is_some_and(|held| held.has(&(task.clone(), attempt))) {
                    self.make_ready_again(task, commits);
                }
            }
            FromWorker::Report { number, input } => self.reported(&mut state, worker, number, input)?,
            FromWorker::Call { call, what } => self.answer(&state, worker, call, what),
            FromWorker::Notice { text } => self.link.notice(format!("{worker}: {text}")),
            FromWorker::Doing { task, attempt, phase, said, tool, took } => {
                if state.workers.get(worker).is_some_and(|held| held.has(&(task.clone(), attempt))) {
                    self.link.board.shows(task, Doing { attempt, phase, said, tool, took });
                }
            }
            FromWorker::Words { task, attempt, file, offset, next, text } => {
                let held = state.workers.get_mut(worker);
                if let Some(speech) = held.and_then(|held| held.listened(&(task.clone(), attempt)))
                    && speech.is_new(file, offset, next)
                {
                    let executor = speech.executor;
                    self.keep_words(&task, attempt, (executor, file), &text);
                }
            }
            // Of another machine there is no transcript here that could be shown.
            FromWorker::Clear { .. } if self.handover.is_some() => {}
            FromWorker::Clear { executor, clear } => self.link.marks.set(executor, clear),
        }
        Ok(())
    }

    /// Its attempts are the scheduler's to take back; what it was only offered goes to another.
    pub(crate) fn lose(&self, worker: &WorkerId, why: &str) {
        let mut state = self.state();
        if let Some(held) = state.workers.remove(worker) {
            self.link.notice(format!("worker {worker} is lost: {why}"));
            self.link.report(Input::WorkerLost { worker: worker.clone() });
            state.conversations.retain(|_, holder| holder != worker);
            held.offered.into_values().for_each(|offered| state.waiting.put_first(offered.order));
            self.hand_out_waiting(&mut state);
        }
    }

    /// Whether the user wants it to get nothing more.
    pub(crate) fn drain(&self, worker: &WorkerId, is_drained: bool) {
        let mut state = self.state();
        if let Some(held) = state.workers.get_mut(worker)
            && std::mem::replace(&mut held.abilities.is_drained, is_drained) != is_drained
        {
            self.hand_out_waiting(&mut state);
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn interrupted(&self, task: &TaskId, attempt: Attempt) {
        let (task, outcome) = (task.clone(), Outcome::Interrupted);
        self.link.report(Input::AttemptEnded { task, attempt, outcome, change: None, phases: None });
    }
}

impl State {
    /// The worker that has it.
    fn holder(&self, task: &TaskId, attempt: Attempt) -> Option<&Held> {
        self.workers.values().find(|held| held.attempts.get(task) == Some(&attempt))
    }
}

impl Held {
    fn new(out: mpsc::UnboundedSender<ToWorker>, abilities: Abilities) -> Held {
        Held {
            out,
            abilities,
            offered: HashMap::new(),
            attempts: HashMap::new(),
            needs: HashMap::new(),
            forgotten: HashSet::new(),
            speeches: HashMap::new(),
            is_silent: false,
            is_full: false,
            last_report: 0,
        }
    }

    fn has(&self, (task, attempt): &(TaskId, Attempt)) -> bool {
        self.attempts.get(task) == Some(attempt) && !self.forgotten.contains(&(task.clone(), *attempt))
    }

    /// Whether any of its attempts needs this.
    fn needs(&self, is_needed: impl Fn(&Needs) -> bool) -> bool {
        self.needs.iter().any(|(about, needs)| self.has(about) && is_needed(needs))
    }

    /// What was heard of an attempt that is its own.
    fn listened(&mut self, about: &(TaskId, Attempt)) -> Option<&mut Speech> {
        if self.has(about) { self.speeches.get_mut(about) } else { None }
    }
}

impl Dispatch for Remote {
    fn start(&self, order: Order) {
        let mut state = self.state();
        state.called_off.retain(|(task, attempt)| *task != order.task || *attempt >= order.attempt);
        if state.called_off.remove(&(order.task.clone(), order.attempt)) {
            drop(state);
            return self.interrupted(&order.task, order.attempt);
        }
        state.waiting.put(order);
        self.hand_out_waiting(&mut state);
    }

    fn stop(&self, task: &TaskId, attempt: Attempt, how: Stop) {
        let mut state = self.state();
        if state.take_back(task, attempt) {
            self.hand_out_waiting(&mut state);
            drop(state);
            return self.interrupted(task, attempt);
        }
        match state.holder(task, attempt) {
            Some(held) => drop(held.out.send(ToWorker::Stop { task: task.clone(), attempt, how })),
            None => drop(state.called_off.insert((task.clone(), attempt))),
        }
    }

    fn say(&self, task: &TaskId, attempt: Attempt, words: String) {
        if let Some(held) = self.state().holder(task, attempt) {
            let _ = held.out.send(ToWorker::Say { task: task.clone(), attempt, words });
        }
    }

    fn forget(&self, task: &TaskId, attempt: Attempt) {
        for held in self.state().workers.values_mut() {
            if held.attempts.get(task) == Some(&attempt) {
                held.attempts.remove(task);
                held.needs.remove(&(task.clone(), attempt));
                held.speeches.remove(&(task.clone(), attempt));
                held.is_silent = true;
                held.forgotten.insert((task.clone(), attempt));
                let _ = held.out.send(ToWorker::Stop { task: task.clone(), attempt, how: Stop::Kill });
            }
        }
        self.link.board.forgets(task);
    }

    fn amend(&self, plan: &Arc<Plan>) {
        let mut state = self.state();
        state.plan = match self.handover {
            Some(_) => Arc::new(outline(plan)),
            None => plan.clone(),
        };
        let plan = state.plan.clone();
        for held in state.workers.values() {
            let _ = held.out.send(ToWorker::Amended { plan: Box::new(plan.as_ref().clone()) });
        }
    }

    fn prioritize(&self, task: &TaskId, priority: Priority) {
        self.state().waiting.prioritize(task, priority);
    }

    /// Of those that say how much they take; others are processes of this machine.
    fn workers(&self) -> Vec<WorkerView> {
        let state = self.state();
        let view = |(name, held): (&WorkerId, &Held)| {
            let busy = u32::try_from(held.attempts.len() + held.offered.len()).unwrap_or(u32::MAX);
            let labels = held.abilities.labels.iter().cloned().collect();
            Some(WorkerView { name: name.clone(), slots: held.abilities.slots?, busy, labels })
        };
        state.workers.iter().filter_map(view).collect()
    }
}

pub(crate) fn other_version(worker: &WorkerId, version: u32) -> String {
    format!("worker {worker} speaks version {version}, this coordinator speaks {}", wire::VERSION)
}

fn refused(why: String) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, why)
}
