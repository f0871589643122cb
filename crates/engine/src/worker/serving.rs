//! A worker in a process of its own: it carries out what a coordinator elsewhere orders, over a line between them.
//!
//! It holds nothing that its coordinator does not know: where the line ends, everything it had started is ended.

use std::collections::{BTreeMap, HashMap};
use std::io;
use std::sync::Arc;
use std::time::Duration;

use conductor_core::plan::Plan;
use conductor_core::run::event::Outcome;
use conductor_core::schedule::{Input, Refusal};
use conductor_core::values::ids::{Attempt, RunId, TaskId, WorkerId};
use tokio::io::{AsyncRead, AsyncWrite, BufReader};
use tokio::sync::{mpsc, oneshot};
use tokio::time::{Instant, MissedTickBehavior, interval};

use super::local::{Local, ended};
use super::{Worker, no_workspace};
use crate::agents::{self, Caller};
use crate::dispatch::board::Doing;
use crate::dispatch::wire::{self, Answer, Call, FromWorker, ToWorker};
use crate::dispatch::{Dispatch as _, Link, Message, Order, Stop, View};
use crate::git::workspaces::{Workspaces, beside_coordinator};
use crate::process;
use crate::process::transcript::Clear;

/// How often it tells what its attempts are doing.
const SHOW: Duration = Duration::from_millis(250);

/// How long attempts may take to come to an end when the line is gone.
const END: Duration = Duration::from_secs(10);

/// Serves the coordinator at the other end until the line ends. `beat` is how often it gives a sign of life: often enough that a
/// few can be late before a lease ends.
pub async fn serve(
    name: WorkerId,
    from: impl AsyncRead + Send + Unpin + 'static,
    mut to: impl AsyncWrite + Send + Unpin + 'static,
    beat: Duration,
) -> io::Result<()> {
    process::raise_descriptor_limit();
    process::adopt_orphans();
    let mut from = BufReader::new(from);
    wire::send(&mut to, &FromWorker::Hello { version: wire::VERSION, worker: name }).await?;
    match wire::receive(&mut from).await? {
        Some(ToWorker::Hello { version }) if version == wire::VERSION => {}
        Some(ToWorker::Hello { version }) => {
            let why = format!("the coordinator speaks version {version}, this worker {}", wire::VERSION);
            return Err(io::Error::new(io::ErrorKind::InvalidData, why));
        }
        _ => return Err(io::Error::new(io::ErrorKind::InvalidData, "a coordinator says hello first")),
    }
    // Read by a task of its own: a line that is half read when something else happens would be lost.
    let (heard, mut orders) = mpsc::unbounded_channel();
    tokio::spawn(async move {
        while let Some(line) = wire::receive(&mut from).await.transpose() {
            let is_last = line.is_err();
            if heard.send(line).is_err() || is_last {
                return;
            }
        }
    });
    let mut server = Server::new();
    let (mut beats, mut shows) = (interval(beat), interval(SHOW));
    beats.set_missed_tick_behavior(MissedTickBehavior::Delay);
    shows.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let served = loop {
        let lines = tokio::select! {
            order = orders.recv() => match order {
                Some(Ok(order)) => server.hear(order),
                Some(Err(error)) => break Err(error),
                None => break Ok(()),
            },
            Some(message) = server.messages.recv() => server.forward(message),
            Some(text) = server.notices.recv() => vec![FromWorker::Notice { text }],
            _ = beats.tick() => vec![FromWorker::Alive { attempts: server.at_work() }],
            _ = shows.tick() => server.news(),
        };
        let mut sent = Ok(());
        for line in &lines {
            sent = wire::send(&mut to, line).await;
            if sent.is_err() {
                break;
            }
        }
        if sent.is_err() {
            break sent;
        }
    };
    server.end_all().await;
    served
}

struct Server {
    link: Link,
    messages: mpsc::UnboundedReceiver<Message>,
    notices: mpsc::UnboundedReceiver<String>,
    plan: Arc<Plan>,
    /// One for each run that has been ordered from here.
    runs: BTreeMap<RunId, Local>,
    /// Executors of what is at work, for what is shown of it.
    executors: HashMap<TaskId, u32>,
    reported: u64,
    /// Reports whose attempts go on when they are recorded.
    awaited: HashMap<u64, oneshot::Sender<Result<(), Refusal>>>,
    called: u64,
    calls: HashMap<u64, Waiting>,
    shown: HashMap<TaskId, Doing>,
    cleared: HashMap<u32, [Clear; 2]>,
}

/// Who waits for the answer to a call.
enum Waiting {
    Ask(oneshot::Sender<Result<(), Refusal>>),
    Look(oneshot::Sender<Result<View, Refusal>>),
}

impl Server {
    fn new() -> Server {
        let (reports, messages) = mpsc::unbounded_channel();
        let (notifier, notices) = mpsc::unbounded_channel();
        Server {
            link: Link::new(reports, notifier),
            messages,
            notices,
            plan: Arc::default(),
            runs: BTreeMap::new(),
            executors: HashMap::new(),
            reported: 0,
            awaited: HashMap::new(),
            called: 0,
            calls: HashMap::new(),
            shown: HashMap::new(),
            cleared: HashMap::new(),
        }
    }

    fn hear(&mut self, line: ToWorker) -> Vec<FromWorker> {
        match line {
            ToWorker::Hello { .. } => {}
            ToWorker::Start(order) => self.start(*order),
            ToWorker::Stop { task, attempt, how } => {
                self.runs.values().for_each(|local| local.stop(&task, attempt, how));
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
                if let Some(waits) = self.awaited.remove(&report) {
                    let _ = waits.send(refused.map_or(Ok(()), |why| Err(Refusal::NotPossible(why))));
                }
            }
            ToWorker::Answered { call, answer } => self.answered(call, answer),
            ToWorker::Watch => self.link.board.watch(),
        }
        Vec::new()
    }

    fn start(&mut self, order: Order) {
        if !order.is_whole() {
            let why = format!("an order for {} names a task that is not in it", order.task);
            return self.link.notice(why);
        }
        let run = order.context.run.clone();
        if !self.runs.contains_key(&run) {
            match self.worker(&order) {
                Ok(worker) => drop(self.runs.insert(run.clone(), Local::new(Arc::new(worker)))),
                Err(outcome) => return self.link.report(ended(&order, outcome)),
            }
        }
        self.executors.insert(order.task.clone(), order.executor);
        if let Some(local) = self.runs.get(&run) {
            local.start(order);
        }
    }

    /// What attempts of a run need here, made with its first order.
    fn worker(&self, order: &Order) -> Result<Worker, Outcome> {
        let context = &order.context;
        let run_repo = match context.in_repository {
            true => Some(
                beside_coordinator(&context.home, &context.run, &context.directory, &self.plan)
                    .map_err(|error| no_workspace(&error))?,
            ),
            false => None,
        };
        let workspaces = Workspaces::new(context.directory.clone(), run_repo, context.isolation);
        if let Some(run_repo) = workspaces.run_repo() {
            run_repo.listen(self.link.notices.clone());
        }
        let caller = Caller::new(process::environment_of_attempts());
        Ok(Worker::new(context.clone(), self.plan.clone(), workspaces, caller, self.link.clone()))
    }

    fn forward(&mut self, message: Message) -> Vec<FromWorker> {
        let (input, waits) = match message {
            Message::Input(input) => (input, None),
            Message::Told(input, waits) => (input, Some(waits)),
            Message::Asked(request, waits) => return self.call(Call::Ask(request), Waiting::Ask(waits)),
            Message::Look(query, waits) => return self.call(Call::Look(query), Waiting::Look(waits)),
            // Only a coordinator's own users send these.
            Message::Follow(_) | Message::KillAll => return Vec::new(),
        };
        self.reported += 1;
        let number = self.reported;
        if let Some(waits) = waits {
            self.awaited.insert(number, waits);
        }
        if let Input::AttemptEnded { task, .. } = &input {
            self.executors.remove(task);
            self.shown.remove(task);
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
    fn news(&mut self) -> Vec<FromWorker> {
        let mut lines = Vec::new();
        for (task, executor) in &self.executors {
            if let Some(doing) = self.link.board.of(task)
                && self.shown.get(task) != Some(&doing)
            {
                let Doing { attempt, phase, said, tool, took } = doing.clone();
                lines.push(FromWorker::Doing { task: task.clone(), attempt, phase, said, tool, took });
                self.shown.insert(task.clone(), doing);
            }
            let clear = self.link.marks.clear(*executor);
            if self.cleared.insert(*executor, clear) != Some(clear) {
                lines.push(FromWorker::Clear { executor: *executor, clear });
            }
        }
        lines
    }

    fn at_work(&self) -> Vec<(TaskId, Attempt)> {
        self.runs.values().flat_map(Local::at_work).collect()
    }

    /// There is no coordinator any more that would take what comes of them.
    async fn end_all(&mut self) {
        for local in self.runs.values() {
            for (task, attempt) in local.at_work() {
                local.stop(&task, attempt, Stop::Kill);
            }
        }
        let deadline = Instant::now() + END;
        while !self.at_work().is_empty() && Instant::now() < deadline {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }
}
