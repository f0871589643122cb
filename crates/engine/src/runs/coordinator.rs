//! The loop: gather what happened, let the scheduler decide, make it durable, tell it, do it.
//!
//! Nothing is done before the event that announces it is in the store, but for stopping (`holding`); how safely it is there
//! depends on what is done (`backlog`). All that has piled up while a turn was being written goes into the next one, so the
//! busier the run, the fewer the commits. However it ends, everything it has started is ended (`ending`).

mod backlog;
mod ending;
mod holding;
mod sweeping;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use conductor_core::plan::graph::GraphError;
use conductor_core::plan::{Plan, Task};
use conductor_core::run::event::{Failure, FailureClass, Options, Outcome, StopReason};
use conductor_core::run::{IllegalEvent, Progress, Run, TaskState};
use conductor_core::schedule::{
    Action, Car, Decision, Input, LeftBehind, Refusal, Request, ResumeState, Scheduler,
};
use conductor_core::values::ids::{Attempt, RunId, TaskId};
use thiserror::Error;
use tokio::sync::{mpsc, oneshot, watch};
use tokio::time::Instant;

use crate::agents::{self, Caller};
use crate::dispatch::board::{Board, Phase};
use crate::dispatch::{Control, Heard, Listed, LiveView, Message, Query, View, Why};
use crate::git::workspaces::{RunRepo, Workspaces, works};
use crate::host::clock::{Clock, HEARTBEAT};
use crate::host::home::RunClaim;
use crate::host::panics::caught;
use crate::host::redact;
use crate::host::shortage;
use crate::process::transcript::Speaker;
use crate::process::{self, Teardown};
use crate::runs::conflict_monitor::{AtWork, ConflictMonitor};
use crate::runs::control::ControlServer;
use crate::stores::bus::{Bus, Records};
use crate::stores::{Store, StoreError};
use crate::worker::train;
use crate::worker::{AgentLimits, MessageQueue, Order, Stop, Worker, aside, left_usage};
use backlog::Backlog;
use holding::Turn;
use sweeping::Sweeps;

/// The number of a process and what an agent has used wait for company; everything else is acted on at once.
const LAZY: Duration = Duration::from_millis(50);

#[derive(Debug, Error)]
pub enum DriveError {
    #[error(transparent)]
    Graph(#[from] GraphError),
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The user killed the run while the store could not be written.
    #[error("the end of the run could not be recorded: {why}")]
    Unrecorded { why: String },
    /// A mistake in the rules: nothing of what was to follow is recorded or done.
    #[error("internal error: the run decided what its own rules refuse: {0}")]
    Illegal(#[from] IllegalEvent),
    /// A mistake in this program.
    #[error("internal error: {0}")]
    Panicked(String),
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

/// A stage that is about to begin.
pub struct AboutToBegin {
    pub plan: Arc<Plan>,
    pub tasks: Vec<TaskId>,
    /// What is done of the plan.
    pub completed: BTreeSet<TaskId>,
}

/// Tells which tasks of a stage cannot be done now, and why. Blocks.
pub type Examiner = Arc<dyn Fn(&AboutToBegin) -> Result<BTreeMap<TaskId, String>, String> + Send + Sync>;

/// What a run needs of the world.
pub struct World {
    pub store: Arc<dyn Store>,
    pub claim: RunClaim,
    pub workspaces: Workspaces,
    /// Where the run was started.
    pub directory: PathBuf,
    /// Where transcripts and reports go.
    pub output: PathBuf,
    /// What else this command writes to or was given, and is no change of the user's or of an agent's: its task file, where
    /// its output was sent.
    pub ours: Vec<PathBuf>,
    /// How often to look around while tasks are at work, if at all.
    pub conflict_monitor: Option<Duration>,
    /// Who looks up what blocks the tasks of a stage, where that may change.
    pub examiner: Option<Examiner>,
    /// Starts the process that ends what is left behind if we are killed (`process::keep`).
    pub reaper: Option<std::process::Command>,
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
    /// Workspaces that were not cleared because they are in use.
    pub parked: Vec<PathBuf>,
    /// No other process works on the run as long as this is held.
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
    conflict_monitor: Option<(Arc<ConflictMonitor>, Duration)>,
    examiner: Option<Examiner>,
    /// What has come in and is still to be decided.
    arrived: Vec<Arrival>,
    /// Up to which event everything is on the disk, and what is only written so far.
    durable: u64,
    backlog: Backlog,
    /// Who looks and is answered when all there is to see is on the disk.
    looks: Vec<(Query, oneshot::Sender<Result<View, Refusal>>)>,
    /// Why the store cannot be written, as long as it cannot.
    away: Option<String>,
    /// Since when something waits for the store, and whether the user knows that an end does.
    missed_since: Option<Instant>,
    told_unrecorded: bool,
    /// The user wants everything ended at once.
    is_killed: bool,
    /// Stopped while their start was still to be recorded: they do not begin.
    called_off: HashSet<(TaskId, Attempt)>,
    /// Workspaces that could not be cleared because they are in use.
    parked: Vec<PathBuf>,
    sweeps: Sweeps,
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
        process::end_leftovers(&id, world.claim.directory(), &noted(&run));
        process::record_descent(world.claim.directory());
        let caller = Caller::new(std::env::vars_os());
        agents::keep_secrets_of(run.plan());
        let (used, uncounted) = left_usage(&run, &world.output);
        rescue_transcripts(&run, &world.output, &caller);
        let (sender, messages) = mpsc::unbounded_channel();
        let (notices, notice_reader) = mpsc::unbounded_channel();
        let World {
            store,
            claim,
            workspaces,
            directory,
            output,
            mut ours,
            conflict_monitor,
            examiner,
            reaper,
        } = world;
        if let Some(run_repo) = workspaces.run_repo() {
            run_repo.listen(notices.clone());
        }
        let at_work = AtWork::default();
        ours.extend([output.clone(), claim.home(), directory.join(conductor_core::plan::groups::ROOT)]);
        ours.extend(
            workspaces
                .run_repo()
                .map(|run_repo| run_repo.repository().root.join(conductor_core::plan::groups::ROOT)),
        );
        let conflict_monitor = workspaces.run_repo().zip(conflict_monitor).map(|(run_repo, every)| {
            (Arc::new(ConflictMonitor::new(run_repo.clone(), at_work.clone(), ours.clone())), every)
        });
        let worker = Arc::new(Worker {
            run: id.clone(),
            plan: run.plan().clone().into(),
            workspaces,
            caller,
            output,
            ours,
            message_queue: MessageQueue::default(),
            marks: Default::default(),
            board: Board::default(),
            notices: notices.clone(),
            reports: sender.clone(),
            warned: Default::default(),
            accounts: Default::default(),
            first_starts: Default::default(),
            baselines: Default::default(),
            base_checks: Default::default(),
            agent_limits: AgentLimits::new(&start.options.limits),
            tool_server: Default::default(),
            supplies: Default::default(),
            secured: Default::default(),
            limits: start.options.limits.clone(),
        });
        let (left, troubles) = worker.workspaces.rescue_left(&run);
        troubles.into_iter().chain(uncounted).for_each(|trouble| worker.notice(trouble));
        let durable = run.seq();
        let mut clock = Clock::start();
        let left = left.into_iter().map(|(task, left)| (task, redact::known().change(left))).collect();
        let resume_state = ResumeState { reopen: start.reopen, left, used };
        let (scheduler, first) = Scheduler::take_up(run, start.options, clock.now(), resume_state)?;
        let teardown = Teardown::new(id.clone(), claim.directory());
        let drive = Drive {
            id,
            store,
            claim,
            directory,
            scheduler,
            first: Some(first),
            clock,
            bus: Bus::default(),
            control: Control::new(sender),
            messages,
            worker,
            attempts: HashMap::new(),
            merging: None,
            at_work,
            conflict_monitor,
            examiner,
            arrived: Vec::new(),
            durable,
            backlog: Backlog::default(),
            looks: Vec::new(),
            away: None,
            missed_since: None,
            told_unrecorded: false,
            is_killed: false,
            called_off: HashSet::new(),
            parked: Vec::new(),
            sweeps: Sweeps::default(),
            notices,
            to_keep: reaper,
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

    /// What attempts are doing right now, for a live display.
    pub fn board(&self) -> Board {
        self.worker.board.clone()
    }

    pub fn scheduler(&self) -> &Scheduler {
        &self.scheduler
    }

    /// Drives the run until nothing is left to do or to wait for.
    pub async fn run(mut self) -> Result<Driven, DriveError> {
        let looking = self.conflict_monitor.clone().map(|(conflict_monitor, every)| {
            let (keeping, notices) =
                (conflict_monitor.keep(every, self.control.sender()), self.notices.clone());
            tokio::spawn(async move {
                if let Err(panic) = caught(keeping).await {
                    let _ = notices
                        .send(format!("internal error: conflicts are not looked for any more: {panic}"));
                }
            })
        });
        let counter = ControlServer::open(self.claim.directory(), self.control.clone());
        if let Err(error) = &counter {
            self.notice(format!("the control socket could not be opened: {error}"));
        }
        self.teardown.gather();
        let driven = caught(self.take_turns()).await.unwrap_or_else(|panic| Err(DriveError::Panicked(panic)));
        if let Ok(counter) = counter {
            self.close(counter).await;
        }
        looking.inspect(|looking| looking.abort());
        if let Err(error) = driven {
            self.end_all(&error).await;
            return Err(error);
        }
        self.teardown.finish().await;
        self.look_a_last_time().await?;
        self.messages.close();
        while self.messages.try_recv().is_ok() {}
        self.clear_rooms().await;
        Ok(Driven { run: self.scheduler.into_run(), parked: self.parked, claim: self.claim })
    }

    async fn take_turns(&mut self) -> Result<(), DriveError> {
        if let Some(Decision { records, actions, illegal, .. }) = self.first.take() {
            self.carry_out(Turn { records, actions, illegal, ..Turn::default() }).await?;
        }
        while !self.finished {
            let arrivals = self.gather().await;
            let turn = self.decide(arrivals);
            self.carry_out(turn).await?;
            self.sweep_spare();
        }
        Ok(())
    }

    /// Everything that has happened, as soon as anything has that cannot wait. Nothing is lost where it is called off.
    async fn gather(&mut self) -> Vec<Arrival> {
        let due = self.scheduler.next_deadline().map_or(HEARTBEAT, |tick| self.clock.until(tick));
        let longest = if self.arrived.is_empty() { HEARTBEAT } else { LAZY };
        let mut latest = Instant::now() + due.min(longest);
        loop {
            latest = self.backlog.due().map_or(latest, |due| due.min(latest));
            let woken = tokio::select! {
                biased;
                message = self.messages.recv() => message,
                appended = self.backlog.appended() => {
                    match self.settle(appended) {
                        true => continue,
                        false => return std::mem::take(&mut self.arrived),
                    }
                }
                () = tokio::time::sleep_until(latest) => None,
            };
            let mut urgent = self.accept(woken);
            while let Ok(message) = self.messages.try_recv() {
                urgent |= self.accept(Some(message));
            }
            let now = Instant::now();
            if urgent || now >= latest {
                return std::mem::take(&mut self.arrived);
            }
            latest = latest.min(now + LAZY);
        }
    }

    fn accept(&mut self, message: Option<Message>) -> bool {
        match message {
            Some(Message::Input(input)) => {
                if matches!(input, Input::ProcessStarted { .. }) {
                    self.see_to_a_keeper();
                }
                let urgent = !matches!(
                    input,
                    Input::ProcessStarted { .. } | Input::UsageReported { .. } | Input::WorkHandedIn { .. }
                );
                self.arrived.push(input.into());
                urgent
            }
            Some(Message::Asked(request, waits)) => {
                self.arrived.push(Arrival { input: Input::Asked(request), waits: Some(waits) });
                true
            }
            Some(Message::Told(input, waits)) => {
                self.arrived.push(Arrival { input, waits: Some(waits) });
                true
            }
            Some(Message::Look(query, waits)) if self.backlog.is_empty() || self.missed_since.is_some() => {
                let _ = waits.send(self.view(query));
                false
            }
            Some(Message::Look(query, waits)) => {
                self.looks.push((query, waits));
                true
            }
            Some(Message::Follow(waits)) => {
                let _ = waits.send((self.durable, self.bus.subscribe()));
                false
            }
            Some(Message::KillAll) => {
                self.is_killed = true;
                self.kill_all();
                true
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

    /// As it was decided; while the store cannot be written, the last of it is not durable yet.
    fn view(&mut self, query: Query) -> Result<View, Refusal> {
        let now = self.clock.now();
        let known = |task: TaskId| self.scheduler.run().place(&task).ok_or(Refusal::UnknownTask(task));
        Ok(match query {
            Query::Snapshot => {
                let mut snapshot = self.scheduler.snapshot(now);
                self.worker.board.complete(&mut snapshot);
                let (run, directory, away) = (self.id.clone(), self.directory.clone(), self.away.clone());
                View::Snapshot(Box::new(LiveView { run, directory, pid: std::process::id(), snapshot, away }))
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

    /// Reported ends count before deadlines that have passed: an attempt that ended in time never times out.
    fn decide(&mut self, arrivals: Vec<Arrival>) -> Turn {
        let now = self.clock.now();
        let due = self.scheduler.next_deadline().is_some_and(|tick| tick <= now.tick);
        let timer = due.then_some(Input::TimerDue.into());
        let mut turn = Turn::default();
        for Arrival { input, waits } in arrivals.into_iter().chain(timer) {
            self.note_end(&input);
            if input == Input::Asked(Request::Stop) {
                // What is being checked before it lands is put off; what is being moved is moved.
                self.merging.iter().for_each(ask);
            }
            let decision = self.scheduler.handle(now, redact::known().input(input));
            if decision.illegal.is_some() {
                turn.illegal = decision.illegal;
                break;
            }
            turn.records.extend(decision.records);
            turn.actions.extend(decision.actions);
            match (waits, decision.refused) {
                (Some(waits), refused) => turn.words.push((waits, refused.map_or(Ok(()), Err))),
                (None, Some(refusal)) => self.notice(refusal.to_string()),
                (None, None) => {}
            }
        }
        turn
    }

    fn perform(&mut self, action: Action) {
        match action {
            Action::Start { task, attempt, executor, choice, start_from } => {
                if let Some(place) = self.scheduler.run().place(&task) {
                    self.start(Order { place, task, attempt, executor, choice, start_from });
                }
            }
            // What was handed in meanwhile is checked to the end.
            Action::Stop { task, attempt, why: StopReason::Preempted }
                if self
                    .worker
                    .board
                    .of(&task)
                    .is_some_and(|doing| doing.attempt == attempt && doing.phase == Phase::Verifying) => {}
            Action::Stop { task, attempt, .. } => self.stop(&task, attempt),
            Action::Say { task, attempt, words } => {
                if self.attempts.get(&task).is_some_and(|(current, _)| *current == attempt) {
                    self.worker.message_queue.put(&task, words);
                }
            }
            Action::Integrate { cars } => self.integrate(cars),
            Action::MoveBranch { from, to } => self.move_branch(from, to),
            Action::Examine { stage } => self.examine(stage),
            Action::Finish => self.finished = true,
        }
    }

    /// Merges off the loop and reports back; the scheduler asks for one train at a time.
    fn integrate(&mut self, cars: Vec<Car>) {
        let Some(run_repo) = self.run_repo() else { return };
        let (stop, stopped) = watch::channel(Stop::No);
        self.merging = Some(stop);
        let worker = self.worker.clone();
        let aboard: Vec<(TaskId, Attempt)> = cars.iter().map(|car| (car.task.clone(), car.attempt)).collect();
        tokio::spawn(async move {
            if let Err(panic) = caught(train::integrate(worker.clone(), run_repo, cars, stopped)).await {
                let left = |(task, attempt)| LeftBehind { task, attempt, failure: internal(&panic) };
                let failed = aboard.into_iter().map(left).collect();
                worker.report(Input::MergesPrepared { from: String::new(), stacked: Vec::new(), failed });
            }
        });
    }

    /// Looks up off the loop what blocks a stage. Where that fails, what was known at the start of the run counts.
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
        tokio::spawn(async move {
            let looked = tokio::task::spawn_blocking(move || examiner(&about)).await;
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
        });
    }

    fn move_branch(&mut self, from: String, to: String) {
        let Some(run_repo) = self.run_repo() else { return };
        let (stop, stopped) = watch::channel(Stop::No);
        self.merging = Some(stop);
        let worker = self.worker.clone();
        tokio::spawn(async move {
            let moving = train::move_branch(worker.clone(), run_repo, from, to.clone(), stopped);
            if let Err(panic) = caught(moving).await {
                worker.report(Input::BranchStuck { to, failure: internal(&panic) });
            }
        });
    }

    fn run_repo(&self) -> Option<Arc<RunRepo>> {
        self.worker.workspaces.run_repo().cloned()
    }

    fn start(&mut self, order: Order) {
        if self.called_off.remove(&(order.task.clone(), order.attempt)) {
            return self.worker.report(ended(&order, Outcome::Interrupted));
        }
        if order.choice.is_some() {
            self.see_to_a_keeper();
        }
        let (stop, stopped) = watch::channel(Stop::No);
        self.attempts.insert(order.task.clone(), (order.attempt, stop));
        if self.conflict_monitor.is_some()
            && self.worker.workspaces.is_apart(&self.scheduler.run().plan().tasks[order.place])
        {
            self.at_work.begins(&order.task, self.worker.request(&order).workspace_name());
        }
        let worker = self.worker.clone();
        let sweep = self.sweeps.reuse(order.executor);
        tokio::spawn(async move {
            if let Some(sweep) = sweep {
                let _ = sweep.await;
            }
            if let Err(panic) = caught(worker.clone().work(order.clone(), stopped)).await {
                worker.sweep(&order).await;
                worker.report(ended(&order, Outcome::Failed(internal(&panic))));
            }
        });
    }

    /// One that has not begun, because its start is still to be recorded, never begins.
    fn stop(&mut self, task: &TaskId, attempt: Attempt) {
        match self.attempts.get(task) {
            Some((current, stop)) if *current == attempt => ask(stop),
            _ => drop(self.called_off.insert((task.clone(), attempt))),
        }
    }

    /// How everything that is at work is told to end.
    fn stops(&self) -> impl Iterator<Item = &watch::Sender<Stop>> {
        self.attempts.values().map(|(_, stop)| stop).chain(&self.merging)
    }

    /// Changes to the user's checkout in the last moments of the run are reported too.
    async fn look_a_last_time(&mut self) -> Result<(), DriveError> {
        let Some((conflict_monitor, _)) = self.conflict_monitor.clone() else { return Ok(()) };
        let seen = tokio::task::spawn_blocking(move || conflict_monitor.checkout()).await.ok().flatten();
        if let Some(input) = seen {
            let turn = self.decide(vec![input.into()]);
            self.carry_out(turn).await?;
        }
        Ok(())
    }

    /// A run that is over needs no workspaces; one that was only left may be taken up again soon.
    async fn clear_rooms(&mut self) {
        self.sweeps.end().await;
        let (Some(run_repo), true) = (self.run_repo(), self.scheduler.run().all_ended()) else { return };
        let works = works(self.scheduler.run());
        let clear = async || {
            let (run_repo, works) = (run_repo.clone(), works.clone());
            aside(true, move || run_repo.clear(&works)).await
        };
        match shortage::for_a_while(|word| self.notice(word), clear).await {
            Ok(parked) => self.parked = parked,
            Err(error) => self.notice(format!("workspaces could not be cleared: {error}")),
        }
    }

    fn notice(&self, text: String) {
        let _ = self.notices.send(redact::known().string(text));
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

fn ended(order: &Order, outcome: Outcome) -> Input {
    let (task, attempt) = (order.task.clone(), order.attempt);
    Input::AttemptEnded { task, attempt, outcome, change: None, phases: None }
}

fn stale(group: &str, why: &str) -> String {
    format!(
        "what blocks group {group} could not be looked up again, so what was known at the start counts: {why}"
    )
}

/// Not the work's fault.
fn internal(panic: &str) -> Failure {
    Failure::new(FailureClass::Internal, format!("internal error: {panic}"))
}

/// A request to stop never replaces an order to kill: the receiver sees only the last value.
fn ask(stop: &watch::Sender<Stop>) {
    stop.send_if_modified(|wish| std::mem::replace(wish, (*wish).max(Stop::Ask)) < Stop::Ask);
}

/// The processes a dead coordinator had noted as running.
fn noted(run: &Run) -> Vec<conductor_core::run::event::Process> {
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
