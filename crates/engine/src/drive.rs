//! The loop: gather what happened, let the scheduler decide, make it durable, tell it, do it.
//!
//! Nothing is done before the event that announces it is in the store. All that has piled up while a turn was being
//! written goes into the next one, so the busier the run, the fewer the commits.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use conductor_core::event::{Event, Options, Record, Report};
use conductor_core::graph::GraphError;
use conductor_core::ids::{Attempt, RunId, TaskId};
use conductor_core::plan::Task;
use conductor_core::run::{Progress, Run, TaskState};
use conductor_core::scheduler::{Action, Car, Decision, Input, Legacy, Refusal, Request, Scheduler};
use thiserror::Error;
use tokio::sync::{mpsc, oneshot, watch};
use tokio::time::Instant;

use crate::agents::Caller;
use crate::board::Board;
use crate::bus::{Bus, Records};
use crate::clock::{Clock, HEARTBEAT};
use crate::control::{Counter, Glance, Heard, Listed, Query, View, Why};
use crate::home::RunClaim;
use crate::lookout::{AtWork, Lookout};
use crate::process::{self, Teardown};
use crate::stores::{Store, StoreError};
use crate::train;
use crate::transcript::Speaker;
use crate::worker::{Crowd, Mail, Order, Stop, Worker, aside};
use crate::workspaces::{Rooms, Yard, works};

/// The number of a process and what an agent has used wait for company; everything else is acted on at once.
const LAZY: Duration = Duration::from_millis(50);

/// While the store cannot be written: first and longest wait before the next try.
const FIRST_WAIT: Duration = Duration::from_millis(100);
const LONGEST_WAIT: Duration = Duration::from_secs(2);

#[derive(Debug, Error)]
pub enum DriveError {
    #[error(transparent)]
    Graph(#[from] GraphError),
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// What comes in from attempts and from people.
#[derive(Debug)]
pub(crate) enum Message {
    Input(Input),
    /// As an input, with somebody who waits until it is recorded.
    Asked(Request, oneshot::Sender<Result<(), Refusal>>),
    /// As an input, of an attempt that goes on when it is recorded.
    Told(Input, oneshot::Sender<Result<(), Refusal>>),
    /// Somebody looks; nothing changes.
    Look(Query, oneshot::Sender<Result<View, Refusal>>),
    /// Somebody follows from here on.
    Follow(oneshot::Sender<(u64, mpsc::UnboundedReceiver<Records>)>),
    KillAll,
}

/// What has come in, and who waits for word of it.
struct Arrival {
    input: Input,
    waits: Option<oneshot::Sender<Result<(), Refusal>>>,
}

impl From<Input> for Arrival {
    fn from(input: Input) -> Arrival {
        Arrival { input, waits: None }
    }
}

/// What those who wait are told, once it is durable.
type Words = Vec<(oneshot::Sender<Result<(), Refusal>>, Result<(), Refusal>)>;

/// Asks things of a live run, from anywhere.
#[derive(Debug, Clone)]
pub struct Control {
    messages: mpsc::UnboundedSender<Message>,
}

impl Control {
    pub(crate) fn new(messages: mpsc::UnboundedSender<Message>) -> Control {
        Control { messages }
    }

    /// What an attempt has to say about its task.
    pub(crate) fn report(&self, task: TaskId, attempt: Attempt, report: Report) {
        let _ = self.messages.send(Message::Input(Input::Reported { task, attempt, report }));
    }

    pub fn ask(&self, request: Request) {
        let _ = self.messages.send(Message::Input(Input::Asked(request)));
    }

    /// Whether it was granted, once that is durable; nothing where the run has ended meanwhile.
    pub async fn ask_and_wait(&self, request: Request) -> Option<Result<(), Refusal>> {
        let (waits, word) = oneshot::channel();
        let _ = self.messages.send(Message::Asked(request, waits));
        word.await.ok()
    }

    /// What is asked for, as it is now; nothing where the run has ended meanwhile.
    pub async fn look(&self, query: Query) -> Option<Result<View, Refusal>> {
        let (waits, word) = oneshot::channel();
        let _ = self.messages.send(Message::Look(query, waits));
        word.await.ok()
    }

    /// Everything that becomes durable after the event of this number.
    pub(crate) async fn follow(&self) -> Option<(u64, mpsc::UnboundedReceiver<Records>)> {
        let (waits, word) = oneshot::channel();
        let _ = self.messages.send(Message::Follow(waits));
        word.await.ok()
    }

    /// Ends every process now, without asking it.
    pub fn kill_all(&self) {
        let _ = self.messages.send(Message::KillAll);
    }
}

/// What a run needs of the world.
pub struct World {
    pub store: Arc<dyn Store>,
    pub claim: RunClaim,
    pub rooms: Rooms,
    /// Where the run was started.
    pub directory: PathBuf,
    /// Where transcripts and reports go.
    pub output: PathBuf,
    /// How often to look around while tasks are at work, if at all.
    pub lookout: Option<Duration>,
    /// What to start for somebody who ends what is left behind if we are killed (`process::keep`).
    pub keeper: Option<std::process::Command>,
}

/// How to take the run up.
pub struct Start {
    pub options: Options,
    /// Set back to pending what failed, was skipped or cancelled.
    pub reopen: bool,
}

/// A run that was driven as far as it goes.
pub struct Driven {
    pub run: Run,
    /// Workspaces that are still there because somebody is in them.
    pub parked: Vec<PathBuf>,
    /// Nobody else works on it as long as this is held.
    pub claim: RunClaim,
}

pub struct Drive {
    id: RunId,
    store: Arc<dyn Store>,
    claim: RunClaim,
    directory: PathBuf,
    scheduler: Scheduler,
    first: Option<Decision>,
    clock: Clock,
    bus: Bus,
    control: Control,
    messages: mpsc::UnboundedReceiver<Message>,
    worker: Arc<Worker>,
    attempts: HashMap<TaskId, (Attempt, watch::Sender<Stop>)>,
    merging: Option<watch::Sender<Stop>>,
    at_work: AtWork,
    lookout: Option<(Arc<Lookout>, Duration)>,
    /// Folders that could not be cleared because somebody is in them.
    parked: Vec<PathBuf>,
    notices: mpsc::UnboundedSender<String>,
    to_keep: Option<std::process::Command>,
    teardown: Teardown,
    finished: bool,
}

impl Drive {
    /// Takes up a run that is in the store. Nothing starts before `run` is called, so onlookers miss nothing.
    pub fn new(
        id: RunId,
        run: Run,
        start: Start,
        world: World,
    ) -> Result<(Drive, mpsc::UnboundedReceiver<String>), DriveError> {
        process::raise_descriptor_limit();
        process::adopt_orphans();
        process::end_leftovers(&id, &noted(&run));
        let caller = Caller::new(std::env::vars_os());
        rescue_transcripts(&run, &world.output, &caller);
        let (sender, messages) = mpsc::unbounded_channel();
        let (notices, notice_reader) = mpsc::unbounded_channel();
        let World { store, claim, rooms, directory, output, lookout, keeper } = world;
        if let Some(yard) = rooms.yard() {
            yard.listen(notices.clone());
        }
        let at_work = AtWork::default();
        let lookout = rooms.yard().zip(lookout).map(|(yard, every)| {
            let groups = yard.repository().root.join(crate::groups::FOLDER);
            let ours = vec![output.clone(), yard.home().to_owned(), groups];
            (Arc::new(Lookout::new(yard.clone(), at_work.clone(), ours)), every)
        });
        let worker = Arc::new(Worker {
            run: id.clone(),
            plan: run.plan().clone().into(),
            rooms,
            caller,
            output,
            mail: Mail::default(),
            marks: Default::default(),
            board: Board::default(),
            notices: notices.clone(),
            reports: sender.clone(),
            unpriced: Default::default(),
            debuts: Default::default(),
            baselines: Default::default(),
            crowd: Crowd::new(&start.options.limits),
            desk: Default::default(),
            secured: Default::default(),
            limits: start.options.limits.clone(),
        });
        let (left, troubles) = worker.rooms.rescue_left(&run);
        troubles.into_iter().for_each(|trouble| worker.notice(trouble));
        let mut clock = Clock::start();
        let legacy = Legacy { reopen: start.reopen, left };
        let (scheduler, first) = Scheduler::take_up(run, start.options, clock.now(), legacy)?;
        let teardown = Teardown::new(id.clone());
        let drive = Drive {
            id,
            store,
            claim,
            directory,
            scheduler,
            first: Some(first),
            clock,
            bus: Bus::default(),
            control: Control { messages: sender },
            messages,
            worker,
            attempts: HashMap::new(),
            merging: None,
            at_work,
            lookout,
            parked: Vec::new(),
            notices,
            to_keep: keeper,
            teardown,
            finished: false,
        };
        Ok((drive, notice_reader))
    }

    pub fn control(&self) -> Control {
        self.control.clone()
    }

    pub fn subscribe(&mut self) -> mpsc::UnboundedReceiver<Records> {
        self.bus.subscribe()
    }

    /// What attempts are doing, for whoever looks on.
    pub fn board(&self) -> Board {
        self.worker.board.clone()
    }

    pub fn scheduler(&self) -> &Scheduler {
        &self.scheduler
    }

    /// Drives the run until nothing is left to do or to wait for.
    pub async fn run(mut self) -> Result<Driven, DriveError> {
        let looking = self
            .lookout
            .clone()
            .map(|(lookout, every)| tokio::spawn(lookout.keep(every, self.control.messages.clone())));
        let counter = Counter::open(self.claim.directory(), self.control.clone());
        if let Err(error) = &counter {
            self.notice(format!("nobody can ask anything of this run from outside: {error}"));
        }
        if let Some(first) = self.first.take() {
            self.carry_out(first).await?;
        }
        while !self.finished {
            let arrivals = self.gather().await;
            let (decision, words) = self.decide(arrivals);
            self.carry_out(decision).await?;
            for (waits, word) in words {
                let _ = waits.send(word);
            }
        }
        // Whoever asks too late is told that nobody is there any more.
        self.messages.close();
        while self.messages.try_recv().is_ok() {}
        if let Ok(counter) = counter {
            counter.close().await;
        }
        looking.inspect(|looking| looking.abort());
        self.teardown.finish().await;
        self.look_a_last_time().await?;
        self.clear_rooms().await;
        Ok(Driven { run: self.scheduler.into_run(), parked: self.parked, claim: self.claim })
    }

    /// Everything that has happened, as soon as anything has that cannot wait.
    async fn gather(&mut self) -> Vec<Arrival> {
        let mut inputs = Vec::new();
        let due = self.scheduler.next_deadline().map_or(HEARTBEAT, |tick| self.clock.until(tick));
        let mut latest = Instant::now() + due.min(HEARTBEAT);
        loop {
            let woken = tokio::select! {
                biased;
                message = self.messages.recv() => message,
                () = tokio::time::sleep_until(latest) => None,
            };
            let mut urgent = self.accept(woken, &mut inputs);
            while let Ok(message) = self.messages.try_recv() {
                urgent |= self.accept(Some(message), &mut inputs);
            }
            let now = Instant::now();
            if urgent || now >= latest {
                return inputs;
            }
            latest = latest.min(now + LAZY);
        }
    }

    fn accept(&mut self, message: Option<Message>, inputs: &mut Vec<Arrival>) -> bool {
        match message {
            Some(Message::Input(input)) => {
                if matches!(input, Input::ProcessStarted { .. }) {
                    self.see_to_a_keeper();
                }
                let urgent = !matches!(input, Input::ProcessStarted { .. } | Input::UsageReported { .. });
                inputs.push(input.into());
                urgent
            }
            Some(Message::Asked(request, waits)) => {
                inputs.push(Arrival { input: Input::Asked(request), waits: Some(waits) });
                true
            }
            Some(Message::Told(input, waits)) => {
                inputs.push(Arrival { input, waits: Some(waits) });
                true
            }
            Some(Message::Look(query, waits)) => {
                let _ = waits.send(self.view(query));
                false
            }
            Some(Message::Follow(waits)) => {
                let _ = waits.send((self.scheduler.run().seq(), self.bus.subscribe()));
                false
            }
            Some(Message::KillAll) => {
                for stop in self.attempts.values().map(|(_, stop)| stop).chain(&self.merging) {
                    let _ = stop.send(Stop::Kill);
                }
                false
            }
            None => false,
        }
    }

    /// Before the first agent, which spends from its first moment on, and from the first command on that lasts; very short
    /// ones leave nothing that would need one.
    fn see_to_a_keeper(&mut self) {
        if let Some(mut command) = self.to_keep.take()
            && let Err(error) = self.teardown.keep(&mut command)
        {
            self.notice(format!("what we leave behind if we are killed would go on: {error}"));
        }
    }

    /// All that was decided is durable when this is asked.
    fn view(&mut self, query: Query) -> Result<View, Refusal> {
        let now = self.clock.now();
        let known = |task: TaskId| self.scheduler.run().place(&task).ok_or(Refusal::UnknownTask(task));
        Ok(match query {
            Query::Snapshot => {
                let mut snapshot = self.scheduler.snapshot(now);
                self.worker.board.complete(&mut snapshot);
                let (run, directory) = (self.id.clone(), self.directory.clone());
                View::Snapshot(Box::new(Glance { run, directory, pid: std::process::id(), snapshot }))
            }
            Query::Why(task) => {
                let place = known(task)?;
                let status = self.scheduler.run().progress(place).state.status().name().to_owned();
                View::Why(Why { status, why: self.scheduler.why_waiting(place, now) })
            }
            Query::Tasks => {
                let asked = self.scheduler.run().asked();
                View::Tasks(asked.map(|(_, task, progress)| listed((task, progress))).collect())
            }
            Query::Heard(task) => {
                let progress = self.scheduler.run().progress(known(task)?);
                let at_work = matches!(&progress.state, TaskState::Running(running) if !running.ended);
                let executor = progress.executor.unwrap_or_default();
                View::Heard(Heard {
                    attempt: Attempt(progress.last_attempt),
                    executor,
                    at_work,
                    ended: progress.state.status().is_end(),
                    clear: self.worker.marks.clear(executor),
                })
            }
        })
    }

    /// Ends that were reported count before deadlines that have passed: whoever made it in time has made it.
    fn decide(&mut self, arrivals: Vec<Arrival>) -> (Decision, Words) {
        let now = self.clock.now();
        let due = self.scheduler.next_deadline().is_some_and(|tick| tick <= now.tick);
        let timer = due.then_some(Input::TimerDue.into());
        let (mut all, mut words) = (Decision::default(), Words::new());
        for Arrival { input, waits } in arrivals.into_iter().chain(timer) {
            if let Input::AttemptEnded { task, attempt, .. } = &input
                && self.attempts.get(task).is_some_and(|(current, _)| current == attempt)
            {
                self.attempts.remove(task);
                drop(self.worker.mail.take(task));
                self.at_work.ends(task);
            }
            if input == Input::Asked(Request::Stop) {
                // What is being checked before it lands is put off; what is being moved is moved.
                self.merging.iter().for_each(ask);
            }
            let decision = self.scheduler.handle(now, input);
            all.records.extend(decision.records);
            all.actions.extend(decision.actions);
            match (waits, decision.refused) {
                (Some(waits), refused) => words.push((waits, refused.map_or(Ok(()), Err))),
                (None, Some(refusal)) => self.notice(refusal.to_string()),
                (None, None) => {}
            }
        }
        (all, words)
    }

    async fn carry_out(&mut self, decision: Decision) -> Result<(), DriveError> {
        if !decision.records.is_empty() {
            self.append(&decision.records).await?;
            if decision.records.iter().any(|record| matches!(record.event, Event::PlanAmended { .. })) {
                self.worker.plan.set(self.scheduler.run().plan().clone());
            }
            self.bus.publish(decision.records);
        }
        for action in decision.actions {
            self.perform(action);
        }
        Ok(())
    }

    /// Waits for a full disk or a foreign lock to go away; only what no waiting can mend is an error.
    async fn append(&mut self, records: &[Record]) -> Result<(), DriveError> {
        let mut wait = FIRST_WAIT;
        let mut told = None;
        loop {
            match self.store.append(&self.id, records).await {
                Ok(()) if told.is_some() => {
                    self.notice("the store can be written again, going on".to_owned());
                    return Ok(());
                }
                Ok(()) => return Ok(()),
                Err(StoreError::Unavailable { why }) => {
                    if told.as_ref() != Some(&why) {
                        self.notice(format!("{why}; nothing is lost, waiting for it"));
                        told = Some(why);
                    }
                    tokio::time::sleep(wait).await;
                    wait = (wait * 2).min(LONGEST_WAIT);
                }
                Err(error) => return Err(error.into()),
            }
        }
    }

    fn perform(&mut self, action: Action) {
        match action {
            Action::Start { task, attempt, executor, hand, beginning } => {
                if let Some(place) = self.scheduler.run().place(&task) {
                    self.start(Order { place, task, attempt, executor, hand, beginning });
                }
            }
            Action::Stop { task, attempt, .. } => {
                if let Some((current, stop)) = self.attempts.get(&task)
                    && *current == attempt
                {
                    ask(stop);
                }
            }
            Action::Say { task, attempt, words } => {
                if self.attempts.get(&task).is_some_and(|(current, _)| *current == attempt) {
                    self.worker.mail.put(&task, words);
                }
            }
            Action::Integrate { cars } => self.integrate(cars),
            Action::MoveBranch { from, to } => self.move_branch(from, to),
            Action::Finish => self.finished = true,
        }
    }

    /// Merges off the loop and reports back; the scheduler asks for one train at a time.
    fn integrate(&mut self, cars: Vec<Car>) {
        let Some(yard) = self.yard() else { return };
        let (stop, stopped) = watch::channel(Stop::No);
        self.merging = Some(stop);
        tokio::spawn(train::integrate(self.worker.clone(), yard, cars, stopped));
    }

    fn move_branch(&mut self, from: String, to: String) {
        let Some(yard) = self.yard() else { return };
        let (stop, stopped) = watch::channel(Stop::No);
        self.merging = Some(stop);
        tokio::spawn(train::move_branch(self.worker.clone(), yard, from, to, stopped));
    }

    fn yard(&self) -> Option<Arc<Yard>> {
        self.worker.rooms.yard().cloned()
    }

    fn start(&mut self, order: Order) {
        if order.hand.is_some() {
            self.see_to_a_keeper();
        }
        let (stop, stopped) = watch::channel(Stop::No);
        self.attempts.insert(order.task.clone(), (order.attempt, stop));
        if self.lookout.is_some()
            && self.worker.rooms.is_apart(&self.scheduler.run().plan().tasks[order.place])
        {
            self.at_work.begins(&order.task, self.worker.guest(&order).seat());
        }
        tokio::spawn(self.worker.clone().work(order, stopped));
    }

    /// What somebody did in the last moments counts too.
    async fn look_a_last_time(&mut self) -> Result<(), DriveError> {
        let Some((lookout, _)) = self.lookout.clone() else { return Ok(()) };
        let seen = tokio::task::spawn_blocking(move || lookout.checkout()).await.ok().flatten();
        if let Some(input) = seen {
            let (decision, _) = self.decide(vec![input.into()]);
            self.carry_out(decision).await?;
        }
        Ok(())
    }

    /// A run that is over needs no workspaces; one that was only left may be taken up again soon.
    async fn clear_rooms(&mut self) {
        let (Some(yard), true) = (self.yard(), self.scheduler.run().all_ended()) else { return };
        let works = works(self.scheduler.run());
        match aside(true, move || yard.clear(&works)).await {
            Ok(parked) => self.parked = parked,
            Err(error) => self.notice(format!("workspaces could not be cleared: {error}")),
        }
    }

    fn notice(&self, text: String) {
        let _ = self.notices.send(text);
    }
}

fn listed((task, progress): (&Task, &Progress)) -> Listed {
    Listed {
        id: task.id.clone(),
        name: task.name.clone(),
        status: progress.state.status().name().to_owned(),
        dependencies: task.dependencies.iter().map(|on| on.id.clone()).collect(),
        commit: progress.landed.as_ref().map(|landed| landed.commit.clone()),
    }
}

/// Whoever is to be killed already is not asked any more: only the last word is heard.
fn ask(stop: &watch::Sender<Stop>) {
    stop.send_if_modified(|wish| std::mem::replace(wish, (*wish).max(Stop::Ask)) < Stop::Ask);
}

/// The processes a dead coordinator had noted as running.
fn noted(run: &Run) -> Vec<conductor_core::event::Process> {
    run.tasks()
        .filter_map(|(_, progress)| match &progress.state {
            TaskState::Running(running) => running.process,
            _ => None,
        })
        .collect()
}

/// What interrupted attempts had written goes where their transcripts belong. One that cannot be moved stays in its
/// spool, and no other attempt writes there.
fn rescue_transcripts(run: &Run, output: &Path, caller: &Caller) {
    for (task, progress) in run.tasks() {
        if let TaskState::Running(running) = &progress.state {
            let (executor, attempt) = (running.executor, running.attempt);
            let _ = Speaker { output, executor, task: &task.id, attempt }
                .rescue(&caller.redactor(run.plan(), task));
        }
    }
}
