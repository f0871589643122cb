//! One attempt at one task: workspace, process, transcript, our own look at the result, report.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use conductor_core::event::{Change, Failure, FailureClass, Outcome};
use conductor_core::ids::{Attempt, RunId, TaskId};
use conductor_core::plan::{Changes, Plan, Task};
use conductor_core::scheduler::Input;
use tokio::sync::{mpsc, watch};

use crate::agents::{self, AgentError, Caller};
use crate::drive::Message;
use crate::process::{self, Exit, GRACE, Launch, Mark, Running};
use crate::transcript::{Speaker, Transcript};
use crate::workspaces::{Guest, Rooms, WorkspaceError};

/// How often a running process's transcript is looked at for its length.
const TRIM: Duration = Duration::from_millis(250);

/// A process that is over sooner than this is not noted by its number: its mark is enough to find it by.
const BRIEF: Duration = Duration::from_millis(50);

/// How often a full disk is tried again.
const NO_ROOM: Duration = Duration::from_millis(500);

/// Up to this many processes at once, one start after the other keeps the machine busy.
const FEW: usize = 1;

/// How often a start is tried again while processes, memory or descriptors are short.
const SCARCE: Duration = Duration::from_millis(100);

/// What is to be done, by whom, as which try.
#[derive(Debug, Clone)]
pub struct Order {
    pub place: usize,
    pub task: TaskId,
    pub attempt: Attempt,
    pub executor: u32,
}

/// How urgently an attempt is to end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Stop {
    No,
    Ask,
    Kill,
}

/// Everything attempts of one run share.
pub struct Worker {
    pub run: RunId,
    pub plan: Arc<Plan>,
    pub rooms: Rooms,
    pub caller: Caller,
    pub output: PathBuf,
    pub(crate) reports: mpsc::UnboundedSender<Message>,
}

impl Worker {
    /// Carries the order out and reports how it ended, whatever happens.
    pub async fn work(self: Arc<Self>, order: Order, stop: watch::Receiver<Stop>) {
        let (outcome, change) = match self.attempt(&order, stop).await {
            Ok(change) => (Outcome::Succeeded, change),
            Err(outcome) => (outcome, None),
        };
        self.report(Input::AttemptEnded { task: order.task, attempt: order.attempt, outcome, change });
    }

    async fn attempt(
        &self,
        order: &Order,
        mut stop: watch::Receiver<Stop>,
    ) -> Result<Option<Change>, Outcome> {
        let task = &self.plan.tasks[order.place];
        let (workspaces, blocks) = self.rooms.of(task).map_err(|error| no_workspace(&error))?;
        let guest = guest(task, order.executor, order.attempt);
        let seat = {
            let (workspaces, guest) = (workspaces.clone(), guest.clone());
            aside(blocks, move || workspaces.prepare(&guest)).await.map_err(|error| no_workspace(&error))?
        };
        let performed = self.perform(order, task, &seat.directory, &mut stop).await;
        let ended = match performed {
            Ok(()) => {
                let (workspaces, guest) = (workspaces.clone(), guest.clone());
                let change = aside(blocks, move || workspaces.collect(&guest, &seat)).await;
                change.map_err(|error| no_workspace(&error)).and_then(|change| due(task, change))
            }
            Err(outcome) => Err(outcome),
        };
        if ended.is_err() && blocks {
            // Whatever it did is kept. Where that fails, the worktree itself stays until somebody looks at it.
            let _ = aside(true, move || workspaces.rescue(&guest)).await;
        }
        ended
    }

    /// The agent's work, then our own look at it.
    async fn perform(
        &self,
        order: &Order,
        task: &Task,
        directory: &Path,
        stop: &mut watch::Receiver<Stop>,
    ) -> Result<(), Outcome> {
        let agent = agents::agent(task.agent_name()).map_err(unfit)?;
        let launch = agent.launch(task, directory, &self.caller).map_err(unfit)?;
        let mut transcript = open_transcript(&self.speaker(order), stop).await?;
        let mut ended = match self.run_process(order, &launch, &mut transcript, stop).await {
            Ok(exit) => agent.finish(exit),
            Err(failure) => Outcome::Failed(failure),
        };
        if ended == Outcome::Succeeded
            && let Err(failure) = self.verify(order, task, directory, &mut transcript, stop).await
        {
            ended = Outcome::Failed(failure);
        }
        // The outcome stands whether or not the transcript could be moved; where not, it stays where it was written.
        let _ = transcript.finish();
        match ended {
            Outcome::Succeeded => Ok(()),
            other => Err(other),
        }
    }

    /// The combined tree, looked at before it lands. What is said goes into a transcript of its own.
    pub async fn verify_merge(
        &self,
        order: &Order,
        directory: &Path,
        mut stop: watch::Receiver<Stop>,
    ) -> Result<(), Failure> {
        let task = &self.plan.tasks[order.place];
        let lost = |error: Outcome| match error {
            Outcome::Failed(failure) => failure,
            _ => Failure::new(FailureClass::Killed, "interrupted"),
        };
        let mut transcript = open_transcript(&self.speaker(order), &stop).await.map_err(lost)?;
        let verified = self.verify(order, task, directory, &mut transcript, &mut stop).await;
        let _ = transcript.finish();
        verified.map_err(|failure| Failure {
            message: format!("on the combined tree: {}", failure.message),
            ..failure
        })
    }

    async fn verify(
        &self,
        order: &Order,
        task: &Task,
        directory: &Path,
        transcript: &mut Transcript,
        stop: &mut watch::Receiver<Stop>,
    ) -> Result<(), Failure> {
        for command in &task.verify {
            transcript.note(&format!("$ {command}"));
            let launch = agents::command(command, task, directory, &self.caller);
            let why = match self.run_process(order, &launch, transcript, stop).await? {
                Exit::Code(0) => continue,
                Exit::Code(code) => format!("exit code {code}"),
                Exit::Signal(signal) => format!("killed by signal {signal}"),
            };
            return Err(Failure::new(FailureClass::Unverified, format!("`{command}` failed: {why}")));
        }
        Ok(())
    }

    async fn run_process(
        &self,
        order: &Order,
        launch: &Launch,
        transcript: &mut Transcript,
        stop: &mut watch::Receiver<Stop>,
    ) -> Result<Exit, Failure> {
        let lost =
            |error: io::Error| Failure::new(FailureClass::Killed, format!("lost sight of it: {error}"));
        let started = Instant::now();
        let mut running = loop {
            match self.start(order, launch, transcript).await {
                Err(error) if process::is_scarcity(&error) && *stop.borrow() == Stop::No => {
                    tokio::time::sleep(SCARCE).await;
                }
                started => break started.map_err(|error| missing(launch, &error))?,
            }
        };
        match tokio::time::timeout(BRIEF, running.exited()).await {
            Ok(exited) => exited.map_err(lost)?,
            Err(_) => {
                let (task, attempt, process) = (order.task.clone(), order.attempt, running.name());
                self.report(Input::ProcessStarted { task, attempt, process });
                supervise(&mut running, transcript, stop).await.map_err(lost)?;
            }
        }
        running.finish(started.elapsed()).await.map_err(lost)
    }

    /// Starting blocks until the program is loaded. With few at work that is the shortest way; with many, it is done
    /// aside, so that ends can be dealt with meanwhile.
    async fn start(&self, order: &Order, launch: &Launch, transcript: &Transcript) -> io::Result<Running> {
        let (mark, writer) = (self.mark(order), transcript.writer()?);
        if process::under_way() < FEW {
            return Running::start(launch, mark, writer);
        }
        let launch = launch.clone();
        tokio::task::spawn_blocking(move || Running::start(&launch, mark, writer))
            .await
            .unwrap_or_else(|error| Err(io::Error::other(error)))
    }

    fn speaker<'a>(&'a self, order: &'a Order) -> Speaker<'a> {
        Speaker { output: &self.output, executor: order.executor, task: &order.task, attempt: order.attempt }
    }

    /// Nobody listens any more only where the whole run is being torn down.
    pub(crate) fn report(&self, input: Input) {
        let _ = self.reports.send(Message::Input(input));
    }

    fn mark(&self, order: &Order) -> Mark {
        Mark { run: self.run.clone(), task: order.task.clone(), attempt: order.attempt }
    }
}

pub fn guest(task: &Task, executor: u32, attempt: Attempt) -> Guest {
    Guest { executor, task: task.id.clone(), attempt, title: format!("{}: {}", task.id, task.name) }
}

/// Runs what blocks on a thread for that, and what does not right here.
pub(crate) async fn aside<T: Send + 'static>(
    blocks: bool,
    work: impl FnOnce() -> Result<T, WorkspaceError> + Send + 'static,
) -> Result<T, WorkspaceError> {
    match blocks {
        false => work(),
        true => tokio::task::spawn_blocking(work)
            .await
            .unwrap_or_else(|error| Err(WorkspaceError::Broken(error.to_string()))),
    }
}

/// Whether a change, or none, is what the task was to leave.
fn due(task: &Task, change: Option<Change>) -> Result<Option<Change>, Outcome> {
    match (task.changes, &change) {
        (Changes::Required, None) => {
            let message = "it ended well but changed nothing, where a change was due";
            Err(Outcome::Failed(Failure::new(FailureClass::NoChanges, message)))
        }
        (Changes::Forbidden, Some(_)) => {
            let message = "it changed files, where none were to be changed";
            Err(Outcome::Failed(Failure::new(FailureClass::Unwanted, message)))
        }
        _ => Ok(change),
    }
}

fn no_workspace(error: &WorkspaceError) -> Outcome {
    Outcome::Failed(Failure::new(FailureClass::Unstartable, format!("no workspace: {error}")))
}

/// Until the main process has exited: keeps the transcript short and carries out a stop.
async fn supervise(
    running: &mut Running,
    transcript: &mut Transcript,
    stop: &mut watch::Receiver<Stop>,
) -> io::Result<()> {
    let mut trim = tokio::time::interval(TRIM);
    trim.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    trim.reset();
    let mut asked = Stop::No;
    let mut deadline = None;
    loop {
        tokio::select! {
            biased;
            exited = running.exited() => return exited,
            Ok(()) = stop.changed() => {
                let wish = *stop.borrow_and_update();
                if wish >= Stop::Ask && asked == Stop::No {
                    running.ask_to_end();
                    asked = Stop::Ask;
                    deadline = Some(tokio::time::Instant::now() + GRACE);
                }
                if wish == Stop::Kill {
                    return running.kill().await;
                }
            }
            () = until(deadline) => return running.kill().await,
            _ = trim.tick() => transcript.trim(),
        }
    }
}

async fn until(deadline: Option<tokio::time::Instant>) {
    match deadline {
        Some(deadline) => tokio::time::sleep_until(deadline).await,
        None => std::future::pending().await,
    }
}

fn unfit(error: AgentError) -> Outcome {
    Outcome::Failed(Failure::new(FailureClass::Unstartable, error.to_string()))
}

/// A full disk is not the task's fault: it waits for room, unless it is told to stop.
async fn open_transcript(speaker: &Speaker<'_>, stop: &watch::Receiver<Stop>) -> Result<Transcript, Outcome> {
    loop {
        match Transcript::open(speaker) {
            Err(error) if error.kind() == io::ErrorKind::StorageFull && *stop.borrow() == Stop::No => {
                tokio::time::sleep(NO_ROOM).await;
            }
            opened => return opened.map_err(|error| unwritable(speaker, &error)),
        }
    }
}

fn unwritable(speaker: &Speaker<'_>, error: &io::Error) -> Outcome {
    let message = format!("cannot write to {}: {error}", speaker.output.display());
    Outcome::Failed(Failure::new(FailureClass::Unstartable, message))
}

/// The system says "not found" for a missing program and for a missing directory alike.
fn missing(launch: &Launch, error: &io::Error) -> Failure {
    let program = launch.program.display();
    let message = match error.kind() {
        _ if !launch.directory.is_dir() => format!("the directory {} is gone", launch.directory.display()),
        io::ErrorKind::NotFound => format!("command not found: {program}"),
        io::ErrorKind::PermissionDenied => format!("not allowed to execute {program}"),
        _ => format!("cannot start {program}: {error}"),
    };
    Failure::new(FailureClass::Unstartable, message)
}
