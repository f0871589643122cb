//! The loop: gather what happened, let the scheduler decide, make it durable, tell it, do it.
//!
//! Nothing is done before the event that announces it is in the store. All that has piled up while a turn was being
//! written goes into the next one, so the busier the run, the fewer the commits.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use conductor_core::event::{Change, Failure, FailureClass, Options, Record};
use conductor_core::graph::GraphError;
use conductor_core::ids::{Attempt, RunId, TaskId};
use conductor_core::run::{Run, TaskState};
use conductor_core::scheduler::{Action, Decision, Input, Request, Scheduler};
use thiserror::Error;
use tokio::sync::{mpsc, watch};

use crate::agents::Caller;
use crate::bus::{Bus, Records};
use crate::clock::{Clock, HEARTBEAT};
use crate::home::RunClaim;
use crate::merge::{self, Prepared, Unmerged};
use crate::process;
use crate::stores::{Store, StoreError};
use crate::transcript::{MERGE, Speaker};
use crate::worker::{Order, Stop, Worker, aside, guest};
use crate::workspaces::{Rooms, WorkspaceError, Workspaces as _, Worktrees};

/// The number of a process is good to know and waits for company; everything else is acted on at once.
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
    KillAll,
}

/// Asks things of a live run, from anywhere.
#[derive(Debug, Clone)]
pub struct Control {
    messages: mpsc::UnboundedSender<Message>,
}

impl Control {
    pub fn ask(&self, request: Request) {
        let _ = self.messages.send(Message::Input(Input::Asked(request)));
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
    /// Where transcripts and reports go.
    pub output: PathBuf,
}

/// How to take the run up.
pub struct Start {
    pub options: Options,
    /// Set back to pending what failed, was skipped or cancelled.
    pub reopen: bool,
}

pub struct Drive {
    id: RunId,
    store: Arc<dyn Store>,
    _claim: RunClaim,
    scheduler: Scheduler,
    first: Option<Decision>,
    clock: Clock,
    bus: Bus,
    control: Control,
    messages: mpsc::UnboundedReceiver<Message>,
    worker: Arc<Worker>,
    attempts: HashMap<TaskId, (Attempt, watch::Sender<Stop>)>,
    merging: Option<watch::Sender<Stop>>,
    notices: mpsc::UnboundedSender<String>,
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
        rescue_transcripts(&run, &world.output);
        rescue_work(&run, &world.rooms);
        let mut clock = Clock::start();
        let take_up = if start.reopen { Scheduler::start_again } else { Scheduler::start };
        let (scheduler, first) = take_up(run, start.options, clock.now())?;
        let (sender, messages) = mpsc::unbounded_channel();
        let (notices, notice_reader) = mpsc::unbounded_channel();
        let World { store, claim, rooms, output } = world;
        let worker = Arc::new(Worker {
            run: id.clone(),
            plan: scheduler.run().plan().clone(),
            rooms,
            caller: Caller::new(std::env::vars_os()),
            output,
            reports: sender.clone(),
        });
        let drive = Drive {
            id,
            store,
            _claim: claim,
            scheduler,
            first: Some(first),
            clock,
            bus: Bus::default(),
            control: Control { messages: sender },
            messages,
            worker,
            attempts: HashMap::new(),
            merging: None,
            notices,
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

    pub fn scheduler(&self) -> &Scheduler {
        &self.scheduler
    }

    /// Drives the run until nothing is left to do or to wait for.
    pub async fn run(mut self) -> Result<Run, DriveError> {
        if let Some(first) = self.first.take() {
            self.carry_out(first).await?;
        }
        while !self.finished {
            let inputs = self.gather().await;
            let decision = self.decide(inputs);
            self.carry_out(decision).await?;
        }
        process::sweep_all(&self.id).await;
        self.clear_rooms().await;
        Ok(self.scheduler.into_run())
    }

    /// Everything that has happened, as soon as anything has that cannot wait.
    async fn gather(&mut self) -> Vec<Input> {
        let mut inputs = Vec::new();
        let mut patience = HEARTBEAT;
        loop {
            let due = self.scheduler.next_deadline().map(|tick| self.clock.until(tick));
            let sleep = tokio::time::sleep(due.unwrap_or(HEARTBEAT).min(patience));
            let woken = tokio::select! {
                biased;
                message = self.messages.recv() => message,
                () = sleep => None,
            };
            let slept = woken.is_none();
            let mut urgent = self.accept(woken, &mut inputs);
            while let Ok(message) = self.messages.try_recv() {
                urgent |= self.accept(Some(message), &mut inputs);
            }
            if urgent || slept {
                return inputs;
            }
            patience = LAZY;
        }
    }

    fn accept(&mut self, message: Option<Message>, inputs: &mut Vec<Input>) -> bool {
        match message {
            Some(Message::Input(input)) => {
                let urgent = !matches!(input, Input::ProcessStarted { .. });
                inputs.push(input);
                urgent
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

    /// Ends that were reported count before deadlines that have passed: whoever made it in time has made it.
    fn decide(&mut self, inputs: Vec<Input>) -> Decision {
        let now = self.clock.now();
        let due = self.scheduler.next_deadline().is_some_and(|tick| tick <= now.tick);
        let timer = due.then_some(Input::TimerDue);
        let mut all = Decision::default();
        for input in inputs.into_iter().chain(timer) {
            if let Input::AttemptEnded { task, attempt, .. } = &input
                && self.attempts.get(task).is_some_and(|(current, _)| current == attempt)
            {
                self.attempts.remove(task);
            }
            let decision = self.scheduler.handle(now, input);
            all.records.extend(decision.records);
            all.actions.extend(decision.actions);
            if let Some(refusal) = decision.refused {
                self.notice(refusal.to_string());
            }
        }
        all
    }

    async fn carry_out(&mut self, decision: Decision) -> Result<(), DriveError> {
        if !decision.records.is_empty() {
            self.append(&decision.records).await?;
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
            Action::Start { task, attempt, executor } => self.start(task, attempt, executor),
            Action::Stop { task, attempt, .. } => {
                if let Some((current, stop)) = self.attempts.get(&task)
                    && *current == attempt
                {
                    let _ = stop.send(Stop::Ask);
                }
            }
            Action::Integrate { task, attempt, change } => self.integrate(task, attempt, change),
            Action::MoveBranch { task, attempt, from, to } => self.move_branch(task, attempt, from, to),
            Action::Finish => self.finished = true,
        }
    }

    /// Merges off the loop and reports back; the scheduler asks for one at a time.
    fn integrate(&mut self, task: TaskId, attempt: Attempt, change: Change) {
        let (Some(place), Some(worktrees)) = (self.scheduler.run().place(&task), self.worktrees()) else {
            return;
        };
        let (stop, stopped) = watch::channel(Stop::No);
        self.merging = Some(stop);
        let order = Order { place, task, attempt, executor: MERGE };
        tokio::spawn(integrate(self.worker.clone(), worktrees, order, change, stopped));
    }

    fn move_branch(&self, task: TaskId, attempt: Attempt, from: String, to: String) {
        let Some(worktrees) = self.worktrees() else { return };
        let worker = self.worker.clone();
        tokio::spawn(async move {
            let moved = aside(true, move || merge::move_branch(&worktrees, &from, &to)).await;
            worker.report(match moved {
                Ok(moved) => Input::BranchMoved { task, attempt, moved },
                Err(error) => Input::MergeFailed { task, attempt, failure: unmergeable(&error) },
            });
        });
    }

    fn worktrees(&self) -> Option<Arc<Worktrees>> {
        self.worker.rooms.worktrees.clone()
    }

    fn start(&mut self, task: TaskId, attempt: Attempt, executor: u32) {
        let Some(place) = self.scheduler.run().place(&task) else { return };
        let (stop, stopped) = watch::channel(Stop::No);
        self.attempts.insert(task.clone(), (attempt, stop));
        let order = Order { place, task, attempt, executor };
        tokio::spawn(self.worker.clone().work(order, stopped));
    }

    /// A run that is over needs no worktrees; one that was only left may be taken up again soon.
    async fn clear_rooms(&self) {
        let (Some(worktrees), true) = (self.worktrees(), self.scheduler.run().all_ended()) else { return };
        if let Err(error) = aside(true, move || worktrees.clear()).await {
            self.notice(format!("worktrees could not be cleared: {error}"));
        }
    }

    fn notice(&self, text: String) {
        let _ = self.notices.send(text);
    }
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
fn rescue_transcripts(run: &Run, output: &Path) {
    for (task, progress) in run.tasks() {
        if let TaskState::Running(running) = &progress.state {
            let (executor, attempt) = (running.executor, running.attempt);
            let _ = Speaker { output, executor, task: &task.id, attempt }.rescue();
        }
    }
}

/// What interrupted attempts had done is kept before their worktrees are used again.
fn rescue_work(run: &Run, rooms: &Rooms) {
    for (task, progress) in run.tasks() {
        if let TaskState::Running(running) = &progress.state
            && !running.ended
            && let Ok((workspaces, true)) = rooms.of(task)
        {
            let _ = workspaces.rescue(&guest(task, running.executor, running.attempt));
        }
    }
}

async fn integrate(
    worker: Arc<Worker>,
    worktrees: Arc<Worktrees>,
    order: Order,
    change: Change,
    stop: watch::Receiver<Stop>,
) {
    let prepared = {
        let worker = worker.clone();
        let place = order.place;
        aside(true, move || Ok(merge::prepare(&worktrees, &worker.plan.tasks[place], &change))).await
    };
    let merged = match prepared {
        Ok(Ok(Prepared { from, to, unverified: None })) => Ok((from, to)),
        Ok(Ok(Prepared { from, to, unverified: Some(directory) })) => {
            worker.verify_merge(&order, &directory, stop).await.map(|()| (from, to))
        }
        Ok(Err(Unmerged::Conflict(failure))) => Err(failure),
        Ok(Err(Unmerged::Broken(error))) | Err(error) => Err(unmergeable(&error)),
    };
    let Order { task, attempt, .. } = order;
    worker.report(match merged {
        Ok((from, to)) => Input::MergePrepared { task, attempt, from, to },
        Err(failure) => Input::MergeFailed { task, attempt, failure },
    });
}

fn unmergeable(error: &WorkspaceError) -> Failure {
    Failure::new(FailureClass::Unstartable, format!("its work could not be merged: {error}"))
}
