//! What a worker knows of one coordinator's orders, and what it says about them.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use conductor_core::plan::Plan;
use conductor_core::run::event::Outcome;
use conductor_core::schedule::{Input, Refusal};
use conductor_core::values::ids::{Attempt, RunId, TaskId};
use tokio::sync::{mpsc, oneshot};
use tokio::time::Instant;

use super::elsewhere::Done;
use super::places::{Quarters, Room, Unheard};
use super::speaking::Speaking;
use crate::agents::{self, Caller};
use crate::dispatch::board::Doing;
use crate::dispatch::wire::{Answer, Call, FromWorker, ToWorker};
use crate::dispatch::{Dispatch as _, Link, Message, Order, Stop, View};
use crate::git::handover::Code;
use crate::git::workspaces::{RunRepo, Workspaces, beside_coordinator};
use crate::host::logs::carried;
use crate::process::transcript::Clear;
use crate::process::{self, Teardown};
use crate::worker::local::{Local, ended};
use crate::worker::{Worker, no_workspace};

/// How long attempts may take to come to an end when the line is gone.
const END: Duration = Duration::from_secs(10);

pub(super) type Key = (TaskId, Attempt);

pub(super) struct Server {
    pub(super) link: Link,
    pub(super) messages: mpsc::UnboundedReceiver<Message>,
    pub(super) notices: mpsc::UnboundedReceiver<String>,
    /// What was done off the loop for attempts whose code is elsewhere.
    pub(super) done: mpsc::UnboundedReceiver<Done>,
    pub(super) tell_done: mpsc::UnboundedSender<Done>,
    pub(super) quarters: Option<Arc<Quarters>>,
    pub(super) plan: Arc<Plan>,
    /// One for each run that has been ordered from here.
    pub(super) runs: BTreeMap<RunId, Local>,
    pub(super) run_repos: BTreeMap<RunId, Arc<RunRepo>>,
    /// Offered and not granted yet.
    offered: HashMap<Key, Offer>,
    /// Granted; its code is on its way here.
    pub(super) fetching: HashMap<Key, Stop>,
    /// Ended; its work is on its way to the remote.
    pub(super) delivering: HashMap<Key, Stop>,
    teardowns: Vec<Teardown>,
    /// Whose remote could not be reached, as far as that was told.
    pub(super) told: HashSet<Key>,
    /// Of all these and of what is at work.
    pub(super) rooms: HashMap<Key, Room>,
    /// Executors of what is at work, for what is shown of it.
    pub(super) executors: HashMap<TaskId, u32>,
    pub(super) speaking: Speaking,
    reported: u64,
    /// Reports whose attempts go on when they are recorded.
    awaited: HashMap<u64, oneshot::Sender<Result<(), Refusal>>>,
    /// Reports of ends that are not recorded yet.
    ends: HashMap<u64, Unheard>,
    called: u64,
    calls: HashMap<u64, Waiting>,
    shown: HashMap<TaskId, Doing>,
    cleared: HashMap<u32, [Clear; 2]>,
}

/// What it would carry out.
struct Offer {
    /// Of the order.
    number: u64,
    /// Of the offer itself.
    offer: u64,
    order: Box<Order>,
    code: Option<Code>,
}

/// Who waits for the answer to a call.
enum Waiting {
    Ask(oneshot::Sender<Result<(), Refusal>>),
    Look(oneshot::Sender<Result<View, Refusal>>),
}

impl Server {
    pub(super) fn new(quarters: Option<Arc<Quarters>>) -> Server {
        let (reports, messages) = mpsc::unbounded_channel();
        let (notifier, notices) = mpsc::unbounded_channel();
        let (tell_done, done) = mpsc::unbounded_channel();
        Server {
            link: Link::new(reports, notifier),
            messages,
            notices,
            done,
            tell_done,
            quarters,
            plan: Arc::default(),
            runs: BTreeMap::new(),
            run_repos: BTreeMap::new(),
            offered: HashMap::new(),
            fetching: HashMap::new(),
            delivering: HashMap::new(),
            teardowns: Vec::new(),
            told: HashSet::new(),
            rooms: HashMap::new(),
            executors: HashMap::new(),
            speaking: Speaking::default(),
            reported: 0,
            awaited: HashMap::new(),
            ends: HashMap::new(),
            called: 0,
            calls: HashMap::new(),
            shown: HashMap::new(),
            cleared: HashMap::new(),
        }
    }

    pub(super) fn hear(&mut self, line: ToWorker) -> Vec<FromWorker> {
        match line {
            ToWorker::Hello { .. } => {}
            ToWorker::Start { number, order, code } => return self.offer(number, order, code),
            ToWorker::Grant { task, attempt, offer } => self.granted((task, attempt), offer),
            ToWorker::Withdrawn { task, attempt, number } => self.withdrawn((task, attempt), number),
            ToWorker::Stop { task, attempt, how } => {
                self.runs.values().for_each(|local| local.stop(&task, attempt, how));
                let key = (task, attempt);
                for wish in [self.fetching.get_mut(&key), self.delivering.get_mut(&key)].into_iter().flatten()
                {
                    *wish = how.max(*wish);
                }
            }
            ToWorker::Say { task, attempt, words } => {
                self.runs.values().for_each(|local| local.say(&task, attempt, words.clone()));
            }
            ToWorker::Amended { plan } => {
                agents::keep_secrets_of(&plan);
                self.plan = Arc::new(*plan);
                self.runs.values().for_each(|local| local.amend(&self.plan));
            }
            ToWorker::Acknowledged { report, refused } => {
                self.ends.remove(&report);
                if let Some(waits) = self.awaited.remove(&report) {
                    let _ = waits.send(refused.map_or(Ok(()), |why| Err(Refusal::NotPossible(why))));
                }
            }
            ToWorker::Answered { call, answer } => self.answered(call, answer),
            ToWorker::Watch => self.link.board.watch(),
        }
        Vec::new()
    }

    /// Nothing starts yet: the coordinator may want it elsewhere by now. Of several orders for one attempt the newest counts.
    fn offer(&mut self, number: u64, order: Box<Order>, code: Option<Code>) -> Vec<FromWorker> {
        let (task, attempt) = (order.task.clone(), order.attempt);
        if !order.is_whole() || code.is_some() != self.quarters.is_some() {
            self.link.notice(format!("an order for {task} cannot be carried out: parts of it are missing"));
            return vec![FromWorker::Declined { task, attempt, number }];
        }
        agents::keep_secrets_of(&order.plan);
        let key = (task.clone(), attempt);
        if let Some(quarters) = &self.quarters
            && !self.rooms.contains_key(&key)
        {
            let Some(room) = quarters.take_room() else {
                return vec![FromWorker::Declined { task, attempt, number }];
            };
            self.rooms.insert(key.clone(), room);
        }
        let offer = fastrand::u64(..);
        self.offered.insert(key, Offer { number, offer, order, code });
        vec![FromWorker::Offer { task, attempt, number, offer }]
    }

    /// An order that the attempt was given again with since is not meant.
    fn withdrawn(&mut self, key: Key, number: u64) {
        if self.offered.get(&key).is_some_and(|offered| offered.number == number) {
            self.offered.remove(&key);
            self.rooms.remove(&key);
        }
    }

    fn granted(&mut self, key: Key, number: u64) {
        match self.offered.remove(&key) {
            Some(Offer { offer, order, code, .. }) if offer == number => match code {
                Some(code) => self.fetch(*order, code),
                None => self.start(*order),
            },
            Some(other) => drop(self.offered.insert(key, other)),
            None => {}
        }
    }

    fn start(&mut self, order: Order) {
        let run = order.context.run.clone();
        if !self.runs.contains_key(&run) {
            match beside(&order, &self.plan) {
                Ok(run_repo) => self.take_up(&order, run_repo),
                Err(outcome) => return self.link.report(ended(&order, outcome)),
            }
        }
        self.set_to_work(order);
    }

    /// What attempts of a run need here, made with its first order.
    pub(super) fn take_up(&mut self, order: &Order, run_repo: Option<RunRepo>) {
        let context = &order.context;
        let workspaces = Workspaces::new(context.directory.clone(), run_repo, context.isolation);
        if let Some(run_repo) = workspaces.run_repo() {
            run_repo.listen(self.link.notices.clone());
            self.run_repos.insert(context.run.clone(), run_repo.clone());
        }
        let caller = Caller::new(process::environment_of_attempts());
        let mut worker =
            Worker::new(context.clone(), self.plan.clone(), workspaces, caller, self.link.clone());
        worker.services.is_elsewhere = true;
        if let Some(quarters) = &self.quarters {
            match quarters.watch_over(&context.run, worker.services.processes.clone()) {
                Ok(teardown) => self.teardowns.push(teardown),
                Err(error) => {
                    self.link.notice(format!("what we leave behind if we are killed would go on: {error}"));
                }
            }
        }
        self.runs.insert(context.run.clone(), Local::new(Arc::new(worker)));
    }

    pub(super) fn set_to_work(&mut self, order: Order) {
        self.executors.insert(order.task.clone(), order.executor);
        if let Some(quarters) = self.quarters.clone() {
            let (run, key) = (order.context.run.clone(), (order.task.clone(), order.attempt));
            self.listen_to(&quarters, &run, &key, order.executor);
        }
        if let Some(local) = self.runs.get(&order.context.run) {
            local.start(order);
        }
    }

    pub(super) fn forward(&mut self, message: Message) -> Vec<FromWorker> {
        let (input, waits) = match message {
            Message::Input(input) => (input, None),
            Message::Told(input, waits) => (input, Some(waits)),
            Message::Asked(request, waits) => return self.call(Call::Ask(request), Waiting::Ask(waits)),
            Message::Look(query, waits) => return self.call(Call::Look(query), Waiting::Look(waits)),
            // Only a coordinator's own users send these.
            Message::Follow(_) | Message::KillAll | Message::HandOver(_) | Message::Take => {
                return Vec::new();
            }
        };
        if let Input::AttemptEnded { task, attempt, .. } = &input
            && let Some(quarters) = self.quarters.clone()
        {
            let key = (task.clone(), *attempt);
            self.deliver(quarters, key, input);
            return Vec::new();
        }
        self.report(input, waits)
    }

    pub(super) fn report(
        &mut self,
        input: Input,
        waits: Option<oneshot::Sender<Result<(), Refusal>>>,
    ) -> Vec<FromWorker> {
        self.reported += 1;
        let number = self.reported;
        if let Some(waits) = waits {
            self.awaited.insert(number, waits);
        }
        if let Input::AttemptEnded { task, attempt, .. } = &input {
            self.executors.remove(task);
            self.shown.remove(task);
            let key = (task.clone(), *attempt);
            // Before its room is free: there is no moment at which all seems to be done.
            self.ends.extend(self.quarters.as_ref().map(|quarters| (number, quarters.say_end())));
            self.rooms.remove(&key);
            self.listen_no_more(&key);
        }
        vec![FromWorker::Report { number, input }]
    }

    fn call(&mut self, what: Call, waits: Waiting) -> Vec<FromWorker> {
        self.called += 1;
        self.calls.insert(self.called, waits);
        vec![FromWorker::Call { call: self.called, what }]
    }

    fn answered(&mut self, call: u64, answer: Answer) {
        match (self.calls.remove(&call), answer) {
            (Some(Waiting::Ask(waits)), Answer::Done) => drop(waits.send(Ok(()))),
            (Some(Waiting::Ask(waits)), Answer::Refused(why)) => {
                let _ = waits.send(Err(Refusal::NotPossible(why)));
            }
            (Some(Waiting::Look(waits)), Answer::View(view)) => drop(waits.send(Ok(*view))),
            (Some(Waiting::Look(waits)), Answer::Refused(why)) => {
                let _ = waits.send(Err(Refusal::NotPossible(why)));
            }
            // The attempt that waits is told that the run is over when its sender goes.
            _ => {}
        }
    }

    /// What is not as it was when it was last told.
    pub(super) fn news(&mut self) -> Vec<FromWorker> {
        let mut lines = self.spoken();
        for (task, executor) in &self.executors {
            if let Some(doing) = self.link.board.of(task)
                && self.shown.get(task) != Some(&doing)
            {
                let Doing { attempt, phase, said, tool, took } = doing.clone();
                lines.push(FromWorker::Doing { task: task.clone(), attempt, phase, said, tool, took });
                self.shown.insert(task.clone(), doing);
            }
            let clear = self.link.marks.clear(*executor);
            if self.quarters.is_none() && self.cleared.insert(*executor, clear) != Some(clear) {
                lines.push(FromWorker::Clear { executor: *executor, clear });
            }
        }
        lines
    }

    pub(super) fn alive(&self) -> FromWorker {
        let underway = self.fetching.keys().chain(self.delivering.keys()).cloned();
        let attempts = self.at_work().into_iter().chain(underway).collect();
        FromWorker::Alive { attempts, free: self.quarters.as_ref().map(|quarters| quarters.free()) }
    }

    /// 0 for one that never was at work.
    pub(super) fn executor(&self, task: &TaskId) -> u32 {
        self.executors.get(task).copied().unwrap_or_default()
    }

    /// A run that is over needs no workspaces here. Work that did not get to the remote stays under a rescue ref.
    pub(super) async fn clear(&mut self) {
        let run_repos = std::mem::take(&mut self.run_repos);
        let Some(quarters) = self.quarters.clone() else { return };
        let clearing = carried(move || {
            for (run, run_repo) in run_repos {
                if let Err(error) = quarters.clear(&run, &run_repo) {
                    tracing::warn!(%run, %error, "could not clear what a run has left");
                }
            }
        });
        let _ = tokio::task::spawn_blocking(clearing).await;
    }

    fn at_work(&self) -> Vec<Key> {
        self.runs.values().flat_map(Local::at_work).collect()
    }

    /// There is no coordinator any more that would take what comes of them.
    pub(super) async fn end_all(&mut self) {
        for local in self.runs.values() {
            for (task, attempt) in local.at_work() {
                local.stop(&task, attempt, Stop::Kill);
            }
        }
        let deadline = Instant::now() + END;
        while !self.at_work().is_empty() && Instant::now() < deadline {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        for teardown in &mut self.teardowns {
            teardown.finish().await;
        }
    }
}

/// The run's part of the repository that its coordinator works in, too.
fn beside(order: &Order, plan: &Plan) -> Result<Option<RunRepo>, Outcome> {
    let context = &order.context;
    match context.in_repository {
        true => beside_coordinator(&context.home, &context.run, &context.directory, plan)
            .map(Some)
            .map_err(|error| no_workspace(&error)),
        false => Ok(None),
    }
}
