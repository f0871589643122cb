//! Attempts that workers in other processes carry out.
//!
//! An order goes to the worker that has the fewest, and waits where there is none. From then on the attempt is leased, and
//! each sign of life renews that. A worker may report of what it was given and of nothing else.

#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, HashMap, HashSet, VecDeque};
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use conductor_core::plan::Plan;
use conductor_core::run::event::Outcome;
use conductor_core::schedule::{Input, Refusal, Request};
use conductor_core::values::ids::{Attempt, TaskId, WorkerId};
use tokio::io::{AsyncRead, AsyncWrite, BufReader};
use tokio::sync::{mpsc, oneshot};

use super::board::Doing;
use super::messages::Message;
use super::wire::{self, Answer, Call, FromWorker, ToWorker};
use super::{Dispatch, Link, Order, Stop};

pub struct Remote {
    link: Link,
    state: Mutex<State>,
}

struct State {
    workers: BTreeMap<WorkerId, Held>,
    /// Orders for which there is no worker.
    waiting: VecDeque<Order>,
    plan: Arc<Plan>,
}

/// A worker, and what it has.
struct Held {
    out: mpsc::UnboundedSender<ToWorker>,
    attempts: HashMap<TaskId, Attempt>,
    /// Taken from it: what it says of these is refused.
    forgotten: HashSet<(TaskId, Attempt)>,
    /// It was not heard of for too long: it gets nothing more before it is heard of again.
    is_silent: bool,
    last_report: u64,
}

impl Remote {
    pub fn new(link: Link, plan: Arc<Plan>) -> Arc<Remote> {
        let state = State { workers: BTreeMap::new(), waiting: VecDeque::new(), plan };
        Arc::new(Remote { link, state: Mutex::new(state) })
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
                return Err(refused(format!(
                    "worker {worker} speaks version {version}, this coordinator speaks {}",
                    wire::VERSION
                )));
            }
            other => return Err(refused(format!("a worker says hello first, not {other:?}"))),
        };
        let (out, mut outgoing) = mpsc::unbounded_channel();
        self.take_in(&worker, out)?;
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

    fn take_in(&self, worker: &WorkerId, out: mpsc::UnboundedSender<ToWorker>) -> io::Result<()> {
        let mut state = self.state();
        if state.workers.contains_key(worker) {
            return Err(refused(format!("there is a worker {worker} already")));
        }
        let _ = out.send(ToWorker::Amended { plan: Box::new(state.plan.as_ref().clone()) });
        if self.link.board.is_watched() {
            let _ = out.send(ToWorker::Watch);
        }
        let (attempts, forgotten, is_silent) = (HashMap::new(), HashSet::new(), false);
        state.workers.insert(worker.clone(), Held { out, attempts, forgotten, is_silent, last_report: 0 });
        self.hand_out_waiting(&mut state);
        Ok(())
    }

    fn hand_out_waiting(&self, state: &mut State) {
        for order in std::mem::take(&mut state.waiting) {
            self.hand_out(state, order);
        }
    }

    fn hand_out(&self, state: &mut State, order: Order) {
        let there = state.workers.iter_mut().filter(|(_, held)| !held.is_silent);
        let idlest = there.min_by_key(|(_, held)| held.attempts.len());
        let Some((worker, held)) = idlest else { return state.waiting.push_back(order) };
        let (task, attempt, worker) = (order.task.clone(), order.attempt, worker.clone());
        held.attempts.insert(task.clone(), attempt);
        // The lease counts from here on, whether or not the worker ever hears of it.
        self.link.report(Input::LeaseRenewed { task, attempt, worker });
        let _ = held.out.send(ToWorker::Start(Box::new(order.excerpt())));
    }

    /// An error is a worker that does not keep to what was agreed.
    fn hear(self: &Arc<Remote>, worker: &WorkerId, said: FromWorker) -> Result<(), String> {
        let mut state = self.state();
        let Some(held) = state.workers.get_mut(worker) else { return Err("it was given up".to_owned()) };
        if std::mem::take(&mut held.is_silent) {
            self.hand_out_waiting(&mut state);
        }
        let Some(held) = state.workers.get_mut(worker) else { return Ok(()) };
        match said {
            FromWorker::Hello { .. } => return Err("it said hello twice".to_owned()),
            FromWorker::Alive { attempts } => {
                for (task, attempt) in attempts.into_iter().filter(|one| held.has(one)) {
                    self.link.report(Input::LeaseRenewed { task, attempt, worker: worker.clone() });
                }
            }
            FromWorker::Report { number, .. } if number <= held.last_report => {}
            FromWorker::Report { number, .. } if number != held.last_report + 1 => {
                return Err(format!("report {} is missing", held.last_report + 1));
            }
            FromWorker::Report { number, input } => {
                held.last_report = number;
                self.pass_on(held, number, input)?;
            }
            FromWorker::Call { call, what } => self.answer(held, call, what),
            FromWorker::Notice { text } => self.link.notice(format!("{worker}: {text}")),
            FromWorker::Doing { task, attempt, phase, said, tool, took } => {
                if held.has(&(task.clone(), attempt)) {
                    self.link.board.shows(task, Doing { attempt, phase, said, tool, took });
                }
            }
            FromWorker::Clear { executor, clear } => self.link.marks.set(executor, clear),
        }
        Ok(())
    }

    /// Acknowledged when it is recorded.
    fn pass_on(&self, held: &mut Held, report: u64, input: Input) -> Result<(), String> {
        let out = held.out.clone();
        if let Some(about) = about(&input)? {
            if !held.has(&about) {
                let refused = Some(format!("attempt {} of {} is not yours", about.1, about.0));
                let _ = out.send(ToWorker::Acknowledged { report, refused });
                return Ok(());
            }
            if matches!(input, Input::AttemptEnded { .. }) {
                held.attempts.remove(&about.0);
                self.link.board.forgets(&about.0);
            }
        }
        let (waits, word) = oneshot::channel();
        let _ = self.link.reports.send(Message::Told(input, waits));
        tokio::spawn(async move {
            let refused = match word.await {
                Ok(Ok(())) => None,
                Ok(Err(refusal)) => Some(refusal.to_string()),
                Err(_) => Some("the run is over".to_owned()),
            };
            let _ = out.send(ToWorker::Acknowledged { report, refused });
        });
        Ok(())
    }

    fn answer(&self, held: &Held, call: u64, what: Call) {
        let (control, out) = (self.link.control(), held.out.clone());
        let is_its = match &what {
            Call::Look(_) => true,
            Call::Ask(Request::Propose { by, attempt, .. }) => held.has(&(by.clone(), *attempt)),
            Call::Ask(_) => false,
        };
        tokio::spawn(async move {
            let answer = match what {
                _ if !is_its => Answer::Refused("a worker may not ask for that".to_owned()),
                Call::Ask(request) => control.ask_and_wait(request).await.map_or(Answer::Gone, told),
                Call::Look(query) => match control.look(query).await {
                    Some(Ok(view)) => Answer::View(Box::new(view)),
                    Some(Err(refusal)) => Answer::Refused(refusal.to_string()),
                    None => Answer::Gone,
                },
            };
            let _ = out.send(ToWorker::Answered { call, answer });
        });
    }

    /// Its attempts are the scheduler's to take back.
    fn lose(&self, worker: &WorkerId, why: &str) {
        if self.state().workers.remove(worker).is_some() {
            self.link.notice(format!("worker {worker} is lost: {why}"));
            self.link.report(Input::WorkerLost { worker: worker.clone() });
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// To the worker that has it.
    fn send(&self, task: &TaskId, attempt: Attempt, line: ToWorker) {
        let state = self.state();
        let holder = state.workers.values().find(|held| held.attempts.get(task) == Some(&attempt));
        if let Some(held) = holder {
            let _ = held.out.send(line);
        }
    }
}

impl Held {
    fn has(&self, (task, attempt): &(TaskId, Attempt)) -> bool {
        self.attempts.get(task) == Some(attempt) && !self.forgotten.contains(&(task.clone(), *attempt))
    }
}

impl Dispatch for Remote {
    fn start(&self, order: Order) {
        self.hand_out(&mut self.state(), order);
    }

    fn stop(&self, task: &TaskId, attempt: Attempt, how: Stop) {
        let is_it = |order: &Order| order.task == *task && order.attempt == attempt;
        let mut state = self.state();
        let before = state.waiting.len();
        state.waiting.retain(|order| !is_it(order));
        let never_began = state.waiting.len() < before;
        drop(state);
        match never_began {
            true => self.link.report(Input::AttemptEnded {
                task: task.clone(),
                attempt,
                outcome: Outcome::Interrupted,
                change: None,
                phases: None,
            }),
            false => self.send(task, attempt, ToWorker::Stop { task: task.clone(), attempt, how }),
        }
    }

    fn say(&self, task: &TaskId, attempt: Attempt, words: String) {
        self.send(task, attempt, ToWorker::Say { task: task.clone(), attempt, words });
    }

    fn forget(&self, task: &TaskId, attempt: Attempt) {
        for held in self.state().workers.values_mut() {
            if held.attempts.get(task) == Some(&attempt) {
                held.attempts.remove(task);
                held.is_silent = true;
                held.forgotten.insert((task.clone(), attempt));
                let _ = held.out.send(ToWorker::Stop { task: task.clone(), attempt, how: Stop::Kill });
            }
        }
        self.link.board.forgets(task);
    }

    fn amend(&self, plan: &Arc<Plan>) {
        let mut state = self.state();
        state.plan = plan.clone();
        for held in state.workers.values() {
            let _ = held.out.send(ToWorker::Amended { plan: Box::new(plan.as_ref().clone()) });
        }
    }
}

/// The attempt a report is of, if it is of one. What is not a worker's to report is an error.
fn about(input: &Input) -> Result<Option<(TaskId, Attempt)>, String> {
    match input {
        Input::ProcessStarted { task, attempt, .. }
        | Input::SessionStarted { task, attempt, .. }
        | Input::UsageReported { task, attempt, .. }
        | Input::WorkHandedIn { task, attempt }
        | Input::WorkGivenBack { task, attempt }
        | Input::WorkAccepted { task, attempt }
        | Input::AttemptEnded { task, attempt, .. }
        | Input::Reported { task, attempt, .. }
        | Input::ExpertiseUsed { task, attempt, .. }
        | Input::ExpertiseLearned { task, attempt, .. }
        | Input::CheckpointMade { task, attempt, .. } => Ok(Some((task.clone(), *attempt))),
        Input::ProviderParked { .. } | Input::GitSettingsTouched { .. } => Ok(None),
        other => Err(format!("it reported what is not its to report: {other:?}")),
    }
}

fn told(done: Result<(), Refusal>) -> Answer {
    match done {
        Ok(()) => Answer::Done,
        Err(refusal) => Answer::Refused(refusal.to_string()),
    }
}

fn refused(why: String) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, why)
}
