//! The loop: gather what happened, let the scheduler decide, make it durable, tell it, do it.
//!
//! Nothing is done before the event that announces it is in the store, but for stopping (`holding`); how safely it is there
//! depends on what is done (`backlog`). All that has piled up while a turn was being written goes into the next one, so the
//! busier the run, the fewer the commits. However it ends, everything it has started is ended (`ending`).

mod acting;
mod backlog;
mod ending;
mod gathering;
mod handing_over;
mod holding;
mod reclaiming;
mod starting;
mod sweeping;
#[cfg(test)]
mod tests;
mod viewing;

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use conductor_core::plan::Plan;
use conductor_core::plan::graph::GraphError;
use conductor_core::run::event::Options;
use conductor_core::run::{IllegalEvent, Run};
use conductor_core::schedule::{Decision, Input, Refusal, Request, Scheduler};
use conductor_core::values::ids::{Attempt, RunId, TaskId};
use thiserror::Error;
use tokio::sync::{mpsc, oneshot, watch};
use tokio::time::Instant;
use tracing::Instrument as _;

use crate::dispatch::board::Board;
use crate::dispatch::{Control, Dispatch, Link, Message, Query, Stop, View};
use crate::git::workspaces::{RunRepo, Workspaces, works};
use crate::host::clock::Clock;
use crate::host::home::RunClaim;
use crate::host::logs::{self, carried, millis};
use crate::host::panics::caught;
use crate::host::redact;
use crate::host::shortage;
use crate::process::{Teardown, shim};
use crate::runs::conflict_monitor::{AtWork, ConflictMonitor, Looking};
use crate::runs::control::ControlServer;
use crate::runs::control::elsewhere::Passing;
use crate::stores::bus::Bus;
use crate::stores::{Follower, RunLog, StoreError};
use crate::worker::{Worker, aside};
use backlog::Backlog;
use handing_over::Handovers;
use holding::Turn;
use sweeping::Sweeps;
use viewing::Views;

#[derive(Debug, Error)]
pub enum CoordinatorError {
    #[error(transparent)]
    Graph(#[from] GraphError),
    #[error(transparent)]
    Store(#[from] StoreError),
    /// Nothing went wrong: another process is the run's coordinator now, of this version. What this one keeps open for agents at
    /// work is still theirs, so that the process has to end without looking after it.
    #[error("the run goes on in another process")]
    HandedOver { to: String },
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
    /// The run's log, claimed by this process.
    pub log: RunLog,
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
    /// The program that is a shim where it is told so (`process::shim`), if agents are to outlive this process.
    pub shim: Option<PathBuf>,
    /// Who carries the attempts out, where that is not this process.
    pub workers: Option<Workers>,
}

/// Gets hold of workers by which attempts reach the coordinator over this link; the other is for what is done here.
pub type Workers = Box<dyn FnOnce(Link, Arc<dyn Dispatch>) -> Arc<dyn Dispatch> + Send>;

/// How to take the run up.
pub struct Start {
    pub options: Options,
    /// The versions of the coordinator that has left the run to this one, and of this one.
    pub taken_over: Option<(String, String)>,
    /// Set back to pending what failed, was skipped or cancelled.
    pub reopen: bool,
}

/// A run that was driven as far as it goes.
pub struct Finished {
    pub run: Run,
    /// Workspaces that were not cleared because they are in use.
    pub parked: Vec<PathBuf>,
    /// No other process works on the run as long as this is held.
    pub claim: RunClaim,
}

pub struct Coordinator {
    id: RunId,
    log: RunLog,
    claim: RunClaim,
    directory: PathBuf,
    scheduler: Scheduler,
    first: Option<Decision>,
    clock: Clock,
    bus: Bus,
    control: Control,
    messages: mpsc::UnboundedReceiver<Message>,
    worker: Arc<Worker>,
    dispatch: Arc<dyn Dispatch>,
    attempts: HashMap<TaskId, Attempt>,
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
    views: Views,
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
    handovers: Handovers,
    notices: mpsc::UnboundedSender<String>,
    reaper_command: Option<std::process::Command>,
    teardown: Teardown,
    finished: bool,
}

impl Coordinator {
    pub fn control(&self) -> Control {
        self.control.clone()
    }

    /// Every record from here on. One that is slow falls back on the store, and misses nothing.
    pub fn subscribe(&mut self) -> Follower {
        Follower::new(self.bus.subscribe(), self.log.clone())
    }

    /// For what keeps records of the run and has something to say to it.
    pub(crate) fn link(&self) -> Link {
        self.worker.link.clone()
    }

    /// What attempts are doing right now, for a live display.
    pub fn board(&self) -> Board {
        self.worker.link.board.clone()
    }

    pub fn scheduler(&self) -> &Scheduler {
        &self.scheduler
    }

    /// Drives the run until nothing is left to do or to wait for.
    pub async fn run(self) -> Result<Finished, CoordinatorError> {
        let span = logs::run_span(&self.id);
        self.drive().instrument(span).await
    }

    async fn drive(mut self) -> Result<Finished, CoordinatorError> {
        let begun = Instant::now();
        tracing::info!(tasks = self.scheduler.run().plan().tasks.len(), "the run is taken up");
        let looking = self.conflict_monitor.clone().map(|(conflict_monitor, every)| {
            Looking::begin(conflict_monitor, every, self.control.sender(), self.notices.clone())
        });
        let control_server = ControlServer::open(self.claim.directory(), self.control.clone());
        if let Err(error) = &control_server {
            self.notice(format!("the control socket could not be opened: {error}"));
        }
        let passing = Passing::begin(self.claim.place(), &self.id);
        self.teardown.gather();
        let driven =
            caught(self.take_turns()).await.unwrap_or_else(|panic| Err(CoordinatorError::Panicked(panic)));
        passing.iter().for_each(Passing::close);
        if let Ok(control_server) = control_server {
            self.close(control_server).await;
        }
        if let Some(passing) = passing {
            passing.end().await;
        }
        looking.iter().for_each(Looking::stop);
        if let (Ok(()), Some(to)) = (&driven, self.handovers.done.take()) {
            self.teardown.leave();
            tracing::info!(to, "the run is left to another coordinator");
            return Err(CoordinatorError::HandedOver { to });
        }
        if let Err(error) = driven {
            tracing::error!(%error, "the run cannot go on");
            self.end_all(matches!(error, CoordinatorError::Store(StoreError::Damaged { .. }))).await;
            return Err(error);
        }
        self.teardown.finish().await;
        shim::clear(self.claim.directory());
        self.look_a_last_time(looking).await?;
        self.messages.close();
        while self.messages.try_recv().is_ok() {}
        self.clear_workspaces().await;
        let (stage, took) = (self.scheduler.run().stage(), millis(begun.elapsed()));
        tracing::info!(?stage, took, "the run is left");
        Ok(Finished { run: self.scheduler.into_run(), parked: self.parked, claim: self.claim })
    }

    async fn take_turns(&mut self) -> Result<(), CoordinatorError> {
        if let Some(Decision { records, actions, illegal, .. }) = self.first.take() {
            self.carry_out(Turn { records, actions, illegal, ..Turn::default() }).await?;
            self.settle_slices();
        }
        while !self.finished && self.handovers.done.is_none() {
            let arrivals = self.gather().await;
            let turn = self.decide(arrivals);
            self.carry_out(turn).await?;
            self.see_to_handover().await?;
            self.settle_slices();
            self.sweep_spare();
        }
        Ok(())
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
                self.merging.iter().for_each(|merging| wish(merging, Stop::Ask));
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

    fn settle_slices(&mut self) {
        let tick = self.clock.now().tick;
        self.worker.services.slices.settle(self.scheduler.run(), tick);
    }

    fn run_repo(&self) -> Option<Arc<RunRepo>> {
        self.worker.workspaces.run_repo().cloned()
    }

    /// Tells everything that is at work to end.
    fn stop_all(&self, how: Stop) {
        for (task, attempt) in &self.attempts {
            self.dispatch.stop(task, *attempt, how);
        }
        self.merging.iter().for_each(|merging| wish(merging, how));
    }

    /// Changes to the user's checkout in the last moments of the run are reported too. The look under way is heard first: what
    /// it has seen is not seen again, and no two look at once.
    async fn look_a_last_time(&mut self, looking: Option<Looking>) -> Result<(), CoordinatorError> {
        let Some((conflict_monitor, _)) = self.conflict_monitor.clone() else { return Ok(()) };
        if let Some(looking) = looking {
            looking.ended().await;
        }
        let mut seen = self.heard_of_looks();
        let last = tokio::task::spawn_blocking(carried(move || conflict_monitor.checkout())).await;
        seen.extend(last.ok().flatten().map(Arrival::from));
        if !seen.is_empty() {
            let turn = self.decide(seen);
            self.carry_out(turn).await?;
        }
        Ok(())
    }

    /// What the conflict monitor has reported since the last turn; all else comes too late.
    fn heard_of_looks(&mut self) -> Vec<Arrival> {
        let mut seen = Vec::new();
        while let Ok(message) = self.messages.try_recv() {
            if let Message::Input(
                input @ (Input::CheckoutTouched { .. } | Input::GitSettingsTouched { .. }),
            ) = message
            {
                seen.push(input.into());
            }
        }
        seen
    }

    /// A run that is over needs no workspaces; one that was only left may be taken up again soon.
    async fn clear_workspaces(&mut self) {
        self.sweeps.end().await;
        let (Some(run_repo), true) = (self.run_repo(), self.scheduler.run().all_ended()) else { return };
        let works = works(self.scheduler.run());
        let clear = || {
            let (run_repo, works) = (run_repo.clone(), works.clone());
            aside(true, move || run_repo.clear(&works))
        };
        match shortage::for_a_while(|word| self.notice(word), clear).await {
            Ok(parked) => self.parked = parked,
            Err(error) => self.notice(format!("workspaces could not be cleared: {error}")),
        }
    }

    fn notice(&self, text: String) {
        let text = redact::known().string(text);
        tracing::info!(notice = text, "told the user");
        let _ = self.notices.send(text);
    }
}

/// A request to stop never replaces an order to kill: the receiver sees only the last value.
fn wish(stop: &watch::Sender<Stop>, how: Stop) {
    stop.send_if_modified(|wish| std::mem::replace(wish, (*wish).max(how)) < how);
}
